"""The manifest: what each memory file says of itself in its first lines, newest first (AM-6). Pure."""

from __future__ import annotations

import datetime as dt
import unicodedata
from collections.abc import Iterable, Sequence

from msgspec import Struct

from memorist.auto_memory.kinds import Kind, Trust
from memorist.auto_memory.topic import Topic, parse
from memorist.forks.permissions import unseen
from memorist.safety.data import neutralise
from memorist.safety.hidden import visible

INDEX_NAME = "MEMORY.md"
"""The index of a folder; no memory itself."""
HEAD_BYTES = 16_384
"""Bytes read of a file for the manifest: 30 lines (claude-code.md section 7.6) of up to 500 characters."""
MAX_FILE = 1_000_000
"""Bytes of the largest file that is taken into the history and searched; a memory has a few hundred. Larger ones are listed and reported."""
DAY = 86_400.0
_BREAKS = ("Cc", "Cs", "Zl", "Zp")
"""Unicode categories of what ends a line, steers a terminal, or stands for bytes that are no UTF-8."""


class Head(Struct, frozen=True, kw_only=True):
    """One file of the manifest."""

    path: str
    """Relative to the memory folder, with slashes."""
    name: str
    description: str
    kind: Kind | None
    modified: float
    """Seconds since the epoch, UTC."""
    size: int
    """Bytes."""
    trust: Trust = Trust.UNKNOWN
    status: str = "active"
    pinned: bool = False
    doubts: tuple[str, ...] = ()
    """Why it is not shown to a model, unless the person accepted it; as its whole file was judged."""
    seal: str = ""
    """Names what it says; see `memorist.auto_memory.shown.seal`. Empty without doubts."""
    problem: str = ""
    """Why its header could not be read; empty when it could."""

    def age_days(self, now: float) -> int:
        """Whole days since it was changed; a time that lies ahead counts as today."""
        return max(0, int((now - self.modified) // DAY))


def head_of(path: str, start: bytes, *, lines: int, modified: float, size: int) -> Head:
    """The head of a file from its first bytes. `modified` in seconds since the epoch, `size` in bytes of the whole file."""
    first = b"".join(start.splitlines(keepends=True)[:lines])
    topic = parse(path, first if b"\n---" in first[3:] or not first.startswith(b"---") else start)
    return head_from(topic, modified=modified, size=size)


def head_from(topic: Topic, *, modified: float, size: int) -> Head:
    """The head of a memory that was read."""
    provenance = topic.provenance
    return Head(
        path=topic.path,
        name=_shown(topic.name),
        description=_shown(topic.description),
        kind=topic.kind,
        modified=modified,
        size=size,
        trust=provenance.trust,
        status=provenance.status,
        pinned=topic.pinned,
        problem=topic.problem,
    )


def _shown(text: str) -> str:
    """One line that any encoder takes: bytes that were no UTF-8 become question marks."""
    return " ".join(text.encode("utf-8", "replace").decode().split())[:500]


def is_index(path: str) -> bool:
    """Whether a file is an index, made from the files beside it."""
    return path.rsplit("/", 1)[-1] == INDEX_NAME


def is_memory(path: str) -> bool:
    """Whether a file of the folder is a memory: Markdown, not an index, not in a hidden folder."""
    parts = path.split("/")
    return parts[-1].endswith(".md") and parts[-1] != INDEX_NAME and not any(part.startswith(".") for part in parts)


def unreadable_name(path: str) -> bool:
    """Whether a name holds a line break or a sign that cannot be seen: in a list it could pass for another one, or for several lines."""
    return unseen(path)


def one_line(path: str) -> bool:
    """Whether a name can stand in a line of text: in the index, a prompt, JSON. A file with another one is reported by `memory check`, and not read."""
    return (path.isascii() and path.isprintable()) or not any(unicodedata.category(letter) in _BREAKS for letter in path)


def too_large(size: int) -> str:
    """What is wrong with a memory of so many bytes, as the end of a sentence; empty where it is small enough."""
    return f"{size:,} bytes, more than a memory may have ({MAX_FILE:,})" if size > MAX_FILE else ""


def newest(heads: Iterable[Head], limit: int | None = None) -> list[Head]:
    """The heads, newest first; ties by path."""
    return sorted(heads, key=lambda head: (-head.modified, head.path))[:limit]


def line(head: Head) -> str:
    """`- [type] path (time): description`, parts that are missing left out."""
    kind = f"[{head.kind}] " if head.kind else ""
    when = dt.datetime.fromtimestamp(max(0.0, min(head.modified, 253_402_300_799.0)), dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    said = f": {head.description}" if head.description else ""
    return neutralise(visible(f"- {kind}{head.path} ({when}){said}"))


def manifest(heads: Sequence[Head], *, limit: int) -> str:
    """The manifest as a prompt shows it: the newest files, one line each, and how many more there are."""
    shown = newest((head for head in heads if head.status == "active"), limit)
    more = len(heads) - len(shown)
    lines = [line(head) for head in shown]
    if more > 0:
        lines.append(f"({more} more, older or superseded, are not listed)")
    return "\n".join(lines)
