"""Reduce a text to one line that a file's layout can hold. Pure."""

from __future__ import annotations

import unicodedata

MAX_LINE = 300
"""Characters of a name, a folder or a description."""


def line(text: str, limit: int = MAX_LINE) -> str:
    """Return a text as one line of at most `limit` characters, without control characters or halves
    of characters.
    """
    plain = text if text.isascii() and text.isprintable() else "".join(sign if _shown(sign) else " " for sign in text[: 4 * limit])
    return " ".join(plain.split())[:limit].strip()


def _shown(sign: str) -> bool:
    return unicodedata.category(sign) not in ("Cc", "Cs", "Zl", "Zp") and sign not in "\ufeff\ufffe\uffff"
