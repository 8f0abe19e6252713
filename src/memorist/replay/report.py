"""Render the HTML report of a replay: one file that needs neither network nor scripts. Pure.

All session text is untrusted. The template environment passes every printed value through
`make_legible` (control and bidi characters become visible) and then escapes it; the page's content
security policy additionally forbids scripts and external addresses.
"""

from __future__ import annotations

from functools import cache

from jinja2 import DictLoader, Environment, StrictUndefined, Template
from markupsafe import Markup
from msgspec import Struct

from memorist.replay import tables
from memorist.replay.assets import texts
from memorist.replay.chart import NARROW, START_TOKENS, chart
from memorist.replay.legible import compact, counted, day, legible, percent, whole
from memorist.replay.notes_html import notes_html
from memorist.replay.record import ReplayRecord, SessionRecord


class Share(Struct, frozen=True):
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


def report(record: ReplayRecord, start_tokens: int = START_TOKENS) -> str:
    """Render the page. `start_tokens` is the context size at which notes begin, drawn as a line."""
    pages = [_page(session, f"s{number}", start_tokens) for number, session in enumerate(record.sessions, 1)]
    return _template().render(record=record, pages=pages, start_tokens=start_tokens, receipts=tables.all_receipts(record.sessions))


def shares(kinds: dict[str, int]) -> tuple[Share, ...]:
    """The non-empty kinds of content, largest first."""
    total, longest = sum(kinds.values()), max(kinds.values(), default=0)
    ordered = sorted(((kind, tokens) for kind, tokens in kinds.items() if tokens > 0), key=lambda item: (-item[1], item[0]))
    return tuple(Share(kind, tokens, percent(tokens, total), 100 * tokens / longest) for kind, tokens in ordered)


def _page(session: SessionRecord, key: str, start_tokens: int) -> SessionPage:
    return SessionPage(
        key=key,
        title=tables.title(session),
        record=session,
        charts=(
            chart(session, f"{key}-wide", start_tokens=start_tokens),
            chart(session, f"{key}-narrow", NARROW, start_tokens),
        ),
        notes=notes_html(session.notes),
    )


@cache
def _template() -> Template:
    environment = Environment(
        loader=DictLoader(texts()),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"whole": whole, "compact": compact, "day": day, "counted": counted}
    environment.globals |= {"tables": tables, "shares": shares}
    return environment.get_template("report.html.j2")


def _shown(value: object) -> object:
    return value if isinstance(value, Markup) or not isinstance(value, str) else legible(value)
