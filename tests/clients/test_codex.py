"""Sessions of the real Codex CLI: what memorist reads from the rollouts it writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clients import stories
from clients.agents import Ran
from clients.readings import replay, typed
from memorist.core.messages import JsonObject, Message, Origin, Usage
from memorist.core.tool_pairs import OpenToolCalls
from memorist.formats.codec_registry import find_codec
from memorist.formats.format_detection import detect_format
from memorist.formats.transcript_format import (
    CompactionBoundary,
    RepairedLine,
    SessionHead,
    SkippedLine,
    TurnRollback,
    UsageReport,
)
from memorist.store.transcript_reader import UnpackedUtf8Lines

pytestmark = pytest.mark.real_client

RESPONSES = find_codec("openai_responses")
KEPT_BACK = "internal_chat_message_metadata_passthrough"
"""What Codex writes about an item into its file and leaves out of its requests."""


def as_requested(messages: tuple[Message, ...] | list[Message]) -> list[Any]:
    """Messages of a rollout as Codex sends them."""
    return [
        {key: value for key, value in item.items() if key != KEPT_BACK}
        for item in RESPONSES.encode_messages(messages)
    ]


def history(body: JsonObject) -> list[Any]:
    """The input of a request without the base instructions, which a rollout holds in its head."""
    items: list[Any] = body["input"]
    assert items[0]["role"] == "developer"
    return items[1:]


@pytest.mark.covers("FM-4")
def test_a_rollout_is_recognised_and_every_line_of_it_used(codex_session: Ran) -> None:
    """One head with version, window and base instructions, and nothing skipped, mended or rolled
    back.
    """
    entries = codex_session.entries()
    head = entries[0]

    assert detect_format(UnpackedUtf8Lines(codex_session.files[-1])) == "codex"
    assert isinstance(head, SessionHead)
    assert (head.format, head.model, bool(head.version), bool(head.window)) == (
        "codex",
        "scripted",
        True,
        True,
    )
    assert (
        head.instructions.splitlines()[0]
        == codex_session.bodies[0]["input"][0]["content"][0]["text"].splitlines()[0]
    )
    assert not [
        entry
        for entry in entries
        if isinstance(entry, SkippedLine | RepairedLine | TurnRollback | CompactionBoundary)
    ]


@pytest.mark.covers("FM-4", "FM-7")
def test_what_codex_puts_beside_the_prompts_is_not_taken_for_the_users(codex_session: Ran) -> None:
    """The user's messages are what was typed, letter for letter; rules and environment are
    injected.
    """
    messages = codex_session.messages()
    others = {message.origin for message in messages if message.role in ("user", "developer")} - {
        Origin.USER
    }

    assert [message.text for message in messages if message.origin is Origin.USER] == list(
        stories.ASKED
    )
    assert typed(messages) == list(stories.ASKED)
    assert others == {Origin.INJECTED}
    assert any(
        "Amounts have two decimals." in message.text
        for message in messages
        if message.origin is Origin.INJECTED
    )


@pytest.mark.covers("FM-4")
def test_every_call_in_a_rollout_has_its_result(codex_session: Ran) -> None:
    """Four calls, two of them side by side, each with what its command printed."""
    messages = codex_session.messages()
    calls = [call for message in messages for call in message.tool_uses]
    results = {
        result.tool_use_id: result.text for message in messages for result in message.tool_results
    }
    still_open = OpenToolCalls()
    for message in messages:
        still_open.add(message)

    assert [call.input["cmd"] for call in calls] == [
        stories.READ,
        stories.LIST,
        stories.FAIL,
        stories.COUNT,
    ]
    assert not still_open
    assert list(results) == [call.id for call in calls]
    assert "Birch 80.50" in results[calls[0].id]
    assert "No such file" in results[calls[2].id]


@pytest.mark.covers("FM-4")
def test_the_counts_in_a_rollout_are_those_of_the_server(codex_session: Ran) -> None:
    """One measurement a request, in order, with the usage that the server sent."""
    counts = [entry for entry in codex_session.entries() if isinstance(entry, UsageReport)]

    assert [
        Usage(input=count.input, cache_read=count.cache_read, output=count.output)
        for count in counts
    ] == list(stories.CODEX_USAGE)
    assert [count.context for count in counts] == [
        usage.context_tokens for usage in stories.CODEX_USAGE
    ]


@pytest.mark.covers("FM-2", "FM-4")
def test_what_is_read_from_a_rollout_is_what_codex_sends(codex_session: Ran) -> None:
    """The messages, written as Responses items, are the input of the last request item by item; the
    last answer follows.
    """
    sent = history(codex_session.bodies[-1])
    messages = codex_session.messages()

    assert as_requested(messages[: len(sent)]) == sent
    assert [message.text for message in messages[len(sent) :]] == ["It has 47 bytes."]


@pytest.mark.covers("FM-4")
def test_a_resumed_session_goes_on_in_the_same_rollout(codex_session: Ran) -> None:
    """What was read after the first turn is the beginning of what is read after the second."""
    first, both = codex_session.messages(0), codex_session.messages(1)

    assert len(first) < len(both)
    assert both[: len(first)] == first


@pytest.mark.covers("FM-4", "FM-7")
def test_the_replay_of_a_rollout_gives_notes_with_the_users_words(
    codex_session: Ran, tmp_path: Path
) -> None:
    """From the real file to notes on disk, by the command a user runs."""
    said, notes = replay(codex_session.files[-1], tmp_path)

    assert (said["format"], said["turns"], said["skipped"], said["mended"]) == ("codex", 2, [], [])
    assert said["tokens_peak"] == max(usage.context_tokens for usage in stories.CODEX_USAGE)
    assert "Never change that file." in notes
    assert "How many bytes has it?" in notes
    assert "Amounts have two decimals." not in notes


@pytest.mark.covers("FM-4")
def test_a_compaction_of_codex_is_a_boundary_with_what_it_sends_next(codex_compaction: Ran) -> None:
    """The replacement is the input of the request after the compaction, and tells the user's words,
    context and summary apart.
    """
    (boundary,) = [
        entry for entry in codex_compaction.entries() if isinstance(entry, CompactionBoundary)
    ]
    asked = codex_compaction.asked

    assert codex_compaction.bodies[2]["tools"] == []
    assert as_requested(boundary.replacement) == history(codex_compaction.bodies[3])
    assert typed(boundary.replacement) == list(asked[:2])
    assert boundary.replacement[-1].origin is Origin.SUMMARY
    assert boundary.replacement[-1].text.endswith(stories.SUMMARY)
    assert {message.origin for message in boundary.replacement} == {
        Origin.USER,
        Origin.INJECTED,
        Origin.SUMMARY,
    }
    assert (boundary.tokens_before or 0) >= 250_000


@pytest.mark.covers("FM-4")
def test_after_a_compaction_codex_goes_on_from_the_replacement(codex_compaction: Ran) -> None:
    """On resume the input is the replacement and the messages after the boundary, and no typed word
    is lost or said twice.
    """
    entries = codex_compaction.entries()
    place = next(
        index for index, entry in enumerate(entries) if isinstance(entry, CompactionBoundary)
    )
    boundary = entries[place]
    assert isinstance(boundary, CompactionBoundary)
    after = [entry for entry in entries[place:] if isinstance(entry, Message)]

    assert as_requested([*boundary.replacement, *after[:-1]]) == history(
        codex_compaction.bodies[-1]
    )
    assert typed(codex_compaction.messages()) == list(codex_compaction.asked)
    assert not [entry for entry in entries if isinstance(entry, SkippedLine | RepairedLine)]


@pytest.mark.covers("FM-4", "FM-7")
def test_the_replay_of_a_compacted_rollout_keeps_what_was_asked_before(
    codex_compaction: Ran, tmp_path: Path
) -> None:
    """The words that the user typed before, at and after the compaction are in the notes; the
    compaction prompt is not.
    """
    said, notes = replay(codex_compaction.files[-1], tmp_path)

    assert (said["turns"], said["skipped"]) == (3, [])
    assert "Never change that file." in notes
    assert "Who is the other one?" in notes
    assert "CHECKPOINT" not in notes
