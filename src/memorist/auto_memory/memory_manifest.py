"""The manifest of a memory folder: the header of each memory file, newest first (AM-6). Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from memorist.auto_memory.memory_file import MemoryFile, MemoryKind, Trust, parse_memory_file
from memorist.core.text_encoding import replace_surrogates
from memorist.core.utc_time import convert_epoch_to_utc_datetime
from memorist.forks.fork_permissions import has_invisible_characters
from memorist.safety.hidden_characters import strip_hidden_characters
from memorist.safety.markup_sanitizer import neutralize_markup
from memorist.settings import AutoMemorySettings

INDEX_NAME = "MEMORY.md"
"""The index of a folder; not a memory itself."""
HEADER_READ_BYTES = 16_384
"""Bytes of a file read for its header: 30 lines (Claude Code) of up to 500
characters.
"""
MAX_FILE_BYTES = 1_000_000
"""Bytes of the largest file that is recorded and searched; a memory has a few hundred. Larger files
are listed and reported.
"""
DAY_SECONDS = 86_400.0
_MAX_LINE_CHARS = 500
_BREAKING_CATEGORIES = ("Cc", "Cs", "Zl", "Zp")
"""Unicode categories of characters that end a line, control a terminal, or stand for invalid UTF-8.
"""


class MemoryHeader(Struct, frozen=True, kw_only=True, gc=False):
    """One file of the manifest. The collector of garbage passes it by, since it refers to nothing
    that refers to it: with ten thousand a collection took 40 ms of some prompt, and takes 29.
    """

    path: str
    """Relative to the memory folder, with slashes."""
    name: str
    description: str
    saying: str = ""
    """What it says in one line, where that is another than its description."""
    kind: MemoryKind | None
    modified: float
    """Seconds since the epoch, UTC."""
    size: int
    """Bytes."""
    trust: Trust = Trust.UNKNOWN
    status: str = "active"
    pinned: bool = False
    doubts: tuple[str, ...] = ()
    """Why a model is not shown it, unless the user accepted it; judged on the whole file."""
    content_digest: str = field(default="", name="seal")
    """See `compute_review_digest`; empty without doubts."""
    is_whole: bool = False
    """Whether name, description and what it says are all of its text; in doubt not."""

    def age_days(self, now: float) -> int:
        """Return the whole days since the last change; a time in the future counts as today."""
        return max(0, int((now - self.modified) // DAY_SECONDS))


def parse_memory_header(
    path: str, start: bytes, *, lines: int, modified: float, size: int
) -> MemoryHeader:
    """Read the header from a file's first bytes.

    `modified` is in seconds since the epoch, `size` the whole file's bytes.
    """
    first = b"".join(start.splitlines(keepends=True)[:lines])
    topic = parse_memory_file(
        path, first if b"\n---" in first[3:] or not first.startswith(b"---") else start
    )
    return replace(build_memory_header(topic, modified=modified, size=size), is_whole=False)


def build_memory_header(topic: MemoryFile, *, modified: float, size: int) -> MemoryHeader:
    """Build the header of a parsed memory."""
    provenance = topic.provenance
    name, description, saying = map(
        _printable_line, (topic.name, topic.description, topic.one_line_text)
    )
    return MemoryHeader(
        path=topic.path,
        name=name,
        description=description,
        saying="" if saying == description else saying,
        kind=topic.kind,
        modified=modified,
        size=size,
        trust=provenance.trust,
        status=provenance.status,
        pinned=topic.pinned,
        is_whole="\n" not in topic.body.strip()
        and max(map(len, (name, description, saying))) < _MAX_LINE_CHARS,
    )


def _printable_line(text: str) -> str:
    """Put text on one encodable line; invalid UTF-8 becomes question marks."""
    return " ".join(replace_surrogates(text).split())[:_MAX_LINE_CHARS]


def is_index_file(path: str) -> bool:
    """Whether a file is an index, generated from the files beside it."""
    return path.rsplit("/", 1)[-1] == INDEX_NAME


def is_memory_file(path: str) -> bool:
    """Whether a file of the folder is a memory: Markdown, not an index, not in a hidden folder."""
    parts = path.split("/")
    return (
        parts[-1].endswith(".md")
        and parts[-1] != INDEX_NAME
        and not any(part.startswith(".") for part in parts)
    )


def has_misleading_name(path: str) -> bool:
    """Whether a name contains a line break or an invisible character.

    In a list such a name could pass for another one, or for several lines.
    """
    return has_invisible_characters(path)


def is_single_line_path(path: str) -> bool:
    """Whether a name can be in a line of text (index, prompt, JSON).

    A file with any other name is reported by `memory check` and not read.
    """
    return (path.isascii() and path.isprintable()) or not any(
        unicodedata.category(letter) in _BREAKING_CATEGORIES for letter in path
    )


def describe_excess_memory_file_size(size: int) -> str:
    """Describe an excessive size as the end of a sentence; empty for an acceptable one."""
    if size > MAX_FILE_BYTES:
        return f"{size:,} bytes, more than a memory may have ({MAX_FILE_BYTES:,})"
    return ""


def sort_newest_first(
    headers: Iterable[MemoryHeader], limit: int | None = None
) -> list[MemoryHeader]:
    """Sort headers newest first, ties by path."""
    return sorted(headers, key=lambda head: (-head.modified, head.path))[:limit]


def render_manifest_line(header: MemoryHeader) -> str:
    """Render `- [type] path (time): description`, omitting missing parts."""
    kind = f"[{header.kind}] " if header.kind else ""
    when = convert_epoch_to_utc_datetime(header.modified).strftime("%Y-%m-%dT%H:%M:%SZ")
    said = f": {header.description}" if header.description else ""
    return neutralize_markup(strip_hidden_characters(f"- {kind}{header.path} ({when}){said}"))


def render_manifest(headers: Sequence[MemoryHeader], settings: AutoMemorySettings) -> str:
    """Render the manifest for a prompt: one line per file, newest first, and the number of omitted
    files.
    """
    active = (head for head in headers if head.status == "active")
    shown = sort_newest_first(active, settings.scan_files)
    more = len(headers) - len(shown)
    lines = [render_manifest_line(head) for head in shown]
    if more > 0:
        lines.append(f"({more} more, older or superseded, are not listed)")
    return "\n".join(lines)
