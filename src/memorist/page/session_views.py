"""The views of sessions: all of them, one as its model saw it, and one message."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from functools import lru_cache
from pathlib import Path

from memorist.auto_memory.home_memories import ProjectMemoryOpener
from memorist.cli.command_environment import load_home_layout
from memorist.cli.search_command import open_synced_session_index
from memorist.context.context_pieces import ContextPiece
from memorist.context.recorded_context import starts_user_turn
from memorist.core.messages import Message
from memorist.core.sentences import shorten_to_one_line
from memorist.engine.context_listing import ContextListing, list_recorded_context_at_turn
from memorist.engine.session_list import (
    KnownSession,
    find_session_outcomes,
    list_known_sessions,
    read_notes_of_known_session,
    read_recording_size,
    read_transcript_of_session,
)
from memorist.errors import InputError
from memorist.page.page_context import ROWS_PER_PAGE, build_pagination_links, build_view_address
from memorist.page.session_timeline import (
    BESIDE,
    SessionTimeline,
    build_session_timeline,
    find_removed_and_added_lines,
    render_structural_notes_at,
)
from memorist.page.spend_view import (
    build_receipt_table,
    list_spend_total_figures,
    sum_receipt_costs,
)
from memorist.recall.session_passages import MatchedPassage
from memorist.store.memory_uses import MemoryUse, list_uses_in_session
from memorist.store.receipt_rows import list_session_receipts
from memorist.views.page_texts import translate, translate_each
from memorist.views.view_blocks import (
    BarRow,
    FormBlock,
    FormField,
    LabeledFiguresBlock,
    LinkListBlock,
    PageBlock,
    PageCell,
    PageRow,
    PageView,
    ProseBlock,
    StackedBarBlock,
    TableBlock,
    Tone,
    build_table_row,
)
from memorist.views.view_formatting import (
    format_dollars,
    format_part_as_percent,
    format_utc_time,
    get_last_path_part,
)

MAX_PIECE_CHARS = 160
"""Characters of a piece that are in the table; the message has all of it."""
MAX_WINDOW_KINDS = 7
"""Kinds of content that the bars of the window tell apart; the eighth colour is for the rest."""
MAX_DEAREST_TURNS = 8
"""Dearest turns that are named."""


def build_sessions_view(query: str, page: int) -> PageView:
    """All sessions, newest first; with a query those whose title, project or words fit."""
    everything = list_known_sessions(load_home_layout(), None)
    found = [each for each in everything if _fits(each, query)]
    blocks: list[PageBlock] = [
        FormBlock(
            fields=[
                FormField(name="q", label=translate("Find a session by its words"), value=query)
            ],
            button=translate("Search"),
            label=translate("Search sessions"),
        )
    ]
    if query:
        with closing(open_synced_session_index(everywhere=True)) as index:
            passages = index.search(query, 20)
        blocks.append(_build_passages(passages))
    shown = found[(page - 1) * ROWS_PER_PAGE : page * ROWS_PER_PAGE]
    heading = (
        translate("Sessions with these words in title or project")
        if query
        else translate("Sessions")
    )
    empty = (
        translate("None.")
        if everything
        else translate("No session is known yet: memorist setup joins your agent.")
    )
    blocks.append(build_session_table(shown, heading, empty))
    blocks += build_pagination_links("sessions", len(found), page, q=query)
    return PageView(
        name="sessions",
        title=translate("Sessions"),
        lead=translate(
            "{count:,} sessions of every agent and project on this machine.", count=len(everything)
        ),
        command=f"memorist search --all {shlex.quote(query)}"
        if query
        else "memorist sessions --all",
        blocks=blocks,
    )


def build_session_table(
    entries: Sequence[KnownSession], heading: str, empty: str = ""
) -> TableBlock:
    """Sessions with what became of each, as far as that was extracted."""
    outcomes = find_session_outcomes(load_home_layout(), (each.id for each in entries))
    return TableBlock(
        heading=heading,
        columns=translate_each("Last active", "What it was about", "Project", "Agent", "Outcome"),
        rows=[_session_row(each, outcomes.get(each.id, "")) for each in entries],
        empty=empty,
    )


def build_outcome_cell(outcome: str) -> PageCell:
    """What became of a session or task; a dash where that is not known."""
    return PageCell(outcome or "—", tone=_OUTCOMES.get(outcome, ""))


_OUTCOMES: dict[str, Tone] = {"success": "good", "partial": "note", "fail": "wrong"}


def _session_row(each: KnownSession, outcome: str) -> PageRow:
    return build_table_row(
        format_utc_time(each.updated).removesuffix(" UTC"),
        PageCell(
            shorten_to_one_line(each.title or translate("(nothing was asked)"), MAX_PIECE_CHARS),
            build_view_address("session", id=each.id),
        ),
        get_last_path_part(each.project) or "—",
        PageCell(each.agent, quiet=translate("with notes") if each.has_notes else ""),
        build_outcome_cell(outcome),
    )


def _fits(each: KnownSession, query: str) -> bool:
    words = query.casefold().split()
    text = f"{each.title} {each.project} {each.agent} {each.id}".casefold()
    return all(word in text for word in words)


def _build_passages(found: Sequence[MatchedPassage]) -> TableBlock:
    rows = [
        build_table_row(
            format_utc_time(each.passage.at or None).removesuffix(" UTC"),
            PageCell(
                shorten_to_one_line(each.passage.said or translate("(no words)"), 240),
                build_view_address("message", id=each.session, line=each.passage.line),
                quiet=shorten_to_one_line(each.passage.answered, 240),
            ),
            PageCell(
                shorten_to_one_line(each.title, 80), build_view_address("session", id=each.session)
            ),
        )
        for each in found
    ]
    return TableBlock(
        heading=translate("What was said"),
        columns=translate_each("When", "You, and the agent's answer", "Session"),
        rows=rows,
        empty=translate("No past turn has these words."),
    )


def require_known_session(id: str) -> KnownSession:
    """The session with this id. Raises InputError."""
    for each in list_known_sessions(load_home_layout(), None):
        if each.id == id:
            return each
    raise InputError(f"no session {id} is known")


def read_session_timeline(entry: KnownSession) -> SessionTimeline:
    """How a session of the list went so far; read again when its file grew. Raises StoreError."""
    return _read_timeline(entry, read_recording_size(entry))


@lru_cache(maxsize=16)
def _read_timeline(entry: KnownSession, size: int) -> SessionTimeline:
    del size  # a part of the key alone
    return build_session_timeline(read_transcript_of_session(entry))


def build_session_view_at_turn(home: ProjectMemoryOpener, id: str, turn: int | None) -> PageView:
    """One session as its model saw it when a turn began; without a turn at its end."""
    entry = require_known_session(id)
    timeline = read_session_timeline(entry)
    listing = list_recorded_context_at_turn(
        Path(entry.file), default_family=home.settings.context.family, turn=turn, compares=True
    )
    number, total = listing.turn, listing.tokens
    blocks: list[PageBlock] = [
        LabeledFiguresBlock(pairs=_session_numbers(entry, timeline, total)),
        *_turn_forms(id, turn or number, timeline),
        build_window_chart(timeline, id),
        _build_parts(listing, total),
        *_build_changes(listing, id),
        _build_pieces(listing, id),
        _build_dearest(timeline, id),
        *_build_marks(timeline, id),
        *_build_troubles(timeline),
        *build_memory_use_blocks(list_uses_in_session(home.database(), id)),
        *_build_own_work(home, id, timeline),
        *_build_notes(entry, len(timeline.turns)),
    ]
    at = f" --turn {turn}" if turn else ""
    return PageView(
        name="sessions",
        title=shorten_to_one_line(entry.title or entry.id, 110),
        lead=_say_size(number if turn else 0, total, listing.model or translate("no known model")),
        command=f"memorist context {entry.file} --diff{at}",
        blocks=blocks,
    )


def _say_size(turn: int, tokens: int, model: str) -> str:
    if not turn:
        return translate(
            "What stood in the window at the end: about {tokens:,} tokens, counted for {model}.",
            tokens=tokens,
            model=model,
        )
    return translate(
        "What stood in the window when turn {turn} began: about {tokens:,} tokens, "
        "counted for {model}.",
        turn=turn,
        tokens=tokens,
        model=model,
    )


def format_session_cost(timeline: SessionTimeline) -> str:
    """What a session cost so far, as far as its models' prices are known."""
    cost = sum(each.cost for each in timeline.turns)
    return format_dollars(cost) if cost else translate("not known")


def _session_numbers(
    entry: KnownSession, timeline: SessionTimeline, total: int
) -> list[tuple[str, str]]:
    return [
        (translate("agent"), entry.agent),
        (translate("project"), get_last_path_part(entry.project) or "—"),
        (translate("turns"), f"{len(timeline.turns):,}"),
        (translate("tokens in the window"), f"{total:,}"),
        (translate("compactions"), f"{len(timeline.compactions):,}"),
        (translate("cost of the session"), format_session_cost(timeline)),
    ]


def _turn_address(id: str, turn: int) -> str:
    return build_view_address("session", id=id, turn=turn)


def _turn_forms(id: str, turn: int, timeline: SessionTimeline) -> list[PageBlock]:
    if len(timeline.turns) < 2:
        return []
    end = (translate("The end"), build_view_address("session", id=id), False)
    return _choose_turn("session", id, turn, len(timeline.turns), end)


def _choose_turn(
    view: str, id: str, turn: int, count: int, last: tuple[str, str, bool]
) -> list[PageBlock]:
    """The form and the links that lead to another turn in a view of a session."""
    near = ((translate("Turn before"), turn - 1), (translate("Next turn"), turn + 1))
    return [
        FormBlock(
            fields=[
                FormField(name="id", kind="hidden", value=id),
                FormField(
                    name="turn", label=translate("Turn"), kind="range", value=str(turn), most=count
                ),
            ],
            button=translate("Show this turn"),
            path=f"/{view}",
            label=translate("Choose a turn"),
        ),
        LinkListBlock(
            label=translate("Turns"),
            links=[
                *(
                    (words, build_view_address(view, id=id, turn=n), False)
                    for words, n in near
                    if 1 <= n <= count
                ),
                last,
            ],
        ),
    ]


def _build_parts(listing: ContextListing, total: int) -> TableBlock:
    sums: dict[str, tuple[int, int]] = {}
    for each in listing.pieces:
        count, tokens = sums.get(each.tag, (0, 0))
        sums[each.tag] = (count + 1, tokens + each.tokens)
    ordered = sorted(sums.items(), key=lambda item: -item[1][1])
    return TableBlock(
        heading=translate("What fills the window"),
        columns=translate_each("Part", "Pieces", "Tokens", "Share"),
        rows=[
            build_table_row(tag, f"{count:,}", f"{tokens:,}", format_part_as_percent(tokens, total))
            for tag, (count, tokens) in ordered
        ],
        numeric=[1, 2, 3],
    )


def _build_changes(listing: ContextListing, id: str) -> list[PageBlock]:
    moved = [each for each in listing.pieces_with_status if each.change != "same"]
    if not moved:
        return []
    return [
        TableBlock(
            heading=translate("Came and went since the turn before"),
            columns=translate_each("Change", "Part", "Tokens", "Source and reason"),
            rows=[
                build_table_row(
                    PageCell(
                        translate("came") if each.change == "added" else translate("went"),
                        tone="good" if each.change == "added" else "note",
                    ),
                    *_piece_cells(each.piece, id),
                )
                for each in moved[-ROWS_PER_PAGE:]
            ],
            numeric=[2],
        )
    ]


def _build_pieces(listing: ContextListing, id: str) -> TableBlock:
    heaviest = sorted(listing.pieces, key=lambda each: -each.tokens)[:ROWS_PER_PAGE]
    left = len(listing.pieces) - len(heaviest)
    return TableBlock(
        heading=translate("Every piece, heaviest first")
        if left <= 0
        else translate("Every piece, heaviest first ({left:,} lighter ones left out)", left=left),
        columns=translate_each("Part", "Tokens", "Source and reason"),
        rows=[build_table_row(*_piece_cells(each, id)) for each in heaviest],
        numeric=[1],
    )


def _piece_cells(piece: ContextPiece, id: str) -> list[PageCell]:
    line = piece.source.removeprefix("line ")
    href = build_view_address("message", id=id, line=line) if line.isdigit() else ""
    text = shorten_to_one_line(" ".join(piece.text.split()), MAX_PIECE_CHARS)
    return [
        PageCell(piece.tag),
        PageCell(f"{piece.tokens:,}", href),
        PageCell(text, href, quiet=f"{piece.source}: {piece.why}"),
    ]


def _build_dearest(timeline: SessionTimeline, id: str) -> TableBlock:
    rows = sorted(timeline.turns, key=lambda each: (-each.cost, -each.context))[:MAX_DEAREST_TURNS]
    return TableBlock(
        heading=translate("Dearest turns"),
        columns=translate_each("Turn", "Cost", "Context", "It began with"),
        rows=[
            build_table_row(
                PageCell(str(each.number), _turn_address(id, each.number)),
                format_dollars(each.cost) if each.cost else translate("not known"),
                f"{each.context:,}",
                PageCell(
                    shorten_to_one_line(" ".join(each.said.split()), MAX_PIECE_CHARS),
                    build_view_address("message", id=id, line=each.line),
                ),
            )
            for each in rows
        ],
        numeric=[0, 1, 2],
    )


def _build_marks(timeline: SessionTimeline, id: str) -> list[PageBlock]:
    blocks: list[PageBlock] = []
    if timeline.compactions:
        rows = [
            build_table_row(
                PageCell(str(turn), _turn_address(id, max(1, turn))),
                "—" if mark.tokens_before is None else f"{mark.tokens_before:,}",
                f"{after:,}" if after else "—",
                mark.trigger or translate("not told"),
            )
            for turn, mark, after in timeline.compactions
        ]
        blocks.append(
            TableBlock(
                heading=translate("Compactions"),
                columns=translate_each("Turn", "Tokens before", "Tokens after", "Begun by"),
                rows=rows,
                numeric=[0, 1, 2],
            )
        )
    if timeline.losses:
        rows = [
            build_table_row(
                PageCell(str(each.turn), _turn_address(id, each.turn)),
                PageCell(f"{each.tokens:,}", build_view_address("message", id=id, line=each.line)),
                format_dollars(each.cost) if each.cost else translate("not known"),
            )
            for each in timeline.losses
        ]
        blocks.append(
            TableBlock(
                heading=translate("Cache breaks"),
                columns=translate_each(
                    "Turn", "Tokens no longer read from the cache", "What that cost"
                ),
                rows=rows,
                numeric=[0, 1, 2],
            )
        )
    return blocks


def _name_kinds() -> dict[str, str]:
    """The parts of the window in words: `BESIDE` and what `estimate_message_tokens_by_kind`
    counts.
    """
    return {
        BESIDE: translate("beside the file"),
        "user": translate("user"),
        "assistant": translate("assistant"),
        "thinking": translate("thinking"),
        "tool calls": translate("tool calls"),
        "tool results": translate("tool results"),
        "images": translate("images"),
        "injected": translate("injected"),
        "summaries": translate("summaries"),
        "other agents": translate("other agents"),
        "other": translate("other"),
    }


def build_window_chart(timeline: SessionTimeline, id: str) -> StackedBarBlock:
    """What filled the window when each turn ended, as stacked bars."""
    sums: Counter[str] = Counter()
    for each in timeline.turns:
        sums.update(each.tokens_by_kind)
    names = _name_kinds()
    other_tokens = sums.pop(BESIDE, 0)
    parts = [BESIDE] * bool(other_tokens) + [kind for kind, _ in sums.most_common(MAX_WINDOW_KINDS)]
    return StackedBarBlock(
        heading=translate("What filled the window, turn by turn"),
        unit=translate("tokens when each turn ended"),
        parts=[names.get(part, part) for part in parts],
        bars=[
            BarRow(
                label=translate("Turn {number}", number=each.number),
                values=[float(each.tokens_by_kind.get(part, 0)) for part in parts],
                href=_turn_address(id, each.number),
            )
            for each in timeline.turns
        ],
        note=translate(
            "Kinds are estimated from the session's file; “beside the file” is what the provider "
            "counted beyond them, such as the system prompt and the tools."
        ),
    )


def _build_troubles(timeline: SessionTimeline) -> list[PageBlock]:
    if not timeline.troubles:
        return []
    rows = [
        build_table_row(
            shorten_to_one_line(each.what, MAX_PIECE_CHARS),
            shorten_to_one_line(each.error, MAX_PIECE_CHARS),
            PageCell(shorten_to_one_line(each.fixed_by, MAX_PIECE_CHARS), tone="good")
            if each.fixed_by
            else PageCell(translate("nothing that the record shows")),
        )
        for each in timeline.troubles[:ROWS_PER_PAGE]
    ]
    return [
        TableBlock(
            heading=translate("What failed, and what fixed it"),
            columns=translate_each("What failed", "How", "What fixed it"),
            rows=rows,
        )
    ]


def build_memory_use_blocks(uses: Sequence[MemoryUse]) -> list[PageBlock]:
    """The memories that a session was shown and used, newest first."""
    if not uses:
        return []
    rows = [
        build_table_row(format_utc_time(each.at), each.path, each.what, each.why or "—")
        for each in reversed(uses[-ROWS_PER_PAGE:])
    ]
    return [
        TableBlock(
            heading=translate("Memories it was shown"),
            columns=translate_each("When", "Memory", "What", "Why"),
            rows=rows,
        )
    ]


def _build_own_work(
    home: ProjectMemoryOpener, id: str, timeline: SessionTimeline
) -> list[PageBlock]:
    """What memorist's own work in a session cost, what it saved, and its receipts."""
    receipts = list_session_receipts(home.database(), id)
    spent = sum_receipt_costs(receipts, home.settings.models.prices)
    pairs = list_spend_total_figures(spent)
    freed = sum(
        max(0, mark.tokens_before - after)
        for _, mark, after in timeline.compactions
        if mark.tokens_before and after
    )
    if freed:
        pairs.append((translate("tokens that compactions took out"), f"{freed:,}"))
    numbers = [LabeledFiguresBlock(pairs=pairs)] if pairs else []
    return [*numbers, build_receipt_table([("", each) for each in receipts[-ROWS_PER_PAGE:]])]


def _build_notes(entry: KnownSession, turns: int) -> list[PageBlock]:
    notes = read_notes_of_known_session(entry)
    blocks: list[PageBlock] = [
        ProseBlock(heading=translate("Notes of the session"), text=notes)
    ] * bool(notes)
    link = (translate("Notes as they stood at each turn"), _notes_address(entry.id, turns), False)
    return [*blocks, *([LinkListBlock(label=translate("Notes"), links=[link])] if turns else [])]


def _notes_address(id: str, turn: int) -> str:
    return build_view_address("session-notes", id=id, turn=turn)


def build_notes_at_turn_view(id: str, turn: int | None) -> PageView:
    """The notes of a session as its structure proves them when a turn ended, beside those of the
    turn before.
    """
    entry = require_known_session(id)
    entries = list(read_transcript_of_session(entry))
    count = sum(isinstance(each, Message) and starts_user_turn(each) for each in entries)
    turn = count if turn is None else turn
    if not 1 <= turn <= count:
        raise InputError(f"the session has {count} turns, and none with the number {turn}")
    before = render_structural_notes_at(entries, turn - 1) if turn > 1 else ""
    now = render_structural_notes_at(entries, turn)
    removed, come = find_removed_and_added_lines(before, now)
    window = (translate("The window at this turn"), _turn_address(id, turn), False)
    return PageView(
        name="sessions",
        title=translate(
            "Notes at turn {turn:,} of “{title}”",
            turn=turn,
            title=shorten_to_one_line(entry.title or id, 90),
        ),
        lead=translate(
            "What the transcript's structure proves at that point. Notes that a model wrote are "
            "kept as they stand now alone."
        ),
        command=f"memorist notes {id}",
        blocks=[
            *_choose_turn("session-notes", id, turn, count, window),
            TableBlock(
                heading=translate("Came and went with this turn"),
                columns=translate_each("Change", "Line"),
                rows=[
                    *(build_table_row(PageCell(translate("came"), tone="good"), x) for x in come),
                    *(
                        build_table_row(PageCell(translate("went"), tone="note"), x)
                        for x in removed
                    ),
                ],
                empty=translate("Nothing: the notes stayed as they were."),
            ),
            ProseBlock(heading=translate("Notes"), text=now or translate("(nothing yet)")),
        ],
    )


def build_message_excerpt_view(id: str, line: int) -> PageView:
    """The messages of a session from a line of its file on: the one, and the two after it."""
    entry = require_known_session(id)
    found = [
        each
        for each in read_transcript_of_session(entry)
        if isinstance(each, Message) and (each.line or 0) >= line
    ][:3]
    if not found:
        raise InputError(f"the session has no message at line {line}")
    blocks: list[PageBlock] = [
        ProseBlock(
            heading=translate("{role}, line {line}", role=each.role, line=each.line),
            text="\n\n".join(
                part for part in (each.text, *(result.text for result in each.tool_results)) if part
            )
            or translate("(no text)"),
            note=", ".join(translate("calls {tool}", tool=use.name) for use in each.tool_uses),
        )
        for each in found
    ]
    back = LinkListBlock(
        label=translate("Ways on"),
        links=[
            (translate("The whole session"), build_view_address("session", id=id), False),
            (
                translate("Messages after these"),
                build_view_address("message", id=id, line=_next_line(found)),
                False,
            ),
        ],
    )
    return PageView(
        name="sessions",
        title=translate(
            "Line {line} of “{title}”", line=line, title=shorten_to_one_line(entry.title or id, 90)
        ),
        lead=f"{entry.agent}, {get_last_path_part(entry.project) or translate('no project')}",
        command=f"sed -n {line}p {entry.file}",
        blocks=[back, *blocks],
    )


def _next_line(found: Sequence[Message]) -> int:
    return (found[-1].line or 0) + 1
