"""The common part of the three codecs: the frame of a request body, and how a history is extended.
Each codec reads and writes the items.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, ClassVar

import msgspec
from msgspec import Struct, structs

from memorist.core.messages import (
    Block,
    DecodedRequest,
    DocumentBlock,
    ImageBlock,
    JsonObject,
    Message,
    Origin,
    Role,
    TextBlock,
    ToolDefinition,
    ToolResult,
    ToolUse,
    UnknownBlock,
    Usage,
    WireInfo,
)
from memorist.errors import WireFormatError
from memorist.formats.host_markup import detect_origin
from memorist.ports import Reply

INSTRUCTION_AND_TOOL_KEYS = ("system", "instructions", "tools")
"""Keys of a request, in any of the formats, that the model reads beside the history."""
OUTPUT_LIMIT_KEYS = ("max_tokens", "max_output_tokens", "max_completion_tokens")
"""Keys of a request that limit the length of the reply, in the three wire formats."""

MAX_ARGUMENT_LEVELS = 200
"""Levels of objects and lists in a call's arguments; deeper ones stay text. Our choice."""

FINISHED_REASONS = frozenset({"end_turn", "stop", "stop_sequence", "completed"})
"""Stop reasons of the three wire formats that mean the answer is complete."""

REPEATED_REASON = "repetition"
"""Stop reason, of our own, of an answer that was ended because it only repeated itself."""

CUT_OFF_REASONS = frozenset(
    {
        "max_tokens",
        "length",
        "incomplete",
        "max_output_tokens",
        "model_context_window_exceeded",
        REPEATED_REASON,
    }
)
"""Stop reasons that mean the answer was cut off."""


# Shared by the three wire formats: unknown pieces, tool arguments, token counts, origins
# of user content, cache marks.


NOT_AN_OBJECT = "not_an_object"
"""Kind of the unknown block that holds something other than a JSON object, as `{"value": …}`: a
number among content blocks, for example.
"""
UNKNOWN_ITEM = "unknown"
"""`WireInfo.kind` of a message that stands for a history entry of unknown shape; its only block is
an `UnknownBlock`.
"""
CACHE_MARKS = ("cache_control", "prompt_cache_breakpoint")
"""Keys that end a cached prefix at their block: Anthropic's, and OpenAI's since 2026."""

_decode = msgspec.json.Decoder().decode
_DATED_TYPE = re.compile(r"_20\d{6}\Z")


def collect_extra_keys(raw: JsonObject, known: Collection[str]) -> JsonObject | None:
    """The keys that have no named field; None when there are none."""
    found: JsonObject | None = None
    for key in (
        raw
    ):  # most often there is none; a comprehension would build an empty dictionary for each block
        if key not in known:
            found = {} if found is None else found
            found[key] = raw[key]
    return found


def merge_extra_keys(base: JsonObject, extra: JsonObject | None) -> JsonObject:
    """`base` with the keys of `extra` after it; `base` wins where both have a key, so that an
    edited field is what gets written.
    """
    return base if extra is None else {**base, **extra, **base}


def build_unknown_block(raw: object) -> UnknownBlock:
    """A piece of unknown shape, kept as received."""
    if not isinstance(raw, dict):
        return UnknownBlock(NOT_AN_OBJECT, {"value": raw})
    kind = raw.get("type")
    return UnknownBlock(kind if isinstance(kind, str) else "", raw)


def get_unknown_block_json(block: UnknownBlock) -> object:
    """The piece as received."""
    if block.kind == NOT_AN_OBJECT and "type" not in block.raw and "value" in block.raw:
        return block.raw["value"]
    return block.raw


def build_unknown_message(
    wire_format: str,
    raw: object,
    name: str,
    *,
    role: Role = "user",
    origin: Origin = Origin.INJECTED,
) -> Message:
    """A message that holds a whole history entry of unknown shape."""
    return Message(
        id=name,
        role=role,
        blocks=(build_unknown_block(raw),),
        origin=origin,
        wire=WireInfo(wire_format, UNKNOWN_ITEM),
    )


def get_unknown_block_text(block: UnknownBlock) -> str:
    """The text of an unknown block for another format: its own text if it has one (a compaction's
    content, a transcript).
    """
    for key in ("text", "content", "transcript"):
        value = block.raw.get(key)
        if isinstance(value, str):
            return value
    return ""


def parse_tool_arguments_or_none(text: str) -> JsonObject | None:
    """Parse text as a JSON object; None when it is not one, or nested so deep that the walks
    through it would fail.
    """
    try:
        value = _decode(text)
    except (
        msgspec.DecodeError,
        ValueError,
        RecursionError,
    ):  # ValueError: a lone surrogate; RecursionError: endless nesting
        return None
    is_object = isinstance(value, dict) and not _is_nested_deep(value, text)
    return value if is_object else None


def _is_nested_deep(value: JsonObject, text: str) -> bool:
    if text.count("{") + text.count("[") <= MAX_ARGUMENT_LEVELS:
        return False
    level: list[Any] = [value]
    for _ in range(MAX_ARGUMENT_LEVELS):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
    return bool(level)


def get_arguments_text(call: ToolUse) -> str:
    """The arguments as text: the exact text when the wire had text, otherwise the object as
    JSON.
    """
    return json.dumps(call.input, ensure_ascii=False) if call.arguments is None else call.arguments


def get_arguments_object(call: ToolUse) -> JsonObject:
    """The arguments as an object. Free text (a custom tool, broken JSON) becomes the value of the
    single key `input`.
    """
    if (
        call.input
        or call.arguments is None
        or parse_tool_arguments_or_none(call.arguments) is not None
    ):
        return call.input
    return {"input": call.arguments}


def is_custom_call(call: ToolUse, wire: WireInfo | None) -> bool:
    """Whether the call is to a custom tool, which takes free text: Responses marks it by the item's
    kind, Chat by the call's type.
    """
    if wire is not None and wire.kind == "custom_tool_call":
        return True
    return call.extra is not None and call.extra.get("type") == "custom"


def parse_token_number(value: object) -> int:
    """A number of tokens; 0 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def get_text_or_none(value: object) -> str | None:
    """The value if it is text, otherwise None."""
    return value if isinstance(value, str) else None


def detect_origin_of_user_message(blocks: tuple[Block, ...]) -> tuple[Origin, tuple[Block, ...]]:
    """The origin of a user message, and its blocks with each text of another origin marked.

    USER when any text was typed; TOOL when it holds tool results and nothing typed; USER for media
    alone; otherwise the origin of its texts.
    """
    if len(blocks) == 1:
        only = blocks[0]
        if isinstance(only, TextBlock):
            return detect_origin(only.text), blocks
        return Origin.TOOL if isinstance(only, ToolResult) else Origin.USER, blocks
    origins = [
        detect_origin(block.text) if isinstance(block, TextBlock) else None for block in blocks
    ]
    return mark_text_blocks_with_origins(blocks, origins)


def mark_text_blocks_with_origins(
    blocks: tuple[Block, ...], origins: list[Origin | None]
) -> tuple[Origin, tuple[Block, ...]]:
    """Like `detect_origin_of_user_message`, with the origin of every text (None for other blocks)
    determined by the caller.
    """
    whole = _whole_origin(blocks, origins)
    if all(origin is None or origin is whole for origin in origins):
        return whole, blocks
    changed = (
        TextBlock(block.text, origin, block.extra)
        if isinstance(block, TextBlock) and origin is not None and origin is not whole
        else block
        for block, origin in zip(blocks, origins, strict=True)
    )
    return whole, tuple(changed)


def _whole_origin(blocks: tuple[Block, ...], origins: list[Origin | None]) -> Origin:
    if Origin.USER in origins:
        return Origin.USER
    if any(isinstance(block, ToolResult) for block in blocks):
        return Origin.TOOL
    if not all(isinstance(block, TextBlock) for block in blocks) or not blocks:
        return Origin.USER
    return (
        next((origin for origin in origins if origin not in (None, Origin.INJECTED)), None)
        or Origin.INJECTED
    )


def strip_entry_cache_marks(entry: object) -> object:
    """A history entry without cache marks on itself, its blocks, or the parts of its tool results.
    Tool input is the model's and stays unchanged.
    """
    if not isinstance(entry, dict):
        return entry
    clean = {key: value for key, value in entry.items() if key not in CACHE_MARKS}
    for key in ("content", "output"):
        if isinstance(clean.get(key), list):
            clean[key] = [strip_entry_cache_marks(part) for part in clean[key]]
    return clean


def copy_cache_mark(source: object, entry: object) -> object:
    """The entry with the last cache mark of `source` on its last block; the entry itself where
    there is none, or no block that can carry it.
    """
    mark = _find_cache_mark(source)
    blocks = entry.get("content") if isinstance(entry, dict) else None
    if not mark or not isinstance(entry, dict) or not isinstance(blocks, list) or not blocks:
        return entry
    last = blocks[-1]
    if not isinstance(last, dict) or last.get("text") == "" or "thinking" in str(last.get("type")):
        return entry
    return {**entry, "content": [*blocks[:-1], {**last, **mark}]}


def _find_cache_mark(entry: object) -> JsonObject:
    if not isinstance(entry, dict):
        return {}
    own = {key: entry[key] for key in CACHE_MARKS if entry.get(key)}
    if own:
        return own
    inner = entry.get("content")
    marks = map(_find_cache_mark, reversed(inner if isinstance(inner, list) else []))
    return next(filter(None, marks), {})


def decode_tool_definitions(
    tools: object, read: Callable[[JsonObject], ToolDefinition]
) -> tuple[ToolDefinition, ...]:
    """The tools of a request body; empty when they are missing or not a list of objects (they then
    stay among the parameters).
    """
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        return ()
    return tuple(read(tool) for tool in tools)


def decode_tool_definition_object(
    raw: JsonObject, source: JsonObject, schema_key: str
) -> ToolDefinition:
    """Read a tool from the object that holds its name, description and schema; fields of a wrong
    type are left empty.
    """
    name = source.get("name")
    description = source.get("description")
    schema = source.get(schema_key)
    return ToolDefinition(
        name=name if isinstance(name, str) else get_text_or_none(raw.get("type")) or "",
        description=description if isinstance(description, str) else "",
        schema=schema if isinstance(schema, dict) else {},
        raw=raw,
    )


def is_anthropic_builtin_tool(raw: JsonObject) -> bool:
    """Whether the definition is one of Anthropic's own tools, which have a dated type
    (`bash_20250124`) and no schema.
    """
    kind = raw.get("type")
    return isinstance(kind, str) and _DATED_TYPE.search(kind) is not None


def require_object(value: object, what: str) -> JsonObject:
    """Return the value if it is a JSON object. Raises WireFormatError."""
    if not isinstance(value, dict):
        raise WireFormatError(f"{what} is not a JSON object; give the decoded object.")
    return value


def require_list_field(body: JsonObject, key: str, what: str) -> list[Any]:
    """Return the list under the key. Raises WireFormatError."""
    value = body.get(key)
    if not isinstance(value, list):
        raise WireFormatError(f"{what} has no list `{key}`; check which format it is.")
    return value


def get_lone_plain_text(blocks: Sequence[Block]) -> str | None:
    """The text of blocks that are one text without extras, which a string can stand for; None of
    others.
    """
    first = blocks[0] if len(blocks) == 1 else None
    return first.text if isinstance(first, TextBlock) and first.extra is None else None


def read_openai_usage(usage: object, read_name: str, written_name: str) -> Usage:
    """Token counts as OpenAI's two APIs give them, under these names. What was read includes cached
    and cache-written tokens; they are subtracted.
    """
    if not isinstance(usage, dict):
        return Usage()
    details = usage.get(f"{read_name}_tokens_details")
    details = details if isinstance(details, dict) else {}
    read = parse_token_number(details.get("cached_tokens"))
    written = parse_token_number(details.get("cache_write_tokens"))
    return Usage(
        input=max(0, parse_token_number(usage.get(f"{read_name}_tokens")) - read - written),
        cache_read=read,
        cache_write=written,
        output=parse_token_number(usage.get(f"{written_name}_tokens")),
    )


def join_block_texts(blocks: Iterable[Block]) -> str:
    """Text blocks and the text of unknown ones, joined by blank lines; media as a word in
    brackets.
    """
    return "\n\n".join(text for block in blocks if (text := _block_text(block)))


def _block_text(block: Block) -> str:
    match block:
        case TextBlock():
            return block.text
        case UnknownBlock():
            return get_unknown_block_text(block)
        case ImageBlock():
            return "[image]"
        case DocumentBlock():
            return "[document]"
        case _:
            return ""


class Codec(ABC):
    """Reads and writes one wire format. Every method is pure and never changes its arguments.

    Lossless: `encode_request(decode_request(body)) == body` for every body whose overall shape is
    that of the format, with unknown keys, unknown blocks and unusual but legal forms kept. Decoding
    raises `WireFormatError` for what is not of the format at all.
    """

    name: str
    """The format's name, as in `Request.format`."""
    body_key: str
    """Key of the body that holds the history."""
    system_key: str = ""
    """Key of the body that holds the system prompt; empty when the history holds it."""
    user_wire: WireInfo | None = None
    """How a new user message is written."""
    limit_key: str
    """Key of the body that holds the most output tokens."""
    fresh_fields: ClassVar[JsonObject] = {}
    """What else stands in every fresh request: that the provider shall not store it."""

    def history_key(self) -> str:
        """The key of a request body that holds the growing list: `messages`, or `input` for
        Responses.
        """
        return self.body_key

    @abstractmethod
    def decode_history_item(self, item: object, name: str) -> Message:
        """Read one entry of the history; `name` is the message id when the wire gives none. Never
        raises.
        """

    @abstractmethod
    def encode_messages(self, messages: Sequence[Message]) -> list[Any]:
        """Write messages as entries of the history.

        Messages of this format are written as they were read. Messages of another format are
        translated: what this format cannot express is left out (extras) or becomes text (unknown
        blocks), and neighbours that must be one entry are merged.
        """

    @abstractmethod
    def decode_system_prompt(self, value: object) -> tuple[Message, ...]:
        """Read the system prompt from its own key of the body; empty for an unknown shape."""

    def encode_system_prompt(self, messages: Sequence[Message]) -> object:
        """The value of the body's system key: all texts, joined by blank lines."""
        return "\n\n".join(join_block_texts(message.blocks) for message in messages)

    def build_user_messages(
        self, text: str, results: Sequence[Message] = ()
    ) -> tuple[Message, ...]:
        """Build a user message with `text`, preceded by the given tool results as this format
        requires (one message in Anthropic's).
        """
        blocks = (TextBlock(text),)
        user = Message(
            id="", role="user", blocks=blocks, origin=detect_origin(text), wire=self.user_wire
        )
        return (*results, user)

    def build_request(
        self,
        model: str,
        *,
        system: str,
        text: str,
        tools: Sequence[ToolDefinition] = (),
        max_output: int,
        schema: JsonObject | None = None,
    ) -> JsonObject:
        """Build a fresh request with one user message. With `schema`, the answer is requested as
        JSON of that schema, in the format's own way.
        """
        body: JsonObject = {"model": model, self.limit_key: max_output, **self.fresh_fields}
        lead = [{"role": "system", "content": system}] if system and not self.system_key else []
        if system and self.system_key:
            body[self.system_key] = system
        if tools:
            body["tools"] = [self.encode_tool_definition(tool) for tool in tools]
        if schema is not None:
            body |= self.build_answer_schema_fields(schema)
        body[self.body_key] = [*lead, *self.encode_messages(self.build_user_messages(text))]
        return body

    @abstractmethod
    def build_answer_schema_fields(self, schema: JsonObject) -> JsonObject:
        """The fields of a request that hold its answer to a schema."""

    @abstractmethod
    def decode_tool_definition(self, raw: JsonObject) -> ToolDefinition:
        """Read a tool definition."""

    @abstractmethod
    def encode_tool_definition(self, tool: ToolDefinition) -> JsonObject:
        """Write a tool definition of any format: unchanged if it is of this one, otherwise from its
        fields.
        """

    @abstractmethod
    def list_reply_wire_items(self, reply: JsonObject) -> list[Any]:
        """The part of a reply that is added to the history, unchanged. Raises WireFormatError."""

    @abstractmethod
    def decode_reply(self, body: JsonObject) -> Reply:
        """Read a whole (not streamed) reply; `cost_usd` is None. Raises WireFormatError."""

    @abstractmethod
    def build_tool_result_message(
        self, tool_use_id: str, text: str, *, is_error: bool = False, custom: bool = False
    ) -> Message:
        """Build a message with one tool result in this format."""

    def decode_item(self, item: object, *, id: str) -> tuple[Message, ...]:
        """Read one entry of the history: always one message."""
        return (self.decode_history_item(item, id),)

    def get_history_items(self, body: JsonObject) -> list[Any]:
        """The entries of the history. Raises WireFormatError."""
        return require_list_field(body, self.body_key, f"The {self.name} request")

    def decode_request(self, body: JsonObject) -> DecodedRequest:
        """Read a whole request body. Messages without an id on the wire are named `m0`, `m1` … by
        position. Raises WireFormatError.
        """
        require_object(body, f"The {self.name} request")
        messages = [
            self.decode_history_item(item, f"m{index}")
            for index, item in enumerate(self.get_history_items(body))
        ]
        system = self.decode_system_prompt(body[self.system_key]) if self.system_key in body else ()
        tools = decode_tool_definitions(body.get("tools"), self.decode_tool_definition)
        read_keys = {
            self.body_key,
            "tools" if tools else self.body_key,
            self.system_key if system else self.body_key,
        }
        return DecodedRequest(
            system=system,
            tools=tools,
            messages=tuple(messages),
            params={key: value for key, value in body.items() if key not in read_keys},
            wire=WireInfo(self.name, "request", isinstance(body[self.body_key], str)),
        )

    def encode_request(self, prompt: DecodedRequest) -> JsonObject:
        """Write a whole request body. The parameters of a prompt of another format are kept as they
        are: the caller chooses new ones.
        """
        native = prompt.wire.format == self.name
        body = dict(prompt.params)
        if prompt.system and self.system_key:
            body[self.system_key] = self.encode_system_prompt(prompt.system)
        if prompt.tools:
            body["tools"] = [
                tool.raw if native else self.encode_tool_definition(tool) for tool in prompt.tools
            ]
        lead = () if self.system_key else prompt.system
        body[self.body_key] = self.encode_messages([*lead, *prompt.messages])
        return body

    def append_reply_and_messages(
        self, body: JsonObject, reply: JsonObject | None, tail: Sequence[Message]
    ) -> JsonObject:
        """The same request with the reply to it and then `tail` at the end of its history.

        The new body shares every earlier entry and parameter with the old one, so that its bytes
        are a prefix of the new request's history. The tail carries no cache mark. Tool calls that
        the reply leaves open are up to the caller (`build_placeholder_results`). Raises
        WireFormatError.
        """
        require_object(body, f"The {self.name} request")
        # Old entries are reused by identity: a rebuilt entry could encode to other bytes, and the
        # provider caches by byte prefix.
        replied = (
            []
            if reply is None
            else self.list_reply_wire_items(require_object(reply, f"The {self.name} reply"))
        )
        added = [strip_entry_cache_marks(entry) for entry in self.encode_messages(tail)]
        return {**body, self.body_key: [*self.get_history_items(body), *replied, *added]}


# Reorder messages of other formats as Anthropic and Chat Completions require: the results of a
# call directly after it.


class SpeakerGroup(Struct):
    """Consecutive messages of one side: groups alternate between the assistant and everyone
    else.
    """

    is_assistant: bool
    messages: list[Message]
    tool_results: list[ToolResult]
    """Tool results from messages of other formats; they come before the messages."""

    def all_messages(self) -> list[Message]:
        """The tool results as one message of no format, then the messages."""
        if not self.tool_results:
            return self.messages
        return [
            Message(id="", role="tool", blocks=tuple(self.tool_results), origin=Origin.TOOL),
            *self.messages,
        ]


def group_by_speaker(
    messages: Iterable[Message], is_native: Callable[[Message], bool]
) -> list[SpeakerGroup]:
    """Group messages by side. Native messages are kept whole; tool results in the others move to
    the group after their call.
    """
    found: list[SpeakerGroup] = []
    asked: dict[str, int] = {}
    for message in messages:
        if is_native(message):
            _last_group(found, assistant=message.role == "assistant").messages.append(message)
        else:
            _add_translated(found, asked, message)
        for call in message.tool_uses:
            asked[call.id] = len(found)
    return found


def _add_translated(found: list[SpeakerGroup], asked: dict[str, int], message: Message) -> None:
    answers = message.tool_results
    for answer in answers:
        position = asked.get(answer.tool_use_id)
        turn = (
            found[position]
            if position is not None and position < len(found)
            else _last_group(found, assistant=False)
        )
        turn.tool_results.append(answer)
    if not answers:
        _last_group(found, assistant=message.role == "assistant").messages.append(message)
        return
    others = tuple(block for block in message.blocks if not isinstance(block, ToolResult))
    if others:
        _last_group(found, assistant=message.role == "assistant").messages.append(
            structs.replace(message, blocks=others)
        )


def _last_group(found: list[SpeakerGroup], *, assistant: bool) -> SpeakerGroup:
    if not found or found[-1].is_assistant is not assistant:
        found.append(SpeakerGroup(is_assistant=assistant, messages=[], tool_results=[]))
    return found[-1]
