"""The index `MEMORY.md`: one line per memory, built from the files and cut to its limits by value
and recency (AM-3).

Pure. Lines that point to a file (`- [Title](file.md) — hook`) are derived: lines of deleted files
are dropped, new files get a line, and a title or hook that another writer chose for a file is kept.
All other lines (headings, the user's remarks) stay at the top.
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
"""Recency halves in this time, so that a memory used last month still outranks one never used."""
_HOOK = 70
"""Characters that a hook gets at least, however long title and path are: memories are selected by
it.
"""


class Uses(Struct, frozen=True):
    """How often a memory was shown, cited or read, and when last (seconds since the epoch; 0 for
    never).
    """

    count: int = 0
    last: float = 0.0


class IndexLimits(Struct, frozen=True, kw_only=True):
    """The index's limits. Source of the defaults: claude-code.md section 7.4."""

    lines: int = 200
    size: int = 25_000
    """Bytes."""
    line: int = 150
    """Approximate characters of one pointer line."""


class Index(Struct, frozen=True, kw_only=True):
    """A built index with its report."""

    text: str
    lines: int
    size: int
    listed: tuple[str, ...]
    """Paths of the memories it names, in its order."""
    left_out: tuple[str, ...]
    """Paths of the memories that did not fit, most valuable first."""
    over: str = ""
    """The limit that was reached, `lines` or `bytes`; empty when none was."""


def value(head: Head, uses: Uses, now: float) -> float:
    """Rate how much a memory deserves a line: pinned first, then user facts, usage, and recency."""
    latest = max(head.modified, uses.last)
    recency = math.exp2(-max(0.0, now - latest) / DAY / _HALF_LIFE_DAYS)
    person = 1.0 if head.kind in ABOUT_THE_PERSON else 0.0
    trusted = 0.5 if head.trust in (Trust.STATED, Trust.REVIEWED) else 0.0
    used = min(3.0, math.sqrt(uses.count))
    return (100.0 if head.pinned else 0.0) + person + trusted + used * 0.5 + 3.0 * recency


def build(heads: Sequence[Head], present: str, *, uses: Mapping[str, Uses], now: float, limits: IndexLimits) -> Index:
    """Build the index from the files; `present_text` is the index on disk.

    Superseded memories get no line.
    """
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
    """Split an index into other lines (kept verbatim) and pointer lines by path."""
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
    """Return the user's own lines, limited to half of the index so that memories have room."""
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
    # A foreign title and hook are kept unless the line is excessively long.
    return present if len(present) <= 2 * width else _shortened(match["title"], head.path, match["hook"] or "", width)


def _shortened(title: str, path: str, hook: str, width: int) -> str:
    title = _cut(title.translate({ord("["): "(", ord("]"): ")"}), width // 3)
    room = max(_HOOK, width - len(title) - len(path) - 8)
    hook = _cut(hook, room)
    # Markdown requires angle brackets around a path with spaces or brackets.
    return f"- [{title}]({f'<{path}>' if _BRACKETED.search(path) else path})" + (f" — {hook}" if hook and hook != title else "")


def _cut(text: str, room: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= room else text[: max(1, room - 1)].rstrip() + "…"


def _chosen(pointers: Sequence[tuple[str, str]], top: list[str], limits: IndexLimits, *, cut: bool) -> set[str]:
    """Choose the paths whose lines fit beside the own lines, in order of value.

    A line that is too long leaves its room to the next. With `cut`, room for a closing remark is
    reserved.
    """
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
    """Return the file that an index line points to; empty for any other line."""
    match = _POINTER.match(line)
    return match["path"].removeprefix("./") if match else ""


def pointed_at(text: str) -> tuple[str, ...]:
    """List the files that an index points to, in its order, each once."""
    return tuple(_parts(text)[1])
