"""The OpenAI SDK: an HTTP client for its client.

    client = OpenAI(http_client=MemoristOpenAI(project=".").http_client())

Every call of Responses and of Chat Completions goes through it: `create`, `stream`, `parse`, and what is built on them.
"""

from __future__ import annotations

import contextlib
from typing import Any, TypedDict, Unpack

import httpx2
import msgspec
from openai import DefaultAsyncHttpxClient, DefaultHttpxClient

from memorist.adapters.wire_listen import listen, listen_later
from memorist.adapters.wire_plug import Exchange, WirePlug
from memorist.core.messages import JsonObject

FORMATS = {"/responses": "openai_responses", "/chat/completions": "openai_chat"}
"""Wire format by the end of a request's path."""

KEPT_BY_THE_PROVIDER = ("previous_response_id", "conversation", "prompt")
"""Fields of a Responses request whose history, or part of it, the provider keeps: memorist would
see only what is new, and leaves it unchanged.
"""

REACHES = frozenset({"notes", "compaction", "recall", "extraction"})
"""Features of memorist that this adapter provides."""


class ClientOptions(TypedDict, total=False):
    """The options of `openai.DefaultHttpxClient` besides those that the SDK sets; without them the
    SDK's own limits and timeouts apply.
    """

    proxy: Any
    timeout: Any
    limits: Any
    verify: Any
    cert: Any
    mounts: Any
    headers: Any
    event_hooks: Any
    transport: Any
    follow_redirects: bool
    trust_env: bool


class _Sending(TypedDict, total=False):
    stream: bool
    auth: Any
    follow_redirects: Any


class MemoristOpenAI(WirePlug):
    """For `OpenAI(http_client=…)` and `AsyncOpenAI(http_client=…)`, including clients of other clouds.

    Takes `AdapterOptions`. A request that the provider refuses as too long is sent once more, smaller,
    before the host sees the error. A request whose history the provider keeps (`previous_response_id`,
    `conversation`, `prompt`) passes unchanged.
    """

    formats = ("openai_responses", "openai_chat")

    def http_client(self, **options: Unpack[ClientOptions]) -> httpx2.Client:
        """The SDK's own HTTP client with memorist in it; options as for
        `openai.DefaultHttpxClient`.
        """
        return _Client(self, **options)

    def async_http_client(self, **options: Unpack[ClientOptions]) -> httpx2.AsyncClient:
        """The same for `AsyncOpenAI`; options as for `openai.DefaultAsyncHttpxClient`."""
        return _AsyncClient(self, **options)

    def taken(self, request: httpx2.Request) -> tuple[Exchange | None, JsonObject | None]:
        """The call of a request and its body; None when it is not a model call or the provider
        keeps its history.
        """
        path = request.url.path.rstrip("/")
        format = next((name for end, name in FORMATS.items() if path.endswith(end)), None)
        if format is None or request.method != "POST":
            return None, None
        try:
            body = msgspec.json.decode(request.content)
        except (msgspec.DecodeError, httpx2.RequestNotRead):
            return None, None
        if not isinstance(body, dict) or self.kept_elsewhere(body, KEPT_BY_THE_PROVIDER):
            return None, None
        return self.exchange(format), body


class _Client(DefaultHttpxClient):
    def __init__(self, plug: MemoristOpenAI, **options: Unpack[ClientOptions]) -> None:
        super().__init__(**options)
        self._plug = plug

    def send(self, request: httpx2.Request, **options: Unpack[_Sending]) -> httpx2.Response:
        """One attempt."""
        exchange, body = self._plug.taken(request)
        if exchange is None or body is None:
            return super().send(request, **options)
        response = super().send(_sent(request, body, exchange.request(body)), **options)
        if not response.is_success:
            smaller = exchange.refused(response.status_code, response.read())
            if smaller is None:
                return response
            response.close()
            response = super().send(_sent(request, body, smaller), **options)
        if response.is_success:
            listen(response, exchange.heard)
        return response

    def __del__(self) -> None:
        """Close with the client that is no longer referenced, as the SDK's own does."""
        with contextlib.suppress(Exception):  # the interpreter may be shutting down
            self.close()


class _AsyncClient(DefaultAsyncHttpxClient):
    def __init__(self, plug: MemoristOpenAI, **options: Unpack[ClientOptions]) -> None:
        super().__init__(**options)
        self._plug = plug

    async def send(self, request: httpx2.Request, **options: Unpack[_Sending]) -> httpx2.Response:
        """One attempt."""
        exchange, body = self._plug.taken(request)
        if exchange is None or body is None:
            return await super().send(request, **options)
        response = await super().send(_sent(request, body, await exchange.arequest(body)), **options)
        if not response.is_success:
            smaller = await exchange.arefused(response.status_code, await response.aread())
            if smaller is None:
                return response
            await response.aclose()
            response = await super().send(_sent(request, body, smaller), **options)
        if response.is_success:
            await listen_later(response, exchange.aheard)
        return response


def _sent(request: httpx2.Request, body: JsonObject, prepared: JsonObject) -> httpx2.Request:
    """The request with another body; the same object when the body is its own."""
    if prepared is body:
        return request
    headers = [(name, value) for name, value in request.headers.multi_items() if name.lower() != "content-length"]
    return httpx2.Request(
        request.method, request.url, headers=headers, content=msgspec.json.encode(prepared), extensions=request.extensions
    )
