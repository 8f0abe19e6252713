"""Pair tool calls with their results, and supply results for calls that have none (CX-5).

Pure, linear.
"""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.context.normalise_parts import OWN_FORMATS, Rules
from memorist.core.messages import Block, JsonObject, Message, Origin, Text, ToolResult, ToolUse, Wire

ABSENT = "No output: the call was interrupted."
"""Text of a result that never came. Constant, so that retries hit the cached prefix."""
_SPACE = uuid.UUID("6f1d1c0e-5f0b-5d55-9d0a-2f6d3c1b7a90")
"""UUID namespace for the ids of supplied results; any constant works."""

_EMPTY: dict[str, JsonObject] = {
    "shell_call_output": {"output": [{"stdout": "", "stderr": ABSENT, "outcome": {"type": "exit", "exit_code": 1}}]},
    "apply_patch_call_output": {"status": "failed", "output": ABSENT},
}
"""Content of supplied results that are not plain text (openai SDK 3.54, `ResponseInputItemParam`).
"""
_UNANSWERABLE = "computer_call"
"""A call whose result is a screenshot; none can be made up, so the call is dropped."""


class Matched(Struct, frozen=True):
    """Messages in which every result belongs to one earlier call, and every call has a
    unique id.
    """

    messages: list[Message]
    places: dict[str, int]
    """For each call that has a result, the index of the message that holds it."""


class _Matching:
    """The calls so far.

    A result goes to the oldest open call of its id in the newest run of assistant messages that has
    one.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.taken: set[str] = set()
        self.copies: dict[str, int] = {}
        self.open: dict[str, tuple[int, deque[str]]] = {}
        self.run = 0

    def call(self, block: ToolUse) -> ToolUse:
        """Register a call; one whose id was used before gets a new id."""
        name = block.id
        while name in self.taken:
            self.copies[block.id] = self.copies.get(block.id, 1) + 1
            name = f"{block.id}-{self.copies[block.id]}"
        self.taken.add(name)
        run, waiting = self.open.get(block.id, (self.run, deque()))
        if run != self.run:
            waiting = deque()
        waiting.append(name)
        self.open[block.id] = self.run, waiting
        return block if name == block.id else replace(block, id=name)

    def answer(self, block: ToolResult) -> ToolResult | None:
        """Return the result under its call's id; None if it has no call."""
        _, waiting = self.open.get(block.tool_use_id, (0, None))
        if not waiting:
            return None
        name = waiting.popleft()
        return block if name == block.tool_use_id else replace(block, tool_use_id=name)


def served(block: ToolUse | ToolResult) -> bool:
    """Tell whether the provider itself runs the call (server-side tool search), so that it needs no
    pairing.
    """
    return block.extra is not None and block.extra.get("execution") == "server"


def matched(messages: Sequence[Message], rules: Rules) -> Matched:
    """Give each call its result, and drop results without a call; messages left empty are dropped
    too.
    """
    found, places = list[Message](), dict[str, int]()
    matching = _Matching(rules)
    before = ""
    for message in messages:
        if message.role == "assistant" and before != "assistant":
            matching.run += 1
        before = message.role
        if not any(isinstance(block, ToolUse | ToolResult) for block in message.blocks):
            found.append(_without_calls(message))
            continue
        blocks = _matched_blocks(message, matching)
        if not blocks:
            continue
        for block in blocks:
            if isinstance(block, ToolResult):
                places[block.tool_use_id] = len(found)
        found.append(message if blocks == message.blocks else replace(message, blocks=blocks))
    return Matched(found, places)


def _matched_blocks(message: Message, matching: _Matching) -> tuple[Block, ...]:
    blocks: list[Block] = []
    for block in message.blocks:
        new: Block | None = block
        if isinstance(block, ToolUse) and not served(block):
            new = matching.call(block) if message.role == "assistant" else None
        elif isinstance(block, ToolResult) and not served(block):
            answers = message.role in ("user", "tool")
            new = matching.answer(block) if answers else None
            if new is None and matching.rules.continued and answers:
                new = block
        if new is not None:
            blocks.append(new)
    return tuple(blocks)


def _without_calls(message: Message) -> Message:
    """Remove calls that could not be parsed: in Chat Completions they are kept outside the
    blocks.
    """
    wire = message.wire
    if wire is None or wire.format != "openai_chat" or not wire.extra or "tool_calls" not in wire.extra:
        return message
    rest = {key: value for key, value in wire.extra.items() if key != "tool_calls"}
    return replace(message, wire=replace(wire, extra=rest or None))


def made(call: ToolUse, message: Message, rules: Rules) -> Message | None:
    """Build a result for a call that has none, in the style of its message; None if none can be
    made up.

    Its id is derived from the call's, so that it is the same each time.
    """
    wire = message.wire
    name = str(uuid.uuid5(_SPACE, call.id))
    block = ToolResult(call.id, (Text(ABSENT),), is_error=True)
    if (
        rules.format != "openai_responses"
        or wire is None
        or wire.format not in OWN_FORMATS[rules.format]
        or not wire.kind.endswith("_call")
    ):
        return _answer(name, block, None)
    if wire.kind == _UNANSWERABLE:
        return None
    kind = "tool_search_output" if wire.kind == "tool_search_call" else f"{wire.kind}_output"
    if kind in _EMPTY:
        block = ToolResult(call.id, (), extra=_EMPTY[kind])
    elif kind == "tool_search_output":
        block = ToolResult(call.id, (), plain=False, extra={"status": "completed"})
    return _answer(name, block, Wire(rules.format, kind))


def _answer(name: str, block: ToolResult, wire: Wire | None) -> Message:
    return Message(id=name, role="tool", blocks=(block,), origin=Origin.TOOL, wire=wire)
