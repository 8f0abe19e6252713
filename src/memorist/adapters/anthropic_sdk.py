"""The Anthropic SDK: a middleware for its client.

    client = Anthropic(middleware=[MemoristMiddleware(project=".")])

Every `messages.create`, `messages.stream` and `messages.parse`, plain and beta, with or without the tool runner, goes through it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anthropic import APIRequest, APIResponse, AsyncAPIResponse, AsyncCallNext, CallNext, Middleware

from memorist.adapters.wire_listen import listen, listen_later
from memorist.adapters.wire_plug import Exchange, WirePlug
from memorist.core.messages import JsonObject

FORMAT = "anthropic"
PATH = "/v1/messages"
BETAS = "anthropic-beta"
"""The header that lists the betas a request needs, separated by commas."""
KEPT_BY_THE_PROVIDER = ("thread",)
"""Fields of a request whose history the provider keeps."""

REACHES = frozenset({"notes", "compaction", "recall", "extraction"})
"""Features of memorist that this adapter provides."""


class MemoristMiddleware(WirePlug, Middleware):
    """For `Anthropic(middleware=[…])` and `AsyncAnthropic(middleware=[…])`, including clients of other clouds.

    Takes `AdapterOptions`. A request that the provider refuses as too long is sent once more, smaller,
    before the host sees the error. Retries by the SDK count as one call. A request of a message thread,
    whose history the provider keeps, passes unchanged: give the tool runner `thread=False`.
    """

    formats = (FORMAT,)

    def handle(self, request: APIRequest, call_next: CallNext) -> APIResponse[Any]:
        """One attempt of a blocking client."""
        exchange, body = self._exchange(request)
        if exchange is None or body is None:
            return call_next(request)
        response = call_next(_sent(request, exchange, exchange.request(body)))
        if not response.http_response.is_success:
            smaller = exchange.refused(response.status_code, response.http_response.read())
            if smaller is None:
                return response
            response.close()
            response = call_next(_sent(request, exchange, smaller))
        if response.http_response.is_success:
            listen(response.http_response, exchange.heard)
        return response

    async def handle_async(self, request: APIRequest, call_next: AsyncCallNext) -> AsyncAPIResponse[Any]:
        """One attempt of an async client."""
        exchange, body = self._exchange(request)
        if exchange is None or body is None:
            return await call_next(request)
        response = await call_next(_sent(request, exchange, await exchange.arequest(body)))
        if not response.http_response.is_success:
            smaller = await exchange.arefused(response.status_code, await response.http_response.aread())
            if smaller is None:
                return response
            await response.close()
            response = await call_next(_sent(request, exchange, smaller))
        if response.http_response.is_success:
            await listen_later(response.http_response, exchange.aheard)
        return response

    def _exchange(self, request: APIRequest) -> tuple[Exchange | None, JsonObject | None]:
        """The call and its body; None for a request that is not a model call."""
        body = request.json
        if request.method.lower() != "post" or request.url.partition("?")[0] != PATH or not isinstance(body, dict):
            return None, None
        return (None, None) if self.kept_elsewhere(body, KEPT_BY_THE_PROVIDER) else (self.exchange(FORMAT), body)


def _sent(request: APIRequest, exchange: Exchange, body: JsonObject) -> APIRequest:
    """The request with another body and the betas that it needs; the same object when the body is
    its own.
    """
    if body is request.json:
        return request
    betas = exchange.betas
    return request.copy(body=body, headers=_with_betas(dict(request.headers), betas)) if betas else request.copy(body=body)


def _with_betas(headers: dict[str, Any], betas: Sequence[str]) -> dict[str, Any]:
    name = next((name for name in headers if name.lower() == BETAS), BETAS)
    given = headers.get(name)
    named = [each.strip() for each in given.split(",")] if isinstance(given, str) else []
    return {**headers, name: ",".join(dict.fromkeys(filter(None, (*named, *betas))))}
