"""The package's own source as syntax, parsed once for all the rules about it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "memorist"
MODULES = sorted(SOURCE.rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def module_of(path: Path) -> str:
    """A module's name below `memorist`, as an import has it."""
    return name_of(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")


Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """What the rules look at in a module, read once for all of them."""
    looked_at = (*Function.__args__, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Call, ast.arg)
    return tuple(node for node in ast.walk(tree(path)) if isinstance(node, looked_at))


def part_of(name: str) -> str:
    """The part that a module is of: `recall.memory_search` is of recall."""
    return name.partition(".")[0]


def imports(path: Path) -> Iterator[str]:
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module


def functions(path: Path) -> Iterator[Function]:
    return (node for node in nodes(path) if isinstance(node, Function))


def classes(path: Path) -> Iterator[ast.ClassDef]:
    return (node for node in nodes(path) if isinstance(node, ast.ClassDef))
