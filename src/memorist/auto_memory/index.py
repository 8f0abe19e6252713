"""The index `MEMORY.md`: one line for each memory, made from the files and kept within its limits by value and recency (AM-3). Pure.

Lines that point to a file (`- [Title](file.md) — hook`) are derived: what is gone is dropped, what is new is added, and a title or hook that
somebody else wrote for a file stays. Every other line (headings, remarks of the user) is kept where it stands at the top.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec import Struct

from memorist.auto_memory.kinds import ABOUT_THE_PERSON, Trust
from memorist.auto_memory.manifest import DAY, Head
from memorist.core.later import late_pattern

_POINTER = late_pattern(r"\s*[-*]\s+\[(?P<title>[^\]]*)\]\((?P<path><[^<>]+\.md>|.+?\.md|[^)\s]+)\)\s*(?:(?:—|–|-|:)\s*(?P<hook>.*))?$")
_BRACKETED = late_pattern(r"[\s()]")
_MARK = "<!-- memorist:"
_HALF_LIFE_DAYS = 30.0
"""Recency halves in this time; a memory that was used last month still counts more than one that never was."""
_HOOK = 70
"""Characters that a hook has at least, however long title and path are: it is what a memory is chosen by."""


class Uses(Struct, frozen=True):
    """How often a memory was shown, cited or read, and when last (seconds since the epoch; 0 for never)."""

    count: int = 0
    last: float = 0.0


class IndexLimits(Struct, frozen=True, kw_only=True):
    """Source of the defaults: claude-code.md section 7.4."""

    lines: int = 200
    size: int = 25_000
    """Bytes."""
    line: int = 150
    """Characters of one pointer, about."""


class Index(Struct, frozen=True, kw_only=True):
    """A built index and its load report."""

    text: str
    lines: int
    size: int
    listed: tuple[str, ...]
    """Paths of the memories that it names, in its order."""
    left_out: tuple[str, ...]
    """Paths of those that did not fit, the most valuable first."""
    over: str = ""
    """Which limit was reached: `lines`, `bytes`, or both; empty when none."""


def value(head: Head, uses: Uses, now: float) -> float:
    """How much a memory deserves its line: pinned first, then what speaks for the person, what is used, and what is new."""
    latest = max(head.modified, uses.last)
    recency = math.exp2(-max(0.0, now - latest) / DAY / _HALF_LIFE_DAYS)
    person = 1.0 if head.kind in ABOUT_THE_PERSON else 0.0
    trusted = 0.5 if head.trust in (Trust.STATED, Trust.REVIEWED) else 0.0
    used = min(3.0, math.sqrt(uses.count))
    return (100.0 if head.pinned else 0.0) + person + trusted + used * 0.5 + 3.0 * recency


def build(heads: Sequence[Head], present: str, *, uses: Mapping[str, Uses], now: float, limits: IndexLimits) -> Index:
    """Make the index anew from the files; `present` is the text that stands there now. Memories that are superseded get no line."""
    kept, own = _parts(present)
    active = [head for head in heads if head.status == "active"]
    ranked = sorted(active, key=lambda head: (-value(head, uses.get(head.path, Uses()), now), head.path))
    top = _fitting(kept, limits)
    pointers = {head.path: _pointer(head, own.get(head.path), limits.line) for head in ranked}
    chosen = _chosen([(head.path, pointers[head.path]) for head in ranked], top, limits, cut=len(top) < len(kept))
    left_out = [head.path for head in ranked if head.path not in chosen]
    lines = [*top, *(pointers[head.path] for head in ranked if head.path in chosen)]
    full = len(lines) + 1 >= limits.lines
    over = "" if not left_out and len(top) == len(kept) else "lines" if full else "bytes"
    if over:
        lines.append(_remark(len(left_out), len(kept) - len(top), over))
    text = "\n".join(lines) + "\n" if lines else ""
    return Index(
        text=text,
        lines=len(lines),
        size=len(text.encode("utf-8", "replace")),
        listed=tuple(head.path for head in ranked if head.path in chosen),
        left_out=tuple(left_out),
        over=over,
    )


def _parts(present: str) -> tuple[list[str], dict[str, str]]:
    """The lines that are kept as they are, and the pointer lines by path."""
    kept: list[str] = []
    own: dict[str, str] = {}
    for line in present.splitlines():
        match = _POINTER.match(line)
        if match and (path := match["path"].strip("<>")).endswith(".md"):
            own.setdefault(path.removeprefix("./"), line.strip())
        elif not line.startswith(_MARK):
            kept.append(line.rstrip())
    while kept and not kept[-1]:
        kept.pop()
    while kept and not kept[0]:
        kept.pop(0)
    return kept, own


def _fitting(kept: list[str], limits: IndexLimits) -> list[str]:
    """The user's own lines, as far as half of the index: memories need room as well."""
    found, size = [], 0
    for line in kept[: limits.lines // 2]:
        size += len(line.encode("utf-8", "replace")) + 1
        if size > limits.size // 2:
            break
        found.append(line)
    return found


def _pointer(head: Head, present: str | None, width: int) -> str:
    match = _POINTER.match(present) if present else None
    ours = _shortened(head.name, head.path, head.description, width)
    if match is None or present is None:
        return ours
    # Somebody else's title and hook stay while they fit; a line of 200 KB does not.
    return present if len(present) <= 2 * width else _shortened(match["title"], head.path, match["hook"] or "", width)


def _shortened(title: str, path: str, hook: str, width: int) -> str:
    title = _cut(title.translate({ord("["): "(", ord("]"): ")"}), width // 3)
    room = max(_HOOK, width - len(title) - len(path) - 8)
    hook = _cut(hook, room)
    # A name with blanks or brackets stands in angle brackets, as Markdown has it.
    return f"- [{title}]({f'<{path}>' if _BRACKETED.search(path) else path})" + (f" — {hook}" if hook and hook != title else "")


def _cut(text: str, room: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= room else text[: max(1, room - 1)].rstrip() + "…"


def _chosen(pointers: Sequence[tuple[str, str]], top: list[str], limits: IndexLimits, *, cut: bool) -> set[str]:
    """The paths whose lines fit beside what is kept, in order of value; too long a line makes room for the next. With `cut` a remark stands at the end."""
    size = sum(len(line.encode("utf-8", "replace")) + 1 for line in top)
    whole = not cut and len(top) + len(pointers) <= limits.lines and size + sum(_bytes(line) for _, line in pointers) <= limits.size
    rows = limits.lines - len(top) - (0 if whole else 1)
    room = limits.size - size - (0 if whole else _bytes(_remark(99_999, 99_999, "lines")))
    chosen: set[str] = set()
    for path, line in pointers:
        if len(chosen) < rows and _bytes(line) <= room:
            chosen.add(path)
            room -= _bytes(line)
    return chosen


def _bytes(line: str) -> int:
    return len(line.encode("utf-8", "replace")) + 1


def _remark(memories: int, lines: int, over: str) -> str:
    own = f" and {lines} lines of yours" if lines > 0 else ""
    return f"{_MARK} {memories} memories{own} do not fit here (limit of {over}); `memorist memory list` shows all -->"


def points_to(line: str) -> str:
    """The file that a line of the index points to; empty for a line of another kind."""
    match = _POINTER.match(line)
    return match["path"].removeprefix("./") if match else ""


def pointed_at(text: str) -> tuple[str, ...]:
    """The files that an index names, in its order, each once."""
    return tuple(_parts(text)[1])
