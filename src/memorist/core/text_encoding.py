"""Texts in other encodings, bytes in none, and what one line cannot hold. Pure."""

from __future__ import annotations

import codecs
import re
import unicodedata


def replace_surrogates(text: str) -> str:
    """Put a question mark for each lone surrogate, which stands for a byte that was not UTF-8 or
    for half a character, and can be neither encoded nor shown.
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


_WIDE_ENCODINGS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""Byte order marks, longer ones first, since one is a prefix of another."""


def detect_utf16_or_utf32_mark(data: bytes) -> str:
    """The encoding, UTF-16 or UTF-32, that a file's byte order mark names; empty for none."""
    return next((name for mark, name in _WIDE_ENCODINGS if data.startswith(mark)), "")


_WIDE_START = re.compile(rb"(?:\xff\xfe)?(?:[^\0]\0)*(?:[\t\r\n -~]\0){3}")
_NARROW_AGAIN = re.compile(rb"[\t\r\n -~]{8}")


def decode_file_text_losslessly(data: bytes) -> str:
    """Decode a file's text: in UTF-16 or UTF-32 where its mark says so, else in UTF-8, whose
    invalid bytes `encode_file_text_as_utf8` writes back. Parts in UTF-16 without a mark, as `>>` of
    PowerShell appends them, are decoded as such.
    """
    wide = detect_utf16_or_utf32_mark(data)
    if wide:
        return data.decode(wide, "replace")
    parts = []
    while b"\0" in data and (found := _WIDE_START.search(data)):
        end = _find_end_of_wide_part(data, found.start())
        parts.append(data[: found.start()].decode("utf-8", "surrogateescape"))
        parts.append(data[found.start() : end].decode("utf-16-le", "replace").lstrip("\ufeff"))
        data = data[end:]
    return "".join([*parts, data.decode("utf-8", "surrogateescape")])


def _find_end_of_wide_part(data: bytes, start: int) -> int:
    """Where a part in UTF-16 ends: at the end of the data, or where ASCII goes on."""
    for at in range(start, len(data) - 1, 2):
        if data[at + 1] and _NARROW_AGAIN.match(data, at):
            return at
    return start + (len(data) - start) // 2 * 2


def count_undecoded_bytes(text: str) -> int:
    """How many bytes of a text from `decode_file_text_losslessly` were in no encoding it knows."""
    if text.isascii():
        return 0
    return sum("\udc80" <= sign <= "\udcff" for sign in text)


def encode_file_text_as_utf8(text: str) -> bytes:
    """Encode a file's text, with the bytes that were not UTF-8 when it was read; another lone
    surrogate becomes a question mark.
    """
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


MAX_ONE_LINE_CHARACTERS = 300
"""Characters of a name, a folder or a description."""


def to_printable_line(text: str, limit: int = MAX_ONE_LINE_CHARACTERS) -> str:
    """Return a text as one line of at most `limit` characters, without control characters or halves
    of characters.
    """
    plain = (
        text
        if text.isascii() and text.isprintable()
        else "".join(sign if _is_printable(sign) else " " for sign in text[: 4 * limit])
    )
    return " ".join(plain.split())[:limit].strip()


def _is_printable(sign: str) -> bool:
    return (
        unicodedata.category(sign) not in ("Cc", "Cs", "Zl", "Zp")
        and sign not in "\ufeff\ufffe\uffff"
    )
