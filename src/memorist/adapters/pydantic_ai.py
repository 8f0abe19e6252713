"""memorist in Pydantic AI: a capability that changes what the model is shown, and leaves the message history alone.

agent = Agent(model, capabilities=[MemoristCapability(project=".")])
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import RetryModelRequest
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.run import AgentRunResult
from pydantic_ai.toolsets import FunctionToolset

from memorist.adapters.attached import Attached, EngineArguments, attach
from memorist.adapters.conversation import Conversation
from memorist.adapters.originals import Originals
from memorist.adapters.pydantic_ai_messages import Piece, made, messages_of, pieces_of, reply_of
from memorist.adapters.refusals import says_too_long
from memorist.core.messages import JsonObject
from memorist.engine.fetching import FETCH_NAME, fetch_tool

REACHES = frozenset({"notes", "compaction", "recall", "extraction"})
"""What the hooks of the host let memorist do."""


class MemoristCapability(AbstractCapability[Any]):
    """Session memory, compaction, recall and extraction for an agent, in runs of every kind.

    A session is a conversation: `conversation_id`, which Pydantic AI takes over from the message history that a run is given.

    Args:
        project: root folder of the project; memories belong to it. Without one nothing is remembered from session to session.
        fetch: offer the model a tool that fetches back what was taken out.
        attached: an engine to share with other agents; without it the arguments of `Memorist` make one.
    """

    reaches = REACHES

    def __init__(
        self, *, project: str | Path = "", fetch: bool = False, attached: Attached | None = None, **engine: Unpack[EngineArguments]
    ) -> None:
        self.attached = attach(attached, engine)
        """The engine; close it, or leave that to the end of the program."""
        self.session = ""
        """Id of the session that was in use last."""
        self._project = str(project)
        self._fetch = fetch

    def conversation(self, session: str) -> Conversation:
        """The conversation of a session, by its `conversation_id`: for its notes, or to compact it."""
        return self.attached.conversation(session, project=self._project, format="openai_chat")

    async def prepare_model_request(self, ctx: RunContext[Any], request_context: ModelRequestContext) -> ModelRequestContext:
        """What memorist prepared goes out; in an attempt after a refusal as too long, what it made smaller."""
        talk, mapped = self._of(ctx), Mapped(request_context)
        if request_context.attempt > 1:
            again = await talk.arecover_mapped(mapped.back)
            if again is not None:
                return again
        return await talk.aprepare_mapped(mapped.body, mapped.back, request_context)

    async def on_model_request_error(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, error: Exception
    ) -> ModelResponse:
        """A request that was too long is sent again, smaller, once."""
        del ctx
        if request_context.attempt == 1 and says_too_long(error):
            raise RetryModelRequest from error
        raise error

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """A reply."""
        del request_context
        await self._of(ctx).aobserve_mapped(lambda: reply_of(response))
        return response

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """The end of a turn."""
        await self._of(ctx).aend_turn()
        return result

    def get_toolset(self) -> FunctionToolset[Any] | None:
        """The tool that fetches back, where it was asked for."""
        if not self._fetch:
            return None

        async def fetch(ctx: RunContext[Any], id: str) -> str:
            return await self._of(ctx).afetched(id)

        tools: FunctionToolset[Any] = FunctionToolset()
        tools.add_function(fetch, name=FETCH_NAME, description=fetch_tool("openai_chat")["function"]["description"])
        return tools

    def _of(self, ctx: RunContext[Any]) -> Conversation:
        self.session = ctx.conversation_id or ctx.run_id or "conversation"
        return self.conversation(self.session)


class Mapped:
    """One request of Pydantic AI as memorist sees it, and the way back."""

    def __init__(self, request: ModelRequestContext) -> None:
        self._request = request
        self._originals: Originals[Piece] = Originals(pieces_of(request.messages))

    def body(self) -> JsonObject:
        """The request in Chat Completions. Instructions and tools are no part of it: they stay as they are, and count by the usage that is reported."""
        settings = self._request.model_settings or {}
        body: JsonObject = {"model": self._request.model.model_name, "messages": self._originals.items}
        limit = settings.get("max_tokens")
        return {**body, "max_completion_tokens": limit} if isinstance(limit, int) else body

    def back(self, body: JsonObject) -> ModelRequestContext:
        """The request to send; the very same one where nothing was changed."""
        pieces = self._originals.messages
        back = self._originals.back(body["messages"], lambda run: made(run, pieces))
        if back == pieces:
            return self._request
        return replace(self._request, messages=messages_of(back))
