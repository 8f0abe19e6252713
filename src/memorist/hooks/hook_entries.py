"""memorist's hooks in the settings of Claude Code and of Codex: which events, with which command;
added to the text and removed from it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from memorist.hooks.hook_event import Client
from memorist.hooks.install_scope import LaunchCommand
from memorist.hooks.json_edit import (
    JsonNode,
    add_json_member,
    ensure_json_path,
    parse_json_tree,
    remove_json_member,
    remove_json_path,
)

INSTALLED_EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PreCompact",
    "Stop",
    "SubagentStop",
    "SessionEnd",
)
"""Events that hooks are installed for.

PostCompact is not: the SessionStart after it does the same, and older clients do not know it.
"""
TOOL_MATCHERS = {"PreToolUse": "Bash|Edit|MultiEdit|Write|apply_patch"}
"""The tools of which memorist may know something before a call: commands and edits."""
TOOL_EVENT = "PostToolUse"
"""Installed only on request: it starts a program for each tool call, and updates notes of a long
turn a little earlier.
"""
TIMEOUT_MARGIN_SECONDS = 3
"""How much longer the client's own time limit is than memorist's, whose program exits by itself."""
CODEX_END_SECONDS = 3
"""Longest limit that Codex allows for SessionEnd; it warns in every run about a longer one."""
_OWN_COMMAND = re.compile(r"(?:^|[\s/'\"])memorist['\"]?\s+hook\s+[A-Za-z]+")


def is_own_hook_command(command: object) -> bool:
    """Whether a hook's command was installed by memorist."""
    return isinstance(command, str) and _OWN_COMMAND.search(command) is not None


def build_hook_entries(
    program: LaunchCommand,
    client: Client,
    limits: Mapping[str, float],
    events: Sequence[str] = INSTALLED_EVENTS,
) -> dict[str, object]:
    """The entry of each event; `limits` are the time limits in seconds."""
    return {
        event: {
            **({"matcher": TOOL_MATCHERS[event]} if event in TOOL_MATCHERS else {}),
            "hooks": [
                {
                    "type": "command",
                    "command": program.build_hook_shell_command(event, client),
                    "timeout": _client_limit(client, event, limits[event]),
                }
            ],
        }
        for event in events
    }


def _client_limit(client: Client, event: str, seconds: float) -> int:
    """The time limit that the client keeps for an event, in seconds."""
    limit = round(seconds + TIMEOUT_MARGIN_SECONDS)
    return min(limit, CODEX_END_SECONDS) if (client, event) == ("codex", "SessionEnd") else limit


def add_hook_entries(text: str, wanted: Mapping[str, object]) -> str:
    """Add these entries, each at the end of its event; existing ones stay in place.

    Raises InputError.
    """
    for event in [event for event in _installed_events(text) if event not in wanted]:
        text = _remove_event(text, event)
    for event, entry in wanted.items():
        if _own_groups(text, event) == [entry]:
            continue
        text = _remove_event(text, event)
        text, position = ensure_json_path(text, ("hooks", event), list)
        text = add_json_member(text, position, "", entry)
    return text


def remove_own_hook_entries(text: str, keep: Sequence[str] = ()) -> str:
    """Remove memorist's entries and the containers that become empty, except those in `keep`.

    Raises InputError.
    """
    for event in _installed_events(text):
        text = _remove_event(text, event, keep)
    return text


def map_own_hooks_by_event(text: str) -> dict[str, str]:
    """Memorist's hook commands by event. Raises InputError."""
    return {event: command for event, command, *_ in locate_own_hook_entries(text)}


def _installed_events(text: str) -> list[str]:
    return list(dict.fromkeys(event for event, *_ in locate_own_hook_entries(text)))


def _own_groups(text: str, event: str) -> list[object]:
    """The groups of an event that hold one of memorist's entries."""
    return [group.value for name, _, _, group, _ in locate_own_hook_entries(text) if name == event]


def locate_own_hook_entries(text: str) -> list[tuple[str, str, JsonNode, JsonNode, int]]:
    """Event, command, list of groups, group and index in it of each of memorist's entries. Of an
    event that is there twice the last one counts, as for the agent.
    """
    hooks = parse_json_tree(text).get_member("hooks")
    if hooks is None or not isinstance(hooks.value, dict):
        return []
    found = []
    for event in (each for each in hooks.members if each.node is hooks.get_member(each.key)):
        for group in event.node.members if isinstance(event.node.value, list) else ():
            inner = group.node.get_member("hooks") if isinstance(group.node.value, dict) else None
            for index, each in enumerate(
                inner.members if inner is not None and isinstance(inner.value, list) else ()
            ):
                command = (
                    each.node.value.get("command") if isinstance(each.node.value, dict) else None
                )
                if is_own_hook_command(command):
                    found.append((event.key, str(command), event.node, group.node, index))
    return found


def _remove_event(text: str, event: str, keep: Sequence[str] = ()) -> str:
    """Remove memorist's entries of one event."""
    while True:
        entry = next((each for each in locate_own_hook_entries(text) if each[0] == event), None)
        if entry is None:
            return text
        _, _, groups, group, position = entry
        inner = group.get_member("hooks")
        if inner is not None and len(inner.members) > 1:
            text = remove_json_member(text, inner, position)
        elif len(groups.members) > 1:
            text = remove_json_member(
                text, groups, next(i for i, each in enumerate(groups.members) if each.node is group)
            )
        else:
            text = (
                remove_json_member(text, groups, 0)
                if f"hooks.{event}" in keep
                else remove_json_path(text, ("hooks", event), keep)
            )
