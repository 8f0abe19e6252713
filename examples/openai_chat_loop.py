"""A loop over the raw OpenAI SDK (Chat Completions, so any compatible server) with session memory.
The lines that adopt memorist are marked.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from openai import AsyncOpenAI

from memorist import Memorist  # 1


async def main(questions: list[str]) -> str | None:
    # OPENAI_BASE_URL=http://127.0.0.1:11434/v1 for Ollama, and so on
    model = os.environ.get("EXAMPLE_MODEL", "gpt-4.1")
    messages: list[object] = []
    async with AsyncOpenAI() as client, Memorist() as engine:  # 2
        session = await engine.open(
            "my-session", project=str(Path.cwd()), format="openai_chat"
        )  # 3
        for question in questions:
            messages.append({"role": "user", "content": question})
            request = await session.prepare({"model": model, "messages": messages})  # 4
            reply = await client.chat.completions.create(stream=False, **request)
            await session.observe(reply)  # 5
            messages.append(reply.choices[0].message)
            await session.end_turn()  # 6
            print(reply.choices[0].message.content)
        return (
            session.notes
        )  # 7: the notes so far; also in ~/.memorist/projects/…/session-memory/summary.md


if __name__ == "__main__":
    asyncio.run(main(["What is a prompt cache?", "And what breaks it?"]))
