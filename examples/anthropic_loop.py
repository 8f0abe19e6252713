"""A loop over the raw Anthropic SDK with session memory. The lines that adopt memorist are
marked.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from anthropic import AsyncAnthropic

from memorist import Memorist  # 1


async def main(questions: list[str]) -> str | None:
    model = os.environ.get("EXAMPLE_MODEL", "claude-sonnet-5")
    messages: list[dict[str, object]] = []
    async with AsyncAnthropic() as client, Memorist() as engine:  # 2
        session = await engine.open("my-session", project=str(Path.cwd()), format="anthropic")  # 3
        for question in questions:
            messages.append({"role": "user", "content": question})
            request = await session.prepare(
                {"model": model, "max_tokens": 4096, "messages": messages}
            )  # 4
            reply = await client.messages.create(stream=False, **request)
            await session.observe(reply)  # 5
            messages.append({"role": "assistant", "content": reply.content})
            await session.end_turn()  # 6
            print(next((block.text for block in reply.content if block.type == "text"), ""))
        return (
            session.notes
        )  # 7: the notes so far; also in ~/.memorist/projects/…/session-memory/summary.md


if __name__ == "__main__":
    asyncio.run(main(["What is a prompt cache?", "And what breaks it?"]))
