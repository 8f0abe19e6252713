"""A pause of Python's garbage collector while somebody waits."""

from __future__ import annotations

import gc


class GarbageCollectionPause:
    """No garbage is collected within this context, which may be entered several times at once: a
    full collection takes 10 to 40 ms of a process that holds ten thousand memories.
    """

    def __init__(self) -> None:
        self._entered = 0

    def __enter__(self) -> None:
        self._entered += 1
        gc.disable()

    def __exit__(self, *_: object) -> None:
        self._entered -= 1
        if not self._entered:
            gc.enable()
