"""The turns of a session and their steps, for the work log. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from memorist.core.lazy import lazy_pattern
from memorist.transcript_analysis.command_lines import CHECK_KINDS
from memorist.transcript_analysis.note_sentence_pool import NoteSentenceCandidate

MAX_DETAILED_STEPS = 160
"""Steps kept with their details; at twice the number the older half is dropped."""

MAX_LOGGED_TURNS = 80
"""Turns kept; at twice the number the oldest except the first few are dropped."""

_ACTIONS_LIMIT = 12


class StepAction(Struct, frozen=True):
    """One action of a step: its kind (`read`, `edit`, `run`, `commit`, `ask`, `use` …), its object,
    and its outcome.
    """

    kind: str
    what: str
    ok: bool | None = True
    line: str = ""
    about: str = ""
    """The assistant's own description of the call."""


class WorkStep(Struct):
    """What the assistant announced and then did."""

    turn: int
    order: int
    announcement: NoteSentenceCandidate | None = None
    actions: list[StepAction] = field(default_factory=list)
    is_notable: bool = False
    """Something was changed, committed or broken in it."""
    line_cache: tuple[object, str] = ((), "")
    """Its line in the work log and the cache key it was rendered for; re-rendered only when the key
    changes.
    """


_COMMIT_RESULT = lazy_pattern(r"\[\S+(?: \([^)]*\))? [0-9a-f]{7,}\] ([^;]+)")


def find_commit_subject(results: Iterable[str]) -> str:
    """The subject of the first commit among what git printed; empty where there is none."""
    return next((found[1] for each in results if (found := _COMMIT_RESULT.match(each))), "")


class TurnRecord(Struct):
    """From one message of the user to the next."""

    number: int
    request: str
    steps: int = 0
    edited: dict[str, int] = field(default_factory=dict)
    commits: list[str] = field(default_factory=list)
    checks: dict[str, StepAction] = field(default_factory=dict)
    """The last outcome of each check that ran."""
    interrupted: bool = False
    compacted: bool = False
    line_cache: tuple[object, str] = ((), "")
    """As in `WorkStep`."""


class TurnLog:
    """The turns and steps of a session, bounded."""

    __slots__ = ("_order", "count", "steps", "turns")

    def __init__(self) -> None:
        self.turns: list[TurnRecord] = []
        self.steps: list[WorkStep] = []
        self.count = 0
        self._order = 0

    @property
    def current_turn(self) -> TurnRecord:
        """The current turn; one without a request where the transcript begins without one."""
        if not self.turns:
            self.begin_turn("")
        return self.turns[-1]

    def begin_turn(self, request: str) -> TurnRecord:
        """The user's message begins a turn."""
        self.count += 1
        self.turns.append(TurnRecord(self.count, request))
        if len(self.turns) > 2 * MAX_LOGGED_TURNS:
            self.turns = self.turns[:5] + self.turns[5 - MAX_LOGGED_TURNS :]
        return self.turns[-1]

    def drop_newest_turns(self, count: int) -> frozenset[int]:
        """Drop the newest turns and their steps, and return their numbers."""
        dropped = frozenset(turn.number for turn in self.turns[max(0, len(self.turns) - count) :])
        self.turns = [turn for turn in self.turns if turn.number not in dropped]
        self.steps = [step for step in self.steps if step.turn not in dropped]
        return dropped

    def begin_step(self, announcement: NoteSentenceCandidate | None) -> WorkStep:
        """The assistant's announcement begins a step."""
        self._order += 1
        step = WorkStep(self.current_turn.number, self._order, announcement)
        self.steps.append(step)
        self.current_turn.steps += 1
        if len(self.steps) > 2 * MAX_DETAILED_STEPS:
            self.steps = self.steps[-MAX_DETAILED_STEPS:]
        return step

    def record_action(self, action: StepAction) -> None:
        """Record an action in the current step."""
        if not self.steps or self.steps[-1].turn != self.current_turn.number:
            self.begin_step(None)
        step = self.steps[-1]
        step.is_notable = (
            step.is_notable or action.ok is False or action.kind in ("edit", "commit", "push")
        )
        if len(step.actions) < _ACTIONS_LIMIT:
            step.actions.append(action)
        turn = self.current_turn
        if (
            action.kind == "edit"
            and action.ok
            and (action.what in turn.edited or len(turn.edited) < _ACTIONS_LIMIT)
        ):
            turn.edited[action.what] = turn.edited.get(action.what, 0) + 1
        elif action.kind == "commit" and action.ok and len(turn.commits) < _ACTIONS_LIMIT:
            turn.commits.append(action.line or action.what)
        elif action.kind in CHECK_KINDS and action.ok is not None:
            turn.checks[action.kind] = action
