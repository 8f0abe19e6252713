"""Made-up histories of every shape, and what must hold when one is cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from memorist.core.messages import (
    Block,
    ImageBlock,
    Message,
    Origin,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolUse,
)

WORD = "abc "
"""Four bytes: one estimated token."""


class History:
    """A history that is told message by message."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self._replies = 0

    def _add(self, role: Any, origin: Origin, *blocks: Block, **more: Any) -> History:
        self.messages.append(
            Message(
                id=f"m{len(self.messages)}",
                role=role,
                blocks=blocks,
                origin=origin,
                is_typed=origin is Origin.USER,
                **more,
            )
        )
        return self

    def user(self, text: str) -> History:
        return self._add("user", Origin.USER, TextBlock(text))

    def picture(self) -> History:
        return self._add("user", Origin.USER, ImageBlock({"type": "base64", "data": "aGk="}))

    def injected(self, text: str) -> History:
        return self._add("user", Origin.INJECTED, TextBlock(text))

    def summary(self, text: str = "what came before") -> History:
        return self._add("user", Origin.SUMMARY, TextBlock(text))

    def says(self, text: str, *, at: float | None = None) -> History:
        self._replies += 1
        return self._add(
            "assistant", Origin.MODEL, TextBlock(text), reply_id=f"r{self._replies}", timestamp=at
        )

    def calls(self, *uses: tuple[str, str], split: bool = False) -> History:
        """One reply with calls (id, tool); with `split`, one record for each call, as Claude Code
        stores it.
        """
        self._replies += 1
        blocks = [ToolUse(name, tool, {}) for name, tool in uses]
        for part in [[block] for block in blocks] if split else [blocks]:
            self._add("assistant", Origin.MODEL, *part, reply_id=f"r{self._replies}")
        return self

    def results(self, *results: tuple[str, str], apart: bool = False) -> History:
        blocks = [ToolResult(name, (TextBlock(text),)) for name, text in results]
        for part in [[block] for block in blocks] if apart else [blocks]:
            self._add("user", Origin.TOOL, *part)
        return self

    def runs(self, name: str, text: str = "done", tool: str = "Bash") -> History:
        return self.calls((name, tool)).results((name, text))

    def interleaved(self, *names: str) -> History:
        """One reply whose records stand between the results of its parallel calls."""
        self._replies += 1
        for name in names:
            self._add(
                "assistant", Origin.MODEL, ToolUse(name, "Read", {}), reply_id=f"r{self._replies}"
            )
            self.results((name, f"file of {name}"))
        return self

    def items(self, name: str, text: str = "out") -> History:
        """As OpenAI Responses has it: reasoning, a call and its output, each an item, without a
        reply id.
        """
        self._add("assistant", Origin.MODEL, ThinkingBlock("so"))
        self._add("assistant", Origin.MODEL, ToolUse(name, "shell", {}, "{}"))
        return self._add("tool", Origin.TOOL, ToolResult(name, (TextBlock(text),)))

    def thinks(self, name: str, text: str) -> History:
        """As Anthropic has it: signed reasoning, and the call that follows it."""
        self._replies += 1
        thought = ThinkingBlock(text, signature="c2ln")
        return self._add(
            "assistant",
            Origin.MODEL,
            thought,
            ToolUse(name, "Bash", {}),
            reply_id=f"r{self._replies}",
        ).results((name, "done"))

    def without_call(self, name: str) -> History:
        return self.results((name, "of a call that is gone"))


KINDS = st.sampled_from(
    [
        "user",
        "picture",
        "injected",
        "summary",
        "says",
        "run",
        "parallel",
        "split",
        "interleaved",
        "items",
        "orphan",
        "open",
        "again",
        "huge",
        "foreword",
        "thought",
    ]
)
STEPS = st.lists(st.tuples(KINDS, st.integers(0, 4_000)), max_size=24)


def told(steps: Sequence[tuple[str, int]]) -> list[Message]:
    """The history of these steps; the numbers are sizes in tokens."""
    history = History()
    for number, (kind, size) in enumerate(steps):
        _step(history, kind, f"c{number}", f"{number} " + WORD * size)
    return history.messages


def _step(history: History, kind: str, name: str, text: str) -> None:
    match kind:
        case "user" | "injected" | "summary" | "says":
            getattr(history, kind)(text)
        case "huge":
            history.user(WORD * 300_000)
        case "run":
            history.runs(name, text)
        case "parallel":
            history.calls((name + "a", "Read"), (name + "b", "Bash")).results(
                (name + "a", text), (name + "b", "")
            )
        case "split":
            history.calls((name + "a", "Read"), (name + "b", "Task"), split=True).results(
                (name + "b", text), (name + "a", text), apart=True
            )
        case "interleaved":
            history.interleaved(name + "a", name + "b", name + "c")
        case "items":
            history.items(name, text)
        case "again":
            history.runs("same", text)
        case _:
            _odd(history, kind, name, text)


def _odd(history: History, kind: str, name: str, text: str) -> None:
    match kind:
        case "foreword":
            history.says(text).calls((name, "Bash"))
        case "thought":
            history.thinks(name, text)
        case "picture":
            history.picture()
        case "orphan":
            history.without_call(name)
        case _:
            history.calls((name, "Bash"))


def parted(before: Sequence[Message], after: Sequence[Message]) -> list[str]:
    """What a cut has parted, told by names: calls whose result is gone, results whose call is gone,
    replies of which a record is gone that held more than calls.
    """
    left = {message.id for message in after}
    blocks = [block for message in after for block in message.blocks]
    asks = {block.id for block in blocks if isinstance(block, ToolUse)}
    answers = {block.tool_use_id for block in blocks if isinstance(block, ToolResult)}
    problems = []
    calls: dict[str, Message] = {}
    replies: dict[str, list[bool]] = {}
    for message in before:
        has_only_calls = all(isinstance(block, ToolUse) for block in message.blocks)
        if message.reply_id is not None and (message.id in left or not has_only_calls):
            replies.setdefault(message.reply_id, []).append(message.id in left)
        for block in message.blocks:
            if isinstance(block, ToolUse):
                calls[block.id] = message
            elif isinstance(block, ToolResult) and block.tool_use_id in calls:
                asked = calls.pop(block.tool_use_id)
                if (block.tool_use_id in asks) is not (block.tool_use_id in answers):
                    problems.append(f"{block.tool_use_id}: {asked.id} and {message.id}")
    return problems + [name for name, kept in replies.items() if len(set(kept)) > 1]
