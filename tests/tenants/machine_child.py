"""A machine of its own that serves turns, for the tests of shared sessions: a process with its own
homes. Reads one turn a line and answers with the request that its model would get.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any

import msgspec

from memorist.engine.tenants import Tenants


async def serve(root: str) -> None:
    """Answer turns until there are no more."""
    async with Tenants(root) as tenants:
        while line := await asyncio.to_thread(sys.stdin.buffer.readline):
            answer = await take_turn(tenants, msgspec.json.decode(line))
            sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
            sys.stdout.buffer.flush()


async def take_turn(tenants: Tenants, turn: dict[str, Any]) -> dict[str, Any]:
    """One turn of a thread; a machine that `dies` is killed when its model has the request."""
    async with tenants.session(turn["user"], turn["thread"], project="shop") as session:
        request = await session.prepare(
            {"model": "chat-model", "max_tokens": 500, "messages": turn["messages"]}
        )
        if turn["dies"]:
            os.kill(os.getpid(), signal.SIGKILL)
        await session.observe(
            {
                "role": "assistant",
                "content": [{"type": "text", "text": turn["reply"]}],
                "usage": {
                    "input_tokens": len(msgspec.json.encode(request)) // 4,
                    "output_tokens": 5,
                },
            }
        )
        await session.end_turn()
        return {"request": request, "notes": session.notes}


asyncio.run(serve(sys.argv[1]))
