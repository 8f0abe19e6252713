"""Chat Completions as a `Model`: OpenAI's, and every compatible server (llama.cpp, Ollama, vLLM, LM
Studio, gateways).
"""

from __future__ import annotations

from memorist.core.messages import JsonObject
from memorist.models.assemble import assemble_chat
from memorist.models.faults import Fault
from memorist.models.openai_client import OpenAIClientModel


class OpenAIChatModel(OpenAIClientModel):
    """A model that speaks Chat Completions. A stream reports its usage only on request, so
    `stream_options` is added (see the settings).
    """

    _format = "openai_chat"

    async def _attempt(self, body: JsonObject) -> JsonObject | Fault:
        sent = {**body, "stream": True}
        if self._settings.stream_usage:
            sent["stream_options"] = {**(body.get("stream_options") or {}), "include_usage": True}
        return await self._post("/chat/completions", sent, assemble_chat)
