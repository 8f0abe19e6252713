"""A host that lets a session be attacked: a scripted model, a fork that obeys whoever spoke last,
and what a later session is shown.
"""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any, Self

import msgspec

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.write_evidence import normalize_for_comparison
from memorist.core.messages import JsonObject
from memorist.engine.engine import Memorist
from memorist.engine.session import Session
from memorist.events import Event
from memorist.forks.fork_request import FORK_MARK
from memorist.ports import Request
from memorist.settings import AutoMemorySettings, Settings
from memorist.testing.models import ScriptedModel
from memorist.testing.steps import CallTool, Say, Step

TOOLS = [
    {"name": name, "description": name, "input_schema": {"type": "object"}}
    for name in ("Read", "Write", "Edit", "Bash")
]


class Attacked:
    """One project, its memory, and a conversation. Use it as `async with`."""

    def __init__(self, root: Path, **settings: Any) -> None:
        self.project = root / "shop"
        (self.project / ".git").mkdir(parents=True, exist_ok=True)
        self.answer: Step = Say(text="Done.")
        self.obeys: str | list[Step] = ""
        """What the next fork answers, once: a text with edits, or its calls one after another."""
        self.forks: list[str] = []
        self.events: list[Event] = []
        self.model = ScriptedModel(self._next, name="scripted:m")
        self.engine = Memorist(
            model=self.model,
            settings=Settings(
                home=str(root / "home"),
                auto_memory=AutoMemorySettings(**settings),
                model="scripted:m",
            ),
        )
        self._messages: list[JsonObject] = []
        self._sent: list[JsonObject] = []
        self._sessions = 0

    async def __aenter__(self) -> Self:
        await self.engine.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.engine.__aexit__(None, None, None)

    def _next(self, request: Request) -> Step:
        text = msgspec.json.encode(request.body).decode()
        if FORK_MARK in text:
            self.forks.append("\n".join(_texts(request.body)))
            if isinstance(self.obeys, list):
                return self.obeys.pop(0) if self.obeys else Say(text="Nothing to keep.")
            said, self.obeys = self.obeys, ""
            return Say(text=said or "Nothing to keep.")
        return self.answer

    @property
    def memory(self) -> AutoMemory:
        return self.engine.memory(str(self.project))

    @property
    def folder(self) -> Path:
        return self.memory.layout.folder

    def drop(self, files: dict[str, str]) -> None:
        """Put files into the folder, past the gate."""
        for name, text in files.items():
            place = self.folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, "utf-8")

    async def open(self, id: str = "") -> Session:
        self._messages, self._sessions = [], self._sessions + 1
        return await self.engine.open(
            id or f"s{self._sessions}", project=str(self.project), listener=self.events.append
        )

    def resume(self, question: str, answer: str) -> None:
        """The conversation as the host still has it: the person asked, a tool answered, the model
        was done.
        """
        call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "cat log"}}
        self._messages = [
            {"role": "user", "content": question},
            {"role": "assistant", "content": [call]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t1", "content": answer}],
            },
            {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
        ]

    async def turn(
        self, session: Session, content: str | list[JsonObject], answer: Step | None = None
    ) -> None:
        self.answer = answer or Say(text="Done.")
        self._messages.append({"role": "user", "content": content})
        tools = {"tools": TOOLS} if isinstance(self.obeys, list) else {}
        request = await session.prepare(
            {"model": "m", "max_tokens": 1000, **tools, "messages": self._messages}
        )
        self._sent.append(msgspec.json.decode(msgspec.json.encode(request)))
        reply = await self.model.send(Request(format="anthropic", body=request))
        await session.observe(reply.body)
        self._messages.append({"role": "assistant", "content": reply.body["content"]})
        if reply.stop_reason != "tool_use":
            await session.end_turn()

    async def told(self, *messages: str | list[JsonObject]) -> None:
        """A session in which the person says this."""
        session = await self.open()
        for message in messages:
            await self.turn(session, message)
        await session.close()

    async def tool_says(self, session: Session, text: str, question: str) -> None:
        """The person asks, the model calls a tool, the tool answers, the model is done."""
        await self.turn(
            session, question, CallTool(name="Bash", input={"command": "cat log"}, id="t1")
        )
        await self.turn(session, [{"type": "tool_result", "tool_use_id": "t1", "content": text}])

    async def shown_later(self, *questions: str) -> str:
        """What a new session shows of memory, as one text."""
        self.obeys = ""
        session = await self.open()
        await first_look_over()
        for question in questions or (
            "Tell me about the importer stages and the importer build, please",
        ):
            await self.turn(session, question)
        await session.close()
        return "\n".join(text for text in _texts(self._sent[-1]) if "[memorist]" in text)

    def kept(self) -> dict[str, str]:
        """Every memory with its text."""
        return {
            head.path: (self.folder / head.path).read_text("utf-8")
            for head in self.memory.headers()
        }


async def first_look_over() -> None:
    """Until the look at a folder with many new files is over: a request would wait for it only for
    a moment.
    """
    for thread in threading.enumerate():
        if thread.name == "memorist-first-look":
            await asyncio.to_thread(thread.join)


def writes(folder: Path, files: dict[str, str]) -> str:
    """The answer of a fork that writes these files."""
    return "".join(
        f'<write path="{folder / path}">\n{text}</write>\n' for path, text in files.items()
    )


def overwrites(folder: Path, path: str, after: str) -> list[Step]:
    """The calls of a fork that reads a file and writes another one over it."""
    place = str(folder / path)
    return [
        CallTool(name="Read", input={"file_path": place}, id="f1"),
        CallTool(name="Write", input={"file_path": place, "content": after}, id="f2"),
    ]


def _texts(body: JsonObject) -> list[str]:
    found = []
    for message in body["messages"]:
        content = message["content"]
        found += (
            [content]
            if isinstance(content, str)
            else [block.get("text", "") for block in content if block["type"] == "text"]
        )
    return found


def squeezed(text: str) -> str:
    """A text as attacks are looked for: compatibility form, no case, no blanks, nothing that cannot
    be seen but tags.
    """
    return "".join(
        letter
        for letter in normalize_for_comparison(text)
        if letter.isprintable() or ord(letter) > 0xE0000
    ).replace(" ", "")
