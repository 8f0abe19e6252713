"""Spans as values: the names of the conventions, and nothing of what was said."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv.attributes import error_attributes

from memorist.core.messages import Usage
from memorist.events import (
    CompactionFailed,
    ConversationCompacted,
    DreamFailed,
    DreamFinished,
    Event,
    FileRead,
    MemoryRecalled,
    TeamFailed,
    TeamSynced,
)
from memorist.forks.fork_spec import FileSizeChange, ForkOutcome, Receipt
from memorist.telemetry.spans import (
    FORK_OPERATION,
    MAX_TEXT_CHARACTERS,
    Span,
    build_event_span,
    build_fork_span,
)

SAID = "The harbour office closes at noon."
RECEIPT = Receipt(
    label="session_memory",
    why=SAID,
    model="anthropic:claude-sonnet-5@http://127.0.0.1:1",
    started=1_000.0,
    seconds=2.5,
    requests=3,
    turns=2,
    usage=Usage(input=10, cache_read=900, cache_write=90, output=40),
    cost_usd=0.25,
    files=(FileSizeChange(SAID, None, 3),),
    denied=(SAID,),
    outcome=ForkOutcome.CHANGED,
    said=SAID,
)
EVENTS: list[Event] = [
    ConversationCompacted("full", "auto", 9_000, 1_000, 12, 2, 1.5),
    CompactionFailed("full", SAID),
    MemoryRecalled((SAID,), 40, SAID, 0.01),
    MemoryRecalled((), 40, "index"),
    DreamFinished("abc", "model", SAID, 1, 4.0),
    DreamFailed(SAID),
    TeamSynced(
        remote=SAID,
        received=(SAID,),
        sent=(SAID, SAID),
        conflict_copies=(SAID,),
        waiting=(SAID,),
        seconds=0.5,
    ),
    TeamFailed(SAID, stopped=True),
]


def made(event: Event, *, content: bool = False) -> Span:
    span = build_event_span(event, "s-1", 100.0, content=content)
    assert span is not None
    return span


@pytest.mark.covers("OP-1")
def test_a_fork_is_an_agent_by_the_conventions() -> None:
    """Every name that is not ours is a constant of the official package, and the operation is one
    of its values.
    """
    known = {
        value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")
    } | {error_attributes.ERROR_TYPE}
    span = build_fork_span(
        msgspec.structs.replace(RECEIPT, outcome=ForkOutcome.TIMED_OUT), "s-1", content=True
    )

    assert {name for name in span.attributes if not name.startswith("memorist.")} <= known
    assert FORK_OPERATION in {value.value for value in gen_ai_attributes.GenAiOperationNameValues}
    assert span.name == "invoke_agent memorist.session_memory"


@pytest.mark.covers("OP-1")
def test_a_fork_says_what_it_was_for_what_it_used_and_what_it_cost() -> None:
    """Input counts the cache's tokens in, as the conventions ask; purpose, cost and end are there;
    the times are the receipt's.
    """
    span = build_fork_span(RECEIPT, "s-1", content=False)

    assert (span.start, span.end, span.error) == (1_000.0, 1_002.5, "")
    assert span.attributes == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "claude-sonnet-5",
        "gen_ai.agent.name": "memorist.session_memory",
        "gen_ai.conversation.id": "s-1",
        "gen_ai.usage.input_tokens": 1_000,
        "gen_ai.usage.output_tokens": 40,
        "gen_ai.usage.cache_read.input_tokens": 900,
        "gen_ai.usage.cache_creation.input_tokens": 90,
        "memorist.purpose": "session_memory",
        "memorist.cost_usd": 0.25,
        "memorist.fork.outcome": "changed",
        "memorist.fork.requests": 3,
        "memorist.fork.turns": 2,
        "memorist.fork.files": 1,
        "memorist.fork.denied": 1,
    }


@pytest.mark.covers("OP-1")
@pytest.mark.parametrize("outcome", list(ForkOutcome))
def test_a_fork_that_went_wrong_is_an_error_and_one_that_gave_way_is_none(
    outcome: ForkOutcome,
) -> None:
    """Failed, timed out, over its limit and going round are errors, by that name; cancelled,
    replaced and blocked are not.
    """
    span = build_fork_span(msgspec.structs.replace(RECEIPT, outcome=outcome), "", content=False)
    wrong = outcome in {
        ForkOutcome.FAILED,
        ForkOutcome.TIMED_OUT,
        ForkOutcome.OVER_LIMIT,
        ForkOutcome.LOOPED,
    }

    assert span.error == (outcome.value if wrong else "")
    assert span.attributes.get("error.type") == (outcome.value if wrong else None)
    assert span.error_text == ""
    assert "gen_ai.conversation.id" not in span.attributes


@pytest.mark.covers("OP-1")
def test_a_price_that_is_not_known_is_left_out() -> None:
    """No cost is another thing than a cost of nothing."""
    assert (
        "memorist.cost_usd"
        not in build_fork_span(
            msgspec.structs.replace(RECEIPT, cost_usd=None), "s", content=False
        ).attributes
    )


@pytest.mark.covers("OP-1")
def test_compaction_recall_dream_and_team_have_spans_of_our_names() -> None:
    """Each with its sizes and how long it took; a failure is an error."""
    spans = [made(event) for event in EVENTS]

    assert [(span.name, span.end - span.start, span.error) for span in spans] == [
        ("memorist.compact", 1.5, ""),
        ("memorist.compact", 0.0, "compaction_failed"),
        ("memorist.recall", pytest.approx(0.01), ""),
        ("memorist.recall", 0.0, ""),
        ("memorist.dream", 4.0, ""),
        ("memorist.dream", 0.0, "dream_failed"),
        ("memorist.team.sync", 0.5, ""),
        ("memorist.team.sync", 0.0, "team_failed"),
    ]
    assert spans[0].attributes["memorist.compact.tokens.before"] == 9_000
    assert spans[2].attributes["memorist.recall.memories"] == 1
    assert spans[4].attributes["memorist.dream.changed"] is True
    assert spans[6].attributes["memorist.team.sync.sent"] == 2
    assert all(span.attributes["gen_ai.conversation.id"] == "s-1" for span in spans)
    assert build_event_span(FileRead("a"), "s-1", 1.0, content=False) is None


@pytest.mark.covers("OP-1", "SF-1")
def test_nothing_that_was_said_is_in_a_span_unless_it_is_asked_for() -> None:
    """Last words, reasons, names of memories and files stay here; with `content` they are told, and
    secrets are not even then.
    """
    failed = msgspec.structs.replace(RECEIPT, outcome=ForkOutcome.FAILED)
    quiet = [
        build_fork_span(RECEIPT, "s-1", content=False),
        build_fork_span(failed, "s-1", content=False),
        *(made(event) for event in EVENTS),
    ]
    secret = "ghp_" + "a1B2c3D4e5" * 4
    loud = build_fork_span(
        msgspec.structs.replace(failed, said=f"{SAID} {secret}"), "s-1", content=True
    )

    assert SAID not in repr(quiet)
    assert SAID in str(loud.attributes["memorist.fork.said"])
    assert SAID in loud.error_text
    assert secret not in repr(loud)
    assert all(SAID in repr(made(event, content=True)) for event in EVENTS if SAID in repr(event))


@pytest.mark.covers("OP-1")
@given(
    st.text(st.characters(), max_size=200),
    st.text(st.characters(), max_size=60),
    st.text(st.characters(), max_size=60),
)
def test_whatever_stands_in_a_receipt_can_be_exported(said: str, model: str, session: str) -> None:
    """Lone surrogates, nulls and nonsense in names: every text can be encoded, and is no longer
    than it may be.
    """
    receipt = msgspec.structs.replace(
        RECEIPT, said=said * 300, model=model, outcome=ForkOutcome.FAILED
    )

    span = build_fork_span(receipt, session, content=True)

    texts = [
        span.error_text,
        *(value for value in span.attributes.values() if isinstance(value, str)),
    ]
    assert all(len(text.encode("utf-8").decode()) <= MAX_TEXT_CHARACTERS for text in texts)
