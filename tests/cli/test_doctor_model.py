"""`memorist doctor --model`: what a model is good enough for, from one tiny task of each form."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from memorist.cli.doctor import model_check
from memorist.cli.main import memorist_group
from memorist.core.messages import Usage
from memorist.ports import Request
from memorist.testing import CallTool, Hang, HttpError, ReplyParts, Say, ScriptedServer, Think

LINE = "`pytest -q tests/test_total.py` failed; mended in src/checkout/total.py"
CAUSE = (
    "Cause: `format_row` took the local time of the server, where stations have zones of their own."
)
EDIT = {"file_path": "/notes/worklog.md", "old_string": "# Worklog", "new_string": LINE}
SUMMARY = (
    "<summary>1. Request: no floats for money. 3. src/checkout/total.py uses "
    'quantize(Decimal("0.01"), ROUND_HALF_UP); tests/test_total.py. 4. `pytest -q '
    "tests/test_total.py` failed with AssertionError, Decimal('10.13') != Decimal('10.12'). 8. "
    "Committed as 4be21c7; next src/checkout/refund.py.</summary>"
)


def good_answer(request: Request) -> Any:
    body = json.dumps(request.body)
    if "selected_memories" in body:
        return Say(text='{"selected_memories": ["money-as-decimal.md"]}')
    if "<summary>" in body:
        return Say(text=SUMMARY)
    if request.body.get("tools"):
        return CallTool(name="Edit", input=EDIT)
    if "response_format" in request.body:
        return Say(text=json.dumps({"Errors & Corrections": [CAUSE]}))
    return Say(
        text=f'<edit path="/notes/worklog.md"><old>\n# Worklog\n</old><new>\n{LINE}\n</new></edit>'
    )


def examine(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    """Exit status, and the text as a user reads it."""
    monkeypatch.setenv("MEMORIST_MODEL", f"openai-chat:tiny@{server.openai_url}")
    done = CliRunner().invoke(memorist_group, ["doctor", "--model"], catch_exceptions=False)
    return done.exit_code, done.stdout


def test_a_good_model_is_right_in_every_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five requests; each form is named with its cost and with what needs it, and the window is the
    server's.
    """
    with ScriptedServer(good_answer, window=16_384) as server:
        status, text = examine(server, monkeypatch)

    assert status == 0
    assert "16,384 tokens" in text
    assert text.count(": right (") == 5
    assert len(server.received) == 5
    assert not any("{{" in json.dumps(request.body) for request in server.received)


def test_valid_is_not_yet_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """A choice of the wrong memory, an edit of the user's own file, a summary with an invented
    path: each in its form, each named, and what to do.
    """

    def answer(request: Request) -> Any:
        body = json.dumps(request.body)
        if "selected_memories" in body:
            return Say(text='{"selected_memories": ["ferry-timetable.md"]}')
        if "<summary>" in body:
            return Say(text=f"{SUMMARY[:-10]}\nChanged strategy/phase_wiring.go.</summary>")
        if request.body.get("tools"):
            return CallTool(name="Edit", input={**EDIT, "file_path": "src/checkout/total.py"})
        return Say(text="The command was changed to use Decimal.")

    with ScriptedServer(answer) as server:
        status, text = examine(server, monkeypatch)

    assert status == 1
    assert "it chose ferry-timetable.md where money-as-decimal.md was right" in text
    assert 'recall.selector = "ranker"' in text
    assert "strategy/phase_wiring.go" in text
    assert "it edits another file" in text
    assert "no answer of this model was of use" in text


def test_notes_of_which_most_lines_do_not_stand_are_not_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Judged as the notes of a session are: a copied hint, a test said to pass that still fails, a
    file said to be changed that was only read.
    """
    filled = {
        "Session Title": ["Five to ten words that would let a stranger pick this session"],
        "Current State": ["All tests pass."],
        "Errors & Corrections": ["Updated src/importer/parse.py.", CAUSE],
    }

    def answer(request: Request) -> Any:
        if "response_format" in request.body and "selected_memories" not in str(request.body):
            return Say(text=json.dumps(filled))
        return good_answer(request)

    with ScriptedServer(answer, window=16_384) as server:
        _, text = examine(server, monkeypatch)

    assert "JSON by a schema: 1 of its 4 lines stand" in " ".join(text.split())
    assert "4 of 5 forms are right" in text


def test_the_test_that_failed_is_not_the_file_that_was_mended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`tests/test_total.py` ends in the name of the mended file."""

    def answer(request: Request) -> Any:
        if request.body.get("tools"):
            line = "# Worklog\n`pytest -q tests/test_total.py` failed"
            return CallTool(name="Edit", input={**EDIT, "new_string": line})
        return good_answer(request)

    with ScriptedServer(answer) as server:
        _, text = examine(server, monkeypatch)

    assert "does not name total.py" in text


@pytest.mark.parametrize(
    ("right", "told", "requests", "forms"),
    [
        ((True,), "right (", 5, 5),
        ((False, True, True), "right in 2 of 3 runs (", 7, 5),
        ((False, True, False), "(right in 1 of 3 runs; ", 7, 4),
        ((False, False), "(right in 0 of 2 runs; ", 6, 4),
    ],
    ids=["clear", "two of three", "one of three", "none of two"],
)
def test_a_form_that_is_wrong_once_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, right: tuple[bool, ...], told: str, requests: int, forms: int
) -> None:
    """Most runs decide, and no more are made than can change the outcome; each is another request,
    since a model at temperature 0 only repeats its answer.
    """
    runs = iter(right)

    def answer(request: Request) -> Any:
        if "selected_memories" in json.dumps(request.body) and not next(runs):
            return Say(text='{"selected_memories": []}')
        return good_answer(request)

    with ScriptedServer(answer, window=16_384) as server:
        status, text = examine(server, monkeypatch)

    assert status == 0
    (line,) = [line for line in text.split("\n") if "a choice from a list" in line]
    assert told in line
    assert f"{forms} of 5 forms are right" in text
    assert len(server.received) == requests
    assert len({json.dumps(request.body) for request in server.received}) == requests


def test_a_form_that_is_only_just_right_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A summary with half of the session's identifiers, where one fewer is too few."""
    short = (
        "<summary>`pytest -q tests/test_total.py` failed; src/checkout/total.py was mended; "
        "src/checkout/refund.py is next.</summary>"
    )

    def answer(request: Request) -> Any:
        return Say(text=short) if "<summary>" in json.dumps(request.body) else good_answer(request)

    with ScriptedServer(answer, window=16_384) as server:
        _, text = examine(server, monkeypatch)

    assert "a summary: right in 2 of 2 runs" in text
    assert len(server.received) == 6


def test_no_form_is_tried_more_than_three_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """The most that a trial costs: ten requests where all is wrong, fifteen in any case."""
    with ScriptedServer(lambda request: Say(text="No."), window=16_384) as server:
        status, text = examine(server, monkeypatch)

    assert status == 1
    assert "right in 0 of 2 runs" in text
    assert len(server.received) == 10


def test_a_slow_model_is_asked_each_form_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second answer to the first form may be over the limit, and nothing is known of the others
    then.
    """
    monkeypatch.setattr(model_check, "SLOW_SECONDS", 0.0)
    with ScriptedServer(lambda request: Say(text="No."), window=16_384) as server:
        status, text = examine(server, monkeypatch)

    assert status == 1
    assert len(server.received) == 5
    assert "edits as text: no edit in the answer (" in text
    assert "right in" not in text
    assert "no answer of this model was of use\n" in text


def test_what_was_not_tried_is_said_of_a_useless_model_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second answer that does not come leaves the verdict to the first one, and the next form is
    tried; a first one that does not come ends the trial.
    """
    answers = iter([True, False, False])
    monkeypatch.setenv("MEMORIST_MODELS__TIMEOUT_SECONDS", "1")
    with ScriptedServer(lambda request: Say(text="No.") if next(answers) else Hang()) as server:
        _, text = examine(server, monkeypatch)

    assert "edits as text: no edit in the answer (right in 0 of 2 runs; " in text
    assert "edits by tool call: no answer (" in text
    assert "no answer of this model was of use (3 forms were not tried)" in text


def test_a_server_that_refuses_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason stands in the text, and the other tasks are not tried."""
    with ScriptedServer(
        [HttpError(code=401, message="no such key", kind="authentication_error")]
    ) as server:
        status, text = examine(server, monkeypatch)

    assert status == 1
    assert "no such key" in text
    assert "the model gave no answer" in text
    assert len(server.received) == 1


def test_a_model_that_is_too_slow_is_not_said_to_be_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have been writing all the time."""
    monkeypatch.setenv("MEMORIST_MODELS__TIMEOUT_SECONDS", "1")
    with ScriptedServer(lambda request: Hang()) as server:
        status, text = examine(server, monkeypatch)

    assert status == 1
    assert "the model ended no answer in time" in text
    assert "too slow here" in text


def test_a_server_that_hangs_ends_the_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """One wait of the time limit in all, not one for each task; what was answered before stands."""
    answers = iter([True, False])

    def answer(request: Request) -> Any:
        return good_answer(request) if next(answers) else Hang()

    monkeypatch.setenv("MEMORIST_MODELS__TIMEOUT_SECONDS", "1")
    with ScriptedServer(answer) as server:
        status, text = examine(server, monkeypatch)

    assert status == 0
    assert "edits as text: right" in text
    assert "edits by tool call: no answer (" in text
    assert "within 1 seconds" in text
    assert "1 of 5 forms are right (3 forms were not tried)" in text
    assert len(server.received) == 2


def test_a_summary_that_does_not_come_leaves_no_other_form_untried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The longest answer is asked for last: a slow model is told what it can still be used for."""

    def answer(request: Request) -> Any:
        return Hang() if "<summary>" in json.dumps(request.body) else good_answer(request)

    monkeypatch.setenv("MEMORIST_MODELS__TIMEOUT_SECONDS", "1")
    with ScriptedServer(answer) as server:
        _, text = examine(server, monkeypatch)

    assert "a choice from a list: right" in text
    assert "4 of 5 forms are right;" in text


def test_a_server_that_tells_nothing_of_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """It answers 404 to questions about itself, and counts no tokens: its window is called a guess,
    with the setting for it, and all tasks are tried.
    """

    def answer(request: Request) -> Any:
        return msgspec.structs.replace(good_answer(request), usage=Usage())

    with ScriptedServer(answer) as server:
        server.descriptions["/v1/models"] = None
        status, text = examine(server, monkeypatch)

    assert status == 0
    assert "does not tell the window" in text
    assert "Set models.window" in text
    assert "5 of 5 forms are right" in text


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (Say(text=" "), "its answer is empty"),
        (Say(text="<think>So the test failed."), "it only thought, and gave no answer"),
        (Think(text="So the test failed."), "it only thought, and gave no answer"),
    ],
)
def test_a_model_that_says_nothing(
    monkeypatch: pytest.MonkeyPatch, said: Say | Think, reason: str
) -> None:
    """That it gave no answer is named, and not what the answer lacks."""
    with ScriptedServer(lambda request: said, window=16_384) as server:
        status, text = examine(server, monkeypatch)

    assert status == 1
    assert text.count(reason) == 5


@pytest.mark.parametrize(
    ("usage", "fault"),
    [
        (Usage(output=12), "counts no tokens for what it read"),
        (Usage(input=10**9, output=5), "counts more tokens than its window"),
        (Usage(input=9, output=10**9), "counts more tokens than its window"),
    ],
)
def test_a_server_whose_counts_cannot_be_right(
    monkeypatch: pytest.MonkeyPatch, usage: Usage, fault: str
) -> None:
    """Limits and prices rest on them, so that it is said; the answers count all the same."""

    def answer(request: Request) -> Any:
        return msgspec.structs.replace(good_answer(request), usage=usage)

    with ScriptedServer(answer, window=16_384) as server:
        status, text = examine(server, monkeypatch)

    assert status == 0
    assert fault in text
    assert "5 of 5 forms are right" in text


def test_a_server_that_takes_no_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked again without one; where that answer is no form, edits are named instead."""

    def answer(request: Request) -> Any:
        if "response_format" in request.body:
            return HttpError(code=400, message="response_format is not supported")
        return good_answer(request)

    with ScriptedServer(answer, window=16_384) as server:
        status, text = examine(server, monkeypatch)

    assert status == 0
    assert "4 of 5 forms are right" in text
    assert 'set models.forms = "never"' in text


def test_a_model_that_says_the_same_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every request limits its answer; a cut-off answer is called a loop where it is one."""

    def answer(request: Request) -> Any:
        assert request.body["max_tokens"] == 2_000
        text = "the file was changed and " * 400
        return ReplyParts(parts=(Say(text=text),), stop_reason="length")

    with ScriptedServer(answer) as server:
        status, text = examine(server, monkeypatch)

    assert status == 1
    assert text.count("says the same again and again") == 5
    assert "no answer of this model was of use" in text


def test_a_server_that_still_loads_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its 503 is no failure; the tasks are tried when it is ready."""
    began = iter([HttpError(code=503, message="Loading model", kind="unavailable_error")])
    with ScriptedServer(lambda request: next(began, None) or good_answer(request)) as server:
        status, text = examine(server, monkeypatch)

    assert status == 0
    assert "5 of 5 forms are right" in text
    assert all(request.body["stream"] is True for request in server.received)


def test_without_a_model_nothing_is_asked() -> None:
    """It says so."""
    done = CliRunner().invoke(memorist_group, ["doctor", "--model"], catch_exceptions=False)

    assert done.exit_code == 0
    assert "no model is set" in done.stdout
