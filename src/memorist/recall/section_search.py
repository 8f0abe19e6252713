"""Search in a few documents by their sections: notes of sessions, and the memory of past sessions.
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from heapq import nlargest

from msgspec import Struct

from memorist.recall.passages import list_search_keys, measure_text_evidence
from memorist.recall.search_query import parse_query

MIN_SECTION_EVIDENCE = 3.0
"""Nats of evidence that a section needs to be found: one word that few messages hold."""
MAX_SECTION_CHARS = 8_000
"""Characters of a section that are searched and returned."""
_HEADING = re.compile(r"^#{1,4} ", re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->|^\s*---\s*$", re.DOTALL | re.MULTILINE)


class SearchableText(Struct, frozen=True, kw_only=True):
    """One file to search in."""

    path: str
    text: str
    kind: str
    """What it is, for the reader: `notes`, `rollout memory`."""
    session: str = ""
    """Id of the session that notes are of."""
    at: float = 0.0
    """When it was written, in seconds since the epoch."""


class SectionMatch(Struct, frozen=True, kw_only=True):
    """A section that a query found."""

    document: SearchableText
    line: int
    """Its first line, counted from 1."""
    text: str
    evidence: float
    """How much the matched words say beyond chance, in nats."""


def search_sections(
    query: str, documents: Iterable[SearchableText], limit: int
) -> tuple[SectionMatch, ...]:
    """Return the best sections, best first."""
    words = parse_query(query).words
    found = (
        SectionMatch(
            document=document,
            line=line,
            text=text,
            evidence=measure_text_evidence(words.keys(), list_search_keys(text)),
        )
        for document in documents
        for line, text in _split_sections(document.text)
    )
    fit = (each for each in found if each.evidence >= MIN_SECTION_EVIDENCE)
    return tuple(nlargest(limit, fit, key=lambda each: (each.evidence, each.document.at)))


def _split_sections(text: str) -> Iterator[tuple[int, str]]:
    """The sections below each heading that hold more than the heading, with their first lines."""
    starts = [0, *(match.start() for match in _HEADING.finditer(text) if match.start())]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        section = _COMMENT.sub("", text[start:end]).strip()
        if section and (not section.startswith("#") or "\n" in section):
            yield text.count("\n", 0, start) + 1, section[:MAX_SECTION_CHARS]
