"""Split text into search words: lower case, stems, identifiers whole and in parts, character pairs
in unspaced scripts.

Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from memorist.core.later import late_pattern
from memorist.recall.lexicon import BASE_FORMS
from memorist.recall.stem import KNOWN_WORDS, stem

LONGEST_WORD = 64
"""Characters kept of one word: longer ones are hashes and encoded data, which nobody types."""

LONGEST_TEXT = 100_000
"""Characters read of one text. Up to 4,096 bytes of a memory are shown (RC-4); text far behind them
cannot be its subject.
"""

_UNSPACED = (
    "\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, kana, bopomofo, Chinese characters, Hangul."""

_RUN = late_pattern(rf"([{_UNSPACED}]+)|([^\W_]+(?:[_./:\\-]+[^\W_]+)*)")
_UNSPACED_RUN = late_pattern(f"[{_UNSPACED}]+")
_PIECE = late_pattern(r"[^\W_]+")
_HUMP = late_pattern(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SEGMENT = late_pattern(r"[./:\\]+")
_MARK = late_pattern("[\u0300-\u036f]")


def words(text: str) -> Iterator[tuple[str, str]]:
    """Yield every word of the text, in order, as its search key and as it is spelled."""
    text = text[:LONGEST_TEXT]
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    for match in _RUN.finditer(text):
        unspaced, spaced = match.groups()
        if unspaced:
            yield from _pairs(unspaced)
        elif _UNSPACED_RUN.search(spaced):
            for part in re.split(f"([{_UNSPACED}]+)", spaced):
                yield from _pairs(part) if _UNSPACED_RUN.fullmatch(part) else _named(part)
        else:
            yield from _named(spaced)


def _pairs(run: str) -> Iterator[tuple[str, str]]:
    """Yield single characters and adjacent pairs: a single one can be searched for, and a pair
    means more.
    """
    for at, character in enumerate(run):
        yield character, character
        if at + 1 < len(run):
            yield run[at : at + 2], run[at : at + 2]


@lru_cache(KNOWN_WORDS)
def _named(run: str) -> tuple[tuple[str, str], ...]:
    """Split a word or identifier into its parts and the joined whole, so that `readAll`, `read_all`
    and `read-all` match.
    """
    if run.isalpha() and (run.islower() or run.istitle()):
        return ((found_by(run), run),)
    found = []
    segments = [segment for segment in _SEGMENT.split(run) if segment]
    for segment in segments:
        parts = [part for piece in _PIECE.findall(segment) for part in _HUMP.split(piece) if part]
        found += [(found_by(part), part) for part in parts]
        if len(parts) > 1:
            found.append((_joined(segment), segment))
    if len(segments) > 1:
        found.append((_joined(run), run))
    return tuple(found)


def found_by(word: str) -> str:
    """Make the search key of one plain word: folded, mapped to its base form if irregular, stemmed.
    """
    folded = _folded(word)[:LONGEST_WORD]
    return stem(BASE_FORMS.get(folded, folded))


def _joined(run: str) -> str:
    return _folded("".join(_PIECE.findall(run)))[:LONGEST_WORD]


def _folded(word: str) -> str:
    if word.isascii():
        return word.lower()
    return _MARK.sub("", unicodedata.normalize("NFD", word.casefold()))
