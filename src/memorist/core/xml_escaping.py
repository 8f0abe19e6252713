"""Escaping for XML-like tags."""

from __future__ import annotations

_TEXT_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


_WHITESPACE_ENTITIES = {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}


_TEXT_TABLE = str.maketrans(_TEXT_ENTITIES)


_ATTRIBUTE_TABLE = str.maketrans(_TEXT_ENTITIES | _WHITESPACE_ENTITIES)


def escape_text(text: str) -> str:
    """Escape text that stands between two tags."""
    return text.translate(_TEXT_TABLE)


def escape_attribute(value: str) -> str:
    """Escape an attribute value for use inside double quotes; the quotes themselves are not
    added.
    """
    return value.translate(_ATTRIBUTE_TABLE).replace('"', "&quot;")


def quote_attribute(value: str) -> str:
    """Escape an attribute value and add quotes: double ones, or single ones when the value holds
    double quotes only.
    """
    value = value.translate(_ATTRIBUTE_TABLE)
    if '"' not in value:
        return f'"{value}"'
    return f"'{value}'" if "'" not in value else '"{}"'.format(value.replace('"', "&quot;"))
