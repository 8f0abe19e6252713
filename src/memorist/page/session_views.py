"""The views of sessions: all of them, one as its model saw it, and one message."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from memorist.cli.context import ContextListing, ContextOptions, list_session_context
from memorist.cli.search import sync_session_index
from memorist.cli.sessions import SessionEntry, list_known_sessions
from memorist.compaction.cache_breaks import MIN_DROP_SHARE, MIN_DROP_TOKENS
from memorist.context.inspection import is_user_turn
from memorist.context.pieces import ContextPiece
from memorist.core.messages import Message, Usage
from memorist.core.text import shorten
from memorist.errors import InputError
from memorist.formats.detect import read_session
from memorist.formats.transcript import CompactionBoundary, TranscriptEntry
from memorist.models.pricing import call_cost, shipped_prices
from memorist.page.addresses import PAGE_ROWS, address_of, list_pages
from memorist.page.view import (
    BarBlock,
    FormBlock,
    FormField,
    LinkBlock,
    NumberBlock,
    PageBlock,
    PageCell,
    PageRow,
    PageView,
    ProseBlock,
    TableBlock,
)
from memorist.recall.passages import PassageMatch
from memorist.replay.formatting import base_name, format_dollars, format_percent, format_time
from memorist.settings import Settings
from memorist.store.files import DiskFiles, read_if_exists
from memorist.store.layout import SessionLayout
from memorist.store.transcript import LineFile

PIECE_CHARS = 160
"""Characters of a piece that stand in the table; the message has all of it."""
DEAREST = 8
"""Dearest turns that are named."""


def build_sessions(query: str, page: int) -> PageView:
    """All sessions, newest first; with a query those whose title, project or words fit."""
    everything = list_known_sessions(None)
    found = [each for each in everything if _fits(each, query)]
    blocks: list[PageBlock] = [
        FormBlock(
            fields=[FormField(name="q", label="Find a session by its words", value=query)],
            button="Search",
            label="Search sessions",
        )
    ]
    if query:
        with closing(sync_session_index(everywhere=True)) as index:
            passages = index.search(query, 20)
        blocks.append(_build_passages(passages))
    shown = found[(page - 1) * PAGE_ROWS : page * PAGE_ROWS]
    blocks.append(
        TableBlock(
            heading="Sessions" if not query else "Sessions with these words in title or project",
            columns=["Last active", "What it was about", "Project", "Agent"],
            rows=[build_session_row(each) for each in shown],
            empty="No session is known yet: memorist setup joins your agent."
            if not everything
            else "None.",
        )
    )
    blocks += list_pages("sessions", len(found), page, q=query)
    return PageView(
        name="sessions",
        title="Sessions",
        lead=f"{len(everything):,} sessions of every agent and project on this machine.",
        command=f'memorist search --all "{query}"' if query else "memorist sessions --all",
        blocks=blocks,
    )


def build_session_row(each: SessionEntry) -> PageRow:
    """One session in a list."""
    return PageRow(
        cells=[
            PageCell(format_time(each.updated).removesuffix(" UTC")),
            PageCell(
                shorten(each.title or "(nothing was asked)", PIECE_CHARS),
                address_of("session", id=each.id),
            ),
            PageCell(base_name(each.project) or "—"),
            PageCell(each.agent, quiet="with notes" if each.notes else ""),
        ]
    )


def _fits(each: SessionEntry, query: str) -> bool:
    words = query.casefold().split()
    text = f"{each.title} {each.project} {each.agent} {each.id}".casefold()
    return all(word in text for word in words)


def _build_passages(found: Sequence[PassageMatch]) -> TableBlock:
    rows = [
        PageRow(
            cells=[
                PageCell(format_time(each.passage.at or None).removesuffix(" UTC")),
                PageCell(
                    shorten(each.passage.said or "(no words)", 240),
                    address_of("message", id=each.session, line=each.passage.line),
                    quiet=shorten(each.passage.answered, 240),
                ),
                PageCell(shorten(each.title, 80), address_of("session", id=each.session)),
            ]
        )
        for each in found
    ]
    return TableBlock(
        heading="What was said",
        columns=["When", "You, and the agent's answer", "Session"],
        rows=rows,
        empty="No past turn has these words.",
    )


def find_entry(id: str) -> SessionEntry:
    """The session with this id. Raises InputError."""
    for each in list_known_sessions(None):
        if each.id == id:
            return each
    raise InputError(f"no session {id} is known")


class SessionTurn(Struct, frozen=True, kw_only=True):
    """One turn of a recorded session, as its provider counted it."""

    number: int
    said: str
    line: int
    context: int
    """Tokens of the largest request."""
    cost: float
    """US dollars of its calls, as far as the model's price is known."""


class CacheLoss(Struct, frozen=True, kw_only=True):
    """A call that read much less from the cache than the one before."""

    turn: int
    line: int
    tokens: int
    cost: float
    """US dollars that these tokens cost more than read from the cache."""


class SessionCourse(Struct, frozen=True, kw_only=True):
    """How a recorded session went."""

    turns: tuple[SessionTurn, ...]
    losses: tuple[CacheLoss, ...]
    compactions: tuple[tuple[int, CompactionBoundary, int], ...]
    """Turn, mark, and tokens of the next request (0 where there is none)."""


def trace_course(entries: Iterable[TranscriptEntry]) -> SessionCourse:
    """The turns of a session with tokens, costs, cache breaks and compactions. Pure."""
    turns: list[SessionTurn] = []
    losses: list[CacheLoss] = []
    marks: list[tuple[int, CompactionBoundary, int]] = []
    last = Usage()
    seen: set[str] = set()
    for entry in entries:
        if isinstance(entry, CompactionBoundary):
            marks.append((len(turns), entry, 0))
            last = Usage()
        if not isinstance(entry, Message):
            continue
        if is_user_turn(entry):
            turns.append(
                SessionTurn(
                    number=len(turns) + 1, said=entry.text, line=entry.line or 0, context=0, cost=0
                )
            )
        usage = entry.usage
        key = f"{entry.model}{usage}"
        if usage is None or not turns or key in seen:
            continue
        seen.add(key)
        turns[-1] = _add_call(turns[-1], entry.model or "", usage)
        if (loss := _find_loss(last, usage, entry, len(turns))) is not None:
            losses.append(loss)
        if marks and not marks[-1][2]:
            marks[-1] = (*marks[-1][:2], usage.context)
        last = usage
    return SessionCourse(turns=tuple(turns), losses=tuple(losses), compactions=tuple(marks))


def _add_call(turn: SessionTurn, model: str, usage: Usage) -> SessionTurn:
    return SessionTurn(
        number=turn.number,
        said=turn.said,
        line=turn.line,
        context=max(turn.context, usage.context),
        cost=turn.cost + (call_cost(model, usage, shipped_prices()) or 0.0),
    )


def _find_loss(before: Usage, now: Usage, message: Message, turn: int) -> CacheLoss | None:
    lost = before.cache_read - now.cache_read
    if lost <= max(MIN_DROP_TOKENS, MIN_DROP_SHARE * before.cache_read):
        return None
    prices, model = shipped_prices(), message.model or ""
    whole = call_cost(model, Usage(input=lost), prices) or 0.0
    return CacheLoss(
        turn=turn,
        line=message.line or 0,
        tokens=lost,
        cost=whole - (call_cost(model, Usage(cache_read=lost), prices) or 0.0),
    )


def build_session(id: str, turn: int | None, settings: Settings) -> PageView:
    """One session as its model saw it when a turn began; without a turn at its end."""
    entry = find_entry(id)
    place = Path(entry.file)
    course = trace_course(read_session(LineFile(place)))
    listing = list_session_context(
        ContextOptions(place=place, turn=turn, diff=True), settings.context.family
    )
    number = listing.turn
    total = sum(each.tokens for each in listing.pieces)
    blocks: list[PageBlock] = [
        NumberBlock(pairs=_session_numbers(entry, course, total)),
        *_turn_forms(id, turn or number, course),
        BarBlock(
            heading="Context over the turns",
            unit="tokens of the largest request of each turn",
            bars=[
                (f"Turn {each.number}", float(each.context), _turn_address(id, each.number))
                for each in course.turns
            ],
        ),
        _build_parts(listing, total),
        *_build_changes(listing, id),
        _build_pieces(listing, id),
        _build_dearest(course, id),
        *_build_marks(course, id),
        *_build_notes(entry),
    ]
    at = f" --turn {turn}" if turn else ""
    return PageView(
        name="sessions",
        title=shorten(entry.title or entry.id, 110),
        lead=f"What stood in the window {f'when turn {number} began' if turn else 'at the end'}: "
        f"about {total:,} tokens, counted for {listing.model or 'no known model'}.",
        command=f"memorist context {entry.file} --diff{at}",
        blocks=blocks,
    )


def _session_numbers(
    entry: SessionEntry, course: SessionCourse, total: int
) -> list[tuple[str, str]]:
    return [
        ("agent", entry.agent),
        ("project", base_name(entry.project) or "—"),
        ("turns", f"{len(course.turns):,}"),
        ("tokens in the window", f"{total:,}"),
        ("compactions", f"{len(course.compactions):,}"),
        ("cost of the session", format_dollars(sum(each.cost for each in course.turns))),
    ]


def _turn_address(id: str, turn: int) -> str:
    return address_of("session", id=id, turn=turn)


def _turn_forms(id: str, turn: int, course: SessionCourse) -> list[PageBlock]:
    count = len(course.turns)
    if count < 2:
        return []
    near = [n for n in (turn - 1, turn + 1) if 1 <= n <= count]
    words = {turn - 1: "Turn before", turn + 1: "Next turn"}
    return [
        FormBlock(
            fields=[
                FormField(name="id", kind="hidden", value=id),
                FormField(name="turn", label="Turn", kind="range", value=str(turn), most=count),
            ],
            button="Show this turn",
            path="/session",
            label="Choose a turn",
        ),
        LinkBlock(
            label="Turns",
            links=[
                *((words[n], _turn_address(id, n), False) for n in near),
                ("The end", address_of("session", id=id), False),
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
        heading="What fills the window",
        columns=["Part", "Pieces", "Tokens", "Share"],
        rows=[
            PageRow(
                cells=[
                    PageCell(tag),
                    PageCell(f"{count:,}"),
                    PageCell(f"{tokens:,}"),
                    PageCell(format_percent(tokens, total)),
                ]
            )
            for tag, (count, tokens) in ordered
        ],
        numeric=[1, 2, 3],
    )


def _build_changes(listing: ContextListing, id: str) -> list[PageBlock]:
    moved = [each for each in listing.changed if each.change != "same"]
    if not moved:
        return []
    return [
        TableBlock(
            heading="Came and went since the turn before",
            columns=["Change", "Part", "Tokens", "Source and reason"],
            rows=[
                PageRow(
                    cells=[
                        PageCell(
                            "came" if each.change == "added" else "went",
                            tone="good" if each.change == "added" else "note",
                        ),
                        *_piece_cells(each.piece, id),
                    ]
                )
                for each in moved[-PAGE_ROWS:]
            ],
            numeric=[2],
        )
    ]


def _build_pieces(listing: ContextListing, id: str) -> TableBlock:
    heaviest = sorted(listing.pieces, key=lambda each: -each.tokens)[:PAGE_ROWS]
    left = len(listing.pieces) - len(heaviest)
    return TableBlock(
        heading="Every piece, heaviest first" + (f" ({left:,} lighter ones left out)" * (left > 0)),
        columns=["Part", "Tokens", "Source and reason"],
        rows=[PageRow(cells=_piece_cells(each, id)) for each in heaviest],
        numeric=[1],
    )


def _piece_cells(piece: ContextPiece, id: str) -> list[PageCell]:
    line = piece.source.removeprefix("line ")
    href = address_of("message", id=id, line=line) if line.isdigit() else ""
    text = shorten(" ".join(piece.text.split()), PIECE_CHARS)
    return [
        PageCell(piece.tag),
        PageCell(f"{piece.tokens:,}", href),
        PageCell(text, href, quiet=f"{piece.source}: {piece.why}"),
    ]


def _build_dearest(course: SessionCourse, id: str) -> TableBlock:
    rows = sorted(course.turns, key=lambda each: (-each.cost, -each.context))[:DEAREST]
    return TableBlock(
        heading="Dearest turns",
        columns=["Turn", "Cost", "Context", "It began with"],
        rows=[
            PageRow(
                cells=[
                    PageCell(str(each.number), _turn_address(id, each.number)),
                    PageCell(format_dollars(each.cost) if each.cost else "not known"),
                    PageCell(f"{each.context:,}"),
                    PageCell(
                        shorten(" ".join(each.said.split()), PIECE_CHARS),
                        address_of("message", id=id, line=each.line),
                    ),
                ]
            )
            for each in rows
        ],
        numeric=[0, 1, 2],
    )


def _build_marks(course: SessionCourse, id: str) -> list[PageBlock]:
    blocks: list[PageBlock] = []
    if course.compactions:
        rows = [
            PageRow(
                cells=[
                    PageCell(str(turn), _turn_address(id, max(1, turn))),
                    PageCell("—" if mark.tokens_before is None else f"{mark.tokens_before:,}"),
                    PageCell(f"{after:,}" if after else "—"),
                    PageCell(mark.trigger or "not told"),
                ]
            )
            for turn, mark, after in course.compactions
        ]
        blocks.append(
            TableBlock(
                heading="Compactions",
                columns=["Turn", "Tokens before", "Tokens after", "Begun by"],
                rows=rows,
                numeric=[0, 1, 2],
            )
        )
    if course.losses:
        rows = [
            PageRow(
                cells=[
                    PageCell(str(each.turn), _turn_address(id, each.turn)),
                    PageCell(f"{each.tokens:,}", address_of("message", id=id, line=each.line)),
                    PageCell(format_dollars(each.cost) if each.cost else "not known"),
                ]
            )
            for each in course.losses
        ]
        blocks.append(
            TableBlock(
                heading="Cache breaks",
                columns=["Turn", "Tokens no longer read from the cache", "What that cost"],
                rows=rows,
                numeric=[0, 1, 2],
            )
        )
    return blocks


def _build_notes(entry: SessionEntry) -> list[PageBlock]:
    if not entry.folder:
        return []
    notes = read_if_exists(DiskFiles(), SessionLayout(Path(entry.folder)).notes) or b""
    text = notes.decode("utf-8", "replace")
    return [ProseBlock(heading="Notes of the session", text=text)] if text.strip() else []


def build_message(id: str, line: int) -> PageView:
    """The messages of a session from a line of its file on: the one, and the two after it."""
    entry = find_entry(id)
    found = [
        each
        for each in read_session(LineFile(Path(entry.file)))
        if isinstance(each, Message) and (each.line or 0) >= line
    ][:3]
    if not found:
        raise InputError(f"the session has no message at line {line}")
    blocks: list[PageBlock] = [
        ProseBlock(
            heading=f"{each.role}, line {each.line}",
            text="\n\n".join(
                part for part in (each.text, *(result.text for result in each.tool_results)) if part
            )
            or "(no text)",
            note=", ".join(f"calls {use.name}" for use in each.tool_uses),
        )
        for each in found
    ]
    back = LinkBlock(
        label="Ways on",
        links=[
            ("The whole session", address_of("session", id=id), False),
            ("Messages after these", address_of("message", id=id, line=_next_line(found)), False),
        ],
    )
    return PageView(
        name="sessions",
        title=f"Line {line} of “{shorten(entry.title or id, 90)}”",
        lead=f"{entry.agent}, {base_name(entry.project) or 'no project'}",
        command=f"sed -n {line}p {entry.file}",
        blocks=[back, *blocks],
    )


def _next_line(found: Sequence[Message]) -> int:
    return (found[-1].line or 0) + 1
