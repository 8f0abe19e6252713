"""What happens when a process forks, and when the program ends."""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Callable
from importlib import import_module


def run_in_forked_children(action: Callable[[], object]) -> None:
    """Have each child of this process begin with the bound method `action`, unless its object is
    gone by then: locks that another thread held, and threads, stay with the parent. Does nothing
    where processes do not fork.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_call_while_alive(action))


def close_at_exit(close: Callable[[], object]) -> None:
    """Call the bound method `close` when the program ends, unless its object is gone by then.

    Uses the hook of Python's own thread pools, which runs before they are shut down; `atexit` would
    come too late. The hook that is set last runs first, so theirs is set before.
    """
    import_module("concurrent.futures.thread")
    getattr(threading, "_register_atexit", atexit.register)(_call_while_alive(close))


def _call_while_alive(bound: Callable[[], object]) -> Callable[[], None]:
    """A function that calls this bound method, and does not keep its object alive."""
    reference = weakref.WeakMethod(bound)

    def call() -> None:
        method = reference()
        if method is not None:
            method()

    return call
