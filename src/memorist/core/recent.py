"""What was used last, and no more of it than so much."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

MOST = 64
"""Ours: more projects, or folders, than one person works in within a few days."""

Value = TypeVar("Value")


class Recent(Generic[Value]):
    """Values by name, at most so many: for a new one the one that was asked for longest ago goes, and `gone` is told it."""

    def __init__(self, gone: Callable[[Value], object] = lambda _: None, *, most: int = MOST) -> None:
        self._most = most
        self._gone = gone
        self._values: dict[str, Value] = {}

    def get(self, name: str, make: Callable[[], Value]) -> Value:
        """The value of a name, made where there is none."""
        found = self._values.pop(name) if name in self._values else make()
        self._values[name] = found
        if len(self._values) > self._most:
            self._gone(self._values.pop(next(iter(self._values))))
        return found

    def __iter__(self) -> Iterator[Value]:
        return iter(list(self._values.values()))

    def clear(self) -> None:
        """Forget all, without a word."""
        self._values.clear()
