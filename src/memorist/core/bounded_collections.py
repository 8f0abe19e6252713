"""A dict of bounded size, and a least-recently-used cache."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

DEFAULT_CACHE_SIZE = 64
"""Default number of entries. Chosen here: more projects or folders than one user works in within a
few days.
"""


Key = TypeVar("Key")
Value = TypeVar("Value")


class BoundedDict(dict[Key, Value]):
    """A dict that drops its oldest entry when one more than `max_size` is set. An entry that is set
    again keeps its age, unless it was popped before.
    """

    max_size = sys.maxsize

    def __init__(self, max_size: int) -> None:
        super().__init__()
        self.max_size = max_size

    def __setitem__(self, key: Key, value: Value) -> None:
        super().__setitem__(key, value)
        if len(self) > self.max_size:
            del self[next(iter(self))]


class LruCache(Generic[Value]):
    """A least-recently-used cache keyed by name; `on_evict` is called with each value that is
    evicted.
    """

    def __init__(
        self,
        on_evict: Callable[[Value], object] = lambda _: None,
        *,
        max_size: int = DEFAULT_CACHE_SIZE,
    ) -> None:
        self._max_size = max_size
        self._on_evict = on_evict
        self._values: dict[str, Value] = {}

    def get_or_create(self, name: str, create: Callable[[], Value]) -> Value:
        """Return the value of a name; create it with `create` when it is missing."""
        found = self._values.pop(name) if name in self._values else create()
        self._values[name] = found
        if len(self._values) > self._max_size:
            self._on_evict(self._values.pop(next(iter(self._values))))
        return found

    def __iter__(self) -> Iterator[Value]:
        return iter(list(self._values.values()))

    def clear(self) -> None:
        """Remove every entry without calling `on_evict`."""
        self._values.clear()
