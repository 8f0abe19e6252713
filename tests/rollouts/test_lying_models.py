"""What a session's structure proves is never lost to a model's answer, whatever the model writes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.auto_memory.write_evidence import WriteEvidence
from memorist.core.prompt_templates import load_prompt
from memorist.rollouts.raw_memory import SECTION_TITLES, RawMemory, parse_raw_memory
from memorist.rollouts.stage_one import extract_session_with_model_or_structure
from memorist.rollouts.stage_one_answer import StageOneAnswer
from memorist.rollouts.stage_one_review import AnswerReviewBasis, merge_model_answer_with_proven
from memorist.rollouts.structural_stage_one import StageOneResult
from memorist.runtime import Runtime
from memorist.store.rollout_rows import Rollout
from memorist.testing import FrozenClock, InMemoryFiles, Say, ScriptedModel
from rollouts.conftest import Talk

FORM = load_prompt("rollouts/stage_one").partition("---\ndescription")[2].partition("Every pref")[0]


def answer(raw: str, summary: str = "# Done\n") -> str:
    return json.dumps({"raw_memory": raw, "rollout_summary": summary, "rollout_slug": "done"})


def entries(*lines: str) -> str:
    listed = "\n".join(f"- [inferred; line 3] {line}" for line in lines)
    return f"---\ndescription: d\n---\n\n### Task 1\n\ntask: Mend it\n\nReusable knowledge:\n{listed}\n"


LIES = {
    "the prompt's own form": answer(f"---\ndescription{FORM}"),
    "the form with a gap filled in": answer(
        entries("a path, command or message exactly as it stands: pytest", "one fact")
    ),
    "invented paths": answer(
        entries("The fix is in strategy/phase_wiring.go.", "See agent/agent.go for the rest."),
        "# Done\n- cli/redact/redact.go was changed\n",
    ),
    "invented identifiers": answer(entries("`wire_phase_two` calls it.", "Commit deadbeef01.")),
    "an empty answer": answer("", ""),
    "nothing": "",
    "cut in the middle": answer(entries("It works."))[:60],
    # What a model of 1.5 billion parameters answered, shortened and of another session.
    "the form's headings as tasks, and the agent's calls as the person's words": answer(
        "## Task 1: what the person wanted\n\nThe person wanted to mend the till.\n\n"
        "## Task 2: ways that were proven to work here\n\n"
        "- [said; line 5] the person said “on the way” -> what to do from now on\n"
        "- [said; line 8] the person said “$ pytest tests/till” -> what to do from now on\n\n"
        "## Task 3: what failed, by which sign it is known, why, and what mended it\n\n"
        "- [inferred; line 16] sign -> cause -> what mended it\n"
        "- [inferred; line 25] a path, command or message exactly as it stands\n\n"
        "## Rollout summary\n\n### Task 1: what the person wanted\n\n"
        "The person wanted to mend the till.\n"
    )[:-60],
    "the session's own entries": answer(
        "## Task 1: what the person wanted\n\nuser 2026-06-04\n /model\n[9] harness 2026-06-04\n"
        " set to large\n[11] user, typed 2026-06-04\n Mend the till.\n",
        "# Done\n[11] user 2026-06-04\n[21] tool 2026-06-04 gave to another agent: count\n",
    ),
    "the agent's calls and its talk, copied as what is known": answer(
        "## Task 1: what the person wanted\n\nThe person wanted to see why the till fails.\n\n"
        "## Task 2: ways that were proven to work here\n\n"
        "- [inferred; line 15] $ git remote -v\n"
        "- [inferred; line 16] $ pytest tests/till\n"
        "- The tests look stale. Let me verify by running them:\n"
        "- Mended. Here is what was wrong: ## Root Cause The total is rounded once. ## Changes\n"
    ),
    "another language": answer(entries("Der Fehler lag nur an der falschen Rundung.")),
    "a megabyte of words": answer(entries("round and round " * 20_000)),
    "a megabyte of entries": answer(entries(*[f"It is so {at}." for at in range(8_000)])),
    "another shape": '{"memories": []}',
    "prose": "The user wanted the till mended, and it was.",
}

SAYS_SOMETHING = {"another language", "a megabyte of words", "a megabyte of entries"}
"""Lies that no program can tell from the truth: they are added, marked as an inference."""


def talk() -> Talk:
    return (
        Talk()
        .user("Mend the till. Always run the linter before you commit.")
        .edit()
        .run("pytest tests/till", "3 passed in 0.1s")
        .agent("Mended: the total is rounded once.")
    )


def found(memory: RawMemory) -> set[str]:
    return {
        each.text
        for task in memory.tasks
        for field in SECTION_TITLES
        for each in getattr(task, field)
    }


async def extract(folder: Path, said: str) -> tuple[Any, list[Any]]:
    folder.mkdir()
    kept: list[Any] = []
    runtime = Runtime(
        files=InMemoryFiles(),
        clock=FrozenClock(),
        model=ScriptedModel([Say(text=said), Say(text=said)]) if said != "structure" else None,
        record_receipt=kept.append,
    )
    return await extract_session_with_model_or_structure(
        talk().thread(folder / "s.jsonl"), runtime
    ), kept


@pytest.mark.covers("RO-4", "SF-5")
@pytest.mark.parametrize("lie", LIES)
async def test_every_proved_entry_stands_whatever_a_model_answers(lie: str, tmp_path: Path) -> None:
    """All entries and all lines of the summary that structure makes are there; nothing of the
    prompt's form and no invented name is; the receipt or the reason says what became of the answer.
    """
    proven, _ = await extract(tmp_path / "structure", "structure")
    made, kept = await extract(tmp_path / "model", LIES[lie])

    assert found(parse_raw_memory(proven.raw_memory)) <= found(parse_raw_memory(made.raw_memory))
    assert set(proven.rollout_summary.splitlines()) <= set(made.rollout_summary.splitlines())
    text = made.raw_memory + made.rollout_summary
    for invented in ("phase_wiring", "agent/agent", "redact.go", "wire_phase", "deadbeef", "one fact",
                     "exactly as it stands", "what the person wanted", "on the way", "from now on"):  # fmt: skip
        assert invented not in text
    assert len(text) < 500_000
    assert (made.way == "model") == (lie in SAYS_SOMETHING)
    assert made.problem or "entries were added" in kept[-1].said


@pytest.mark.covers("RO-4")
@pytest.mark.parametrize("kept", ["in the memory", "in the summary"])
async def test_of_an_answer_that_is_cut_off_the_complete_lines_count(
    kept: str, tmp_path: Path
) -> None:
    """They are added by one request, without the line that the cut left incomplete."""
    whole = answer(
        entries("Rounding per item was wrong.", "The total is what counts."),
        "# Done\nThe rounding was moved.\nNothing else was touched.\n",
    )
    end = whole.index("what counts") if kept == "in the memory" else whole.index("else was")

    made, receipts = await extract(tmp_path / "model", whole[:end])

    assert made.way == "model"
    assert [receipt.requests for receipt in receipts] == [1]
    assert "Rounding per item was wrong." in made.raw_memory
    assert ("The total is what counts." in made.raw_memory) == (kept == "in the summary")
    assert ("The rounding was moved." in made.rollout_summary) == (kept == "in the summary")
    assert "Nothing else" not in made.rollout_summary


HEAD = "[inferred; 2026-06-05] Key steps: [inferred; line 11] harness 2026-06-05"
FACT = "[inferred; line 12] Rounding per item was wrong."


@pytest.mark.covers("RO-4", "SF-2")
@pytest.mark.parametrize(
    ("printed", "entry", "added"),
    [
        ("Logged in to the till as the second cashier", FACT, 1),
        ("Logged in to the till as the second cashier", HEAD, 0),
        ("Logged in to the till as the second cashier", "[inferred] Key steps:", 0),
        ("Set model to \x1b[1mLarge 5\x1b[22m and keep it for all new sessions", FACT, 0),
    ],
    ids=["a fact stands", "a row's head", "a title", "an order in colours"],
)
def test_what_the_client_printed_is_no_task_and_an_entrys_head_is_none(
    printed: str, entry: str, added: int
) -> None:
    """A small model took the client's answer to a command, which has colours, for the task, and
    under it, with a title of the form in front, copied the head of that line as what is known. An
    order from there takes the whole task with it, as any order from outside.
    """
    name = re.sub(r"\x1b\[\d+m", "", printed)
    thread = Rollout(id="s", path="/s", format="codex", size=1, modified_ns=1, updated=1, cwd="/x")
    session = AnswerReviewBasis(
        thread,
        StageOneResult(RawMemory()),
        WriteEvidence(user_messages=(("line 12", "Mend the till."),), outside_texts=(printed,)),
        f"[11] harness 2026-06-05\n {printed}\n[12] user\n Mend the till.",
        load_prompt("rollouts/stage_one"),
    )
    raw = f"### Task 1\n\ntask: {name}\n\nReusable knowledge:\n- {entry}\n"

    judged = merge_model_answer_with_proven(
        StageOneAnswer(raw, f"# Till\nKey steps: {entry}\n", None), session
    )

    assert judged.added == added
    assert name not in str(judged.stage.memory.tasks)
    assert "harness" not in str(judged.stage.memory) + judged.stage.summary


@pytest.mark.covers("RO-4", "SF-2")
@pytest.mark.parametrize(
    ("entry", "added"),
    [
        ("The person said `ls -la` to list the files of the till.", 0),
        ("The user ran `git log` to see who changed the till.", 0),
        ("The user wants the till mended before the fair.", 0),
        ("`ls -la` lists the files of the till.", 1),
    ],
)
def test_what_the_agent_ran_is_not_put_into_the_users_mouth(entry: str, added: int) -> None:
    """A small model told each call of the agent as what the user had said."""
    thread = Rollout(id="s", path="/s", format="codex", size=1, modified_ns=1, updated=1, cwd="/x")
    session = AnswerReviewBasis(
        thread,
        StageOneResult(RawMemory()),
        WriteEvidence(user_messages=(("line 12", "How does the parser work?"),), outside_texts=()),
        "[12] user\n How does the parser work?\n[13] tool\n ls -la\n git log\n the till, the fair",
        load_prompt("rollouts/stage_one"),
    )
    raw = f"### Task 1\n\ntask: The parser\n\nReusable knowledge:\n- [inferred] {entry}\n"

    judged = merge_model_answer_with_proven(StageOneAnswer(raw, "# Parser\n", None), session)

    assert judged.added == added


@pytest.mark.covers("RO-4")
@pytest.mark.parametrize(
    ("entry", "added"),
    [
        (
            "Copy the winter's timetable from the old site, by cloning it into a folder of its own",
            0,
        ),
        ("The winter's timetable of the old site is cloned into a folder.", 1),
        ("The old site always shows the timetable of the winter", 1),
    ],
    ids=["a spelling put right", "what was found", "a rule, the user's own"],
)
def test_a_request_copied_with_a_word_put_right_is_a_request_still(entry: str, added: int) -> None:
    """A real model wrote the user's request down as knowledge, without their slip of the pen."""
    thread = Rollout(id="s", path="/s", format="codex", size=1, modified_ns=1, updated=1, cwd="/x")
    typed = (
        "Copy the winter's timetabel from the old site, by cloning it into a folder of its own\n"
        "The old site allways shows the timetable of the winter"
    )
    session = AnswerReviewBasis(
        thread,
        StageOneResult(RawMemory()),
        WriteEvidence(user_messages=(("line 12", typed),), outside_texts=()),
        f"[12] user\n {typed}\n[13] tool\n cloned",
        load_prompt("rollouts/stage_one"),
    )
    raw = f"### Task 1\n\ntask: Timetable\n\nReusable knowledge:\n- [inferred] {entry}\n"

    judged = merge_model_answer_with_proven(StageOneAnswer(raw, "# Timetable\n", None), session)

    assert judged.added == added


_TEXT = st.text(st.characters(codec="utf-8"), max_size=80)


@pytest.mark.covers("RO-4", "SF-5")
@given(st.lists(_TEXT | st.sampled_from(FORM.splitlines()), max_size=12), _TEXT)
def test_no_answer_takes_a_proved_entry_away(lines: list[str], summary: str) -> None:
    """Whatever stands in a well-formed answer, also lines of the form in any order: the proved
    entries stay, and no line of the form becomes an entry.
    """
    thread = Rollout(id="s", path="/s", format="codex", size=1, modified_ns=1, updated=1, cwd="/x")
    proven = parse_raw_memory(entries("`pytest` passed.", "The total is rounded once."))
    session = AnswerReviewBasis(
        thread,
        StageOneResult(proven, "# Till\n"),
        WriteEvidence(user_messages=(("line 3", "Mend the till."),), outside_texts=()),
        "Mend the till. pytest",
        load_prompt("rollouts/stage_one"),
    )
    said = StageOneAnswer("### Task 1\n\ntask: Mend\n\n" + "\n".join(lines), summary, None)

    judged = merge_model_answer_with_proven(said, session)

    assert found(proven) <= found(judged.stage.memory)
    assert not any(
        "sign -> cause" in text or text == "one fact" for text in found(judged.stage.memory)
    )
    assert "# Till" in judged.stage.summary
