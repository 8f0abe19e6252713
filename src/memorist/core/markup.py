"""Escaping for XML-like tags.

`xml.sax.saxutils` would import the standard library's HTTP client, which takes longer than the rest
of a small start-up.
"""

from __future__ import annotations

_TEXT = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_WHITE = {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
_IN_TEXT = str.maketrans(_TEXT)
_IN_VALUE = str.maketrans(_TEXT | _WHITE)


def escaped(text: str) -> str:
    """Escape text that stands between two tags."""
    return text.translate(_IN_TEXT)


def inside_quotes(value: str) -> str:
    """Escape an attribute value for use inside double quotes; the quotes themselves are not added.
    """
    return value.translate(_IN_VALUE).replace('"', "&quot;")


def quoted(value: str) -> str:
    """Escape an attribute value and add quotes: double ones, or single ones when the value holds
    double quotes only.
    """
    value = value.translate(_IN_VALUE)
    if '"' not in value:
        return f'"{value}"'
    return f"'{value}'" if "'" not in value else '"{}"'.format(value.replace('"', "&quot;"))
