"""A queue that runs one background task at a time and keeps only the newest waiting one (FK-5); and
work that a cancellation waits for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from memorist.forks.fork_spec import ForkOutcome
from memorist.ports import Clock

POLL_SECONDS = 1.0
"""How often a wait checks the clock; the end of the task itself is noticed at once."""
MAX_CANCEL_WAIT_SECONDS = 5.0
"""How long a cancelled task may take to clean up before it is abandoned."""

Result = TypeVar("Result")
BackgroundTask = Callable[[], Awaitable[object]]
DropCallback = Callable[[ForkOutcome], None]


class LatestTaskQueue:
    """The background tasks of one label. It owns a single asyncio task; `drain` waits for it.

    `on_error` receives the exception of a task that fails; without it the event loop's exception
    handler does. Submit from the event loop that runs the tasks.
    """

    def __init__(
        self, clock: Clock, *, on_error: Callable[[BaseException], None] | None = None
    ) -> None:
        self._clock = clock
        self._on_error = on_error
        self._task: asyncio.Task[object] | None = None
        self._waiting: tuple[BackgroundTask, DropCallback | None] | None = None
        self._since: float | None = None

    @property
    def running_since(self) -> float | None:
        """When the running task began, by the clock's `monotonic`; None when none runs."""
        return self._since

    @property
    def is_busy(self) -> bool:
        """Whether a task runs or waits."""
        return self._task is not None

    def submit(self, task: BackgroundTask, *, on_dropped: DropCallback | None = None) -> None:
        """Run the task now, or after the running one; it replaces one that already waits.

        `on_dropped` is called when the task will never run: with `REPLACED` by a newer one, or
        `CANCELLED` by `drain`.
        """
        if self._task is None:
            self._start(task)
            return
        self._drop(ForkOutcome.REPLACED)
        self._waiting = (task, on_dropped)

    async def wait(self, limit: float) -> bool:
        """Wait for the running task, at most `limit` seconds, without cancelling it. True when what
        ran at the time of the call has ended.
        """
        task = self._task
        return task is None or await self._until_done(task, limit)

    async def wait_or_cancel(self, limit: float) -> bool:
        """Wait for the running task and the one after it, at most `limit` seconds in all; then
        cancel. True when nothing had to be cancelled.
        """
        start = self._clock.monotonic()
        while (task := self._task) is not None:
            if not await self._until_done(task, limit - (self._clock.monotonic() - start)):
                await self._cancel()
                return False
        return True

    def _start(self, job: BackgroundTask) -> None:
        self._since = self._clock.monotonic()
        self._task = asyncio.create_task(_run_task(job))
        self._task.add_done_callback(self._on_done)

    def _on_done(self, task: asyncio.Task[object]) -> None:
        # The waiting task starts before an error is reported: a failing callback must not lose it.
        self._task = self._since = None
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            self._start(waiting[0])
        error = None if task.cancelled() else task.exception()
        if error is None:
            return
        if self._on_error is not None:
            self._on_error(error)
        else:
            task.get_loop().call_exception_handler(
                {"message": "a background job of memorist failed", "exception": error, "task": task}
            )

    def _drop(self, outcome: ForkOutcome) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None and waiting[1] is not None:
            waiting[1](outcome)

    async def _until_done(self, task: asyncio.Task[object], limit: float) -> bool:
        """Whether the task ended within `limit` seconds of the queue's clock."""
        left = limit
        while not task.done():
            if left <= 0:
                return False
            step = min(POLL_SECONDS, left)
            pause = asyncio.create_task(_sleep(self._clock, step))
            try:
                await asyncio.wait({task, pause}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                pause.cancel()
            left -= step
        await asyncio.sleep(0)  # lets the done callback run before the caller continues
        return True

    async def _cancel(self) -> None:
        self._drop(ForkOutcome.CANCELLED)
        task = self._task
        if task is not None:
            task.cancel()
            await asyncio.wait({task}, timeout=MAX_CANCEL_WAIT_SECONDS)
            await asyncio.sleep(0)


async def _run_task(job: BackgroundTask) -> object:
    return await job()


async def _sleep(clock: Clock, seconds: float) -> None:
    await clock.sleep(seconds)


async def finish_before_cancellation(work: Coroutine[Any, Any, Result]) -> Result:
    """Run `work` to its end, and only then pass on a cancellation: half of it done would count as
    all.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait((task,))
        raise
