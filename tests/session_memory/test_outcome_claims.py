"""What a model says came of the work is held against what the session proves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memorist.core.messages import JsonObject
from memorist.core.prompt_templates import load_prompt
from memorist.engine.engine import Memorist
from memorist.session_memory.notes_review import review_notes_and_add_derived
from memorist.settings import AutoMemorySettings, SessionMemorySettings, Settings
from memorist.testing import Say, ScriptedServer
from memorist.transcript_analysis.answer_check import AnswerLineChecker
from memorist.transcript_analysis.outcome_claims import OutcomeClaimCheck

pytestmark = pytest.mark.covers("SM-13")


@pytest.fixture
def outcomes(session: Any) -> OutcomeClaimCheck:
    """A session whose tests fail, whose build passes with a count, and that changed one file."""
    session.user("Why is the total off?")
    session.calls("Read", {"file_path": "/home/dev/project/src/total.py"}).answers("x")
    session.calls("Read", {"file_path": "/home/dev/project/src/refund.py"}).answers("x")
    session.edits("/home/dev/project/src/total.py", "round(x)", "quantize(x)")
    session.runs("npm run build", "Tests: 12 passed, 12 total")
    session.runs("pytest -q", "E assert 1 == 2\n1 failed, 3 passed in 0.1s", error=True)
    return OutcomeClaimCheck(session.ledger.work_record)


@pytest.mark.parametrize(
    "line",
    [
        "All tests pass.",
        "- The fix is in, and all 4 tests are green now.",
        "✅ **Tests pass**",
        "Both the test suite passed and the build is fine.",
        "Verification: `pytest -q` passes.",
        "The agent ran `pytest -q`, and it succeeded.",
        "All quality checks passed.",
        "Updated `src/refund.py`.",
        "The agent fixed the rounding in src/refund.py.",
        "`refund.py` was updated.",
    ],
)
def test_a_claim_of_which_the_session_proves_the_opposite_is_found(
    outcomes: OutcomeClaimCheck, line: str
) -> None:
    """In words that recorded agents use."""
    assert outcomes.find_contradiction(line)


@pytest.mark.parametrize(
    "line",
    [
        "The tests fail: 1 failed, 3 passed.",
        "`pytest -q` fails with `assert 1 == 2`.",
        "All tests should pass after this.",
        "Run `pytest -q` until it passes.",
        "The tests do not pass.",
        "The new tests pass.",
        "The build passes.",
        "Updated `src/total.py` to match `src/refund.py`.",
        "`src/refund.py` needs to be updated.",
        "The user wants src/refund.py changed next.",
        "src/refund.py rounds with `round()`.",
        "`ruff check` passes.",
        "Tests/lint were looked at.",
    ],
)
def test_true_claims_wishes_and_what_the_session_does_not_show_stand(
    outcomes: OutcomeClaimCheck, line: str
) -> None:
    """Only the opposite of what is proved is false."""
    assert not outcomes.find_contradiction(line)


@pytest.mark.parametrize(
    ("shown", "line", "is_false"),
    [
        ("     1→# Ferries\n", "The `times.md` file in the `docs` folder is empty.", True),
        ("# Ferries", "- docs/times.md was still empty", True),
        ("# Ferries", "`docs/times.md` is missing.", True),
        ("# Ferries", "docs/times.md is missing the winter.", False),
        ("# Ferries", "docs/times.md is not empty.", False),
        ("# Ferries", "The cache of docs/times.md is empty.", False),
        ("# Ferries", "docs/other.md is empty.", False),
        ("<system-reminder>The contents are empty.</system-reminder>", "times.md is empty.", False),
        ("", "times.md is empty.", False),
    ],
)
def test_a_file_of_which_text_was_read_is_not_empty(
    session: Any, shown: str, line: str, is_false: bool
) -> None:
    """A real model said so of the document that it had just been shown."""
    session.user("When does it leave?")
    session.calls("Read", {"file_path": "/home/dev/project/docs/times.md"}).answers(shown)

    found = OutcomeClaimCheck(session.ledger.work_record).find_contradiction(line)

    assert ("is empty, of which text was read" in found) is is_false


def test_a_file_that_was_deleted_after_it_was_read_may_be_missing(session: Any) -> None:
    """So may one that a command may have emptied."""
    session.user("Clean up.")
    for name in ("a.md", "b.md"):
        session.calls("Read", {"file_path": f"/home/dev/project/{name}"}).answers("# Ferries")
    session.runs("rm a.md", "").runs("truncate -s 0 b.md", "")
    outcomes = OutcomeClaimCheck(session.ledger.work_record)

    assert not outcomes.find_contradiction("a.md is missing.")
    assert not outcomes.find_contradiction("b.md is empty.")


def test_no_work_is_done_in_a_session_that_only_looked(session: Any) -> None:
    """Of work elsewhere, and of a file, the words say that; after one change anything may be true."""
    session.user("Is the rounding right?").runs("git log --oneline", "4be21c7 rounding")
    looked = OutcomeClaimCheck(session.ledger.work_record)

    assert looked.find_contradiction("The rounding of totals has been fixed.")
    assert looked.find_contradiction("- Implemented the feature and its tests")
    assert not looked.find_contradiction("The rounding was fixed in 4be21c7.")
    assert not looked.find_contradiction("Updated by hand every Tuesday.")
    session.edits("/home/dev/project/src/total.py", "round(x)", "quantize(x)")
    changed = OutcomeClaimCheck(session.ledger.work_record)
    assert not changed.find_contradiction("The rounding of totals has been fixed.")


def test_no_check_passes_that_nobody_ran(session: Any) -> None:
    """Where the user says so the claim stands; a check of types runs no tests, a build may."""
    session.user("Round the total.").edits("/home/dev/project/src/total.py", "round(x)", "q(x)")
    edited = OutcomeClaimCheck(session.ledger.work_record)
    assert edited.find_contradiction("All tests pass.")
    assert edited.find_contradiction("The build is clean.")
    assert edited.find_contradiction("All quality checks passed.")
    assert not edited.find_contradiction("The tests of rounding were not run.")

    session.runs("mypy src", "Success: no issues found in 3 source files")
    checked = OutcomeClaimCheck(session.ledger.work_record)
    assert checked.find_contradiction("All tests pass.")
    assert not checked.find_contradiction("The build is clean.")

    session.user("I ran them here: all tests pass. Commit it.")
    assert not OutcomeClaimCheck(session.ledger.work_record).find_contradiction("All tests pass.")


@pytest.mark.parametrize("unseen", ["a sub-agent", "an earlier part", "a script", "a build"])
def test_a_check_may_have_run_where_it_is_not_seen(session: Any, unseen: str) -> None:
    """Nothing is known of what a sub-agent, a script, a build or the time before a summary did."""
    if unseen == "an earlier part":
        session.summary("The total was rounded.")
    session.user("Go on with the total.")
    if unseen == "a sub-agent":
        session.calls("Task", {"prompt": "mend", "description": "mend"}).answers("done")
    if unseen in ("a script", "a build"):
        session.runs("./ci.sh" if unseen == "a script" else "make", "done")
    outcomes = OutcomeClaimCheck(session.ledger.work_record)

    assert not outcomes.find_contradiction("All tests pass.")


def test_a_failure_is_disproved_only_by_runs_that_count_what_passed(session: Any) -> None:
    """An exit status may be that of a pipe, and a failure that was mended is told of truly."""
    session.runs("npm run lint", "done").runs("pytest -q", "4 passed in 0.1s")
    outcomes = OutcomeClaimCheck(session.ledger.work_record)

    assert outcomes.find_contradiction("The tests fail.")
    assert not outcomes.find_contradiction("Linting failed.")


def test_of_joined_commands_it_is_not_known_which_failed(session: Any) -> None:
    """Nor is a file unchanged where somebody else worked on it."""
    session.runs("pytest -q && ruff check", "12 passed\nE501 line too long", error=True)
    session.calls("Read", {"file_path": "/home/dev/project/a.py"}).answers("x")
    session.calls("Task", {"prompt": "mend a.py", "description": "mend"}).answers("done")
    outcomes = OutcomeClaimCheck(session.ledger.work_record)

    assert not outcomes.find_contradiction("Tests pass, linting does not.")
    assert not outcomes.find_contradiction("a.py was updated.")


@pytest.mark.covers("SM-5")
async def test_a_false_claim_of_a_model_is_not_kept_in_the_notes(tmp_path: Path) -> None:
    """From the host's request to the notes: the true line stands, the false one is dropped."""
    answer = {
        "Current State": ["All tests pass.", "`pytest -q` fails in test_total.py."],
        "Files and Functions": [],
    }
    call = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "pytest -q"}}
    result = {
        "type": "tool_result", "tool_use_id": "c1", "is_error": True,
        "content": "FAILED test_total.py::test_sum\n1 failed, 3 passed in 0.1s",
    }  # fmt: skip
    request: JsonObject = {
        "model": "claude-opus-4-6",
        "max_tokens": 100,
        "messages": [
            {"role": "user", "content": "Do the tests of test_total.py pass?"},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        ],
    }
    reply: JsonObject = {
        "role": "assistant",
        "content": [{"type": "text", "text": "No: test_sum fails."}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 900, "output_tokens": 20},
    }
    settings = Settings(
        session_memory=SessionMemorySettings(start_tokens=10, growth_tokens=1),
        auto_memory=AutoMemorySettings(enabled=False),
    )
    with ScriptedServer([Say(text=json.dumps(answer))]) as server:
        model = f"openai-chat:small@{server.openai_url}"
        async with Memorist(model=model, home=tmp_path / "h", settings=settings) as engine:
            session = await engine.open("s1", project=str(tmp_path))
            await session.prepare(request)
            await session.observe(reply)
            await session.end_turn()
            await session.close()
            (receipt,) = session.receipts()
            notes = session.notes or ""

    assert "- `pytest -q` fails in test_total.py." in notes
    assert "All tests pass." not in notes
    assert "says that it passes, where pytest -q failed" in receipt.said


READ = """Read docs/ferry.md
# Ferry
The boat leaves at nine in summer and at ten in winter, from the north pier. Tickets are sold on
board for coins. Dogs travel without a ticket. The captain rings a bell before the boat leaves.
I will look at the winter times next, in the file that the boat uses.
"""


@pytest.mark.parametrize(
    ("line", "stands"),
    [
        ("`docs/ferry.md` has the times of the boat, by summer and winter.", True),
        (
            "docs/ferry.md explains that tickets are sold on board and dogs travel without one.",
            True,
        ),
        ("docs/ferry.md contains instructions to install the package and its dependencies.", False),
        ("`ferry.md` documents the public interface and configuration of the server.", False),
        ("docs/ferry.md is read by the server before its dependencies are configured.", True),
        ("`docs/ferry.md`", False),
        ("docs/ferry.md", False),
        ("Let me look at the winter times of the boat in docs/ferry.md.", False),
        ("The boat leaves at ten in winter. Next I'm reading the file that the boat uses.", False),
        ("The boat leaves at ten. Now, I'll look at the winter times of the boat.", False),
    ],
)
def test_a_file_holds_what_was_shown_of_it_and_a_line_says_something(
    line: str, *, stands: bool
) -> None:
    """Small models tell of a file that was read what such files mostly hold, list bare names, and
    copy what the agent said that it would do.
    """
    template = load_prompt("session_memory/template")
    heading = "# Codebase and System Documentation\n"
    before, after = template.split(heading)
    frame, rest = after.split("\n", 1)
    reviewed = review_notes_and_add_derived(
        template,
        f"{before}{heading}{frame}\n- {line}\n{rest}",
        template,
        {},
        AnswerLineChecker(READ, "", READ),
    )

    assert (reviewed.added == 1) == stands


@pytest.mark.parametrize(
    ("line", "stands"),
    [
        ("Last request: “Which boat leaves at nine, and from where?”", False),
        ("Last step: looked at the winter times of the boat", False),
        ("The boat leaves at nine in summer and at ten in winter.", True),
    ],
)
def test_a_copy_of_a_derived_entry_is_none_of_the_models(line: str, *, stands: bool) -> None:
    """Cut elsewhere than the entry itself it would stay, and tell of a request that is no longer
    the last one.
    """
    template = load_prompt("session_memory/template")
    heading = "# Current State\n"
    before, after = template.split(heading)
    frame, rest = after.split("\n", 1)
    derived = "- Last request: “Which boat leaves at nine?”\n- Last step: read docs/ferry.md"

    reviewed = review_notes_and_add_derived(
        template,
        f"{before}{heading}{frame}\n- {line}\n{rest}",
        template,
        {"Current State": derived},
        AnswerLineChecker(f"{READ} Which boat leaves at nine, and from where?", "", READ),
    )

    assert (reviewed.added == 1) == stands
    assert derived in reviewed.text


@pytest.mark.parametrize(
    ("title", "stands"),
    [
        ("Harbour Handbook for Guests", False),
        ("harbour handbook, for guests", False),
        ("Correct the winter times of the boat", True),
        ("Add tickets for dogs", True),
    ],
)
def test_the_heading_of_a_text_that_was_read_is_no_title_of_the_session(
    title: str, *, stands: bool
) -> None:
    """It would stand in place of what the user asked for; a heading that is the user's own words
    may stand.
    """
    template = load_prompt("session_memory/template")
    before, after = template.split("# Session Title\n")
    frame, rest = after.split("\n", 1)
    asked = "Correct the winter times of the boat in docs/ferry.md. Add tickets for dogs."
    read = "1→# Harbour Handbook for Guests\n2→\n3→## Add tickets for dogs\n"

    reviewed = review_notes_and_add_derived(
        template,
        f"{before}# Session Title\n{frame}\n{title}\n{rest}",
        template,
        {"Session Title": "Winter times of the boat in docs/ferry.md"},
        AnswerLineChecker(f"{asked}\n{read}", "", f"{asked} {READ} {read}", asked),
    )

    assert (reviewed.added == 1) == stands
    assert ("Winter times of the boat in docs/ferry.md" in reviewed.text) or stands


SETTINGS = f"""> ferry serve
Listening on 8090 for requests over http.
Connected to postgres://boat@localhost:5433/tickets after 2 attempts.
A request that takes more than 4500 ms is given up.
{"GET /tickets answered. " * 20}
Installed ticket-printer 1.26.4.
"""


@pytest.mark.parametrize(
    ("line", "stands"),
    [
        ("- Port: 5433", True),
        ("- The database of tickets is at port 5433 of localhost.", True),
        ("- Requests: given up after 4500 ms", True),
        ("- **ticket-printer**: 1.26.4", True),
        ("- Version 1.26.4", True),
        ("- There are 12 boats.", True),
        ("- Anschluss der Datenbank: 1.26.4, und das ist nicht der von Git, die wir haben.", True),
        ("- Port: 4500", False),
        ("- Port: 1.26.4", False),
        ("- Memory limit: 4500", False),
        ("- The git version of the machine is 1.26.4.", False),
        ("- The server of the harbour has 5435 ports.", False),
        ("| Cache size | 8090 |", False),
    ],
)
def test_a_number_stands_under_the_name_it_was_shown_by(line: str, *, stands: bool) -> None:
    """Small models put a true number to a wrong name, as a time limit as the port, or one of their
    own; a small number may have been counted.
    """
    assert bool(AnswerLineChecker(SETTINGS, "").find_misplaced_value(line)) is not stands
