"""The context of a recorded session at one of its turns, in pieces, and what was added or is gone
since another (CX-9). Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from memorist.compaction.window_at_message import RecordedWindow
from memorist.context.claude_code_attachments import (
    get_attachment_kind,
    get_attachment_tag_and_reason,
)
from memorist.context.context_pieces import ContextPiece, build_context_piece
from memorist.context.context_tags import (
    identify_context_tag,
    require_context_tag_definition,
    split_by_context_tags,
)
from memorist.core.messages import (
    RECALL_ID_PREFIX,
    ROLLOUT_MEMORY_ID_PREFIX,
    SKILL_ID_PREFIX,
    WORLD_STATE_ID_PREFIX,
    Block,
    Message,
    Origin,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolUse,
    UnknownBlock,
)
from memorist.core.token_count import estimate_message_tokens
from memorist.errors import InputError
from memorist.formats.transcript_format import SessionHead, TranscriptEntry
from memorist.settings import Family

_FAMILIES: dict[str, Family] = {"codex": "rollout", "claude_code": "file-native"}
_UNTAGGED = {"developer": "developer_instructions", "system": "static"}
"""What untagged text of these roles is, known by the role alone."""

CONVERSATION_PARTS = {
    "prompt": "the user said it",
    "reply": "the model said it",
    "thinking": "the model thought it",
    "tool_use": "the model called a tool",
    "tool_result": "a tool answered",
    "media": "a picture or document",
    "unknown": "an item of a kind that is not known here, called by its name",
}
"""Parts of the conversation that are not scaffold, with the reason for each."""

OWN_MESSAGE_REASONS = {
    WORLD_STATE_ID_PREFIX: "memorist told what of the surroundings changed",
    SKILL_ID_PREFIX: "the body of a skill that was called for",
    RECALL_ID_PREFIX: "memories that suit the conversation",
    ROLLOUT_MEMORY_ID_PREFIX: "what past sessions taught",
}
"""What memorist adds in a live session, by the prefix of the message ids."""


def find_client_family(head: SessionHead | None, otherwise: Family) -> Family:
    """Return the family of a recorded session, by the client that wrote it."""
    return _FAMILIES.get(head.format, otherwise) if head is not None else otherwise


def find_last_model(recorded: RecordedWindow) -> str:
    """Return the model of the newest reply so far; otherwise what the head names; otherwise
    empty.
    """
    named = next(
        (message.model for message in reversed(recorded.all_messages) if message.model), None
    )
    return named or (recorded.head.model if recorded.head is not None else "")


def starts_user_turn(message: Message) -> bool:
    """Tell whether a message begins a turn: the user spoke."""
    return message.origin is Origin.USER and message.role == "user" and not message.tool_results


def find_turn_by_number(entries: Iterable[TranscriptEntry], turn: int | None) -> tuple[int, str]:
    """Find a turn (the last one without a number) and the id of the message it begins with.

    It begins with the user's words, or with the last of what the host adds to them. The id is empty
    for the last turn, which is shown to the end of the session. Raises InputError if there is no
    such turn.
    """
    count = messages = 0
    for entry in entries:
        if isinstance(entry, Message):
            if count == turn and not _accompanies_prompt(entry):
                return count, str(messages)
            messages += 1
            count += starts_user_turn(entry)
    if turn is not None and count == turn:
        return count, str(messages)
    if turn is not None:
        raise InputError(f"the session has no turn {turn}; it has {count}")
    return count, ""


def _accompanies_prompt(message: Message) -> bool:
    """Tell whether a message accompanies the prompt before it: host additions such as a skill or an
    attachment.
    """
    return (
        message.role in {"user", "developer"}
        and message.origin is Origin.INJECTED
        and not message.tool_results
    )


def build_recorded_pieces(recorded: RecordedWindow, family: Family) -> tuple[ContextPiece, ...]:
    """Return every piece of the window at that message, in order: base instructions if the file
    holds them, scaffold, and conversation.
    """
    found: list[ContextPiece] = []
    if recorded.head is not None and recorded.head.instructions:
        kind = require_context_tag_definition(
            "base_instructions" if family == "rollout" else "static", family
        )
        found.append(
            build_context_piece(
                kind.role,
                kind.tag,
                recorded.head.instructions,
                source="the session's head",
                why=kind.when,
            )
        )
    for message in recorded.messages:
        found += _message_pieces(message, family)
    return tuple(found)


def _message_pieces(message: Message, family: Family) -> Iterator[ContextPiece]:
    source = f"line {message.line}" if message.line else message.id
    if kind := get_attachment_kind(message):
        tag, why = get_attachment_tag_and_reason(kind)
        yield build_context_piece(message.role, tag, message.text, source=source, why=why)
        return
    for block in message.blocks:
        if isinstance(block, TextBlock):
            yield from _text_pieces(block, message, family, source)
        else:
            tag, text = describe_and_render_block(block)
            piece = build_context_piece(
                message.role, tag, text, source=source, why=CONVERSATION_PARTS[tag]
            )
            yield msgspec.structs.replace(
                piece,
                tokens=estimate_message_tokens(msgspec.structs.replace(message, blocks=(block,))),
            )


def _text_pieces(
    block: TextBlock, message: Message, family: Family, source: str
) -> Iterator[ContextPiece]:
    if message.role == "assistant":
        kind = identify_context_tag(block.text, "assistant", family)
        tag, why = (kind.tag, kind.when) if kind else ("reply", CONVERSATION_PARTS["reply"])
        yield build_context_piece("assistant", tag, block.text, source=source, why=why)
        return
    ours = next(
        (why for start, why in OWN_MESSAGE_REASONS.items() if message.id.startswith(start)), ""
    )
    for kind, text in split_by_context_tags(block.text, message.role, family):
        tag, why = (kind.tag, kind.when) if kind else name_untagged_text(message, block)
        yield build_context_piece(
            message.role, tag, text, source="memorist" if ours else source, why=ours or why
        )


def name_untagged_text(message: Message, block: TextBlock) -> tuple[str, str]:
    """Name a text that no tag identifies."""
    if message.role in _UNTAGGED:
        return _UNTAGGED[message.role], "known by its role alone: it has no tag"
    origin = block.origin or message.origin
    if origin in {Origin.USER, Origin.TOOL}:
        return "prompt", CONVERSATION_PARTS["prompt"]
    return origin.value, f"counts as {origin.value}, by its first words or by the file's own mark"


def describe_and_render_block(block: Block) -> tuple[str, str]:
    """Name a block that is not text, and render it."""
    match block:
        case ThinkingBlock(text=text):
            return "thinking", text
        case RedactedThinkingBlock():
            return "thinking", "[withheld by the provider]"
        case ToolUse(name=name, input=given, arguments=arguments):
            return (
                "tool_use",
                f"{name} "
                f"{arguments if arguments is not None else msgspec.json.encode(given).decode()}",
            )
        case ToolResult():
            return "tool_result", block.text
        case UnknownBlock(kind=kind):
            return "unknown", f"[{kind}]"
        case _:
            return "media", f"[{type(block).__name__.removesuffix('Block').lower()}]"
