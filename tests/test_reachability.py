"""Nothing is a shadow: all that the package defines is reached from what its users have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from support.reachability import Definition, NameGraph

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
PUBLIC = ("adapters", "engine.blocking_engine", "errors", "events", "ports", "testing")
"""Parts whose public names a host calls, or gives to its own framework, which calls them."""
PUBLIC_CLASSES = {"Memorist", "Session", "SessionExtension", "Settings", "Tenants"}
EXCEPTIONS = {
    "cli.command_group.LazyCommandGroup.get_command": "click asks a group for its commands",
    "cli.command_group.LazyCommandGroup.format_commands": "as above",
    "cli.command_group.LazyCommandGroup.list_commands": "as above",
    "cli.command_group.LazyCommandGroup.shell_complete": "as above",
    "cli.command_group.LazyCommandGroup.resolve_command": "as above",
    "cli.main.MemoristCommands.parse_args": "as above",
    "flags.open_feature.OpenFeatureFlagSource": "a host gives it to the engine",
    "uvicorn_server.BoundedHttpProtocol.connection_lost": "asyncio calls a protocol's events",
    "uvicorn_server.BoundedHttpProtocol.connection_made": "as above",
    "uvicorn_server.BoundedHttpProtocol.data_received": "as above",
    "uvicorn_server.BoundedHttpProtocol.on_response_complete": "uvicorn calls it",
    "store.receipt_rows.list_session_receipts": "the way back of what is written for each fork",
}
UNREAD_FIELDS = {
    "RankedEntry.dense": "a host that ranks its own texts reads it",
    "MemoryDialect.supported_traits": "a host that adds a dialect reads what those there carry",
}


@cache
def package_graph() -> NameGraph:
    """The package's names, read once for both rules."""
    return NameGraph(ROOT / "src" / "memorist")


def users_have(graph: NameGraph) -> set[Definition]:
    """Commands, the public parts and classes, what the documents' code and the templates name, and
    the exceptions.
    """
    blocks = "\n".join(
        block
        for path in DOCUMENTS
        for block in re.findall(
            r"^```python\n(.*?)^```", path.read_text("utf-8"), re.MULTILINE | re.DOTALL
        )
    )
    shown = set(re.findall(r"\w+", blocks))
    for path in (ROOT / "src").rglob("*.j2"):
        shown |= set(re.findall(r"\w+", path.read_text("utf-8")))
    found: set[Definition] = set()
    for module, name in graph.definitions:
        part = module.removeprefix("memorist.")
        owner, _, last = name.rpartition(".")
        public = part.startswith(PUBLIC) or (owner or name) in PUBLIC_CLASSES
        if (
            part in ("memorist", "__main__")
            or f"{part}.{name}" in EXCEPTIONS
            or (last.endswith("_command") and part.startswith("cli."))
            or (not last.startswith("_") and (public or last in shown))
        ):
            found.add((module, name))
    return found


def test_all_that_is_defined_is_reached() -> None:
    """Nothing stands for tests alone, or for nobody: it is called by what users have, or it goes."""
    graph = package_graph()
    reached = graph.reach(users_have(graph))
    shadows = {
        f"{module}.{name}".removeprefix("memorist.")
        for module, name in graph.definitions.keys() - reached
        if name and not name.endswith("__")
    }

    assert sorted(shadows) == []


_READ = re.compile(r"\.(\w+)|[\"'](\w+)[\"']|\bcase\b[^\n]*")
_PATTERN_FIELD = re.compile(r"(\w+)=")


def read_texts_of_field(text: str) -> Iterator[str]:
    """What a module reads of objects: attributes, fields in patterns, and names in strings, by
    which rows and settings are read.
    """
    for found in _READ.finditer(text):
        yield found[1] or found[2] or ""
        if found[0].startswith("case"):
            yield from _PATTERN_FIELD.findall(found[0])
            yield from re.findall(r"\.(\w+)", found[0])


def test_each_field_of_a_struct_is_read() -> None:
    """What is only ever filled in tells nobody anything. Fields of events and settings are read by
    whoever takes them, and templates read those of pages.
    """
    package = ROOT / "src" / "memorist"
    graph = package_graph()
    read = {
        name
        for path in graph.modules.values()
        for name in read_texts_of_field(path.read_text("utf-8"))
    }
    for path in package.rglob("*.j2"):
        read |= set(re.findall(r"\w+", path.read_text("utf-8")))
    unread = {
        f"{owner}.{field}"
        for (module, owner), fields in graph.struct_fields.items()
        if graph.modules[module].name not in ("events.py", "settings.py")
        for field in fields
        if field not in read
    }

    assert unread == set(UNREAD_FIELDS)
