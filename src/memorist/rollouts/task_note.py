"""What is held of one task of a recorded session while the session is gone through. Values only."""

from __future__ import annotations

from msgspec import Struct, field

from memorist.rollouts.meaning import Act
from memorist.rollouts.raw_memory import Bullet
from memorist.session_memory.outcomes import Outcome

MOST_WORDS = 24
"""Messages of the person held of a task."""
ENDING = 480
"""Characters held of what the agent said last."""

CHECKS = frozenset({"test", "lint", "typecheck", "build"})
SHIPPING = frozenset({"commit", "push", "merge"})


class Asked(Struct, frozen=True):
    """A message of the person that belongs to a task."""

    text: str
    line: int
    date: str
    act: Act


class Run(Struct):
    """A command of a task: how often it ran and failed, and its last end."""

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
    """What a commit or push answered, and its line."""
    checks: dict[str, tuple[bool, int, str]] = field(default_factory=dict)
    """The last outcome of each kind of check and of shipping: whether it succeeded, when, and the command."""
    edit_order: int = -1
    accept_order: int = -1
    complaint_order: int = -1
    interrupted: bool = False
    calls: int = 0
    endings: list[tuple[str, int]] = field(default_factory=list)
    """What the agent said last before the person spoke again, with its line: the one that says most, and the newest."""
    open_ending: bool = False
    """The newest ending is of the reply under way."""
    preferences: list[Bullet] = field(default_factory=list)
    decided: list[Bullet] = field(default_factory=list)
    corrected: list[Bullet] = field(default_factory=list)
    links: dict[str, int] = field(default_factory=dict)
    """Addresses that the person gave, and the line."""
    date: str = ""

    @property
    def weight(self) -> int:
        """How much it says."""
        talk = len(self.preferences) + len(self.corrected) + len(self.decided)
        return 4 * len(self.edited) + 4 * len(self.commits) + min(20, self.calls) + 10 * talk + min(4, len(self.asked))
