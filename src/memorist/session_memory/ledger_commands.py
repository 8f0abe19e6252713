"""The commands of a session: runs with their outcome, failures, and what resolved them. Pure."""

from __future__ import annotations

from msgspec import Struct, field

from memorist.session_memory.outcomes import Outcome
from memorist.session_memory.shell import command_key

COMMAND_LIMIT = 300
"""Distinct commands kept; at twice the number the oldest are dropped."""

FAILURE_LIMIT = 40
"""Failures kept; at twice the number resolved and older ones are dropped."""


class CommandNote(Struct):
    """One command as typed: how often it ran and failed, and its last outcome."""

    text: str
    kind: str
    order: int
    runs: int = 0
    failures: int = 0
    last: Outcome | None = None


class Failure(Struct):
    """A failure: what failed, the relevant output line, the assistant's next statement, files
    changed since, and what resolved it.
    """

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
    """The assistant has commented since."""


class CommandBook:
    """The commands and failures of a session, bounded."""

    __slots__ = ("_order", "commands", "failures")

    def __init__(self) -> None:
        self.commands: dict[str, CommandNote] = {}
        self.failures: list[Failure] = []
        self._order = 0

    def ran(self, text: str, kind: str, outcome: Outcome, turn: int) -> CommandNote:
        """Record the outcome of a command, given in its short form."""
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
        """Record a failure; an immediate repetition only increases its count."""
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
        """A success resolves the open failures of the same command, or of the same purpose where
        that is a check.
        """
        for failure in self.failures[-FAILURE_LIMIT:]:
            same = failure.key == key or (failure.kind == note.kind and note.kind not in ("look", "run", "merge", "branch", "install"))
            if same and not failure.mended_by:
                failure.mended_by, failure.mended_line = note.text, outcome.line

    def explained(self, text: str) -> None:
        """Record the assistant's first statement after a failure; empty where it only announces the
        next step, which explains nothing.
        """
        last = self.failures[-1] if self.failures else None
        if last is not None and not last.answered and not last.mended_by:
            last.diagnosis, last.answered = text, True

    def edited(self, path: str) -> None:
        """Record a changed file with every failure that is still open."""
        for failure in self.failures[-8:]:
            if not failure.mended_by and len(failure.edits) < 4:
                failure.edits[path] = None
