"""Render the HTML report of a replay: one file that needs neither network nor scripts. Pure.

All session text is untrusted. The template environment passes every printed value through
`make_legible` (control and bidi characters become visible) and then escapes it; the page's content
security policy additionally forbids scripts and external addresses.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from jinja2 import DictLoader, Environment, StrictUndefined, Template
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup
from msgspec import Struct

from memorist.replay import tables
from memorist.replay.chart import NARROW, START_TOKENS, render_chart
from memorist.replay.formatting import (
    format_compact,
    format_count,
    format_number,
    format_percent,
    format_time,
    make_legible,
)
from memorist.replay.record import ReplayRecord, SessionRecord
from memorist.session_memory.template import STRUCTURAL_MARK

# Load the templates of the report from the package.


TEMPLATE_NAMES = ("report.html.j2", "session.html.j2", "tables.html.j2", "report.css")


@cache
def load_templates() -> dict[str, str]:
    """The text of each template and of the style sheet, by name."""
    folder = files("memorist.replay")
    return {name: folder.joinpath(name).read_text("utf-8") for name in TEMPLATE_NAMES}


# Render notes as HTML.


_SHOWN_AS_TEXT = ("link", "image", "autolink", "reference")
"""Links stay plain text: their target is visible, and nothing can be clicked or loaded."""

_BADGE = '<span class="badge">from the transcript\'s structure</span>'


def render_notes_html(notes: str, top: int = 4) -> str:
    """Render the Markdown with its first-level headings as `<h4>` (or `top`); deeper levels end at
    `<h6>`.
    """
    reader = _markdown_renderer()
    tokens = reader.parse(make_legible(notes))
    for token in tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(6, int(token.tag[1]) + top - 1)}"
    return str(reader.renderer.render(tokens, reader.options, {}))


@cache
def _markdown_renderer() -> MarkdownIt:
    reader = (
        MarkdownIt("commonmark", {"html": False})
        .enable(["table", "strikethrough"])
        .disable(_SHOWN_AS_TEXT)
    )
    reader.add_render_rule("text", _render_text)
    return reader


def _render_text(
    _renderer: RendererHTML,
    tokens: Sequence[Token],
    index: int,
    _options: OptionsDict,
    _env: EnvType,
) -> str:
    content = tokens[index].content
    return _BADGE if content.strip() == STRUCTURAL_MARK else escapeHtml(content)


class ContentShare(Struct, frozen=True):
    """One kind of content: its tokens, its share of the total, and its bar length in percent of the
    longest bar.
    """

    kind: str
    tokens: int
    share: str
    length: float


class SessionPage(Struct, frozen=True, kw_only=True):
    """A session as the template shows it. `key` is its anchor."""

    key: str
    title: str
    record: SessionRecord
    charts: tuple[Markup, Markup]
    """Wide and narrow."""
    notes: str
    """HTML made from escaped text."""


def render_report(record: ReplayRecord, start_tokens: int = START_TOKENS) -> str:
    """Render the page. `start_tokens` is the context size at which notes begin, drawn as a line."""
    pages = [
        _build_page(session, f"s{number}", start_tokens)
        for number, session in enumerate(record.sessions, 1)
    ]
    return _template().render(
        record=record,
        pages=pages,
        start_tokens=start_tokens,
        receipts=tables.sum_receipts(record.sessions),
    )


def content_shares(kinds: dict[str, int]) -> tuple[ContentShare, ...]:
    """The non-empty kinds of content, largest first."""
    total, longest = sum(kinds.values()), max(kinds.values(), default=0)
    ordered = sorted(
        ((kind, tokens) for kind, tokens in kinds.items() if tokens > 0),
        key=lambda item: (-item[1], item[0]),
    )
    return tuple(
        ContentShare(kind, tokens, format_percent(tokens, total), 100 * tokens / longest)
        for kind, tokens in ordered
    )


def _build_page(session: SessionRecord, key: str, start_tokens: int) -> SessionPage:
    return SessionPage(
        key=key,
        title=tables.session_title(session),
        record=session,
        charts=(
            render_chart(session, f"{key}-wide", start_tokens=start_tokens),
            render_chart(session, f"{key}-narrow", NARROW, start_tokens),
        ),
        notes=render_notes_html(session.notes),
    )


@cache
def _template() -> Template:
    environment = Environment(
        loader=DictLoader(load_templates()),
        autoescape=True,
        finalize=_make_legible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "whole": format_number,
        "compact": format_compact,
        "day": format_time,
        "counted": format_count,
    }
    environment.globals |= {"tables": tables, "shares": content_shares}
    return environment.get_template("report.html.j2")


def _make_legible(value: object) -> object:
    return value if isinstance(value, Markup) or not isinstance(value, str) else make_legible(value)
