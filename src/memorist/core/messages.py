"""What a conversation is made of: messages, their blocks, and the numbers that came with them.

Every wire and file format is parsed into these values once, at the edge (`memorist.formats`), and written from them again
without loss. What a format says beyond the named fields stays in `extra`, untouched, and `wire` names the format it
belongs to: a codec writes back the extras of its own format and leaves out those of another.

The values are `msgspec.Struct`s, frozen: they behave as frozen dataclasses and are made an order of magnitude faster,
which is what lets a replay follow a transcript at disk speed (docs/decisions/0001).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from msgspec import Struct

Role = Literal["user", "assistant", "system", "developer", "tool"]
"""Who speaks on the wire. `tool` is the Chat Completions role of a tool's answer."""

JsonObject = dict[str, Any]
"""A JSON object as decoded: text keys, any JSON value. Never changed in place once it is part of a message."""


RECALLED = "memorist-recall-"
"""How the ids of messages begin that show memories of earlier sessions."""
SKILL_BODY = "memorist-skill-"
"""How the ids of messages begin that hold the body of a skill."""
WORLD_CHANGE = "memorist-world-"
"""How the ids of messages begin that tell of a change of the surroundings."""
PAST = "memorist-past-"
"""How the ids of messages begin that show what past sessions taught."""
SHOWN_ANEW = (RECALLED, SKILL_BODY, WORLD_CHANGE, PAST)
"""After a compaction these are shown anew, and no summary quotes them."""


class Origin(StrEnum):
    """Where a text really comes from; on the wire many of these share the role `user`."""

    USER = "user"
    """Typed by the person."""
    MODEL = "model"
    """Written by the model."""
    TOOL = "tool"
    """A tool's answer."""
    INJECTED = "injected"
    """Put there by a harness: reminders, instruction files, environment, hook output."""
    SUMMARY = "summary"
    """A compaction's summary that stands for earlier messages."""
    NOTIFICATION = "notification"
    """News from background work; no person spoke."""
    AGENT = "agent"
    """Written by another agent."""


class Usage(Struct, frozen=True, kw_only=True):
    """Tokens of one model call, as the provider counted them. The four parts do not overlap."""

    input: int = 0
    """Input tokens billed in full: neither read from the cache nor written to it."""
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0

    @property
    def context(self) -> int:
        """Tokens of context after the call: all of the input and the output (claude-code.md section 4)."""
        return self.input + self.cache_read + self.cache_write + self.output

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input=self.input + other.input,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
            output=self.output + other.output,
        )


class Text(Struct, frozen=True, tag="text"):
    """Plain text. `origin` is set where a block's origin differs from its message's (a reminder beside a typed prompt)."""

    text: str
    origin: Origin | None = None
    extra: JsonObject | None = None


class Thinking(Struct, frozen=True, tag="thinking"):
    """The model's reasoning, readable or not. `signature` proves it to the provider and must come back as it was.

    For OpenAI Responses a reasoning item is one of these: `text` holds the summary texts joined by blank lines, `signature` the
    encrypted content, `extra` the item's parts.
    """

    text: str = ""
    signature: str | None = None
    extra: JsonObject | None = None


class RedactedThinking(Struct, frozen=True, tag="redacted_thinking"):
    """Reasoning that the provider withheld; `data` must come back as it was."""

    data: str
    extra: JsonObject | None = None


class ToolUse(Struct, frozen=True, tag="tool_use"):
    """A call to a tool. `id` pairs it with its result.

    `arguments` is the exact text of the arguments where the wire carries text (OpenAI; free text for custom tools), and None where
    it carries an object (Anthropic). `input` is the parsed object, empty when the text is not a JSON object.
    """

    id: str
    name: str
    input: JsonObject
    arguments: str | None = None
    namespace: str | None = None
    extra: JsonObject | None = None


class Image(Struct, frozen=True, tag="image"):
    """A picture: `source` as the format wrote it (base64, URL or file id)."""

    source: JsonObject
    extra: JsonObject | None = None


class Document(Struct, frozen=True, tag="document"):
    """A document (PDF, text file): `source` as the format wrote it."""

    source: JsonObject
    extra: JsonObject | None = None


class Unknown(Struct, frozen=True, tag="unknown"):
    """A block or item of a kind that memorist does not know, kept as it came."""

    kind: str
    raw: JsonObject


class ToolResult(Struct, frozen=True, tag="tool_result"):
    """A tool's answer. `plain` says that the wire carried one string, not a list of parts."""

    tool_use_id: str
    content: tuple[Text | Image | Document | Unknown, ...]
    is_error: bool = False
    plain: bool = True
    extra: JsonObject | None = None

    @property
    def text(self) -> str:
        """The text parts, joined by newlines."""
        if len(self.content) == 1 and isinstance(self.content[0], Text):
            return self.content[0].text
        return "\n".join(part.text for part in self.content if isinstance(part, Text))


Block = Text | Thinking | RedactedThinking | ToolUse | ToolResult | Image | Document | Unknown


class Wire(Struct, frozen=True):
    """How the message stood on its wire: which format, which kind of item, whether its content was one string, what else it said."""

    format: str
    kind: str = "message"
    plain: bool = False
    extra: JsonObject | None = None


class Message(Struct, frozen=True, kw_only=True):
    """One message, or one record of a message that its format splits (`reply_id` joins those)."""

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
    """Line of the file the message was read from, counted from 1; 0 when it was not read from a file."""
    wire: Wire | None = None

    @property
    def text(self) -> str:
        """The text blocks, joined by newlines."""
        return "\n".join(block.text for block in self.blocks if isinstance(block, Text))

    @property
    def tool_uses(self) -> tuple[ToolUse, ...]:
        """The calls in this message, in order."""
        return tuple([block for block in self.blocks if isinstance(block, ToolUse)])

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        """The tool answers in this message, in order."""
        return tuple([block for block in self.blocks if isinstance(block, ToolResult)])


class ToolDefinition(Struct, frozen=True):
    """A tool as the model is shown it. `raw` is the definition as it stands on the wire; the other fields are read from it."""

    name: str
    description: str
    schema: JsonObject
    raw: JsonObject


class Prompt(Struct, frozen=True, kw_only=True):
    """A whole request to a model: what a codec reads from a request body and can write back without loss."""

    system: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...]
    messages: tuple[Message, ...]
    params: JsonObject
    """Every other key of the body (model, max_tokens, thinking …), as it came."""
    wire: Wire
