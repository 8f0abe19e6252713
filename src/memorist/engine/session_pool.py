"""A pool of open things, each opened by its key when it is first used, and closed when it was idle
for long or to make room.

    use(key)       opens the item if it is not open; other tasks wait in order, or share it
    discard(key)   what failed is closed, and opened again by its next use
    close()        waits for the items in use

An item is closed only while nobody uses it or waits for it, and is opened again only when its
closing has ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Hashable
from contextvars import Context
from typing import Any, Generic, TypeVar

from msgspec import Struct

from memorist.errors import UsageError
from memorist.ports import Clock

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")

MAX_CLOSE_WAIT_SECONDS = 75.0
"""Longest wait at close, in seconds, for items in use and being closed.

Our choice: the engine waits up to a minute for background work of a session.
"""


WATCH_INTERVAL_SECONDS = 0.1
"""Seconds between two looks at whether an idle item is wanted elsewhere. Our choice: a tenth of a
second is little beside a call of a model, and a look costs a microsecond an item.
"""


class PoolLimits(Struct, frozen=True):
    """When idle items are closed."""

    idle_seconds: float
    """How long an item may be idle."""
    most_open: int = sys.maxsize
    """Items that stay open: of the idle ones, those used longest ago are closed first. Items in use
    at one time are all open, whatever their number.
    """


class _PoolEntry(Generic[Item]):
    """The state of one key: its item while open, and who wants it."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        """Held while the item is opened, and by the one task that uses it unless it is shared."""
        self.users = 0
        """Number of tasks that use the item or wait for it."""
        self.item: Item | None = None
        self.closing: asyncio.Task[None] | None = None
        self.is_discarded = False


class SessionPool(Generic[Key, Item]):
    """Open items by key. Belongs to one event loop.

    Items are closed in tasks with an empty `contextvars` context: the context of the task that
    happened to release one may name another user.

    Args:
        close_item: closes one item.
        clock: measures how long an item is idle.
        limits: how long, and how many, items stay open while idle.
        is_shared: whether tasks use an item at the same time; else one holds it at a time, and the
            others wait in order of arrival.
        is_busy: whether an idle item is to stay open all the same.
        on_error: called with an error of `close_item`; None for the loop's exception handler.
    """

    def __init__(
        self,
        close_item: Callable[[Item], Coroutine[Any, Any, None]],
        *,
        clock: Clock,
        limits: PoolLimits,
        is_shared: bool = False,
        is_busy: Callable[[Item], bool] = lambda _: False,
        on_error: Callable[[BaseException], None] | None = None,
    ) -> None:
        self._close_item = close_item
        self._clock = clock
        self._limits = limits
        self._is_shared = is_shared
        self._is_busy = is_busy
        self.is_takeover_requested: Callable[[Item], bool] | None = None
        """Whether somebody else waits for an idle item to be closed; looked at every
        `WATCH_INTERVAL_SECONDS`. None for never.
        """
        self._on_error = on_error
        self._entries: dict[Key, _PoolEntry[Item]] = {}
        self._idle_since: dict[Key, float] = {}
        """Idle items, the least recently used first."""
        self._open_count = 0
        self._closing: set[asyncio.Task[None]] = set()
        self._expiry: asyncio.Task[None] | None = None
        self._watch: asyncio.Task[None] | None = None
        self._closed = False
        self._emptied = asyncio.Event()

    def __len__(self) -> int:
        """Number of open items, including those that are being closed."""
        return self._open_count

    def list_keys(self) -> list[Key]:
        """Keys of all items that are open, used or waited for."""
        return list(self._entries)

    def find(self, key: Key) -> Item | None:
        """Return the open item of a key, whoever uses it; None while it is not open."""
        entry = self._entries.get(key)
        return None if entry is None else entry.item

    @contextlib.asynccontextmanager
    async def use(
        self,
        key: Key,
        open_item: Callable[[], Awaitable[Item]],
        *,
        is_current: Callable[[Item], bool] = lambda _: True,
    ) -> AsyncIterator[Item]:
        """Hold the item of a key, opened if it is not open; afterwards it stays open, idle.

        An item that is not `is_current` is closed and opened again, unless others share it.

        Raises UsageError after `close`, and what `open_item` raises; the next use tries again.
        """
        entry = self._entries.setdefault(key, _PoolEntry())
        entry.users += 1
        self._idle_since.pop(key, None)
        try:
            async with entry.lock:
                item = await self._open(key, entry, open_item, is_current)
                if not self._is_shared:
                    yield item
            if self._is_shared:
                yield item
        finally:
            entry.users -= 1
            self._release(key, entry)

    def discard(self, key: Key) -> None:
        """Close the item of a key as soon as nobody holds it, and before its next use."""
        entry = self._entries.get(key)
        if entry is not None:
            entry.is_discarded = True
            self.close_if_unused(key)

    def close_if_unused(self, key: Key) -> None:
        """Begin to close the item of a key, unless a task uses it or waits for it."""
        entry = self._entries.get(key)
        if entry is not None and not entry.users:
            self._begin_close(key, entry)

    async def close_key(self, key: Key) -> None:
        """Close the item of a key when its users have let go of it, and wait for that."""
        entry = self._entries.get(key)
        if entry is None:
            return
        entry.users += 1
        self._idle_since.pop(key, None)
        try:
            async with entry.lock:
                if entry.users == 1 or not self._is_shared:
                    self._begin_close(key, entry)
                if entry.closing is not None:
                    await asyncio.wait({entry.closing})
        finally:
            entry.users -= 1
            self._release(key, entry)

    def make_room(self) -> None:
        """Begin to close the longest idle items while too many are open.

        Called by itself; call it when an item is no longer busy.
        """
        excess = self._open_count - len(self._closing) - self._limits.most_open
        if excess <= 0:
            return
        free = (key for key in self._idle_since if not self._is_key_busy(key))
        for key in [key for key, _ in zip(free, range(excess), strict=False)]:
            self.close_if_unused(key)

    async def close(self) -> list[BaseException]:
        """Close every item and refuse further uses. May be called twice.

        Waits for items in use, at most `MAX_CLOSE_WAIT_SECONDS`; then cancels what is still
        being closed. An item that is still used is closed by its last user. Returns the errors of
        closing.
        """
        self._closed = True
        errors: list[BaseException] = []
        self._on_error = errors.append
        for task in (self._expiry, self._watch):
            if task is not None:
                task.cancel()
        for key in list(self._idle_since):
            self.close_if_unused(key)
        if self._entries:
            self._emptied.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(MAX_CLOSE_WAIT_SECONDS):
                    await self._emptied.wait()
        for task in self._closing:
            task.cancel()
        return errors

    async def _open(
        self,
        key: Key,
        entry: _PoolEntry[Item],
        open_item: Callable[[], Awaitable[Item]],
        is_current: Callable[[Item], bool],
    ) -> Item:
        """Return the item of an entry whose lock the caller holds."""
        is_shared = self._is_shared and entry.users > 1
        if (
            entry.item is not None
            and not is_shared
            and (entry.is_discarded or not is_current(entry.item))
        ):
            self._begin_close(key, entry)
        if entry.closing is not None:
            await asyncio.wait({entry.closing})
            entry.closing = None
        if self._closed:
            raise UsageError("this was closed; open it again")
        if entry.item is None:
            entry.item = await open_item()
            self._open_count += 1
            self.make_room()
        return entry.item

    def _release(self, key: Key, entry: _PoolEntry[Item]) -> None:
        if entry.users:
            return
        if entry.item is None:
            self._remove_empty(key, entry)
        elif entry.is_discarded or self._closed:
            self._begin_close(key, entry)
        else:
            self._set_idle(key)
            self.make_room()

    def _set_idle(self, key: Key) -> None:
        self._idle_since.pop(key, None)
        self._idle_since[key] = self._clock.monotonic()
        if self._expiry is None or self._expiry.done():
            self._expiry = asyncio.get_running_loop().create_task(
                self._close_expired(), context=Context()
            )
        if self.is_takeover_requested is not None and (self._watch is None or self._watch.done()):
            self._watch = asyncio.get_running_loop().create_task(
                self._close_wanted(self.is_takeover_requested), context=Context()
            )

    def _is_key_busy(self, key: Key) -> bool:
        item = self._entries[key].item
        return item is not None and self._is_busy(item)

    def _begin_close(self, key: Key, entry: _PoolEntry[Item]) -> None:
        item, entry.item, entry.is_discarded = entry.item, None, False
        self._idle_since.pop(key, None)
        if item is None:
            return
        task = asyncio.get_running_loop().create_task(self._close_item(item), context=Context())
        entry.closing = task
        self._closing.add(task)
        task.add_done_callback(self._on_item_closed)
        task.add_done_callback(lambda _: self._remove_empty(key, entry))

    def _on_item_closed(self, task: asyncio.Task[None]) -> None:
        self._closing.discard(task)
        self._open_count -= 1
        error = None if task.cancelled() else task.exception()
        if error is None:
            return
        if self._on_error is not None:
            self._on_error(error)
        else:
            about = {"message": "an idle item could not be closed", "exception": error}
            task.get_loop().call_exception_handler(about)

    def _remove_empty(self, key: Key, entry: _PoolEntry[Item]) -> None:
        """Remove an entry that holds nothing and that nobody waits for."""
        is_closing = entry.closing is not None and not entry.closing.done()
        if entry.users or entry.item is not None or is_closing:
            return
        if self._entries.get(key) is entry:
            del self._entries[key]
        if not self._entries:
            self._emptied.set()

    async def _close_wanted(self, is_takeover_requested: Callable[[Item], bool]) -> None:
        """Close idle items that somebody else waits for, as long as there are idle ones."""
        while self._idle_since:
            for key in list(self._idle_since):
                item = self._entries[key].item
                if item is not None and is_takeover_requested(item):
                    self.close_if_unused(key)
            await asyncio.sleep(WATCH_INTERVAL_SECONDS)

    async def _close_expired(self) -> None:
        while self._idle_since:
            key, since = next(iter(self._idle_since.items()))
            left = since + self._limits.idle_seconds - self._clock.monotonic()
            if left > 0:
                await self._clock.sleep(left)
            elif self._is_key_busy(key):
                self._set_idle(key)
            else:
                self.close_if_unused(key)
