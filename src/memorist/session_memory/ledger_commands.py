"""The commands of a session: runs with their outcome, what failed, and what mended it. Pure."""

from __future__ import annotations

from msgspec import Struct, field

from memorist.session_memory.outcomes import Outcome
from memorist.session_memory.shell import command_key

COMMAND_LIMIT = 300
"""Different commands kept; at twice the number the oldest go."""

FAILURE_LIMIT = 40
"""Failures kept; at twice the number the mended and older ones go."""


class CommandNote(Struct):
    """One command, as typed: how often it ran and failed, and its last outcome."""

    text: str
    kind: str
    order: int
    runs: int = 0
    failures: int = 0
    last: Outcome | None = None


class Failure(Struct):
    """Something that failed: what, the telling line, what the assistant said next, what was changed since, and what worked."""

    what: str
    line: str
    key: str
    kind: str
    turn: int
    exit: int | None = None
    diagnosis: str = ""
    edits: dict[str, None] = field(default_factory=dict)
    mended_by: str = ""
    mended_line: str = ""
    times: int = 1
    answered: bool = False
    """The assistant has spoken since."""


class CommandBook:
    """The commands and failures of a session, bounded."""

    __slots__ = ("_order", "commands", "failures")

    def __init__(self) -> None:
        self.commands: dict[str, CommandNote] = {}
        self.failures: list[Failure] = []
        self._order = 0

    def ran(self, text: str, kind: str, outcome: Outcome, turn: int) -> CommandNote:
        """A command, in its short form, came back."""
        self._order += 1
        note = self.commands.get(text)
        if note is None:
            if len(self.commands) >= 2 * COMMAND_LIMIT:
                kept = sorted(self.commands.values(), key=lambda each: each.order)[-COMMAND_LIMIT:]
                self.commands = {each.text: each for each in kept}
            note = self.commands[text] = CommandNote(text, kind, self._order)
        note.order, note.last = self._order, outcome
        note.runs += 1
        if outcome.ok is False:
            note.failures += 1
            if not (note.kind == "look" and outcome.exit == 1 and not outcome.line):
                self.failed(Failure(text, outcome.line, command_key(text), note.kind, turn, outcome.exit))
        elif outcome.ok:
            self._mend(command_key(text), note, outcome)
        return note

    def failed(self, failure: Failure) -> None:
        """Something failed; a repeat of the failure before it only counts."""
        last = self.failures[-1] if self.failures else None
        if last is not None and not last.mended_by and last.key == failure.key and last.line == failure.line:
            last.times += 1
            return
        self.failures.append(failure)
        if len(self.failures) > 2 * FAILURE_LIMIT:
            older, newer = self.failures[: -FAILURE_LIMIT // 2], self.failures[-FAILURE_LIMIT // 2 :]
            older.sort(key=lambda each: (each.kind == "look", bool(each.mended_by), -each.turn))
            self.failures = sorted(older[: FAILURE_LIMIT // 2], key=lambda each: each.turn) + newer

    def _mend(self, key: str, note: CommandNote, outcome: Outcome) -> None:
        """A success mends the open failures of the same command, or of the same purpose where that is a check."""
        for failure in self.failures[-FAILURE_LIMIT:]:
            same = failure.key == key or (failure.kind == note.kind and note.kind not in ("look", "run", "merge", "branch", "install"))
            if same and not failure.mended_by:
                failure.mended_by, failure.mended_line = note.text, outcome.line

    def explained(self, text: str) -> None:
        """The assistant's first words after a failure; empty where they only announce its next step, which explains nothing."""
        last = self.failures[-1] if self.failures else None
        if last is not None and not last.answered and not last.mended_by:
            last.diagnosis, last.answered = text, True

    def edited(self, path: str) -> None:
        """A file was changed: noted with every failure that is still open."""
        for failure in self.failures[-8:]:
            if not failure.mended_by and len(failure.edits) < 4:
                failure.edits[path] = None
