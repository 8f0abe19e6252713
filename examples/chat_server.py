"""A chat server for many users, run by any number of workers.

    CHAT_HOME=/srv/chat gunicorn -w 4 -k uvicorn_worker.UvicornWorker chat_server:app

A browser posts `{"user": …, "thread": …, "messages": […]}` with all messages of the thread and gets
the answer as it is written. Whichever worker has the request goes on with the thread. A real server
takes the user from its login, never from the body.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from anthropic import AsyncAnthropic
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from memorist.engine.tenants import Tenants

MODEL = os.environ.get("EXAMPLE_MODEL", "claude-sonnet-5")
log = logging.getLogger("uvicorn.error.chat")


@asynccontextmanager
async def open_parts(_: Starlette) -> AsyncGenerator[dict[str, Any], None]:
    """Each worker opens its own after the fork, and closes it when it is told to end."""
    async with AsyncAnthropic() as client, Tenants(os.environ["CHAT_HOME"]) as tenants:
        yield {"client": client, "tenants": tenants}


async def chat(request: Request) -> StreamingResponse:
    """Answer the last message of a thread."""
    return StreamingResponse(write_answer(request, await request.json()), media_type="text/plain")


async def write_answer(request: Request, asked: dict[str, Any]) -> AsyncIterator[str]:
    """The words of the model as they come."""
    client: AsyncAnthropic = request.state.client
    tenants: Tenants = request.state.tenants
    user, thread = asked["user"], asked["thread"]
    since = time.monotonic()
    async with tenants.session(user, thread, project="chat") as session:
        waited = time.monotonic() - since
        log.info("%s/%s opened in %.3f s by %d", user, thread, waited, os.getpid())
        body = {"model": MODEL, "max_tokens": 1_000, "messages": asked["messages"]}
        sent = await session.prepare(body)
        async with client.messages.stream(**sent) as stream:
            async for words in stream.text_stream:
                yield words
            await session.observe(await stream.get_final_message())
        await session.end_turn()


app = Starlette(routes=[Route("/chat", chat, methods=["POST"])], lifespan=open_parts)
