"""The spend governor at work: it decides by books that all processes of a home share, and keeps them (SG-1)."""

from __future__ import annotations

import contextlib
import sqlite3
from collections import defaultdict
from collections.abc import Callable

from memorist.errors import StoreError
from memorist.forks.governor import Grant, Refusal
from memorist.forks.spec import ForkSpec, Receipt
from memorist.models.limits import RateNews
from memorist.ports import Clock
from memorist.spend.decide import Granted, Refused, Standing, Work, bound, decide
from memorist.spend.holds import hold_of
from memorist.spend.settings import SpendSettings
from memorist.store.sessions import keep_receipt
from memorist.store.spend import (
    NEVER_RAN,
    Blocked,
    books,
    day_of,
    holds,
    lift_hold,
    note_blocked,
    note_hold,
    release,
    reserve,
    reserved,
    spent_in,
    spent_on,
)

GRACE_SECONDS = 60.0
"""A reservation lasts this much longer than its fork may: for what is done with the answer before the receipt is kept. One of a process
that died is gone after that.
"""


class SpendGovernor:
    """The `Governor` of one session; with an empty name that of work for no session, such as dream and rollouts. `told` hears of every receipt kept."""

    def __init__(
        self,
        database: sqlite3.Connection,
        session: str,
        *,
        clock: Clock,
        settings: SpendSettings,
        told: Callable[[Receipt], None] | None = None,
    ) -> None:
        self._database = database
        self._session = session
        self._clock = clock
        self._settings = settings
        self._told = told
        self._open: defaultdict[str, list[int]] = defaultdict(list)
        """Reservations by label, oldest first: one run at a time for each label, and beside it one that a person asked for."""

    def ask(self, spec: ForkSpec, model: str) -> Grant | Refusal:
        """Whether the fork may run. Work that cannot be counted, because the database refuses, does not run either, unless a person asked."""
        work = Work(label=spec.label, limits=spec.limits, session=bool(self._session), asked=spec.asked)
        try:
            with books(self._database):
                return self._decided(work, model)
        except StoreError as error:
            return Grant(spec.limits) if spec.asked else Refusal(why=str(error), news=False)

    def _decided(self, work: Work, model: str) -> Grant | Refusal:
        now = self._clock.now()
        decided = decide(work, standing(self._database, now, session=self._session, model=model), self._settings)
        match decided:
            case Granted(limits=limits):
                expires = now + limits.seconds + GRACE_SECONDS
                number = reserve(self._database, self._session, work.label, bound(limits), made=now, expires=expires)
                self._open[work.label].append(number)
                return Grant(limits)
            case Refused(cause=cause, why=why, until=until):
                row = Blocked(day=day_of(now), session=self._session, label=work.label, cause=cause, said=why, times=1, until=until)
                return Refusal(why=why, until=until, news=note_blocked(self._database, row))

    def keep(self, receipt: Receipt) -> int:
        """Keep a receipt in place of what was reserved for it; gives its number. Raises StoreError."""
        ran = self._open[receipt.label] if receipt.outcome not in NEVER_RAN else []
        try:
            return keep_receipt(self._database, self._session, receipt, reservation=ran.pop(0) if ran else None)
        finally:
            if self._told is not None:
                self._told(receipt)

    def give_up(self) -> None:
        """Release what is reserved still: nothing of this session runs any more."""
        open_, self._open = self._open, defaultdict(list)
        numbers = [number for each in open_.values() for number in each]
        if numbers:
            # A database that refuses costs nothing: the reservations expire by themselves.
            with contextlib.suppress(StoreError), books(self._database):
                for number in numbers:
                    release(self._database, number)


def standing(database: sqlite3.Connection, now: float, *, session: str = "", model: str | None = None) -> Standing:
    """How the books stand now: for a session, or without one; and what is on hold, for one model or any."""
    return Standing(
        now=now,
        day=spent_on(database, day_of(now)),
        day_reserved=reserved(database, now),
        session=spent_in(database, session),
        session_reserved=reserved(database, now, session),
        holds=tuple(holds(database, now, model)),
    )


def heard(database: sqlite3.Connection, news: RateNews, *, now: float, settings: SpendSettings) -> None:
    """Take note of what a provider said of its limits, for every process of the home. A database that refuses is passed over: where nothing
    is known, background work goes on.
    """
    hold = hold_of(news, settings, now)
    with contextlib.suppress(StoreError), books(database):
        if hold is not None:
            note_hold(database, hold)
        elif news.allowances:
            lift_hold(database, news.model, "share")
