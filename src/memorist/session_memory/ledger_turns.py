"""The turns of a session and their steps, for the work log. Pure."""

from __future__ import annotations

from msgspec import Struct, field

from memorist.session_memory.ledger_texts import Candidate

STEP_LIMIT = 160
"""Steps kept with their details; at twice the number the older half is dropped."""

TURN_LIMIT = 80
"""Turns kept; at twice the number the oldest except the first few are dropped."""

_DEEDS = 12


class Deed(Struct, frozen=True):
    """One action of a step: its kind (`read`, `edit`, `run`, `commit`, `ask`, `use` …), its object,
    and its outcome.
    """

    kind: str
    what: str
    ok: bool | None = True
    line: str = ""
    about: str = ""
    """The assistant's own description of the call."""


class Step(Struct):
    """What the assistant announced and then did."""

    turn: int
    order: int
    words: Candidate | None = None
    deeds: list[Deed] = field(default_factory=list)
    more: int = 0
    """Number of actions beyond those kept."""
    telling: bool = False
    """Something was changed, committed or broken in it."""
    told: tuple[object, str] = ((), "")
    """Its line in the work log and the cache key it was rendered for; re-rendered only when the key
    changes.
    """


class Turn(Struct):
    """From one message of the user to the next."""

    number: int
    request: str
    how: str = ""
    """Empty, or how the message came: after an interruption, as a refusal, as an answer."""
    steps: int = 0
    edited: dict[str, int] = field(default_factory=dict)
    commits: list[str] = field(default_factory=list)
    checks: dict[str, Deed] = field(default_factory=dict)
    """The last outcome of each check that ran."""
    interrupted: bool = False
    tokens_before: int | None = None
    """Set where the recorded agent compacted in this turn."""
    compacted: bool = False
    told: tuple[object, str] = ((), "")
    """As in `WorkStep`."""


class TurnBook:
    """The turns and steps of a session, bounded."""

    __slots__ = ("_order", "count", "steps", "turns")

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.steps: list[Step] = []
        self.count = 0
        self._order = 0

    @property
    def now(self) -> Turn:
        """The current turn; one without a request where the transcript begins without one."""
        if not self.turns:
            self.begin("")
        return self.turns[-1]

    def begin(self, request: str, how: str = "") -> Turn:
        """The user's message begins a turn."""
        self.count += 1
        self.turns.append(Turn(self.count, request, how))
        if len(self.turns) > 2 * TURN_LIMIT:
            self.turns = self.turns[:5] + self.turns[5 - TURN_LIMIT :]
        return self.turns[-1]

    def step(self, words: Candidate | None) -> Step:
        """The assistant's announcement begins a step."""
        self._order += 1
        made = Step(self.now.number, self._order, words)
        self.steps.append(made)
        self.now.steps += 1
        if len(self.steps) > 2 * STEP_LIMIT:
            self.steps = self.steps[-STEP_LIMIT:]
        return made

    def did(self, deed: Deed) -> None:
        """Record an action in the current step."""
        if not self.steps or self.steps[-1].turn != self.now.number:
            self.step(None)
        step = self.steps[-1]
        step.telling = step.telling or deed.ok is False or deed.kind in ("edit", "commit", "push")
        if len(step.deeds) < _DEEDS:
            step.deeds.append(deed)
        else:
            step.more += 1
        turn = self.now
        if deed.kind == "edit" and deed.ok and (deed.what in turn.edited or len(turn.edited) < _DEEDS):
            turn.edited[deed.what] = turn.edited.get(deed.what, 0) + 1
        elif deed.kind == "commit" and deed.ok and len(turn.commits) < _DEEDS:
            turn.commits.append(deed.line or deed.what)
        elif deed.kind in ("test", "lint", "typecheck", "build"):
            turn.checks[deed.kind] = deed
