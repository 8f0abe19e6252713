"""The result of a doctor check, and what a check may use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from msgspec import Struct

from memorist.settings import ResolvedSettings, Settings
from memorist.store.home_layout import Layout


class CheckResult(Struct, frozen=True):
    """One checked fact. `remedy` says how to fix it, and is empty if nothing is to be done."""

    state: Literal["good", "note", "wrong", "fixed"]
    """`note` is worth knowing but no fault; `fixed` was just repaired."""
    what: str
    remedy: str = ""
    area: str = ""


class DoctorContext(Struct, frozen=True, kw_only=True):
    """What a check may use. Only with `may_repair` may it change something, and loses no data."""

    resolved: ResolvedSettings
    layout: Layout
    now: float
    """Seconds since the epoch."""
    may_repair: bool = False
    may_use_network: bool = False
    """Whether network connections are allowed."""

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.resolved.settings


Check = Callable[[DoctorContext], Iterator[CheckResult]]
