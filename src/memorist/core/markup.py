"""Text inside XML-like tags. What the standard library has for it loads its HTTP client along, which takes longer than all the rest of a small start."""

from __future__ import annotations

_TEXT = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_WHITE = {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
_IN_TEXT = str.maketrans(_TEXT)
_IN_VALUE = str.maketrans(_TEXT | _WHITE)


def escaped(text: str) -> str:
    """The text as it stands between two tags."""
    return text.translate(_IN_TEXT)


def inside_quotes(value: str) -> str:
    """The value of an attribute without its quotes, which are double ones."""
    return value.translate(_IN_VALUE).replace('"', "&quot;")


def quoted(value: str) -> str:
    """The value of an attribute with its quotes: double ones, or single ones where it holds double ones only."""
    value = value.translate(_IN_VALUE)
    if '"' not in value:
        return f'"{value}"'
    return f"'{value}'" if "'" not in value else '"{}"'.format(value.replace('"', "&quot;"))
