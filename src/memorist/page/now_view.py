"""The view Now: sessions that run, what was shown and kept, what waits; it renews itself."""

from __future__ import annotations

from collections.abc import Sequence

from memorist.cli.sessions import SessionEntry, list_known_sessions
from memorist.core.text import shorten
from memorist.errors import MemoristError
from memorist.page.addresses import address_of
from memorist.page.memory_views import MemoryPlace
from memorist.page.session_views import (
    build_session_row,
    build_uses,
    build_window,
    format_cost,
    read_course,
    read_notes,
)
from memorist.store.sessions import list_uses_in_session
from memorist.views.blocks import (
    LinkBlock,
    NumberBlock,
    PageBlock,
    PageCell,
    PageRow,
    PageView,
    ProseBlock,
    TableBlock,
)
from memorist.views.formatting import base_name, format_time

RUNNING_SECONDS = 900
"""A session whose file grew within a quarter of an hour counts as running. Our choice."""
NEWEST = 8
"""Sessions and changes that the view names."""
FOLLOWED = 3
"""Running sessions that are followed turn by turn; the rest are named. Our choice."""


def build_now(place: MemoryPlace) -> PageView:
    """What runs, what was remembered last, and what waits."""
    sessions = list_known_sessions(None)
    running = [each for each in sessions if place.now - each.updated < RUNNING_SECONDS]
    waiting = place.memory.list_proposals()
    blocks: list[PageBlock] = [
        NumberBlock(
            pairs=[
                ("running sessions", f"{len(running):,}"),
                ("sessions known", f"{len(sessions):,}"),
                ("memories here", f"{len(place.memory.headers()):,}"),
                ("waiting for you", f"{len(waiting):,}"),
            ]
        ),
        *([_link_inbox(place, len(waiting))] if waiting else []),
    ]
    followed = running[:FOLLOWED] or sessions[:1]
    for each in followed:
        blocks += _follow_session(place, each, runs=bool(running))
    blocks += _list_rest(running or sessions, followed)
    blocks.append(_list_changes(place))
    return PageView(
        name="now",
        title="Now",
        lead="What runs, what was kept, what waits. Renews itself while it is open.",
        command="memorist",
        blocks=blocks,
    )


def _link_inbox(place: MemoryPlace, count: int) -> LinkBlock:
    words = "1 change waits" if count == 1 else f"{count:,} changes wait"
    link = (f"{words} for your word", place.address("inbox"), False)
    return LinkBlock(label="Inbox", links=[link])


def _follow_session(place: MemoryPlace, entry: SessionEntry, *, runs: bool) -> list[PageBlock]:
    """One session as far as it got: its window as it grows, what it was shown, its notes."""
    title = shorten(" ".join((entry.title or entry.id).split()), 90)
    address = address_of("session", id=entry.id)
    blocks: list[PageBlock] = [
        TableBlock(
            heading=f"{'Runs' if runs else 'The newest'}: {title}",
            columns=["Last active", "What it is about", "Project", "Agent"],
            rows=[build_session_row(entry)],
        )
    ]
    try:
        course = read_course(entry)
    except MemoristError as error:
        return [*blocks, ProseBlock(heading="It cannot be read", text=str(error))]
    if course.turns:
        last = course.turns[-1]
        blocks += [
            NumberBlock(
                pairs=[
                    ("turn", f"{last.number:,}"),
                    ("tokens in the window", f"{last.context or sum(last.parts.values()):,}"),
                    ("compactions", f"{len(course.compactions):,}"),
                    ("failures", f"{len(course.troubles):,}"),
                    ("cost so far", format_cost(course)),
                ]
            ),
            build_window(course, entry.id),
        ]
    blocks += build_uses(list_uses_in_session(place.engine.database(), entry.id)[-NEWEST:])
    notes = read_notes(entry)
    if notes:
        blocks.append(ProseBlock(heading="Notes as they stand", text=notes))
    ways = [("The whole session", address, False)]
    ways += [("Notes turn by turn", address_of("session-notes", id=entry.id), False)] * bool(
        course.turns
    )
    return [*blocks, LinkBlock(label=f"Ways on from {base_name(entry.project)}", links=ways)]


def _list_rest(found: Sequence[SessionEntry], followed: Sequence[SessionEntry]) -> list[PageBlock]:
    rest = [each for each in found if each not in followed][:NEWEST]
    if found and not rest:
        return []
    return [
        TableBlock(
            heading="Others",
            columns=["Last active", "What it is about", "Project", "Agent"],
            rows=[build_session_row(each) for each in rest],
            empty="No session is known yet: memorist setup joins your agent.",
        )
    ]


def _list_changes(place: MemoryPlace) -> TableBlock:
    return TableBlock(
        heading="Remembered last",
        columns=["When", "By", "What"],
        rows=[
            PageRow(
                cells=[
                    PageCell(format_time(each.at)),
                    PageCell(each.why.actor),
                    PageCell(each.why.what, place.address("memories")),
                ]
            )
            for each in place.memory.folder.history.log("", NEWEST)
        ],
        empty="Nothing is remembered of this project yet.",
    )
