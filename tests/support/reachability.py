"""What of the package can be reached from what its users have: a walk over the names in its code.

A name in a module means what the module defines or imports by it; `x.name` may mean any method of
that name of a class that is reached. So the walk may reach too much, and never too little.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct, field

from support.source_tree import tree

Definition = tuple[str, str]
"""A module, and a function, class, `Class.method` or constant of it."""


class CodeNames(Struct):
    """What the code of one definition names."""

    plain: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)


class NameGraph:
    """The definitions of a package, and what each names."""

    def __init__(self, root: Path) -> None:
        self.definitions: dict[Definition, CodeNames] = defaultdict(CodeNames)
        self.struct_fields: dict[Definition, list[str]] = {}
        """The fields of each class that is a Struct by the name of what it derives from."""
        self._imports: dict[str, dict[str, Definition]] = {}
        self._methods: dict[str, set[Definition]] = defaultdict(set)
        """By name."""
        self._members: dict[Definition, set[str]] = defaultdict(set)
        """Names of a class's methods."""
        self.modules = {_module_name(path, root): path for path in root.rglob("*.py")}
        for module, path in self.modules.items():
            parsed = tree(path)
            self._imports[module] = dict(_imports_of(parsed))
            for node in parsed.body:
                self._add(module, node)

    def _add(self, module: str, node: ast.stmt) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._collect((module, node.name), node)
            case ast.ClassDef():
                self._add_class(module, node)
            case ast.Assign() | ast.AnnAssign():
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    for name in ast.walk(target):
                        if isinstance(name, ast.Name):
                            self._collect((module, name.id), node)
            case ast.Import() | ast.ImportFrom():
                pass
            case _:
                self._collect((module, ""), node)

    def _add_class(self, module: str, node: ast.ClassDef) -> None:
        self.definitions[module, node.name] = CodeNames()
        if any("Struct" in ast.unparse(base) for base in node.bases):
            self.struct_fields[module, node.name] = _list_fields(node)
        for part in (*node.bases, *node.decorator_list, *node.keywords):
            self._collect((module, node.name), part)
        for inner in node.body:
            self._add_member(module, node.name, inner)

    def _add_member(self, module: str, owner: str, node: ast.stmt) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            self._methods[node.name].add((module, f"{owner}.{node.name}"))
            self._members[module, owner].add(node.name)
            self._collect((module, f"{owner}.{node.name}"), node)
        else:
            self._collect((module, owner), node)

    def _collect(self, definition: Definition, code: ast.AST) -> None:
        names = self.definitions[definition]
        own = definition[1]  # to name oneself reaches nobody
        for node in ast.walk(code):
            if isinstance(node, ast.Name) and node.id != own:
                names.plain.add(node.id)
            elif isinstance(node, ast.Attribute):
                names.attributes.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                # annotations, and the names of what is loaded when needed
                module, _, name = node.value.partition(":")
                names.attributes.add(name if module in self.modules else module)
                names.plain |= {module} & self.modules.keys()

    def reach(self, roots: set[Definition]) -> set[Definition]:
        """Everything that is named from the roots, directly or through others."""
        reached: set[Definition] = set()
        attributes: set[str] = set()
        waiting = [*roots, *((module, "") for module in self.modules)]
        while waiting:
            at = waiting.pop()
            if at in reached or at not in self.definitions:
                continue
            reached.add(at)
            names = self.definitions[at]
            waiting += self._named_by(at[0], names)
            new = names.attributes - attributes
            attributes |= new
            waiting += [
                method
                for name in new
                for method in self._methods.get(name, ())
                if (method[0], method[1].partition(".")[0]) in reached
            ]
            waiting += [
                (at[0], f"{at[1]}.{name}")
                for name in self._members.get(at, ())
                if name in attributes or name.startswith("__")
            ]
        return reached

    def _named_by(self, module: str, names: CodeNames) -> Iterator[Definition]:
        imports = self._imports[module]
        for name in names.plain:
            yield (module, name)
            if name in imports:
                yield imports[name]
        loaded = {".".join(each).rstrip(".") for each in imports.values()} | names.plain
        for target in loaded & self.modules.keys():
            yield from ((target, name) for name in names.attributes)


def _module_name(path: Path, root: Path) -> str:
    parts = (root.name, *path.relative_to(root).with_suffix("").parts)
    return ".".join(part for part in parts if part != "__init__")


def _imports_of(parsed: ast.Module) -> Iterator[tuple[str, Definition]]:
    for node in ast.walk(parsed):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield (alias.asname or alias.name, (node.module, alias.name))


def _list_fields(node: ast.ClassDef) -> list[str]:
    return [
        inner.target.id
        for inner in node.body
        if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name)
    ]
