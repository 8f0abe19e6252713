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

from memorist.engine.host_history import as_sent

T = TypeVar("T")

_encode = msgspec.json.Encoder(order="sorted", enc_hook=repr).encode


class Originals(Generic[T]):
    """The messages of one request.

    `add` each message with its wire items, send `items` through `prepare`, and map the result back
    with `restore`.
    """

    def __init__(self, pairs: Iterable[tuple[T, Sequence[Any]]] = ()) -> None:
        self._messages: list[T] = []
        self._items: list[Any] = []
        self._owner: list[int] = []
        self._first: list[int] = []
        for message, items in pairs:
            self.add(message, items)

    def add(self, message: T, items: Sequence[Any]) -> None:
        """Add a message and its wire items, in order.

        A message without items has no form on the wire; it stays after the message before it.
        """
        self._first.append(len(self._items))
        self._owner += [len(self._messages)] * len(items)
        self._items += items
        self._messages.append(message)

    @property
    def items(self) -> list[Any]:
        """The wire items of all messages; the list is the caller's own."""
        return list(self._items)

    @property
    def messages(self) -> list[T]:
        """The host's messages; the list is the caller's own."""
        return list(self._messages)

    def back(self, sent: Sequence[Any], make: Callable[[list[Any]], Iterable[T]]) -> list[T]:
        """Return the messages for these items.

        `build` is given runs of items that are not, in full, those of one host message: added,
        changed, or left over from a message of which some items are gone. It returns the messages
        for them.
        """
        places = self._places(sent)
        if places == list(range(len(self._items))):
            return self.messages
        made: list[T] = [*self._bare(0)] if places and places[0] == 0 else []
        strange: list[Any] = []
        at = 0
        while at < len(sent):
            count = self._whole(places, at)
            if count == 0:
                strange.append(sent[at])
                at += 1
                continue
            made += make(strange) if strange else ()
            strange = []
            owner = self._owner[places[at] or 0]
            made.append(self._messages[owner])
            made += self._bare(owner + 1)
            at += count
        made += make(strange) if strange else ()
        return made

    def _bare(self, owner: int) -> Iterator[T]:
        """The messages without items from this one on, up to the next that has items."""
        while owner < len(self._messages) and self._count(owner) == 0:
            yield self._messages[owner]
            owner += 1

    def _count(self, owner: int) -> int:
        end = self._first[owner + 1] if owner + 1 < len(self._first) else len(self._items)
        return end - self._first[owner]

    def _whole(self, places: Sequence[int | None], at: int) -> int:
        """Number of items from here on that are exactly those of one message; 0 when they are not.
        """
        place = places[at]
        if place is None or self._first[self._owner[place]] != place:
            return 0
        count = self._count(self._owner[place])
        return count if list(places[at : at + count]) == list(range(place, place + count)) else 0

    def _places(self, sent: Sequence[Any]) -> list[int | None]:
        """For each item the position of the host's item that it equals; None for an item that is
        not the host's.

        No position is used twice.
        """
        places: list[int | None] = []
        taken: set[int] = set()
        known: dict[bytes, deque[int]] | None = None
        expected = 0
        for item in sent:
            place: int | None = None
            if expected < len(self._items) and expected not in taken and _same(item, self._items[expected]):
                place = expected
            else:
                if known is None:
                    known = self._by_content()
                place = _next(known[_key(item)], taken, expected)
            places.append(place)
            if place is not None:
                taken.add(place)
                expected = place + 1
        return places

    def _by_content(self) -> dict[bytes, deque[int]]:
        known: dict[bytes, deque[int]] = defaultdict(deque)
        for place, item in enumerate(self._items):
            known[_key(item)].append(place)
        return known


def _next(places: deque[int], taken: set[int], expected: int) -> int | None:
    """The first free position from the expected one on, else the first free one."""
    while places and places[0] in taken:
        places.popleft()
    free = [place for place in places if place not in taken]
    return next((place for place in free if place >= expected), free[0] if free else None)


def _same(item: object, other: object) -> bool:
    return item is other or item == other


def _key(item: object) -> bytes:
    try:
        return _encode(as_sent(item))
    except UnicodeEncodeError:  # a lone surrogate, which JSON cannot carry
        return repr(item).encode()
