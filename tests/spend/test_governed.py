"""Each kind of background work below the caps and at them: the structural way takes over, a receipt
says why, the host never waits.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

import memorist
from memorist.budget.budget_governor import BudgetGovernor
from memorist.core.messages import Message, Origin, TextBlock, Usage
from memorist.engine.engine import Memorist
from memorist.engine.session import Session
from memorist.errors import InputError, ModelUnavailable
from memorist.events import (
    ConversationCompacted,
    Event,
    ExtractionFailed,
    ForkFinished,
    MemoryRecalled,
    NotesFailed,
    NotesUpdated,
)
from memorist.forks.fork_spec import ForkLimits, ForkOutcome, Receipt
from memorist.models.call_failure import RemainingRateLimit
from memorist.models.model_pricing import ModelPrice
from memorist.models.model_settings import ModelSettings
from memorist.models.rate_limits import RateLimitReport
from memorist.ports import Request
from memorist.settings import (
    AutoMemorySettings,
    CompactionSettings,
    RecallSettings,
    Settings,
    SpendSettings,
)
from memorist.store.receipt_rows import list_session_receipts
from memorist.store.spend_rows import ResourceAmounts, sum_reserved_amount
from memorist.testing.frozen_clock import FrozenClock
from memorist.testing.models import ScriptedModel
from memorist.testing.steps import Fail, Hang, HttpError, Say, Step
from support.waiting import wait_until

MODEL = "claude-made-up"
NONE = SpendSettings(day_requests=0)
WISH = (
    "Remember that the invoice importer rounds each line to cents, because the auditors asked "
    "for it in the review of the second quarter, and that "
    "the totals are checked against the ledger export every night before the batch is released "
    "to the bank."
)
"""Longer than its line in the index, so that it is shown when it bears on a message."""
QUESTION = "Why does the invoice importer round the totals?"


class Host:
    """An agent loop whose model is also that of memorist's work; `forks` answers to forks by their
    label.
    """

    def __init__(
        self, home: Path, *, spend: SpendSettings | None = None, name: str = MODEL, **more: Any
    ) -> None:
        more = {"auto_memory": AutoMemorySettings(every_turns=99), **more}
        self.settings = Settings(home=str(home), spend=spend or SpendSettings(), **more)
        self.forks: dict[str, Step] = {}
        self.answer: Step = Say(text="Done.")
        self.model = ScriptedModel(self._step, name=f"scripted:{name}")
        self.events: list[Event] = []
        self.sent: list[str] = []
        self.messages: list[dict[str, Any]] = []
        self.clock = FrozenClock()

    def _step(self, request: Request) -> Step:
        return (
            self.answer
            if request.label == "request"
            else self.forks.get(request.label, Say(text="Nothing."))
        )

    def engine(self) -> Memorist:
        return Memorist(model=self.model, settings=self.settings, clock=self.clock)

    async def open(self, engine: Memorist, project: Path, id: str = "s") -> Session:
        self.messages = []
        return await engine.open(id, project=str(project), listener=self.events.append)

    async def turn(self, session: Session, text: str, tokens: int = 100) -> None:
        await self.begin_turn(session, text, tokens)
        await session.session_memory.wait_or_cancel(5)
        await asyncio.sleep(0.02)

    async def begin_turn(self, session: Session, text: str, tokens: int) -> None:
        """A turn whose background work goes on."""
        self.answer = Say(text=f"Done with {text[:20]}", usage=Usage(input=tokens - 10, output=10))
        self.messages.append({"role": "user", "content": text})
        request = await session.prepare(
            {"model": MODEL, "max_tokens": 1_000, "messages": self.messages}
        )
        self.sent.append(msgspec.json.encode(request).decode())
        reply = await self.model.send(Request(format="anthropic", body=request))
        await session.observe(reply.body)
        self.messages.append({"role": "assistant", "content": reply.body["content"]})
        await session.end_turn()

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def asked(self, label: str) -> int:
        return sum(request.label == label for request in self.model.requests)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    return folder


def outcomes(session: Session, label: str) -> list[ForkOutcome]:
    return [receipt.outcome for receipt in session.receipts() if receipt.label == label]


def use_up(host: Host, engine: Memorist, requests: int) -> None:
    """Other work of the same home used so many requests today."""
    books = BudgetGovernor(
        engine.database(), "other", clock=host.clock, settings=host.settings.spend
    )
    books.record_receipt(
        Receipt(
            label="dream",
            why="",
            model="m",
            started=host.clock.now(),
            requests=requests,
            outcome=ForkOutcome.CHANGED,
        )
    )


@pytest.mark.covers("SG-1", "SM-13", "FK-8")
async def test_at_the_cap_notes_are_made_from_structure_and_one_receipt_says_why(
    tmp_path: Path, project: Path
) -> None:
    """Three updates: no request, three times structural notes, one receipt, and no failure is told
    since nothing failed.
    """
    host = Host(tmp_path / "home", spend=NONE)
    async with host.engine() as engine:
        session = await host.open(engine, project)
        for number in range(3):
            await host.turn(
                session, f"Fix the importer, please; part {number}.", 12_000 + number * 6_000
            )
        notes = session.notes or ""

    assert host.asked("session_memory") == 0
    assert [event.way for event in host.of(NotesUpdated)] == ["structural"] * 3
    assert "Fix the importer, please; part 2." in notes
    assert outcomes(session, "session_memory") == [ForkOutcome.BLOCKED]
    assert (
        session.receipts()[0].said
        == "spend.day_requests is 0, which leaves no room for session_memory."
    )
    assert [event.outcome for event in host.of(ForkFinished)] == ["blocked"]
    assert host.of(NotesFailed) == []


@pytest.mark.covers("SG-1")
@pytest.mark.parametrize("why", ["the session ended", "the agent is about to compact"])
async def test_what_the_hooks_bring_up_to_date_keeps_to_the_cap(
    tmp_path: Path, project: Path, why: str
) -> None:
    """A client that ends or compacts is no person who asks: structure keeps the notes then, and a
    model that has written them up to this message is not asked again.
    """
    reply = Message(id="m2", role="assistant", blocks=(TextBlock("Done."),), origin=Origin.MODEL)
    asked: dict[int, int] = {}
    for spend in (NONE, SpendSettings()):
        host = Host(tmp_path / str(spend.day_requests), spend=spend)
        host.forks["session_memory"] = Say(text="There is nothing to add to the notes.")
        async with Memorist(
            home=host.settings.home, settings=host.settings, model=host.model
        ) as engine:
            observed = engine.observe_session("s1", project=str(project))
            typed = Message(
                id="m1",
                role="user",
                blocks=(TextBlock(QUESTION),),
                origin=Origin.USER,
                is_typed=True,
            )
            await observed.add_records(None, [typed, reply])
            await observed.update_notes(why)
            assert observed.notes is not None
            notes = observed.layout.notes_cursor
            notes.write_bytes(notes.read_bytes().replace(b'"structural"', b'"model"'))
            await observed.update_notes(why)
            await observed.close()
        asked[spend.day_requests] = host.asked("session_memory")

    assert asked == {0: 0, SpendSettings().day_requests: 1}


async def test_the_next_day_the_model_keeps_the_notes_again(tmp_path: Path, project: Path) -> None:
    """Nobody has to do anything."""
    host = Host(tmp_path / "home", spend=SpendSettings(day_requests=10))
    async with host.engine() as engine:
        use_up(host, engine, 9)
        session = await host.open(engine, project)
        await host.turn(session, "Fix the importer, please.", 12_000)
        before = host.asked("session_memory")
        host.clock.advance(86_400)
        await host.turn(session, "And the exporter.", 18_000)

    assert (before, host.asked("session_memory")) == (0, 1)


@pytest.mark.covers("SG-1")
async def test_what_a_person_asks_for_runs_at_the_cap_and_is_counted(
    tmp_path: Path, project: Path
) -> None:
    """`update_notes` waits for the model as it always did; the books know of it."""
    host = Host(tmp_path / "home", spend=NONE)
    async with host.engine() as engine:
        session = await host.open(engine, project)
        await host.turn(session, "Fix the importer, please.")
        await session.update_notes()
        books = BudgetGovernor(
            engine.database(), "s", clock=host.clock, settings=host.settings.spend
        )
        spent = (
            engine.database()
            .execute("select sum(requests) as total from spent where scope = 'day'")
            .fetchone()["total"]
        )
        left = sum_reserved_amount(engine.database(), host.clock.now())
        books.release_reservations()

    assert host.asked("session_memory") == 1
    assert spent == 1
    assert left == ResourceAmounts()


@pytest.mark.covers("SG-1", "AM-9")
async def test_extraction_waits_at_the_cap_and_then_sees_what_it_missed(
    tmp_path: Path, project: Path
) -> None:
    """No cursor is moved past messages that no model has seen, and the reason is told once."""
    host = Host(
        tmp_path / "home", spend=SpendSettings(day_requests=10), auto_memory=AutoMemorySettings()
    )
    async with host.engine() as engine:
        use_up(host, engine, 8)
        session = await host.open(engine, project)
        for text in ("The tests need the database on port 5433.", "They are slow on Mondays."):
            await host.turn(session, text)
        before = (host.asked("extraction"), outcomes(session, "extraction"))
        host.clock.advance(86_400)
        await host.turn(session, "Well, go on.")
        await wait_until(lambda: len(outcomes(session, "extraction")) == 2)
        await session.close()
        (asked,) = [request for request in host.model.requests if request.label == "extraction"]

    assert before == (0, [ForkOutcome.BLOCKED])
    assert host.of(ExtractionFailed) == []
    assert "the newest 6 messages" in str(asked.body)
    assert outcomes(session, "extraction") == [ForkOutcome.BLOCKED, ForkOutcome.UNCHANGED]


@pytest.mark.covers("SG-1", "RC-2")
async def test_at_the_cap_the_ranker_chooses_memories(tmp_path: Path, project: Path) -> None:
    """The memory is shown with the model's choice blocked."""
    host = Host(tmp_path / "home", spend=NONE, recall=RecallSettings(selector="model"))
    async with host.engine() as engine:
        first = await host.open(engine, project, "one")
        await host.turn(first, WISH)
        await first.close()
        second = await host.open(engine, project, "two")
        await host.turn(second, QUESTION)
        await host.turn(second, "And who wanted the importer's rounding of invoice totals?")
        await second.close()

    assert host.asked("recall") == 0
    assert any(event.paths for event in host.of(MemoryRecalled))
    assert outcomes(second, "recall") == [ForkOutcome.BLOCKED]


WINDOWED: dict[str, Any] = {
    "models": ModelSettings(prices={MODEL: ModelPrice(window=30_000, max_output=1_000)}),
    "compaction": CompactionSettings(schedule="threshold"),
}
SUMMARY = Say(
    text="<summary>"
    + "\n".join(f"{n}. The importer reads rows; each has a price in cents." for n in range(1, 10))
    + "</summary>"
)


async def fill(host: Host, session: Session, pages: int = 40) -> None:
    """More than a window of conversation."""
    for number in range(pages):
        await host.turn(
            session,
            f"Request {number}. " + "The importer reads rows from orders.csv. " * 100,
            2_000 + 1_000 * number,
        )


@pytest.mark.covers("SG-1", "CP-14")
async def test_at_the_cap_the_window_is_kept_by_structure(tmp_path: Path, project: Path) -> None:
    """The conversation gets smaller whatever the caps say; no model is asked, and compaction is not
    given up for the session.
    """
    host = Host(tmp_path / "home", spend=NONE, **WINDOWED)
    async with host.engine() as engine:
        session = await host.open(engine, project)
        await fill(host, session)

    made = host.of(ConversationCompacted)
    assert len(made) >= 1
    assert {event.strategy for event in made} <= {"structural", "micro"}
    assert host.asked("compact") == 0
    assert outcomes(session, "compact") == [ForkOutcome.BLOCKED]


@pytest.mark.covers("SG-1")
async def test_the_last_tenth_is_left_to_compaction(tmp_path: Path, project: Path) -> None:
    """With nine tenths used, notes come from structure and a model still writes the summary that
    the window asks for.
    """
    host = Host(tmp_path / "home", spend=SpendSettings(day_requests=100), **WINDOWED)
    host.forks["compact"] = SUMMARY
    async with host.engine() as engine:
        use_up(host, engine, 90)
        session = await host.open(engine, project)
        await fill(host, session)

    assert host.asked("session_memory") == 0
    assert host.asked("compact") >= 1
    assert outcomes(session, "session_memory") == [ForkOutcome.BLOCKED]


@pytest.mark.covers("SG-1")
async def test_the_processes_of_a_home_share_its_caps(tmp_path: Path, project: Path) -> None:
    """What one engine used, another has not any more; and a session's own cap leaves other sessions
    alone.
    """
    spend = SpendSettings(session_requests=2, day_requests=4)
    hosts = [Host(tmp_path / "home", spend=spend) for _ in range(3)]
    for name, host in zip("abc", hosts, strict=True):
        async with host.engine() as engine:
            session = await host.open(engine, project, name)
            for number in range(4):
                await host.turn(session, f"Part {number}.", 12_000 + number * 6_000)

    assert [host.asked("session_memory") for host in hosts] == [1, 1, 1]


@pytest.mark.covers("SG-1", "SF-5")
async def test_a_refusal_holds_back_background_work_of_every_process(
    tmp_path: Path, project: Path
) -> None:
    """After a 429 nobody of this home asks this model for what the provider named; the host's own
    calls go on all the while.
    """
    first, second = Host(tmp_path / "home"), Host(tmp_path / "home")
    first.forks["session_memory"] = HttpError(code=429, retry_after="300")
    async with first.engine() as engine, second.engine() as other:
        session = await first.open(engine, project, "a")
        await first.turn(session, "Fix the importer.", 12_000)
        await first.turn(session, "And the exporter.", 18_000)
        beside = await second.open(other, project, "b")
        await second.turn(beside, "Fix the importer.", 12_000)
        during = (
            first.asked("session_memory"),
            second.asked("session_memory"),
            first.asked("request"),
            second.asked("request"),
        )
        second.clock.advance(301)
        await second.turn(beside, "And the exporter.", 18_000)
        told = [
            receipt.said for receipt in beside.receipts() if receipt.outcome is ForkOutcome.BLOCKED
        ]

    assert during == (1, 0, 2, 1)
    assert second.asked("session_memory") == 1
    assert outcomes(session, "session_memory") == [ForkOutcome.FAILED, ForkOutcome.BLOCKED]
    assert len(told) == 1
    assert "status 429" in told[0]


@pytest.mark.covers("SG-1")
async def test_the_last_quarter_of_a_providers_limit_is_the_hosts(
    tmp_path: Path, project: Path
) -> None:
    """Little is left: background work waits for the reset, the host does not."""
    host = Host(tmp_path / "home")
    async with host.engine() as engine:
        session = await host.open(engine, project)
        host.model.announce_rate_limits(
            RateLimitReport(
                model=host.model.name,
                allowances=(RemainingRateLimit(what="tokens", left=0.2, resets_in=60.0),),
            )
        )
        await host.turn(session, "Fix the importer.", 12_000)
        before = (host.asked("session_memory"), host.asked("request"))
        host.clock.advance(61)
        await host.turn(session, "And the exporter.", 18_000)

    assert before == (0, 1)
    assert host.asked("session_memory") == 1


@pytest.mark.covers("SG-1", "FK-5")
async def test_a_fork_stops_at_its_own_dollars(tmp_path: Path, project: Path) -> None:
    """A model that goes on and on costs what the fork may cost, and not a request more."""
    host = Host(tmp_path / "home", name="claude-haiku-4-5", forks=ForkLimits(cost_usd=0.000_001))
    host.forks["session_memory"] = Say(
        text="<edit path='nowhere.md'><old>a</old><new>b</new></edit>"
    )
    async with host.engine() as engine:
        session = await host.open(engine, project)
        body = {
            "model": "claude-haiku-4-5",
            "max_tokens": 1_000,
            "messages": [{"role": "user", "content": "Fix it. " * 9_000}],
        }
        request = await session.prepare(body)
        reply = await host.model.send(Request(format="anthropic", body=request))
        await session.observe(reply.body)
        await session.session_memory.wait_or_cancel(5)

    assert outcomes(session, "session_memory") == [ForkOutcome.OVER_LIMIT]
    assert host.asked("session_memory") == 1


@pytest.mark.covers("SG-1", "FK-8")
@pytest.mark.parametrize(
    ("label", "review"),
    [
        ("extraction", "auto_memory.model_extraction.build_fork_line_check"),
        ("session_memory", "session_memory.session_notes.review_notes_and_add_derived"),
    ],
)
async def test_a_fork_whose_review_is_cut_off_leaves_its_receipt_and_what_it_used(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch, label: str, review: str
) -> None:
    """The session closes while an answer is looked at: nothing of it stands, and it is counted."""
    begun, goes_on = threading.Event(), threading.Event()

    def review_slowly(*given: Any, **more: Any) -> Any:
        begun.set()
        goes_on.wait()
        raise InputError("nobody waits for it")

    monkeypatch.setattr(f"memorist.{review}", review_slowly)
    host = Host(tmp_path / "home", auto_memory=AutoMemorySettings(drain_seconds=0.2))
    used = Usage(input=70, output=7)
    async with host.engine() as engine:
        session = await host.open(engine, project)
        line = "_Where the work stands at this moment: what is in hand, what is waiting, what comes next._"
        edit = f"<old>\n{line}\n</old>\n<new>\n{line}\nThe tests need port 5433.\n</new>"
        host.forks = {
            "extraction": Say(text="Nothing.", usage=used),
            "session_memory": Say(
                text=f'<edit path="{session.layout.notes}">\n{edit}\n</edit>', usage=used
            ),
        }
        await host.begin_turn(session, "The tests need port 5433.", 12_000)
        await wait_until(begun.is_set)
        await session.close()
        goes_on.set()
        (receipt,) = [each for each in session.receipts() if each.label == label]
        left = sum_reserved_amount(engine.database(), host.clock.now())

    assert (receipt.outcome, receipt.requests, receipt.files) == (ForkOutcome.CANCELLED, 1, ())
    assert receipt.usage == used
    assert left == ResourceAmounts()


@pytest.mark.covers("SG-1", "FK-8")
async def test_a_fork_that_is_cut_off_leaves_its_receipt_and_nothing_reserved(
    tmp_path: Path, project: Path
) -> None:
    """A hanging extraction is cancelled when the session closes: the receipt is there, the
    reservation is not.
    """
    settings = AutoMemorySettings(drain_seconds=0.2)
    host = Host(tmp_path / "home", auto_memory=settings)
    host.forks["extraction"] = Hang()
    async with host.engine() as engine:
        session = await host.open(engine, project)
        await host.turn(session, "The tests need the database on port 5433.")
        during = sum_reserved_amount(engine.database(), host.clock.now())
        await session.close()
        after = sum_reserved_amount(engine.database(), host.clock.now())
        kept = Counter(receipt.outcome for receipt in list_session_receipts(engine.database(), "s"))

    assert during.requests == ForkLimits().requests
    assert after == ResourceAmounts()
    assert kept == {ForkOutcome.CANCELLED: 1}


@pytest.mark.covers("SG-1", "SF-5")
async def test_failures_that_are_no_refusal_hold_nothing_back(
    tmp_path: Path, project: Path
) -> None:
    """A model that could not be reached is asked again the next time."""
    host = Host(tmp_path / "home")
    host.forks["session_memory"] = Fail(error=ModelUnavailable("gone"))
    async with host.engine() as engine:
        session = await host.open(engine, project)
        await host.turn(session, "Fix the importer.", 12_000)
        await host.turn(session, "And the exporter.", 18_000)

    assert outcomes(session, "session_memory") == [ForkOutcome.FAILED, ForkOutcome.FAILED]


@pytest.mark.covers("SG-1")
def test_every_fork_of_a_subsystem_passes_the_governor() -> None:
    """Only one module starts forks, within a budget: no new kind of work goes around the caps."""
    source = Path(memorist.__file__).parent
    starting = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if re.search(r"(?<![._])run_fork\(", path.read_text("utf-8"))
    }

    assert starting == {"forks/fork_runner.py", "runtime.py"}


@pytest.mark.covers("SG-1")
async def test_a_model_of_whose_answers_nothing_stands_is_asked_no_more_that_day(
    tmp_path: Path,
) -> None:
    """After `spend.fruitless_runs` answers in a row without a change that stood, structure keeps
    the notes and the receipt says why; the status says that nothing stood. The next day it is asked
    again.
    """
    host = Host(tmp_path / "home", spend=SpendSettings(fruitless_runs=3))
    host.forks["session_memory"] = Say(text="The totals were changed to use integer cents.")
    async with host.engine() as engine:
        session = await host.open(engine, tmp_path)
        for turn in range(1, 7):
            await host.turn(session, f"step {turn}", tokens=12_000 * turn)
        runs = [
            (receipt.outcome, receipt.said)
            for receipt in session.receipts()
            if receipt.label == "session_memory"
        ]
        host.clock.advance(86_400)
        await host.turn(session, "the next day", tokens=90_000)
        again = [each for each in session.receipts() if each.label == "session_memory"][-1]

    assert [outcome for outcome, _ in runs][:4] == [
        *[ForkOutcome.UNCHANGED] * 3,
        ForkOutcome.BLOCKED,
    ]
    assert "memorist doctor --model" in runs[3][1]
    assert session.notes
    assert again.outcome is ForkOutcome.UNCHANGED
