"""The index `MEMORY.md`: one line per memory, built from the files and cut to its limits by value
and recency (AM-3).

Pure. Lines that point to a memory (`- [Title](file.md) — hook`) are derived: lines of deleted files
are dropped, new files get a line, and a title or hook that another writer chose for a file is kept.
All other lines (headings, the user's remarks, links to what is no memory) stay at the top; what of
them does not fit stands in the file below what is shown.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from heapq import merge
from operator import attrgetter

from msgspec import Struct

from memorist.auto_memory.memory_file import USER_KINDS, Trust
from memorist.auto_memory.memory_manifest import DAY_SECONDS, MemoryHeader
from memorist.auto_memory.merge_conflict import parse_merge_conflicts
from memorist.core.lazy import lazy_pattern
from memorist.settings import AutoMemorySettings

_POINTER = lazy_pattern(
    r"\s*[-*]\s+\[(?P<title>[^\]]*)\]\((?P<path><[^<>]+\.md>|.+?\.md|[^)\s]+)\)\s*(?:(?:—|–|-|"
    r":)\s*(?P<hook>.*))?$"
)
_USER_KINDS, _USER_TRUST = tuple(USER_KINDS), (Trust.STATED, Trust.REVIEWED)
_BRACKETED = lazy_pattern(r"[\s()]")
_REMARK_PREFIX = "<!-- memorist:"
_HALF_LIFE_DAYS = 30.0
"""Recency halves in this time, so that a memory used last month still outranks one never used."""
_MIN_HOOK_CHARS = 70
"""Characters that a hook gets at least, however long title and path are: memories are selected by
it.
"""


class MemoryUsage(Struct, frozen=True):
    """How often a memory was shown, cited or read, and when last (seconds since the epoch; 0 for
    never).
    """

    count: int = 0
    last: float = 0.0


class MemoryIndex(Struct, frozen=True, kw_only=True):
    """A built index with its report."""

    text: str
    lines: int
    size: int
    listed: tuple[str, ...]
    """Paths of the memories it names, in its order."""
    left_out: int
    """Number of the memories that did not fit."""
    first_left_out: str = ""
    """Path of the most valuable of them; empty for none."""
    exceeded_limit: str = ""
    """The limit that was reached, `lines` or `bytes`; empty when none was."""
    own_rest: tuple[str, ...] = ()
    """The user's own lines that do not fit. The file keeps them, and nobody is shown them."""

    @property
    def file_text(self) -> str:
        """What the file holds: the index, and the user's lines that do not fit."""
        return self.text + "".join(f"{line}\n" for line in self.own_rest)


_UNUSED = MemoryUsage()
MAX_SINGLY_INSERTED_MEMORIES = 100
"""Changed memories up to which each is put into its place; with more all are sorted anew."""


class RankedHeaders:
    """The active memories, most valuable first, at any time; among equals the newer first, and of
    those that the clock has not reached the first by path.

    What a memory is worth for anything but its recency does not change with time, and of two that
    are worth the same there the newer is never worth less. Each such group of unused memories is
    therefore sorted once, and as much of their order merged as is asked for: of ten thousand two
    hundred get a line. Few are used, and those are sorted each time.
    """

    def __init__(self, headers: Iterable[MemoryHeader], usage: Mapping[str, MemoryUsage]) -> None:
        self.usage = usage
        """How the memories were used, by path; to be replaced when that changes."""
        self._active: dict[str, MemoryHeader] = {}
        self._groups: dict[float, list[MemoryHeader]] = {}
        self.set_headers(headers)

    def set_headers(self, headers: Iterable[MemoryHeader]) -> None:
        """Rank these from now on; where few are others than before, only those are sorted in."""
        former = self._active
        self._active = {head.path: head for head in headers if head.status == "active"}
        added = [head for path, head in self._active.items() if former.get(path) is not head]
        removed = [head for path, head in former.items() if self._active.get(path) is not head]
        if len(added) + len(removed) > MAX_SINGLY_INSERTED_MEMORIES:
            self._groups = _sort_into_groups(self._active.values())
            return
        for head in removed:
            self._take_out(head)
        for head in added:
            self._sort_in(head)

    def set_header(self, path: str, head: MemoryHeader | None) -> None:
        """Rank one memory by this header from now on; None for one that is gone."""
        former = self._active.pop(path, None)
        if former is not None:
            self._take_out(former)
        if head is not None and head.status == "active":
            self._active[path] = head
            self._sort_in(head)

    def _take_out(self, head: MemoryHeader) -> None:
        group = self._groups[_value_unused(head)]
        del group[bisect_left(group, _order_unused(head), key=_order_unused)]

    def _sort_in(self, head: MemoryHeader) -> None:
        insort(self._groups.setdefault(_value_unused(head), []), head, key=_order_unused)

    def __len__(self) -> int:
        return len(self._active)

    def iter_ranked_at(self, now: float) -> Iterator[MemoryHeader]:
        """The memories in their order at a time, in seconds since the epoch."""
        usage = self.usage

        def rank(head: MemoryHeader) -> tuple[float, float, str]:
            uses = usage.get(head.path, _UNUSED)
            latest = max(head.modified, uses.last)
            age = (latest - now) / DAY_SECONDS / _HALF_LIFE_DAYS
            recency = math.exp2(age) if latest < now else 1.0
            lasting = _value_unused(head) + min(3.0, math.sqrt(uses.count)) * 0.5
            return -(3.0 * recency + lasting), -min(latest, now), head.path

        unused = (
            (head for head in _sort_future(group, now) if head.path not in usage)
            for group in self._groups.values()
        )
        used = (self._active[path] for path in usage if path in self._active)
        return merge(*unused, sorted(used, key=rank), key=rank)


def _sort_future(group: list[MemoryHeader], now: float) -> list[MemoryHeader]:
    """The group with those by path first that are newer than the clock, which are equals."""
    end = bisect_right(group, -now, key=lambda head: -head.modified)
    return sorted(group[:end], key=attrgetter("path")) + group[end:] if end else group


def _sort_into_groups(heads: Iterable[MemoryHeader]) -> dict[float, list[MemoryHeader]]:
    """Those of equal worth in the order of `_order_unused`, sorted twice: a key of two parts takes
    longer for ten thousand.
    """
    groups: dict[float, list[MemoryHeader]] = {}
    for head in heads:
        groups.setdefault(_value_unused(head), []).append(head)
    for group in groups.values():
        group.sort(key=attrgetter("path"))
        group.sort(key=attrgetter("modified"), reverse=True)
    return groups


def _order_unused(head: MemoryHeader) -> tuple[float, str]:
    return -head.modified, head.path


def _value_unused(head: MemoryHeader) -> float:
    """What a memory is worth for pinning and for the user's word about themselves."""
    # Members of an enumeration are told apart by identity: to hash ten thousand takes longer.
    value = 1.0 if head.kind in _USER_KINDS else 0.0
    if head.trust in _USER_TRUST:
        value += 0.5
    return value + 100.0 if head.pinned else value


def build_memory_index(
    ranked: RankedHeaders, present_text: str, *, now: float, settings: AutoMemorySettings
) -> MemoryIndex:
    """Build the index from the files; `present_text` is the index on disk.

    Superseded memories get no line.
    """
    kept, own = _split_index(present_text)
    top = _fit_own_lines(kept, settings)
    chosen, first_missed = _choose_pointers(
        ranked,
        now,
        lambda head: _pointer_line(head, own.get(head.path), settings.index_line),
        top,
        settings,
        cut=len(top) < len(kept),
    )
    left_out = len(ranked) - len(chosen)
    lines = [*top, *chosen.values()]
    full = len(lines) + 1 >= settings.index_lines
    over = "" if not left_out and len(top) == len(kept) else "lines" if full else "bytes"
    if over:
        lines.append(_overflow_remark(left_out, len(kept) - len(top), over))
    text = "\n".join(lines) + "\n" if lines else ""
    return MemoryIndex(
        text=text,
        lines=len(lines),
        size=len(text.encode("utf-8", "replace")),
        listed=tuple(chosen),
        left_out=left_out,
        first_left_out=first_missed,
        exceeded_limit=over,
        own_rest=tuple(kept[len(top) :]),
    )


def _split_index(present: str) -> tuple[list[str], dict[str, str]]:
    """Split an index into other lines (kept verbatim) and pointer lines by path."""
    kept: list[str] = []
    own: dict[str, str] = {}
    for line in present.splitlines():
        path = parse_pointer_target(line)
        if path:
            own.setdefault(path, line.strip())
        elif not line.startswith(_REMARK_PREFIX):
            kept.append(line.rstrip())
    kept = _drop_settled_conflicts(kept)
    while kept and not kept[-1]:
        kept.pop()
    while kept and not kept[0]:
        kept.pop(0)
    return kept, own


def _drop_settled_conflicts(lines: list[str]) -> list[str]:
    """Drop the marks of merge conflicts that held pointer lines alone, which are derived anew."""
    settled = {
        number
        for conflict in parse_merge_conflicts(lines)
        if not any(lines[each] for each in conflict.version_lines)
        for number in conflict.all_lines
    }
    return [line for number, line in enumerate(lines) if number not in settled]


def copy_user_written_index_lines(present_text: str, other_text: str) -> str:
    """Add the lines that the user wrote into another index to this one, unless it has them."""
    present, other = _split_index(present_text)[0], _split_index(other_text)[0]
    if all(line in present for line in other):
        return present_text
    return "\n".join([*other, "", *present_text.splitlines()]) + "\n"


def drop_given_index_lines(text: str, outdated: frozenset[str]) -> str:
    """Drop these lines of an index."""
    lines = text.splitlines()
    if not outdated or outdated.isdisjoint(lines):
        return text
    return "\n".join(line for line in lines if line.strip() not in outdated) + "\n"


def _fit_own_lines(kept: list[str], settings: AutoMemorySettings) -> list[str]:
    """Return the user's own lines, limited to half of the index so that memories have room."""
    found, size = [], 0
    for line in kept[: settings.index_lines // 2]:
        size += len(line.encode("utf-8", "replace")) + 1
        if size > settings.index_bytes // 2:
            break
        found.append(line)
    return found


def _pointer_line(head: MemoryHeader, present: str | None, width: int) -> str:
    match = _POINTER.match(present) if present else None
    if match is None or present is None:
        return render_index_line(head.name, head.path, head.description, width)
    # A foreign title and hook are kept unless the line is excessively long.
    if len(present) <= 2 * width:
        return present
    return render_index_line(match["title"], head.path, match["hook"] or "", width)


POINTER_CACHE_SIZE = 2_048
"""Lines of indexes that are remembered as rendered or read: each session of a process is shown the
same two hundred, which are read in four places.
"""


@lru_cache(POINTER_CACHE_SIZE)
def render_index_line(title: str, path: str, hook: str, width: int) -> str:
    """Render the line of an index that points to a file, of about `width` characters."""
    title = _cut_line(title.translate({ord("["): "(", ord("]"): ")"}), width // 3)
    room = max(_MIN_HOOK_CHARS, width - len(title) - len(path) - 8)
    hook = _cut_line(hook, room)
    # Markdown requires angle brackets around a path with spaces or brackets.
    return f"- [{title}]({f'<{path}>' if _BRACKETED.search(path) else path})" + (
        f" — {hook}" if hook and hook != title else ""
    )


def _cut_line(text: str, room: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= room else text[: max(1, room - 1)].rstrip() + "…"


MAX_CONSECUTIVE_MISFITS = 50
"""Lines in a row that do not fit, after which no further one is tried. Our choice: of ten thousand
memories nearly all are beyond the limit.
"""


def _choose_pointers(
    ranked: RankedHeaders,
    now: float,
    render: Callable[[MemoryHeader], str],
    top: list[str],
    settings: AutoMemorySettings,
    *,
    cut: bool,
) -> tuple[dict[str, str], str]:
    """Choose the lines that fit beside the own lines, in order of value, by path; and the path of
    the first memory without one, empty for none.

    A line that is too long leaves its room to the next. With `cut`, room for a closing remark is
    reserved.
    """
    size = sum(_line_bytes(line) for line in top)
    whole = (
        not cut
        and len(top) + len(ranked) <= settings.index_lines
        and size + sum(_line_bytes(render(head)) for head in ranked.iter_ranked_at(now))
        <= settings.index_bytes
    )
    rows = settings.index_lines - len(top) - (0 if whole else 1)
    room = (
        settings.index_bytes
        - size
        - (0 if whole else _line_bytes(_overflow_remark(99_999, 99_999, "lines")))
    )
    chosen: dict[str, str] = {}
    missed: list[str] = []
    misses = 0
    for head in ranked.iter_ranked_at(now):
        line = render(head)
        fits = _line_bytes(line) <= room
        if len(chosen) >= rows or misses >= MAX_CONSECUTIVE_MISFITS:
            missed.append(head.path)
            break
        misses = 0 if fits else misses + 1
        if fits:
            chosen[head.path] = line
            room -= _line_bytes(line)
        else:
            missed.append(head.path)
    return chosen, next(iter(missed), "")


def _line_bytes(line: str) -> int:
    return len(line.encode("utf-8", "replace")) + 1


def _overflow_remark(memories: int, lines: int, over: str) -> str:
    own = f" and {lines} lines of yours" if lines > 0 else ""
    return (
        f"{_REMARK_PREFIX} {memories} memories{own} do not fit here (limit of {over}); "
        f"`memorist memory list` shows all -->"
    )


@lru_cache(POINTER_CACHE_SIZE)
def parse_pointer_target(line: str) -> str:
    """Return the path of the memory that an index line points to, whether it is there or not; empty
    for any other line, such as one with a link to a page or to a file of the project.
    """
    match = _POINTER.match(line)
    path = match["path"].strip("<>").removeprefix("./") if match else ""
    leads_elsewhere = path.startswith("/") or "://" in path or ".." in path.split("/")
    return path if path.endswith(".md") and not leads_elsewhere else ""


def list_pointer_targets(text: str) -> tuple[str, ...]:
    """List the files that an index points to, in its order, each once."""
    return tuple(_split_index(text)[1])
