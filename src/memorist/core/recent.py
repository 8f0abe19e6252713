"""A least-recently-used cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

MOST = 64
"""Default number of entries. Chosen here: more projects or folders than one user works in within a
few days.
"""

Value = TypeVar("Value")


class Recent(Generic[Value]):
    """A least-recently-used cache keyed by name; `on_evict` is called with each value that is
    evicted.
    """

    def __init__(self, gone: Callable[[Value], object] = lambda _: None, *, most: int = MOST) -> None:
        self._most = most
        self._gone = gone
        self._values: dict[str, Value] = {}

    def get(self, name: str, make: Callable[[], Value]) -> Value:
        """Return the value of a name; create it with `create` when it is missing."""
        found = self._values.pop(name) if name in self._values else make()
        self._values[name] = found
        if len(self._values) > self._most:
            self._gone(self._values.pop(next(iter(self._values))))
        return found

    def __iter__(self) -> Iterator[Value]:
        return iter(list(self._values.values()))

    def clear(self) -> None:
        """Remove every entry without calling `on_evict`."""
        self._values.clear()
