"""Codex's `apply_patch` format: parsing, and computing the changed file. Pure.

    *** Begin Patch
    *** Update File: PATH     then hunks: `@@` with an optional line to search for, then lines
                              beginning with a blank (kept), `-` (removed) or `+` (added)
    *** Add File: PATH        then lines beginning with `+`
    *** Delete File: PATH     parsed, so that it can be denied by name,
    *** Move to: PATH         and so is this line after an update
    *** End Patch

Stricter than Codex in one point: lines are compared exactly, and a hunk without an `@@` line must
fit in exactly one place. A memory is never changed by a guess.
"""

from __future__ import annotations

import re
from operator import add

from msgspec import Struct

_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_UPDATE = "*** Update File: "
_ADD = "*** Add File: "
_DELETE = "*** Delete File: "
_MOVE_TO = "*** Move to: "
_END_OF_FILE = "*** End of File"


class PatchHunk(Struct, frozen=True):
    """Consecutive lines: `old` as they are, `new` as they become; `after` is a line that must be
    somewhere before them. `sources` has for each line of `new` how many of `old` it follows or is.
    """

    old: tuple[str, ...]
    new: tuple[str, ...]
    after: str = ""
    at_end: bool = False
    sources: tuple[int, ...] = ()


class UpdateFilePatch(Struct, frozen=True, tag="update"):
    """Change a file. `move_to` is its new path, if it is moved."""

    path: str
    hunks: tuple[PatchHunk, ...]
    move_to: str | None = None


class AddFilePatch(Struct, frozen=True, tag="add"):
    """Create a file."""

    path: str
    text: str


class DeleteFilePatch(Struct, frozen=True, tag="delete"):
    """Delete a file."""

    path: str


FilePatch = UpdateFilePatch | AddFilePatch | DeleteFilePatch


class PatchRejection(Struct, frozen=True):
    """Why a patch or an edit cannot be applied, in one sentence for the model."""

    why: str


def parse_file_patches(text: str) -> tuple[FilePatch, ...] | PatchRejection:
    """Parse a whole patch, or return what is wrong with it."""
    lines = text.strip("\n").split("\n")
    if lines[0].strip() != _BEGIN or lines[-1].strip() != _END:
        return PatchRejection(
            f"A patch begins with the line `{_BEGIN}` and ends with the line `{_END}`."
        )
    found: list[FilePatch] = []
    at = 1
    while at < len(lines) - 1:
        end = _find_section_end(lines, at + 1)
        section = _parse_section(lines[at], lines[at + 1 : end])
        if isinstance(section, PatchRejection):
            return section
        found.append(section)
        at = end
    return tuple(found) if found else PatchRejection("The patch names no file.")


def _find_section_end(lines: list[str], start: int) -> int:
    for index in range(start, len(lines) - 1):
        if lines[index].startswith((_UPDATE, _ADD, _DELETE)):
            return index
    return len(lines) - 1


def _parse_section(head: str, body: list[str]) -> FilePatch | PatchRejection:
    if head.startswith(_DELETE):
        return DeleteFilePatch(head[len(_DELETE) :].strip())
    if head.startswith(_ADD):
        if any(not line.startswith("+") for line in body):
            return PatchRejection(
                f"Every line of a new file begins with `+`: {head[len(_ADD) :].strip()}"
            )
        return AddFilePatch(head[len(_ADD) :].strip(), "".join(line[1:] + "\n" for line in body))
    if not head.startswith(_UPDATE):
        return PatchRejection(f"Not a line of a patch: {head[:80]}")
    move_to = None
    if body and body[0].startswith(_MOVE_TO):
        move_to, body = body[0][len(_MOVE_TO) :].strip(), body[1:]
    hunks = _parse_hunks(body)
    if isinstance(hunks, PatchRejection):
        return hunks
    return UpdateFilePatch(head[len(_UPDATE) :].strip(), hunks, move_to)


def _parse_hunks(body: list[str]) -> tuple[PatchHunk, ...] | PatchRejection:
    groups: list[tuple[str, list[str]]] = []
    for line in body:
        if line == "@@" or line.startswith("@@ "):
            groups.append((line[3:], []))
        elif not groups:
            groups.append(("", [line]))
        else:
            groups[-1][1].append(line)
    hunks = []
    for after, lines in groups:
        hunk = _parse_hunk(after, lines)
        if isinstance(hunk, PatchRejection):
            return hunk
        hunks.append(hunk)
    return tuple(hunks) if hunks else PatchRejection("An update holds no changed line.")


def _parse_hunk(after: str, lines: list[str]) -> PatchHunk | PatchRejection:
    old: list[str] = []
    new: list[str] = []
    sources: list[int] = []
    at_end = bool(lines) and lines[-1].strip() == _END_OF_FILE
    for line in lines[:-1] if at_end else lines:
        sign, rest = (line[0], line[1:]) if line else (" ", "")
        if sign not in " +-":
            return PatchRejection(f"A line of a hunk begins with a blank, `+` or `-`: {line[:80]}")
        if sign != "+":
            old.append(rest)
        if sign != "-":
            new.append(rest)
            sources.append(len(old))
    if old == new:
        return PatchRejection("A hunk changes nothing.")
    return PatchHunk(tuple(old), tuple(new), after, at_end, tuple(sources))


def apply_hunks(text: str, hunks: tuple[PatchHunk, ...]) -> str | PatchRejection:
    """The file's text after the hunks, applied in order; or why one of them does not fit. Each line
    keeps its line end, and a new one has that of the line before it.
    """
    parts = re.split(r"(\r?\n)", text)
    lines, ends = parts[::2], parts[1::2]
    ends_with_newline = lines[-1] == ""
    if ends_with_newline:
        lines.pop()
    else:
        ends.append(ends[-1] if ends else "\n")
    cursor = 0
    for hunk in hunks:
        position = _find_hunk(lines, hunk, cursor)
        if isinstance(position, PatchRejection):
            return position
        behind = position + len(hunk.old)
        near = ends[max(0, position - 1) : behind] or ["\n"]
        first = 0 if position else 1
        sources = hunk.sources or range(1, len(hunk.new) + 1)
        lines[position:behind] = hunk.new
        ends[position:behind] = [near[min(max(0, at - first), len(near) - 1)] for at in sources]
        cursor = position + len(hunk.new)
    if not ends_with_newline:
        ends[-1:] = [""] * bool(ends)
    return "".join(map(add, lines, ends))


def _find_hunk(lines: list[str], hunk: PatchHunk, cursor: int) -> int | PatchRejection:
    start = cursor
    if hunk.after:
        heads = [
            index
            for index in range(cursor, len(lines))
            if lines[index].strip() == hunk.after.strip()
        ]
        if not heads:
            return PatchRejection(f"No line reads: {hunk.after[:120]}")
        start = heads[0] + 1
    if not hunk.old:
        return start if hunk.after else len(lines)
    size = len(hunk.old)
    positions = [
        index
        for index in range(start, len(lines) - size + 1)
        if tuple(lines[index : index + size]) == hunk.old
    ]
    if hunk.at_end:
        positions = [position for position in positions if position + size == len(lines)]
    if not positions:
        return PatchRejection(
            "These lines do not stand in the file as written: " + " / ".join(hunk.old)[:200]
        )
    if len(positions) > 1 and not hunk.after:
        numbers = ", ".join(str(position + 1) for position in positions[:10])
        return PatchRejection(
            f"These lines stand in the file at more than one place (lines {numbers}): give "
            f"more lines around them."
        )
    return positions[0]


# Patches in the `apply_patch` form (Codex), as a tool's input or inside a shell
# command.


MAX_PATCH_CHARACTERS = 40_000
"""Characters of a patch that are examined."""

_SIDE_LIMIT = 6_000
_FILE_HEADER = re.compile(r"\*\*\* (Add|Update|Delete) File: (.+)")
_MOVE_HEADER = re.compile(r"\*\*\* Move to: (.+)")


def find_patch_edits(patch: str) -> tuple[FileEdit, ...]:
    """The edits of a patch, file by file; unreadable parts are skipped."""
    changes: list[FileEdit] = []
    path, kind = "", "edit"
    old: list[str] = []
    new: list[str] = []

    def close() -> None:
        if path:
            changes.append(
                FileEdit(path, "\n".join(old)[:_SIDE_LIMIT], "\n".join(new)[:_SIDE_LIMIT], kind)
            )
        old.clear()
        new.clear()

    for line in patch[:MAX_PATCH_CHARACTERS].split("\n"):
        header = _FILE_HEADER.match(line)
        if header:
            close()
            path = header[2].strip()
            kind = {"Add": "add", "Delete": "delete"}.get(header[1], "edit")
        elif line.startswith("+"):
            new.append(line[1:])
        elif line.startswith("-"):
            old.append(line[1:])
        elif move := _MOVE_HEADER.match(line):
            kind = "move"
            new.append(move[1].strip())
    close()
    return tuple(changes)


def extract_lines_changed_by_diff(path: str, diff: str) -> FileEdit:
    """The removed and added lines of a unified diff, or of search-and-replace blocks, of one
    file.
    """
    old: list[str] = []
    new: list[str] = []
    side = ""
    for line in diff[:MAX_PATCH_CHARACTERS].split("\n"):
        if line.startswith(("+++", "---", "@@", "<<<<<<<", "=======", ">>>>>>>")):
            side = (
                {"<": "-", "=": "+"}.get(line[0], "") if line[:7] in ("<<<<<<<", "=======") else ""
            )
        elif line.startswith("+") or side == "+":
            new.append(line.removeprefix("+"))
        elif line.startswith("-") or side == "-":
            old.append(line.removeprefix("-"))
    return FileEdit(path, "\n".join(old)[:_SIDE_LIMIT], "\n".join(new)[:_SIDE_LIMIT])


def find_patch_edits_in_command(command: str) -> tuple[FileEdit, ...]:
    """The edits of a patch that a command line feeds to `apply_patch`; empty when there is none."""
    at = command.find("*** Begin Patch")
    return find_patch_edits(command[at:]) if at >= 0 and "apply_patch" in command[:at] else ()


class FileEdit(Struct, frozen=True):
    """An edit of one file: `edit`, `write` (the whole text), `add`, `delete` or `move`; the removed
    and the added text.
    """

    path: str
    old: str = ""
    new: str = ""
    kind: str = "edit"
