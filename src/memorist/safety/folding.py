"""A text as its reader sees it: without hidden characters, with normalised letters, in lower case.
Each character knows its original offset.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Callable

from msgspec import Struct

from memorist.core.later import late_pattern
from memorist.safety.hidden import hidden

_LOOKALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u0475\u051b\u051d\u0461\u043a\u0442\u043c\u043d"
    "\u0432\u0433\u043f\u03bf\u03b1\u03b5\u03b9\u03ba\u03bd\u03c1\u03c4\u03c5\u03c7\u03b3\u03b7\u03c9\u03f2\u0261\u0269\u0131"
    "\u0585\u057d\u0578\u0570\u0581\u2c9f\u2ca5\uabaa",
    "aeopcyxijshdvqwwktmhbrnoaeikvptuxynwcgiiounhgocs",
)
"""Cyrillic, Greek, Armenian and other small letters that look like Latin ones."""
_SMALL = {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"'}


class Folded(Struct, frozen=True):
    """Folded text; `offsets[i]` is the original offset of its character `i`, None when all offsets
    are unchanged.
    """

    text: str
    places: tuple[int, ...] | None = None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The range of the original text that a range of the folded text came from."""
        if self.places is None or start >= end:
            return start, end
        return self.places[start], self.places[end - 1] + 1


def fold(text: str) -> Folded:
    """Remove hidden characters, replace compatibility forms and look-alikes by plain letters, and
    fold case.
    """
    if text.isascii():
        return Folded(text.lower())
    alone = {character: _folded(character) for character in set(text)}
    unseen = {at for finding in hidden(text) for at in range(finding.start, finding.end)}
    if not unseen and all(len(value) == 1 for value in alone.values()):
        return Folded(text.translate({ord(character): value for character, value in alone.items()}))
    kept: list[str] = []
    places: list[int] = []
    for at, character in enumerate(text):
        if at not in unseen:
            value = alone[character]
            kept.append(value)
            places += [at] * len(value)
    return Folded("".join(kept), tuple(places))


def _folded(character: str) -> str:
    plain = _SMALL.get(character) or unicodedata.normalize("NFKC", character).lower()
    return plain.translate(_LOOKALIKES)


_SPACED = late_pattern(r"(?<![^\W_])(?:[^\W_][ .\-_*|/]{1,3}){7,}[^\W_](?![^\W_])")


def spaced_out(folded: Folded) -> list[tuple[tuple[int, int], str]]:
    """Runs of single letters separated by a sign or space, and the letters alone."""
    return [(folded.span(*found.span()), re.sub(r"[\W_]+", "", found[0])) for found in _SPACED.finditer(folded.text)]


_HEX = late_pattern(r"(?<![0-9A-Za-z])(?:0x)?(?:[0-9A-Fa-f]{2}[ :]?){16,}")
_BASE64 = late_pattern(r"[A-Za-z0-9+/_-]{24,}={0,2}")
_ESCAPED = late_pattern(
    r"(?:%[0-9A-Fa-f]{2}[\w .,!]{0,20}){6,}|(?:&#x?[0-9A-Fa-f]{2,6};[\w .,!]{0,20}){6,}|(?:\\(?:u00|x)[0-9A-Fa-f]{2}[\w .,!]{0,20}){6,}"
)
_MARKS = ("%", "&#", "\\")
"""Every escape begins with one of these."""
_ESCAPE = late_pattern(r"%([0-9A-Fa-f]{2})|&#x([0-9A-Fa-f]{2,6});|&#(\d{2,7});|\\(?:u00|x)([0-9A-Fa-f]{2})")
_LEAST_PRINTABLE = 0.9
_LEAST_DECODED = 12


def decoded(text: str) -> list[tuple[tuple[int, int], str]]:
    """The text in blocks of base64, hex digits and escapes, where they decode to text."""
    read: list[tuple[tuple[int, int], str]] = []
    ways: list[tuple[re.Pattern[str], Callable[[str], bytes]]] = [(_BASE64, _from_base64), (_HEX, _from_hex)]
    if any(mark in text for mark in _MARKS):
        ways.append((_ESCAPED, _from_escapes))
    for pattern, decode in ways:
        for found in pattern.finditer(text):
            said = _as_text(decode, found[0])
            if said:
                read.append((found.span(), said))
    return read


def _as_text(decode: Callable[[str], bytes], block: str) -> str:
    try:
        said = decode(block).decode("utf-8")
    except ValueError:
        return ""
    seen = sum(map(str.isprintable, said)) + said.count("\n")
    return said if len(said) >= _LEAST_DECODED and seen >= _LEAST_PRINTABLE * len(said) else ""


def _from_base64(block: str) -> bytes:
    plain = block.rstrip("=").replace("-", "+").replace("_", "/")
    return base64.b64decode(plain[: len(plain) - (len(plain) % 4 == 1)] + "=" * (-len(plain) % 4))


def _from_hex(block: str) -> bytes:
    return binascii.unhexlify(re.sub(r"\A0x|[ :]", "", block))


def _from_escapes(block: str) -> bytes:
    return _ESCAPE.sub(_unescape, block).encode("latin-1")


def _unescape(found: re.Match[str]) -> str:
    point = int(found[3]) if found[3] else int(found[1] or found[2] or found[4], 16)
    return chr(point) if point < 256 else " "
