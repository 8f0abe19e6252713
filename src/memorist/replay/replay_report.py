"""The report of a replay: one file of the same blocks and templates as the local page, which needs
neither network nor scripts. Pure.
"""

from __future__ import annotations

from memorist.replay import replay_tables
from memorist.replay.context_chart import NARROW, START_TOKENS, render_chart
from memorist.replay.replay_results import ReplayedSessionRecord, ReplayedSessionRecords
from memorist.views.page_rendering import PageFrame, render_page
from memorist.views.view_blocks import (
    ChapterBlock,
    PageBlock,
    PageView,
    PictureBlock,
    ProseBlock,
    TableBlock,
)
from memorist.views.view_formatting import format_count_with_noun

LEAD = (
    "Each recorded session was run through memorist as if it were live; this is what its notes "
    "kept, when they were updated, and what that cost."
)


def render_report(record: ReplayedSessionRecords, start_tokens: int = START_TOKENS) -> str:
    """Render the page. `start_tokens` is the context size at which notes begin, drawn as a line."""
    blocks: list[PageBlock] = []
    if len(record.sessions) != 1:
        blocks += [
            replay_tables.total_key_numbers(record.sessions),
            replay_tables.build_overview_table(record.sessions),
        ]
    for number, session in enumerate(record.sessions, 1):
        key = replay_tables.make_chapter_address(number).removeprefix("#")
        title = replay_tables.get_session_title(session)
        chapter = build_session_chapter(session, key, start_tokens)
        blocks.append(ChapterBlock(key=key, heading=title, blocks=chapter))
    view = PageView(
        name="replay",
        title=f"Replay of {format_count_with_noun(len(record.sessions), 'session')}",
        lead=LEAD,
        command="memorist replay FILES",
        blocks=blocks,
    )
    by = f"with {record.model}" if record.model else "without a model"
    footer = f"Made by memorist {record.version}, {by}."
    return render_page(view, PageFrame(saved=True, footer=footer))


def build_session_chapter(
    session: ReplayedSessionRecord, key: str, start_tokens: int
) -> list[PageBlock]:
    """Everything that the report says of a session; `key` makes ids its own."""
    facts = replay_tables.build_session_facts_block(session)
    lines: list[PageBlock] = [replay_tables.build_damaged_lines_table(session)]
    if session.asides:
        lines.append(replay_tables.build_side_record_counts_table(session))
    if not session.messages:
        empty = "The file holds no message of a conversation."
        return [facts, TableBlock(heading="Messages", columns=[], rows=[], empty=empty), *lines]
    blocks: list[PageBlock] = [
        facts,
        replay_tables.build_session_key_numbers(session),
        _build_chart(session, key, start_tokens),
        replay_tables.build_updates_table(session, start_tokens),
    ]
    if session.compactions:
        blocks.append(replay_tables.build_compactions_table(session))
    blocks.append(_build_notes(session))
    if session.memory_steps:
        blocks.append(replay_tables.build_memory_changes_table(session))
    if session.memory_given:
        blocks.append(replay_tables.build_recalled_texts_table(session))
    return [
        *blocks,
        replay_tables.build_content_kinds_table(session),
        replay_tables.build_files_table(session),
        replay_tables.build_commands_table(session),
        replay_tables.build_failures_table(session),
        *lines,
    ]


def _build_notes(session: ReplayedSessionRecord) -> ProseBlock:
    kept = f"Kept in {session.notes_path}" if session.notes_path else ""
    note = kept if session.notes else "There are no notes."
    return ProseBlock(heading="Notes at the end", text=session.notes, note=note, markdown=True)


def _build_chart(session: ReplayedSessionRecord, key: str, start_tokens: int) -> PageBlock:
    heading = "Context over the session"
    if not session.points:
        empty = "No message states the size of the context, so there is nothing to draw."
        return TableBlock(heading=heading, columns=[], rows=[], empty=empty)
    keys = [("line", "tokens of context after each message")]
    if session.updates:
        keys.append(("update", "update of the notes, by number"))
    if session.compactions:
        keys.append(("compaction", "compaction"))
    keys += [
        ("start", f"{start_tokens:,} tokens, where notes begin"),
        ("end", "end of the recording"),
    ]
    return PictureBlock(
        heading=heading,
        wide=str(render_chart(session, f"{key}-wide", start_tokens=start_tokens)),
        narrow=str(render_chart(session, f"{key}-narrow", NARROW, start_tokens)),
        keys=keys,
    )
