"""Add memorist's entries to the settings of Claude Code and Codex as text, and remove them.

Pure (clients.md sections 1.7 and 2.6).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from memorist.errors import InputError
from memorist.hooks import toml_text
from memorist.hooks.event import Client
from memorist.hooks.json_text import Node, added, parse, removed, replaced, under

EVENTS = ("SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SubagentStop", "SessionEnd")
"""Events that hooks are installed for.

PostCompact is not: the SessionStart after it does the same, and older clients do not know it.
"""
EACH_TOOL = "PostToolUse"
"""Installed only on request: it starts a program for each tool call, and updates notes of a long
turn a little earlier.
"""
MARGIN_SECONDS = 3
"""How much longer the client's own time limit is than memorist's, whose program exits by itself."""
SERVER = "memorist"
_OURS = re.compile(r"(?:^|[\s/'\"])memorist['\"]?\s+hook\s+[A-Za-z]+")
HOME = "MEMORIST_HOME"
"""The environment variable that tells the server its home."""
_TABLE = ("mcp_servers", SERVER)
_OWN = ("command", "args", "env")
_TAKEN = f"it names another MCP server “{SERVER}” already; rename or remove that, or install with --no-mcp"
_NOT_ADDED = "a table for the MCP server cannot be added at its end; write it yourself, or install with --no-mcp"
_OTHER_FORM = f"the MCP server “{SERVER}” stands in it in a form that memorist cannot change for certain; remove it yourself"


class Program(Struct, frozen=True, kw_only=True):
    """How memorist is started, and for which home; empty for the default one."""

    words: tuple[str, ...]
    home: str = ""

    def hook(self, event: str, client: Client) -> str:
        """The shell command of a hook.

        It always succeeds, even if the program is gone: a failed hook could stop a turn.
        """
        words = (*self.words, "hook", event, "--client", client, *(("--home", self.home) if self.home else ()))
        return f"{shlex.join(words)} || true"


def is_ours(command: object) -> bool:
    """Whether a hook's command was installed by memorist."""
    return isinstance(command, str) and _OURS.search(command) is not None


def entries(program: Program, client: Client, limits: Mapping[str, float], events: Sequence[str] = EVENTS) -> dict[str, object]:
    """The entry of each event; `limits` are the time limits in seconds."""
    return {
        event: {
            "hooks": [{"type": "command", "command": program.hook(event, client), "timeout": round(limits[event] + MARGIN_SECONDS)}],
        }
        for event in events
    }


def with_hooks(text: str, wanted: Mapping[str, object]) -> str:
    """Add these entries, each at the end of its event; existing ones stay in place.

    Raises InputError.
    """
    for event in [event for event in _present(text) if event not in wanted]:
        text = _without(text, event)
    for event, entry in wanted.items():
        if _ours_of(text, event) == [entry]:
            continue
        text = _without(text, event)
        text, place = under(text, ("hooks", event), list)
        text = added(text, place, "", entry)
    return text


def without_hooks(text: str, keep: Sequence[str] = ()) -> str:
    """Remove memorist's entries and the containers that become empty, except those in `keep`.

    Raises InputError.
    """
    for event in _present(text):
        text = _without(text, event, keep)
    return text


def containers(text: str) -> tuple[str, ...]:
    """Existing containers of memorist's entries, such as `hooks`, `hooks.Stop` and `mcpServers`.

    Raises InputError.
    """
    root = parse(text)
    hooks = root.get("hooks")
    events = [f"hooks.{name}" for name in (*EVENTS, EACH_TOOL) if hooks is not None and hooks.get(name) is not None]
    return (*(name for name in ("hooks", "mcpServers") if root.get(name) is not None), *events)


def programs(text: str) -> dict[str, str]:
    """Memorist's hook commands by event. Raises InputError."""
    return {event: command for event, command, *_ in _found(text)}


def _present(text: str) -> list[str]:
    return list(dict.fromkeys(event for event, *_ in _found(text)))


def _ours_of(text: str, event: str) -> list[object]:
    """The groups of an event that hold one of memorist's entries."""
    return [group.value for name, _, _, group, _ in _found(text) if name == event]


def _found(text: str) -> list[tuple[str, str, Node, Node, int]]:
    """Event, command, list of groups, group and index in it of each of memorist's entries."""
    hooks = parse(text).get("hooks")
    found = []
    for event in hooks.members if hooks is not None and isinstance(hooks.value, dict) else ():
        for group in event.node.members if isinstance(event.node.value, list) else ():
            inner = group.node.get("hooks") if isinstance(group.node.value, dict) else None
            for place, each in enumerate(inner.members if inner is not None and isinstance(inner.value, list) else ()):
                command = each.node.value.get("command") if isinstance(each.node.value, dict) else None
                if is_ours(command):
                    found.append((event.key, str(command), event.node, group.node, place))
    return found


def _without(text: str, event: str, keep: Sequence[str] = ()) -> str:
    """Remove memorist's entries of one event."""
    while True:
        entry = next((each for each in _found(text) if each[0] == event), None)
        if entry is None:
            return text
        _, _, groups, group, place = entry
        inner = group.get("hooks")
        if inner is not None and len(inner.members) > 1:
            text = removed(text, inner, place)
        elif len(groups.members) > 1:
            text = removed(text, groups, next(i for i, each in enumerate(groups.members) if each.node is group))
        else:
            text = removed(text, groups, 0) if f"hooks.{event}" in keep else _without_member(text, ("hooks", event), keep)


def _without_member(text: str, path: tuple[str, ...], keep: Sequence[str] = ()) -> str:
    """Without the member at the end of a path, and without what becomes empty by that, unless it is to be kept."""
    above = parse(text)
    for key in path[:-1]:
        above = above.get(key) or above
    if len(above.members) == 1 and len(path) > 1 and path[0] not in keep:
        return _without_member(text, path[:-1])
    return removed(text, above, next(i for i, each in enumerate(above.members) if each.key == path[-1]))


def server(program: Program) -> dict[str, object]:
    """The entry of the MCP server in Claude Code's settings."""
    words = program.words
    entry: dict[str, object] = {"type": "stdio", "command": words[0], "args": [*words[1:], "mcp"]}
    return entry | ({"env": {HOME: program.home}} if program.home else {})


def _renewed(there: Mapping[str, object], entry: Mapping[str, object]) -> dict[str, object]:
    """Update memorist's own entry; keys that the user or the client added stay."""
    env = there.get("env")
    kept = {key: value for key, value in env.items() if key != HOME} if isinstance(env, Mapping) else {}
    ours = entry.get("env")
    told = kept | (dict(ours) if isinstance(ours, Mapping) else {})
    made = {**there, **entry}
    made.pop("env", None)
    return made | ({"env": told} if told else {})


def with_json_server(text: str, entry: Mapping[str, object]) -> str:
    """Add the MCP server. Raises InputError, also if another server has its name."""
    text, servers = under(text, ("mcpServers",), dict)
    there = servers.get(SERVER)
    if there is None:
        return added(text, servers, SERVER, entry)
    if not _our_server(there.value):
        raise InputError(_TAKEN)
    wanted = _renewed(there.value, entry)
    return text if there.value == wanted else replaced(text, there, wanted)


def without_json_server(text: str, keep: Sequence[str] = ()) -> str:
    """Remove the MCP server if it is memorist's. Raises InputError."""
    servers = parse(text).get("mcpServers")
    there = servers.get(SERVER) if servers is not None and isinstance(servers.value, dict) else None
    return text if there is None or not _our_server(there.value) else _without_member(text, ("mcpServers", SERVER), keep)


def _our_server(value: object) -> bool:
    args = value.get("args") if isinstance(value, dict) else None
    return isinstance(args, list) and args[-1:] == ["mcp"]


def with_toml_server(text: str, program: Program) -> str:
    """Add the MCP server to Codex's settings as a table at the end; all else keeps its bytes,
    comments included. Raises InputError.
    """
    said = toml_text.values(text)
    there = _servers(said).get(SERVER)
    entry = {key: value for key, value in server(program).items() if key != "type"}
    if there is None:
        made = toml_text.added(text, f"[{'.'.join(_TABLE)}]\n{_lines(entry)}")
        return _sure(made, [_with_servers(said, {**_servers(said), SERVER: entry})], _NOT_ADDED)
    if not _our_server(there):
        raise InputError(_TAKEN)
    wanted = _renewed(there, entry)
    if there == wanted:
        return text
    made = toml_text.without(text, (*_TABLE, "env"))
    own = [table for table in toml_text.tables(toml_text.lines_of(made), _TABLE) if table.path == _TABLE]
    env = wanted.get("env", {})
    if len(own) != 1 or not isinstance(env, dict) or not all(isinstance(value, str) for value in env.values()):
        raise InputError(_OTHER_FORM)
    said_of_it = _lines({key: wanted[key] for key in _OWN if key in wanted})
    return _sure(
        toml_text.rewritten(made, own[0], said_of_it, _OWN), [_with_servers(said, {**_servers(said), SERVER: wanted})], _OTHER_FORM
    )


def without_toml_server(text: str, _: Sequence[str] = ()) -> str:
    """Remove the MCP server and its subtables from Codex's settings if it is memorist's.

    Raises InputError.
    """
    said = toml_text.values(text)
    if not _our_server(_servers(said).get(SERVER)):
        return text
    left = {key: value for key, value in _servers(said).items() if key != SERVER}
    none = {key: value for key, value in said.items() if key != "mcp_servers"}
    return _sure(toml_text.without(text, _TABLE), [_with_servers(said, left), *([] if left else [none])], _OTHER_FORM)


def _servers(said: Mapping[str, Any]) -> dict[str, Any]:
    servers = said.get("mcp_servers", {})
    return servers if isinstance(servers, dict) else {}


def _with_servers(said: Mapping[str, Any], servers: Mapping[str, Any]) -> dict[str, Any]:
    return {**said, "mcp_servers": servers}


def _lines(entry: Mapping[str, Any]) -> str:
    return "".join(toml_text.assignment(key, value) for key, value in entry.items())


def _sure(made: str, wanted: Sequence[object], otherwise: str) -> str:
    """Return the edited text if it parses to one of the wanted values. Raises InputError."""
    try:
        if toml_text.values(made) in wanted:
            return made
    except InputError as error:
        raise InputError(otherwise) from error
    raise InputError(otherwise)
