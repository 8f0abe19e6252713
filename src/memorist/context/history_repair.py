"""Bring a history into a form that the provider accepts, before each request (CX-5, CX-6).

Pure, linear and idempotent.

Calls without an output get one; outputs without a call are dropped; formats that demand it get
outputs right behind their calls; neighbours of one role are merged where the format wants it; blank
texts and lone reasoning are dropped; unknown items and images stay;
long outputs are cut in the middle. What was in order stays the very same object, so that its bytes,
and with them the cached prefix, do not change (Codex, Claude Code).
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.core.messages import (
    MISSING_OUTPUT,
    Block,
    ContentPart,
    JsonObject,
    Message,
    Origin,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolUse,
    UnknownBlock,
    WireInfo,
)
from memorist.core.token_count import estimate_text_tokens
from memorist.core.tool_pairs import holds_same_objects
from memorist.core.truncation import truncate_middle
from memorist.errors import WireFormatError
from memorist.formats.codec_registry import find_codec
from memorist.formats.openai_responses import CALL_ITEMS, OUTPUT_ITEMS
from memorist.formats.request_codec import NOT_AN_OBJECT, UNKNOWN_ITEM, get_unknown_block_text
from memorist.settings import Family

# Normalize single blocks before a request: unsupported images, long outputs, empty blocks.


MAX_TOOL_TOKENS = 10_000
"""Longest tool output in estimated tokens (CX-6; Codex)."""
MIN_TOOL_TOKENS = 64
"""Lower bound of the limit: less would not hold the cut marks."""
CUT_MARK_TOKENS = 16
"""Tokens reserved for the cut mark within the limit, so that a cut output is not cut again."""
OWN_FORMATS = {
    "anthropic": ("anthropic", "claude_code"),
    "openai_responses": ("openai_responses", "codex"),
    "openai_chat": ("openai_chat",),
}
"""For each wire format, the message formats whose blocks it takes unchanged."""


class NormalizationRules(Struct, frozen=True, kw_only=True):
    """The requirements of the request."""

    format: str
    tool_tokens: int = MAX_TOOL_TOKENS


def normalize_message(message: Message, rules: NormalizationRules) -> Message | None:
    """Normalize the message's blocks; return the very same object if nothing changed, None if
    nothing is left.

    Content that cannot be sent in this format and pairs with nothing is dropped: half-parsed calls
    and results, entries without a role the format knows.
    """
    if _is_refused(message, rules):
        return None
    says = _block_filter(message, rules)
    blocks = tuple(
        _normalize_result(block, rules) if isinstance(block, ToolResult) else block
        for block in message.blocks
        if says(block)
    )
    if not blocks and (
        message.blocks or rules.format == "anthropic" or not _is_own_format(message, rules)
    ):
        return None
    return (
        message if holds_same_objects(blocks, message.blocks) else replace(message, blocks=blocks)
    )


def _is_refused(message: Message, rules: NormalizationRules) -> bool:
    """Tell whether the message is a raw entry that the provider would refuse."""
    wire, only = message.wire, message.blocks[0] if len(message.blocks) == 1 else None
    if (
        wire is None
        or wire.kind != UNKNOWN_ITEM
        or wire.format != rules.format
        or not isinstance(only, UnknownBlock)
    ):
        return False
    match rules.format:
        case "anthropic":
            return only.raw.get("role") not in ("user", "assistant", "system") or not only.raw.get(
                "content"
            )
        case "openai_chat":
            return only.raw.get("role") not in (
                "system",
                "developer",
                "user",
                "assistant",
                "function",
            )
        case _:
            if only.kind == NOT_AN_OBJECT:
                return True
            served = only.kind == "tool_search_call" and only.raw.get("execution") == "server"
            return (only.kind in CALL_ITEMS and not served) or only.kind in OUTPUT_ITEMS


def _is_own_format(message: Message, rules: NormalizationRules) -> bool:
    return message.wire is not None and message.wire.format in OWN_FORMATS[rules.format]


def _block_filter(message: Message, rules: NormalizationRules) -> Callable[[Block], bool]:
    """Return a predicate: whether a block of the message is written and accepted at all."""
    own = _is_own_format(message, rules)
    strict = rules.format == "anthropic"
    if own and not strict:
        return lambda _block: True

    def says(block: Block) -> bool:
        match block:
            case TextBlock():
                return bool(block.text.strip())
            case ThinkingBlock() | RedactedThinkingBlock():
                return own
            case UnknownBlock() if own:
                return block.kind not in ("tool_use", "tool_result") and (
                    block.kind != "text" or bool(block.raw.get("text"))
                )
            case UnknownBlock():
                return bool(get_unknown_block_text(block).strip())
            case _:
                return True

    return says


def _normalize_result(block: ToolResult, rules: NormalizationRules) -> ToolResult:
    content = truncate_tool_result_content(block.content, rules.tool_tokens)
    return block if content is block.content else replace(block, content=content)


def truncate_tool_result_content(
    content: tuple[ContentPart, ...], tokens: int
) -> tuple[ContentPart, ...]:
    """Truncate a tool result to at most `tokens` estimated tokens of text: cut in the middle, half
    and half, with a mark (CX-6).

    Of several texts the first ones use up the room; the rest are left out and counted in a mark.
    Other parts are free. Idempotent.
    """
    tokens = max(tokens, MIN_TOOL_TOKENS)
    sizes = [
        estimate_text_tokens(part.text) if isinstance(part, TextBlock) else 0 for part in content
    ]
    if sum(sizes) <= tokens:
        return content
    if len(content) == 1 and isinstance(content[0], TextBlock):
        return (
            replace(content[0], text=truncate_middle(content[0].text, tokens - CUT_MARK_TOKENS)),
        )
    room, left_out = tokens - CUT_MARK_TOKENS, 0
    kept: list[ContentPart] = []
    for part, size in zip(content, sizes, strict=True):
        if not isinstance(part, TextBlock) or size <= room:
            kept.append(part)
            room -= size
        elif room > CUT_MARK_TOKENS * 2:
            kept.append(replace(part, text=truncate_middle(part.text, room - CUT_MARK_TOKENS)))
            room = 0
        else:
            left_out, room = left_out + size, 0
    return (*kept, TextBlock(f"… {left_out} tokens cut …")) if left_out else tuple(kept)


# Pair tool calls with their results, and supply results for calls that have none (CX-5).


_ID_NAMESPACE = uuid.UUID("6f1d1c0e-5f0b-5d55-9d0a-2f6d3c1b7a90")
"""UUID namespace for the ids of supplied results; any constant works."""

_EMPTY_OUTPUTS: dict[str, JsonObject] = {
    "shell_call_output": {
        "output": [
            {"stdout": "", "stderr": MISSING_OUTPUT, "outcome": {"type": "exit", "exit_code": 1}}
        ]
    },
    "apply_patch_call_output": {"status": "failed", "output": MISSING_OUTPUT},
}
"""Content of supplied results that are not plain text (openai SDK 3.54, `ResponseInputItemParam`).
"""
_UNANSWERABLE = "computer_call"
"""A call whose result is a screenshot; none can be made up, so the call is dropped."""


class PairedMessages(Struct, frozen=True):
    """Messages in which every result belongs to one earlier call, and every call has a
    unique id.
    """

    messages: list[Message]
    positions: dict[str, int]
    """For each call that has a result, the index of the message that holds it."""


class _CallMatcher:
    """The calls so far.

    A result goes to the oldest open call of its id in the newest run of assistant messages that has
    one.
    """

    def __init__(self) -> None:
        self.used_names: set[str] = set()
        self.copies: dict[str, int] = {}
        self.open: dict[str, tuple[int, deque[str]]] = {}
        self.run = 0

    def add_call(self, block: ToolUse, wanted: str) -> ToolUse:
        """Register a call under the wanted id; where that was used before, under a new one."""
        name = wanted
        while name in self.used_names:
            self.copies[block.id] = self.copies.get(block.id, 1) + 1
            name = f"{wanted}-{self.copies[block.id]}"
        self.used_names.add(name)
        run, waiting = self.open.get(block.id, (self.run, deque()))
        if run != self.run:
            waiting = deque()
        waiting.append(name)
        self.open[block.id] = self.run, waiting
        return block if name == block.id else replace(block, id=name)

    def match_result(self, block: ToolResult) -> ToolResult | None:
        """Return the result under its call's id; None if it has no call."""
        _, waiting = self.open.get(block.tool_use_id, (0, None))
        if not waiting:
            return None
        name = waiting.popleft()
        return block if name == block.tool_use_id else replace(block, tool_use_id=name)


def is_marked_as_server_executed(block: ToolUse | ToolResult) -> bool:
    """Tell whether the provider itself runs the call (server-side tool search), so that it needs no
    pairing.
    """
    return block.extra is not None and block.extra.get("execution") == "server"


_PORTABLE_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
"""Ids that every provider takes: Anthropic by their letters, OpenAI by their length (40 in Chat
Completions, 64 in Responses).
"""


def make_portable_call_id(id: str) -> str:
    """An id that every provider takes, for a call of another format: itself, or one made of it."""
    if _PORTABLE_ID.fullmatch(id):
        return id
    return f"call_{hashlib.sha256(id.encode('utf-8', 'surrogatepass')).hexdigest()[:30]}"


def pair_calls_with_results(
    messages: Sequence[Message], rules: NormalizationRules
) -> PairedMessages:
    """Give each call its result, and drop results without a call; messages left empty are dropped
    too. Calls of other formats get ids that the provider takes.
    """
    found, positions = list[Message](), dict[str, int]()
    matching = _CallMatcher()
    before = ""
    for message in messages:
        if message.role == "assistant" and before != "assistant":
            matching.run += 1
        before = message.role
        if not any(isinstance(block, ToolUse | ToolResult) for block in message.blocks):
            found.append(_strip_unreadable_calls(message))
            continue
        blocks = _pair_blocks(message, matching, rules)
        if not blocks:
            continue
        for block in blocks:
            if isinstance(block, ToolResult):
                positions[block.tool_use_id] = len(found)
        found.append(message if blocks == message.blocks else replace(message, blocks=blocks))
    return PairedMessages(found, positions)


def _pair_blocks(
    message: Message, matching: _CallMatcher, rules: NormalizationRules
) -> tuple[Block, ...]:
    blocks: list[Block] = []
    is_own = _is_own_format(message, rules)
    for block in message.blocks:
        new: Block | None = block
        if isinstance(block, ToolUse) and not is_marked_as_server_executed(block):
            wanted = block.id if is_own else make_portable_call_id(block.id)
            new = matching.add_call(block, wanted) if message.role == "assistant" else None
        elif isinstance(block, ToolResult) and not is_marked_as_server_executed(block):
            answers = message.role in ("user", "tool")
            new = matching.match_result(block) if answers else None
        if new is not None:
            blocks.append(new)
    return tuple(blocks)


def _strip_unreadable_calls(message: Message) -> Message:
    """Remove calls that could not be parsed: in Chat Completions they are kept outside the
    blocks.
    """
    wire = message.wire
    if (
        wire is None
        or wire.format != "openai_chat"
        or not wire.extra
        or "tool_calls" not in wire.extra
    ):
        return message
    rest = {key: value for key, value in wire.extra.items() if key != "tool_calls"}
    return replace(message, wire=replace(wire, extra=rest or None))


def build_missing_tool_result(
    call: ToolUse, message: Message, rules: NormalizationRules
) -> Message | None:
    """Build a result for a call that has none, in the style of its message; None if none can be
    made up.

    Its id is derived from the call's, so that it is the same each time.
    """
    wire = message.wire
    name = str(uuid.uuid5(_ID_NAMESPACE, call.id))
    block = ToolResult(call.id, (TextBlock(MISSING_OUTPUT),), is_error=True)
    if (
        rules.format != "openai_responses"
        or wire is None
        or wire.format not in OWN_FORMATS[rules.format]
        or not wire.kind.endswith("_call")
    ):
        return _output_message(name, block, None)
    if wire.kind == _UNANSWERABLE:
        return None
    kind = "tool_search_output" if wire.kind == "tool_search_call" else f"{wire.kind}_output"
    if kind in _EMPTY_OUTPUTS:
        block = ToolResult(call.id, (), extra=_EMPTY_OUTPUTS[kind])
    elif kind == "tool_search_output":
        block = ToolResult(call.id, (), plain=False, extra={"status": "completed"})
    return _output_message(name, block, WireInfo(rules.format, kind))


def _output_message(name: str, block: ToolResult, wire: WireInfo | None) -> Message:
    return Message(id=name, role="tool", blocks=(block,), origin=Origin.TOOL, wire=wire)


CONTINUATION_OPENING = "(The conversation goes on from here.)"
"""The user text put first when a history would begin with the assistant, which Anthropic refuses,
or would be empty. Constant, for the prefix.
"""


def normalize_history(
    messages: Iterable[Message], wire_format: str, *, tool_tokens: int = MAX_TOOL_TOKENS
) -> tuple[Message, ...]:
    """The history as it can be sent in this wire format (`anthropic`, `openai_responses`,
    `openai_chat`). Raises WireFormatError for another.

    Args:
        messages: The history, of any format, without the system prompt.
        wire_format: The format of the request.
        tool_tokens: Longest output of a tool in estimated tokens.
    """
    if wire_format not in OWN_FORMATS:
        raise WireFormatError(
            f"{wire_format} is no wire format; give one of {', '.join(OWN_FORMATS)}."
        )
    rules = NormalizationRules(format=wire_format, tool_tokens=tool_tokens)
    ordered = [
        new for message in messages if (new := normalize_message(message, rules)) is not None
    ]
    pairs = pair_calls_with_results(ordered, rules)
    if wire_format == "openai_responses":
        return _drop_lone_reasoning(list(_place_outputs_after_calls(pairs, rules)))
    arranged = (
        _merge_neighbours(_move_outputs_behind_replies(pairs, rules), wire_format)
        if wire_format == "anthropic"
        else list(_move_outputs_behind_replies(pairs, rules))
    )
    if not arranged or (wire_format == "anthropic" and _wire_role(arranged[0]) != "user"):
        arranged.insert(
            0,
            Message(
                id="opening",
                role="user",
                blocks=(TextBlock(CONTINUATION_OPENING),),
                origin=Origin.INJECTED,
            ),
        )
    return tuple(arranged)


def _place_outputs_after_calls(
    pairs: PairedMessages, rules: NormalizationRules
) -> Iterator[Message]:
    """Responses API: outputs may be anywhere behind their calls; missing ones are inserted right
    behind the call.
    """
    for message in pairs.messages:
        missing = [
            call
            for call in message.tool_uses
            if call.id not in pairs.positions and not is_marked_as_server_executed(call)
        ]
        outputs = {call.id: build_missing_tool_result(call, message, rules) for call in missing}
        hopeless = {name for name, output in outputs.items() if output is None}
        blocks = tuple(
            block
            for block in message.blocks
            if not (isinstance(block, ToolUse) and block.id in hopeless)
        )
        if not hopeless:
            yield message
        elif blocks:
            yield replace(message, blocks=blocks)
        yield from (output for output in outputs.values() if output is not None)


def _drop_lone_reasoning(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Responses API: an item of reasoning that names its id is refused where no item of the model
    follows it, as after an interruption.
    """
    kept: list[Message] = []
    is_followed = False
    for message in reversed(messages):
        thoughts = [block for block in message.blocks if isinstance(block, ThinkingBlock)]
        if not thoughts or len(thoughts) < len(message.blocks):
            is_followed = message.role == "assistant"
        elif not is_followed and any(each.extra and each.extra.get("id") for each in thoughts):
            continue
        kept.append(message)
    return tuple(reversed(kept))


def _reply_groups(
    messages: Sequence[Message], rules: NormalizationRules
) -> Iterator[tuple[int, int, int]]:
    """Yield stretches (first, end of the assistant's messages, end of what follows): one reply, and
    all up to the next reply.
    """
    index, count = 0, len(messages)
    while index < count:
        first = index
        while (
            index < count
            and messages[index].role == "assistant"
            and (index == first or _is_one_reply(messages[index - 1], messages[index], rules))
        ):
            index += 1
        end = index
        while index < count and messages[index].role != "assistant":
            index += 1
        yield first, end, index


def _is_one_reply(before: Message, message: Message, rules: NormalizationRules) -> bool:
    """Tell whether two neighbouring assistant messages are one on the wire: Chat Completions joins
    only those that came from other formats.
    """
    if rules.format == "anthropic":
        return True
    return not any(
        each.wire is not None and each.wire.format == rules.format for each in (before, message)
    )


def _move_outputs_behind_replies(
    pairs: PairedMessages, rules: NormalizationRules
) -> Iterator[Message]:
    """Move every reply's outputs right behind it, ahead of everything else."""
    messages = pairs.messages
    for first, end, after in _reply_groups(messages, rules):
        group, others = messages[first:end], messages[end:after]
        if group and _is_only_reasoning(group):
            group = []
        yield from group
        calls = {call.id: (call, message) for message in group for call in message.tool_uses}
        here, rest = _split_outputs(others, calls.keys())
        yield from here
        found = {result.tool_use_id for message in here for result in message.tool_results}
        for name, (call, message) in calls.items():
            if name in found:
                continue
            position = pairs.positions.get(name)
            output = (
                build_missing_tool_result(call, message, rules)
                if position is None
                else _extract_output(messages[position], name)
            )
            if output is not None:
                yield output
        yield from rest


def _is_only_reasoning(group: Sequence[Message]) -> bool:
    return all(
        isinstance(block, ThinkingBlock | RedactedThinkingBlock)
        for message in group
        for block in message.blocks
    ) and any(message.blocks for message in group)


def _split_outputs(
    others: Iterable[Message], calls: Iterable[str]
) -> tuple[list[Message], list[Message]]:
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
        outputs = [
            block
            for block in message.blocks
            if isinstance(block, ToolResult) and block.tool_use_id in names
        ]
        words = [block for block in message.blocks if not isinstance(block, ToolResult)]
        blocks = (*outputs, *words)
        if blocks:
            (here if outputs else rest).append(
                message if blocks == message.blocks else replace(message, blocks=blocks)
            )
    return here, rest


def _extract_output(message: Message, name: str) -> Message:
    """Extract an output that is further down, as a message of its own."""
    if len(message.blocks) == 1:
        return message
    blocks = tuple(
        block
        for block in message.blocks
        if isinstance(block, ToolResult) and block.tool_use_id == name
    )
    return replace(message, id=f"{message.id}:{name}", blocks=blocks, origin=Origin.TOOL)


def _wire_role(message: Message) -> str:
    """Return the role of the entry that the message becomes in Anthropic's format."""
    if message.role == "assistant":
        return "assistant"
    return "system" if message.role == "system" and _is_native(message) else "user"


def _is_native(message: Message) -> bool:
    return message.wire is not None and message.wire.format == "anthropic"


def _merge_neighbours(messages: Iterable[Message], wire_format: str) -> list[Message]:
    """Merge neighbours of one role if both came from this wire format; those of other formats are
    joined when they are written.
    """
    runs: list[list[Message]] = []
    for message in messages:
        if runs and _can_join(runs[-1][-1], message):
            runs[-1].append(message)
        else:
            runs.append([message])
    return [run[0] if len(run) == 1 else _join_messages(run, wire_format) for run in runs]


def _can_join(before: Message, message: Message) -> bool:
    if before.role != message.role or before.role == "system":
        return False
    wires = (before.wire, message.wire)
    return all(
        wire is not None and wire.format == "anthropic" and wire.kind != UNKNOWN_ITEM
        for wire in wires
    )


def _join_messages(run: Sequence[Message], wire_format: str) -> Message:
    origins = {message.origin for message in run}
    origin = Origin.USER if Origin.USER in origins else run[0].origin
    extra = {
        key: value
        for message in run
        if message.wire is not None
        for key, value in (message.wire.extra or {}).items()
    }
    blocks = [
        _with_origin(block, message.origin, origin) for message in run for block in message.blocks
    ]
    if run[0].role == "user":
        blocks = [
            *(b for b in blocks if isinstance(b, ToolResult)),
            *(b for b in blocks if not isinstance(b, ToolResult)),
        ]
    return replace(
        run[0], blocks=tuple(blocks), origin=origin, wire=WireInfo(wire_format, extra=extra or None)
    )


def _with_origin(block: Block, own: Origin, whole: Origin) -> Block:
    """Return the block with its own origin if its message now has another one."""
    if isinstance(block, TextBlock) and block.origin is None and own is not whole:
        return replace(block, origin=own)
    return block


# Decide from new messages alone whether a growing history needs normalizing.


UNLIMITED_TOKENS = 2**31
"""No limit for tool outputs: the file-native family stores long ones on disk instead (CP-4)."""


class IncrementalHistoryNormalizer:
    """Tracks one session's history from request to request."""

    def __init__(self, wire_format: str, family: Family) -> None:
        self._format = wire_format
        self._limit = MAX_TOOL_TOKENS if family == "rollout" else UNLIMITED_TOKENS
        self._looked = False
        self._answered: frozenset[str] = frozenset()
        """Calls without a result that have been given one."""

    def needs_normalizing(self, new: Iterable[Message], open_calls: Sequence[str]) -> bool:
        """Tell whether the new messages or still unanswered calls require normalizing; always true
        before the first request of a process.
        """
        long = self._limit < UNLIMITED_TOKENS and any(
            estimate_text_tokens(result.text) > self._limit
            for message in new
            for result in message.tool_results
        )
        waiting = frozenset(open_calls)
        if self._looked and waiting <= self._answered and not long:
            return False
        self._looked, self._answered = True, waiting
        return True

    def reset(self) -> None:
        """Forget what was checked: the history was replaced, so the next request is checked as a
        whole.
        """
        self._looked = False

    def normalize(self, whole: Sequence[Message]) -> tuple[Message, ...]:
        """Return the history in sendable form; messages that need no change stay the very same
        objects.
        """
        return normalize_history(whole, self._format, tool_tokens=self._limit)


def repair_request(request: JsonObject, wire_format: str) -> JsonObject:
    """The request with a history that a provider accepts; the same object where it is one already.

    What is done is described in docs/world-state.md; no output is cut. A request that goes on from
    one the provider stored (`previous_response_id`, `conversation`) is left alone, since the calls
    of its outputs are there. The result is the same for the same history, so that the prompt cache
    serves it. Raises WireFormatError for another format, or a request that is not of it.
    """
    if request.get("previous_response_id") or request.get("conversation"):
        return request
    codec = find_codec(wire_format)
    decoded = codec.decode_request(request)
    messages = normalize_history(decoded.messages, wire_format, tool_tokens=UNLIMITED_TOKENS)
    if len(messages) == len(decoded.messages) and all(
        one is other for one, other in zip(messages, decoded.messages, strict=True)
    ):
        return request
    return codec.encode_request(replace(decoded, messages=messages))
