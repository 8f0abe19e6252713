"""Reorder messages of other formats as Anthropic and Chat Completions require: the results of a
call directly after it.

Responses allows anything between a call and its result (Codex puts hook messages there); the other
two do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct, structs

from memorist.core.messages import Message, Origin, ToolResult


class Turn(Struct):
    """Consecutive messages of one side: groups alternate between the assistant and everyone else.
    """

    assistant: bool
    messages: list[Message]
    answers: list[ToolResult]
    """Tool results from messages of other formats; they come before the messages."""

    def all_messages(self) -> list[Message]:
        """The tool results as one message of no format, then the messages."""
        if not self.answers:
            return self.messages
        return [Message(id="", role="tool", blocks=tuple(self.answers), origin=Origin.TOOL), *self.messages]


def turns(messages: Iterable[Message], native: Callable[[Message], bool]) -> list[Turn]:
    """Group messages by side. Native messages are kept whole; tool results in the others move to
    the group after their call.
    """
    found: list[Turn] = []
    asked: dict[str, int] = {}
    for message in messages:
        if native(message):
            _last(found, assistant=message.role == "assistant").messages.append(message)
        else:
            _add(found, asked, message)
        for call in message.tool_uses:
            asked[call.id] = len(found)
    return found


def _add(found: list[Turn], asked: dict[str, int], message: Message) -> None:
    answers = message.tool_results
    for answer in answers:
        place = asked.get(answer.tool_use_id)
        turn = found[place] if place is not None and place < len(found) else _last(found, assistant=False)
        turn.answers.append(answer)
    if not answers:
        _last(found, assistant=message.role == "assistant").messages.append(message)
        return
    others = tuple(block for block in message.blocks if not isinstance(block, ToolResult))
    if others:
        _last(found, assistant=message.role == "assistant").messages.append(structs.replace(message, blocks=others))


def _last(found: list[Turn], *, assistant: bool) -> Turn:
    if not found or found[-1].assistant is not assistant:
        found.append(Turn(assistant=assistant, messages=[], answers=[]))
    return found[-1]
