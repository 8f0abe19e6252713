"""The parts of a conversation: messages, their blocks, and token usage.

Every wire and file format is parsed into these values once, at the edge (`memorist.formats`), and
written back from them without loss. Keys that have no named field stay in `extra`, unchanged, and
`wire` names the format they belong to: a codec writes back the extras of its own format and drops
those of another.

The values are frozen `msgspec.Struct`s: they behave like frozen dataclasses and are created an
order of magnitude faster, which lets a replay read a transcript at disk speed
(docs/decisions/0001).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

Role = Literal["user", "assistant", "system", "developer", "tool"]
"""The role on the wire. `tool` is the role of tool results in Chat Completions."""

JsonObject = dict[str, Any]
"""A JSON object as decoded: text keys, any JSON value. Never changed in place once it is part of a
message.
"""


RECALL_ID_PREFIX = "memorist-recall-"
"""Prefix of the ids of messages that show recalled memories."""
SKILL_ID_PREFIX = "memorist-skill-"
"""Prefix of the ids of messages that hold the body of a skill."""
WORLD_STATE_ID_PREFIX = "memorist-world-"
"""Prefix of the ids of messages that report a change of the environment."""
ROLLOUT_MEMORY_ID_PREFIX = "memorist-past-"
"""Prefix of the ids of messages that show memory from past sessions (rollouts)."""
REINJECTED_ID_PREFIXES = (
    RECALL_ID_PREFIX,
    SKILL_ID_PREFIX,
    WORLD_STATE_ID_PREFIX,
    ROLLOUT_MEMORY_ID_PREFIX,
)
"""Messages with these prefixes are injected again after a compaction, and no summary quotes them.
"""


class Origin(StrEnum):
    """Who really wrote a text; on the wire many of these share the role `user`."""

    USER = "user"
    """Typed by the user."""
    MODEL = "model"
    """Written by the model."""
    TOOL = "tool"
    """A tool result."""
    INJECTED = "injected"
    """Injected by a host: reminders, instruction files, environment, hook output."""
    SUMMARY = "summary"
    """A compaction's summary that replaces earlier messages."""
    NOTIFICATION = "notification"
    """A report from background work; not written by the user."""
    AGENT = "agent"
    """Written by another agent."""


class Usage(Struct, frozen=True, kw_only=True):
    """Tokens of one model call, as the provider counted them. The first four fields do not
    overlap.
    """

    input: int = 0
    """Input tokens billed in full: neither read from the cache nor written to it."""
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0
    """Output tokens that are hidden reasoning; 0 where the provider does not tell."""

    @property
    def context_tokens(self) -> int:
        """Tokens of context after the call: all input and the output (Claude Code)."""
        return self.input + self.cache_read + self.cache_write + self.output

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input=self.input + other.input,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
            output=self.output + other.output,
            reasoning=self.reasoning + other.reasoning,
        )


class TextBlock(Struct, frozen=True, tag="text"):
    """Plain text. `origin` is set when the block's origin differs from its message's (a reminder
    beside a typed prompt).
    """

    text: str
    origin: Origin | None = None
    extra: JsonObject | None = None


class ThinkingBlock(Struct, frozen=True, tag="thinking"):
    """The model's reasoning, readable or not. `signature` authenticates it to the provider and must
    be sent back unchanged.

    For OpenAI Responses a reasoning item is one such block: `text` holds the summary texts joined
    by blank lines, `signature` the encrypted content, `extra` the item's parts.
    """

    text: str = ""
    signature: str | None = None
    extra: JsonObject | None = None


class RedactedThinkingBlock(Struct, frozen=True, tag="redacted_thinking"):
    """Reasoning that the provider withheld; `data` must be sent back unchanged."""

    data: str
    extra: JsonObject | None = None


class ToolUse(Struct, frozen=True, tag="tool_use"):
    """A tool call. `id` pairs it with its result.

    `arguments` is the exact text of the arguments where the wire carries text (OpenAI; free text
    for custom tools), and None where it carries an object (Anthropic). `input` is the parsed
    object, empty when the text is not a JSON object.
    """

    id: str
    name: str
    input: JsonObject
    arguments: str | None = None
    namespace: str | None = None
    extra: JsonObject | None = None


class ImageBlock(Struct, frozen=True, tag="image"):
    """An image: `source` as the format wrote it (base64, URL or file id)."""

    source: JsonObject
    extra: JsonObject | None = None


class DocumentBlock(Struct, frozen=True, tag="document"):
    """A document (PDF, text file): `source` as the format wrote it."""

    source: JsonObject
    extra: JsonObject | None = None


class UnknownBlock(Struct, frozen=True, tag="unknown"):
    """A block or item of a kind that memorist does not know, kept as received."""

    kind: str
    raw: JsonObject


ContentPart = TextBlock | ImageBlock | DocumentBlock | UnknownBlock
"""What a tool result is made of."""

MISSING_OUTPUT = "No output: the call was interrupted."
"""Text of a result that never came. Constant, so that retries hit the cached prefix."""


class ToolResult(Struct, frozen=True, tag="tool_result"):
    """A tool result. `plain` says that the wire carried one string, not a list of parts."""

    tool_use_id: str
    content: tuple[ContentPart, ...]
    is_error: bool = False
    plain: bool = True
    extra: JsonObject | None = None

    @property
    def text(self) -> str:
        """The text parts, joined by newlines."""
        if len(self.content) == 1 and isinstance(self.content[0], TextBlock):
            return self.content[0].text
        return "\n".join(part.text for part in self.content if isinstance(part, TextBlock))


Block = (
    TextBlock
    | ThinkingBlock
    | RedactedThinkingBlock
    | ToolUse
    | ToolResult
    | ImageBlock
    | DocumentBlock
    | UnknownBlock
)


def map_block_content(
    block: Block, id: str, change: Callable[[ContentPart, str], ContentPart]
) -> Block:
    """The block with its text, picture or document changed, or each of those in a tool's result.
    `change` is given each part and the id by which it is found again: that of the call, or `id`.
    """
    match block:
        case ToolResult(tool_use_id=call):
            content = tuple(change(part, call) for part in block.content)
            return block if content == block.content else replace(block, content=content)
        case TextBlock() | ImageBlock() | DocumentBlock() | UnknownBlock():
            return change(block, id)
        case _:
            return block


class WireInfo(Struct, frozen=True):
    """How a message was represented on its wire: the format, the kind of item, whether its content
    was one string, and its other keys.
    """

    format: str
    kind: str = "message"
    plain: bool = False
    extra: JsonObject | None = None


class Message(Struct, frozen=True, kw_only=True):
    """One message, or one record of a message that its format splits (records of one reply share
    `reply_id`).
    """

    id: str
    role: Role
    blocks: tuple[Block, ...]
    origin: Origin
    parent: str | None = None
    timestamp: float | None = None
    """Seconds since the epoch, UTC."""
    usage: Usage | None = None
    reply_id: str | None = None
    """The provider's id of the reply; shared by all records of one reply."""
    model: str | None = None
    stop_reason: str | None = None
    line: int = 0
    """Line of the source file, counted from 1; 0 when the message was not read from a file."""
    wire: WireInfo | None = None
    is_typed: bool = False
    """Whether a person typed it: the reader of a user message has to say so. One that a program may
    have passed on (print mode, a pipe) is a request, but no proof of what a person said.
    """

    @property
    def text(self) -> str:
        """The text blocks, joined by newlines."""
        return "\n".join(block.text for block in self.blocks if isinstance(block, TextBlock))

    @property
    def tool_uses(self) -> tuple[ToolUse, ...]:
        """The tool calls in this message, in order."""
        return tuple([block for block in self.blocks if isinstance(block, ToolUse)])

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        """The tool results in this message, in order."""
        return tuple([block for block in self.blocks if isinstance(block, ToolResult)])


def find_newest_user_message(messages: Sequence[Message]) -> Message | None:
    """The newest message of the user that is no result of a tool; None where there is none."""
    return next(
        (
            message
            for message in reversed(messages)
            if message.origin is Origin.USER and not message.tool_results
        ),
        None,
    )


class ToolDefinition(Struct, frozen=True):
    """A tool as the model sees it. `raw` is the definition as on the wire; the other fields are
    read from it.
    """

    name: str
    description: str
    schema: JsonObject
    raw: JsonObject


class DecodedRequest(Struct, frozen=True, kw_only=True):
    """A whole model request: what a codec reads from a request body and can write back without
    loss.
    """

    system: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...]
    messages: tuple[Message, ...]
    params: JsonObject
    """Every other key of the body (model, max_tokens, thinking …), unchanged."""
    wire: WireInfo
