"""Collect a session's record while it is replayed. Pure."""

from __future__ import annotations

from collections import Counter

from memorist.core.messages import Document, Image, Message, Origin, RedactedThinking, Text, Thinking, ToolResult, ToolUse, Unknown
from memorist.core.tokens import PICTURE_TOKENS, estimate_message, estimate_text
from memorist.events import ConversationCompacted, Event, HistoryReplaced, MemoryChanged, MemoryRefused, MemoryWaits, NotesUpdated
from memorist.formats.recorded import Aside, Mend, Skip
from memorist.replay.prefix import PrefixOfEntries
from memorist.replay.record import CommandUse, Compaction, FileUse, MemoryGiven, MemoryStep, Point, Trouble, Update
from memorist.session_memory.ledger import Ledger

POINTS = 2_000
"""Points kept for the chart; at twice as many, every second one is dropped."""

LISTED = 200
"""Repaired lines, files, commands and troubles that are listed one by one."""

_KIND_OF_ORIGIN = {
    Origin.USER: "user",
    Origin.MODEL: "assistant",
    Origin.TOOL: "tool results",
    Origin.INJECTED: "injected",
    Origin.NOTIFICATION: "injected",
    Origin.SUMMARY: "summaries",
    Origin.AGENT: "other agents",
}


class Gathering:
    """Collects what the report needs, in bounded memory."""

    def __init__(self) -> None:
        self.skipped: list[Skip] = []
        self.mended: list[Mend] = []
        self.skips = 0
        self.mends = 0
        self.records = 0
        self.asides: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.points: list[Point] = []
        self.updates: list[Update] = []
        self.final: Update | None = None
        self.compactions: list[Compaction] = []
        self.memory_steps: list[MemoryStep] = []
        self.memory_given: list[MemoryGiven] = []
        self.messages = 0
        self.prefix = PrefixOfEntries()
        self._stride = 1
        self._in_final = False

    def aside(self, entry: Aside) -> None:
        """Count a record that is not a message."""
        self.records += 1
        self.asides[entry.kind] += 1

    def skip(self, entry: Skip) -> None:
        """Record a line that could not be used."""
        self.records += 1
        self.skips += 1
        self.skipped.append(entry)

    def mend(self, entry: Mend) -> None:
        """Record a line that was repaired."""
        self.mends += 1
        if len(self.mended) < LISTED:
            self.mended.append(entry)

    def message(self, message: Message, tokens: int) -> None:
        """Record a message and the size of the context after it."""
        self.records += 1
        self.messages += 1
        self._count(message)
        self.prefix.follow(message)
        if self.messages % self._stride == 0:
            self.points.append(Point(self.messages, tokens, message.timestamp))
            if len(self.points) >= 2 * POINTS:
                self.points = self.points[1::2]
                self._stride *= 2

    def _count(self, message: Message) -> None:
        for block in message.blocks:
            match block:
                case Text(text=text, origin=origin):
                    self.kinds[_KIND_OF_ORIGIN[origin or message.origin]] += estimate_text(text)
                case Thinking() | RedactedThinking():
                    self.kinds["thinking"] += estimate_text(block.text if isinstance(block, Thinking) else block.data)
                case ToolUse():
                    self.kinds["tool calls"] += _alone(message, block)
                case ToolResult():
                    self.kinds["tool results"] += estimate_text(block.text)
                case Image() | Document():
                    self.kinds["images"] += PICTURE_TOKENS
                case Unknown():
                    self.kinds["other"] += _alone(message, block)

    def told(self, event: Event) -> None:
        """Record an event of the engine."""
        match event:
            case NotesUpdated():
                update = Update(
                    event.message, self.messages, event.line, event.tokens, event.why, event.way, event.notes_tokens, event.repairs
                )
                if self._in_final:
                    self.final = update
                else:
                    self.updates.append(update)
            case HistoryReplaced():
                self.compactions.append(Compaction(self.messages, event.line, event.trigger, event.tokens_before, event.tokens_after))
            case ConversationCompacted():
                made = Compaction(self.messages, 0, event.trigger, event.tokens_before, event.tokens_after, "memorist", event.strategy)
                self.compactions.append(made)
                self.prefix.compacted(event.strategy)
            case MemoryChanged(what=what, paths=paths):
                self.memory_steps.append(MemoryStep(self.messages, "written", paths, what))
            case MemoryWaits(path=path, reasons=reasons):
                self.memory_steps.append(MemoryStep(self.messages, "waiting", (path,), "; ".join(reasons)))
            case MemoryRefused(path=path, reasons=reasons):
                self.memory_steps.append(MemoryStep(self.messages, "refused", (path,), "; ".join(reasons)))
            case _:
                pass

    def given(self, message: str, text: str) -> None:
        """Record what recall would have shown at the newest message."""
        self.memory_given.append(MemoryGiven(self.messages, message, text))

    def ending(self) -> None:
        """Count the next update of the notes as the final one."""
        self._in_final = True


def _alone(message: Message, block: ToolUse | Unknown) -> int:
    only = Message(id=message.id, role=message.role, blocks=(block,), origin=message.origin)
    return estimate_message(only)


def files_of(ledger: Ledger) -> tuple[FileUse, ...]:
    """The files in the ledger, changed ones first."""
    uses = [FileUse(relative(note.path, ledger.cwd), note.reads, note.edits) for note in ledger.work.files.files.values()]
    return tuple(sorted(uses, key=lambda use: (-use.changes, -use.reads, use.path))[:LISTED])


def commands_of(ledger: Ledger) -> tuple[CommandUse, ...]:
    """The commands in the ledger, most used first."""
    uses = [
        CommandUse(note.text, note.runs, note.failures, note.last.line if note.last else "")
        for note in ledger.work.commands.commands.values()
    ]
    return tuple(sorted(uses, key=lambda use: (-use.runs, use.command))[:LISTED])


def troubles_of(ledger: Ledger) -> tuple[Trouble, ...]:
    """What failed, in order, and what fixed it."""
    return tuple(Trouble(each.what, each.line, each.mended_by or each.mended_line) for each in ledger.work.commands.failures[:LISTED])


def relative(path: str, folder: str) -> str:
    """The path relative to the session's folder."""
    return path.removeprefix(folder.rstrip("/") + "/") if folder else path
