"""memorist in the OpenAI Agents SDK: a session whose filter shows the model what memorist prepared,
with any model that the SDK can call.

session = MemoristSession("thread-1", project=".")
await Runner.run(agent, text, session=session, run_config=session.run_config(),
hooks=session.hooks())
"""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import uuid
import weakref
from collections.abc import Iterable
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Unpack

import msgspec
from agents import (
    Agent,
    AgentHookContext,
    FunctionTool,
    Model,
    ModelResponse,
    RunConfig,
    RunContextWrapper,
    RunHooks,
    SQLiteSession,
    Tool,
)
from agents.items import TResponseInputItem
from agents.memory import Session, SessionSettings
from agents.run import CallModelData, ModelInputData
from agents.tool_context import ToolContext

from memorist.adapters.engine_thread import (
    EngineArguments,
    EngineThread,
    attach_or_open_engine_thread,
)
from memorist.adapters.host_conversation import HostConversation
from memorist.adapters.message_map import MessageMap
from memorist.core.json_decoding import decode_json
from memorist.core.messages import JsonObject
from memorist.engine.fetch_tool import FETCH_TOOL_NAME, build_fetch_tool_definition
from memorist.engine.host_history import to_plain_json
from memorist.ports import HostInfo

FEATURES = frozenset({"notes", "compaction", "recall", "extraction"})
"""Features of memorist that this adapter provides.

A request that the provider refuses as too long cannot be sent again from a hook.
"""


class _AgentsRun:
    """A run whose model was asked in this task or in one that began it."""

    def __init__(self, session: MemoristSession) -> None:
        self.session = session
        self.task = asyncio.current_task()


_OPEN_RUN: ContextVar[_AgentsRun | None] = ContextVar("memorist_open_run", default=None)


class MemoristSession:
    """A conversation: the SDK's session, the filter of its model calls and its hooks in one. Give
    all three to `Runner.run`.

    The whole history stays in `underlying`; compaction changes only what the model is shown. An
    agent that is used as a tool is left alone: it has a conversation of its own. Where it has a
    `MemoristSession` too, that one learns and recalls nothing, as a model speaks there.

    Args:
        session_id: names the conversation; generated where it is empty.
        project: root folder of the project; memories belong to it. Without one nothing is
            remembered across sessions.
        user: whose memory it is; users share nothing.
        host: what the host says of itself, such as `HostInfo(main=False)` for a subagent.
        underlying: the SDK's session that stores the history; an in-memory `SQLiteSession` by
            default.
        attached: an engine shared with other sessions; without it one is opened with the arguments
            of `Memorist`.
        **engine: the arguments of `Memorist`.
    """

    features = FEATURES

    def __init__(
        self,
        session_id: str = "",
        *,
        project: str | Path = "",
        user: str = "",
        host: HostInfo | None = None,
        underlying: Session | None = None,
        attached: EngineThread | None = None,
        **engine: Unpack[EngineArguments],
    ) -> None:
        self.attached = attach_or_open_engine_thread(attached, engine)
        """The engine. Close it, or leave that to the end of the program."""
        self.session_id = session_id or uuid.uuid4().hex
        self.underlying: Session = underlying or SQLiteSession(self.session_id)
        self.session_settings: SessionSettings | None = self.underlying.session_settings
        """How many items the SDK reads, as the underlying session was made with."""
        self.conversation: HostConversation = self.attached.conversation(
            self.session_id, user=user, project=str(project), format="openai_responses", host=host
        )
        """For the notes, or to compact on demand."""
        self.agents: weakref.WeakValueDictionary[int, Agent[Any]] = weakref.WeakValueDictionary()
        """Agents of the conversation, by `id()`, as the hooks report them; empty where no hooks are
        used.
        """
        self.open_tools = 0
        """Tools of the conversation that run now, as the hooks report them."""

    @property
    def session(self) -> str:
        """The id of the session."""
        return self.session_id

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the newest items of the history; all for None."""
        return await self.underlying.get_items(limit)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items to the history."""
        await self.underlying.add_items(items)

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove and return the newest item; memorist notices at the next request."""
        return await self.underlying.pop_item()

    async def clear_session(self) -> None:
        """Clear the history; memories stay."""
        await self.underlying.clear_session()

    def run_config(self, base: RunConfig | None = None) -> RunConfig:
        """Return the run's settings with memorist's filter after the filter that they already
        have.
        """
        config = base or RunConfig()
        own = config.call_model_input_filter

        async def filtered(data: CallModelData[Any]) -> ModelInputData:
            given = data.model_data
            if own is not None:
                theirs = own(data)
                given = await theirs if inspect.isawaitable(theirs) else theirs
            return await self._prepare(
                CallModelData(model_data=given, agent=data.agent, context=data.context), config
            )

        return dataclasses.replace(config, call_model_input_filter=filtered)

    def hooks(self, host_hooks: RunHooks[Any] | None = None) -> RunHooks[Any]:
        """Return hooks that report replies and ends of turns to memorist, and then call the host's
        own.
        """
        return HostForwardingRunHooks(self, host_hooks or RunHooks())

    async def _prepare(self, data: CallModelData[Any], config: RunConfig) -> ModelInputData:
        given = data.model_data
        if self.agents and id(data.agent) not in self.agents:
            return given
        self._note_run()
        originals: MessageMap[Any] = MessageMap()

        def make() -> JsonObject:
            for item in given.input:
                originals.add_message_with_items(item, (to_plain_json(item),))
            return _request_body(data.agent, config, originals.wire_items)

        def back(body: JsonObject) -> ModelInputData:
            return ModelInputData(
                input=originals.build_host_messages(body["input"], _keep_items),
                instructions=given.instructions,
            )

        return await self.conversation.aencode_prepare_decode(make, back, given)

    def _note_run(self) -> None:
        """Note which conversation is asked here, and whether a tool of another one asks it: a tool
        runs in a task of its own, with a copy of this context.
        """
        outer = _OPEN_RUN.get()
        is_nested = (
            outer is not None
            and outer.session is not self
            and outer.session.open_tools > 0
            and outer.task is not asyncio.current_task()
        )
        if is_nested and self.conversation.host is None:
            self.conversation.host = HostInfo(main=False)
        _OPEN_RUN.set(_AgentsRun(self))

    @property
    def fetch_tool(self) -> Tool:
        """A tool by which the agent's model fetches back what was removed."""
        definition = build_fetch_tool_definition("openai_responses")

        async def fetch(context: ToolContext[Any], arguments: str) -> str:
            del context
            try:
                wanted = str(decode_json(arguments or "{}", as_type=dict[str, Any]).get("id", ""))
            except (msgspec.DecodeError, RecursionError):
                wanted = ""
            return await self.conversation.aanswer_fetch(wanted)

        return FunctionTool(
            name=FETCH_TOOL_NAME,
            description=definition["description"],
            params_json_schema=definition["parameters"],
            on_invoke_tool=fetch,
        )


class HostForwardingRunHooks(RunHooks[Any]):
    """Hooks of one session, which pass everything on to the host's own."""

    def __init__(self, session: MemoristSession, host_hooks: RunHooks[Any]) -> None:
        self._session = session
        self._host_hooks = host_hooks

    async def on_agent_start(self, context: AgentHookContext[Any], agent: Agent[Any]) -> None:
        """Note an agent of this conversation."""
        self._session.agents[id(agent)] = agent
        await self._host_hooks.on_agent_start(context, agent)

    async def on_llm_end(
        self, context: RunContextWrapper[Any], agent: Agent[Any], response: ModelResponse
    ) -> None:
        """Observe a reply."""
        await self._session.conversation.aencode_and_observe(
            lambda: encode_reply_as_wire_json(response)
        )
        await self._host_hooks.on_llm_end(context, agent, response)

    async def on_agent_end(
        self, context: AgentHookContext[Any], agent: Agent[Any], output: object
    ) -> None:
        """End the turn."""
        self._session.open_tools = 0
        await self._session.conversation.aend_turn()
        await self._host_hooks.on_agent_end(context, agent, output)

    async def on_llm_start(
        self,
        context: RunContextWrapper[Any],
        agent: Agent[Any],
        system_prompt: str | None,
        input_items: list[TResponseInputItem],
    ) -> None:
        """Call the host's hook."""
        await self._host_hooks.on_llm_start(context, agent, system_prompt, input_items)

    async def on_handoff(
        self, context: RunContextWrapper[Any], from_agent: Agent[Any], to_agent: Agent[Any]
    ) -> None:
        """Call the host's hook."""
        await self._host_hooks.on_handoff(context, from_agent, to_agent)

    async def on_tool_start(
        self, context: RunContextWrapper[Any], agent: Agent[Any], tool: Tool
    ) -> None:
        """Note the agent, which a resumed run does not start again."""
        self._session.agents[id(agent)] = agent
        self._session.open_tools += 1
        await self._host_hooks.on_tool_start(context, agent, tool)

    async def on_tool_end(
        self, context: RunContextWrapper[Any], agent: Agent[Any], tool: Tool, result: object
    ) -> None:
        """Note that the tool is done."""
        self._session.open_tools = max(0, self._session.open_tools - 1)
        await self._host_hooks.on_tool_end(context, agent, tool, result)


def _request_body(agent: Agent[Any], config: RunConfig, items: list[Any]) -> JsonObject:
    """The request encoded for memorist.

    Instructions and tools belong to the agent, which a handoff changes; they stay unchanged.
    """
    model = config.model or agent.model
    name = getattr(model, "model", "") if isinstance(model, Model) else model
    body: JsonObject = {"model": str(name or ""), "input": items}
    limit = agent.model_settings.max_tokens
    return {**body, "max_output_tokens": limit} if isinstance(limit, int) else body


def _keep_items(items: Iterable[JsonObject]) -> Iterable[Any]:
    """Return items that memorist added or changed: they are in the SDK's form already."""
    return items


def encode_reply_as_wire_json(response: ModelResponse) -> JsonObject:
    """Encode a reply as the Responses API returns it."""
    usage = response.usage
    details = usage.input_tokens_details
    return {
        "id": response.response_id,
        "output": [to_plain_json(item) for item in response.output],
        "usage": {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "input_tokens_details": {"cached_tokens": details.cached_tokens},
        },
    }
