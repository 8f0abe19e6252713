"""The report's facts about a session as rows of text. Pure; the template escapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from memorist.core.markdown import outline
from memorist.core.tokens import estimate_text
from memorist.formats.recorded import Mend, Skip
from memorist.replay.legible import compact, counted, day, dollars, last_part, short, whole
from memorist.replay.record import Receipts, SessionRecord, Update
from memorist.session_memory.sections import STRUCTURAL_MARK

LONGEST = 400
"""Most characters of one cell."""

FORMATS = {"claude_code": "Claude Code", "codex": "Codex", "memorist": "memorist"}


class Column(Struct, frozen=True):
    """A column: its heading and the kind of its cells."""

    heading: str
    kind: Literal["text", "code", "number"] = "text"


class Table(Struct, frozen=True):
    """Rows of text under columns.

    `rest` labels the rows that a long table hides: `more commands`.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    rest: str = "more"


class Named(Struct, frozen=True):
    """A value and its label."""

    name: str
    value: str


def title(session: SessionRecord) -> str:
    """The title in the notes, else the file's own, else the session's id or the file's name."""
    for section in outline(session.notes).sections:
        if section.title.lower() == "session title":
            lines = (line.strip() for line in section.body.splitlines())
            found = next((line for line in lines if line and line != STRUCTURAL_MARK and not _hint(line)), "")
            if found:
                return short(found.strip("*_`# "), 160)
    return short(session.head.title or session.head.session or last_part(session.source), 160)


def _hint(line: str) -> bool:
    return len(line) > 2 and line[0] == line[-1] and line[0] in "_*" and line[1] != line[0]


def facts(session: SessionRecord) -> tuple[Named, ...]:
    """The session's origin; what the file does not say is left out."""
    head = session.head
    window = f"{compact(head.window)} tokens" if head.window else ""
    every = (
        Named("File", last_part(session.source)),
        Named("Format", " ".join(part for part in (FORMATS.get(head.format, head.format), head.version) if part)),
        Named("Model", head.model),
        Named("Window", window),
        Named("Folder", last_part(head.cwd)),
        Named("Branch", head.branch),
        Named("Started", day(head.started)),
    )
    return tuple(Named(fact.name, short(fact.value, 160)) for fact in every if fact.value)


def file_and_format(session: SessionRecord) -> str:
    """The file's name and the client that wrote it."""
    return f"{short(last_part(session.source), 160)} · {FORMATS.get(session.head.format, session.head.format)}"


def notes_tokens(session: SessionRecord) -> int:
    """The size of the notes at the end."""
    newest = session.final or (session.updates[-1] if session.updates else None)
    return newest.notes_tokens if newest else estimate_text(session.notes)


def numbers(session: SessionRecord) -> tuple[Named, ...]:
    """The key numbers of a session."""
    return (
        Named("messages", whole(session.messages)),
        Named("turns", whole(session.turns)),
        Named("tokens at the peak", whole(session.tokens_peak)),
        Named("updates of the notes", whole(len(session.updates))),
        Named("tokens of notes", whole(notes_tokens(session))),
        Named("compactions", whole(len(session.compactions))),
        Named("lines skipped", whole(len(session.skipped))),
        Named("lines mended", whole(len(session.mended))),
    )


def totals(sessions: Sequence[SessionRecord]) -> tuple[Named, ...]:
    """The key numbers of all sessions together."""
    return (
        Named("sessions", whole(len(sessions))),
        Named("messages", whole(sum(session.messages for session in sessions))),
        Named("turns", whole(sum(session.turns for session in sessions))),
        Named("tokens at the highest peak", whole(max((session.tokens_peak for session in sessions), default=0))),
        Named("updates of the notes", whole(sum(len(session.updates) for session in sessions))),
        Named("compactions", whole(sum(len(session.compactions) for session in sessions))),
        Named("lines skipped", whole(sum(len(session.skipped) for session in sessions))),
        Named("lines mended", whole(sum(len(session.mended) for session in sessions))),
    )


def all_receipts(sessions: Sequence[SessionRecord]) -> Receipts:
    """The background work of all sessions; the cost is known if that of each one is."""
    total = Receipts()
    for each in (session.receipts for session in sessions):
        cost = None if total.cost_usd is None or each.cost_usd is None else total.cost_usd + each.cost_usd
        total = Receipts(requests=total.requests + each.requests, usage=total.usage + each.usage, cost_usd=cost)
    return total


def work(receipts: Receipts) -> str:
    """The cost of background work in one line."""
    if receipts.requests == 0:
        return f"0 requests, {dollars(receipts.cost_usd)}: no model was used"
    usage = receipts.usage
    read = usage.input + usage.cache_read + usage.cache_write
    cached = f", {usage.cache_read:,} of them from the cache" if usage.cache_read else ""
    return (
        f"{counted(receipts.requests, 'request')}, {dollars(receipts.cost_usd)}: {counted(read, 'token')} in{cached}, {usage.output:,} out"
    )


def updates(session: SessionRecord) -> Table:
    """Each update of the notes, including the final one."""
    rows: list[tuple[str, ...]] = [(str(number), *_update(update)) for number, update in enumerate(session.updates, 1)]
    if session.final:
        rows.append(("end", *_update(session.final)))
    columns: tuple[Column, ...] = (
        Column("Update", "number"),
        Column("After message", "number"),
        Column("Line", "number"),
        Column("Context", "number"),
        Column("Notes", "number"),
        Column("Why"),
        Column("Way"),
        Column("Repairs"),
    )
    if not any(row[-1] for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    return Table(columns, tuple(rows), "more updates")


def _update(update: Update) -> tuple[str, ...]:
    sizes = (whole(number) for number in (update.index, update.line, update.tokens, update.notes_tokens))
    return (*sizes, short(update.why, LONGEST), update.way, short("; ".join(update.repairs), LONGEST))


def compactions(session: SessionRecord) -> Table:
    """Each compaction, by the recorded agent or by memorist."""
    columns = (
        Column("Compaction"),
        Column("By"),
        Column("After message", "number"),
        Column("Line", "number"),
        Column("Tokens before", "number"),
        Column("Tokens after", "number"),
        Column("Trigger"),
    )
    rows = tuple(
        (
            f"C{number}",
            f"{each.by}: {each.strategy}" if each.strategy else each.by,
            whole(each.index),
            whole(each.line),
            whole(each.tokens_before),
            whole(each.tokens_after),
            short(each.trigger, LONGEST),
        )
        for number, each in enumerate(session.compactions, 1)
    )
    return Table(columns, rows, "more compactions")


def memory_steps(session: SessionRecord) -> Table:
    """What the session wrote to memory, what waits in the inbox, and what was refused."""
    columns = (Column("After message", "number"), Column("What"), Column("Memory", "code"), Column("Why"))
    rows = [
        (whole(step.index), step.what, short(", ".join(step.paths), LONGEST), short(step.why, LONGEST)) for step in session.memory_steps
    ]
    return Table(columns, tuple(rows), "more")


def memory_given(session: SessionRecord) -> Table:
    """What recall would have shown a live session."""
    columns = (Column("At message", "number"), Column("Shown"))
    return Table(columns, tuple((whole(given.index), given.text) for given in session.memory_given), "more")


def files(session: SessionRecord) -> Table:
    """Each file, changed ones first."""
    ordered = sorted(session.files, key=lambda use: (use.changes == 0, -use.changes, -use.reads, use.path))
    rows = tuple((short(use.path, LONGEST), whole(use.changes), whole(use.reads)) for use in ordered)
    return Table((Column("File", "code"), Column("Changed", "number"), Column("Read", "number")), rows, "more files")


def commands(session: SessionRecord) -> Table:
    """Each command."""
    columns = (Column("Command", "code"), Column("Runs", "number"), Column("Failed", "number"), Column("Last outcome"))
    rows = tuple((short(use.command, LONGEST), whole(use.runs), whole(use.failures), short(use.last, LONGEST)) for use in session.commands)
    return Table(columns, rows, "more commands")


def troubles(session: SessionRecord) -> Table:
    """What failed, and what fixed it."""
    columns = (Column("What failed", "code"), Column("How"), Column("What mended it"))
    rows = tuple(
        (short(each.what, LONGEST), short(each.error, LONGEST), short(each.mended, LONGEST) or "nothing that the record shows")
        for each in session.troubles
    )
    return Table(columns, rows, "more failures")


def lines(entries: Sequence[Skip | Mend]) -> Table:
    """Lines of the file that were skipped or repaired, and why."""
    rows = tuple((whole(entry.line), short(entry.why, LONGEST)) for entry in entries)
    return Table((Column("Line", "number"), Column("Why")), rows, "more lines")


def counts(found: dict[str, int], what: str) -> Table:
    """Counts by kind, largest first."""
    ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return Table(
        (Column(what), Column("Count", "number")), tuple((short(kind, LONGEST), whole(count)) for kind, count in ordered), "more kinds"
    )
