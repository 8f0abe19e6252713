"""The commands of a session: runs with their outcome, failures, and what resolved them. Pure."""

from __future__ import annotations

from msgspec import Struct, field

from memorist.core.lazy import lazy_pattern
from memorist.transcript_analysis.call_outcome import CallOutcome
from memorist.transcript_analysis.command_lines import (
    build_command_key,
    drop_printing_and_cd_commands,
    is_check_covered_by,
    split_chained_commands,
)

MAX_COMMANDS = 300
"""Distinct commands kept; at twice the number the oldest are dropped."""

_PROVES_NOTHING = lazy_pattern(
    r"[^|]*?(?:\s(?:--help|-h|--version|--dry-run|(?<!sed )-n)(?=\s|$)|\bhelp\b)"
)
"""A run that only tells about itself, before any pipe: it succeeds whatever was broken."""

ONLY_TELLS = lazy_pattern(
    r"\s-[lLvG]\w*\b|\b(?:list|show|status|view|info|print|inspect|describe|ls-remote"
    r"|active-toolchain|which|logs?|ps|doctor|mkdir|add|echo)\b"
)
"""A run of which nobody expects that it changes what another command meets."""
_SHIPPING = frozenset({"commit", "push"})
_CHECKED_KINDS = frozenset({"test", "typecheck", "lint", "format", "build"})
_CHANGING = frozenset({"run", "install", "build", "format"})
"""Kinds of commands that may mend what another command failed at."""

MAX_COMMAND_FAILURES = 40
"""Failures kept; at twice the number resolved and older ones are dropped."""


class CommandRunCounts(Struct):
    """One command as typed: how often it ran and failed, its last outcome, and the line of the
    session's file with it, 0 where that is not asked for.
    """

    text: str
    kind: str
    order: int
    runs: int = 0
    failures: int = 0
    last: CallOutcome | None = None
    line: int = 0


class RecordedFailure(Struct):
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
    resolved_by: str = ""
    resolved_line: str = ""
    escalated: bool = False
    """It ran outside the client's sandbox."""
    resolved_escalated: bool = False
    """What resolved it ran outside the client's sandbox, and it did not."""
    between: dict[str, None] = field(default_factory=dict)
    """Commands that worked between it and what resolved it, and may have changed something."""
    times: int = 1
    answered: bool = False
    """The assistant has commented since."""


class CommandAndFailureLog:
    """The commands and failures of a session, bounded."""

    __slots__ = ("_order", "commands", "failures")

    def __init__(self) -> None:
        self.commands: dict[str, CommandRunCounts] = {}
        self.failures: list[RecordedFailure] = []
        self._order = 0

    def record_outcome(
        self, text: str, kind: str, outcome: CallOutcome, turn: int, *, escalated: bool = False
    ) -> CommandRunCounts:
        """Record the outcome of a command, given in its short form; `escalated` if it ran outside
        the client's sandbox.
        """
        self._order += 1
        note = self.commands.get(text)
        if note is None:
            if len(self.commands) >= 2 * MAX_COMMANDS:
                kept = sorted(self.commands.values(), key=lambda each: each.order)[-MAX_COMMANDS:]
                self.commands = {each.text: each for each in kept}
            note = self.commands[text] = CommandRunCounts(text, kind, self._order)
        note.order, note.last = self._order, outcome
        note.runs += 1
        if outcome.ok is False:
            note.failures += 1
            if not (note.kind == "look" and outcome.exit == 1 and not outcome.line):
                self.record_failure(
                    RecordedFailure(
                        text,
                        outcome.line,
                        build_command_key(text),
                        note.kind,
                        turn,
                        outcome.exit,
                        escalated=escalated,
                    )
                )
        elif outcome.ok and not _PROVES_NOTHING.match(text):
            self._resolve_failures(build_command_key(text), note, outcome, escalated=escalated)
        return note

    def record_failure(self, failure: RecordedFailure) -> None:
        """Record a failure; an immediate repetition only increases its count."""
        last = self.failures[-1] if self.failures else None
        if (
            last is not None
            and not last.resolved_by
            and last.key == failure.key
            and last.line == failure.line
        ):
            last.times += 1
            return
        self.failures.append(failure)
        if len(self.failures) > 2 * MAX_COMMAND_FAILURES:
            older = self.failures[: -MAX_COMMAND_FAILURES // 2]
            newer = self.failures[-MAX_COMMAND_FAILURES // 2 :]
            older.sort(key=lambda each: (each.kind == "look", bool(each.resolved_by), -each.turn))
            self.failures = (
                sorted(older[: MAX_COMMAND_FAILURES // 2], key=lambda each: each.turn) + newer
            )

    def _resolve_failures(
        self, key: str, note: CommandRunCounts, outcome: CallOutcome, *, escalated: bool
    ) -> None:
        """A success resolves the open failures of the same command, and of a check that it
        covers.
        """
        for failure in self.failures[-MAX_COMMAND_FAILURES:]:
            if _is_cure(failure, key, note) and not failure.resolved_by:
                failure.resolved_by, failure.resolved_line = note.text, outcome.line
                failure.resolved_escalated = escalated and not failure.escalated
            elif (
                not failure.resolved_by
                and note.kind in _CHANGING
                and len(failure.between) < 3
                and not ONLY_TELLS.search(note.text)
            ):
                failure.between[note.text] = None

    def record_explanation(self, text: str) -> None:
        """Record the assistant's first statement after a failure; empty where it only announces the
        next step, which explains nothing.
        """
        last = self.failures[-1] if self.failures else None
        if last is not None and not last.answered and not last.resolved_by:
            last.diagnosis, last.answered = text, True

    def record_edit(self, path: str) -> None:
        """Record a changed file with every failure that is still open."""
        for failure in self.failures[-8:]:
            if not failure.resolved_by and len(failure.edits) < 4:
                failure.edits[path] = None


def _is_cure(failure: RecordedFailure, key: str, note: CommandRunCounts) -> bool:
    """Whether this success shows that what failed works now."""
    if failure.kind == note.kind and note.kind in _CHECKED_KINDS:
        return is_check_covered_by(note.text, failure.what, failure.line)
    if failure.kind == note.kind and note.kind in _SHIPPING:
        return True
    return failure.key == key and _list_keys(failure.what) <= _list_keys(note.text)


def _list_keys(command: str) -> set[str]:
    """The keys of the commands that are joined in one: a part that works mends no other."""
    return {
        build_command_key(part)
        for part in split_chained_commands(drop_printing_and_cd_commands(command))
    }
