"""Wrap a text in its tag, unwrap it, and identify the row of the scaffold table that a text belongs
to. Pure (CX-1, CX-2).

What counts as typed by the user is decided in `memorist.formats.harness` alone; here the pieces
only get their names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

from memorist.context.rows import TABLE, Row
from memorist.context.settings import Family
from memorist.core.markup import inside_quotes
from memorist.core.messages import Origin, Role
from memorist.core.template import names, render
from memorist.errors import InputError
from memorist.formats.harness import origin_of, parts, typed_text

_NAME = re.compile(r"\s*<(/image(?=>)|[a-z_][\w.-]*(?: instructions)?)", re.IGNORECASE)
_BY_TAG: dict[str, tuple[Row, ...]] = {
    row.tag.lower(): tuple(other for other in TABLE if other.tag.lower() == row.tag.lower()) for row in TABLE
}
_UNTAGGED = tuple(row for row in TABLE if row.opening and not row.opening.startswith("<"))
_ALIASES = {"/image": "image end"}
_HEAD = 200
"""Characters of a text that are searched for the untagged leads."""


def row(tag: str, family: Family | None = None) -> Row:
    """Return the row of a tag; without a family, the first of that name.

    Raises InputError, which names the tag.
    """
    for found in _BY_TAG.get(tag.lower(), ()):
        if family is None or found.family == family:
            return found
    raise InputError(f"{tag!r} is no tag of the scaffold table{f' of the {family} family' if family else ''}; docs/context.md lists them")


def wrap(kind: Row, text: str, values: Mapping[str, str] | None = None) -> str:
    """Wrap the text in its tag.

    `values` fill the names of the opening (`folder`, `key`, `source` …).

    The text is used as it is: data goes through `safety.data.neutralise` first. Raises
    SettingsError for a missing value.
    """
    plain = {name: _one_line(value, kind) for name, value in (values or {}).items()}
    return f"{render(kind.opening, plain, strict=True)}{text}{render(kind.closing, plain, strict=True)}"


def _one_line(value: str, kind: Row) -> str:
    """Make a value that cannot end its tag: no line ends, no angle brackets; inside quotes no
    quotes.
    """
    line = " ".join(value.split())
    return inside_quotes(line) if kind.opening.startswith("<") else line.replace("<", "&lt;")


def contained(text: str, kind: Row) -> str:
    """Return the text so that it cannot end its own tag: the first character of such an end becomes
    `&lt;`.
    """
    closing = kind.closing.strip().partition("{{")[0].rstrip(">")
    return re.sub(f"<(?={re.escape(closing[1:])})", "&lt;", text, flags=re.IGNORECASE) if closing.startswith("</") else text


def unwrap(text: str, kind: Row) -> str | None:
    """Return the content of the tag; None if the text as a whole is not of this row, and for rows
    without a tag.
    """
    found = _form(kind).fullmatch(text.strip()) if kind.opening else None
    return found["inner"] if found else None


@cache
def _form(kind: Row) -> re.Pattern[str]:
    opening = _loose(kind.opening, named=True)
    return re.compile(f"{opening}(?P<inner>.*){_loose(kind.closing, named=False)}", re.IGNORECASE | re.DOTALL)


def _loose(form: str, *, named: bool) -> str:
    """Turn the form into a pattern: any value for a name, further attributes, any white space for a
    line end.
    """
    pattern = ""
    for piece in re.split(r"(\{\{\w+\}\}|\n+)", form):
        if piece.startswith("{{"):
            name = piece.strip("{}")
            pattern += f"(?P<{name}>[^<>\\n]*?)" if named else f"(?P={name})"
        else:
            pattern += r"\s*" if not piece.strip() else re.escape(piece)
    return pattern


def identify(text: str, role: Role, family: Family | None = None) -> Row | None:
    """Return the row of a whole text of this role, or None.

    Rows known by their role alone are never returned.
    """
    head = text[:_HEAD].lstrip().lower()
    for kind in _UNTAGGED:
        if kind.role == role and head.startswith(_lead(kind)):
            return kind
    name = _NAME.match(text)
    if name is None:
        return None
    tag = _ALIASES.get(name[1].lower(), "external_key" if name[1].lower().startswith("external_") else name[1].lower())
    rows = [kind for kind in _BY_TAG.get(tag, ()) if kind.role == role]
    rows.sort(key=lambda kind: kind.family != family)
    return next((kind for kind in rows if _stands(kind, text)), None)


def _lead(kind: Row) -> str:
    return kind.opening.partition("{{")[0].partition("\n")[0].strip().lower()


def _stands(kind: Row, text: str) -> bool:
    """Tell whether the text is of this row: labels alone, parts and leads wherever they close,
    wholes at the end.
    """
    closing = kind.closing.strip().lower()
    folded = text.rstrip().lower()
    if kind.known == "label":
        return len(folded) < _HEAD and not typed_text(text)
    if names(kind.closing):
        return _form(kind).fullmatch(text.strip()) is not None
    return closing in folded if kind.known in {"part", "lead"} else folded.endswith(closing)


def pieces_of(text: str, role: Role, family: Family | None = None) -> Iterator[tuple[Row | None, str]]:
    """Split a text into known rows and unknown text, in order and lossless but for white space in
    between.

    A summary is one piece, whatever it quotes.
    """
    if origin_of(text) is Origin.SUMMARY:
        yield identify(text, role, family), text.strip()
        return
    done = 0
    for part in parts(text):
        yield from _between(text[done : part.start], role, family)
        inner = text[part.start : part.end]
        yield identify(inner, role, family), inner.strip()
        done = part.end
    yield from _between(text[done:], role, family)


def _between(text: str, role: Role, family: Family | None) -> Iterator[tuple[Row | None, str]]:
    if text.strip():
        yield identify(text, role, family), text.strip()


def required(kind: Row) -> frozenset[str]:
    """Return the names that `wrap_in_tag` needs values for."""
    return names(kind.opening)
