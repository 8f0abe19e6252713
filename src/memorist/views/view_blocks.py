"""What one view of the page shows, as values: the page, its `.json`, its saved file and the report
of a replay are made of the same ones. Pure.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from memorist.safety.hidden_characters import find_hidden_characters, strip_hidden_characters
from memorist.safety.secrets import redact
from memorist.views.view_formatting import cut_text_and_count_missing, reveal_invisible_characters

MAX_TEXT_CHARS = 60_000
"""Characters of one text on the page, enough for the largest notes; the rest is counted."""

Tone = Literal["", "good", "note", "wrong"]
"""How a cell reads at a glance; a sign and the cell's own words say the same as the colour."""


class PageCell(Struct, frozen=True):
    """One cell of a table. `href` is an address of this page; text of sessions never makes one."""

    text: str
    href: str = ""
    tone: Tone = ""
    quiet: str = ""
    """A second, quieter line."""


class PageAction(Struct, frozen=True, kw_only=True):
    """A button that changes something, sent as a form."""

    label: str
    path: str
    fields: Mapping[str, str]
    key: str = ""
    """The key that presses it in the chosen row."""
    danger: bool = False


class PageRow(Struct, frozen=True, kw_only=True):
    """One row of a table."""

    cells: Sequence[PageCell]
    actions: Sequence[PageAction] = ()


def build_table_row(*cells: str | PageCell, actions: Sequence[PageAction] = ()) -> PageRow:
    """A row of these cells; a text alone is a cell without address, tone or second line."""
    return PageRow(
        cells=[PageCell(cell) if isinstance(cell, str) else cell for cell in cells], actions=actions
    )


class LabeledFiguresBlock(Struct, frozen=True, tag="numbers", kw_only=True):
    """A few figures or, smaller, facts in words, each with its name; `note` says more below."""

    pairs: Sequence[tuple[str, str]]
    facts: bool = False
    note: str = ""


class TableBlock(Struct, frozen=True, tag="table", kw_only=True):
    """A table; `empty` is in its place where there is no row."""

    heading: str
    columns: Sequence[str]
    rows: Sequence[PageRow]
    empty: str = ""
    numeric: Sequence[int] = ()
    """Columns of numbers, counted from 0."""
    code: Sequence[int] = ()
    """Columns of paths and commands, counted from 0."""
    note: str = ""
    """A sentence above the table."""
    most: int = sys.maxsize
    """Rows that are shown at once; the others wait behind a line that opens."""
    rest: str = "more"
    """What the waiting rows are called: `more commands`."""


class ProseBlock(Struct, frozen=True, tag="text", kw_only=True):
    """Text as it is in a file or a message; Markdown is shown as it is meant, with its source
    below.
    """

    heading: str
    text: str
    note: str = ""
    markdown: bool = False


class PictureBlock(Struct, frozen=True, tag="picture", kw_only=True):
    """A drawing that memorist made of escaped text, for a wide and for a narrow window."""

    heading: str
    wide: str
    """SVG, as it goes into the page."""
    narrow: str
    keys: Sequence[tuple[str, str]] = ()
    """Its signs, each the name of one in the template and the words for it."""


class ComparisonBlock(Struct, frozen=True, tag="comparison", kw_only=True):
    """Two texts side by side, and what may be done about them."""

    heading: str
    facts: Sequence[tuple[str, str]]
    left_title: str
    left: str
    right_title: str
    right: str
    actions: Sequence[PageAction] = ()


class BarRow(Struct, frozen=True, kw_only=True):
    """One bar, from the lowest part up."""

    label: str
    values: Sequence[float]
    """One for each part of the block."""
    href: str = ""


class StackedBarBlock(Struct, frozen=True, tag="bars", kw_only=True):
    """One bar for each row, drawn as a picture with its table beneath."""

    heading: str
    unit: str
    bars: Sequence[BarRow]
    parts: Sequence[str] = ("",)
    """What each bar is stacked from, at most eight; one without a name for a plain bar."""
    note: str = ""


class FormField(Struct, frozen=True, kw_only=True):
    """One field of a form."""

    name: str
    label: str = ""
    kind: Literal["search", "range", "text", "hidden", "select"] = "search"
    value: str = ""
    most: int = 0
    """Highest value of a `range`, which begins at 1."""
    options: Sequence[tuple[str, str]] = ()


class FormBlock(Struct, frozen=True, tag="form", kw_only=True):
    """A form: with method `get` it asks, with `post` it changes something."""

    fields: Sequence[FormField]
    button: str
    method: Literal["get", "post"] = "get"
    path: str = ""
    label: str = ""


class ActionBlock(Struct, frozen=True, tag="actions", kw_only=True):
    """Buttons that belong to the whole view."""

    actions: Sequence[PageAction]


class LinkListBlock(Struct, frozen=True, tag="links", kw_only=True):
    """Ways on within the page."""

    label: str
    links: Sequence[tuple[str, str, bool]]
    """Words, address, and whether it is the place one is at."""


class ChapterBlock(Struct, frozen=True, tag="chapter", kw_only=True):
    """Blocks under a heading of their own; `key` is the place that a link `#key` leads to."""

    key: str
    heading: str
    blocks: Sequence[PageBlock]


PageBlock = (
    LabeledFiguresBlock
    | TableBlock
    | ProseBlock
    | PictureBlock
    | ComparisonBlock
    | StackedBarBlock
    | FormBlock
    | ActionBlock
    | LinkListBlock
    | ChapterBlock
)


class PageView(Struct, frozen=True, kw_only=True):
    """One view. `command` prints the same on a terminal."""

    name: str
    title: str
    lead: str = ""
    command: str
    blocks: Sequence[PageBlock] = ()


_OWN = frozenset({
    "href", "path", "fields", "name", "method", "type", "value", "options", "wide", "narrow", "key",
})  # fmt: skip
"""What memorist itself made: sent as it is."""


def convert_view_to_safe_values(view: PageView) -> dict[str, Any]:
    """The view as plain values in which every text is bounded, without secrets, and with its hidden
    characters written out.
    """
    found: dict[str, Any] = msgspec.to_builtins(view)
    return {name: _make_safe(each, name) for name, each in found.items()}


def _make_safe(value: object, key: str = "") -> object:
    if isinstance(value, str):
        return value if key in _OWN else mask_and_bound_untrusted_text(value)
    if isinstance(value, dict):
        return {name: each if name == "fields" else _make_safe(each, name)
                for name, each in value.items()}  # fmt: skip
    if key == "links" and isinstance(value, list | tuple):
        return [
            [mask_and_bound_untrusted_text(words), address, here] for words, address, here in value
        ]
    if isinstance(value, list | tuple):
        return [_make_safe(each, key) for each in value]
    return value


def mask_and_bound_untrusted_text(text: str) -> str:
    """Text of a session or memory for a reader: bounded, secrets masked, hidden characters as code
    points such as ‹U+202E›, or left out where they split a secret.
    """
    masked = redact(cut_text_and_count_missing(text, MAX_TEXT_CHARS)).text
    plain = redact(strip_hidden_characters(masked))
    shown = reveal_invisible_characters(plain.text if plain.rules else masked)
    for run in reversed(find_hidden_characters(shown)):
        points = "".join(f"‹U+{ord(sign):04X}›" for sign in shown[run.start : run.end])
        shown = shown[: run.start] + points + shown[run.end :]
    return shown
