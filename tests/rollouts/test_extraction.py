"""Stage one of a session from file to extract: by a model, and what happens when the model fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from memorist.core.messages import Usage
from memorist.errors import (
    BudgetSpent,
    ContextTooLong,
    ModelRequestRejected,
    ModelTimeout,
    ModelUnavailable,
    UnreadableSession,
)
from memorist.forks.fork_spec import ForkOutcome, ForkRunDenial, ForkSpec, Receipt
from memorist.models.model_settings import ModelSettings
from memorist.ports import Request
from memorist.rollouts.raw_memory import parse_raw_memory
from memorist.rollouts.stage_one import extract_session_with_model_or_structure
from memorist.runtime import Runtime
from memorist.settings import Settings
from memorist.testing import Fail, FrozenClock, InMemoryFiles, Say, ScriptedModel
from memorist.testing.steps import Script, Step
from rollouts.conftest import Talk

RAW = """---
description: Mends the till
---

### Task 1

task: Mend the till
task_outcome: success

Preference signals:
- "Always run the linter" -> run it

Reusable knowledge:
- [inferred; line 3] Three tests of the till pass within a second.
"""
ADDED = "Three tests of the till pass within a second."
GOOD = Say(
    text=json.dumps(
        {"raw_memory": RAW, "rollout_summary": "# Till mended\n", "rollout_slug": "till"}
    )
)
EMPTY = Say(text='{"raw_memory": "", "rollout_summary": "", "rollout_slug": ""}')


def talk() -> Talk:
    return (
        Talk()
        .user("Mend the till. Always run the linter before you commit.")
        .edit()
        .run("pytest", "3 passed in 0.1s")
        .agent("Mended.")
    )


def long_talk() -> Talk:
    """A session of four parts for a window of 12,000 tokens."""
    long = Talk()
    for number in range(120):
        long.user(
            f"Please write page {number} about the till, and mind the matter {number}. "
            + "It is long. " * 40
        ).edit().agent("Written. " * 30)
    return long


def means(script: Script, **about: Any) -> tuple[Runtime, ScriptedModel, list[Receipt]]:
    kept: list[Receipt] = []
    window = about.pop("window", 200_000)
    model = ScriptedModel(script, window=window)
    return (
        Runtime(
            files=InMemoryFiles(),
            clock=FrozenClock(),
            model=model,
            record_receipt=kept.append,
            **about,
        ),
        model,
        kept,
    )


class Miser:
    """Lets nothing run."""

    def request_admission(self, spec: ForkSpec, model: str) -> ForkRunDenial:
        del spec, model
        return ForkRunDenial(why="today's budget of requests is spent")


def sent(model: ScriptedModel) -> list[str]:
    return [json.dumps(request.body, ensure_ascii=False) for request in model.requests]


@pytest.mark.covers("RO-4", "FK-8")
async def test_a_model_extracts_a_session(tmp_path: Path) -> None:
    """One request without tools, with the schema of the answer; what it gives is kept with the
    thread's facts, and a receipt is left.
    """
    given, model, kept = means([GOOD])
    made = await extract_session_with_model_or_structure(talk().thread(tmp_path / "s.jsonl"), given)

    assert (made.way, made.problem, made.slug, made.thread, made.updated) == (
        "model",
        "",
        "till",
        "s1",
        9,
    )
    assert (made.generated, made.cwd, made.branch, made.outside) == (
        1_700_000_000,
        "/home/dev/shop",
        "main",
        False,
    )
    assert [
        (each.proof, each.date) for each in parse_raw_memory(made.raw_memory).tasks[0].preferences
    ] == [("said", "2026-05-28")]
    assert made.rollout_summary.endswith("# Till mended\n")
    assert "Last of each kind of command: `pytest` passed" in made.rollout_summary
    assert ADDED in made.raw_memory
    assert [each.outcome for each in kept] == [ForkOutcome.CHANGED]
    assert "1 of the model's entries were added" in kept[0].said
    assert "tools" not in model.requests[0].body
    assert "<session>" in sent(model)[0]


@pytest.mark.covers("RO-4")
@pytest.mark.parametrize("piece", ["**1a. A `TicketKind` for the till** (near L37)", "```python"])
async def test_a_piece_of_a_pasted_plan_is_nothing_learned(tmp_path: Path, piece: str) -> None:
    """A small model copies the plan line by line; a consolidation made an order of it."""
    plan = f"Implement the following plan:\n\n# Tickets\n\n{piece}\n\nKIND = 1\n"
    session = Talk().user(plan).edit().run("pytest", "3 passed in 0.1s").agent("Done.")
    answer = json.dumps(
        {"raw_memory": RAW.replace(ADDED, piece), "rollout_summary": "# T\n", "rollout_slug": None}
    )
    given, _, kept = means([Say(text=answer)])

    made = await extract_session_with_model_or_structure(
        session.thread(tmp_path / "s.jsonl"), given
    )

    assert made.way == "structural"
    assert "were dropped" in kept[0].said


@pytest.mark.covers("RO-4")
async def test_without_a_model_structure_serves(tmp_path: Path) -> None:
    """With no model the extract is the structural one, and no problem is told."""
    made = await extract_session_with_model_or_structure(
        talk().thread(tmp_path / "s.jsonl"), Runtime(files=InMemoryFiles(), clock=FrozenClock())
    )

    assert (made.way, made.problem) == ("structural", "")
    assert "Always run the linter before you commit" in made.raw_memory
    assert parse_raw_memory(made.raw_memory).outcome == "success"


@pytest.mark.covers("RO-4", "SF-5")
@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ([Say(text="Sorry."), Say(text="{")], "no use 2 times"),
        ([Say(text="x" * 500_000), Say(text='{"raw_memory": 1}')], "no use 2 times"),
        ([Fail(error=ModelRequestRejected("The key is wrong."))], "The key is wrong."),
        (
            [Fail(error=ContextTooLong("This is too long.")) for _ in range(9)],
            "does not fit the model's window",
        ),
    ],
)
async def test_a_model_that_fails_for_good_gives_way_to_structure(
    steps: list[Step], why: str, tmp_path: Path
) -> None:
    """Useless answers twice, a refusal, and a window that nothing fits: the session is extracted by
    structure, and the reason is kept.
    """
    given, _, kept = means(steps)
    made = await extract_session_with_model_or_structure(talk().thread(tmp_path / "s.jsonl"), given)

    assert made.way == "structural"
    assert why in made.problem
    assert parse_raw_memory(made.raw_memory).tasks
    assert kept


@pytest.mark.covers("RO-4", "SF-5")
async def test_a_useless_answer_is_asked_for_once_more_with_its_fault(tmp_path: Path) -> None:
    """The second request names what was wrong with the first answer, and its answer counts."""
    given, model, _ = means([Say(text="Sorry."), GOOD])
    made = await extract_session_with_model_or_structure(talk().thread(tmp_path / "s.jsonl"), given)

    assert made.way == "model"
    assert "it holds no JSON object" in sent(model)[1]


@pytest.mark.covers("RO-2", "RO-4")
async def test_an_absent_model_is_tried_later_and_at_last_replaced(tmp_path: Path) -> None:
    """A model that is only unavailable raises, so that the job is tried again; the final attempt
    takes the structural way and says why.
    """
    thread = talk().thread(tmp_path / "s.jsonl")
    absent = Fail(error=ModelUnavailable("Nobody answers."))

    with pytest.raises(ModelUnavailable, match="session s1: Nobody answers"):
        await extract_session_with_model_or_structure(thread, means([absent])[0])
    made = await extract_session_with_model_or_structure(thread, means([absent])[0], final=True)

    assert (made.way, made.problem) == ("structural", "Nobody answers.")


@pytest.mark.covers("RO-4", "SF-5")
async def test_a_model_on_this_machine_that_is_too_slow_is_replaced_at_once(tmp_path: Path) -> None:
    """It would be as slow the next time: structure serves now, and the reason names the limit."""
    thread = talk().thread(tmp_path / "s.jsonl")
    slow = ScriptedModel(
        [Fail(error=ModelTimeout("too slow"))], name="openai-chat:qwen3@http://127.0.0.1:11434/v1"
    )
    given = replace(means([])[0], model=slow)

    made = await extract_session_with_model_or_structure(thread, given)

    assert made.way == "structural"
    assert "forks.seconds" in made.problem
    with pytest.raises(ModelUnavailable):
        await extract_session_with_model_or_structure(
            thread, means([Fail(error=ModelTimeout("too slow"))])[0]
        )


@pytest.mark.covers("SG-1")
async def test_a_spent_budget_asks_no_model(tmp_path: Path) -> None:
    """Where the budget says no, nothing is sent: the session waits for another day, and at the last
    attempt structure serves, with the reason.
    """
    thread = talk().thread(tmp_path / "s.jsonl")
    given, model, kept = means([GOOD], governor=Miser())
    with pytest.raises(BudgetSpent, match="today's budget of requests is spent"):
        await extract_session_with_model_or_structure(thread, given)
    made = await extract_session_with_model_or_structure(
        thread, means([GOOD], governor=Miser())[0], final=True
    )

    assert (made.way, made.problem) == ("structural", "today's budget of requests is spent")
    assert model.requests == []
    assert [receipt.outcome for receipt in kept] == [ForkOutcome.BLOCKED]


@pytest.mark.covers("RO-4")
async def test_a_session_without_a_request_costs_nothing(tmp_path: Path) -> None:
    """A session in which nobody asked for anything is an empty extract, for which no model is
    asked; and a model that sees nothing in a session takes nothing of what its structure proves.
    """
    given, model, _ = means([GOOD])
    nothing = await extract_session_with_model_or_structure(
        Talk().user("/exit").thread(tmp_path / "a.jsonl"), given
    )
    kept_nothing = await extract_session_with_model_or_structure(
        talk().thread(tmp_path / "b.jsonl"), means([EMPTY])[0]
    )

    assert nothing.is_empty
    assert model.requests == []
    assert kept_nothing.way == "structural"
    assert "Always run the linter before you commit" in kept_nothing.raw_memory
    assert "nothing to add" in kept_nothing.problem


@pytest.mark.covers("RO-3")
async def test_what_is_too_long_is_sent_smaller(tmp_path: Path) -> None:
    """A model that calls the request too long gets a smaller one of the same session, with the
    person's words still in it.
    """
    long = talk()
    for number in range(200):
        long.run(f"cat {number}", "word " * 400)
    given, model, _ = means(
        [Fail(error=ContextTooLong("prompt is too long: 250000 tokens > 150000 maximum")), GOOD]
    )
    made = await extract_session_with_model_or_structure(long.thread(tmp_path / "s.jsonl"), given)

    first, second = sent(model)
    assert made.way == "model"
    assert len(second) < 0.7 * len(first)
    assert "Always run the linter before you commit" in second


@pytest.mark.covers("RO-3")
async def test_no_request_exceeds_a_small_window(tmp_path: Path) -> None:
    """Whatever a long session holds, each request fits the window of the model, and later parts are
    told what earlier ones gave.
    """
    long, limit = long_talk(), 12_000

    def step(request: Request) -> Step:
        assert len(json.dumps(request.body)) / 4 * 1.2 < limit
        return Say(text=GOOD.text, usage=Usage(input=4_000, output=300))

    given, model, _ = means(step, window=limit)
    made = await extract_session_with_model_or_structure(long.thread(tmp_path / "s.jsonl"), given)

    texts = sent(model)
    assert made.way == "model"
    assert len(texts) == 4
    assert ADDED not in texts[0]
    assert all("</before>\\n\\n<session>" in text and ADDED in text for text in texts[1:])
    assert "page 119 " in texts[3]
    assert "page 2 " in texts[0]


@pytest.mark.covers("RO-4")
async def test_what_earlier_parts_gave_stays_where_a_later_one_fails(tmp_path: Path) -> None:
    """Their answers are paid for: where the model fails for good in a later part, or at the last
    attempt, they stand beside the structure, and the reason is kept.
    """
    thread = long_talk().thread(tmp_path / "s.jsonl")
    good = Say(text=GOOD.text, usage=Usage(input=4_000, output=300))
    for error, final in (
        (ModelRequestRejected("No more."), False),
        (ModelUnavailable("Not now."), True),
    ):
        given, model, _ = means([good, good, Fail(error=error)], window=12_000)
        made = await extract_session_with_model_or_structure(thread, given, final=final)

        assert len(model.requests) == 3
        assert (made.way, made.problem) == ("model", str(error))
        assert ADDED in made.raw_memory


@pytest.mark.covers("RO-4")
async def test_the_answer_is_asked_for_in_the_words_that_the_setting_allows(tmp_path: Path) -> None:
    """`models.max_output` cuts every answer: one of 500 tokens holds 250 words, both texts
    together.
    """
    settings = Settings(models=ModelSettings(max_output=500))
    given, model, _ = means([GOOD], settings=settings)
    await extract_session_with_model_or_structure(talk().thread(tmp_path / "s.jsonl"), given)

    assert "At most 156 words in `raw_memory` and 93 in" in sent(model)[0]


@pytest.mark.covers("SF-1")
async def test_no_secret_reaches_the_model(tmp_path: Path) -> None:
    """A key that a tool printed is not in the request."""
    key = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0hL2kP5"
    given, model, _ = means([GOOD])
    await extract_session_with_model_or_structure(
        talk().run("env", f"GITHUB_TOKEN={key}").thread(tmp_path / "s.jsonl"), given
    )

    assert key not in sent(model)[0]


@pytest.mark.covers("RO-9")
async def test_content_from_outside_is_told(tmp_path: Path) -> None:
    """A session that fetched a page or asked an MCP server says so."""
    for name in ("WebFetch", "mcp__wiki__search"):
        thread = talk().call(name, {"query": "x"}, "a page").thread(tmp_path / f"{name}.jsonl")
        assert (
            await extract_session_with_model_or_structure(
                thread, Runtime(files=InMemoryFiles(), clock=FrozenClock())
            )
        ).outside


@pytest.mark.covers("SF-5")
async def test_a_file_that_went_is_an_error_of_its_own(tmp_path: Path) -> None:
    """A session whose file is gone raises UnreadableSession, which says so."""
    thread = talk().thread(tmp_path / "s.jsonl")
    Path(thread.path).unlink()

    with pytest.raises(UnreadableSession, match="no file"):
        await extract_session_with_model_or_structure(
            thread, Runtime(files=InMemoryFiles(), clock=FrozenClock())
        )
