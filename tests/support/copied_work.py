"""Heavy work as another process does it: with copies of its arguments, and a copy as its result."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable
from typing import Any


async def run_with_copies(work: Callable[..., Any], /, *given: object, **named: object) -> Any:
    """As the process of `memorist proxy` for heavy work does it, in a thread: arguments and result
    are copies.
    """
    copied, copied_by_name = pickle.loads(pickle.dumps((given, named)))  # noqa: S301 our own
    done = await asyncio.to_thread(work, *copied, **copied_by_name)
    return pickle.loads(pickle.dumps(done))  # noqa: S301 our own
