"""The proxy's work of seconds, in a process of its own."""

from __future__ import annotations

import asyncio
import multiprocessing
import pickle
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from functools import partial
from itertools import chain
from typing import TypeVar

from msgspec import Struct

from memorist.platforms import processes

Value = TypeVar("Value")

ITEMS_PER_PICKLE = 64
"""Items of a long tuple that are pickled in one piece: half a millisecond for messages of 2.5 KB.
Our choice.
"""


class PickledSequence(Struct, frozen=True):
    """A long tuple on its way to another process: its parts, pickled."""

    parts: list[bytes]

    def unpack(self) -> tuple[object, ...]:
        """The tuple as it was."""
        return tuple(chain.from_iterable(map(pickle.loads, self.parts)))


async def _pack(value: object) -> object:
    """A long tuple pickled in parts, between which the loop goes on: pickled as a whole it would
    keep the interpreter for 3 ms a megabyte. Anything else as it is.
    """
    if not isinstance(value, tuple) or len(value) <= ITEMS_PER_PICKLE:
        return value
    parts: list[bytes] = []
    for start in range(0, len(value), ITEMS_PER_PICKLE):
        items = value[start : start + ITEMS_PER_PICKLE]
        parts.append(pickle.dumps(items, pickle.HIGHEST_PROTOCOL))
        await asyncio.sleep(0)
    return PickledSequence(parts)


def _unpack(value: object) -> object:
    return value.unpack() if isinstance(value, PickledSequence) else value


def _run_packed(
    work: Callable[..., Value], given: Sequence[object], named: Mapping[str, object]
) -> Value:
    """Run `work`, in the other process, with what `_pack` made of its arguments."""
    return work(*map(_unpack, given), **{name: _unpack(each) for name, each in named.items()})


class HeavyWorkProcess:
    """A process of its own for work of seconds, begun when there is some: a thread would take the
    interpreter from the loop at every step of every request. It ends with this one.
    """

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None

    async def run(self, work: Callable[..., Value], /, *given: object, **named: object) -> Value:
        """Run `work`; in a thread where there can be no process."""
        try:
            if self._pool is None:
                spawning = multiprocessing.get_context("spawn")
                self._pool = ProcessPoolExecutor(
                    max_workers=1,
                    mp_context=spawning,
                    initializer=processes.end_this_process_with_parent,
                )
            loop = asyncio.get_running_loop()
            packed = [await _pack(each) for each in given]
            packed_by_name = {name: await _pack(each) for name, each in named.items()}
            return await loop.run_in_executor(
                self._pool, partial(_run_packed, work, packed, packed_by_name)
            )
        except (BrokenExecutor, OSError):
            self._pool = None
            return await asyncio.to_thread(work, *given, **named)

    def close(self) -> None:
        """End the process; work that it has not begun is dropped."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
