"""Characters that the user does not see and a model reads (SF-2): found, removed, and, when they
spell something, decoded.

What scripts and emoji need is kept: joiners inside emoji and between letters of scripts that join,
a variation selector after what varies, direction marks beside right-to-left letters, the tags of a
flag, a byte order mark at the start.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cached_property, lru_cache

from msgspec import Struct

from memorist.core.lazy import lazy_pattern
from memorist.safety.safety_finding import SafetyFinding

_ZERO_WIDTH = frozenset(
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200d\u2060\u2061\u2062\u2063\u2064\u2800\u3164\ufeff\uffa0"
)
_DIRECTION_MARKS = frozenset("\u061c\u200e\u200f")
_DIRECTIONS = _DIRECTION_MARKS | frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_VISIBLE_FORMATS = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)
"""Format characters that are visible: signs before numbers in Arabic, Syriac and Kaithi."""
_SUSPECT_CATEGORIES = frozenset({"Cc", "Cf", "Cn", "Co", "Cs"})
_FLAG_EMOJI = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,6}\U000e007f")
_JOINING_SCRIPTS = (
    (0x0600, 0x08FF),
    (0x0900, 0x0DFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x1800, 0x18AF),
    (0xFB50, 0xFDFF),
    (0xFE70, 0xFEFC),
)
"""Scripts whose letters need joiners: Arabic and its neighbours, those of India, Burmese, Khmer,
Mongolian.
"""
_EMOJI = (
    (0x1F000, 0x1FAFF),
    (0x2190, 0x2BFF),
    (0x203C, 0x2049),
    (0x3030, 0x303D),
    (0x3297, 0x3299),
    (0xFE0F, 0xFE0F),
)
_IDEOGRAPHS = ((0x2E80, 0x2FDF), (0x3400, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x323AF))
_PLAIN_BYTES = bytes(range(0x20, 0x7F)) + b"\n\t"
"""Bytes of texts that hide nothing; most texts consist of these only and are done at once."""
_MAX_ROUNDS = 4
_TAG_BLOCK_START = 0xE0000
_SELECTOR_RUN = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{4,}")
_TAG_RUN = re.compile("[\U000e0020-\U000e007e]{4,}")


def find_hidden_characters(text: str) -> tuple[SafetyFinding, ...]:
    """Find runs of hidden characters, by kind: `zero-width`, `direction`, `tag`, `variation`,
    `private-use`, `unassigned`, `control`.
    """
    if text.isascii() and not text.encode().translate(None, _PLAIN_BYTES):
        return ()
    kinds = {character: kind for character in set(text) if (kind := _hidden_kind(character))}
    if not kinds:
        return ()
    flags = (
        {at for flag in _FLAG_EMOJI.finditer(text) for at in range(*flag.span())}
        if "\U0001f3f4" in text
        else set()
    )
    found: list[SafetyFinding] = []
    for match in re.finditer("[" + "".join(map(re.escape, kinds)) + "]", text):
        at, kind = match.start(), kinds[match[0]]
        if at in flags or _is_needed(text, at, kind):
            continue
        if found and found[-1].end == at and found[-1].rule == kind:
            found[-1] = SafetyFinding(found[-1].start, at + 1, kind)
        else:
            found.append(SafetyFinding(at, at + 1, kind))
    return tuple(found)


def strip_hidden_characters(text: str) -> str:
    """The text without its hidden characters; the same object when there are none. Applying it
    twice changes nothing more.
    """
    rounds = 0
    while found := find_hidden_characters(text):
        rounds += 1
        if rounds > _MAX_ROUNDS:
            return "".join(character for character in text if not _hidden_kind(character))
        parts = []
        done = 0
        for finding in found:
            parts.append(text[done : finding.start])
            done = finding.end
        text = "".join((*parts, text[done:]))
    return text


def decode_hidden_text(text: str) -> tuple[tuple[SafetyFinding, str], ...]:
    """Decode what hidden characters spell: letters written as tags, and bytes written as variation
    selectors.
    """
    if text.isascii():
        return ()
    read = [
        (match.span(), "".join(chr(ord(one) - _TAG_BLOCK_START) for one in match[0]))
        for match in _TAG_RUN.finditer(text)
    ]
    for match in _SELECTOR_RUN.finditer(text):
        value = bytes(
            ord(one) - 0xFE00 if ord(one) < _TAG_BLOCK_START else ord(one) - 0xE0100 + 16
            for one in match[0]
        )
        read.append((match.span(), value.decode("utf-8", "ignore")))
    return tuple((SafetyFinding(*span, "spelled"), said) for span, said in read)


@lru_cache(maxsize=4096)
def _hidden_kind(character: str) -> str:
    """The kind of a character that may be hidden; empty for a visible one."""
    point = ord(character)
    if character in "\n\t":
        return ""
    if character in _ZERO_WIDTH or character in _DIRECTIONS:
        return "zero-width" if character in _ZERO_WIDTH else "direction"
    if 0xFE00 <= point <= 0xFE0F or 0xE0100 <= point <= 0xE01EF or 0x180B <= point <= 0x180F:
        return "variation"
    category = unicodedata.category(character)
    if (
        category not in _SUSPECT_CATEGORIES
        or character in _VISIBLE_FORMATS
        or (category == "Cn" and _is_within(character, _EMOJI))
    ):
        return ""
    if _TAG_BLOCK_START <= point <= _TAG_BLOCK_START + 0x7F:
        return "tag"
    return {"Cc": "control", "Cf": "zero-width", "Co": "private-use"}.get(category, "unassigned")


def _is_needed(text: str, at: int, kind: str) -> bool:
    before, character, after = text[at - 1 : at] if at else "", text[at], text[at + 1 : at + 2]
    if kind == "variation":
        return _takes_variation(before, character)
    if character in _DIRECTION_MARKS:
        return any(
            unicodedata.bidirectional(side) in {"R", "AL", "AN"} for side in (before, after) if side
        )
    if character == "\u200d" and _is_within(before, _EMOJI):
        return _is_within(after, _EMOJI) or after in {"\u2640", "\u2642", "\u2695"}
    if character in "\u200c\u200d":
        return _is_within(before, _JOINING_SCRIPTS) and (
            _is_within(after, _JOINING_SCRIPTS) or not after.isalnum()
        )
    allowed_here = {
        "\r": after == "\n",
        "\ufeff": at == 0,
        "\u1160": "\u1100" <= before <= "\u11ff",
    }
    return allowed_here.get(character, False)


def _takes_variation(before: str, character: str) -> bool:
    """Whether a variation selector is legitimate here: once, after an emoji or sign, a keycap
    digit, an ideograph, a Mongolian letter.
    """
    if not before or _hidden_kind(before) == "variation":
        return False
    if ord(character) < 0x1900:
        return "\u1800" <= before <= "\u18af"
    if ord(character) > _TAG_BLOCK_START:
        return _is_within(before, _IDEOGRAPHS)
    signs = before in "0123456789#*" or (
        not before.isascii() and unicodedata.category(before)[0] in "SP"
    )
    return signs or _is_within(before, _EMOJI) or _is_within(before, _IDEOGRAPHS)


def _is_within(character: str, ranges: tuple[tuple[int, int], ...]) -> bool:
    return bool(character) and any(low <= ord(character) <= high for low, high in ranges)


# A text as its reader sees it: without hidden characters, with normalised letters, in lower
# case. Each character knows its original offset.


_LOOKALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u0475\u051b\u051d\u0461\u043a\u0442\u043c\u043d"
    "\u0432\u0433\u043f\u03bf\u03b1\u03b5\u03b9\u03ba\u03bd\u03c1\u03c4\u03c5\u03c7\u03b3\u03b7\u03c9\u03f2\u0261\u0269\u0131"
    "\u0585\u057d\u0578\u0570\u0581\u2c9f\u2ca5\uabaa",
    "aeopcyxijshdvqwwktmhbrnoaeikvptuxynwcgiiounhgocs",
)
"""Cyrillic, Greek, Armenian and other small letters that look like Latin ones."""
_QUOTES = {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"'}


class FoldedText(Struct, frozen=True, dict=True):
    """Folded text, and how many characters each of the original one became; None where each became
    one.
    """

    text: str
    widths: tuple[int, ...] | None = None

    @cached_property
    def _offsets(self) -> list[int]:
        """The original offset of each folded character: wanted only where something is found."""
        return [at for at, width in enumerate(self.widths or ()) for _ in range(width)]

    def map_to_original_span(self, start: int, end: int) -> tuple[int, int]:
        """The range of the original text that a range of the folded text came from."""
        if self.widths is None or start >= end:
            return start, end
        return self._offsets[start], self._offsets[end - 1] + 1


def fold_hidden_and_lookalike_characters(text: str) -> FoldedText:
    """Remove hidden characters, replace compatibility forms and look-alikes by plain letters, and
    fold case.
    """
    if text.isascii():
        return FoldedText(text.lower())
    alone = {character: _fold_character(character) for character in set(text)}
    folded = [*map(alone.__getitem__, text)]
    for finding in find_hidden_characters(text):
        folded[finding.start : finding.end] = [""] * (finding.end - finding.start)
    joined = "".join(folded)
    if len(joined) == len(text) and all(len(value) == 1 for value in alone.values()):
        return FoldedText(joined)
    return FoldedText(joined, tuple(map(len, folded)))


@lru_cache(maxsize=4096)
def _fold_character(character: str) -> str:
    plain = _QUOTES.get(character) or unicodedata.normalize("NFKC", character).lower()
    return plain.translate(_LOOKALIKES)


_SPACED_LETTERS = lazy_pattern(r"(?<![^\W_])(?:[^\W_][ .\-_*|/]{1,3}){7,}[^\W_](?![^\W_])")


def find_spaced_letters(folded: FoldedText) -> list[tuple[tuple[int, int], str]]:
    """Runs of single letters separated by a sign or space, and the letters alone."""
    return [
        (folded.map_to_original_span(*found.span()), re.sub(r"[\W_]+", "", found[0]))
        for found in _SPACED_LETTERS.finditer(folded.text)
    ]
