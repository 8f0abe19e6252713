"""The sample sessions in `examples/sessions`, and the example agent loop that made one of them."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import pytest

from memorist.core.messages import Message, Origin, TextBlock, ToolResult, ToolUse
from memorist.core.tool_pairs import OpenToolCalls
from memorist.formats.format_detection import detect_format, read_session
from memorist.formats.transcript_format import (
    RepairedLine,
    SessionHead,
    SkippedLine,
    TranscriptEntry,
    UsageReport,
)
from memorist.replay.replay import ReplayOptions, replay_files_to_report
from memorist.settings import Settings
from memorist.store.transcript_reader import UnpackedUtf8Lines

EXAMPLES = Path(__file__).parents[2] / "examples"
CODEX = EXAMPLES / "sessions" / "codex-invoice-rounding.jsonl"
LOOP = EXAMPLES / "sessions" / "agent-loop-log-rotation.jsonl"
BOTH = pytest.mark.parametrize("path", [CODEX, LOOP], ids=["codex", "agent_loop"])

MOST_BYTES = 400_000
NOT_TO_BE_SHARED = re.compile(
    r"(?<![\w.])/(?:tmp|root|work|Users|var)/|/home/(?!dev\b)|pyenv|site-packages|127\.0\.0\.1|"
    r"localhost"
    r"|SKILL\.md|sandbox_mode|You are Codex|base_instructions|[\w.]+@[\w-]+\.\w+"
)
"""Paths of a machine, addresses, and words from the texts that the agent's vendor wrote."""


def entries(path: Path) -> list[TranscriptEntry]:
    """All that the reader makes of a file."""
    return list(read_session(UnpackedUtf8Lines(path)))


def messages(path: Path) -> list[Message]:
    """The conversation in a file."""
    return [entry for entry in entries(path) if isinstance(entry, Message)]


def said(found: list[Message], origin: Origin) -> list[str]:
    """What was said with this origin, one text a message."""
    texts = [
        "\n".join(block.text for block in message.blocks if isinstance(block, TextBlock))
        for message in found
        if message.origin is origin
    ]
    return [text for text in texts if text]


def outputs(found: list[Message]) -> str:
    """All tool outputs, one below the other."""
    results = [
        block for message in found for block in message.blocks if isinstance(block, ToolResult)
    ]
    return "\n".join(
        block.text for result in results for block in result.content if isinstance(block, TextBlock)
    )


@BOTH
@pytest.mark.covers("FM-4", "FM-5")
def test_a_sample_is_read_without_a_skipped_or_mended_line(path: Path) -> None:
    """Both samples are recognised by their content, and every line of them is used."""
    assert detect_format(UnpackedUtf8Lines(path)) == {CODEX: "codex", LOOP: "memorist"}[path]
    found = entries(path)
    assert isinstance(found[0], SessionHead)
    assert found[0].cwd.startswith("/home/dev/")
    assert not [entry for entry in found if isinstance(entry, SkippedLine | RepairedLine)]


@BOTH
@pytest.mark.covers("FM-4", "FM-5")
def test_every_tool_call_of_a_sample_has_its_answer(path: Path) -> None:
    """A sample holds 20 tool calls or more, and none is left open."""
    calls, open_calls = 0, OpenToolCalls()
    for message in messages(path):
        calls += sum(isinstance(block, ToolUse) for block in message.blocks)
        open_calls.add(message)
    assert calls >= 20
    assert not open_calls


@pytest.mark.covers("FM-7")
def test_the_codex_sample_tells_the_person_from_the_harness() -> None:
    """The three things the person typed are the user's; what Codex put beside them is injected."""
    found = messages(CODEX)
    asks = said(found, Origin.USER)
    assert [ask[:24] for ask in asks] == [
        "The totals on our invoic",
        "No floats anywhere in th",
        "Good. For the release ma",
    ]
    assert said(found, Origin.INJECTED)
    assert all("left out" in text for text in said(found, Origin.INJECTED))


@pytest.mark.covers("FM-4")
def test_the_codex_sample_holds_its_story() -> None:
    """The failing test, the wrong guess, the traceback and the end stand in real outputs."""
    found = messages(CODEX)
    shown = outputs(found)
    for fact in (
        "'2.67 EUR' != '2.68 EUR'",
        "FAILED (failures=2)",
        "TypeError: unsupported operand",
        "Ran 30 tests",
        "3 invoices differ",
        "32.69 EUR",
    ):
        assert fact in shown
    assert "| Invoices of the third quarter | 3 of 60" in said(found, Origin.MODEL)[-1]


@pytest.mark.covers("FM-4")
def test_the_codex_sample_grows_through_several_updates_of_the_notes() -> None:
    """Its measured context passes the size at which notes begin and grows by their step at least
    twice more.
    """
    sizes = [entry.context for entry in entries(CODEX) if isinstance(entry, UsageReport)]
    start, step = Settings().session_memory.start_tokens, Settings().session_memory.growth_tokens
    assert sizes[0] < start
    assert max(sizes) >= start + 2 * step
    assert any(entry.cache_read for entry in entries(CODEX) if isinstance(entry, UsageReport))


@pytest.mark.covers("FM-5")
def test_the_loop_sample_holds_its_story() -> None:
    """The user's correction, the refused command, the error and the commit are there."""
    found = messages(LOOP)
    assert "don't sort by modification time" in said(found, Origin.USER)[1]
    shown = outputs(found)
    for fact in (
        "The user refused to run this command: rm",
        "deleted: app.log.bak",
        "invalid literal for int()",
        "Ran 9 tests",
        "[main ",
    ):
        assert fact in shown
    refused = [
        block
        for message in found
        for block in message.blocks
        if isinstance(block, ToolResult) and block.is_error
    ]
    assert len(refused) >= 3


@BOTH
def test_a_sample_holds_nothing_of_the_machine_or_the_vendor(path: Path) -> None:
    """No path, address, mail or instruction text is left in a sample, and it is small."""
    text = path.read_text(encoding="utf-8")
    assert not {match[0] for match in NOT_TO_BE_SHARED.finditer(text)}
    assert len(text.encode()) < MOST_BYTES


@pytest.mark.covers("SM-2", "SM-13")
async def test_the_samples_give_notes_when_they_are_replayed(tmp_path: Path) -> None:
    """Replaying both writes notes that hold the user's own words, after updates on the way."""
    replayed = await replay_files_to_report(
        [CODEX, LOOP], ReplayOptions(out=tmp_path / "out", settings=Settings(model="structural"))
    )
    assert not replayed.unread
    codex, loop = replayed.record.sessions
    assert len(codex.updates) >= 3
    assert len(loop.updates) >= 2
    assert "No floats anywhere in that module please" in codex.notes
    assert "don't sort by modification time" in loop.notes


@pytest.mark.covers("FM-5")
async def test_the_example_loop_records_the_same_story_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The example agent loop runs against the scripted server, and memorist's transcript of it has
    the sample's conversation.
    """
    pytest.importorskip("anthropic", reason="the example agent loop uses the Anthropic SDK")
    monkeypatch.syspath_prepend(str(EXAMPLES / "make_sessions"))
    made = await importlib.import_module("loop_session").run_loop(tmp_path)
    again, sample = messages(made), messages(LOOP)
    assert [(message.role, [type(block) for block in message.blocks]) for message in again] == [
        (message.role, [type(block) for block in message.blocks]) for message in sample
    ]
    assert said(again, Origin.MODEL) == said(sample, Origin.MODEL)


def test_cleaning_leaves_no_instruction_and_no_place_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a harness wrote becomes a mark, folders are renamed, and what the person typed stays."""
    monkeypatch.syspath_prepend(str(EXAMPLES / "make_sessions"))
    cleaning = importlib.import_module("cleaning")

    def spoken(role: str, kind: str, text: str) -> dict[str, object]:
        passed = {"content_item_kinds": [kind]}
        content = [{"type": "input_text", "text": text}]
        return {
            "type": "response_item",
            "payload": {
                "type": "message",
                "role": role,
                "content": content,
                "internal_chat_message_metadata_passthrough": passed,
            },
        }

    records = [
        {
            "type": "session_meta",
            "payload": {"cwd": f"{tmp_path}/project", "base_instructions": {"text": "Obey."}},
        },
        spoken(
            "developer",
            "permissions.instructions",
            "<permissions instructions>Ask first.</permissions instructions>",
        ),
        spoken("user", "user.text", f"Look into file://{tmp_path}/project, </root> stays"),
    ]
    rollout = tmp_path / "rollout.jsonl"
    rollout.write_text("\n".join(json.dumps(record) for record in records), encoding="utf-8")
    meta, injected, typed = [
        json.loads(line)["payload"]
        for line in cleaning.clean_rollout(rollout, tmp_path).splitlines()
    ]
    assert meta == {"cwd": "/home/dev/project"}
    assert (
        injected["content"][0]["text"]
        == f"<permissions instructions>{cleaning.LEFT_OUT}</permissions instructions>"
    )
    assert typed["content"][0]["text"] == "Look into file:///home/dev/project, </root> stays"
