"""What happens when a process forks, and when the program ends."""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Callable
from importlib import import_module


def run_in_forked_children(action: Callable[[], object]) -> None:
    """Have each child of this process begin with `action`: locks that another thread held, and
    threads of native libraries, stay with the parent. Does nothing where processes do not fork.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=action)


def close_at_exit(close: Callable[[], object]) -> None:
    """Call the bound method `close` when the program ends, unless its object is gone by then.

    Uses the hook of Python's own thread pools, which runs before they are shut down; `atexit` would
    come too late. The hook that is set last runs first, so theirs is set before.
    """
    import_module("concurrent.futures.thread")
    closing = weakref.WeakMethod(close)

    def close_if_alive() -> None:
        method = closing()
        if method is not None:
            method()

    getattr(threading, "_register_atexit", atexit.register)(close_if_alive)
