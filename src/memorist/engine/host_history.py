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
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from memorist.core.messages import Message, Text, ToolResult, ToolUse, Unknown
from memorist.formats.codec import Codec

WINDOW = 8
"""Number of the newest known entries that are compared: more than the cache marks (4) that one
request may carry.
"""

_encode = msgspec.json.Encoder(order="sorted").encode
_sound = msgspec.json.Encoder().encode


class Entry(Struct, frozen=True):
    """One entry of the host's history: its index, its messages, and those of them that were not
    known before.
    """

    index: int
    messages: tuple[Message, ...]
    new: tuple[Message, ...]


class News(Struct, frozen=True):
    """The entries that a request adds.

    When `rewritten`, the older part was changed and `entries` holds the whole history.
    """

    entries: tuple[Entry, ...]
    rewritten: bool = False

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages that were not known before."""
        return tuple(message for entry in self.entries for message in entry.new)


def as_sent(value: Any) -> Any:  # noqa: ANN401 - JSON, or what an SDK turns into JSON
    """Return a copy of a part of a request as plain JSON: reply objects of SDKs, which hosts put
    back into their history, become dicts.
    """
    kind = type(value)
    if kind is str:
        return value
    if kind is dict or isinstance(value, dict):
        # Most values are strings; a call for each would cost more than the copy.
        return {key: inner if type(inner) is str else as_sent(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [as_sent(inner) for inner in value]
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", exclude_unset=True, by_alias=True)
    return value


def sound(item: object) -> object:
    """Return the entry itself, or a copy with `?` in place of each lone surrogate, which JSON
    cannot carry.
    """
    try:
        _sound(item)
    except UnicodeEncodeError:
        return _mended(item)
    except TypeError:
        pass  # not JSON; the codec reports what it is
    return item


def _mended(value: object) -> object:
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case dict():
            return {_mended(key): _mended(inner) for key, inner in value.items()}
        case list():
            return [_mended(inner) for inner in value]
        case _:
            return value


def fingerprint(message: Message) -> str:
    """Return 16 hex digits for what a message says: role, texts, calls and results.

    Extras are left out, so that the echo of a reply has the same fingerprint.
    """
    said = "\0".join((message.role, *_said(message)))
    return hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _said(message: Message) -> Iterator[str]:
    for block in message.blocks:
        match block:
            case Text(text=text):
                yield text
            case ToolUse(id=use, name=name):
                yield f"{use} {name}"
            case ToolResult(tool_use_id=use):
                yield f"{use} {block.text}"
            case Unknown(kind=kind, raw=raw):
                yield f"{kind} {_encode(raw).decode()}"
            case _:
                yield type(block).__name__


class HostHistory:
    """The host's history as last sent.

    `known` are ids of messages that the transcript on disk already holds.
    """

    def __init__(self, codec: Codec, known: Iterable[str] = ()) -> None:
        self._codec = codec
        self._items: list[Any] = []
        self._known = set(known)
        self._seen: Counter[str] = Counter()
        self._echo: deque[Message] = deque()
        self._spare: list[Any] | None = None
        self.unchanged = 0
        """Number of entries at the start of the history that were identical in the previous
        request.
        """

    @property
    def items(self) -> list[Any]:
        """A copy of the list of entries as last sent; the entries themselves are never changed."""
        return list(self._items)

    @property
    def entries(self) -> list[Any]:
        """The list of entries itself; read only."""
        return self._items

    def make_spare(self) -> None:
        """Copy the list of entries for the next request while the host waits for its model: in a
        long history the copy costs more than all the rest.
        """
        self._spare = list(self._items)

    def taken_spare(self) -> list[Any]:
        """As `items`, from the prepared copy where there is one, so that it costs time only in new
        entries.
        """
        spare, self._spare = self._spare, None
        if spare is None:
            return self.items
        start = max(0, len(spare) - WINDOW)  # older entries are never updated
        spare[start:] = self._items[start:]
        return spare

    def sent(self, items: Sequence[Any]) -> News:
        """Record the history of a request that is about to be sent; return what is new in it."""
        start = self._common(items)
        if start is None:
            self._items = []
            self._spare = None
            self._seen.clear()
            self._echo.clear()
            self.unchanged = 0
            return News(self._take(items), rewritten=True)
        return News(self._take(items[start:]))

    def observed(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Record a reply, so that the entries that echo it in the next request are not new.

        Returns the messages with their ids.
        """
        named = tuple(self._named(message, fingerprint(message)) for message in messages)
        self._known.update(message.id for message in named)
        self._echo.extend(named)
        return named

    def _common(self, items: Sequence[Any]) -> int | None:
        """Return the index of the first new entry, after updating the newest known ones; None when
        the older part does not match.
        """
        count = len(self._items)
        if len(items) < count:
            return None
        self.unchanged = count
        for index in range(max(0, count - WINDOW), count):
            if items[index] == self._items[index]:
                continue  # the usual case, and cheap: both hold the same string objects
            now = sound(as_sent(items[index]))
            if now == self._items[index]:
                continue
            if self._fingerprints(now, index) != self._fingerprints(self._items[index], index):
                return None
            self._items[index] = now
            self.unchanged = min(self.unchanged, index)
        return count

    def _fingerprints(self, item: Any, index: int) -> list[str]:  # noqa: ANN401 - an entry as it stands on the wire
        return [fingerprint(message) for message in self._codec.decode_item(item, id=str(index))]

    def item(self, index: int) -> Any:  # noqa: ANN401 - an entry as it stands on the wire
        """One entry as it was last sent."""
        return self._items[index]

    def _take(self, items: Sequence[Any]) -> tuple[Entry, ...]:
        taken = []
        for item in items:
            kept = sound(as_sent(item))
            index = len(self._items)
            messages = tuple(self._known_as(message) for message in self._codec.decode_item(kept, id=str(index)))
            new = tuple(message for message in messages if message.id not in self._known)
            self._known.update(message.id for message in new)
            self._items.append(kept)
            taken.append(Entry(index, messages, new))
        self._echo.clear()
        return tuple(taken)

    def _known_as(self, message: Message) -> Message:
        """Return the message with its id: that of the observed reply that it echoes, or the next
        free one for its content.
        """
        if self._echo and (self._echo[0].role, self._echo[0].blocks) == (message.role, message.blocks):
            return replace(message, id=self._echo.popleft().id)
        mark = fingerprint(message)
        if self._echo and self._echo[0].id.partition("-")[0] == mark:
            return replace(message, id=self._echo.popleft().id)
        return self._named(message, mark)

    def _named(self, message: Message, mark: str) -> Message:
        self._seen[mark] += 1
        return replace(message, id=f"{mark}-{self._seen[mark]}")
