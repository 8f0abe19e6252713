"""memorist in Pydantic AI: a capability that changes what the model is shown, and leaves the
message history alone.

agent = Agent(model, capabilities=[MemoristCapability(project=".")])
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, WrapToolExecuteHandler
from pydantic_ai.exceptions import RetryModelRequest
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import FunctionToolset

from memorist.adapters.chat_messages import build_chat_request
from memorist.adapters.engine_thread import (
    EngineArguments,
    EngineThread,
    attach_or_open_engine_thread,
)
from memorist.adapters.host_conversation import HostConversation
from memorist.adapters.message_map import MessageMap
from memorist.adapters.pydantic_ai_messages import (
    MessagePiece,
    decode_wire_items_to_pieces,
    encode_reply_as_wire_json,
    join_message_pieces,
    split_and_encode_messages,
)
from memorist.adapters.run_identity import (
    RunValue,
    UserAndProject,
    UserAndProjectResolver,
    evaluate_run_value,
    find_user_id,
    give_nested_agent_own_session,
    tool_scope,
)
from memorist.adapters.wire_reply import is_too_long_error
from memorist.core.messages import JsonObject
from memorist.engine.fetch_tool import FETCH_TOOL_NAME, build_fetch_tool_definition
from memorist.models.context_window import resolve_context_window
from memorist.models.model_settings import ModelSettings
from memorist.ports import HostInfo

FEATURES = frozenset({"notes", "compaction", "recall", "extraction"})
"""Features of memorist that this adapter provides."""


class MemoristCapability(AbstractCapability[Any]):
    """Session memory, compaction, recall and extraction for an agent, in all kinds of runs.

    A session is a conversation: `conversation_id`, which Pydantic AI takes from the message history
    of a run.

    Args:
        project: root folder of the project, or a function of the `RunContext`; memories belong to
            it. Without one nothing is remembered across sessions.
        user: whose memory it is, or a function of the `RunContext`. Without it the `user_id` of the
            run's dependencies or metadata; users share nothing.
        session: the id of the session, or a function of the `RunContext`. Without it the
            `conversation_id`.
        fetch: offer the model a tool that fetches back what was removed.
        attached: an engine shared with other agents; without it one is opened with the arguments of
            `Memorist`.
        **engine: the arguments of `Memorist`.
    """

    features = FEATURES

    def __init__(
        self,
        *,
        project: RunValue[RunContext[Any]] | Path = "",
        user: RunValue[RunContext[Any]] | None = None,
        session: RunValue[RunContext[Any]] = "",
        fetch: bool = False,
        attached: EngineThread | None = None,
        **engine: Unpack[EngineArguments],
    ) -> None:
        self.attached = attach_or_open_engine_thread(attached, engine)
        """The engine. Close it, or leave that to the end of the program."""
        self.session = ""
        """Id of the session that was used last."""
        self._identity = UserAndProjectResolver[RunContext[Any]](user, project, _find_user)
        self._session_value = session
        self._fetch = fetch

    def conversation(self, session: str, *, user: str = "", project: str = "") -> HostConversation:
        """Return the conversation of a session by its `conversation_id`: for its notes, or to
        compact it.

        `user` and `project` are needed where they come from the run.
        """
        return self._open_conversation(session, self._identity.resolve_named(user, project))

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Return the prepared request; in the attempt after a refusal as too long, the smaller
        one.
        """
        talk = self._run_conversation(ctx)
        mapped = PydanticAIRequest(request_context, self.attached.engine.settings.models)
        if request_context.attempt > 1:
            again = await talk.ashrink_refused_request_and_decode(mapped.decode)
            if again is not None:
                return again
        return await talk.aencode_prepare_decode(mapped.encode, mapped.decode, request_context)

    async def on_model_request_error(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, error: Exception
    ) -> ModelResponse:
        """Retry a request that was too long, once and smaller."""
        del ctx
        if request_context.attempt == 1 and is_too_long_error(error):
            raise RetryModelRequest from error
        raise error

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Observe a reply."""
        del request_context
        await self._run_conversation(ctx).aencode_and_observe(
            lambda: encode_reply_as_wire_json(response)
        )
        return response

    async def after_run(
        self, ctx: RunContext[Any], *, result: AgentRunResult[Any]
    ) -> AgentRunResult[Any]:
        """End the turn."""
        await self._run_conversation(ctx).aend_turn()
        return result

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
    ) -> object:
        """Run a tool. What it asks another agent are not the person's words."""
        del tool_def
        if call.tool_name == FETCH_TOOL_NAME:  # memorist's own tool belongs to the conversation
            return await handler(args)
        with tool_scope(self._run_conversation(ctx).id):
            return await handler(args)

    def get_toolset(self) -> FunctionToolset[Any] | None:
        """The fetch tool, where it was requested."""
        if not self._fetch:
            return None

        async def fetch(ctx: RunContext[Any], id: str) -> str:
            return await self._run_conversation(ctx).aanswer_fetch(id)

        tools: FunctionToolset[Any] = FunctionToolset()
        tools.add_function(
            fetch,
            name=FETCH_TOOL_NAME,
            description=build_fetch_tool_definition("openai_chat")["function"]["description"],
        )
        return tools

    def _run_conversation(self, ctx: RunContext[Any]) -> HostConversation:
        named = evaluate_run_value(self._session_value, ctx)
        self.session, host = give_nested_agent_own_session(
            named or ctx.conversation_id or ctx.run_id or "conversation", str(ctx.run_id)
        )
        return self._open_conversation(self.session, self._identity.resolve(ctx), host)

    def _open_conversation(
        self, session: str, owner: UserAndProject, host: HostInfo | None = None
    ) -> HostConversation:
        return self.attached.conversation(
            session, user=owner.user, project=owner.project, format="openai_chat", host=host
        )


def _find_user(ctx: RunContext[Any]) -> str:
    return find_user_id(ctx.deps, ctx.metadata)


def find_model_with_smallest_window(model: Model, settings: ModelSettings) -> Model:
    """The model with the smallest window among those that a `FallbackModel` may ask, since it has
    to hold the request too; the model itself where there is one.
    """
    among = getattr(model, "models", None)
    if not isinstance(among, list) or not among:
        return model
    found = [find_model_with_smallest_window(each, settings) for each in among]
    return min(found, key=lambda each: resolve_context_window({"model": each.model_name}, settings))


class PydanticAIRequest:
    """A Pydantic AI request encoded for memorist, and the way back."""

    def __init__(self, request: ModelRequestContext, settings: ModelSettings) -> None:
        self._request = request
        self._settings = settings

    @cached_property
    def _message_map(self) -> MessageMap[MessagePiece]:
        return MessageMap(split_and_encode_messages(self._request.messages))

    def encode(self) -> JsonObject:
        """Encode the request as Chat Completions."""
        model = find_model_with_smallest_window(self._request.model, self._settings)
        limit = (self._request.model_settings or {}).get("max_tokens")
        return build_chat_request(model.model_name, self._message_map.wire_items, limit)

    def decode(self, body: JsonObject) -> ModelRequestContext:
        """Return the request to send; the same object when nothing was changed."""
        pieces = self._message_map.messages
        back = self._message_map.build_host_messages(
            body["messages"], lambda run: decode_wire_items_to_pieces(run, pieces)
        )
        if back == pieces:
            return self._request
        return replace(self._request, messages=join_message_pieces(back))
