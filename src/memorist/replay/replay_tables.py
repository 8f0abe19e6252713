"""The facts of a replayed session as blocks of a page, and the report made of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import structs

from memorist.core.markdown import parse_top_level_outline
from memorist.core.token_count import estimate_text_tokens
from memorist.formats.transcript_format import FORMAT_TITLES
from memorist.replay.context_chart import NARROW, START_TOKENS, render_chart
from memorist.replay.replay_results import ReceiptTotals, ReplayedSessionRecord, ReplayRunSessions
from memorist.session_memory.notes_template import STRUCTURAL_MARK
from memorist.views.page_rendering import PageFrame, render_page
from memorist.views.view_blocks import (
    ChapterBlock,
    LabeledFiguresBlock,
    PageBlock,
    PageCell,
    PageView,
    PictureBlock,
    ProseBlock,
    TableBlock,
    build_table_row,
)
from memorist.views.view_formatting import (
    cut_text_and_count_missing,
    format_compact,
    format_count_with_noun,
    format_dollars,
    format_number,
    format_part_as_percent,
    format_utc_time,
    get_last_path_part,
)

MAX_CELL_CHARACTERS = 400
"""Most characters of one cell."""
SHOWN_ROWS = 15
"""Rows of a table that are shown at once."""


def _build_table(
    heading: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str | int | PageCell]],
    rest: str = "more",
    *,
    numeric: Sequence[int] = (),
    code: Sequence[int] = (),
) -> TableBlock:
    """A table whose texts are cut and whose numbers are formatted; `numeric` and `code` are the
    positions of such columns, `rest` is what the rows beyond `SHOWN_ROWS` are called.
    """
    return TableBlock(
        heading=heading,
        columns=columns,
        rows=[build_table_row(*map(_format_cell, row)) for row in rows],
        numeric=list(numeric),
        code=list(code),
        most=SHOWN_ROWS,
        rest=rest,
    )


def _format_cell(value: str | int | PageCell) -> str | PageCell:
    if isinstance(value, int):
        return format_number(value)
    return (
        cut_text_and_count_missing(value, MAX_CELL_CHARACTERS) if isinstance(value, str) else value
    )


def get_session_title(session: ReplayedSessionRecord) -> str:
    """The title in the notes, else the file's own, else the session's id or the file's name."""
    for section in parse_top_level_outline(session.notes).sections:
        if section.title.lower() == "session title":
            lines = (line.strip() for line in section.body.splitlines())
            found = next(
                (line for line in lines if line and line != STRUCTURAL_MARK and not _is_hint(line)),
                "",
            )
            if found:
                return cut_text_and_count_missing(found.strip("*_`# "), 160)
    return cut_text_and_count_missing(
        session.head.title or session.head.session or get_last_path_part(session.source), 160
    )


def _is_hint(line: str) -> bool:
    return len(line) > 2 and line[0] == line[-1] and line[0] in "_*" and line[1] != line[0]


def build_session_facts_block(session: ReplayedSessionRecord) -> LabeledFiguresBlock:
    """The session's origin; what the file does not say is left out."""
    head = session.head
    window = f"{format_compact(head.window)} tokens" if head.window else ""
    every = (
        ("File", get_last_path_part(session.source)),
        (
            "Format",
            " ".join(
                part for part in (FORMAT_TITLES.get(head.format, head.format), head.version) if part
            ),
        ),
        ("Model", head.model),
        ("Window", window),
        ("Folder", get_last_path_part(head.cwd)),
        ("Branch", head.branch),
        ("Started", format_utc_time(head.started)),
    )
    return LabeledFiguresBlock(
        pairs=[(name, cut_text_and_count_missing(value, 160)) for name, value in every if value],
        facts=True,
    )


def render_file_name_and_client(session: ReplayedSessionRecord) -> str:
    """The file's name and the client that wrote it."""
    return (
        f"{cut_text_and_count_missing(get_last_path_part(session.source), 160)} · "
        f"{FORMAT_TITLES.get(session.head.format, session.head.format)}"
    )


def count_final_notes_tokens(session: ReplayedSessionRecord) -> int:
    """The size of the notes at the end."""
    newest = session.final or (session.updates[-1] if session.updates else None)
    return newest.notes_tokens if newest else estimate_text_tokens(session.notes)


def build_session_key_numbers(session: ReplayedSessionRecord) -> LabeledFiguresBlock:
    """The key numbers of a session, and what it cost."""
    return LabeledFiguresBlock(
        pairs=[
            ("messages", format_number(session.messages)),
            ("turns", format_number(session.turns)),
            ("tokens at the peak", format_number(session.tokens_peak)),
            ("updates of the notes", format_number(len(session.updates))),
            ("tokens of notes", format_number(count_final_notes_tokens(session))),
            ("compactions", format_number(len(session.compactions))),
            ("lines skipped", format_number(len(session.skipped))),
            ("lines mended", format_number(len(session.mended))),
        ],
        note=f"Background work: {describe_background_cost(session.receipts)}. "
        f"Replayed in {session.seconds:.2f} s.",
    )


def total_key_numbers(sessions: Sequence[ReplayedSessionRecord]) -> LabeledFiguresBlock:
    """The key numbers of all sessions together, and what they cost."""
    return LabeledFiguresBlock(
        pairs=[
            ("sessions", format_number(len(sessions))),
            ("messages", format_number(sum(session.messages for session in sessions))),
            ("turns", format_number(sum(session.turns for session in sessions))),
            (
                "tokens at the highest peak",
                format_number(max((session.tokens_peak for session in sessions), default=0)),
            ),
            ("updates of the notes", format_number(sum(len(each.updates) for each in sessions))),
            ("compactions", format_number(sum(len(each.compactions) for each in sessions))),
            ("lines skipped", format_number(sum(len(each.skipped) for each in sessions))),
            ("lines mended", format_number(sum(len(each.mended) for each in sessions))),
        ],
        note=f"Background work: {describe_background_cost(sum_receipts(sessions))}.",
    )


def sum_receipts(sessions: Sequence[ReplayedSessionRecord]) -> ReceiptTotals:
    """The background work of all sessions; the cost is known if that of each one is."""
    total = ReceiptTotals()
    for each in (session.receipts for session in sessions):
        cost = (
            None
            if total.cost_usd is None or each.cost_usd is None
            else total.cost_usd + each.cost_usd
        )
        total = ReceiptTotals(
            requests=total.requests + each.requests, usage=total.usage + each.usage, cost_usd=cost
        )
    return total


def describe_background_cost(receipts: ReceiptTotals) -> str:
    """The cost of background work in one line."""
    if receipts.requests == 0:
        return f"0 requests, {format_dollars(receipts.cost_usd)}: no model was used"
    usage = receipts.usage
    read = usage.input + usage.cache_read + usage.cache_write
    cached = f", {usage.cache_read:,} of them from the cache" if usage.cache_read else ""
    return (
        f"{format_count_with_noun(receipts.requests, 'request')}, "
        f"{format_dollars(receipts.cost_usd)}: {format_count_with_noun(read, 'token')} in{cached}, "
        f"{usage.output:,} out"
    )


def build_updates_table(session: ReplayedSessionRecord, start_tokens: int) -> TableBlock:
    """Each update of the notes, including the final one; notes begin at `start_tokens`."""
    updates = [(str(number), each) for number, each in enumerate(session.updates, 1)]
    updates += [("end", session.final)] if session.final else []
    rows: list[tuple[str | int, ...]] = [
        (name, each.index, each.line, each.tokens, each.notes_tokens, each.why, each.way)
        for name, each in updates
    ]
    columns = ["Update", "After message", "Line", "Context", "Notes", "Why", "Way"]
    if any(each.repairs for _, each in updates):
        columns.append("Repairs")
        rows = [
            (*row, "; ".join(each.repairs)) for row, (_, each) in zip(rows, updates, strict=True)
        ]
    return structs.replace(
        _build_table(
            "Updates of the notes", columns, rows, "more updates", numeric=(0, 1, 2, 3, 4)
        ),
        most=8,
        empty=f"None: the context stayed below {start_tokens:,} tokens, or nothing called for one.",
    )


def build_compactions_table(session: ReplayedSessionRecord) -> TableBlock:
    """Each compaction, by the recorded agent or by memorist."""
    rows = (
        (
            f"C{number}",
            f"{each.by}: {each.strategy}" if each.strategy else each.by,
            each.index,
            each.line,
            each.tokens_before,
            each.tokens_after,
            each.trigger,
        )
        for number, each in enumerate(session.compactions, 1)
    )
    columns = [
        "Compaction",
        "By",
        "After message",
        "Line",
        "Tokens before",
        "Tokens after",
        "Trigger",
    ]
    return _build_table("Compactions", columns, rows, "more compactions", numeric=(2, 3, 4, 5))


def build_memory_changes_table(session: ReplayedSessionRecord) -> TableBlock:
    """What the session wrote to memory, what waits in the inbox, and what was refused."""
    columns = ("After message", "What", "Memory", "Why")
    rows = (
        (step.index, step.what, ", ".join(step.paths), step.why) for step in session.memory_steps
    )
    heading = "What this session left to later ones"
    return structs.replace(_build_table(heading, columns, rows, numeric=(0,), code=(2,)), most=20)


def build_recalled_texts_table(session: ReplayedSessionRecord) -> TableBlock:
    """What recall would have shown a live session."""
    rows = ((given.index, PageCell(given.text)) for given in session.memory_given)
    heading = "What a live session would have been shown of the sessions before it"
    return structs.replace(
        _build_table(heading, ("At message", "Shown"), rows, numeric=(0,)), most=8
    )


def build_content_kinds_table(session: ReplayedSessionRecord) -> TableBlock:
    """The tokens of each kind of content, largest first."""
    total = sum(session.kinds.values())
    ordered = sorted(session.kinds.items(), key=lambda item: (-item[1], item[0]))
    rows = [
        (kind, tokens, format_part_as_percent(tokens, total))
        for kind, tokens in ordered
        if tokens > 0
    ]
    return structs.replace(
        _build_table("Tokens by kind", ("Kind", "Tokens", "Share"), rows, numeric=(1, 2)),
        note="Estimated over the whole file, what a compaction took away included." if rows else "",
        empty="The session holds no content.",
    )


def build_files_table(session: ReplayedSessionRecord) -> TableBlock:
    """Each file, changed ones first."""
    ordered = sorted(
        session.files, key=lambda use: (use.changes == 0, -use.changes, -use.reads, use.path)
    )
    rows = ((use.path, use.changes, use.reads) for use in ordered)
    columns = ("File", "Changed", "Read")
    changed = format_count_with_noun(sum(use.changes > 0 for use in session.files), "file")
    read = format_count_with_noun(sum(use.reads > 0 for use in session.files), "file")
    return structs.replace(
        _build_table("Files", columns, rows, "more files", numeric=(1, 2), code=(0,)),
        note=f"{changed} changed, {read} read." if session.files else "",
        empty="No file was read or changed.",
    )


def build_commands_table(session: ReplayedSessionRecord) -> TableBlock:
    """Each command."""
    rows = ((use.command, use.runs, use.failures, use.last_output_line) for use in session.commands)
    columns = ("Command", "Runs", "Failed", "Last outcome")
    runs = format_count_with_noun(sum(use.runs for use in session.commands), "run")
    failures = format_count_with_noun(sum(use.failures for use in session.commands), "failure")
    each = format_count_with_noun(len(session.commands), "command")
    return structs.replace(
        _build_table("Commands", columns, rows, "more commands", numeric=(1, 2), code=(0,)),
        note=f"{runs} of {each}, {failures}." if session.commands else "",
        empty="No command was run.",
    )


def build_failures_table(session: ReplayedSessionRecord) -> TableBlock:
    """What failed, and what fixed it."""
    columns = ("What failed", "How", "What mended it")
    rows = (
        (each.what, each.error, each.fixed_by or "nothing that the record shows")
        for each in session.troubles
    )
    return structs.replace(
        _build_table("What failed, and what mended it", columns, rows, "more failures", code=(0,)),
        empty="Nothing failed.",
    )


def build_damaged_lines_table(session: ReplayedSessionRecord) -> TableBlock:
    """Lines of the file that were skipped or fixed, and why."""
    rows = sorted(
        [(each.line, "skipped", each.why) for each in session.skipped]
        + [(each.line, "mended", each.why) for each in session.mended]
    )
    return structs.replace(
        _build_table(
            "Lines of the file", ("Line", "What", "Why"), rows, "more lines", numeric=(0,)
        ),
        note=f"{format_count_with_noun(session.records, 'line')} with content: "
        f"{len(session.skipped):,} skipped, {len(session.mended):,} mended, "
        f"{sum(session.asides.values()):,} beside the conversation.",
    )


def build_side_record_counts_table(session: ReplayedSessionRecord) -> TableBlock:
    """Records beside the conversation by kind, most first; all wait behind a line that opens."""
    ordered = sorted(session.asides.items(), key=lambda item: (-item[1], item[0]))
    heading = "Records beside the conversation"
    return structs.replace(
        _build_table(heading, ("Kind", "Count"), ordered, "kinds", numeric=(1,)), most=0
    )


def build_overview_table(sessions: Sequence[ReplayedSessionRecord]) -> TableBlock:
    """All sessions of a replay, each with a link to its chapter."""
    rows = [
        build_table_row(
            PageCell(
                get_session_title(each),
                make_chapter_address(number),
                quiet=render_file_name_and_client(each),
            ),
            format_utc_time(each.head.started),
            format_number(each.messages),
            format_compact(each.tokens_peak),
            format_number(len(each.updates)),
            format_number(len(each.compactions)),
            format_compact(count_final_notes_tokens(each)),
        )
        for number, each in enumerate(sessions, 1)
    ]
    return TableBlock(
        heading="Sessions",
        columns=["Session", "Started", "Messages", "Peak", "Updates", "Compactions", "Notes"],
        rows=rows,
        numeric=list(range(2, 7)),
        note="Peak and notes in tokens." if rows else "",
        empty="There was no session in what was replayed.",
    )


def make_chapter_address(number: int) -> str:
    """Where the chapter of a session is in the report, counted from 1."""
    return f"#s{number}"


# The report of a replay: one file of the same blocks and templates as the local page, which needs
# neither network nor scripts.

LEAD = (
    "Each recorded session was run through memorist as if it were live; this is what its notes "
    "kept, when they were updated, and what that cost."
)


def render_report(record: ReplayRunSessions, start_tokens: int = START_TOKENS) -> str:
    """Render the page. `start_tokens` is the context size at which notes begin, drawn as a line."""
    blocks: list[PageBlock] = []
    if len(record.sessions) != 1:
        blocks += [total_key_numbers(record.sessions), build_overview_table(record.sessions)]
    for number, session in enumerate(record.sessions, 1):
        key = make_chapter_address(number).removeprefix("#")
        title = get_session_title(session)
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
    facts = build_session_facts_block(session)
    lines: list[PageBlock] = [build_damaged_lines_table(session)]
    if session.asides:
        lines.append(build_side_record_counts_table(session))
    if not session.messages:
        empty = "The file holds no message of a conversation."
        return [facts, TableBlock(heading="Messages", columns=[], rows=[], empty=empty), *lines]
    blocks: list[PageBlock] = [
        facts,
        build_session_key_numbers(session),
        _build_chart(session, key, start_tokens),
        build_updates_table(session, start_tokens),
    ]
    if session.compactions:
        blocks.append(build_compactions_table(session))
    blocks.append(_build_notes(session))
    if session.memory_steps:
        blocks.append(build_memory_changes_table(session))
    if session.memory_given:
        blocks.append(build_recalled_texts_table(session))
    return [
        *blocks,
        build_content_kinds_table(session),
        build_files_table(session),
        build_commands_table(session),
        build_failures_table(session),
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
