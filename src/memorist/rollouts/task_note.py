"""The record of one task of a recorded session during its scan. Values only."""

from __future__ import annotations

from msgspec import Struct, field

from memorist.rollouts.meaning import Act
from memorist.rollouts.raw_memory import Bullet
from memorist.session_memory.outcomes import Outcome

MOST_WORDS = 24
"""User messages held of a task."""
ENDING = 480
"""Characters held of the agent's last words."""

CHECKS = frozenset({"test", "lint", "typecheck", "build"})
SHIPPING = frozenset({"commit", "push", "merge"})


class Asked(Struct, frozen=True):
    """A user message that belongs to a task."""

    text: str
    line: int
    date: str
    act: Act


class Run(Struct):
    """A command of a task: its runs, failures and last outcome."""

    kind: str
    runs: int = 0
    failures: int = 0
    order: int = 0
    line: int = 0
    last: Outcome | None = None


class TaskNote(Struct):
    """What is known of one task. Orders count messages of the session."""

    number: int
    asked: list[Asked] = field(default_factory=list)
    edited: dict[str, int] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    commits: list[tuple[str, int]] = field(default_factory=list)
    """Output of a commit or push, and its line."""
    checks: dict[str, tuple[bool, int, str]] = field(default_factory=dict)
    """The last outcome of each kind of check and of shipping: success, order, and command."""
    edit_order: int = -1
    accept_order: int = -1
    complaint_order: int = -1
    interrupted: bool = False
    calls: int = 0
    endings: list[tuple[str, int]] = field(default_factory=list)
    """The agent's last words before the user spoke again, with their line: the most informative,
    and the newest.
    """
    open_ending: bool = False
    """The newest ending belongs to the reply under way."""
    preferences: list[Bullet] = field(default_factory=list)
    decided: list[Bullet] = field(default_factory=list)
    corrected: list[Bullet] = field(default_factory=list)
    links: dict[str, int] = field(default_factory=dict)
    """Addresses that the user gave, and the line."""
    date: str = ""

    @property
    def weight(self) -> int:
        """How informative it is."""
        talk = len(self.preferences) + len(self.corrected) + len(self.decided)
        return 4 * len(self.edited) + 4 * len(self.commits) + min(20, self.calls) + 10 * talk + min(4, len(self.asked))
