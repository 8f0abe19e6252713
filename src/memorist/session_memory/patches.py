"""Patches in the `apply_patch` form (codex.md section 6), as a tool's input or inside a shell
command. Pure.
"""

from __future__ import annotations

import re

from msgspec import Struct

PATCH_LIMIT = 40_000
"""Characters of a patch that are examined."""

_SIDE_LIMIT = 6_000
_FILE = re.compile(r"\*\*\* (Add|Update|Delete) File: (.+)")
_MOVE = re.compile(r"\*\*\* Move to: (.+)")


class Change(Struct, frozen=True):
    """An edit of one file: `edit`, `write` (the whole text), `add`, `delete` or `move`; the removed
    and the added text.
    """

    path: str
    old: str = ""
    new: str = ""
    kind: str = "edit"


def parse_patch(patch: str) -> tuple[Change, ...]:
    """The edits of a patch, file by file; unreadable parts are skipped."""
    changes: list[Change] = []
    path, kind = "", "edit"
    old: list[str] = []
    new: list[str] = []

    def close() -> None:
        if path:
            changes.append(Change(path, "\n".join(old)[:_SIDE_LIMIT], "\n".join(new)[:_SIDE_LIMIT], kind))
        old.clear()
        new.clear()

    for line in patch[:PATCH_LIMIT].split("\n"):
        header = _FILE.match(line)
        if header:
            close()
            path, kind = header[2].strip(), {"Add": "add", "Delete": "delete"}.get(header[1], "edit")
        elif line.startswith("+"):
            new.append(line[1:])
        elif line.startswith("-"):
            old.append(line[1:])
        elif move := _MOVE.match(line):
            kind = "move"
            new.append(move[1].strip())
    close()
    return tuple(changes)


def parse_diff(path: str, diff: str) -> Change:
    """The removed and added lines of a unified diff, or of search-and-replace blocks, of one file.
    """
    old: list[str] = []
    new: list[str] = []
    side = ""
    for line in diff[:PATCH_LIMIT].split("\n"):
        if line.startswith(("+++", "---", "@@", "<<<<<<<", "=======", ">>>>>>>")):
            side = {"<": "-", "=": "+"}.get(line[0], "") if line[:7] in ("<<<<<<<", "=======") else ""
        elif line.startswith("+") or side == "+":
            new.append(line.removeprefix("+"))
        elif line.startswith("-") or side == "-":
            old.append(line.removeprefix("-"))
    return Change(path, "\n".join(old)[:_SIDE_LIMIT], "\n".join(new)[:_SIDE_LIMIT])


def patch_in_command(command: str) -> tuple[Change, ...]:
    """The edits of a patch that a command line feeds to `apply_patch`; empty when there is none."""
    at = command.find("*** Begin Patch")
    return parse_patch(command[at:]) if at >= 0 and "apply_patch" in command[:at] else ()
