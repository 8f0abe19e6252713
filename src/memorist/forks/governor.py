"""Whether a fork may run, and with which limits: the port behind which all background work of a home is counted together (SG-1)."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from memorist.forks.spec import ForkLimits, ForkSpec


class Grant(Struct, frozen=True):
    """The fork may run, within these limits: its own, or less where less is left."""

    limits: ForkLimits


class Refusal(Struct, frozen=True, kw_only=True):
    """The fork may not run now; the structural way takes over."""

    why: str
    """In one sentence, for the person who reads the receipt."""
    until: float | None = None
    """When it may run again, in seconds since the epoch; None where only a person can change that."""
    news: bool = True
    """Nobody was told of this reason yet: it is worth a receipt."""


class Governor(Protocol):
    """Asked before each fork. What a fork used reaches the same books with its receipt."""

    def ask(self, spec: ForkSpec, model: str) -> Grant | Refusal:
        """Whether this fork of the model of that name may run. What it may use at most is reserved until its receipt is kept."""
        ...


class Ungoverned:
    """Lets everything run: for a single command that a person waits for."""

    def ask(self, spec: ForkSpec, model: str) -> Grant | Refusal:
        """Yes, with its own limits."""
        del model
        return Grant(spec.limits)
