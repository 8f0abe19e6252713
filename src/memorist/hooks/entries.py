"""memorist's entries in the settings of Claude Code and Codex, put into a text and taken out of it. Pure (clients.md sections 1.7 and 2.6)."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from memorist.errors import InputError
from memorist.hooks.event import Client
from memorist.hooks.json_text import Node, added, parse, removed, replaced, under

EVENTS = ("SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SubagentStop", "SessionEnd")
"""Events that are asked for. The one after a compaction is not: the start that follows it does the same, and older agents do not know it."""
EACH_TOOL = "PostToolUse"
"""Asked for only where the user wants it: it costs a program's start for each tool call, and brings notes of a long turn a little earlier."""
MARGIN_SECONDS = 3
"""The agent's own limit is so much above that of memorist, whose program ends by itself."""
SERVER = "memorist"
_OURS = re.compile(r"(?:^|[\s/'\"])memorist['\"]?\s+hook\s+[A-Za-z]+")
_HEADER = "[mcp_servers.memorist]"


class Program(Struct, frozen=True, kw_only=True):
    """How memorist is called, and for which home; empty for the usual one."""

    words: tuple[str, ...]
    home: str = ""

    def hook(self, event: str, client: Client) -> str:
        """The command of a hook. Whatever becomes of the program, even when it is gone, the agent sees success: no status stops a turn."""
        words = (*self.words, "hook", event, "--client", client, *(("--home", self.home) if self.home else ()))
        return f"{shlex.join(words)} || true"


def is_ours(command: object) -> bool:
    """Whether a hook's command is one that memorist put there."""
    return isinstance(command, str) and _OURS.search(command) is not None


def entries(program: Program, client: Client, limits: Mapping[str, float], events: Sequence[str] = EVENTS) -> dict[str, object]:
    """The entry of each event; `limits` are the longest waits in seconds."""
    return {
        event: {
            "hooks": [{"type": "command", "command": program.hook(event, client), "timeout": round(limits[event] + MARGIN_SECONDS)}],
        }
        for event in events
    }


def with_hooks(text: str, wanted: Mapping[str, object]) -> str:
    """The settings with these entries, each at the end of its event; what is there already stays where it is. Raises InputError."""
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
    """The settings without any entry of ours; what becomes empty by that goes too, but for what is to be kept. Raises InputError."""
    for event in _present(text):
        text = _without(text, event, keep)
    return text


def containers(text: str) -> tuple[str, ...]:
    """What entries of ours go into and is there already, as `hooks`, `hooks.Stop`, `mcpServers`. Raises InputError."""
    root = parse(text)
    hooks = root.get("hooks")
    events = [f"hooks.{name}" for name in (*EVENTS, EACH_TOOL) if hooks is not None and hooks.get(name) is not None]
    return (*(name for name in ("hooks", "mcpServers") if root.get(name) is not None), *events)


def programs(text: str) -> dict[str, str]:
    """The commands of ours, by event. Raises InputError."""
    return {event: command for event, command, *_ in _found(text)}


def _present(text: str) -> list[str]:
    return list(dict.fromkeys(event for event, *_ in _found(text)))


def _ours_of(text: str, event: str) -> list[object]:
    """The groups of an event that hold one of ours."""
    return [group.value for name, _, _, group, _ in _found(text) if name == event]


def _found(text: str) -> list[tuple[str, str, Node, Node, int]]:
    """Event, command, the list of groups, the group, and the place in it, of every entry of ours."""
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
    """Without the entries of one event."""
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
    return entry | ({"env": {"MEMORIST_HOME": program.home}} if program.home else {})


def with_json_server(text: str, entry: Mapping[str, object]) -> str:
    """Settings with the server. Raises InputError, also where a server of that name is not ours."""
    text, servers = under(text, ("mcpServers",), dict)
    there = servers.get(SERVER)
    if there is None:
        return added(text, servers, SERVER, entry)
    if there.value == entry:
        return text
    if not _our_server(there.value):
        raise InputError(f"it names another MCP server “{SERVER}” already; rename or remove that, or install with --no-mcp")
    return replaced(text, there, entry)


def without_json_server(text: str, keep: Sequence[str] = ()) -> str:
    """Settings without the server, where it is ours. Raises InputError."""
    servers = parse(text).get("mcpServers")
    there = servers.get(SERVER) if servers is not None and isinstance(servers.value, dict) else None
    return text if there is None or not _our_server(there.value) else _without_member(text, ("mcpServers", SERVER), keep)


def _our_server(value: object) -> bool:
    args = value.get("args") if isinstance(value, dict) else None
    return isinstance(args, list) and args[-1:] == ["mcp"]


def with_toml_server(text: str, program: Program) -> str:
    """Codex's settings with the server, as a table at the end: all else keeps its bytes, comments too. Raises InputError."""
    there = _toml(text).get("mcp_servers", {})
    block = _block(program)
    if isinstance(there, dict) and SERVER in there:
        if there[SERVER] == _toml(block)["mcp_servers"][SERVER]:
            return text
        if not _our_server(there[SERVER]):
            raise InputError(f"it names another MCP server “{SERVER}” already; rename or remove that, or install with --no-mcp")
        text = without_toml_server(text)
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    made = f"{text}{gap}{block}"
    try:
        _toml(made)
    except InputError as error:
        raise InputError("a table for the MCP server cannot be added at its end; write it yourself, or install with --no-mcp") from error
    return made


def without_toml_server(text: str, _: Sequence[str] = ()) -> str:
    """Codex's settings without the server, where it is ours. Raises InputError."""
    there = _toml(text).get("mcp_servers", {})
    if not isinstance(there, dict) or SERVER not in there or not _our_server(there[SERVER]):
        return text
    lines = text.splitlines(keepends=True)
    start = next((number for number, line in enumerate(lines) if line.strip() == _HEADER), None)
    if start is None:
        raise InputError(f"the MCP server “{SERVER}” stands in it in another form than memorist writes; remove it yourself")
    end = next((number for number in range(start + 1, len(lines)) if lines[number].lstrip().startswith(("[", "#"))), len(lines))
    if start and not lines[start - 1].strip():
        start -= 1  # the blank line that was put before it
    made = "".join(lines[:start] + lines[end:])
    left = {key: value for key, value in there.items() if key != SERVER}
    if _toml(made) != {**_toml(text), "mcp_servers": left} and _toml(made) != {k: v for k, v in _toml(text).items() if k != "mcp_servers"}:
        raise InputError(f"the MCP server “{SERVER}” cannot be told from what stands beside it; remove it yourself")
    return made


def _block(program: Program) -> str:
    said = [_HEADER, f"command = {_quoted(program.words[0])}", f"args = [{', '.join(map(_quoted, (*program.words[1:], 'mcp')))}]"]
    if program.home:
        said.append(f"env = {{ MEMORIST_HOME = {_quoted(program.home)} }}")
    return "\n".join(said) + "\n"


def _quoted(text: str) -> str:
    """A basic string; TOML has the escapes of JSON, but no pairs of them for one sign."""
    return json.dumps(text, ensure_ascii=False)


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"it is not valid TOML: {error}") from error
