"""`memorist status`, and what `memorist doctor` says of work that is at rest."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from memorist.budget.budget_governor import BudgetGovernor, update_hold_from_rate_limits
from memorist.budget.budget_status import DueWork, render_budget_status
from memorist.cli.main import memorist_group
from memorist.core.messages import Usage
from memorist.engine import background_status as status_module
from memorist.engine.background_status import DueWorkContext, read_background_budget_status
from memorist.engine.engine import Memorist
from memorist.forks.fork_spec import ForkLimits, ForkOutcome, ForkSpec, NoToolsPermission, Receipt
from memorist.models.rate_limits import RateLimitReport
from memorist.settings import Settings, SpendSettings
from memorist.store.home_layout import Layout
from memorist.store.job_claim_rules import JobClaim, JobClaimPolicy
from memorist.store.job_claims import (
    claim_consolidation,
    claim_extraction,
    fail_job,
    finish_consolidation,
    request_consolidation,
)
from memorist.store.rollout_rows import Rollout, save_rollouts
from memorist.store.sqlite_database import open_database
from memorist.store.state_database import open_sqlite_state
from memorist.testing.frozen_clock import FrozenClock

MODEL = "anthropic:claude-sonnet-5"
NOON = 1_763_812_800.0
"""2025-11-22 12:00 UTC."""

TEXT = """\
Background work on 2025-11-22 (days of UTC); the model is anthropic:claude-sonnet-5.

kind            runs  requests   input  cache read  output   cost  changed  unchanged  failed  blocked
session_memory     2         4  62,000     180,000   1,800  $0.61        1          0       1        0
extraction         1       396       0           0       0  $0.00        1          0       0        2
recall             1         2   1,000           0      10  $0.00        0          1       0        0
all                4       402  63,000     180,000   1,810  $0.61        2          1       1        2

The cost of 1 run is not known and not in the sum: the model has no price.

caps of the day    used  reserved       left        cap
requests            402         8         90        500
tokens           82,810   200,000  4,717,190  5,000,000
dollars            0.61      1.00       8.39      10.00
minutes               1         2        237        240
The day ends at midnight UTC, in 12 h.

On hold:
  openai:gpt-5: the provider of openai:gpt-5 refused a request (status 429); until 12:05 UTC, in 5 min

At rest now:
  dream: 402 of the day's 500 requests are used; dream may run up to 50 % of them; next at midnight UTC. (in 12 h)
  consolidation: 402 of the day's 500 requests are used; consolidation may run up to 60 % of them; next at midnight UTC. (in 12 h)
  rollouts: 402 of the day's 500 requests are used; rollouts may run up to 70 % of them; next at midnight UTC. (in 12 h)
  extraction: 402 of the day's 500 requests are used; extraction may run up to 80 % of them; next at midnight UTC. (in 12 h)
  magic_docs: 402 of the day's 500 requests are used; magic_docs may run up to 80 % of them; next at midnight UTC. (in 12 h)
  recall: 402 of the day's 500 requests are used; recall may run up to 80 % of them; next at midnight UTC. (in 12 h)

Blocked:
  extraction, 2 times: 402 of the day's 500 requests are used; extraction may run up to 80 % of them; next at midnight UTC.

Failed:
  session_memory, once: The model could not be reached.

Due:
  rollouts: 3 sessions wait to be extracted (in 2 h)"""


NOTHING = Usage()


def receipt(
    label: str,
    requests: int,
    outcome: ForkOutcome,
    *,
    cost: float | None = 0.0,
    usage: Usage = NOTHING,
    said: str = "",
) -> Receipt:
    """A run of fifteen seconds at noon."""
    return Receipt(
        label=label,
        why="w",
        model=MODEL,
        started=NOON,
        seconds=15.0,
        requests=requests,
        usage=usage,
        cost_usd=cost,
        outcome=outcome,
        said=said,
    )


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A home where some work was done, some runs, and some is blocked."""
    made = open_database(Layout(tmp_path).database)
    clock = FrozenClock(NOON)
    books = BudgetGovernor(made, "s", clock=clock, settings=SpendSettings())
    big = Usage(input=30_000, cache_read=90_000, cache_write=1_000, output=900)
    books.record_receipt(receipt("session_memory", 2, ForkOutcome.CHANGED, cost=0.61, usage=big))
    books.record_receipt(
        receipt(
            "session_memory",
            2,
            ForkOutcome.FAILED,
            cost=None,
            said="The model could not be reached.",
            usage=big,
        )
    )
    books.record_receipt(
        receipt("recall", 2, ForkOutcome.UNCHANGED, usage=Usage(input=1_000, output=10))
    )
    books.record_receipt(receipt("extraction", 396, ForkOutcome.CHANGED))
    books.record_receipt(
        replace(receipt("session_memory", 1, ForkOutcome.CHANGED, cost=1.0), started=NOON - 86_400)
    )
    for session in ("a", "b"):
        BudgetGovernor(made, session, clock=clock, settings=SpendSettings()).request_admission(
            spec("extraction"), MODEL
        )
    BudgetGovernor(made, "c", clock=clock, settings=SpendSettings()).request_admission(
        spec("session_memory"), MODEL
    )
    update_hold_from_rate_limits(
        made,
        RateLimitReport(model="openai:gpt-5", status=429, retry_after=300.0),
        now=NOON,
        settings=SpendSettings(),
    )
    yield made
    made.close()


def spec(label: str) -> ForkSpec:
    return ForkSpec(
        label=label, why="", instruction="", permission=NoToolsPermission(), limits=ForkLimits()
    )


def rollouts(place: DueWorkContext) -> list[DueWork]:
    return [DueWork(what="rollouts", why="3 sessions wait to be extracted", when=place.now + 7_200)]


@pytest.mark.covers("SG-1", "OP-1")
def test_the_status_says_what_ran_what_is_left_and_what_is_blocked_and_why(
    database: sqlite3.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole page, and a place for those who know what is due."""
    monkeypatch.setattr(status_module, "DUE_SOURCES", (rollouts,))
    found = read_background_budget_status(database, Settings(home=str(tmp_path), model=MODEL), NOON)

    assert "\n".join(render_budget_status(found)) == TEXT


@pytest.mark.covers("SG-1")
def test_earlier_days_are_added_on_request(database: sqlite3.Connection, tmp_path: Path) -> None:
    """Two days hold yesterday's run as well; the caps stay today's."""
    settings = Settings(home=str(tmp_path), model=MODEL)
    one, two = (
        read_background_budget_status(database, settings, NOON),
        read_background_budget_status(database, settings, NOON, 2),
    )

    assert two.total.runs == one.total.runs + 1
    assert (two.first, two.last) == ("2025-11-21", "2025-11-22")
    assert two.caps == one.caps


@pytest.mark.covers("SG-1")
def test_a_model_of_whose_answers_nothing_stood_is_named(tmp_path: Path) -> None:
    """Notes that were asked for often and never changed are no quiet success; a kind of work that
    rightly changes nothing is not named.
    """
    made = open_database(Layout(tmp_path).database)
    books = BudgetGovernor(made, "s", clock=FrozenClock(NOON), settings=SpendSettings())
    for _ in range(16):
        books.record_receipt(receipt("session_memory", 2, ForkOutcome.UNCHANGED))
        books.record_receipt(receipt("extraction", 1, ForkOutcome.UNCHANGED))
    text = "\n".join(
        render_budget_status(
            read_background_budget_status(made, Settings(home=str(tmp_path), model=MODEL), NOON)
        )
    )
    made.close()

    assert "session_memory, asked 16 times: no answer of the model could be used" in text
    assert "extraction, asked" not in text


@pytest.mark.covers("SG-1")
def test_another_models_hold_does_not_put_this_model_to_rest(
    database: sqlite3.Connection, tmp_path: Path
) -> None:
    """And without a model nothing is said to rest."""
    caps_off = SpendSettings(enabled=False)

    def resting(model: str) -> int:
        return len(
            read_background_budget_status(
                database, Settings(home=str(tmp_path), model=model, spend=caps_off), NOON
            ).at_rest
        )

    assert (resting(MODEL), resting("structural")) == (0, 0)
    assert resting("openai:gpt-5") == 8


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(memorist_group, arguments)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "home"
    monkeypatch.setenv("MEMORIST_HOME", str(place))
    monkeypatch.chdir(tmp_path)
    return place


@pytest.mark.covers("SG-1")
def test_a_look_at_an_empty_home_makes_nothing(home: Path) -> None:
    """The status of a home that does not exist yet."""
    text, said = invoke("status"), invoke("status", "--json")

    assert (text.exit_code, said.exit_code) == (0, 0)
    assert "Nothing ran that asked a model." in text.output
    assert json.loads(said.output)["total"]["runs"] == 0
    assert not home.exists()


@pytest.mark.covers("SG-1")
def test_the_json_holds_what_the_text_says(home: Path) -> None:
    """Kinds with their figures, caps with what is left."""
    database = open_database(Layout(home).database)
    BudgetGovernor(
        database, "s", clock=FrozenClock(time.time()), settings=SpendSettings()
    ).record_receipt(
        replace(
            receipt("recall", 2, ForkOutcome.UNCHANGED, usage=Usage(input=1_000, output=10)),
            started=time.time(),
        )
    )
    database.close()
    said = invoke("status", "--json", "--days", "2")
    found = json.loads(said.output)

    assert said.exit_code == 0
    assert [
        (kind["label"], kind["requests"], kind["usage"]["output"]) for kind in found["kinds"]
    ] == [("recall", 2, 10)]
    assert {cap["measure"] for cap in found["caps"]} == {
        "requests",
        "tokens",
        "cost_usd",
        "seconds",
    }
    assert invoke("status", "--days", "0").exit_code == 2


@pytest.mark.covers("SG-1", "OP-1")
def test_doctor_notes_that_all_is_at_rest_and_touches_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the caps of the day at 0; the database is not written, and one that is damaged is left
    to the other finding.
    """
    home.mkdir(mode=0o700)
    database = open_database(Layout(home).database)
    database.close()
    monkeypatch.setenv("MEMORIST_MODEL", "openai-chat:m@http://127.0.0.1:9/v1")
    before = invoke("doctor").output
    monkeypatch.setenv("MEMORIST_SPEND__DAY_REQUESTS", "0")
    after = invoke("doctor").output
    Layout(home).database.write_bytes(b"not a database" * 100)
    invoke("doctor")

    assert "at rest" not in before
    assert "no background work asks a model" not in before
    assert "no background work asks a model now: spend.day_requests is 0" in after
    assert [path.name for path in home.iterdir() if "damaged" in path.name] == []


@pytest.fixture
def due_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home that knows one finished session, one that goes on, and one that failed for good."""
    monkeypatch.setenv("MEMORIST_HOME", str(tmp_path))
    monkeypatch.setenv("MEMORIST_LONG_TERM", "rollouts")
    now = int(time.time())
    state = open_sqlite_state(tmp_path / "state.sqlite")
    ages = {"done": 86_400, "young": 3_600, "broken": 2 * 86_400}
    save_rollouts(
        state,
        [
            Rollout(
                id=id,
                path=id,
                format="codex",
                size=1,
                modified_ns=(now - age) * 10**9,
                updated=now - age,
                first_words="Hello.",
            )
            for id, age in ages.items()
        ],
    )
    terms = JobClaimPolicy(retries=1)
    claim = claim_extraction(state, "broken", now - ages["broken"], worker="w", terms=terms)
    assert isinstance(claim, JobClaim)
    fail_job(state, claim, "the model is overloaded", terms)
    state.close()
    return tmp_path


@pytest.mark.covers("RO-1", "RO-2", "SG-1")
def test_what_past_sessions_have_due_is_told(due_home: Path) -> None:
    """How many are finished, when the next one is, and what is not tried again with its reason;
    nothing of a consolidation that nobody asked for.
    """
    del due_home
    ran = CliRunner().invoke(memorist_group, ["status", "--json"])
    told = [(each["what"], each["why"]) for each in json.loads(ran.stdout)["due"]]

    assert ran.exit_code == 0
    assert told == [
        ("rollouts", "2 sessions are finished and new to memory"),
        ("rollouts", "not finished yet: 1 session"),
        (
            "rollouts",
            "broken is not tried again after 1 attempts: the model is overloaded; `memorist "
            "rollouts retry` does",
        ),
    ]
    assert (
        "not tried again after 1 attempts" in CliRunner().invoke(memorist_group, ["status"]).stdout
    )


@pytest.mark.covers("RO-5", "SG-1")
def test_a_consolidation_that_waits_is_told_with_its_time(due_home: Path) -> None:
    """Asked for: due at once. Failed: due after the wait, with the reason. Succeeded: nothing is
    due, and by hand is said where nothing runs by itself.
    """

    def told(**environment: str) -> list[dict[str, Any]]:
        ran = CliRunner().invoke(memorist_group, ["status", "--json"], env=environment)
        return [
            each
            for each in json.loads(ran.stdout)["due"]
            if each["what"] == "consolidation" or environment
        ]

    state, terms = open_sqlite_state(due_home / "state.sqlite"), JobClaimPolicy()
    with state.transaction():
        request_consolidation(state, state.now(), terms)
    asked = told()
    claim = claim_consolidation(state, worker="w", terms=terms)
    assert isinstance(claim, JobClaim)
    running = told()
    fail_job(state, claim, "the disk is full", terms)
    failed = told()
    with state.transaction():
        state.execute("update jobs set retry_at = null where kind = 'consolidate'")
    claim = claim_consolidation(state, worker="w", terms=terms)
    assert isinstance(claim, JobClaim)
    finish_consolidation(state, claim, ())
    settled = told()
    with state.transaction():
        request_consolidation(state, state.now(), terms)
    cooling = told()
    state.close()

    assert [each["why"] for each in asked] == [
        "sessions were extracted or left out since the last one"
    ]
    assert [each["why"] for each in running] == ["one is running"]
    assert [each["why"] for each in failed] == ["the last one failed: the disk is full"]
    assert failed[0]["when"] > time.time()
    assert settled == []
    assert [each["why"] for each in cooling] == ["the last one succeeded a short while ago"]
    assert "memorist rollouts sync" in told(MEMORIST_LONG_TERM="none")[0]["why"]


@pytest.mark.covers("AM-10")
def test_the_status_says_what_is_known_here_what_waits_and_what_was_shown(home: Path) -> None:
    """By origin; a question that waits is counted; the memory that a session was shown last is
    named.
    """
    (home.parent / ".git").mkdir()
    for text in ("use tabs, otherwise run make lint", "always use spaces"):
        assert invoke("memory", "add", text).exit_code == 0

    async def look() -> None:
        async with Memorist(model="structural", home=home) as engine:
            engine.starts_workers = False
            session = await engine.open("s1", project=str(home.parent))
            messages = [{"role": "user", "content": "Look at the parser."}]
            await session.prepare({"model": "m", "max_tokens": 9, "messages": messages})
            await session.close()

    asyncio.run(look())
    text, found = invoke("status").output, json.loads(invoke("status", "--json").output)

    assert "Memories here: 2 written or accepted by you" in text
    assert "Waiting for you: 1 (memorist memory inbox)" in text
    assert "Last shown: " in text
    assert found["memory"]["waiting"] == 1
    assert found["memory"]["last_shown"].split()[0].endswith(".md")
