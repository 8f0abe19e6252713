"""The budget governor: decides by accounts shared by all processes of a home, and keeps them
(SG-1).
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections import defaultdict
from collections.abc import Callable

from msgspec.structs import replace

from memorist.budget.budget_caps import (
    BudgetGranted,
    BudgetRefused,
    BudgetRequest,
    BudgetUsage,
    convert_fork_limits_to_amount,
    decide_budget_request,
)
from memorist.budget.fruitless_runs import count_fruitless_runs
from memorist.errors import StoreError
from memorist.forks.fork_spec import ForkRunDenial, ForkRunner, ForkSpec, GrantedForkLimits, Receipt
from memorist.models.rate_limits import RateLimitReport
from memorist.ports import Clock
from memorist.settings import SpendSettings
from memorist.store.receipt_rows import record_receipt
from memorist.store.spend_rows import (
    DAY_SECONDS,
    UNRUN_OUTCOMES,
    BlockedWork,
    ModelHold,
    budget_transaction,
    compute_epoch_day,
    lift_model_hold,
    list_model_holds,
    record_blocked_work,
    record_model_hold,
    release_reservation,
    reserve_amount,
    sum_reserved_amount,
    sum_usage_in_session,
    sum_usage_on_day,
)
from memorist.store.sqlite_database import UnsavedDatabaseConnection

RESERVATION_GRACE_SECONDS = 60.0
"""A reservation outlasts its fork's time limit by this much, for processing the answer before the
receipt is recorded. The reservation of a dead process expires after that.
"""


class BudgetGovernor:
    """The `ForkGovernor` of one session; with an empty name that of work outside sessions, such as
    dream and rollouts. `on_receipt` is called with every recorded receipt; `runner` runs what is
    admitted.
    """

    def __init__(
        self,
        database: sqlite3.Connection,
        session: str,
        *,
        clock: Clock,
        settings: SpendSettings,
        on_receipt: Callable[[Receipt], None] | None = None,
        runner: ForkRunner | None = None,
    ) -> None:
        self._database = database
        self._session = session
        self._clock = clock
        self._settings = settings
        self._on_receipt = on_receipt
        self._runner = runner
        self._open: defaultdict[str, list[int]] = defaultdict(list)
        """Reservations by label, oldest first: one background run at a time for each label, plus
        one that the user asked for.
        """
        self._unrecorded: list[Receipt] = []
        """Receipts that the database refused; each is tried again with the next."""

    def request_admission(self, spec: ForkSpec, model: str) -> GrantedForkLimits | ForkRunDenial:
        """Whether the fork may run. Work that cannot be counted, because the database refuses, does
        not run either, unless the user asked for it.
        """
        work = BudgetRequest(
            label=spec.label,
            limits=spec.limits,
            belongs_to_session=bool(self._session),
            is_asked_by_user=spec.requested_by_user,
        )
        if isinstance(self._database, UnsavedDatabaseConnection) and not spec.requested_by_user:
            return ForkRunDenial(why="the home cannot be written to count it", is_new=False)
        try:
            # One transaction: reading the use and reserving must not interleave with others.
            with budget_transaction(self._database):
                return self._decide(work, model)
        except StoreError as error:
            if spec.requested_by_user:
                return GrantedForkLimits(spec.limits, self._runner)
            return ForkRunDenial(why=str(error), is_new=False)

    def _decide(self, work: BudgetRequest, model: str) -> GrantedForkLimits | ForkRunDenial:
        now = self._clock.now()
        decided = decide_budget_request(
            work,
            replace(
                read_budget_usage(self._database, now, session=self._session, model=model),
                fruitless=count_fruitless_runs(
                    self._database, work.label, model, now, self._settings
                ),
            ),
            self._settings,
        )
        match decided:
            case BudgetGranted(limits=limits):
                expires = now + limits.seconds + RESERVATION_GRACE_SECONDS
                number = reserve_amount(
                    self._database,
                    self._session,
                    work.label,
                    convert_fork_limits_to_amount(limits),
                    reserved=now,
                    expires=expires,
                )
                self._open[work.label].append(number)
                return GrantedForkLimits(limits, self._runner)
            case BudgetRefused(cause=cause, why=why, until=until):
                row = BlockedWork(
                    day=compute_epoch_day(now),
                    session=self._session,
                    label=work.label,
                    cause=cause,
                    said=why,
                    times=1,
                    until=until,
                )
                return ForkRunDenial(why=why, is_new=record_blocked_work(self._database, row))

    def record_receipt(self, receipt: Receipt) -> int:
        """Record a receipt in place of its reservation; returns its number. Raises StoreError; it
        is then recorded with the next one, or at the end.
        """
        if self._on_receipt is not None:
            self._on_receipt(receipt)
        self._unrecorded.append(receipt)
        return self._record_waiting()

    def _record_waiting(self) -> int:
        """Record what waits, oldest first; returns the number of the last one."""
        number = 0
        while self._unrecorded:
            receipt = self._unrecorded[0]
            ran = self._open[receipt.label] if receipt.outcome not in UNRUN_OUTCOMES else []
            number = record_receipt(
                self._database, self._session, receipt, reservation=ran[0] if ran else None
            )
            del ran[:1], self._unrecorded[0]
        return number

    def release_reservations(self) -> None:
        """Release the remaining reservations: nothing of this session runs any more."""
        with contextlib.suppress(StoreError):
            self._record_waiting()
        open_, self._open = self._open, defaultdict(list)
        numbers = [number for each in open_.values() for number in each]
        if numbers:
            # A failing database does no harm: the reservations expire by themselves.
            with contextlib.suppress(StoreError), budget_transaction(self._database):
                for number in numbers:
                    release_reservation(self._database, number)


def read_budget_usage(
    database: sqlite3.Connection, now: float, *, session: str = "", model: str | None = None
) -> BudgetUsage:
    """Read the current use of the budget, for a session or without one, and the holds, for one
    model or any.
    """
    return BudgetUsage(
        now=now,
        day=sum_usage_on_day(database, compute_epoch_day(now)),
        day_reserved=sum_reserved_amount(database, now),
        session=sum_usage_in_session(database, session),
        session_reserved=sum_reserved_amount(database, now, session),
        holds=tuple(list_model_holds(database, now, model)),
    )


def update_hold_from_rate_limits(
    database: sqlite3.Connection, report: RateLimitReport, *, now: float, settings: SpendSettings
) -> None:
    """Take note of what a provider said of its limits, for every process of the home. A database
    that refuses is passed over: where nothing is known, background work goes on.
    """
    hold = decide_provider_hold(report, settings, now)
    with contextlib.suppress(StoreError), budget_transaction(database):
        if hold is not None:
            record_model_hold(database, hold)
        elif report.allowances:
            lift_model_hold(database, report.model, "share")


MAX_HOLD_SECONDS = float(DAY_SECONDS)
"""Longest hold: a provider's statement is trusted for a day, then retried, so that one wrong header
cannot end background work for good.
"""


def decide_provider_hold(
    report: RateLimitReport, settings: SpendSettings, now: float
) -> ModelHold | None:
    """The hold that a rate limit report calls for; None where enough is left, or nothing is known.
    `now` in seconds since the epoch.
    """
    low = [each for each in report.allowances if each.left * 100 < settings.remaining_percent]
    resets = [each.resets_in for each in low if each.resets_in is not None]
    # Every limit must leave room, so the latest reset counts.
    reset = max(resets, default=settings.hold_seconds)
    if report.status is not None:
        wait = (
            report.retry_after
            if report.retry_after is not None and report.retry_after >= 0
            else reset
        )
        said = f"the provider of {report.model} refused a request (status {report.status})"
        return ModelHold(
            model=report.model, cause="refused", noted=now, until=now + _bound_wait(wait), said=said
        )
    if not low:
        return None
    least = min(low, key=lambda each: each.left)
    said = (
        f"{least.left * 100:.0f} % of the provider's limit on {least.what} is left for "
        f"{report.model}, and the last {settings.remaining_percent} % are the host's"
    )
    return ModelHold(
        model=report.model, cause="share", noted=now, until=now + _bound_wait(reset), said=said
    )


def _bound_wait(seconds: float) -> float:
    # NaN compares as false and becomes no wait.
    return min(seconds, MAX_HOLD_SECONDS) if seconds > 0 else 0.0
