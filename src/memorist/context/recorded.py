"""A recorded session's context at one of its turns, cut into pieces by the scaffold table.

Pure (CX-9).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from memorist.compaction.recorded import Recorded
from memorist.context.attachments import kind_of, tag_and_reason
from memorist.context.piece import Piece, piece
from memorist.context.scaffold import identify, pieces_of, row
from memorist.context.settings import Family
from memorist.core.messages import (
    PAST,
    RECALLED,
    SKILL_BODY,
    WORLD_CHANGE,
    Block,
    Message,
    Origin,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Unknown,
)
from memorist.core.tokens import estimate_message
from memorist.errors import InputError
from memorist.formats.recorded import Entry, Head

_FAMILIES: dict[str, Family] = {"codex": "rollout", "claude_code": "file-native"}
_UNTAGGED = {"developer": "developer_instructions", "system": "static"}
"""What untagged text of these roles is, known by the role alone."""

CONVERSATION = {
    "prompt": "the user said it",
    "reply": "the model said it",
    "thinking": "the model thought it",
    "tool_use": "the model called a tool",
    "tool_result": "a tool answered",
    "media": "a picture or document",
    "unknown": "an item of a kind that is not known here, called by its name",
}
"""Parts of the conversation that are not scaffold, with the reason for each."""

OURS = {
    WORLD_CHANGE: "memorist told what of the surroundings changed",
    SKILL_BODY: "the body of a skill that was called for",
    RECALLED: "memories that suit the conversation",
    PAST: "what past sessions taught",
}
"""What memorist adds in a live session, by the prefix of the message ids."""


def family_of(head: Head | None, otherwise: Family) -> Family:
    """Return the family of a recorded session, by the client that wrote it."""
    return _FAMILIES.get(head.format, otherwise) if head is not None else otherwise


def model_of(recorded: Recorded) -> str:
    """Return the model of the newest reply so far; otherwise what the head names; otherwise
    empty.
    """
    named = next((message.model for message in reversed(recorded.everything) if message.model), None)
    return named or (recorded.head.model if recorded.head is not None else "")


def is_turn(message: Message) -> bool:
    """Tell whether a message begins a turn: the user spoke."""
    return message.origin is Origin.USER and message.role == "user" and not message.tool_results


def place_of_turn(entries: Iterable[Entry], turn: int | None) -> tuple[int, str]:
    """Find a turn (the last one without a number) and the id of the message it begins with, for
    `recorded_at`.

    It begins with the user's words, or with the last of what the host adds to them. The id is empty
    for the last turn, which is shown to the end of the session. Raises InputError if there is no
    such turn.
    """
    count = messages = 0
    for entry in entries:
        if isinstance(entry, Message):
            if count == turn and not _comes_along(entry):
                return count, str(messages)
            messages += 1
            count += is_turn(entry)
    if turn is not None and count == turn:
        return count, str(messages)
    if turn is not None:
        raise InputError(f"the session has no turn {turn}; it has {count}")
    return count, ""


def _comes_along(message: Message) -> bool:
    """Tell whether a message accompanies the prompt before it: host additions such as a skill or an
    attachment.
    """
    return message.role in {"user", "developer"} and message.origin is Origin.INJECTED and not message.tool_results


def recorded_pieces(recorded: Recorded, family: Family) -> tuple[Piece, ...]:
    """Return every piece of the window at that message, in order: base instructions if the file
    holds them, scaffold, and conversation.
    """
    found: list[Piece] = []
    if recorded.head is not None and recorded.head.instructions:
        kind = row("base_instructions" if family == "rollout" else "static", family)
        found.append(piece(kind.role, kind.tag, recorded.head.instructions, source="the session's head", why=kind.when))
    for message in recorded.messages:
        found += _of_message(message, family)
    return tuple(found)


def _of_message(message: Message, family: Family) -> Iterator[Piece]:
    source = f"line {message.line}" if message.line else message.id
    if kind := kind_of(message):
        tag, why = tag_and_reason(kind)
        yield piece(message.role, tag, message.text, source=source, why=why)
        return
    for block in message.blocks:
        if isinstance(block, Text):
            yield from _of_text(block, message, family, source)
        else:
            tag, text = _said(block)
            made = piece(message.role, tag, text, source=source, why=CONVERSATION[tag])
            yield msgspec.structs.replace(made, tokens=estimate_message(msgspec.structs.replace(message, blocks=(block,))))


def _of_text(block: Text, message: Message, family: Family, source: str) -> Iterator[Piece]:
    if message.role == "assistant":
        kind = identify(block.text, "assistant", family)
        tag, why = (kind.tag, kind.when) if kind else ("reply", CONVERSATION["reply"])
        yield piece("assistant", tag, block.text, source=source, why=why)
        return
    ours = next((why for start, why in OURS.items() if message.id.startswith(start)), "")
    for kind, text in pieces_of(block.text, message.role, family):
        tag, why = (kind.tag, kind.when) if kind else untagged(message, block)
        yield piece(message.role, tag, text, source="memorist" if ours else source, why=ours or why)


def untagged(message: Message, block: Text) -> tuple[str, str]:
    """Name a text that no tag identifies."""
    if message.role in _UNTAGGED:
        return _UNTAGGED[message.role], "known by its role alone: it has no tag"
    origin = block.origin or message.origin
    if origin in {Origin.USER, Origin.TOOL}:
        return "prompt", CONVERSATION["prompt"]
    return origin.value, f"counts as {origin.value}, by its first words or by the file's own mark"


def part_of(block: Block) -> str:
    """Name a block that is not text, by its key in `CONVERSATION_PARTS`."""
    return _said(block)[0]


def _said(block: Block) -> tuple[str, str]:
    """Name a block that is not text, and render it."""
    match block:
        case Thinking(text=text):
            return "thinking", text
        case RedactedThinking():
            return "thinking", "[withheld by the provider]"
        case ToolUse(name=name, input=given, arguments=arguments):
            return "tool_use", f"{name} {arguments if arguments is not None else msgspec.json.encode(given).decode()}"
        case ToolResult():
            return "tool_result", block.text
        case Unknown(kind=kind):
            return "unknown", f"[{kind}]"
        case _:
            return "media", f"[{type(block).__name__.lower()}]"
