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

from msgspec import Struct

_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_UPDATE, _ADD, _DELETE, _MOVE = "*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "
_END_OF_FILE = "*** End of File"


class Hunk(Struct, frozen=True):
    """Consecutive lines: `old` as they are, `new` as they become; `after` is a line that must stand
    somewhere before them.
    """

    old: tuple[str, ...]
    new: tuple[str, ...]
    after: str = ""
    at_end: bool = False


class UpdateText(Struct, frozen=True, tag="update"):
    """Change a file. `move_to` is its new path, if it is moved."""

    path: str
    hunks: tuple[Hunk, ...]
    move_to: str | None = None


class AddText(Struct, frozen=True, tag="add"):
    """Create a file."""

    path: str
    text: str


class DeleteText(Struct, frozen=True, tag="delete"):
    """Delete a file."""

    path: str


FilePatch = UpdateText | AddText | DeleteText


class Misfit(Struct, frozen=True):
    """Why a patch or an edit cannot be applied, in one sentence for the model."""

    why: str


def read_patch(text: str) -> tuple[FilePatch, ...] | Misfit:
    """Parse a whole patch, or return what is wrong with it."""
    lines = text.strip("\n").split("\n")
    if lines[0].strip() != _BEGIN or lines[-1].strip() != _END:
        return Misfit(f"A patch begins with the line `{_BEGIN}` and ends with the line `{_END}`.")
    found: list[FilePatch] = []
    at = 1
    while at < len(lines) - 1:
        end = _section_end(lines, at + 1)
        section = _section(lines[at], lines[at + 1 : end])
        if isinstance(section, Misfit):
            return section
        found.append(section)
        at = end
    return tuple(found) if found else Misfit("The patch names no file.")


def _section_end(lines: list[str], start: int) -> int:
    for index in range(start, len(lines) - 1):
        if lines[index].startswith((_UPDATE, _ADD, _DELETE)):
            return index
    return len(lines) - 1


def _section(head: str, body: list[str]) -> FilePatch | Misfit:
    if head.startswith(_DELETE):
        return DeleteText(head[len(_DELETE) :].strip())
    if head.startswith(_ADD):
        if any(not line.startswith("+") for line in body):
            return Misfit(f"Every line of a new file begins with `+`: {head[len(_ADD) :].strip()}")
        return AddText(head[len(_ADD) :].strip(), "".join(line[1:] + "\n" for line in body))
    if not head.startswith(_UPDATE):
        return Misfit(f"Not a line of a patch: {head[:80]}")
    move_to = None
    if body and body[0].startswith(_MOVE):
        move_to, body = body[0][len(_MOVE) :].strip(), body[1:]
    hunks = _hunks(body)
    return hunks if isinstance(hunks, Misfit) else UpdateText(head[len(_UPDATE) :].strip(), hunks, move_to)


def _hunks(body: list[str]) -> tuple[Hunk, ...] | Misfit:
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
        hunk = _hunk(after, lines)
        if isinstance(hunk, Misfit):
            return hunk
        hunks.append(hunk)
    return tuple(hunks) if hunks else Misfit("An update holds no changed line.")


def _hunk(after: str, lines: list[str]) -> Hunk | Misfit:
    old: list[str] = []
    new: list[str] = []
    at_end = bool(lines) and lines[-1].strip() == _END_OF_FILE
    for line in lines[:-1] if at_end else lines:
        sign, rest = (line[0], line[1:]) if line else (" ", "")
        if sign not in " +-":
            return Misfit(f"A line of a hunk begins with a blank, `+` or `-`: {line[:80]}")
        if sign != "+":
            old.append(rest)
        if sign != "-":
            new.append(rest)
    if old == new:
        return Misfit("A hunk changes nothing.")
    return Hunk(tuple(old), tuple(new), after, at_end)


def apply_hunks(text: str, hunks: tuple[Hunk, ...]) -> str | Misfit:
    """The file's text after the hunks, applied in order; or why one of them does not fit. The
    file's line ends are kept.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.replace("\r\n", "\n").split("\n")
    ends_with_newline = lines[-1] == ""
    if ends_with_newline:
        lines.pop()
    cursor = 0
    for hunk in hunks:
        place = _place(lines, hunk, cursor)
        if isinstance(place, Misfit):
            return place
        lines[place : place + len(hunk.old)] = hunk.new
        cursor = place + len(hunk.new)
    return newline.join(lines) + (newline if ends_with_newline and lines else "")


def _place(lines: list[str], hunk: Hunk, cursor: int) -> int | Misfit:
    start = cursor
    if hunk.after:
        heads = [index for index in range(cursor, len(lines)) if lines[index].strip() == hunk.after.strip()]
        if not heads:
            return Misfit(f"No line reads: {hunk.after[:120]}")
        start = heads[0] + 1
    if not hunk.old:
        return start if hunk.after else len(lines)
    size = len(hunk.old)
    places = [index for index in range(start, len(lines) - size + 1) if tuple(lines[index : index + size]) == hunk.old]
    if hunk.at_end:
        places = [place for place in places if place + size == len(lines)]
    if not places:
        return Misfit("These lines do not stand in the file as written: " + " / ".join(hunk.old)[:200])
    if len(places) > 1 and not hunk.after:
        numbers = ", ".join(str(place + 1) for place in places[:10])
        return Misfit(f"These lines stand in the file at more than one place (lines {numbers}): give more lines around them.")
    return places[0]
