"""The shape of the code: imports point one way, I/O stays at the edges, things stay small. No rule here depends on a reviewer's memory."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "memorist"
MODULES = sorted(SOURCE.rglob("*.py"))

# Lowest first: a part may import itself and what stands before it.
ORDER = [
    "errors",
    "core",
    "safety",
    "ports",
    "clock",
    "listening",
    "formats",
    "prompts",
    "models",
    "forks",
    "events",
    "telemetry",
    "store",
    "spend",
    "session_memory",
    "compaction",
    "auto_memory",
    "recall",
    "context",
    "skills",
    "rollouts",
    "dream",
    "team",
    "magic_docs",
    "flags",
    "hook_settings",
    "proxy_settings",
    "settings",
    "configuration",
    "model_limits",
    "host_history",
    "window",
    "cache_watch",
    "provider_edits",
    "fetching",
    "view",
    "memories",
    "assembly",
    "dreaming",
    "remembering",
    "past_shown",
    "journal",
    "beside",
    "session",
    "playback",
    "attended",
    "past_state",
    "past_sessions",
    "background",
    "engine",
    "resting",
    "tenants",
    "mcp_server",
    "hooks",
    "proxy",
    "adapters",
    "testing",
    "replay",
    "bench",
    "cli",
    "__main__",
]

# Where the world may be touched: files, time, processes, tasks.
EDGES = (
    "store/",
    "models/",
    "testing/",
    "bench/",
    "cli/",
    "clock.py",
    "listening.py",
    "configuration.py",
    "view.py",
    "memories.py",
    "assembly.py",
    "dreaming.py",
    "remembering.py",
    "past_shown.py",
    "journal.py",
    "beside.py",
    "session.py",
    "playback.py",
    "attended.py",
    "past_state.py",
    "past_sessions.py",
    "background.py",
    "engine.py",
    "resting.py",
    "tenants.py",
    "adapters/",
    "prompts/load.py",
    "forks/lane.py",
    "__main__.py",
)
WORLD = {
    "asyncio", "fcntl", "glob", "http", "httpx", "io", "os", "random", "secrets", "shutil", "signal", "socket", "sqlite3", "subprocess",
    "tempfile", "threading", "time", "urllib", "anthropic", "openai", "xllamacpp",
    "procrastinate", "psycopg",
}  # fmt: skip
LIMITS = {"module": 300, "function": 50, "parameters": 6}
EXEMPTIONS = 11
"""Comments that switch a check off, in the sources and the tests together. This number may only fall."""


def name_of(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def part_of(path: Path) -> str:
    first = path.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_point_one_way(path: Path) -> None:
    """A part imports only parts that stand before it."""
    part = part_of(path)
    if part == "__init__":
        return
    own = ORDER.index(part)

    wrong = [
        name
        for name in imports(ast.parse(path.read_text("utf-8")))
        if name.startswith("memorist.") and ORDER.index(name.split(".")[1]) > own
    ]

    assert not wrong


def test_no_module_is_part_of_a_cycle() -> None:
    """Modules can be read, and loaded, one after another."""
    graph = {}
    for path in MODULES:
        module = "memorist." + name_of(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        graph[module] = {name for name in imports(ast.parse(path.read_text("utf-8"))) if name.startswith("memorist.")}
    done: set[str] = set()

    while ready := {module for module in graph if module not in done and graph[module] & graph.keys() <= done}:
        done |= ready

    assert not sorted(graph.keys() - done - {"memorist.__init__"})


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_the_world_is_touched_only_at_the_edges(path: Path) -> None:
    """Outside run.py, the store, the models and the like there is no file, clock, process, task or network."""
    name = name_of(path)
    if name.startswith(EDGES) or path.name == "run.py":
        return
    tree = ast.parse(path.read_text("utf-8"))
    calls = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}

    assert not {module.split(".")[0] for module in imports(tree)} & WORLD
    assert not calls & {"open", "print", "input"}
    assert name == "ports.py" or not any(isinstance(node, ast.AsyncFunctionDef) for node in ast.walk(tree))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_modules_and_functions_stay_small(path: Path) -> None:
    """Sizes hold: 300 lines a module, 50 a function, 6 parameters. Complexity and nesting are ruff's to hold."""
    text = path.read_text("utf-8")
    long = [node.name for node in functions(ast.parse(text)) if (node.end_lineno or 0) - node.lineno + 1 > LIMITS["function"]]
    wide = [
        node.name
        for node in functions(ast.parse(text))
        if len([a for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs) if a.arg not in {"self", "cls"}]) > LIMITS["parameters"]
        and node.name != "__init__" and not node.decorator_list and "PLR0913" not in text.splitlines()[node.lineno - 1]
    ]  # fmt: skip

    assert len(text.splitlines()) <= LIMITS["module"]
    assert not long
    assert not wide


def test_no_first_party_import_hides_in_a_function() -> None:
    """Cycles cannot be papered over."""
    hidden = [
        f"{name_of(path)}: {function.name}"
        for path in MODULES
        for function in functions(ast.parse(path.read_text("utf-8")))
        for name in imports(function)
        if name.startswith("memorist")
    ]

    assert not hidden


def test_names_say_what_things_are() -> None:
    """No name hides a missing noun."""
    banned = ("manager", "helper", "util", "processor", "handler", "service", "coordinator")
    names = [name_of(path) for path in MODULES]
    for path in MODULES:
        names += [node.name for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.ClassDef)]

    assert not [name for name in names if any(word in name.lower() for word in banned)]


def test_the_public_names_are_sorted_and_there() -> None:
    """`memorist.__all__` is the whole interface, and each name can be had."""
    import memorist

    assert memorist.__all__ == sorted(memorist.__all__)
    assert all(getattr(memorist, name) is not None for name in memorist.__all__)


def test_importing_memorist_loads_nothing_of_its_own() -> None:
    """The import has no effect: no module of ours, no SDK, no file opened; so it takes a few milliseconds."""
    code = "import sys, memorist; print(sorted(m for m in sys.modules if m.startswith(('memorist.', 'anthropic', 'openai', 'msgspec', 'rich'))))"

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)

    assert said.stdout.strip() == "[]"


def test_exemptions_only_become_fewer() -> None:
    """Every comment that switches a check off is counted, so that the list can only shrink."""
    marks = ("noqa", "type: ignore", "pragma: no cover")
    root = SOURCE.parents[1]
    files = [*SOURCE.rglob("*.py"), *(path for path in (root / "tests").rglob("*.py") if path != Path(__file__))]
    found = [
        f"{path.name}:{number}"
        for path in files
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if any(m in line for m in marks)
    ]

    assert len(found) <= EXEMPTIONS, "\n".join(found)


def test_every_test_states_its_claim() -> None:
    """A test without a docstring leaves its reader to guess what it proves."""
    silent = [
        f"{path.name}: {node.name}"
        for path in Path(__file__).parent.rglob("test_*.py")
        for node in functions(ast.parse(path.read_text("utf-8")))
        if node.name.startswith("test_") and not ast.get_docstring(node)
    ]

    assert not silent


def test_a_command_is_only_ever_called_through_the_program() -> None:
    """Click keeps the help option of a command's first caller: a subcommand called by itself loses `-h` for every later reader."""
    tests = Path(__file__).parent
    alone = [
        f"{path.name}: {ast.unparse(call.args[0])}"
        for path in tests.rglob("*.py")
        if "click.testing" in path.read_text("utf-8")  # other things are invoked too
        for call in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "invoke" and call.args
        if ast.unparse(call.args[0]) != "commands"
    ]

    assert not alone
