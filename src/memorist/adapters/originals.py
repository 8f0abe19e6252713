"""A host's messages beside the wire items made from them, and the way back. Pure.

A host keeps in its messages what no wire format has: ids, metadata, fields of one provider. So a message whose items come back from `prepare` as they
went in is given back as the host's own object, and only what memorist added or changed is made anew by the adapter.
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
    """One for a request. `add` each of the host's messages with its wire items, send `items` through `prepare`, and ask `back` for what came of them."""

    def __init__(self, pairs: Iterable[tuple[T, Sequence[Any]]] = ()) -> None:
        self._messages: list[T] = []
        self._items: list[Any] = []
        self._owner: list[int] = []
        self._first: list[int] = []
        for message, items in pairs:
            self.add(message, items)

    def add(self, message: T, items: Sequence[Any]) -> None:
        """A message of the host and its wire items, in order; none for what has no form on the wire, which goes where the message before it goes."""
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
        """The messages that say what these items say.

        `make` is given items that stand together and are not, whole, those of one message of the host: added, changed, or left over from a message
        of which some items are gone. It gives the messages for them.
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
        """The messages without items from this one on, up to the next that has some."""
        while owner < len(self._messages) and self._count(owner) == 0:
            yield self._messages[owner]
            owner += 1

    def _count(self, owner: int) -> int:
        end = self._first[owner + 1] if owner + 1 < len(self._first) else len(self._items)
        return end - self._first[owner]

    def _whole(self, places: Sequence[int | None], at: int) -> int:
        """How many items from here on are all those of one message; 0 when they are not."""
        place = places[at]
        if place is None or self._first[self._owner[place]] != place:
            return 0
        count = self._count(self._owner[place])
        return count if list(places[at : at + count]) == list(range(place, place + count)) else 0

    def _places(self, sent: Sequence[Any]) -> list[int | None]:
        """For each item the place of the host's item that it is; None for one that is no host's. No place is taken twice."""
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
    """The first free place from the expected one on, else the first free one at all."""
    while places and places[0] in taken:
        places.popleft()
    free = [place for place in places if place not in taken]
    return next((place for place in free if place >= expected), free[0] if free else None)


def _same(item: object, other: object) -> bool:
    return item is other or item == other


def _key(item: object) -> bytes:
    try:
        return _encode(as_sent(item))
    except UnicodeEncodeError:  # half an emoji, which no JSON can carry
        return repr(item).encode()
