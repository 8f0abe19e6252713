"""The report's facts about a session as rows of text. Pure; the template escapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from memorist.core.markdown import parse_outline
from memorist.core.tokens import estimate_text_tokens
from memorist.formats.transcript import FORMAT_TITLES, RepairedLine, SkippedLine
from memorist.replay.formatting import (
    base_name,
    format_compact,
    format_count,
    format_dollars,
    format_number,
    format_time,
    shorten_text,
)
from memorist.replay.record import NotesUpdateRecord, ReceiptTotals, SessionRecord
from memorist.session_memory.template import STRUCTURAL_MARK

MAX_CELL = 400
"""Most characters of one cell."""


class TableColumn(Struct, frozen=True):
    """A column: its heading and the kind of its cells."""

    heading: str
    kind: Literal["text", "code", "number"] = "text"


class ReportTable(Struct, frozen=True):
    """Rows of text under columns.

    `rest` labels the rows that a long table hides: `more commands`.
    """

    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[str, ...], ...]
    rest: str = "more"


class NamedValue(Struct, frozen=True):
    """A value and its label."""

    name: str
    value: str


def session_title(session: SessionRecord) -> str:
    """The title in the notes, else the file's own, else the session's id or the file's name."""
    for section in parse_outline(session.notes).sections:
        if section.title.lower() == "session title":
            lines = (line.strip() for line in section.body.splitlines())
            found = next(
                (line for line in lines if line and line != STRUCTURAL_MARK and not _is_hint(line)),
                "",
            )
            if found:
                return shorten_text(found.strip("*_`# "), 160)
    return shorten_text(
        session.head.title or session.head.session or base_name(session.source), 160
    )


def _is_hint(line: str) -> bool:
    return len(line) > 2 and line[0] == line[-1] and line[0] in "_*" and line[1] != line[0]


def session_facts(session: SessionRecord) -> tuple[NamedValue, ...]:
    """The session's origin; what the file does not say is left out."""
    head = session.head
    window = f"{format_compact(head.window)} tokens" if head.window else ""
    every = (
        NamedValue("File", base_name(session.source)),
        NamedValue(
            "Format",
            " ".join(
                part for part in (FORMAT_TITLES.get(head.format, head.format), head.version) if part
            ),
        ),
        NamedValue("Model", head.model),
        NamedValue("Window", window),
        NamedValue("Folder", base_name(head.cwd)),
        NamedValue("Branch", head.branch),
        NamedValue("Started", format_time(head.started)),
    )
    return tuple(
        NamedValue(fact.name, shorten_text(fact.value, 160)) for fact in every if fact.value
    )


def file_and_format(session: SessionRecord) -> str:
    """The file's name and the client that wrote it."""
    return (
        f"{shorten_text(base_name(session.source), 160)} · "
        f"{FORMAT_TITLES.get(session.head.format, session.head.format)}"
    )


def notes_tokens(session: SessionRecord) -> int:
    """The size of the notes at the end."""
    newest = session.final or (session.updates[-1] if session.updates else None)
    return newest.notes_tokens if newest else estimate_text_tokens(session.notes)


def session_numbers(session: SessionRecord) -> tuple[NamedValue, ...]:
    """The key numbers of a session."""
    return (
        NamedValue("messages", format_number(session.messages)),
        NamedValue("turns", format_number(session.turns)),
        NamedValue("tokens at the peak", format_number(session.tokens_peak)),
        NamedValue("updates of the notes", format_number(len(session.updates))),
        NamedValue("tokens of notes", format_number(notes_tokens(session))),
        NamedValue("compactions", format_number(len(session.compactions))),
        NamedValue("lines skipped", format_number(len(session.skipped))),
        NamedValue("lines mended", format_number(len(session.mended))),
    )


def total_numbers(sessions: Sequence[SessionRecord]) -> tuple[NamedValue, ...]:
    """The key numbers of all sessions together."""
    return (
        NamedValue("sessions", format_number(len(sessions))),
        NamedValue("messages", format_number(sum(session.messages for session in sessions))),
        NamedValue("turns", format_number(sum(session.turns for session in sessions))),
        NamedValue(
            "tokens at the highest peak",
            format_number(max((session.tokens_peak for session in sessions), default=0)),
        ),
        NamedValue(
            "updates of the notes", format_number(sum(len(session.updates) for session in sessions))
        ),
        NamedValue(
            "compactions", format_number(sum(len(session.compactions) for session in sessions))
        ),
        NamedValue(
            "lines skipped", format_number(sum(len(session.skipped) for session in sessions))
        ),
        NamedValue("lines mended", format_number(sum(len(session.mended) for session in sessions))),
    )


def sum_receipts(sessions: Sequence[SessionRecord]) -> ReceiptTotals:
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


def describe_cost(receipts: ReceiptTotals) -> str:
    """The cost of background work in one line."""
    if receipts.requests == 0:
        return f"0 requests, {format_dollars(receipts.cost_usd)}: no model was used"
    usage = receipts.usage
    read = usage.input + usage.cache_read + usage.cache_write
    cached = f", {usage.cache_read:,} of them from the cache" if usage.cache_read else ""
    return (
        f"{format_count(receipts.requests, 'request')}, "
        f"{format_dollars(receipts.cost_usd)}: {format_count(read, 'token')} in{cached}, "
        f"{usage.output:,} out"
    )


def updates_table(session: SessionRecord) -> ReportTable:
    """Each update of the notes, including the final one."""
    rows: list[tuple[str, ...]] = [
        (str(number), *_update_row(update)) for number, update in enumerate(session.updates, 1)
    ]
    if session.final:
        rows.append(("end", *_update_row(session.final)))
    columns: tuple[TableColumn, ...] = (
        TableColumn("Update", "number"),
        TableColumn("After message", "number"),
        TableColumn("Line", "number"),
        TableColumn("Context", "number"),
        TableColumn("Notes", "number"),
        TableColumn("Why"),
        TableColumn("Way"),
        TableColumn("Repairs"),
    )
    if not any(row[-1] for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    return ReportTable(columns, tuple(rows), "more updates")


def _update_row(update: NotesUpdateRecord) -> tuple[str, ...]:
    sizes = (
        format_number(number)
        for number in (update.index, update.line, update.tokens, update.notes_tokens)
    )
    return (
        *sizes,
        shorten_text(update.why, MAX_CELL),
        update.way,
        shorten_text("; ".join(update.repairs), MAX_CELL),
    )


def compactions_table(session: SessionRecord) -> ReportTable:
    """Each compaction, by the recorded agent or by memorist."""
    columns = (
        TableColumn("Compaction"),
        TableColumn("By"),
        TableColumn("After message", "number"),
        TableColumn("Line", "number"),
        TableColumn("Tokens before", "number"),
        TableColumn("Tokens after", "number"),
        TableColumn("Trigger"),
    )
    rows = tuple(
        (
            f"C{number}",
            f"{each.by}: {each.strategy}" if each.strategy else each.by,
            format_number(each.index),
            format_number(each.line),
            format_number(each.tokens_before),
            format_number(each.tokens_after),
            shorten_text(each.trigger, MAX_CELL),
        )
        for number, each in enumerate(session.compactions, 1)
    )
    return ReportTable(columns, rows, "more compactions")


def memory_changes_table(session: SessionRecord) -> ReportTable:
    """What the session wrote to memory, what waits in the inbox, and what was refused."""
    columns = (
        TableColumn("After message", "number"),
        TableColumn("What"),
        TableColumn("Memory", "code"),
        TableColumn("Why"),
    )
    rows = [
        (
            format_number(step.index),
            step.what,
            shorten_text(", ".join(step.paths), MAX_CELL),
            shorten_text(step.why, MAX_CELL),
        )
        for step in session.memory_steps
    ]
    return ReportTable(columns, tuple(rows), "more")


def recalls_table(session: SessionRecord) -> ReportTable:
    """What recall would have shown a live session."""
    columns = (TableColumn("At message", "number"), TableColumn("Shown"))
    return ReportTable(
        columns,
        tuple((format_number(given.index), given.text) for given in session.memory_given),
        "more",
    )


def files_table(session: SessionRecord) -> ReportTable:
    """Each file, changed ones first."""
    ordered = sorted(
        session.files, key=lambda use: (use.changes == 0, -use.changes, -use.reads, use.path)
    )
    rows = tuple(
        (shorten_text(use.path, MAX_CELL), format_number(use.changes), format_number(use.reads))
        for use in ordered
    )
    return ReportTable(
        (
            TableColumn("File", "code"),
            TableColumn("Changed", "number"),
            TableColumn("Read", "number"),
        ),
        rows,
        "more files",
    )


def commands_table(session: SessionRecord) -> ReportTable:
    """Each command."""
    columns = (
        TableColumn("Command", "code"),
        TableColumn("Runs", "number"),
        TableColumn("Failed", "number"),
        TableColumn("Last outcome"),
    )
    rows = tuple(
        (
            shorten_text(use.command, MAX_CELL),
            format_number(use.runs),
            format_number(use.failures),
            shorten_text(use.last, MAX_CELL),
        )
        for use in session.commands
    )
    return ReportTable(columns, rows, "more commands")


def troubles_table(session: SessionRecord) -> ReportTable:
    """What failed, and what fixed it."""
    columns = (
        TableColumn("What failed", "code"),
        TableColumn("How"),
        TableColumn("What mended it"),
    )
    rows = tuple(
        (
            shorten_text(each.what, MAX_CELL),
            shorten_text(each.error, MAX_CELL),
            shorten_text(each.mended, MAX_CELL) or "nothing that the record shows",
        )
        for each in session.troubles
    )
    return ReportTable(columns, rows, "more failures")


def lines_table(entries: Sequence[SkippedLine | RepairedLine]) -> ReportTable:
    """Lines of the file that were skipped or repaired, and why."""
    rows = tuple(
        (format_number(entry.line), shorten_text(entry.why, MAX_CELL)) for entry in entries
    )
    return ReportTable((TableColumn("Line", "number"), TableColumn("Why")), rows, "more lines")


def counts_table(found: dict[str, int], what: str) -> ReportTable:
    """Counts by kind, largest first."""
    ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return ReportTable(
        (TableColumn(what), TableColumn("Count", "number")),
        tuple((shorten_text(kind, MAX_CELL), format_number(count)) for kind, count in ordered),
        "more kinds",
    )
