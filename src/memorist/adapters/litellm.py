"""LiteLLM: a logger for its callbacks, and calls for where its hooks do not reach.

litellm.callbacks = [MemoristLogger(project=".")]       # every async call, through the router or
the proxy server too reply = memorist.completion(model=…, messages=…)         # a blocking call
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple, Self, Unpack, cast

import litellm
from litellm import CustomStreamWrapper, ModelResponse
from litellm.exceptions import ContextWindowExceededError
from litellm.integrations.custom_logger import CustomLogger

from memorist.adapters.run_identity import find_user_id
from memorist.adapters.wire_adapter import AdapterOptions, WireAdapter, WireCall
from memorist.core.messages import JsonObject

FORMATS = {
    "acompletion": "openai_chat",
    "completion": "openai_chat",
    "aresponses": "openai_responses",
    "responses": "openai_responses",
    "anthropic_messages": "anthropic",
}
"""Wire format by LiteLLM's call type."""
HISTORY_ARGUMENTS = {
    "openai_chat": "messages",
    "openai_responses": "input",
    "anthropic": "messages",
}
"""The argument that holds the growing list."""
SIZE_ARGUMENTS = (
    "system",
    "instructions",
    "tools",
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
)
"""Other arguments of a call that count toward its size."""
PROVIDER_HISTORY_ARGUMENTS = ("previous_response_id", "conversation", "prompt")
"""Arguments of a call whose history the provider keeps."""
MAX_OPEN_CALLS = 10_000
"""Calls in flight whose replies are awaited.

Our choice; LiteLLM does not report a failed call, which is dropped by this bound.
"""

MAX_REPORT_PAUSES, REPORT_PAUSE_SECONDS = 500, 0.01
"""How often and how long `aclose` waits for the replies that LiteLLM reports late. Ours."""

FEATURES = frozenset({"notes", "compaction", "recall", "extraction"})
"""Features of memorist that this adapter provides."""


class _OpenCall(NamedTuple):
    logger: MemoristLogger
    exchange: WireCall
    is_recording: bool = False


class MemoristLogger(WireAdapter, CustomLogger):
    """For `litellm.callbacks` and the callbacks of LiteLLM's proxy server. Takes `AdapterOptions`.

    Functions for `user` and `project` are given the call's keyword arguments; without a `user`, it
    is the `user_id` of the metadata, that of the proxy server's key, or the call's `user`.

    A call belongs to the conversation that it names by `litellm_session_id` or
    `metadata={"session_id": …}`, else to the one that its history goes on with. On the proxy
    server, which has many users, a call that names none passes unchanged; conversations of
    different keys are kept apart.

    LiteLLM calls its callbacks before an async call (`acompletion`, `aresponses`,
    `anthropic_messages`), but not before a blocking `completion`. For that one, and to have a
    request that was refused as too long sent once more, call `completion` and `acompletion` of this
    object.
    """

    formats = ("openai_chat", "openai_responses", "anthropic")
    _open_calls: ClassVar[OrderedDict[str, _OpenCall]] = OrderedDict()
    """Of all loggers: LiteLLM reports to the first of a class even where another took its
    place.
    """

    def __init__(self, **options: Unpack[AdapterOptions]) -> None:
        WireAdapter.__init__(self, **options)
        CustomLogger.__init__(self)

    @staticmethod
    def find_user(body: JsonObject) -> str:
        """The user of a call: of its metadata, of the proxy server's key, or its `user`."""
        return find_user_id(_metadata(body)) or str(body.get("user") or "")

    async def async_pre_call_deployment_hook(
        self, kwargs: dict[str, Any], call_type: object
    ) -> dict[str, Any] | None:
        """LiteLLM's hook before a call goes out."""
        format = FORMATS.get(str(getattr(call_type, "value", call_type)))
        body = None if format is None else _request_body(kwargs, format)
        if (
            format is None
            or body is None
            or self.has_provider_history(kwargs, PROVIDER_HISTORY_ARGUMENTS)
        ):
            return None
        named = _session_name(kwargs)
        if named is None and "proxy_server_request" in kwargs:
            return None
        call = str(kwargs.get("litellm_call_id", ""))
        self._open_calls.pop(call, None)  # it failed, and is tried again
        exchange = self.begin_call(format, kwargs, named)
        if exchange is None:
            return None
        prepared = await exchange.aprepare(body)
        self._track_call(call, exchange)
        return {**kwargs, **_changed_arguments(body, prepared)}

    async def async_post_call_success_deployment_hook(
        self, request_data: dict[str, Any], response: object, *_: object, **__: object
    ) -> None:
        """LiteLLM's hook after a reply; after a streamed one with Responses alone."""
        await self._observe_reply(request_data, response)

    async def async_log_success_event(
        self, kwargs: dict[str, Any], response_obj: object, *_: object, **__: object
    ) -> None:
        """LiteLLM's hook after any reply, streamed ones too.

        It comes a little later, possibly after the next request.
        """
        reply = kwargs.get("async_complete_streaming_response") or response_obj
        await self._observe_reply(kwargs, reply)

    async def _observe_reply(self, call: Mapping[str, Any], reply: object) -> None:
        id = str(call.get("litellm_call_id", ""))
        opened = self._open_calls.get(id)
        if opened is not None and not opened.is_recording:  # LiteLLM may tell of it twice
            self._open_calls[id] = opened._replace(is_recording=True)
            await opened.exchange.aobserve(getattr(reply, "response", reply))  # of the last event
            self._open_calls.pop(id, None)

    async def aclose(self) -> None:
        """As `close`, on the loop of the calls: waits for the streamed replies that LiteLLM reports
        only when its loop is free.
        """
        for _ in range(MAX_REPORT_PAUSES):
            if not self._has_open_calls():
                break
            await asyncio.sleep(REPORT_PAUSE_SECONDS)
        await asyncio.to_thread(self.close)

    def _has_open_calls(self) -> bool:
        return any(each.logger is self for each in [*self._open_calls.values()])

    def close(self) -> None:
        """As that of every adapter; a reply that LiteLLM did not report yet is lost."""
        super().close()
        for id, each in [*self._open_calls.items()]:
            if each.logger is self:
                self._open_calls.pop(id, None)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _track_call(self, call: str, exchange: WireCall) -> None:
        self._open_calls[call] = _OpenCall(self, exchange)
        while len(self._open_calls) > MAX_OPEN_CALLS:
            self._open_calls.popitem(last=False)

    def completion(self, **call: object) -> ModelResponse | CustomStreamWrapper:
        """`litellm.completion`, with memorist before and after it."""
        exchange, body = self._begin_completion(call)
        if exchange is None or body is None:
            return litellm.completion(**call)
        with self.bypass():
            try:
                reply = litellm.completion(
                    **{**call, **_changed_arguments(body, exchange.prepare(body))}
                )
            except ContextWindowExceededError:
                smaller = exchange.shrink_refused_request()
                if smaller is None:
                    raise
                reply = litellm.completion(**{**call, **_changed_arguments(body, smaller)})
        if call.get("stream"):
            return cast("CustomStreamWrapper", _ObservedStream(reply, exchange))
        exchange.observe(reply)
        return reply

    async def acompletion(self, **call: object) -> ModelResponse | CustomStreamWrapper:
        """`litellm.acompletion`, with memorist before and after it."""
        exchange, body = self._begin_completion(call)
        if exchange is None or body is None:
            return await litellm.acompletion(**call)
        with self.bypass():
            try:
                reply = await litellm.acompletion(
                    **{**call, **_changed_arguments(body, await exchange.aprepare(body))}
                )
            except ContextWindowExceededError:
                smaller = await exchange.ashrink_refused_request()
                if smaller is None:
                    raise
                reply = await litellm.acompletion(**{**call, **_changed_arguments(body, smaller)})
        if call.get("stream"):
            return cast("CustomStreamWrapper", _ObservedStream(reply, exchange))
        await exchange.aobserve(reply)
        return reply

    def _begin_completion(
        self, call: Mapping[str, Any]
    ) -> tuple[WireCall | None, JsonObject | None]:
        body = _request_body(call, "openai_chat")
        if body is None:
            return (None, None)
        return (self.begin_call("openai_chat", dict(call), _session_name(call)), body)


class _ObservedStream:
    """A streamed reply as LiteLLM yields it; the whole reply is observed at its end."""

    def __init__(self, stream: CustomStreamWrapper, call: WireCall) -> None:
        self._stream = stream
        self._call = call
        self._chunks: list[Any] = []

    def __getattr__(self, name: str) -> object:
        """Delegate to LiteLLM's stream."""
        found: object = getattr(self._stream, name)
        return found

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> object:
        try:
            chunk = next(self._stream)
        except StopIteration:
            whole = self._take_whole_reply()
            if whole is not None:
                self._call.observe(whole)
            raise
        self._chunks.append(chunk)
        return chunk

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> object:
        try:
            chunk = await anext(self._stream)
        except StopAsyncIteration:
            whole = self._take_whole_reply()
            if whole is not None:
                await self._call.aobserve(whole)
            raise
        self._chunks.append(chunk)
        return chunk

    def _take_whole_reply(self) -> object | None:
        """The whole reply, once; None where LiteLLM cannot join its chunks."""
        chunks, self._chunks = self._chunks, []
        with contextlib.suppress(Exception):  # the next request's history holds the reply
            return litellm.stream_chunk_builder(chunks) if chunks else None
        return None


def _request_body(call: Mapping[str, Any], format: str) -> JsonObject | None:
    """The request as the engine reads it; None where the history is not passed by keyword."""
    key = HISTORY_ARGUMENTS[format]
    if not isinstance(call.get(key), list | str):
        return None
    model = str(call.get("model", ""))
    return {
        "model": model.partition("/")[2] or model,
        key: call[key],
        **{name: call[name] for name in SIZE_ARGUMENTS if call.get(name) is not None},
    }


def _changed_arguments(body: JsonObject, prepared: JsonObject) -> dict[str, Any]:
    """The arguments that memorist changed."""
    return {name: value for name, value in prepared.items() if body.get(name) is not value}


def _metadata(call: Mapping[str, Any]) -> dict[str, Any]:
    metadata: dict[str, Any] = {}
    for name in ("litellm_metadata", "metadata"):
        if isinstance(call.get(name), dict):
            metadata = {**metadata, **call[name]}
    return metadata


def _session_name(call: Mapping[str, Any]) -> str | None:
    """The conversation that a call names; on the proxy server prefixed with the key's hash."""
    metadata = _metadata(call)
    named = call.get("litellm_session_id") or metadata.get("session_id")
    if not isinstance(named, str):
        return None
    key = metadata.get("user_api_key_hash") or metadata.get("user_api_key")
    return f"{str(key)[:16]}-{named}" if key else named
