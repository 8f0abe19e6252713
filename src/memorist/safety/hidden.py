"""Characters that the user does not see and a model reads (SF-2): found, removed, and, when they
spell something, decoded.

What scripts and emoji need is kept: joiners inside emoji and between letters of scripts that join,
a variation selector after what varies, direction marks beside right-to-left letters, the tags of a
flag, a byte order mark at the start.
"""

from __future__ import annotations

import re
import unicodedata

from memorist.safety.finding import Finding

_ZERO_WIDTH = frozenset(
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200d\u2060\u2061\u2062\u2063\u2064\u2800\u3164\ufeff\uffa0"
)
_MARKS = frozenset("\u061c\u200e\u200f")
_DIRECTIONS = _MARKS | frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_SEEN_FORMATS = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")
"""Format characters that are visible: signs before numbers in Arabic, Syriac and Kaithi."""
_SUSPECT = frozenset({"Cc", "Cf", "Cn", "Co", "Cs"})
_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,6}\U000e007f")
_JOINING = ((0x0600, 0x08FF), (0x0900, 0x0DFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x1800, 0x18AF), (0xFB50, 0xFDFF), (0xFE70, 0xFEFC))
"""Scripts whose letters need joiners: Arabic and its neighbours, those of India, Burmese, Khmer,
Mongolian.
"""
_EMOJI = ((0x1F000, 0x1FAFF), (0x2190, 0x2BFF), (0x203C, 0x2049), (0x3030, 0x303D), (0x3297, 0x3299), (0xFE0F, 0xFE0F))
_IDEOGRAPHS = ((0x2E80, 0x2FDF), (0x3400, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x323AF))
_PLAIN = bytes(range(0x20, 0x7F)) + b"\n\t"
"""Bytes of texts that hide nothing; most texts consist of these only and are done at once."""
_ROUNDS = 4
_TAGS = 0xE0000
_SMUGGLED = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{4,}")
_TAGGED = re.compile("[\U000e0020-\U000e007e]{4,}")


def hidden(text: str) -> tuple[Finding, ...]:
    """Find runs of hidden characters, by kind: `zero-width`, `direction`, `tag`, `variation`,
    `private-use`, `unassigned`, `control`.
    """
    if text.isascii() and not text.encode().translate(None, _PLAIN):
        return ()
    kinds = {character: kind for character in set(text) if (kind := _kind(character))}
    if not kinds:
        return ()
    flags = {at for flag in _FLAG.finditer(text) for at in range(*flag.span())} if "\U0001f3f4" in text else set()
    found: list[Finding] = []
    for match in re.finditer("[" + "".join(map(re.escape, kinds)) + "]", text):
        at, kind = match.start(), kinds[match[0]]
        if at in flags or _is_needed(text, at, kind):
            continue
        if found and found[-1].end == at and found[-1].rule == kind:
            found[-1] = Finding(found[-1].start, at + 1, kind)
        else:
            found.append(Finding(at, at + 1, kind))
    return tuple(found)


def visible(text: str) -> str:
    """The text without its hidden characters; the same object when there are none. Applying it
    twice changes nothing more.
    """
    rounds = 0
    while found := hidden(text):
        rounds += 1
        if rounds > _ROUNDS:
            return "".join(character for character in text if not _kind(character))
        parts = []
        done = 0
        for finding in found:
            parts.append(text[done : finding.start])
            done = finding.end
        text = "".join((*parts, text[done:]))
    return text


def spelled(text: str) -> tuple[tuple[Finding, str], ...]:
    """Decode what hidden characters spell: letters written as tags, and bytes written as variation
    selectors.
    """
    if text.isascii():
        return ()
    read = [(match.span(), "".join(chr(ord(one) - _TAGS) for one in match[0])) for match in _TAGGED.finditer(text)]
    for match in _SMUGGLED.finditer(text):
        value = bytes(ord(one) - 0xFE00 if ord(one) < _TAGS else ord(one) - 0xE0100 + 16 for one in match[0])
        read.append((match.span(), value.decode("utf-8", "ignore")))
    return tuple((Finding(*span, "spelled"), said) for span, said in read)


def _kind(character: str) -> str:
    """The kind of a character that may be hidden; empty for a visible one."""
    point = ord(character)
    if character in "\n\t":
        return ""
    if character in _ZERO_WIDTH or character in _DIRECTIONS:
        return "zero-width" if character in _ZERO_WIDTH else "direction"
    if 0xFE00 <= point <= 0xFE0F or 0xE0100 <= point <= 0xE01EF or 0x180B <= point <= 0x180F:
        return "variation"
    category = unicodedata.category(character)
    if category not in _SUSPECT or character in _SEEN_FORMATS or (category == "Cn" and _within(character, _EMOJI)):
        return ""
    return (
        "tag" if _TAGS <= point <= _TAGS + 0x7F else {"Cc": "control", "Cf": "zero-width", "Co": "private-use"}.get(category, "unassigned")
    )


def _is_needed(text: str, at: int, kind: str) -> bool:
    before, character, after = text[at - 1 : at] if at else "", text[at], text[at + 1 : at + 2]
    if kind == "variation":
        return _varies(before, character)
    if character in _MARKS:
        return any(unicodedata.bidirectional(side) in {"R", "AL", "AN"} for side in (before, after) if side)
    if character == "\u200d" and _within(before, _EMOJI):
        return _within(after, _EMOJI) or after in {"\u2640", "\u2642", "\u2695"}
    if character in "\u200c\u200d":
        return _within(before, _JOINING) and (_within(after, _JOINING) or not after.isalnum())
    at_its_place = {"\r": after == "\n", "\ufeff": at == 0, "\u1160": "\u1100" <= before <= "\u11ff"}
    return at_its_place.get(character, False)


def _varies(before: str, character: str) -> bool:
    """Whether a variation selector is legitimate here: once, after an emoji or sign, a keycap
    digit, an ideograph, a Mongolian letter.
    """
    if not before or _kind(before) == "variation":
        return False
    if ord(character) < 0x1900:
        return "\u1800" <= before <= "\u18af"
    if ord(character) > _TAGS:
        return _within(before, _IDEOGRAPHS)
    signs = before in "0123456789#*" or (not before.isascii() and unicodedata.category(before)[0] in "SP")
    return signs or _within(before, _EMOJI) or _within(before, _IDEOGRAPHS)


def _within(character: str, ranges: tuple[tuple[int, int], ...]) -> bool:
    return bool(character) and any(low <= ord(character) <= high for low, high in ranges)
