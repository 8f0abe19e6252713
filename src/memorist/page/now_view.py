"""The view Now: sessions that run, what was shown and kept, what waits; it renews itself."""

from __future__ import annotations

from collections.abc import Sequence

from memorist.cli.command_environment import load_home_layout
from memorist.core.sentences import shorten_to_one_line
from memorist.engine.session_list import (
    KnownSession,
    list_known_sessions,
    read_notes_of_known_session,
)
from memorist.errors import MemoristError
from memorist.page.page_context import PageContext, build_view_address
from memorist.page.session_views import (
    build_memory_use_blocks,
    build_session_table,
    build_window_chart,
    format_session_cost,
    read_session_timeline,
)
from memorist.store.memory_uses import list_uses_in_session
from memorist.views.page_texts import translate, translate_count, translate_each
from memorist.views.view_blocks import (
    LabeledFiguresBlock,
    LinkListBlock,
    PageBlock,
    PageCell,
    PageView,
    ProseBlock,
    TableBlock,
    build_table_row,
)
from memorist.views.view_formatting import format_utc_time, get_last_path_part

MAX_RUNNING_AGE_SECONDS = 900
"""A session whose file grew within a quarter of an hour counts as running. Our choice."""
MAX_NEWEST = 8
"""Sessions and changes that the view names."""
MAX_FOLLOWED_SESSIONS = 3
"""Running sessions that are followed turn by turn; the rest are named. Our choice."""


def build_now_view(context: PageContext) -> PageView:
    """What runs, what was remembered last, and what waits."""
    sessions = list_known_sessions(load_home_layout(), None)
    running = [each for each in sessions if context.now - each.updated < MAX_RUNNING_AGE_SECONDS]
    waiting = context.memory.list_proposals()
    blocks: list[PageBlock] = [
        LabeledFiguresBlock(
            pairs=[
                (translate("running sessions"), f"{len(running):,}"),
                (translate("sessions known"), f"{len(sessions):,}"),
                (translate("memories here"), f"{len(context.memory.headers()):,}"),
                (translate("waiting for you"), f"{len(waiting):,}"),
            ]
        ),
        *([_link_inbox(context, len(waiting))] if waiting else []),
    ]
    followed = running[:MAX_FOLLOWED_SESSIONS] or sessions[:1]
    for each in followed:
        blocks += _follow_session(context, each, runs=bool(running))
    blocks += _list_rest(running or sessions, followed)
    blocks.append(_list_changes(context))
    return PageView(
        name="now",
        title=translate("Now"),
        lead=translate("What runs, what was kept, what waits. Renews itself while it is open."),
        command="memorist",
        blocks=blocks,
    )


def _link_inbox(context: PageContext, count: int) -> LinkListBlock:
    words = translate_count(
        "1 change waits for your word", "{count:,} changes wait for your word", count
    )
    link = (words, context.build_project_view_address("inbox"), False)
    return LinkListBlock(label=translate("Inbox"), links=[link])


def _follow_session(context: PageContext, entry: KnownSession, *, runs: bool) -> list[PageBlock]:
    """One session as far as it got: its window as it grows, what it was shown, its notes."""
    title = shorten_to_one_line(" ".join((entry.title or entry.id).split()), 90)
    address = build_view_address("session", id=entry.id)
    blocks: list[PageBlock] = [
        build_session_table(
            [entry],
            translate("Runs: {title}", title=title)
            if runs
            else translate("The newest: {title}", title=title),
        )
    ]
    try:
        timeline = read_session_timeline(entry)
    except MemoristError as error:
        return [*blocks, ProseBlock(heading=translate("It cannot be read"), text=str(error))]
    if timeline.turns:
        last = timeline.turns[-1]
        blocks += [
            LabeledFiguresBlock(
                pairs=[
                    (translate("turn"), f"{last.number:,}"),
                    (
                        translate("tokens in the window"),
                        f"{last.context or sum(last.tokens_by_kind.values()):,}",
                    ),
                    (translate("compactions"), f"{len(timeline.compactions):,}"),
                    (translate("failures"), f"{len(timeline.troubles):,}"),
                    (translate("cost so far"), format_session_cost(timeline)),
                ]
            ),
            build_window_chart(timeline, entry.id),
        ]
    blocks += build_memory_use_blocks(
        list_uses_in_session(context.home.database(), entry.id)[-MAX_NEWEST:]
    )
    notes = read_notes_of_known_session(entry)
    if notes:
        blocks.append(ProseBlock(heading=translate("Notes as they stand"), text=notes))
    ways = [(translate("The whole session"), address, False)]
    ways += [
        (translate("Notes turn by turn"), build_view_address("session-notes", id=entry.id), False)
    ] * bool(timeline.turns)
    return [
        *blocks,
        LinkListBlock(
            label=translate("Ways on from {project}", project=get_last_path_part(entry.project)),
            links=ways,
        ),
    ]


def _list_rest(found: Sequence[KnownSession], followed: Sequence[KnownSession]) -> list[PageBlock]:
    rest = [each for each in found if each not in followed][:MAX_NEWEST]
    if found and not rest:
        return []
    empty = translate("No session is known yet: memorist setup joins your agent.")
    return [build_session_table(rest, translate("Others"), empty)]


def _list_changes(context: PageContext) -> TableBlock:
    return TableBlock(
        heading=translate("Remembered last"),
        columns=translate_each("When", "By", "What"),
        rows=[
            build_table_row(
                format_utc_time(each.at),
                each.why.actor,
                PageCell(each.why.what, context.build_project_view_address("memories")),
            )
            for each in context.memory.folder.history.list_changes("", MAX_NEWEST)
        ],
        empty=translate("Nothing is remembered of this project yet."),
    )
