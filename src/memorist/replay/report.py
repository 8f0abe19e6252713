"""The page that a replay leaves: one file, complete without a network and without a script. Pure.

All text of the sessions is a stranger's. Every value that the templates print is made legible first (control characters and marks that
turn the direction of text are written out) and then escaped, because the environment does both to all of them; the policy in the page's
head refuses scripts and addresses for good measure.
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
    """One kind of content: its tokens, its share of all, and the length of its bar in percent of the longest."""

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
    """HTML, made of escaped text."""


def report(record: ReplayRecord, start_tokens: int = START_TOKENS) -> str:
    """The page as HTML. `start_tokens` is the size of context at which notes begin, drawn as a line."""
    pages = [_page(session, f"s{number}", start_tokens) for number, session in enumerate(record.sessions, 1)]
    return _template().render(record=record, pages=pages, start_tokens=start_tokens, receipts=tables.all_receipts(record.sessions))


def shares(kinds: dict[str, int]) -> tuple[Share, ...]:
    """The kinds that hold anything, largest first."""
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
