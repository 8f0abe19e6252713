"""The books that all processes of a home share: totals, reservations, holds."""

from __future__ import annotations

import math
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from memorist.budget.budget_governor import (
    RESERVATION_GRACE_SECONDS,
    BudgetGovernor,
    read_budget_usage,
    update_hold_from_rate_limits,
)
from memorist.core.messages import Usage
from memorist.errors import StoreError
from memorist.forks.fork_spec import (
    ForkLimits,
    ForkOutcome,
    ForkRunDenial,
    ForkSpec,
    GrantedForkLimits,
    NoToolsPermission,
    Receipt,
    count_budget_tokens,
)
from memorist.models.call_failure import RemainingRateLimit
from memorist.models.rate_limits import RateLimitReport
from memorist.settings import SpendSettings
from memorist.store.receipt_rows import record_receipt
from memorist.store.spend_rows import (
    DAY_SECONDS,
    ResourceAmounts,
    compute_epoch_day,
    list_blocked_work_since,
    list_model_holds,
    list_usage_by_kind,
    sum_reserved_amount,
    sum_usage_in_session,
    sum_usage_on_day,
)
from memorist.store.sqlite_database import load_migrations, open_database
from memorist.testing.frozen_clock import FrozenClock
from support.sweeps import examples

FEW = SpendSettings(day_requests=10)
"""Nine for notes, of which one fork may use eight."""


def spec(label: str = "session_memory", *, asked: bool = False, **limits: int) -> ForkSpec:
    return ForkSpec(
        label=label,
        why="the context grew",
        instruction="",
        permission=NoToolsPermission(),
        requested_by_user=asked,
        limits=ForkLimits(**limits),
    )


def receipt(
    requests: int = 1,
    *,
    label: str = "session_memory",
    started: float = 1_700_000_000.0,
    outcome: ForkOutcome = ForkOutcome.CHANGED,
) -> Receipt:
    usage = Usage(input=10 * requests, cache_read=100 * requests, cache_write=5, output=requests)
    return Receipt(
        label=label,
        why="w",
        model="m",
        started=started,
        requests=requests,
        usage=usage,
        seconds=2.0,
        cost_usd=0.25,
        outcome=outcome,
    )


@pytest.fixture
def database(tmp_path: Path) -> sqlite3.Connection:
    return open_database(tmp_path / "state.sqlite")


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


def governor(
    database: sqlite3.Connection,
    clock: FrozenClock,
    session: str = "s",
    settings: SpendSettings = FEW,
) -> BudgetGovernor:
    return BudgetGovernor(database, session, clock=clock, settings=settings)


def granted(answer: GrantedForkLimits | ForkRunDenial) -> int:
    """Requests that were granted; 0 for a refusal."""
    return answer.limits.requests if isinstance(answer, GrantedForkLimits) else 0


kept = st.builds(
    Receipt,
    label=st.sampled_from(["session_memory", "extraction", "recall"]),
    why=st.just("w"),
    model=st.just("m"),
    started=st.floats(0, 30 * DAY_SECONDS),
    seconds=st.floats(0, 500),
    requests=st.integers(1, 20),
    usage=st.builds(
        Usage,
        **{
            name: st.integers(0, 300_000)
            for name in ("input", "cache_read", "cache_write", "output")
        },
    ),
    cost_usd=st.none() | st.floats(0, 3),
    outcome=st.sampled_from(
        [
            outcome
            for outcome in ForkOutcome
            if outcome not in (ForkOutcome.REPLACED, ForkOutcome.BLOCKED)
        ]
    ),
)


@pytest.mark.covers("SG-1")
@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), kept), max_size=12))
@examples(15, whole=40)
def test_the_totals_are_those_of_the_receipts(rows: list[tuple[str, Receipt]]) -> None:
    """By session, and by the day that each began on."""
    database = sqlite3.connect(":memory:", isolation_level=None)
    database.row_factory = sqlite3.Row
    for _, text in load_migrations():
        database.executescript(text)
    for session, each in rows:
        record_receipt(database, session, each)
    by_day = {
        compute_epoch_day(each.started): [
            other
            for _, other in rows
            if compute_epoch_day(other.started) == compute_epoch_day(each.started)
        ]
        for _, each in rows
    }

    for session in ("a", "b"):
        _same(
            sum_usage_in_session(database, session),
            [each for owner, each in rows if owner == session],
        )
    for day, those in by_day.items():
        _same(sum_usage_on_day(database, day), those)
    kinds = list_usage_by_kind(database, range(31))
    assert sum(kind.runs for kind in kinds) == len(rows)
    assert sum(kind.changed + kind.unchanged + kind.failed for kind in kinds) == len(rows)
    assert sum(kind.unpriced for kind in kinds) == sum(each.cost_usd is None for _, each in rows)


def _same(found: ResourceAmounts, receipts: list[Receipt]) -> None:
    usage = sum((each.usage for each in receipts), Usage())
    assert found.requests == sum(each.requests for each in receipts)
    assert found.tokens == count_budget_tokens(usage)
    assert math.isclose(
        found.cost_usd, sum(each.cost_usd or 0.0 for each in receipts), abs_tol=1e-9
    )
    assert math.isclose(found.seconds, sum(each.seconds for each in receipts), abs_tol=1e-6)


@pytest.mark.covers("SG-1")
def test_receipts_from_before_the_books_are_counted(tmp_path: Path) -> None:
    """The totals that the migration makes of old receipts are those that keeping them makes."""
    path = tmp_path / "state.sqlite"
    old, new = sqlite3.connect(path), open_database(tmp_path / "new.sqlite")
    for number, text in load_migrations():
        if number < 4:
            old.executescript(text)
    old.execute("pragma user_version = 3")
    rows = [
        receipt(number, started=number * 50_000.0, label=label)
        for number in (1, 2, 3)
        for label in ("recall", "extraction")
    ]
    rows.append(receipt(0, outcome=ForkOutcome.REPLACED))
    for each in rows:
        usage = each.usage
        old.execute(
            "insert into receipts (session, label, why, model, started, seconds, requests, "
                "turns, input, cache_read, cache_write, output,"
            " cost_usd, files, denied, outcome, said) values ('s', ?, 'w', 'm', ?, ?, ?, 0, ?, "
                "?, ?, ?, ?, '[]', '[]', ?, '')",
            (
                each.label, each.started, each.seconds, each.requests, usage.input, usage.cache_read, usage.cache_write, usage.output,
                each.cost_usd, each.outcome.value,
            ),
        )  # fmt: skip
        record_receipt(new, "s", each)
    old.commit()
    old.close()
    everything = "select * from spent order by scope, name, label"

    migrated = [tuple(row) for row in open_database(path).execute(everything)]
    assert migrated == [tuple(row) for row in new.execute(everything)]
    assert len(migrated) == 6


@pytest.mark.covers("SG-1")
def test_two_that_start_at_once_do_not_both_pass_a_nearly_full_cap(
    database: sqlite3.Connection, clock: FrozenClock
) -> None:
    """The first reserves eight of nine requests; one is left for the second, and none for a third."""
    answers = [
        granted(governor(database, clock, session).request_admission(spec(), "m"))
        for session in ("a", "b", "c")
    ]

    assert answers == [8, 1, 0]


@pytest.mark.covers("SG-1")
def test_a_receipt_takes_the_place_of_the_reservation(
    database: sqlite3.Connection, clock: FrozenClock
) -> None:
    """What was reserved and not used is free again."""
    books = governor(database, clock)
    books.request_admission(spec(), "m")
    books.record_receipt(receipt(2, started=clock.now()))

    assert sum_reserved_amount(database, clock.now()) == ResourceAmounts()
    assert granted(governor(database, clock, "other").request_admission(spec(), "m")) == 7


@pytest.mark.covers("SG-1")
def test_a_receipt_of_what_never_ran_releases_nothing(
    database: sqlite3.Connection, clock: FrozenClock
) -> None:
    """A queued call that was replaced had reserved nothing; the running one still has."""
    books = governor(database, clock)
    books.request_admission(spec(), "m")
    books.record_receipt(receipt(0, started=clock.now(), outcome=ForkOutcome.REPLACED))

    assert sum_reserved_amount(database, clock.now()).requests == 8


@pytest.mark.covers("SG-1")
def test_the_reservation_of_a_dead_process_expires(
    database: sqlite3.Connection, clock: FrozenClock
) -> None:
    """After the longest time that its fork could have run, and a minute."""
    governor(database, clock).request_admission(spec(requests=9), "m")
    clock.advance(ForkLimits().seconds + RESERVATION_GRACE_SECONDS - 1)
    before = granted(governor(database, clock, "other").request_admission(spec(), "m"))
    clock.advance(2)

    assert before == 0
    assert granted(governor(database, clock, "other").request_admission(spec(), "m")) == 8


@pytest.mark.covers("SG-1")
def test_a_session_that_closes_leaves_nothing_reserved(
    database: sqlite3.Connection, clock: FrozenClock
) -> None:
    """Whatever became of its forks."""
    books = governor(database, clock)
    books.request_admission(spec(), "m")
    books.release_reservations()

    assert sum_reserved_amount(database, clock.now()) == ResourceAmounts()


@pytest.mark.covers("SG-1")
@pytest.mark.parametrize("wrong", [3_600.0, 400 * 86_400.0])
def test_a_clock_that_was_wrong_stands_in_nobodys_way(
    database: sqlite3.Connection, clock: FrozenClock, wrong: float
) -> None:
    """Reservations and holds that were made in the future, by a clock that was put right since, do
    not count.
    """
    right = clock.now()
    clock.set_wall(right + wrong)
    governor(database, clock).request_admission(spec(requests=9), "m")
    update_hold_from_rate_limits(
        database,
        RateLimitReport(model="m", status=429, retry_after=600.0),
        now=clock.now(),
        settings=FEW,
    )
    clock.set_wall(right)

    assert granted(governor(database, clock, "other").request_admission(spec(), "m")) == 8


@pytest.mark.covers("SG-1")
def test_a_new_day_begins_at_midnight_of_utc(
    database: sqlite3.Connection, clock: FrozenClock
) -> None:
    """What was used yesterday does not count, and a session's own caps go on."""
    midnight = (compute_epoch_day(clock.now()) + 1) * float(DAY_SECONDS)
    settings = SpendSettings(day_requests=10, session_requests=12)
    record_receipt(database, "s", receipt(10, started=midnight - 5))
    clock.set_wall(midnight - 1)
    before = granted(governor(database, clock, "other", settings).request_admission(spec(), "m"))
    clock.set_wall(midnight)

    assert before == 0
    assert granted(governor(database, clock, "other", settings).request_admission(spec(), "m")) == 8
    assert granted(governor(database, clock, "s", settings).request_admission(spec(), "m")) == 0


@pytest.mark.covers("SG-1")
def test_a_reason_is_news_once(database: sqlite3.Connection, clock: FrozenClock) -> None:
    """Once for each session, kind of work, reason and day; every further time is only counted, in
    another process too.
    """
    settings = SpendSettings(day_requests=0)

    def news(session: str, label: str) -> bool:
        answer = governor(database, clock, session, settings).request_admission(spec(label), "m")
        assert isinstance(answer, ForkRunDenial)
        return answer.is_new

    told = [news("a", "recall"), news("a", "recall"), news("a", "extraction"), news("b", "recall")]
    clock.advance(DAY_SECONDS)

    assert told == [True, False, True, True]
    assert news("a", "recall") is True
    assert {(row.session, row.label): row.times for row in list_blocked_work_since(database, compute_epoch_day(clock.now()) - 1) if row.day != compute_epoch_day(clock.now())} == {
        ("a", "recall"): 2,
        ("a", "extraction"): 1,
        ("b", "recall"): 1,
    }  # fmt: skip


@pytest.mark.covers("SG-1")
@pytest.mark.parametrize(
    ("model", "is_asked"),
    [("openai-chat:coder@http://127.0.0.1:8080/v1", False), ("anthropic:claude-x", True)],
)
def test_a_model_on_this_machine_that_is_always_too_slow_is_asked_no_more_that_day(
    database: sqlite3.Connection, clock: FrozenClock, model: str, is_asked: bool
) -> None:
    """Each run waits its whole limit for nothing. A provider's time-outs may be one bad hour."""
    settings = SpendSettings(fruitless_runs=3)
    for _ in range(3):
        late = receipt(label="extraction", started=clock.now(), outcome=ForkOutcome.TIMED_OUT)
        record_receipt(database, "s", replace(late, model=model))

    answer = governor(database, clock, settings=settings).request_admission(
        spec("extraction"), model
    )

    assert isinstance(answer, GrantedForkLimits) is is_asked
    if isinstance(answer, ForkRunDenial):
        assert "the last 3 runs of the model were of no use for extraction" in answer.why


@pytest.mark.covers("SG-1")
@pytest.mark.parametrize("outcome", [ForkOutcome.TIMED_OUT, ForkOutcome.FAILED])
@pytest.mark.parametrize(("label", "is_asked"), [("dream", False), ("extraction", True)])
def test_a_dream_that_fails_again_and_again_waits_for_the_next_day(
    database: sqlite3.Connection,
    clock: FrozenClock,
    outcome: ForkOutcome,
    label: str,
    *,
    is_asked: bool,
) -> None:
    """It is needed once a day and begins anew ten minutes after it failed: a provider that is away
    all day would be paid for each of them.
    """
    settings = SpendSettings(fruitless_runs=3)
    for _ in range(3):
        failed = receipt(label=label, started=clock.now(), outcome=outcome)
        record_receipt(database, "s", replace(failed, model="anthropic:claude-x"))
    books = governor(database, clock, settings=settings)

    answer = books.request_admission(spec(label), "anthropic:claude-x")
    clock.advance(DAY_SECONDS)

    assert isinstance(answer, GrantedForkLimits) is is_asked
    assert isinstance(books.request_admission(spec(label), "anthropic:claude-x"), GrantedForkLimits)


@pytest.mark.covers("SG-1")
@pytest.mark.parametrize(("label", "is_asked"), [("compact", False), ("extraction", True)])
def test_summaries_of_which_none_stood_are_asked_for_no_more_that_day(
    database: sqlite3.Connection, clock: FrozenClock, label: str, is_asked: bool
) -> None:
    """A summary is always wanted; that nothing was to be remembered may be right. What the user
    asks for by hand runs all the same, and the status tells of it.
    """
    settings = SpendSettings(fruitless_runs=3)
    for _ in range(3):
        useless = receipt(label=label, started=clock.now(), outcome=ForkOutcome.UNCHANGED)
        record_receipt(database, "s", replace(useless, model="m"))
    books = governor(database, clock, settings=settings)

    assert isinstance(books.request_admission(spec(label), "m"), GrantedForkLimits) is is_asked
    assert isinstance(books.request_admission(spec(label, asked=True), "m"), GrantedForkLimits)


@pytest.mark.covers("SG-1")
def test_work_that_cannot_be_counted_does_not_run(
    database: sqlite3.Connection, clock: FrozenClock
) -> None:
    """A database that refuses: no fork, and no receipt is tried; what a person asked for runs."""
    books = governor(database, clock)
    database.close()
    answer = books.request_admission(spec(), "m")

    assert isinstance(answer, ForkRunDenial)
    assert not answer.is_new
    assert "database" in answer.why
    assert granted(books.request_admission(spec(asked=True), "m")) == 8
    books.release_reservations()
    with pytest.raises(StoreError):
        books.record_receipt(receipt())


@pytest.mark.covers("SG-1")
def test_a_hold_is_for_its_model_and_its_time(
    database: sqlite3.Connection, clock: FrozenClock
) -> None:
    """Another model goes on; after the time this one does too."""
    update_hold_from_rate_limits(
        database,
        RateLimitReport(model="m", status=529, retry_after=90.0),
        now=clock.now(),
        settings=FEW,
    )
    books = governor(database, clock)
    answers = [
        granted(books.request_admission(spec(requests=1), "m")),
        granted(books.request_admission(spec(requests=1), "other")),
    ]
    clock.advance(91)

    assert [*answers, granted(books.request_admission(spec(requests=1), "m"))] == [0, 1, 1]


@pytest.mark.covers("SG-1")
def test_room_in_a_limit_lifts_the_hold_that_its_lack_made(
    database: sqlite3.Connection, clock: FrozenClock
) -> None:
    """But not that of a refusal, which names its own time: an answer to an earlier request may come
    after it.
    """
    low, roomy = (
        RateLimitReport(
            model="m", allowances=(RemainingRateLimit(what="tokens", left=left, resets_in=600.0),)
        )
        for left in (0.1, 0.9)
    )
    update_hold_from_rate_limits(database, low, now=clock.now(), settings=FEW)
    first = [hold.cause for hold in list_model_holds(database, clock.now())]
    update_hold_from_rate_limits(database, roomy, now=clock.now(), settings=FEW)
    second = [hold.cause for hold in list_model_holds(database, clock.now())]
    update_hold_from_rate_limits(
        database, RateLimitReport(model="m", status=429), now=clock.now(), settings=FEW
    )
    update_hold_from_rate_limits(database, roomy, now=clock.now(), settings=FEW)

    assert (first, second) == (["share"], [])
    assert [hold.cause for hold in list_model_holds(database, clock.now())] == ["refused"]


@pytest.mark.covers("SG-1")
def test_news_for_a_database_that_refuses_are_passed_over(database: sqlite3.Connection) -> None:
    """Where nothing is known, work goes on."""
    database.close()
    update_hold_from_rate_limits(
        database, RateLimitReport(model="m", status=429), now=0.0, settings=FEW
    )


CLAIM = """
import sys
from pathlib import Path
from memorist.system import SystemClock
from memorist.forks.fork_spec import GrantedForkLimits
from memorist.forks.fork_spec import ForkLimits, ForkSpec, NoToolsPermission
from memorist.budget.budget_governor import BudgetGovernor
from memorist.settings import SpendSettings
from memorist.store.sqlite_database import open_database

database = open_database(Path(sys.argv[1]))
settings = SpendSettings(day_requests=200, day_seconds=1e9, day_cost_usd=1e9, day_tokens=10**12)
print("ready", flush=True)
sys.stdin.readline()
total = 0
for number in range(40):
    books = BudgetGovernor(database, "", clock=SystemClock(), settings=settings)
    spec = ForkSpec(label="compact", why="", instruction="", permission=NoToolsPermission(), limits=ForkLimits(requests=7))
    answer = books.request_admission(spec, "m")
    total += answer.limits.requests if isinstance(answer, GrantedForkLimits) else 0
print(total)
"""


@pytest.mark.covers("SG-1", "SF-4")
def test_processes_that_race_are_never_granted_more_than_the_cap(tmp_path: Path) -> None:
    """Three real processes ask for 840 requests between them; 200 are granted, neither more nor
    fewer.
    """
    path = tmp_path / "state.sqlite"
    open_database(path).close()
    command = [sys.executable, "-c", CLAIM, str(path)]
    running = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    total = sum(int(process.communicate(timeout=60)[0]) for process in _all_told(running))

    assert total == 200


def _all_told(running: list[subprocess.Popen[str]]) -> list[subprocess.Popen[str]]:
    """Lets all of them go before the first is waited for."""
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    return running


@pytest.mark.covers("SG-1")
def test_the_books_as_a_whole(database: sqlite3.Connection, clock: FrozenClock) -> None:
    """Used by the day and by the session, reserved, and on hold: one reading of them."""
    books = governor(database, clock)
    books.request_admission(spec(requests=3), "m")
    record_receipt(database, "other", receipt(2, started=clock.now()))
    update_hold_from_rate_limits(
        database, RateLimitReport(model="x", status=429), now=clock.now(), settings=FEW
    )
    found = read_budget_usage(database, clock.now(), session="s")

    assert (found.day.requests, found.session.requests) == (2, 0)
    assert (found.day_reserved.requests, found.session_reserved.requests) == (3, 3)
    assert [hold.model for hold in found.holds] == ["x"]


@pytest.mark.covers("SG-1")
def test_reading_the_books_takes_no_walk_through_what_grows(
    database: sqlite3.Connection, clock: FrozenClock
) -> None:
    """Neither the receipts nor all totals are gone through: each statement finds its rows by a key.
    Only what runs now is read whole.
    """
    seen: list[str] = []
    database.set_trace_callback(seen.append)
    governor(database, clock).request_admission(spec(), "m")
    database.set_trace_callback(None)
    asked = [statement for statement in seen if statement.lstrip().startswith("select")]
    plans = [
        row["detail"]
        for statement in asked
        for row in database.execute(f"explain query plan {statement}")
    ]

    assert len(asked) >= 5
    assert any(plan.startswith("SEARCH spent USING PRIMARY KEY") for plan in plans)
    assert not [
        plan
        for plan in plans
        if plan.startswith("SCAN") and "reservations" not in plan and "holds" not in plan
    ]
    assert all(
        plan.startswith("SEARCH receipts USING INDEX") for plan in plans if "receipts" in plan
    )
