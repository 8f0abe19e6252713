"""The shape of the code: imports point one way, I/O stays at the edges, things stay small. No rule
here depends on a reviewer's memory.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

from support.source_tree import (
    MODULES,
    SOURCE,
    classes,
    functions,
    imports,
    module_of,
    name_of,
    nodes,
    part_of,
)

TABLE = tomllib.loads((Path(__file__).parent / "architecture.toml").read_text("utf-8"))
ORDER: list[str] = TABLE["order"]
LIMITS: dict[str, int] = TABLE["limits"]
WORLD = {
    "asyncio", "fcntl", "glob", "http", "httpx", "io", "os", "random", "secrets", "shutil", "signal", "socket", "sqlite3", "subprocess",
    "tempfile", "threading", "time", "urllib", "anthropic", "openai", "xllamacpp",
    "procrastinate", "psycopg",
}  # fmt: skip
EXEMPTIONS = 11
"""Comments that switch a check off, in the sources and the tests together. This number may only
fall.
"""


def test_imports_point_one_way() -> None:
    """A part imports only parts that stand before it."""
    wrong = [
        f"{name_of(path)}: {name}"
        for path in MODULES
        if (part := part_of(module_of(path))) != "__init__"
        for name in imports(path)
        if name.startswith("memorist.")
        and ORDER.index(part_of(name.removeprefix("memorist."))) > ORDER.index(part)
    ]

    assert not wrong


def test_no_module_is_part_of_a_cycle() -> None:
    """Modules can be read, and loaded, one after another."""
    graph = {
        f"memorist.{module_of(path)}": {
            name for name in imports(path) if name.startswith("memorist.")
        }
        for path in MODULES
    }
    done: set[str] = set()

    while ready := {
        module for module in graph if module not in done and graph[module] & graph.keys() <= done
    }:
        done |= ready

    assert not sorted(graph.keys() - done - {"memorist.__init__"})


def test_only_listed_modules_do_io() -> None:
    """Outside the table of architecture.toml there is no file, clock, process, task or network, and
    the table names nothing else.
    """
    found = {module_of(path) for path in MODULES if touched(path)}

    assert sorted(found) == sorted(TABLE["io"])


def test_most_of_the_package_is_pure() -> None:
    """The share of lines in pure modules does not fall."""
    lines = {module_of(path): len(path.read_text("utf-8").splitlines()) for path in MODULES}
    pure = sum(count for module, count in lines.items() if module not in TABLE["io"])

    assert pure >= TABLE["pure_share"] * sum(lines.values())


def test_no_class_name_stands_twice() -> None:
    """A name that is searched for leads to one class."""
    found = Counter(node.name for path in MODULES for node in classes(path))

    assert [name for name, count in found.items() if count > 1] == []


def test_modules_have_names_of_their_own() -> None:
    """No module is called run, a folder holds more than one module, and no two share a name."""
    modules = [path for path in MODULES if path.stem not in {"__init__", "__main__"}]
    found = Counter(path.name for path in modules)
    folders = Counter(path.parent for path in modules)

    assert "run.py" not in found
    assert [name for name, count in found.items() if count > 1] == []
    assert [name_of(folder) for folder, count in folders.items() if count == 1] == []


def touched(path: Path) -> list[str]:
    """What of the world a module imports, calls or waits for."""
    calls = {
        node.func.id
        for node in nodes(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    waits = path.name != "ports.py" and any(
        isinstance(node, ast.AsyncFunctionDef) for node in nodes(path)
    )
    return (
        sorted({module.split(".")[0] for module in imports(path)} & WORLD)
        + sorted(calls & {"open", "print", "input"})
        + (["async"] if waits else [])
    )


def test_modules_and_functions_stay_small() -> None:
    """Sizes hold, by the limits of architecture.toml. Complexity and nesting are
    ruff's to hold.
    """
    lines = {path: path.read_text("utf-8").splitlines() for path in MODULES}
    many = [name_of(path) for path in MODULES if len(lines[path]) > LIMITS["module"]]
    long, wide = [], []
    for path, node in ((each, node) for each in MODULES for node in functions(each)):
        here = f"{name_of(path)}: {node.name}"
        parameters = [
            a
            for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            if a.arg not in {"self", "cls"}
        ]
        free = (
            node.name == "__init__"
            or node.decorator_list
            or "PLR0913" in lines[path][node.lineno - 1]
        )
        long += [here] if (node.end_lineno or 0) - node.lineno + 1 > LIMITS["function"] else []
        wide += [here] if len(parameters) > LIMITS["parameters"] and not free else []

    assert not many
    assert not long
    assert not wide


def test_no_first_party_import_hides_in_a_function() -> None:
    """Cycles cannot be papered over."""
    hidden = [
        f"{name_of(path)}: {function.name}"
        for path in MODULES
        if any(isinstance(node, ast.ImportFrom) and node.col_offset for node in nodes(path))
        for function in functions(path)
        for node in ast.walk(function)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("memorist")
    ]

    assert not hidden


def test_names_say_what_things_are() -> None:
    """No name hides a missing noun."""
    banned = ("manager", "helper", "util", "processor", "handler", "service", "coordinator")
    names = [name_of(path) for path in MODULES]
    for path in MODULES:
        names += [node.name for node in classes(path)]

    assert not [name for name in names if any(word in name.lower() for word in banned)]


def test_the_public_names_are_sorted_and_there() -> None:
    """`memorist.__all__` is the whole interface, and each name can be had."""
    import memorist

    assert memorist.__all__ == sorted(memorist.__all__)
    assert all(getattr(memorist, name) is not None for name in memorist.__all__)


def test_importing_memorist_loads_nothing_of_its_own() -> None:
    """The import has no effect: no module of ours, no SDK, no file opened; so it takes a few
    milliseconds.
    """
    code = (
        "import sys, memorist; print(sorted(m for m in sys.modules if "
        "m.startswith(('memorist.', 'anthropic', 'openai', 'msgspec', 'rich'))))"
    )

    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30
    )

    assert said.stdout.strip() == "[]"


def test_exemptions_only_become_fewer() -> None:
    """Every comment that switches a check off is counted, so that the list can only shrink."""
    marks = ("noqa", "type: ignore", "pragma: no cover")
    root = SOURCE.parents[1]
    files = [
        *SOURCE.rglob("*.py"),
        *(path for path in (root / "tests").rglob("*.py") if path != Path(__file__)),
    ]
    found = [
        f"{path.name}:{number}"
        for path in files
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if any(m in line for m in marks)
    ]

    assert len(found) <= EXEMPTIONS, "\n".join(found)


def test_every_test_states_its_claim() -> None:
    """A test without a docstring leaves its reader to guess what it proves."""
    signature = re.compile(
        r"^ *(?:async )?def (test_\w+)\(.*?\) -> None:\s+(r?\"\"\"\s*[^\s\"])?",
        re.MULTILINE | re.DOTALL,
    )
    silent = [
        f"{path.name}: {found[1]}"
        for path in Path(__file__).parent.rglob("test_*.py")
        for found in signature.finditer(path.read_text("utf-8"))
        if not found[2]
    ]

    assert not silent


def test_a_command_is_only_ever_called_through_the_program() -> None:
    """Click keeps the help option of a command's first caller: a subcommand called by itself loses
    `-h` for every later reader.
    """
    tests = Path(__file__).parent
    alone = [
        f"{path.name}: {ast.unparse(call.args[0])}"
        for path in tests.rglob("*.py")
        if "click.testing" in path.read_text("utf-8")  # other things are invoked too
        for call in nodes(path)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "invoke"
        and call.args
        if ast.unparse(call.args[0]) != "memorist_group"
    ]

    assert not alone
