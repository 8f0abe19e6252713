"""A pool of open things that nobody uses at the moment: closed after an idle time, or earlier to
make room.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from contextvars import Context
from typing import Any, Generic, TypeVar

from memorist.ports import Clock

IdleItem = TypeVar("IdleItem", bound=Hashable)


class IdlePool(Generic[IdleItem]):
    """Idle items, the least recently used first. Belongs to one event loop.

    Items are closed in an empty `contextvars` context: the context of the task that happened to
    release one may name another user.

    Args:
        close_item: closes one item. Its errors go to the loop's exception handler, since nobody
            awaits it.
        idle_seconds: how long an item may be idle.
        clock: the clock that measures it.
    """

    def __init__(
        self,
        close_item: Callable[[IdleItem], Coroutine[Any, Any, None]],
        *,
        idle_seconds: float,
        clock: Clock,
    ) -> None:
        self._close_item = close_item
        self._idle_seconds = idle_seconds
        self._clock = clock
        self._idle_since: dict[IdleItem, float] = {}
        self._closing_tasks: set[asyncio.Task[None]] = set()
        self._expiry_task: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._idle_since)

    @property
    def closing_count(self) -> int:
        """Number of items that are being closed."""
        return len(self._closing_tasks)

    def add(self, item: IdleItem) -> None:
        """Add an item that is idle from now on."""
        self._idle_since.pop(item, None)
        self._idle_since[item] = self._clock.monotonic()
        if self._expiry_task is None or self._expiry_task.done():
            self._expiry_task = asyncio.get_running_loop().create_task(
                self._close_expired(), context=Context()
            )

    def remove(self, item: IdleItem) -> None:
        """Remove an item: it is in use, or gone."""
        self._idle_since.pop(item, None)

    def begin_close_oldest(self) -> None:
        """Begin to close the least recently used item."""
        self.begin_close(next(iter(self._idle_since)))

    def begin_close(self, item: IdleItem) -> None:
        """Begin to close an item, whether it is idle or not."""
        self.remove(item)
        task = asyncio.get_running_loop().create_task(self._close_item(item), context=Context())
        self._closing_tasks.add(task)
        task.add_done_callback(self._on_closed)

    async def close(self, seconds: float) -> None:
        """Close all idle items and wait for those being closed, at most `seconds`; then cancel the
        rest.
        """
        for thing in list(self._idle_since):
            self.begin_close(thing)
        if self._expiry_task is not None:
            self._expiry_task.cancel()
        if self._closing_tasks:
            await asyncio.wait(set(self._closing_tasks), timeout=seconds)
        for task in self._closing_tasks:
            task.cancel()

    def _on_closed(self, task: asyncio.Task[None]) -> None:
        self._closing_tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            about = {"message": "what rested could not be closed", "exception": error, "task": task}
            task.get_loop().call_exception_handler(about)

    async def _close_expired(self) -> None:
        while self._idle_since:
            left = (
                next(iter(self._idle_since.values())) + self._idle_seconds - self._clock.monotonic()
            )
            if left > 0:
                await self._clock.sleep(left)
            else:
                self.begin_close(next(iter(self._idle_since)))
