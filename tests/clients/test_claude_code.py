"""Sessions of the real Claude Code: what memorist reads from the transcripts it writes."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from clients import stories
from clients.agents import HOOK_WORDS, Ran
from clients.readings import replay, typed
from memorist.core.messages import Message, Origin, TextBlock, ToolUse
from memorist.core.tool_pairs import OpenToolCalls
from memorist.formats.codec_registry import find_codec
from memorist.formats.format_detection import detect_format
from memorist.formats.host_markup import strip_host_markup
from memorist.formats.transcript_format import (
    CompactionBoundary,
    RepairedLine,
    SessionHead,
    SkippedLine,
)
from memorist.store.transcript_reader import UnpackedUtf8Lines

pytestmark = pytest.mark.real_client

BEFORE = 1
"""The turn after which the session has not been compacted yet."""
SCAFFOLD = ("Amounts have two decimals.", HOOK_WORDS)
"""What stands in the requests beside the prompts: the rules of the project, and a hook's words."""


def records(path: Path) -> list[dict[str, Any]]:
    """The records of a transcript as they stand."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def said(messages: tuple[Message, ...] | list[Message]) -> list[tuple[str, str]]:
    """Who said what, without what is injected: typed and written texts, calls, and which calls were
    answered.
    """
    found: list[tuple[str, str]] = []
    for message in messages:
        for block in message.blocks:
            match block:
                case TextBlock(text=text) if (block.origin or message.origin) in (
                    Origin.USER,
                    Origin.MODEL,
                    Origin.SUMMARY,
                ):
                    found.append((message.role, strip_host_markup(text)))
                case ToolUse(id=use, input=given):
                    found.append((use, str(given["command"])))
                case _:
                    pass
        found += [("result", result.tool_use_id) for result in message.tool_results]
    return found


@pytest.mark.covers("FM-3")
def test_a_transcript_is_recognised_and_every_line_of_it_used(claude_session: Ran) -> None:
    """One head with session, model and version, and nothing skipped or mended."""
    entries = claude_session.entries()
    head = entries[0]

    assert detect_format(UnpackedUtf8Lines(claude_session.files[-1])) == "claude_code"
    assert isinstance(head, SessionHead)
    assert (head.format, head.model, bool(head.session), bool(head.version)) == (
        "claude_code",
        "claude-sonnet-4-5",
        True,
        True,
    )
    assert not [entry for entry in entries if isinstance(entry, SkippedLine | RepairedLine)]


@pytest.mark.covers("FM-3", "FM-7")
def test_what_claude_code_puts_beside_the_prompts_is_not_taken_for_the_users(
    claude_session: Ran,
) -> None:
    """The user's messages are what was typed, letter for letter, the slash command included; no
    reminder, rule or hook is among them.
    """
    messages = claude_session.messages()
    sent = json.dumps(claude_session.bodies[0]["messages"])

    assert typed(messages) == list(claude_session.asked)
    assert all(words in sent for words in SCAFFOLD)
    assert not [
        words
        for words in SCAFFOLD
        for message in messages
        if words in message.text and message.origin is Origin.USER
    ]


@pytest.mark.covers("FM-3")
def test_each_record_of_a_transcript_is_one_message_in_the_order_of_its_chain(
    claude_session: Ran,
) -> None:
    """User and assistant records, one block each for the model's, become messages with their own
    ids; a reply's records share its id.
    """
    messages = claude_session.messages()
    expected = [
        record["uuid"]
        for record in records(claude_session.files[-1])
        if record["type"] in ("user", "assistant")
    ]
    replies = [message.reply_id for message in messages if message.origin is Origin.MODEL]

    assert [message.id for message in messages] == expected
    assert all(len(message.blocks) == 1 for message in messages if message.origin is Origin.MODEL)
    assert [replies.count(reply) for reply in dict.fromkeys(replies)] == [3, 2, 1, 1, 1, 1]


@pytest.mark.covers("FM-3")
def test_every_call_in_a_transcript_has_its_result(claude_session: Ran) -> None:
    """Four calls, two of them side by side, each with what its command printed; the failed one is
    marked.
    """
    messages = claude_session.messages()
    calls = [call for message in messages for call in message.tool_uses]
    results = {
        result.tool_use_id: result for message in messages for result in message.tool_results
    }
    still_open = OpenToolCalls()
    for message in messages:
        still_open.add(message)

    assert [call.input["command"] for call in calls] == [
        stories.READ,
        stories.LIST,
        stories.FAIL,
        stories.COUNT,
    ]
    assert not still_open
    assert results.keys() == {call.id for call in calls}
    assert "Birch 80.50" in results[calls[0].id].text
    assert [results[call.id].is_error for call in calls] == [False, False, True, False]


@pytest.mark.covers("FM-3")
def test_usage_is_counted_once_a_reply(claude_session: Ran) -> None:
    """However many records a reply has, its usage stands with one, as the server sent it."""
    found = [message.usage for message in claude_session.messages() if message.usage is not None]

    assert found == [*stories.CLAUDE_USAGE, stories.CLAUDE_AFTER]


@pytest.mark.covers("FM-3")
def test_a_resumed_session_goes_on_in_the_same_chain(claude_session: Ran) -> None:
    """What was read after the first turn is the beginning of what is read after the second, and
    parents go back to the first prompt.
    """
    first, both = claude_session.messages(0), claude_session.messages(BEFORE)
    parents = {
        record["uuid"]: record["parentUuid"]
        for record in records(claude_session.files[BEFORE])
        if "uuid" in record
    }
    chain = [both[-1].id]
    while parents[chain[-1]] is not None:
        chain.append(parents[chain[-1]])

    assert len(first) < len(both)
    assert both[: len(first)] == first
    assert chain[-1] == first[0].id
    assert all(
        earlier.timestamp <= later.timestamp
        for earlier, later in pairwise(both)
        if earlier.timestamp and later.timestamp
    )


@pytest.mark.covers("FM-3", "FM-7")
def test_what_is_read_from_a_transcript_is_what_claude_code_sends(claude_session: Ran) -> None:
    """Typed words, the model's texts, calls and answers are those of the last request before the
    compaction, in its order.
    """
    sent = (
        find_codec("anthropic")
        .decode_request(claude_session.bodies[stories.BEFORE_COMPACTION - 1])
        .messages
    )
    kept = claude_session.messages(BEFORE)

    assert said(kept[:-1]) == said(sent)
    assert kept[-1].text == "It has 47 bytes."


@pytest.mark.covers("FM-3", "FM-7")
def test_a_compaction_of_claude_code_is_a_boundary_and_its_summary_is_told_apart(
    claude_session: Ran,
) -> None:
    """`/compact` leaves a manual boundary with the size before it; summary and kept messages are
    those of the next request.
    """
    entries = claude_session.entries()
    place = next(
        index for index, entry in enumerate(entries) if isinstance(entry, CompactionBoundary)
    )
    boundary = entries[place]
    assert isinstance(boundary, CompactionBoundary)
    before = [entry for entry in entries[:place] if isinstance(entry, Message)]
    after = [entry for entry in entries[place:] if isinstance(entry, Message)]
    sent = find_codec("anthropic").decode_request(claude_session.bodies[-1]).messages

    assert (boundary.trigger, boundary.tokens_before) == (
        "manual",
        stories.CLAUDE_USAGE[-1].context_tokens,
    )
    assert [message.id for message in before] == [
        message.id for message in claude_session.messages(BEFORE)
    ]
    assert [message.text for message in after if message.origin is Origin.SUMMARY] == [sent[0].text]
    assert stories.SUMMARY in sent[0].text
    assert boundary.kept == 1
    assert said([after[0], *before[-boundary.kept :], *after[1:-1]]) == said(sent)


@pytest.mark.covers("FM-3", "FM-7")
def test_the_replay_of_a_transcript_gives_notes_with_the_users_words(
    claude_session: Ran, tmp_path: Path
) -> None:
    """From the real file to notes on disk, by the command a user runs."""
    told, notes = replay(claude_session.files[-1], tmp_path)

    assert (told["format"], told["skipped"], told["mended"]) == ("claude_code", [], [])
    assert told["tokens_peak"] >= stories.CLAUDE_USAGE[-1].context_tokens
    assert "Never change that file." in notes
    assert "How many bytes has it?" in notes
    assert "Who is the other one?" in notes
    assert stories.SUMMARY in notes
    assert not [words for words in SCAFFOLD if words in notes]
