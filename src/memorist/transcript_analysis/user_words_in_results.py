"""What a person types outside the prompt: the reason of a refused call, and answers to the agent's
questions. Pure.

A tool result can say anything, so the words count only where the client alone writes the result:
the refusal opens with the client's own sentence, and an answer belongs to a call that asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from memorist.core.bounded_collections import BoundedDict
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import Message, Origin, TextBlock, ToolResult, ToolUse
from memorist.transcript_analysis.call_outcome import parse_codex_answers
from memorist.transcript_analysis.tool_actions import (
    AskUserAction,
    ChangeAction,
    OtherToolAction,
    ProposePlanAction,
    ToolAction,
    list_question_ids_and_texts,
    parse_tool_action,
)

MAX_OPEN_CALLS = 500
"""Calls held until their results come; the oldest is dropped above it."""
MAX_REPLY_CHARS = 4_000
"""Characters of the longest reply that is read; a longer one is a paste."""

_REFUSAL_REASON = lazy_pattern(
    r"The user doesn['’]t want to (?:proceed with this tool use|take this action right now)\."
    r"[^\n]{0,300}?the user said:\s*(?P<words>\S.*)",
    re.DOTALL,
)
"""Claude Code's result of a call that was refused with a reason."""
_AFTER_REASON = "\n\nNote: The user's next message"
_CLARIFY = "The user wants to clarify these questions"
_ANSWER_END = lazy_pattern(r"\"(?=, \"|\.? You can now|\. |\.?\s*\Z| user notes:| selected )")


class UserWordsInResult(Struct, frozen=True):
    """Words that a person typed, or an option that they chose, in reply to a call."""

    text: str
    proven: bool
    """Whether only the client can have written the result: its tool shows the person something and
    returns nothing from elsewhere.
    """
    question: str = ""
    """The agent's question that the words answer; empty where it is not known, and for a refusal.
    """


def find_user_words_in_result(
    result: ToolResult, action: ToolAction | None
) -> tuple[UserWordsInResult, ...]:
    """Find what a person typed in the result of a call; empty for what a tool returned."""
    shows = isinstance(action, AskUserAction | ProposePlanAction | ChangeAction)
    if result.is_error:
        reason = _REFUSAL_REASON.match(result.text[: 2 * MAX_REPLY_CHARS].lstrip())
        words = reason["words"].partition(_AFTER_REASON)[0].strip() if reason else ""
        if not words.startswith(_CLARIFY):
            return (UserWordsInResult(words, shows),) if 0 < len(words) <= MAX_REPLY_CHARS else ()
    if not isinstance(action, AskUserAction):
        return ()
    answers = dict.fromkeys(_find_answers(result.text, action))
    return tuple(each for each in answers if len(each.text) <= MAX_REPLY_CHARS)


def _find_answers(text: str, action: AskUserAction) -> Iterator[UserWordsInResult]:
    if text.lstrip().startswith("{"):
        questions = dict(list_question_ids_and_texts(action))
        for id, answers in parse_codex_answers(text).items():
            for answer in answers:
                yield UserWordsInResult(answer, True, questions.get(id, ""))
        return
    for question in action.questions:
        start = text.find(f'"{question}')
        start = text.find('"="', start + len(question)) if start >= 0 else -1
        end = _ANSWER_END.search(text, start + 3) if start >= 0 else None
        if end is not None and (answer := text[start + 3 : end.start()].strip()):
            yield UserWordsInResult(answer, True, question)


def parse_tool_action_unless_mcp(use: ToolUse) -> ToolAction:
    """Classify a call; a tool of another server asks nobody, whatever its name."""
    foreign = use.name.startswith("mcp__") or (use.namespace or "").startswith("mcp__")
    return OtherToolAction(use.name) if foreign else parse_tool_action(use)


class UserWordsInResultsReader:
    """Follows the messages of a session and reads the replies in them."""

    def __init__(self) -> None:
        self._open: dict[str, ToolAction] = BoundedDict(MAX_OPEN_CALLS)

    def read_replies_in_message(self, message: Message) -> Message | None:
        """Take in one message; the replies in it as a message of the user with the same id."""
        for use in message.tool_uses:
            self._open_call(use)
        replies = [
            reply
            for result in message.tool_results
            for reply in find_user_words_in_result(result, self._open.pop(result.tool_use_id, None))
        ]
        if not replies:
            return None
        return Message(
            id=message.id,
            role="user",
            blocks=tuple(TextBlock(reply.text) for reply in replies),
            origin=Origin.USER,
            timestamp=message.timestamp,
            line=message.line,
            is_typed=message.is_typed and all(reply.proven for reply in replies),
        )

    def _open_call(self, use: ToolUse) -> None:
        self._open[use.id] = parse_tool_action_unless_mcp(use)


def insert_user_words_from_results(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield the messages, and after each what a person typed in reply to a call."""
    reader = UserWordsInResultsReader()
    for message in messages:
        yield message
        reply = reader.read_replies_in_message(message)
        if reply is not None:
            yield reply
