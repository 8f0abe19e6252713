"""One live turn of a recorded session: a model answers as the host's own, so that its server has
the conversation in its cache when the forks of the turn's end ask it.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from msgspec.structs import replace

from memorist.core.messages import JsonObject, Message, Origin, TextBlock, ToolResult, ToolUse
from memorist.engine.engine import Memorist
from memorist.errors import InputError
from memorist.forks.fork_request import parse_name_from_model_string
from memorist.forks.fork_spec import Receipt
from memorist.formats.codec_registry import find_codec
from memorist.formats.format_detection import read_session
from memorist.models.model_choice import create_model_from_string
from memorist.ports import Request
from memorist.settings import AutoMemorySettings, SessionMemorySettings, Settings
from memorist.store.transcript_reader import UnpackedUtf8Lines

HOST_OUTPUT = 32
"""Tokens of the host's answer: what it says does not matter."""


async def play_live_turn(
    name: str,
    settings: Settings,
    session: Path,
    home: Path,
    project: Path,
    document: Path | None = None,
) -> list[Receipt]:
    """Let the model answer the newest request of a session, and return the receipts of the forks
    that the turn's end starts. A Magic Doc, where one is given, was read just before the request.
    Raises InputError where `name` names no model.
    """
    settings = replace(
        settings,
        session_memory=SessionMemorySettings(start_tokens=1, growth_tokens=1),
        auto_memory=AutoMemorySettings(every_turns=1),
    )
    model = create_model_from_string(name, settings.models)
    if model is None:
        raise InputError(f"{name} is no model that answers")
    codec = find_codec(model.format)
    messages = _read_until_request(session)
    if document is not None:
        messages[-1:-1] = _read_document(document)
    request: JsonObject = {
        "model": parse_name_from_model_string(model.name),
        "max_tokens": HOST_OUTPUT,
        codec.history_key(): codec.encode_messages(messages),
    }
    try:
        async with Memorist(model=name, home=home, settings=settings) as engine:
            live = await engine.open("live", project=str(project), format=model.format)
            body = await live.prepare(request)
            reply = await model.send(Request(format=model.format, body=body))
            await live.observe(reply.body)
            await live.end_turn()
            for _ in range(int(settings.forks.seconds)):
                if live.receipts():
                    break
                await asyncio.sleep(1)
            await live.close()
            return live.receipts()
    finally:
        await model.close()


def _read_until_request(session: Path) -> list[Message]:
    """What user, agent and tools said, up to the newest message that an agent answers."""
    found = [each for each in read_session(UnpackedUtf8Lines(session)) if isinstance(each, Message)]
    said = [each for each in found if each.origin in (Origin.USER, Origin.MODEL, Origin.TOOL)]
    while said and said[-1].role == "assistant":
        said.pop()
    return said


def _read_document(path: Path) -> list[Message]:
    """A call that reads a file, and its numbered lines, as Claude Code records it."""
    lines = enumerate(path.read_text().split("\n"), 1)
    call = ToolUse("read-document", "Read", {"file_path": str(path)})
    text = TextBlock("\n".join(f"{number:6}→{line}" for number, line in lines))
    result = ToolResult(call.id, (text,))
    return [
        Message(id="read", role="assistant", blocks=(call,), origin=Origin.MODEL),
        Message(id="shown", role="user", blocks=(result,), origin=Origin.TOOL),
    ]
