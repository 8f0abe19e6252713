"""`memorist doctor --model`: what a model is good enough for, from one tiny task of each form."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from memorist.cli.main import memorist_group
from memorist.ports import Request
from memorist.testing import CallTool, HttpError, Say, ScriptedServer

LINE = "`pytest -q tests/test_total.py` failed; mended in src/checkout/total.py"
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
        return Say(text=json.dumps({"Errors & Corrections": [LINE]}))
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


def test_a_server_that_refuses_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason stands in the text, and the other tasks are not tried."""
    with ScriptedServer(
        [HttpError(code=401, message="no such key", kind="authentication_error")]
    ) as server:
        status, text = examine(server, monkeypatch)

    assert status == 1
    assert "no such key" in text
    assert len(server.received) == 1


def test_without_a_model_nothing_is_asked() -> None:
    """It says so."""
    done = CliRunner().invoke(memorist_group, ["doctor", "--model"], catch_exceptions=False)

    assert done.exit_code == 0
    assert "no model is set" in done.stdout
