"""The host's history as sent so far, so that each request costs only what is new in it. Pure.

A host sends its whole history with every request. The newest few entries are compared with those
sent before (a host may move its cache mark, which changes old entries slightly); what follows is
new. When the older part no longer matches, the host has rewritten its history, and all of it is
processed again.

Message ids are derived from content plus a counter for repetition, so that a message keeps its id
in the reply, the next request, the transcript on disk and after a restart.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from memorist.core.messages import (
    JsonObject,
    Message,
    Origin,
    TextBlock,
    ToolResult,
    ToolUse,
    UnknownBlock,
)
from memorist.errors import WireFormatError
from memorist.formats.host_markup import strip_host_markup
from memorist.formats.request_codec import Codec, get_arguments_object

COMPARED_NEWEST_ENTRIES = 8
"""Number of the newest known entries that are compared: more than the cache marks (4) that one
request may carry.
"""

MIN_TASK_CHARACTERS = 20
"""Length from which a text in a tool call is taken for a subagent's task. Our choice: a user may
well type a short answer that a model proposed in a question's arguments.
"""

_JSON_NUMBERS = frozenset({bool, int, float})

_encode = msgspec.json.Encoder(order="sorted").encode
_encode_strict = msgspec.json.Encoder().encode


class HostHistoryEntry(Struct, frozen=True):
    """One entry of the host's history: its index, its messages, and those of them that were not
    known before.
    """

    index: int
    messages: tuple[Message, ...]
    new_messages: tuple[Message, ...]


class HistoryAdditions(Struct, frozen=True):
    """The entries that a request adds.

    When `rewritten`, the older part was changed and `entries` holds the whole history.
    """

    entries: tuple[HostHistoryEntry, ...]
    rewritten: bool = False

    @property
    def new_messages(self) -> tuple[Message, ...]:
        """The messages that were not known before."""
        return tuple(message for entry in self.entries for message in entry.new_messages)


MAX_NESTING = 200
"""Levels of objects and lists in one another. Our choice: what is read of a request walks through
all of them, within Python's limit of a thousand calls.
"""


def to_plain_json(value: Any, depth: int = 0) -> Any:  # noqa: ANN401 - JSON, or what an SDK turns into JSON
    """Return a copy of a part of a request as plain JSON: reply objects of SDKs, which hosts put
    back into their history, other mappings and dataclasses become dicts, and keys that are no text
    what JSON makes of them.

    Raises WireFormatError for a value that JSON cannot express, or that is nested too deeply.
    """
    if depth > MAX_NESTING:
        raise WireFormatError(f"the request is nested more than {MAX_NESTING} levels deep")
    kind = type(value)
    if kind is str or value is None or kind in _JSON_NUMBERS:
        return value
    if kind is dict or isinstance(value, dict):
        # Most values are strings; a call for each would cost more than the copy.
        return {
            key if type(key) is str else _to_json_key(key): inner
            if type(inner) is str
            else to_plain_json(inner, depth + 1)
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [to_plain_json(inner, depth + 1) for inner in value]
    if hasattr(value, "model_dump"):
        dumped = value.model_dump(mode="json", exclude_unset=True, by_alias=True)
        return to_plain_json(dumped, depth)
    if is_dataclass(value) and not isinstance(value, type):
        value = {each.name: getattr(value, each.name) for each in fields(value)}
    if isinstance(value, Mapping):
        return to_plain_json(dict(value), depth)
    try:
        _encode(value)
    except TypeError as error:
        raise WireFormatError(f"the request holds a value that is no JSON: {error}") from error
    return value


def _to_json_key(key: object) -> str:
    """The key as SDKs write it. Raises WireFormatError for one that they refuse."""
    if isinstance(key, str):
        return key
    if key is None or isinstance(key, bool | int | float):
        return json.dumps(key)
    raise WireFormatError(f"the request holds a key that is no JSON: {key!r:.100}")


def check_entry_shapes(items: Iterable[object], key: str) -> None:
    """Raises WireFormatError for an entry of a history that cannot be an object of JSON, such as a
    tuple of role and text, and for a message of another kind of API: nothing of it would be read,
    and no provider of the format takes it.
    """
    for number, item in enumerate(items):
        is_object = isinstance(item, Mapping) or hasattr(item, "model_dump") or is_dataclass(item)
        if not is_object:
            raise WireFormatError(
                f"{key}[{number}] is an object with a role and content, such as a dict, not "
                f"{type(item).__name__}"
            )
        if isinstance(item, dict) and (foreign := _find_foreign_shape(item)):
            raise WireFormatError(f"{key}[{number}] {foreign}")


_BEDROCK_PARTS = frozenset(
    ("text", "toolUse", "toolResult", "image", "document", "reasoningContent", "cachePoint")
)


def _find_foreign_shape(item: JsonObject) -> str:
    """What shows that a message is of an API whose format memorist does not read, and what to do;
    empty where nothing does.
    """
    content = item.get("content")
    if "parts" in item and content is None:
        return (
            "has 'parts' in place of 'content', as messages of Gemini and of the AI SDK do: send "
            "Gemini's OpenAI-compatible requests, or use the adapters for Google ADK or LiteLLM"
        )
    first = content[0] if isinstance(content, list) and content else None
    if isinstance(first, dict) and "type" not in first and not _BEDROCK_PARTS.isdisjoint(first):
        return (
            "has content without a 'type', as messages of Bedrock's Converse do: give each part "
            "its type, or use the adapter for LiteLLM"
        )
    return ""


def replace_lone_surrogates(item: object) -> object:
    """Return the entry itself, or a copy with `?` in place of each lone surrogate, which JSON
    cannot carry.
    """
    try:
        _encode_strict(item)
    except UnicodeEncodeError:
        return _replace_surrogates(item)
    except TypeError:
        pass  # not JSON; the codec reports what it is
    return item


def _replace_surrogates(value: object) -> object:
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case dict():
            return {
                _replace_surrogates(key): _replace_surrogates(inner) for key, inner in value.items()
            }
        case list():
            return [_replace_surrogates(inner) for inner in value]
        case _:
            return value


def is_instructions(item: object) -> bool:
    """Whether an entry of a history holds instructions to the model."""
    return isinstance(item, Mapping) and item.get("role") in ("system", "developer")


def compute_message_digest(message: Message) -> str:
    """Return 16 hex digits for what a message says: role, texts, calls and results.

    Extras are left out, so that the echo of a reply has the same digest.
    """
    said = "\0".join((message.role, *_digest_parts(message)))
    return hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _hash_text(text: str) -> bytes:
    data = text.strip().encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=8).digest()


def _digest_parts(message: Message) -> Iterator[str]:
    for block in message.blocks:
        match block:
            case TextBlock(text=text):
                yield text
            case ToolUse(id=use, name=name):
                yield f"{use} {name}"
            case ToolResult(tool_use_id=use):
                yield f"{use} {block.text}"
            case UnknownBlock(kind=kind, raw=raw):
                yield f"{kind} {_encode(raw).decode()}"
            case _:
                yield type(block).__name__.removesuffix("Block")


class HostHistory:
    """The host's history as last sent.

    `known` are ids of messages that the transcript on disk already holds. `is_typed` says that a
    user types what has the role `user`; where entries name their authors, the first one is that
    user, and what others say in the conversation is nobody's certain word. Nor is an entry that
    says what a tool was called with before: a host put the task of a subagent into the history.
    """

    def __init__(self, codec: Codec, known: Iterable[str] = (), *, is_typed: bool) -> None:
        self._codec = codec
        self._is_typed = is_typed
        self._user_name: str | None = None
        """The `name` of the first message that a user typed; None before there is one."""
        self._items: list[Any] = []
        self._known_ids = set(known)
        self._digest_counts: Counter[str] = Counter()
        self._expected_echoes: deque[Message] = deque()
        self._prepared_copy: list[Any] | None = None
        self._argument_digests: set[bytes] = set()
        """Of the texts in the arguments of all tool calls so far."""
        self._argument_ids: set[str] = set()
        """Of the user messages that say what a tool was called with before."""
        self.unchanged_count = 0
        """Number of entries at the start of the history that were identical in the previous
        request.
        """
        self._reworded_entries: set[int] = set()
        """Entries whose words the host changed once: where it does so again and again, as with a
        clock, that is no rewriting of the conversation.
        """
        self.instructions_version = 0
        """Rises when the host rewords the instructions at the start of its history."""

    @property
    def items(self) -> list[Any]:
        """A copy of the list of entries as last sent; the entries themselves are never changed."""
        return list(self._items)

    @property
    def entries(self) -> list[Any]:
        """The list of entries itself; read only."""
        return self._items

    def copy_items_ahead_of_request(self) -> None:
        """Copy the list of entries for the next request while the host waits for its model: in a
        long history the copy costs more than all the rest.
        """
        self._prepared_copy = list(self._items)

    def take_copy(self) -> list[Any]:
        """As `items`, from the prepared copy where there is one, so that it costs time only in new
        entries.
        """
        spare, self._prepared_copy = self._prepared_copy, None
        if spare is None:
            return self.items
        start = max(0, len(spare) - COMPARED_NEWEST_ENTRIES)  # older entries are never updated
        spare[start:] = self._items[start:]
        return spare

    def add_request(self, items: Sequence[Any]) -> HistoryAdditions:
        """Record the history of a request that is about to be sent; return what is new in it."""
        start = self._match_known_entries(items)
        # All of it is read before any of it counts as known: an entry that cannot be read would
        # take those before it along, which the host sends again.
        decoded = self._decode_entries(items, start or 0)
        if start is None:
            self._items = []
            self._prepared_copy = None
            self._digest_counts.clear()
            self._expected_echoes.clear()
            self.unchanged_count = 0
        return HistoryAdditions(self._add_entries(decoded), rewritten=start is None)

    def _decode_entries(
        self, items: Sequence[Any], start: int
    ) -> list[tuple[Any, Sequence[Message]]]:
        """The entries from `start` on as plain JSON, with their messages.

        Raises WireFormatError.
        """
        plain = [replace_lone_surrogates(to_plain_json(item)) for item in items[start:]]
        return [
            (item, self._codec.decode_item(item, id=str(index)))
            for index, item in enumerate(plain, start)
        ]

    def add_reply(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Record a reply, so that the entries that echo it in the next request are not new.

        Returns the messages with their ids.
        """
        named = tuple(
            self._assign_id(message, compute_message_digest(message)) for message in messages
        )
        self._known_ids.update(message.id for message in named)
        self._expected_echoes.extend(named)
        self._note_arguments(named)
        return named

    def forget_messages(self, messages: Iterable[Message]) -> None:
        """The user went back behind these messages: sent again, they are new."""
        self._known_ids.difference_update(message.id for message in messages)

    def _match_known_entries(self, items: Sequence[Any]) -> int | None:
        """Return the index of the first new entry, after updating the newest known ones; None when
        the older part does not match.
        """
        count = len(self._items)
        if len(items) < count:
            return None
        self.unchanged_count = count
        self._update_instructions(items)
        for index in range(max(0, count - COMPARED_NEWEST_ENTRIES), count):
            if items[index] == self._items[index]:
                continue  # the usual case, and cheap: both hold the same string objects
            now = replace_lone_surrogates(to_plain_json(items[index]))
            if now == self._items[index]:
                continue
            if self._digests(now, index) != self._digests(self._items[index], index):
                return None
            self._items[index] = now
            self.unchanged_count = min(self.unchanged_count, index)
        return None if self._has_edited_user_words(items) else count

    def _has_edited_user_words(self, items: Sequence[Any]) -> bool:
        """Whether the words of a user in the older part are others than before, as after a change
        of a checkpoint. What a host takes out of old results is no such change.
        """
        edited = False
        for index in range(max(0, len(self._items) - COMPARED_NEWEST_ENTRIES)):
            known = self._items[index]
            if items[index] == known or not isinstance(known, dict) or known.get("role") != "user":
                continue
            if index in self._reworded_entries:
                continue
            now = replace_lone_surrogates(to_plain_json(items[index]))
            if self._read_user_words(now) != self._read_user_words(known):
                self._reworded_entries.add(index)
                edited = True
        return edited

    def _read_user_words(self, item: Any) -> list[str]:  # noqa: ANN401 - an entry as it stands on the wire
        messages = self._codec.decode_item(item, id="0")
        return [strip_host_markup(each.text) for each in messages if each.origin is Origin.USER]

    def _update_instructions(self, items: Sequence[Any]) -> None:
        """Take over instructions at the start that the host words anew for each request: with the
        time, or with what it looked up.
        """
        for index, known in enumerate(self._items):
            if not is_instructions(items[index]) or not is_instructions(known):
                return
            now = replace_lone_surrogates(to_plain_json(items[index]))
            if now != known:
                self._items[index], self._prepared_copy = now, None
                self.unchanged_count = min(self.unchanged_count, index)
                self.instructions_version += 1

    def _digests(self, item: Any, index: int) -> list[str]:  # noqa: ANN401 - an entry as it stands on the wire
        return [
            compute_message_digest(message)
            for message in self._codec.decode_item(item, id=str(index))
        ]

    def get_entry(self, index: int) -> Any:  # noqa: ANN401 - an entry as it stands on the wire
        """One entry as it was last sent."""
        return self._items[index]

    def _add_entries(
        self, decoded: Iterable[tuple[Any, Sequence[Message]]]
    ) -> tuple[HostHistoryEntry, ...]:
        added = []
        for kept, found in decoded:
            index = len(self._items)
            is_others = self._is_of_another_user(kept, found)
            messages = tuple(
                replace(each, is_typed=False) if is_others or self._is_argument(each) else each
                for each in map(self._identify, found)
            )
            self._note_arguments(messages)
            new = tuple(message for message in messages if message.id not in self._known_ids)
            self._known_ids.update(message.id for message in new)
            self._items.append(kept)
            added.append(HostHistoryEntry(index, messages, new))
        self._expected_echoes.clear()
        return tuple(added)

    def _note_arguments(self, messages: Iterable[Message]) -> None:
        for message in messages:
            for use in message.tool_uses:
                values = get_arguments_object(use).values()
                self._argument_digests.update(
                    _hash_text(value)
                    for value in values
                    if isinstance(value, str) and len(value) >= MIN_TASK_CHARACTERS
                )

    def _is_argument(self, message: Message) -> bool:
        """Whether a user message says what a model said before it in a tool call; what a model
        quotes came before its call.
        """
        if (
            self._argument_digests
            and message.origin is Origin.USER
            and message.id not in self._known_ids
            and _hash_text(message.text) in self._argument_digests
        ):
            self._argument_ids.add(message.id)
        return message.id in self._argument_ids

    def _is_of_another_user(self, item: object, messages: Iterable[Message]) -> bool:
        """Whether an entry of Chat Completions has another author than the session's first message
        of a user: another name, a name where that had none, or none where it had one.
        """
        if not isinstance(item, dict) or all(each.origin is not Origin.USER for each in messages):
            return False
        given = item.get("name")
        name = given if isinstance(given, str) else ""
        if self._user_name is None:
            self._user_name = name
        return name != self._user_name

    def _identify(self, message: Message) -> Message:
        """Return the message with its id: that of the observed reply that it echoes, or the next
        free one for its content.
        """
        if self._expected_echoes and (
            self._expected_echoes[0].role,
            self._expected_echoes[0].blocks,
        ) == (message.role, message.blocks):
            return replace(message, id=self._expected_echoes.popleft().id)
        mark = compute_message_digest(message)
        if self._expected_echoes and self._expected_echoes[0].id.partition("-")[0] == mark:
            return replace(message, id=self._expected_echoes.popleft().id)
        return self._assign_id(message, mark)

    def _assign_id(self, message: Message, digest: str) -> Message:
        self._digest_counts[digest] += 1
        id = f"{digest}-{self._digest_counts[digest]}"
        return replace(message, id=id, is_typed=self._is_typed)
