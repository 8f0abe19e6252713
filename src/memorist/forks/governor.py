"""Whether a fork may run, and with which limits: the interface through which all background work of
a home is counted together (SG-1).
"""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from memorist.forks.spec import ForkLimits, ForkSpec


class Grant(Struct, frozen=True):
    """The fork may run within these limits: its own, or less when less of the budget is left."""

    limits: ForkLimits


class Refusal(Struct, frozen=True, kw_only=True):
    """The fork may not run now; the caller falls back to its structural method."""

    why: str
    """The reason in one sentence, for the user who reads the receipt."""
    until: float | None = None
    """When it may run again, in seconds since the epoch; None when only the user can change that.
    """
    news: bool = True
    """Whether this reason was not reported before: only then a receipt is recorded."""


class Governor(Protocol):
    """Asked before each fork. What a fork used is counted when its receipt is recorded."""

    def ask(self, spec: ForkSpec, model: str) -> Grant | Refusal:
        """Whether this fork may run on the named model. Its maximum use is reserved until its
        receipt is recorded.
        """
        ...


class Ungoverned:
    """Admits every fork: for a single command that the user waits for."""

    def ask(self, spec: ForkSpec, model: str) -> Grant | Refusal:
        """Grant the fork its own limits."""
        del model
        return Grant(spec.limits)
