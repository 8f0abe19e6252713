"""The OpenAI SDK: an HTTP client for its client.

    client = OpenAI(http_client=MemoristOpenAI(project=".").http_client())

Every call of Responses and of Chat Completions goes through it: `create`, `stream`, `parse`, and
what is built on them.
"""

from __future__ import annotations

import contextlib
from typing import Any, TypedDict, Unpack

import httpx2
import msgspec
from openai import DefaultAsyncHttpxClient, DefaultHttpxClient

from memorist.adapters.response_tap import atap_response, attach_response_body_callback
from memorist.adapters.wire_adapter import WireAdapter, WireCall
from memorist.core.messages import JsonObject

FORMATS = {"/responses": "openai_responses", "/chat/completions": "openai_chat"}
"""Wire format by the end of a request's path."""

PROVIDER_HISTORY_FIELDS = ("previous_response_id", "conversation", "prompt")
"""Fields of a Responses request whose history, or part of it, the provider keeps: memorist would
see only what is new, and leaves it unchanged.
"""

FEATURES = frozenset({"notes", "compaction", "recall", "extraction"})
"""Features of memorist that this adapter provides."""


class HttpxClientOptions(TypedDict, total=False):
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


class _SendOptions(TypedDict, total=False):
    stream: bool
    auth: Any
    follow_redirects: Any


class MemoristOpenAI(WireAdapter):
    """For `OpenAI(http_client=…)` and `AsyncOpenAI(http_client=…)`, including clients of other
    clouds.

    Takes `AdapterOptions`. A request that the provider refuses as too long is sent once more,
    smaller, before the host sees the error. A request whose history the provider keeps
    (`previous_response_id`, `conversation`, `prompt`) passes unchanged.
    """

    formats = ("openai_responses", "openai_chat")

    def http_client(self, **options: Unpack[HttpxClientOptions]) -> httpx2.Client:
        """The SDK's own HTTP client with memorist in it; options as for
        `openai.DefaultHttpxClient`.
        """
        return _MemoristHttpClient(self, **options)

    def async_http_client(self, **options: Unpack[HttpxClientOptions]) -> httpx2.AsyncClient:
        """The same for `AsyncOpenAI`; options as for `openai.DefaultAsyncHttpxClient`."""
        return _MemoristAsyncHttpClient(self, **options)

    def read_request(self, request: httpx2.Request) -> tuple[WireCall | None, JsonObject | None]:
        """The call of a request and its body; None when it is not a model call or the provider
        keeps its history.
        """
        path = request.url.path.rstrip("/")
        format = next((name for end, name in FORMATS.items() if path.endswith(end)), None)
        if format is None or request.method != "POST":
            return None, None
        try:
            body = msgspec.json.decode(request.content)
        except (msgspec.DecodeError, RecursionError, httpx2.RequestNotRead):
            return None, None
        if not isinstance(body, dict) or self.has_provider_history(body, PROVIDER_HISTORY_FIELDS):
            return None, None
        return self.begin_call(format, body), body


class _MemoristHttpClient(DefaultHttpxClient):
    def __init__(self, adapter: MemoristOpenAI, **options: Unpack[HttpxClientOptions]) -> None:
        super().__init__(**options)
        self._adapter = adapter

    def send(self, request: httpx2.Request, **options: Unpack[_SendOptions]) -> httpx2.Response:
        """One attempt."""
        exchange, body = self._adapter.read_request(request)
        if exchange is None or body is None:
            return super().send(request, **options)
        response = super().send(_replace_body(request, body, exchange.prepare(body)), **options)
        if not response.is_success:
            smaller = exchange.shrink_if_error_says_too_long(response.status_code, response.read())
            if smaller is None:
                return response
            response.close()
            response = super().send(_replace_body(request, body, smaller), **options)
        if response.is_success:
            attach_response_body_callback(response, exchange.observe_body)
        return response

    def __del__(self) -> None:
        """Close with the client that is no longer referenced, as the SDK's own does."""
        with contextlib.suppress(Exception):  # the interpreter may be shutting down
            self.close()


class _MemoristAsyncHttpClient(DefaultAsyncHttpxClient):
    def __init__(self, adapter: MemoristOpenAI, **options: Unpack[HttpxClientOptions]) -> None:
        super().__init__(**options)
        self._adapter = adapter

    async def send(
        self, request: httpx2.Request, **options: Unpack[_SendOptions]
    ) -> httpx2.Response:
        """One attempt."""
        exchange, body = self._adapter.read_request(request)
        if exchange is None or body is None:
            return await super().send(request, **options)
        response = await super().send(
            _replace_body(request, body, await exchange.aprepare(body)), **options
        )
        if not response.is_success:
            smaller = await exchange.ashrink_if_error_says_too_long(
                response.status_code, await response.aread()
            )
            if smaller is None:
                return response
            await response.aclose()
            response = await super().send(_replace_body(request, body, smaller), **options)
        if response.is_success:
            await atap_response(response, exchange.aobserve_body)
        return response


def _replace_body(
    request: httpx2.Request, body: JsonObject, prepared: JsonObject
) -> httpx2.Request:
    """The request with another body; the same object when the body is its own."""
    if prepared is body:
        return request
    headers = [
        (name, value)
        for name, value in request.headers.multi_items()
        if name.lower() != "content-length"
    ]
    return httpx2.Request(
        request.method,
        request.url,
        headers=headers,
        content=msgspec.json.encode(prepared),
        extensions=request.extensions,
    )
