"""The ways of compaction that `carryover` sets side by side, all without a model: each takes a history and a budget and gives what is left of it."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from memorist.compaction.clearing import clear_and_tail
from memorist.compaction.digest import digest
from memorist.compaction.inline import retained
from memorist.compaction.settings import CompactionSettings
from memorist.compaction.tail import tail
from memorist.core.messages import Message, Origin, Text, ToolResult
from memorist.core.tokens import estimate_message
from memorist.session_memory.ledger import Ledger
from memorist.session_memory.structural import NotesBudget, render

Way = Callable[[Sequence[Message], int, str], Sequence[Message]]
"""Of the history, the budget in tokens and the session's folder."""

DIGEST = "structural digest"
LANGCHAIN = "LangChain trim_messages"
NOTES_TOKENS = 2_900
"""Tokens of the notes, or half the budget where that is less."""

_PREFIX = "What the conversation was about, from its notes:"


def ways() -> dict[str, Way]:
    """The ways by name; LangChain's only where `langchain_core` is installed."""
    found: dict[str, Way] = {
        "tail window": lambda messages, budget, _: tail(messages, budget).messages,
        "clearing + tail": lambda messages, budget, _: clear_and_tail(messages, budget).messages,
    }
    if importlib.util.find_spec("langchain_core") is not None:
        found[LANGCHAIN] = _langchain
    return found | {
        "inline compact": _inline,
        "session memory compact": _session_memory,
        DIGEST: lambda messages, budget, cwd: digest(messages, budget, cwd=cwd).messages,
    }


def _notes(messages: Sequence[Message], budget: int, cwd: str) -> Message:
    ledger = Ledger(cwd)
    for message in messages:
        ledger.add(message)
    sections = render(ledger, NotesBudget(total_tokens=min(NOTES_TOKENS, budget // 2)))
    text = "\n\n".join(f"# {title}\n{body}" for title, body in sections.items() if body)
    return Message(id="memorist-notes", role="user", blocks=(Text(f"{_PREFIX}\n{text}"),), origin=Origin.SUMMARY)


def _inline(messages: Sequence[Message], budget: int, cwd: str) -> Sequence[Message]:
    """CP-11 with the structural notes as the summary: the user's messages within 20,000 tokens, then the notes."""
    notes = _notes(messages, budget, cwd)
    room = max(0, budget - estimate_message(notes))
    return (*retained(messages, min(CompactionSettings().inline_user_tokens, room), prefix=_PREFIX), notes)


def _session_memory(messages: Sequence[Message], budget: int, cwd: str) -> Sequence[Message]:
    """CP-9 with the structural notes, kept to the budget: the notes, then as much of the newest as fits, 40,000 tokens at most."""
    notes = _notes(messages, budget, cwd)
    room = max(0, budget - estimate_message(notes))
    return (notes, *tail(messages, min(CompactionSettings().keep_maximum_tokens, room)).messages)


def _langchain(messages: Sequence[Message], budget: int, _: str) -> Sequence[Message]:
    """`trim_messages` as its documentation shows it for agents: the newest whole messages, beginning with a person's or the model's."""
    parts = importlib.import_module("langchain_core.messages")
    sizes = {str(index): estimate_message(message) for index, message in enumerate(messages)}
    made = [each for index, message in enumerate(messages) for each in _converted(parts, str(index), message)]

    def count(some: list[Any]) -> int:
        return sum(sizes[index] for index in {each.id.split("/")[0] for each in some})

    left = parts.trim_messages(
        made, max_tokens=budget, strategy="last", token_counter=count, start_on=("human", "ai"), include_system=True, allow_partial=False
    )
    return [messages[index] for index in sorted({int(each.id.split("/")[0]) for each in left})]


def _converted(parts: ModuleType, index: str, message: Message) -> list[Any]:
    results = [block for block in message.blocks if isinstance(block, ToolResult)]
    made: list[Any] = [parts.ToolMessage(each.text, tool_call_id=each.tool_use_id, id=f"{index}/{at}") for at, each in enumerate(results)]
    if message.origin is Origin.MODEL:
        calls = [{"name": use.name, "args": use.input, "id": use.id} for use in message.tool_uses]
        made.append(parts.AIMessage(message.text, tool_calls=calls, id=index))
    elif message.text or not results:
        made.append(parts.HumanMessage(message.text or "(picture)", id=index))
    return made
