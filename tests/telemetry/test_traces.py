"""Spans of real sessions, as the real SDK exports them; and nothing at all where nobody watches."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from memorist.engine.engine import Memorist
from memorist.engine.session import Session
from memorist.errors import ModelRequestRejected
from memorist.events import Event, EventLogEntry, MemoryRecalled
from memorist.forks.fork_spec import ForkOutcome, ForkRequestMeasurements, Receipt
from memorist.models.model_pricing import ModelPrice
from memorist.models.model_settings import ModelSettings
from memorist.ports import Request
from memorist.settings import (
    DreamSettings,
    RecallSettings,
    SessionMemorySettings,
    Settings,
    TelemetrySettings,
)
from memorist.store.receipt_rows import list_session_receipts
from memorist.telemetry.tracing import SessionTracer, decorate_work_for_tracing
from memorist.testing.frozen_clock import FrozenClock
from memorist.testing.models import ScriptedModel
from memorist.testing.steps import Fail, Say

SECRET_WORDS = "the harbour office closes at noon"
LONG = (
    "Remember that we deploy on Fridays because the warehouse counts its stock on Mondays and "
    "locks the tables for it, and that a deployment then "
    "waits for hours, as it did in the spring when the orders of a whole day had to be typed "
    "in by hand."
)
PRICES = ModelSettings(
    prices={"m": ModelPrice(window=30_000, max_output=1_000, input=3.0, output=15.0)}
)
SETTINGS = Settings(
    models=PRICES, session_memory=SessionMemorySettings(start_tokens=1, growth_tokens=1)
)


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[TracerProvider]:
    """A tracer provider as a host sets one; for this test alone."""
    made = TracerProvider()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: made)
    yield made
    made.shutdown()


@pytest.fixture
def exporter(provider: TracerProvider) -> InMemorySpanExporter:
    """What it exports."""
    found = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(found))
    return found


async def talked(session: Session, model: ScriptedModel, *turns: str) -> None:
    messages: list[dict[str, Any]] = []
    for text in turns:
        messages.append({"role": "user", "content": text})
        request = await session.prepare({"model": "m", "max_tokens": 1_000, "messages": messages})
        reply = await model.send(Request(format="anthropic", body=request))
        await session.observe(reply.body)
        messages.append({"role": "assistant", "content": reply.body["content"]})
        await session.end_turn()
        await session.session_memory.wait_or_cancel(60)


def value(span: ReadableSpan, name: str) -> Any:
    return (span.attributes or {}).get(name)


def named(spans: Sequence[ReadableSpan], name: str) -> list[dict[str, Any]]:
    return [dict(span.attributes or {}) for span in spans if span.name == name]


@pytest.mark.covers("OP-1")
async def test_a_session_leaves_spans_of_its_forks_and_of_its_own_work(
    tmp_path: Path, exporter: InMemorySpanExporter
) -> None:
    """Forks with their tokens and cost, a compaction, a recall and a dream: all of one
    conversation, and none with a word of it.
    """
    (project := tmp_path / "shop").mkdir()
    model = ScriptedModel(lambda request: Say(text=f"Row in: {SECRET_WORDS}."), name="anthropic:m")
    async with Memorist(model=model, home=tmp_path / "home", settings=SETTINGS) as engine:
        session = await engine.open("s-1", project=str(project))
        await talked(session, model, f"Remember that {SECRET_WORDS}.", "And now the rest.")
        await session.compact("keep the prices", strategy="full")
        await session.close()
        kept = list_session_receipts(engine.database(), "s-1")
        later = await engine.open("s-2", project=str(project))
        await talked(later, model, "When does the harbour office close at noon?")

    spans = exporter.get_finished_spans()
    forks = named(spans, "invoke_agent memorist.session_memory")
    of_first = [
        span for span in spans if (span.attributes or {}).get("gen_ai.conversation.id") == "s-1"
    ]
    assert forks
    assert sorted(r.label for r in kept) == sorted(
        str((s.attributes or {})["memorist.purpose"]) for s in of_first if "invoke" in s.name
    )
    assert sorted(r.usage.output for r in kept) == sorted(
        value(s, "gen_ai.usage.output_tokens") for s in of_first if "invoke" in s.name
    )
    assert named(spans, "memorist.compact")
    assert {each["memorist.recall.kind"] for each in named(spans, "memorist.recall")} >= {"index"}
    assert all(
        (span.attributes or {}).get("gen_ai.conversation.id") in {"s-1", "s-2"} for span in spans
    )
    assert SECRET_WORDS not in "".join(span.to_json() for span in spans)
    assert all((span.end_time or 0) >= (span.start_time or 0) > 0 for span in spans)


@pytest.mark.covers("OP-1")
async def test_a_dream_leaves_a_span(tmp_path: Path, exporter: InMemorySpanExporter) -> None:
    """One that ran at the end of a turn, with whether it changed anything."""
    (project := tmp_path / "shop").mkdir()
    always = msgspec.structs.replace(SETTINGS, dream=DreamSettings(hours=0, sessions=0))
    async with Memorist(model="structural", home=tmp_path / "home", settings=always) as engine:
        model = ScriptedModel(lambda _: Say(text="Done."))
        session = await engine.open("s-1", project=str(project))
        await talked(session, model, "Remember that we deploy on Fridays.")
        await session.close()

    (dreamt,) = named(exporter.get_finished_spans(), "memorist.dream")
    assert dreamt["memorist.dream.way"] == "structural"
    assert dreamt["memorist.dream.changed"] is False


@pytest.mark.covers("OP-1")
async def test_a_model_that_fails_is_an_error_in_the_trace(
    tmp_path: Path, exporter: InMemorySpanExporter
) -> None:
    """The fork's span has the status and the type; the words of the error only where content may be
    shown.
    """
    shown = msgspec.structs.replace(SETTINGS, telemetry=TelemetrySettings(content=True))
    for settings, home in ((SETTINGS, "quiet"), (shown, "loud")):
        host, model = (
            ScriptedModel(lambda _: Say(text="Done.")),
            ScriptedModel(
                lambda _: Fail(error=ModelRequestRejected("the key is wrong")), name="anthropic:m"
            ),
        )
        async with Memorist(model=model, home=tmp_path / home, settings=settings) as engine:
            session = await engine.open(home)
            await talked(session, host, "Hello there, a first message.")

    quiet, loud = (
        span
        for span in exporter.get_finished_spans()
        if span.name == "invoke_agent memorist.session_memory"
    )
    assert quiet.status.status_code is loud.status.status_code is trace.StatusCode.ERROR
    assert (quiet.attributes or {})["error.type"] == ForkOutcome.FAILED.value
    assert quiet.status.description is None
    assert loud.status.description


@pytest.mark.covers("OP-1")
async def test_the_hosts_own_span_is_the_parent(
    tmp_path: Path, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    """A request that the host watches shows what memorist did for it below itself."""
    host = provider.get_tracer("host")
    model = ScriptedModel(lambda _: Say(text="Done."))
    async with Memorist(model="structural", home=tmp_path, settings=SETTINGS) as engine:
        session = await engine.open("s-1")
        await talked(
            session, model, "A first message.", "A second message, with more words in it." * 200
        )
        with host.start_as_current_span("agent step"):
            await session.compact(strategy="tail")

    spans = {span.name: span for span in exporter.get_finished_spans()}
    parent, step = spans["memorist.compact"].parent, spans["agent step"].context
    assert parent is not None
    assert step is not None
    assert parent.span_id == step.span_id


def lineage(spans: Sequence[ReadableSpan], name: str) -> list[list[str]]:
    """For each span of that name: itself, what it stands below, and so on."""
    by_id = {span.context.span_id: span for span in spans if span.context}
    found = []
    for span in spans:
        line = [span.name]
        above = span.parent
        while above is not None and above.span_id in by_id:
            line.append(by_id[above.span_id].name)
            above = by_id[above.span_id].parent
        if span.name == name:
            found.append(line)
    return found


@pytest.mark.covers("OP-1")
async def test_a_compaction_shows_its_fork_and_the_forks_request_below_itself(
    tmp_path: Path, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    """Request below fork, fork below compaction, compaction below the host's step; the request says
    what it used and how it ended.
    """
    model = ScriptedModel(lambda _: Say(text="<summary>The harbour.</summary>"), name="anthropic:m")
    async with Memorist(model=model, home=tmp_path, settings=SETTINGS) as engine:
        session = await engine.open("s-1")
        await talked(
            session, model, "A first message.", "A second message, with more words in it." * 200
        )
        with provider.get_tracer("host").start_as_current_span("agent step"):
            await session.compact("keep the prices", strategy="full")
        (receipt,) = [each for each in session.receipts() if each.label == "compact"]

    spans = exporter.get_finished_spans()
    lines = lineage(spans, "chat m")
    assert ["chat m", "invoke_agent memorist.compact", "memorist.compact", "agent step"] in lines
    assert all(line[1].startswith("invoke_agent memorist.") for line in lines)
    (asked,) = [
        span
        for span in spans
        if span.name == "chat m" and value(span, "memorist.purpose") == "compact"
    ]
    assert asked.kind is trace.SpanKind.CLIENT
    assert value(asked, "gen_ai.operation.name") == "chat"
    assert (
        value(asked, "gen_ai.usage.output_tokens")
        == receipt.usage.output
        == receipt.sent[0].usage.output
    )
    assert value(asked, "gen_ai.response.finish_reasons") == ("end_turn",)
    by_id = {span.context.span_id: span for span in spans if span.context}
    for span in (asked, by_id[asked.parent.span_id] if asked.parent else asked):
        assert span.parent is not None
        above = by_id[span.parent.span_id]
        assert (
            (above.start_time or 0)
            <= (span.start_time or 0)
            <= (span.end_time or 0)
            <= (above.end_time or 0) + 1_000
        )  # of rounding


@pytest.mark.covers("OP-1")
async def test_a_fork_stands_below_its_recall_and_its_dream(
    tmp_path: Path, exporter: InMemorySpanExporter
) -> None:
    """A model that chooses memories, and one that dreams: both below the span of what asked them,
    though they ran in the background.
    """
    (project := tmp_path / "shop").mkdir()
    by_model = msgspec.structs.replace(
        SETTINGS, dream=DreamSettings(hours=0, sessions=0), recall=RecallSettings(selector="model")
    )
    async with Memorist(model="structural", home=tmp_path / "home", settings=SETTINGS) as engine:
        first = await engine.open("s-0", project=str(project))
        await talked(first, ScriptedModel(lambda _: Say(text="Done.")), LONG)
        await first.close()
    names = [
        path.name
        for path in tmp_path.glob("home/projects/*/memory/*.md")
        if path.name != "MEMORY.md"
    ]
    model = ScriptedModel(
        lambda _: Say(text=json.dumps({"selected_memories": names})), name="anthropic:m"
    )
    async with Memorist(model=model, home=tmp_path / "home", settings=by_model) as engine:
        session = await engine.open("s-1", project=str(project))
        await talked(session, model, "Please sort the colours of the calendar by month.")
        await session.close()

    spans = exporter.get_finished_spans()
    assert ["chat m", "invoke_agent memorist.recall", "memorist.recall"] in lineage(spans, "chat m")
    assert ["chat m", "invoke_agent memorist.dream", "memorist.dream"] in lineage(spans, "chat m")


@pytest.mark.covers("OP-1")
async def test_a_request_that_got_no_answer_is_an_error_of_its_kind(
    tmp_path: Path, exporter: InMemorySpanExporter
) -> None:
    """The request's span names the kind of the error and claims no tokens; not a word of what the
    provider said.
    """
    model = ScriptedModel(
        lambda _: Fail(error=ModelRequestRejected(SECRET_WORDS)), name="anthropic:m"
    )
    host = ScriptedModel(lambda _: Say(text="Done."))
    async with Memorist(model=model, home=tmp_path, settings=SETTINGS) as engine:
        session = await engine.open("s-1")
        await talked(session, host, "Hello there, a first message.")
        kept = list_session_receipts(engine.database(), "s-1")
        assert kept == session.receipts()

    (asked,) = [span for span in exporter.get_finished_spans() if span.name == "chat m"]
    assert [sent.error for receipt in kept for sent in receipt.sent] == ["ModelRequestRejected"]
    assert asked.status.status_code is trace.StatusCode.ERROR
    assert value(asked, "error.type") == "ModelRequestRejected"
    assert value(asked, "gen_ai.usage.input_tokens") is None
    assert SECRET_WORDS not in asked.to_json()


@pytest.mark.covers("OP-1")
async def test_the_spans_of_requests_can_be_left_to_another_instrument(
    tmp_path: Path, exporter: InMemorySpanExporter
) -> None:
    """With `telemetry.requests = false` forks have their spans, and their requests none."""
    quiet = msgspec.structs.replace(SETTINGS, telemetry=TelemetrySettings(requests=False))
    model = ScriptedModel(lambda _: Say(text="Done."), name="anthropic:m")
    async with Memorist(model=model, home=tmp_path, settings=quiet) as engine:
        session = await engine.open("s-1")
        await talked(session, model, "Hello there, a first message.")

    assert {span.name for span in exporter.get_finished_spans()} == {
        "invoke_agent memorist.session_memory"
    }


def ran(label: str) -> Receipt:
    """The receipt of a fork that sent one request."""
    return Receipt(
        label=label,
        why="",
        model="anthropic:m",
        started=1.0,
        outcome=ForkOutcome.UNCHANGED,
        sent=(ForkRequestMeasurements(started=1.0, seconds=0.5),),
    )


@pytest.mark.covers("OP-1")
async def test_work_that_ends_without_a_word_of_it_still_shows_its_forks(
    exporter: InMemorySpanExporter,
) -> None:
    """Where no event tells of the work (it broke, or there was nothing to show), its forks stand
    alone; forks of other work are not held.
    """
    traces = SessionTracer(TelemetrySettings(), "s", FrozenClock(now=9.0))

    @decorate_work_for_tracing("compact")
    async def breaks() -> None:
        traces.on_receipt(ran("compact"))
        traces.on_receipt(ran("extraction"))
        assert {span.name for span in exporter.get_finished_spans()} == {
            "invoke_agent memorist.extraction",
            "chat m",
        }
        traces.on_event(MemoryRecalled((), 40, "index"))
        raise RuntimeError("it broke")

    with pytest.raises(RuntimeError, match="it broke"):
        await breaks()

    spans = exporter.get_finished_spans()
    assert lineage(spans, "invoke_agent memorist.compact") == [["invoke_agent memorist.compact"]]
    assert lineage(spans, "memorist.recall") == [["memorist.recall"]]


@pytest.mark.covers("OP-1")
async def test_work_that_goes_on_after_its_cause_holds_nothing_back(
    exporter: InMemorySpanExporter,
) -> None:
    """A task that a dream left running sees the dream's work as over: the span of its fork is made
    at once.
    """
    traces = SessionTracer(TelemetrySettings(), "s", FrozenClock(now=9.0))
    go_on = asyncio.Event()

    async def later() -> None:
        await go_on.wait()
        traces.on_receipt(ran("dream"))

    @decorate_work_for_tracing("dream")
    async def begins() -> asyncio.Task[None]:
        return asyncio.create_task(later())

    task = await begins()
    go_on.set()
    await task

    assert lineage(exporter.get_finished_spans(), "invoke_agent memorist.dream") == [
        ["invoke_agent memorist.dream"]
    ]


class Broken(SpanProcessor):
    """An instrument that breaks at every span."""

    def on_end(self, span: ReadableSpan) -> None:
        raise RuntimeError(f"the exporter broke at {span.name}")


@pytest.mark.covers("OP-1")
async def test_an_instrument_that_breaks_breaks_nothing(
    tmp_path: Path, provider: TracerProvider
) -> None:
    """The session runs on, its notes are kept, its receipts are there."""
    provider.add_span_processor(Broken())
    model = ScriptedModel(lambda _: Say(text="Done."), name="anthropic:m")
    async with Memorist(model=model, home=tmp_path, settings=SETTINGS) as engine:
        session = await engine.open("s-1")
        await talked(session, model, "Hello there, a first message.")
        assert session.notes
        assert list_session_receipts(engine.database(), "s-1") == session.receipts()


@pytest.mark.covers("OP-1")
async def test_it_can_be_switched_off(tmp_path: Path, exporter: InMemorySpanExporter) -> None:
    """With `telemetry.enabled = false` there is no span, whatever the host has set."""
    off = msgspec.structs.replace(SETTINGS, telemetry=TelemetrySettings(enabled=False))
    model = ScriptedModel(lambda _: Say(text="Done."), name="anthropic:m")
    async with Memorist(model=model, home=tmp_path, settings=off) as engine:
        session = await engine.open("s-1")
        await talked(session, model, "Hello there, a first message.")

    assert not exporter.get_finished_spans()


@pytest.mark.covers("OP-1")
async def test_the_event_log_is_one_json_object_a_line_and_receipts_are_kept_whole(
    tmp_path: Path,
) -> None:
    """Every event can be read back by its type with its time, in order; a receipt in the database
    is the receipt that the session had.
    """
    told: list[Event] = []
    model = ScriptedModel(lambda _: Say(text="Done."), name="anthropic:m")
    async with Memorist(model=model, home=tmp_path, settings=SETTINGS) as engine:
        session = await engine.open("s-1", listener=told.append)
        await talked(session, model, "Hello there, a first message.", "And a second one.")
        await session.close()
        kept = list_session_receipts(engine.database(), "s-1")
    lines = session.layout.events.read_text("utf-8").splitlines()

    stamped = [msgspec.json.decode(line, type=EventLogEntry) for line in lines]
    assert [each.event for each in stamped] == told
    assert [each.at for each in stamped] == sorted(each.at for each in stamped)
    assert all(isinstance(json.loads(line)["event"]["type"], str) for line in lines)
    assert kept == session.receipts() != []


SCRIPT = """
import asyncio, sys
{setup}
from memorist import Memorist, Settings
from memorist.settings import SessionMemorySettings
from memorist.testing import Say, ScriptedModel

async def main():
    settings = Settings(session_memory=SessionMemorySettings(start_tokens=1, growth_tokens=1))
    async with Memorist(model=ScriptedModel(lambda _: Say(text="Done."), name="anthropic:m"), home=sys.argv[1], settings=settings) as engine:
        session = await engine.open("s")
        await session.prepare({{"model": "m", "max_tokens": 9, "messages": [{{"role": "user", "content": "Hello there."}}]}})
        said = [{{"type": "text", "text": "Done."}}]
        await session.observe({{"role": "assistant", "content": said, "usage": {{"input_tokens": 5, "output_tokens": 5}}}})
        await session.end_turn()
        await session.session_memory.wait_or_cancel(60)
        assert session.receipts()

asyncio.run(main())
{after}
"""


PROVIDER = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
spans = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)
"""


@pytest.mark.covers("OP-1")
@pytest.mark.parametrize(
    ("setup", "after", "expected"),
    [
        (
            "",
            "print(sorted(name for name in sys.modules if name.startswith('opentelemetry')))",
            "[]",
        ),
        ("import opentelemetry.trace", "print('no provider')", "no provider"),
        (
            PROVIDER,
            "print(sorted({span.name for span in spans.get_finished_spans()}))",
            "['chat m', 'invoke_agent memorist.session_memory']",
        ),
    ],
    ids=["absent", "no provider", "a provider"],
)
def test_in_a_process_of_its_own(tmp_path: Path, setup: str, after: str, expected: str) -> None:
    """Where nobody imported OpenTelemetry, memorist does not either; without a provider nothing
    happens; with the real one spans come out.
    """
    code = SCRIPT.format(setup=setup, after=after)

    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.stdout.strip() == expected, done.stderr
