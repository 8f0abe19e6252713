"""Heavy work as another process does it: with copies of its arguments, and a copy as its result."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from typing import Any


async def run_with_copies(work: Callable[..., Any], /, *given: object, **named: object) -> Any:
    """As the process of `memorist proxy` for heavy work does it, in a thread: arguments and result
    are copies.
    """
    copied, copied_by_name = copy.deepcopy((given, named))
    done = await asyncio.to_thread(work, *copied, **copied_by_name)
    return copy.deepcopy(done)
