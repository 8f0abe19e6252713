"""The manifest: the header of each memory file, newest first (AM-6). Pure."""

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
"""The index of a folder; not a memory itself."""
HEAD_BYTES = 16_384
"""Bytes of a file read for its header: 30 lines (claude-code.md section 7.6) of up to 500
characters.
"""
MAX_FILE = 1_000_000
"""Bytes of the largest file that is recorded and searched; a memory has a few hundred. Larger files
are listed and reported.
"""
DAY = 86_400.0
_BREAKS = ("Cc", "Cs", "Zl", "Zp")
"""Unicode categories of characters that end a line, control a terminal, or stand for invalid UTF-8.
"""


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
    """Why a model is not shown it, unless the user accepted it; judged on the whole file."""
    seal: str = ""
    """Content seal, see `memorist.auto_memory.shown.compute_content_seal`; empty without doubts."""
    problem: str = ""
    """Why its header could not be read; empty when it could."""

    def age_days(self, now: float) -> int:
        """Return the whole days since the last change; a time in the future counts as today."""
        return max(0, int((now - self.modified) // DAY))


def head_of(path: str, start: bytes, *, lines: int, modified: float, size: int) -> Head:
    """Read the header from a file's first bytes.

    `modified` is in seconds since the epoch, `size` the whole file's bytes.
    """
    first = b"".join(start.splitlines(keepends=True)[:lines])
    topic = parse(path, first if b"\n---" in first[3:] or not first.startswith(b"---") else start)
    return head_from(topic, modified=modified, size=size)


def head_from(topic: Topic, *, modified: float, size: int) -> Head:
    """Build the header of a parsed memory."""
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
    """Put text on one encodable line; invalid UTF-8 becomes question marks."""
    return " ".join(text.encode("utf-8", "replace").decode().split())[:500]


def is_index(path: str) -> bool:
    """Whether a file is an index, generated from the files beside it."""
    return path.rsplit("/", 1)[-1] == INDEX_NAME


def is_memory(path: str) -> bool:
    """Whether a file of the folder is a memory: Markdown, not an index, not in a hidden folder."""
    parts = path.split("/")
    return parts[-1].endswith(".md") and parts[-1] != INDEX_NAME and not any(part.startswith(".") for part in parts)


def unreadable_name(path: str) -> bool:
    """Whether a name contains a line break or an invisible character.

    In a list such a name could pass for another one, or for several lines.
    """
    return unseen(path)


def one_line(path: str) -> bool:
    """Whether a name can stand in a line of text (index, prompt, JSON).

    A file with any other name is reported by `memory check` and not read.
    """
    return (path.isascii() and path.isprintable()) or not any(unicodedata.category(letter) in _BREAKS for letter in path)


def too_large(size: int) -> str:
    """Describe an excessive size as the end of a sentence; empty for an acceptable one."""
    return f"{size:,} bytes, more than a memory may have ({MAX_FILE:,})" if size > MAX_FILE else ""


def newest(heads: Iterable[Head], limit: int | None = None) -> list[Head]:
    """Sort headers newest first, ties by path."""
    return sorted(heads, key=lambda head: (-head.modified, head.path))[:limit]


def line(head: Head) -> str:
    """Render `- [type] path (time): description`, omitting missing parts."""
    kind = f"[{head.kind}] " if head.kind else ""
    when = dt.datetime.fromtimestamp(max(0.0, min(head.modified, 253_402_300_799.0)), dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    said = f": {head.description}" if head.description else ""
    return neutralise(visible(f"- {kind}{head.path} ({when}){said}"))


def manifest(heads: Sequence[Head], *, limit: int) -> str:
    """Render the manifest for a prompt: one line per file, newest first, and the number of omitted
    files.
    """
    shown = newest((head for head in heads if head.status == "active"), limit)
    more = len(heads) - len(shown)
    lines = [line(head) for head in shown]
    if more > 0:
        lines.append(f"({more} more, older or superseded, are not listed)")
    return "\n".join(lines)
