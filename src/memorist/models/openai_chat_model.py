"""Chat Completions as a `Model`: of OpenAI, and of every compatible server (llama.cpp, Ollama,
vLLM, LM Studio).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from memorist.core.messages import JsonObject
from memorist.formats.openai_chat import replace_custom_tools
from memorist.models.call_failure import CallFailure
from memorist.models.context_window import (
    read_window_from_llama_props,
    read_window_from_model_list,
    read_window_from_ollama_loaded,
    read_window_from_ollama_model,
)
from memorist.models.model_access import ModelAccess
from memorist.models.model_settings import ModelSettings
from memorist.models.openai_model import OpenAIBaseModel
from memorist.models.own_network_servers import is_server_on_own_network
from memorist.models.reply_assembly import assemble_chat_reply, split_thoughts_from_answers
from memorist.ports import Clock

DISCOVERY_TIMEOUT_SECONDS = 3.0
"""Longest wait for each answer of a server about itself. Our choice: it answers at once, or is not
there.
"""


OPENAI_ADDRESS = "https://api.openai.com/v1"
"""The provider's own server, whose models the price table knows."""


class OpenAIChatModel(OpenAIBaseModel):
    """A model that speaks Chat Completions. A stream reports its usage only on request, so
    `stream_options` is added (see the settings).

    A compatible server (any but OpenAI's own) is asked once for the window it really serves, before
    the first request; it gets the output limit in both spellings, since many read only the older
    one, and a low temperature, since its default suits talk and not facts.
    """

    _format = "openai_chat"

    def __init__(
        self,
        name: str,
        model: str,
        access: ModelAccess,
        settings: ModelSettings | None = None,
        *,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(name, model, access, settings, clock=clock)
        address = access.base_url or OPENAI_ADDRESS
        self._server_root = "" if address == OPENAI_ADDRESS else address.removesuffix("/v1")
        self._is_near = is_server_on_own_network(address)

    async def discover_window(self) -> int | None:
        """Ask a compatible server for its window, once; None where none tells.

        Takes `DISCOVERY_TIMEOUT_SECONDS` for each question at most. Never raises for what it is
        answered.
        """
        if self._server_root and not self._window_asked and not self._settings.window:
            self._window_asked = True
            self.learn_window(await self._ask_window())
        return self._learned_window

    async def _ask_window(self) -> int | None:
        model = self._model
        questions: tuple[tuple[str, JsonObject | None, Callable[[object], int | None]], ...] = (
            ("/v1/models", None, lambda body: read_window_from_model_list(body, model)),
            ("/props", None, read_window_from_llama_props),
            ("/api/v0/models", None, lambda body: read_window_from_model_list(body, model)),
            ("/api/ps", None, lambda body: read_window_from_ollama_loaded(body, model)),
            ("/api/show", {"model": model}, read_window_from_ollama_model),
        )
        try:
            for path, question, read in questions if self._is_near else questions[:1]:
                if (window := read(await self._ask_server(path, question))) is not None:
                    return window
        except (TimeoutError, self._connection_error):
            return None  # it is not there, or too busy: the next questions would fare no better
        return None

    async def _ask_server(self, path: str, question: JsonObject | None) -> object:
        """The server's answer as JSON; None where it does not know the question."""
        url = self._server_root + path
        try:
            async with asyncio.timeout(DISCOVERY_TIMEOUT_SECONDS):
                return await (
                    self._client.get(url, cast_to=object)
                    if question is None
                    else self._client.post(url, cast_to=object, body=question)
                )
        except (self._status_error, ValueError):
            return None

    async def _attempt(self, body: JsonObject) -> JsonObject | CallFailure:
        await self.discover_window()
        sent = {**body, "stream": True}
        if self._server_root:
            sent = replace_custom_tools(sent)
        if self._settings.stream_usage:
            sent["stream_options"] = {**(body.get("stream_options") or {}), "include_usage": True}
        if self._server_root:
            limit = body.get("max_completion_tokens") or body.get("max_tokens")
            if limit is not None:
                sent["max_tokens"] = sent["max_completion_tokens"] = limit
            if self._settings.temperature is not None:
                sent["temperature"] = self._settings.temperature
        reply = await self._post("/chat/completions", sent, assemble_chat_reply)
        if self._server_root and not isinstance(reply, CallFailure):
            reply = split_thoughts_from_answers(reply)
        return reply
