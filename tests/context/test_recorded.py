"""The pieces that stand in a recorded session, turn by turn."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from memorist.compaction.window_at_message import rebuild_recorded_window
from memorist.context.context_pieces import apply_model_token_factor
from memorist.context.context_tags import SCAFFOLD_TABLE
from memorist.context.recorded_context import (
    CONVERSATION_PARTS,
    build_recorded_pieces,
    find_client_family,
    find_last_model,
    find_turn_by_number,
)
from memorist.core.messages import (
    ImageBlock,
    Message,
    Origin,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolUse,
    UnknownBlock,
)
from memorist.core.token_count import estimate_text_tokens
from memorist.errors import InputError
from memorist.formats.codec_registry import find_codec
from memorist.formats.transcript_format import (
    CompactionBoundary,
    SessionHead,
    SkippedLine,
    TranscriptEntry,
)

HEAD = SessionHead(session="s", format="codex", instructions="work well")


def said(role: str, *texts: str, number: int = 1) -> Message:
    item = {
        "type": "message",
        "role": role,
        "content": [
            {"type": "output_text" if role == "assistant" else "input_text", "text": text}
            for text in texts
        ],
    }
    return find_codec("openai_responses").decode_item(item, id=f"m{number}")[0]


SESSION: list[TranscriptEntry] = [
    HEAD,
    said(
        "developer",
        "<permissions instructions>ask</permissions instructions>",
        "a text without a tag",
    ),
    said(
        "user",
        "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nBe kind.\n</INSTRUCTIONS>",
        "<environment_context><cwd>/w</cwd></environment_context>",
    ),
    said("user", "first"),
    said("assistant", "<proposed_plan>one</proposed_plan>"),
    SkippedLine(7, "torn"),
    said("user", "second <system-reminder> is a word"),
    said("assistant", "done"),
]


def tags(entries: list[TranscriptEntry], turn: int | None = None) -> list[tuple[str, str]]:
    number, at = find_turn_by_number(entries, turn)
    del number
    return [
        (each.role, each.tag)
        for each in build_recorded_pieces(rebuild_recorded_window(entries, at), "rollout")
    ]


@pytest.mark.covers("CX-9", "CX-1")
def test_every_piece_of_a_session_is_named_by_the_table() -> None:
    """Base instructions from the head, scaffolds by their tags, the rest by who said it, each with
    a reason.
    """
    assert tags(SESSION) == [
        ("developer", "base_instructions"), ("developer", "permissions instructions"), ("developer", "developer_instructions"), ("user", "AGENTS.md"),
        ("user", "environment_context"), ("user", "prompt"), ("assistant", "proposed_plan"), ("user", "prompt"), ("assistant", "reply"),
    ]  # fmt: skip
    pieces = build_recorded_pieces(rebuild_recorded_window(SESSION), "rollout")
    assert all(each.why and each.source and each.tokens for each in pieces)
    assert {each.tag for each in pieces} <= {kind.tag for kind in SCAFFOLD_TABLE} | set(
        CONVERSATION_PARTS
    )


def test_the_number_of_a_message_is_no_beginning_of_an_id() -> None:
    """Most ids begin with a digit or a letter of one: message 2 is the second, whatever the first
    is called; longer beginnings are ids.
    """
    ids = ("2f00000-1", "9a00000-1", "1234567-1")
    entries: list[TranscriptEntry] = [
        Message(id=id, role="user", blocks=(TextBlock("Go."),), origin=Origin.USER, is_typed=True)
        for id in ids
    ]

    found = {at: rebuild_recorded_window(entries, at).last_message for at in ("2", "9a", "1234567")}

    assert found == {"2": ids[1], "9a": ids[1], "1234567": ids[2]}
    with pytest.raises(InputError, match="no message '9'"):
        rebuild_recorded_window(entries, "9")


@pytest.mark.covers("CX-9")
def test_a_turn_is_shown_as_the_model_saw_it_when_it_began() -> None:
    """Up to the person's words; nothing that came later; a turn that is not there is an error."""
    assert find_turn_by_number(SESSION, None) == (2, "")
    assert tags(SESSION, 1)[-1] == ("user", "prompt")
    assert len(tags(SESSION, 1)) == 6
    assert len(tags(SESSION, 2)) == 8
    with pytest.raises(InputError, match="no turn 3; it has 2"):
        find_turn_by_number(SESSION, 3)


@pytest.mark.covers("CX-9")
def test_what_a_compaction_removed_is_not_shown() -> None:
    """The window begins with what replaced the history."""
    summary = said("user", "Another language model started to solve this problem. It did well.")

    assert tags(
        [
            *SESSION,
            CompactionBoundary(id="b", line=9, replacement=(summary,)),
            said("user", "third"),
        ]
    )[1:] == [("user", "handover"), ("user", "prompt")]


@pytest.mark.covers("CX-9", "CX-2")
def test_blocks_of_every_kind_are_pieces() -> None:
    """Reasoning, calls, results, pictures and what nobody knows; a picture counts although it has
    no text.
    """
    blocks = (
        ThinkingBlock("so"), RedactedThinkingBlock("x"), ToolUse("c", "Read", {"path": "a"}), ToolResult("c", (TextBlock("ok"),)), ImageBlock({}), UnknownBlock("odd", {"a": 1}),
    )  # fmt: skip
    whole: list[TranscriptEntry] = [
        SessionHead(session="s", format="claude_code"),
        Message(id="m", role="assistant", blocks=blocks, origin=Origin.MODEL),
    ]

    pieces = build_recorded_pieces(rebuild_recorded_window(whole), "file-native")

    assert [each.tag for each in pieces] == [
        "thinking",
        "thinking",
        "tool_use",
        "tool_result",
        "media",
        "unknown",
    ]
    assert [each.text for each in pieces[2:]] == ['Read {"path":"a"}', "ok", "[image]", "[odd]"]
    assert pieces[4].tokens == 2_000


@pytest.mark.covers("CX-9")
def test_reminders_beside_a_prompt_are_pieces_of_their_own() -> None:
    """One message of the file-native family: what the harness said, and what the person typed."""
    text = "<system-reminder>\nrules\n</system-reminder>\n\nfix it"
    message = find_codec("anthropic").decode_item({"role": "user", "content": text}, id="m")[0]

    pieces = build_recorded_pieces(
        rebuild_recorded_window([SessionHead(session="s", format="claude_code"), message]),
        "file-native",
    )

    assert [(each.tag, each.text.partition("\n")[0]) for each in pieces] == [
        ("system-reminder", "<system-reminder>"),
        ("prompt", "fix it"),
    ]


def test_the_family_is_that_of_the_client_that_wrote_the_file() -> None:
    """Where the file does not say, the setting does."""
    assert find_client_family(HEAD, "file-native") == "rollout"
    assert (
        find_client_family(SessionHead(session="s", format="claude_code"), "rollout")
        == "file-native"
    )
    assert find_client_family(SessionHead(session="s", format="memorist"), "rollout") == "rollout"
    assert find_client_family(None, "rollout") == "rollout"


def test_injected_text_without_a_tag_says_what_it_counts_as() -> None:
    """Such as a hook's words: known by the harness rules, not by a row."""
    hook = said("user", "SessionStart hook additional context: the branch is main")

    (piece,) = build_recorded_pieces(
        rebuild_recorded_window([SessionHead(session="s", format="codex"), hook]), "rollout"
    )

    assert (piece.tag, piece.why) == (
        "injected",
        "counts as injected, by its first words or by the file's own mark",
    )


@pytest.mark.covers("CX-9")
def test_the_model_is_that_of_the_newest_reply_until_then() -> None:
    """A switch of models counts from where it was made; the head's name holds where no reply names
    one; else none is known.
    """
    named = [
        replace(said("assistant", "a", number=1), model="gpt-5"),
        said("user", "b", number=2),
        replace(said("assistant", "c", number=3), model="claude-opus-4-7"),
    ]

    assert find_last_model(rebuild_recorded_window(named)) == "claude-opus-4-7"
    assert find_last_model(rebuild_recorded_window(named, "2")) == "gpt-5"
    assert (
        find_last_model(rebuild_recorded_window([replace(HEAD, model="gpt-5.1"), *SESSION[1:]]))
        == "gpt-5.1"
    )
    assert find_last_model(rebuild_recorded_window(SESSION)) == ""


@pytest.mark.covers("CX-9")
@given(
    st.text(min_size=1),
    st.sampled_from(
        [
            ("claude-opus-4-6", 1.42),
            ("claude-opus-4-7", 1.72),
            ("gpt-5", 1.05),
            ("else", 1.2),
            ("", 1.0),
        ]
    ),
)
def test_tokens_are_those_of_the_models_family(text: str, known: tuple[str, float]) -> None:
    """The factor of the family, rounded up, and at most two tokens beside the count of the text
    itself.
    """
    model, factor = known
    message = Message(
        id="m", role="user", blocks=(TextBlock(text),), origin=Origin.USER, is_typed=True
    )
    pieces = build_recorded_pieces(rebuild_recorded_window([message]), "rollout")

    for plain, counted in zip(pieces, apply_model_token_factor(pieces, model), strict=True):
        assert counted.tokens == math.ceil(plain.tokens * factor)
        assert 0 <= counted.tokens - estimate_text_tokens(plain.text, factor) <= 2
