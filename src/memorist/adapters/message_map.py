"""A host's messages beside the wire items made from them, and the way back. Pure.

A host's messages hold what no wire format has: ids, metadata, fields of one provider. So a message
whose items come back from `prepare` unchanged is returned as the host's own object, and only what
memorist added or changed is built by the adapter.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from memorist.engine.host_history import to_plain_json

T = TypeVar("T")

_encode = msgspec.json.Encoder(order="sorted", enc_hook=repr).encode


class MessageMap(Generic[T]):
    """The messages of one request.

    `add` each message with its wire items, send `items` through `prepare`, and map the result back
    with `build_host_messages`.
    """

    def __init__(self, pairs: Iterable[tuple[T, Sequence[Any]]] = ()) -> None:
        self._messages: list[T] = []
        self._items: list[Any] = []
        self._owners: list[int] = []
        self._first_items: list[int] = []
        for message, items in pairs:
            self.add_message_with_items(message, items)

    def add_message_with_items(self, message: T, items: Sequence[Any]) -> None:
        """Add a message and its wire items, in order.

        A message without items has no form on the wire; it stays after the message before it.
        """
        self._first_items.append(len(self._items))
        self._owners += [len(self._messages)] * len(items)
        self._items += items
        self._messages.append(message)

    @property
    def wire_items(self) -> list[Any]:
        """The wire items of all messages; the list is the caller's own."""
        return list(self._items)

    @property
    def messages(self) -> list[T]:
        """The host's messages; the list is the caller's own."""
        return list(self._messages)

    def build_host_messages(
        self, sent: Sequence[Any], build: Callable[[list[Any]], Iterable[T]]
    ) -> list[T]:
        """Return the messages for these items.

        `build` is given runs of items that are not, in full, those of one host message: added,
        changed, or left over from a message of which some items are gone. It returns the messages
        for them.
        """
        matched = self._match_positions(sent)
        if matched == list(range(len(self._items))):
            return self.messages
        restored: list[T] = (
            [*self._messages_without_items(0)] if matched and matched[0] == 0 else []
        )
        strange: list[Any] = []
        at = 0
        while at < len(sent):
            count = self._whole_message_length(matched, at)
            if count == 0:
                strange.append(sent[at])
                at += 1
                continue
            restored += build(strange) if strange else ()
            strange = []
            owner = self._owners[matched[at] or 0]
            restored.append(self._messages[owner])
            restored += self._messages_without_items(owner + 1)
            at += count
        restored += build(strange) if strange else ()
        return restored

    def _messages_without_items(self, owner: int) -> Iterator[T]:
        """The messages without items from this one on, up to the next that has items."""
        while owner < len(self._messages) and self._item_count(owner) == 0:
            yield self._messages[owner]
            owner += 1

    def _item_count(self, owner: int) -> int:
        end = (
            self._first_items[owner + 1] if owner + 1 < len(self._first_items) else len(self._items)
        )
        return end - self._first_items[owner]

    def _whole_message_length(self, positions: Sequence[int | None], start: int) -> int:
        """Number of items from here on that are exactly those of one message; 0 when they are
        not.
        """
        position = positions[start]
        if position is None or self._first_items[self._owners[position]] != position:
            return 0
        count = self._item_count(self._owners[position])
        if list(positions[start : start + count]) == list(range(position, position + count)):
            return count
        return 0

    def _match_positions(self, sent: Sequence[Any]) -> list[int | None]:
        """For each item the position of the host's item that it equals; None for an item that is
        not the host's.

        No position is used twice.
        """
        matched: list[int | None] = []
        used_positions: set[int] = set()
        known: dict[bytes, deque[int]] | None = None
        expected = 0
        for item in sent:
            position: int | None = None
            if (
                expected < len(self._items)
                and expected not in used_positions
                and _is_same(item, self._items[expected])
            ):
                position = expected
            else:
                if known is None:
                    known = self._by_content()
                position = _next_free_position(known[_content_key(item)], used_positions, expected)
            matched.append(position)
            if position is not None:
                used_positions.add(position)
                expected = position + 1
        return matched

    def _by_content(self) -> dict[bytes, deque[int]]:
        known: dict[bytes, deque[int]] = defaultdict(deque)
        for index, item in enumerate(self._items):
            known[_content_key(item)].append(index)
        return known


def _next_free_position(
    positions: deque[int], used_positions: set[int], expected: int
) -> int | None:
    """The first free position from the expected one on, else the first free one."""
    while positions and positions[0] in used_positions:
        positions.popleft()
    free = [position for position in positions if position not in used_positions]
    return next((position for position in free if position >= expected), free[0] if free else None)


def _is_same(item: object, other: object) -> bool:
    return item is other or item == other


def _content_key(item: object) -> bytes:
    try:
        return _encode(to_plain_json(item))
    except UnicodeEncodeError:  # a lone surrogate, which JSON cannot carry
        return repr(item).encode()
