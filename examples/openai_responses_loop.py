"""A loop over the raw OpenAI SDK (Responses) with session memory. The lines that adopt memorist are
marked.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from openai import AsyncOpenAI

from memorist import Memorist  # 1


async def main(questions: list[str]) -> str | None:
    model = os.environ.get("EXAMPLE_MODEL", "gpt-5.1")
    items: list[object] = []
    async with AsyncOpenAI() as client, Memorist() as engine:  # 2
        session = await engine.open(
            "my-session", project=str(Path.cwd()), format="openai_responses"
        )  # 3
        for question in questions:
            items.append({"role": "user", "content": question})
            request = await session.prepare({"model": model, "store": False, "input": items})  # 4
            reply = await client.responses.create(stream=False, **request)
            await session.observe(reply)  # 5
            items.extend(reply.output)
            await session.end_turn()  # 6
            print(reply.output_text)
        return (
            session.notes
        )  # 7: the notes so far; also in ~/.memorist/projects/…/session-memory/summary.md


if __name__ == "__main__":
    asyncio.run(main(["What is a prompt cache?", "And what breaks it?"]))
