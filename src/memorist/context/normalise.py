"""Bring a history into a form that the provider accepts, before each request (CX-5, CX-6).

Pure, linear and idempotent.

Calls without an output get one; outputs without a call are dropped; formats that demand it get
outputs right behind their calls; neighbours of one role are merged where the format wants it; blank
texts and lone reasoning are dropped; unknown items stay; images stay where the model takes them;
long outputs are cut in the middle. What was in order stays the very same object, so that its bytes,
and with them the cached prefix, do not change (codex.md sections 3.5 and 3.6, claude-code.md
section 1.5).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from memorist.context.normalise_pairs import Matched, made, matched, served
from memorist.context.normalise_parts import OWN_FORMATS, TOOL_TOKENS, Rules, put_in_order
from memorist.core.messages import Block, Message, Origin, RedactedThinking, Text, Thinking, ToolResult, ToolUse, Wire
from memorist.errors import FormatError
from memorist.formats.wire import UNKNOWN_ITEM

OPENING = "(The conversation goes on from here.)"
"""The user text put first when a history would begin with the assistant, which Anthropic refuses,
or would be empty. Constant, for the prefix.
"""


def normalise(
    messages: Iterable[Message], wire_format: str, *, images: bool = True, tool_tokens: int = TOOL_TOKENS, continued: bool = False
) -> tuple[Message, ...]:
    """The history as it can be sent in this wire format (`anthropic`, `openai_responses`,
    `openai_chat`). Raises FormatError for another.

    Args:
        messages: The history, of any format, without the system prompt.
        wire_format: The format of the request.
        images: Whether the model takes pictures; where not, constant words stand for them.
        tool_tokens: Longest output of a tool in estimated tokens.
        continued: The provider holds an earlier part of the history, so that an output may lack its call here.
    """
    if wire_format not in OWN_FORMATS:
        raise FormatError(f"{wire_format} is no wire format; give one of {', '.join(OWN_FORMATS)}.")
    rules = Rules(format=wire_format, images=images, tool_tokens=tool_tokens, continued=continued)
    ordered = [new for message in messages if (new := put_in_order(message, rules)) is not None]
    pairs = matched(ordered, rules)
    if wire_format == "openai_responses":
        return tuple(_answered(pairs, rules))
    arranged = _merged(_arranged(pairs, rules), wire_format) if wire_format == "anthropic" else list(_arranged(pairs, rules))
    if not arranged or (wire_format == "anthropic" and _side(arranged[0]) != "user"):
        arranged.insert(0, Message(id="opening", role="user", blocks=(Text(OPENING),), origin=Origin.INJECTED))
    return tuple(arranged)


def _answered(pairs: Matched, rules: Rules) -> Iterator[Message]:
    """Responses API: outputs may stand anywhere behind their calls; missing ones are inserted right
    behind the call.
    """
    for message in pairs.messages:
        missing = [call for call in message.tool_uses if call.id not in pairs.places and not served(call)]
        outputs = {call.id: made(call, message, rules) for call in missing}
        hopeless = {name for name, output in outputs.items() if output is None}
        blocks = tuple(block for block in message.blocks if not (isinstance(block, ToolUse) and block.id in hopeless))
        if not hopeless:
            yield message
        elif blocks:
            yield replace(message, blocks=blocks)
        yield from (output for output in outputs.values() if output is not None)


def _groups(messages: Sequence[Message], rules: Rules) -> Iterator[tuple[int, int, int]]:
    """Yield stretches (first, end of the assistant's messages, end of what follows): one reply, and
    all up to the next reply.
    """
    index, count = 0, len(messages)
    while index < count:
        first = index
        while (
            index < count
            and messages[index].role == "assistant"
            and (index == first or _together(messages[index - 1], messages[index], rules))
        ):
            index += 1
        end = index
        while index < count and messages[index].role != "assistant":
            index += 1
        yield first, end, index


def _together(before: Message, message: Message, rules: Rules) -> bool:
    """Tell whether two neighbouring assistant messages are one on the wire: Chat Completions joins
    only those that came from other formats.
    """
    if rules.format == "anthropic":
        return True
    return not any(each.wire is not None and each.wire.format == rules.format for each in (before, message))


def _arranged(pairs: Matched, rules: Rules) -> Iterator[Message]:
    """Move every reply's outputs right behind it, ahead of everything else."""
    messages = pairs.messages
    for first, end, after in _groups(messages, rules):
        group, others = messages[first:end], messages[end:after]
        if group and _only_reasoning(group):
            group = []
        yield from group
        calls = {call.id: (call, message) for message in group for call in message.tool_uses}
        here, rest = _split(others, calls.keys())
        yield from here
        found = {result.tool_use_id for message in here for result in message.tool_results}
        for name, (call, message) in calls.items():
            if name in found:
                continue
            place = pairs.places.get(name)
            output = made(call, message, rules) if place is None else _only_output(messages[place], name)
            if output is not None:
                yield output
        yield from rest


def _only_reasoning(group: Sequence[Message]) -> bool:
    return all(isinstance(block, Thinking | RedactedThinking) for message in group for block in message.blocks) and any(
        message.blocks for message in group
    )


def _split(others: Iterable[Message], calls: Iterable[str]) -> tuple[list[Message], list[Message]]:
    """Split into the messages with outputs of these calls, and the rest.

    Outputs of other calls are no longer here: they were moved to their own reply. Within a message,
    outputs come first.
    """
    names = set(calls)
    here, rest = list[Message](), list[Message]()
    for message in others:
        if not message.tool_results:
            rest.append(message)
            continue
        outputs = [block for block in message.blocks if isinstance(block, ToolResult) and block.tool_use_id in names]
        words = [block for block in message.blocks if not isinstance(block, ToolResult)]
        blocks = (*outputs, *words)
        if blocks:
            (here if outputs else rest).append(message if blocks == message.blocks else replace(message, blocks=blocks))
    return here, rest


def _only_output(message: Message, name: str) -> Message:
    """Extract an output that stands further down, as a message of its own."""
    if len(message.blocks) == 1:
        return message
    blocks = tuple(block for block in message.blocks if isinstance(block, ToolResult) and block.tool_use_id == name)
    return replace(message, id=f"{message.id}:{name}", blocks=blocks, origin=Origin.TOOL)


def _side(message: Message) -> str:
    """Return the role of the entry that the message becomes in Anthropic's format."""
    if message.role == "assistant":
        return "assistant"
    return "system" if message.role == "system" and _native(message) else "user"


def _native(message: Message) -> bool:
    return message.wire is not None and message.wire.format == "anthropic"


def _merged(messages: Iterable[Message], wire_format: str) -> list[Message]:
    """Merge neighbours of one role if both came from this wire format; those of other formats are
    joined when they are written.
    """
    runs: list[list[Message]] = []
    for message in messages:
        if runs and _joins(runs[-1][-1], message):
            runs[-1].append(message)
        else:
            runs.append([message])
    return [run[0] if len(run) == 1 else _one(run, wire_format) for run in runs]


def _joins(before: Message, message: Message) -> bool:
    if before.role != message.role or before.role == "system":
        return False
    wires = (before.wire, message.wire)
    return all(wire is not None and wire.format == "anthropic" and wire.kind != UNKNOWN_ITEM for wire in wires)


def _one(run: Sequence[Message], wire_format: str) -> Message:
    origins = {message.origin for message in run}
    origin = Origin.USER if Origin.USER in origins else run[0].origin
    extra = {key: value for message in run if message.wire is not None for key, value in (message.wire.extra or {}).items()}
    blocks = [_of(block, message.origin, origin) for message in run for block in message.blocks]
    if run[0].role == "user":
        blocks = [*(b for b in blocks if isinstance(b, ToolResult)), *(b for b in blocks if not isinstance(b, ToolResult))]
    return replace(run[0], blocks=tuple(blocks), origin=origin, wire=Wire(wire_format, extra=extra or None))


def _of(block: Block, own: Origin, whole: Origin) -> Block:
    """Return the block with its own origin if its message now has another one."""
    return replace(block, origin=own) if isinstance(block, Text) and block.origin is None and own is not whole else block
