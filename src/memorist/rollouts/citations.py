"""The block in which a model cites the memories it used: removed from a stream of text, and parsed
(RO-8; Codex). Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from memorist.core.lazy import lazy_pattern
from memorist.rollouts.rollout_summaries import compute_short_rollout_digest

CITATION_OPENING = "<oai-mem-citation>"
CITATION_CLOSING = "</oai-mem-citation>"
"""Codex's names: models trained on them write them, and Codex removes the block by itself."""
MAX_BLOCK_CHARACTERS = 65_536
"""Characters of blocks that are kept; a longer block is still hidden."""
MAX_CITED_IDS = 256
"""Upper bound of sessions per citation: no more are consolidated."""

_ID_LENGTH = 200
_PART = "(?s)<{name}>(.*?)(?:</{name}>|\\Z)"
_ENTRIES = lazy_pattern(_PART.format(name="citation_entries"))
_IDS = tuple(lazy_pattern(_PART.format(name=name)) for name in ("rollout_ids", "thread_ids"))


class Citation(Struct, frozen=True):
    """Cited lines of a memory file, counted from 1, both ends included."""

    path: str
    first: int
    last: int
    note: str


class CitationBlock(Struct, frozen=True):
    """What a reply says it used, most important first."""

    entries: tuple[Citation, ...] = ()
    threads: tuple[str, ...] = ()
    """Session ids without duplicates."""

    def list_used_session_ids(self, summaries: Mapping[str, str]) -> tuple[str, ...]:
        """Return ids of the sessions that count as used once: those named, by their id or the four
        signs of an entry, and those whose summary is cited; `summaries` maps paths to sessions.
        """
        signs: dict[str, str] = {}
        for thread in summaries.values():
            sign = compute_short_rollout_digest(thread)
            signs[sign] = "" if sign in signs else thread  # two of one sign: neither
        named = (signs.get(name) or name for name in self.threads)
        found = (summaries[entry.path] for entry in self.entries if entry.path in summaries)
        return tuple(dict.fromkeys((*named, *found)))


class CitationStrippingStream:
    """Hides the citation block in streamed text.

    The result does not depend on how the text is chunked.
    """

    def __init__(self) -> None:
        self._held = ""
        """The newest text, as far as it may be the start of a tag."""
        self._inside = False
        self._body: list[str] = []
        self._size = 0

    def feed(self, text: str) -> str:
        """Take the next chunk; return what may be shown now."""
        self._held += text
        shown: list[str] = []
        while True:
            tag = CITATION_CLOSING if self._inside else CITATION_OPENING
            at = self._held.find(tag)
            if at >= 0:
                self._consume(self._held[:at], shown)
                self._held = self._held[at + len(tag) :]
                if self._inside:
                    self._append_body("\n")
                self._inside = not self._inside
                continue
            safe = len(self._held) - _suffix_overlap(self._held, tag)
            self._consume(self._held[:safe], shown)
            self._held = self._held[safe:]
            return "".join(shown)

    def finish(self) -> str:
        """End the text; return what is left to show. An unclosed block ends here."""
        shown: list[str] = []
        self._consume(self._held, shown)
        self._held = ""
        return "".join(shown)

    @property
    def citations(self) -> CitationBlock:
        """The citations read so far."""
        return parse_citation_block("".join(self._body))

    def _consume(self, text: str, shown: list[str]) -> None:
        if self._inside:
            self._append_body(text)
        else:
            shown.append(text)

    def _append_body(self, text: str) -> None:
        part = text[: max(0, MAX_BLOCK_CHARACTERS - self._size)]
        self._size += len(part)
        self._body.append(part)


def _suffix_overlap(text: str, tag: str) -> int:
    """Return the length of the longest suffix of a text with which the tag begins."""
    return next(
        (size for size in range(min(len(text), len(tag) - 1), 0, -1) if text.endswith(tag[:size])),
        0,
    )


def split_off_citations(text: str) -> tuple[str, CitationBlock]:
    """Return a whole text without its block, and the block's content."""
    stream = CitationStrippingStream()
    shown = stream.feed(text) + stream.finish()
    return shown, stream.citations


def parse_citation_block(text: str) -> CitationBlock:
    """Parse the content of a block. Malformed lines are skipped."""
    lines = [line.strip() for part in _ENTRIES.findall(text) for line in part.split("\n")]
    entries = tuple(filter(None, map(_parse_citation, filter(None, lines))))
    ids = (word for pattern in _IDS for part in pattern.findall(text) for word in part.split())
    threads = tuple(
        dict.fromkeys(word for word in ids if len(word) <= _ID_LENGTH and "<" not in word)
    )[:MAX_CITED_IDS]
    return CitationBlock(entries, threads)


def _parse_citation(line: str) -> Citation | None:
    where, mark, note = line.rpartition("|note=[")
    path, colon, lines = where.rpartition(":")
    first, dash, last = lines.partition("-")
    if (
        not (mark and colon and dash and path and note.endswith("]"))
        or path.startswith(("/", "~"))
        or ".." in path.split("/")
    ):
        return None
    if not all(each.isascii() and each.isdecimal() and len(each) < 10 for each in (first, last)):
        return None
    return Citation(path, int(first), int(last), note[:-1])
