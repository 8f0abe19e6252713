"""Text that is encoded (base64, hexadecimal, escapes) and decodes to something that a model reads.
Pure.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable

from memorist.core.lazy import lazy_pattern

_HEX = lazy_pattern(r"(?<![0-9A-Za-z])(?:0x)?(?:[0-9A-Fa-f]{2}[ :]?){16,}")


_BASE64 = lazy_pattern(r"[A-Za-z0-9+/_-]{24,}={0,2}")


_ESCAPED = lazy_pattern(
    r"(?:%[0-9A-Fa-f]{2}[\w .,!]{0,20}){6,}|(?:&#x?[0-9A-Fa-f]{2,6};[\w .,!]{0,20}){6,}|"
    r"(?:\\(?:u00|x)[0-9A-Fa-f]{2}[\w .,!]{0,20}){6,}"
)


_ESCAPE_MARKS = ("%", "&#", "\\")
"""Every escape begins with one of these."""


_ESCAPE = lazy_pattern(
    r"%([0-9A-Fa-f]{2})|&#x([0-9A-Fa-f]{2,6});|&#(\d{2,7});|\\(?:u00|x)([0-9A-Fa-f]{2})"
)


_MIN_PRINTABLE_SHARE = 0.9


_MIN_DECODED_LENGTH = 12


def decode_encoded_blocks(text: str) -> list[tuple[tuple[int, int], str]]:
    """The text in blocks of base64, hex digits and escapes, where they decode to text."""
    read: list[tuple[tuple[int, int], str]] = []
    ways: list[tuple[re.Pattern[str], Callable[[str], bytes]]] = [
        (_BASE64, _from_base64),
        (_HEX, _from_hex),
    ]
    if any(mark in text for mark in _ESCAPE_MARKS):
        ways.append((_ESCAPED, _from_escapes))
    for pattern, decode in ways:
        for found in pattern.finditer(text):
            said = _decode_block(decode, found[0])
            if said:
                read.append((found.span(), said))
    return read


def _decode_block(decode: Callable[[str], bytes], block: str) -> str:
    try:
        said = decode(block).decode("utf-8")
    except ValueError:
        return ""
    seen = sum(map(str.isprintable, said)) + said.count("\n")
    if len(said) >= _MIN_DECODED_LENGTH and seen >= _MIN_PRINTABLE_SHARE * len(said):
        return said
    return ""


def _from_base64(block: str) -> bytes:
    plain = block.rstrip("=").replace("-", "+").replace("_", "/")
    return base64.b64decode(plain[: len(plain) - (len(plain) % 4 == 1)] + "=" * (-len(plain) % 4))


def _from_hex(block: str) -> bytes:
    return binascii.unhexlify(re.sub(r"\A0x|[ :]", "", block))


def _from_escapes(block: str) -> bytes:
    return _ESCAPE.sub(_unescape_match, block).encode("latin-1")


def _unescape_match(found: re.Match[str]) -> str:
    point = int(found[3]) if found[3] else int(found[1] or found[2] or found[4], 16)
    return chr(point) if point < 256 else " "
