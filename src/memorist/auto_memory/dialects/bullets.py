"""Sections and list entries of a Markdown file, parsed by rule and written back without loss. Pure.

Headings count outside code fences and at the start of a line only; an entry may continue in
indented lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t#]*$")
_FENCE = re.compile(r"(```+|~~~+)")
_ENDS = re.compile(r"\r+\n")
_BULLET = re.compile(r"[-*+][ \t]+(.*)$")
INDENT = "  "


class Section(Struct, frozen=True):
    """A heading with the lines below it, up to the next heading of any level.

    Level 0 precedes the first.
    """

    level: int
    title: str
    lines: tuple[str, ...]
    heading: str = ""
    """The heading's line, verbatim."""

    @property
    def text(self) -> str:
        """The section, verbatim."""
        return "\n".join([self.heading, *self.lines] if self.level else self.lines)


def sections(text: str) -> list[Section]:
    """Split a text with plain line ends into sections, in order; the first may have no heading."""
    found: list[tuple[int, str, list[str], str]] = [(0, "", [], "")]
    for line, fenced in _fenced(text.split("\n")):
        match = None if fenced else _HEADING.match(line)
        if match:
            found.append((len(match[1]), match[2].strip(), [], line))
        else:
            found[-1][2].append(line)
    return [
        Section(level, title, tuple(lines), heading)
        for level, title, lines, heading in found
        if level or any(line.strip() for line in lines)
    ]


def _fenced(lines: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yield each line, and whether it belongs to a code block."""
    open_with = ""
    for line in lines:
        match = _FENCE.match(line)
        if open_with:
            yield line, True
            if match and match[1].startswith(open_with) and not line.strip(" `~"):
                open_with = ""
        else:
            open_with = match[1] if match else ""
            yield line, bool(match)


def bullets(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the list entries among the lines, and the other non-blank lines.

    An entry continues in indented lines and the blank lines between them.
    """
    entries: list[list[str]] = []
    others: list[str] = []
    inside = False
    for line, fenced in _fenced(lines):
        match = None if fenced else _BULLET.match(line)
        if match:
            entries.append([match[1]])
            inside = True
        elif inside and (not line or line[0] in " \t"):
            entries[-1].append(line.removeprefix(INDENT) if line.startswith(INDENT) else line.lstrip(" \t"))
        else:
            inside = inside and not line.strip()
            others += [line] if line.strip() else []
    return [text for text in ("\n".join(each).strip() for each in entries) if text], others


def bullet(text: str) -> str:
    """Render a text as a list entry that `parse_bullets` reads back equal up to surrounding white
    space.
    """
    first, *rest = _ENDS.sub("\n", text.strip()).split("\n")
    return "\n".join([f"- {first.strip()}", *(INDENT + line if line else "" for line in rest)])


def one_line(text: str) -> str:
    """Put a text on one line."""
    return " ".join(text.split())


def with_entries(present: str, heading: str, entries: Sequence[str]) -> str:
    """Append entries to the section with this heading, which is created at the end where missing.

    All other text stays.
    """
    if not entries:
        return present
    ending = "\r\n" if "\r\n" in present else "\n"
    added = "\n".join(entries).replace("\n", ending) + ending
    start, end = span(present, heading)
    if start < 0:
        gap = "" if not present else ending if present.endswith("\n") else 2 * ending
        return f"{present}{gap}{heading}{ending}{added}"
    kept = present[:end].rstrip("\r\n")
    gap = present[len(kept) : end].partition("\n")[2]
    return f"{kept}{ending}{added}{gap}{present[end:]}"


def span(text: str, heading: str) -> tuple[int, int]:
    """Return a section's start (its heading) and end (the next heading of its level or above).

    (-1, -1) where there is no such section.
    """
    level = len(heading) - len(heading.lstrip("#"))
    start = end = -1
    position = 0
    lines = text.split("\n")
    for line, fenced in _fenced(lines):
        plain = line.rstrip().removeprefix("\ufeff")
        match = None if fenced else _HEADING.match(plain)
        if start < 0 and not fenced and plain == heading:
            start = position
        elif start >= 0 and match and len(match[1]) <= level:
            end = position
            break
        position += len(line) + 1
    return (start, end if end >= 0 else len(text)) if start >= 0 else (-1, -1)
