"""OpenAI's Responses API as a `Model`."""

from __future__ import annotations

from memorist.core.messages import JsonObject
from memorist.models.assemble import assemble_responses
from memorist.models.faults import Fault
from memorist.models.openai_client import OpenAIClientModel


class OpenAIResponsesModel(OpenAIClientModel):
    """A model that speaks Responses."""

    _format = "openai_responses"

    async def _attempt(self, body: JsonObject) -> JsonObject | Fault:
        return await self._post("/responses", {**body, "stream": True}, assemble_responses)
