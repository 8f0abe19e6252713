"""memorist in LangChain and deepagents: a middleware that changes what the model is shown, and leaves the agent's state alone.

agent = create_agent(model, tools, middleware=[MemoristMiddleware(project=".")], checkpointer=…)
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Unpack

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.runtime import Runtime

from memorist.adapters.attached import Attached, EngineArguments, attach
from memorist.adapters.conversation import Conversation
from memorist.adapters.langchain_messages import item_of, messages_of, reply_of
from memorist.adapters.originals import Originals
from memorist.adapters.refusals import says_too_long
from memorist.core.messages import JsonObject
from memorist.engine.fetching import FETCH_NAME, fetch_tool
from memorist.errors import FormatError
from memorist.session_memory.trigger import Host

REACHES = frozenset({"notes", "compaction", "recall", "extraction"})
"""What the hooks of the host let memorist do."""


class MemoristMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Session memory, compaction, recall and extraction for an agent of `create_agent` or `create_deep_agent`, sync and async.

    A session is a thread: its `thread_id`; without one, the messages that begin alike (their first message's id). An agent within an agent has
    a session of its own.

    Args:
        project: root folder of the project; memories belong to it. Without one nothing is remembered from session to session.
        fetch: offer the model a tool that fetches back what was taken out.
        attached: an engine to share with other agents; without it the arguments of `Memorist` make one.
    """

    reaches = REACHES

    def __init__(
        self, *, project: str | Path = "", fetch: bool = False, attached: Attached | None = None, **engine: Unpack[EngineArguments]
    ) -> None:
        super().__init__()
        self.attached = attach(attached, engine)
        """The engine; close it, or leave that to the end of the program."""
        self.session = ""
        """Id of the session that was in use last."""
        self._project = str(project)
        self.tools: Sequence[BaseTool] = [self._fetch_tool()] if fetch else []

    def conversation(self, session: str) -> Conversation:
        """The conversation of a session, by its thread's id: for its notes, or to compact it."""
        return self.attached.conversation(session, project=self._project, format="openai_chat")

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]) -> ModelResponse[Any]:
        """Send what memorist prepared; once more, smaller, where the provider refuses it as too long."""
        talk, mapped = self._of(request), Mapped(request)
        prepared = talk.prepare_mapped(mapped.body, mapped.back, request)
        try:
            response = handler(prepared)
        except Exception as error:  # each provider has its own kinds; what does not say "too long" goes on as it came
            again = talk.recover_mapped(mapped.back) if says_too_long(error) else None
            if again is None:
                raise
            response = handler(again)
        talk.observe_mapped(lambda: reply_of(_reply(response)))
        return response

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """As `wrap_model_call`."""
        talk, mapped = self._of(request), Mapped(request)
        prepared = await talk.aprepare_mapped(mapped.body, mapped.back, request)
        try:
            response = await handler(prepared)
        except Exception as error:  # each provider has its own kinds; what does not say "too long" goes on as it came
            again = await talk.arecover_mapped(mapped.back) if says_too_long(error) else None
            if again is None:
                raise
            response = await handler(again)
        await talk.aobserve_mapped(lambda: reply_of(_reply(response)))
        return response

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """The turn is over."""
        self._talk(runtime, state["messages"]).end_turn()

    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """As `after_agent`."""
        await self._talk(runtime, state["messages"]).aend_turn()

    def _of(self, request: ModelRequest[Any]) -> Conversation:
        return self._talk(request.runtime, request.state.get("messages") or request.messages)

    def _talk(self, runtime: Runtime[Any] | ToolRuntime | None, messages: Sequence[BaseMessage]) -> Conversation:
        """The conversation of a run. The state's messages tell one that has no thread: LangGraph gives each an id that stays."""
        info = getattr(runtime, "execution_info", None)
        thread, place = getattr(info, "thread_id", None), getattr(info, "checkpoint_ns", None) or ""
        nested = "|" in place
        names = [str(thread)] if thread else []
        if nested or not names:
            names.append((messages[0].id if messages else None) or uuid.uuid4().hex)
        self.session = "/".join(names)
        return self.attached.conversation(self.session, project=self._project, format="openai_chat", host=Host(main=not nested))

    def _fetch_tool(self) -> BaseTool:
        def fetch(id: str, runtime: ToolRuntime) -> str:
            return self._talk(runtime, runtime.state["messages"]).fetched(id)

        async def afetch(id: str, runtime: ToolRuntime) -> str:
            return await self._talk(runtime, runtime.state["messages"]).afetched(id)

        description = fetch_tool("openai_chat")["function"]["description"]
        return StructuredTool.from_function(fetch, afetch, name=FETCH_NAME, description=description)


class Mapped:
    """One request of LangChain as memorist sees it, and the way back."""

    def __init__(self, request: ModelRequest[Any]) -> None:
        self._request = request
        self._originals: Originals[AnyMessage] = Originals()

    def body(self) -> JsonObject:
        """The request in Chat Completions. The instructions and tools are not part of it: they stay as they are, and other middlewares may change them
        from call to call. They count all the same, by the usage that the model reports.
        """
        request = self._request
        self._originals = Originals((message, (item_of(message),)) for message in request.messages)
        body: JsonObject = {"model": _name(request), "messages": self._originals.items}
        limit = request.model_settings.get("max_tokens") or getattr(request.model, "max_tokens", None)
        return {**body, "max_completion_tokens": limit} if isinstance(limit, int) else body

    def back(self, body: JsonObject) -> ModelRequest[Any]:
        """The request to send; the very same one where nothing was changed."""
        hosts = self._request.messages
        messages = self._originals.back(body["messages"], lambda run: messages_of(run, hosts))
        if len(messages) == len(hosts) and all(one is other for one, other in zip(messages, hosts, strict=True)):
            return self._request
        return self._request.override(messages=messages)


def _name(request: ModelRequest[Any]) -> str:
    model = request.model
    return str(getattr(model, "model_name", None) or getattr(model, "model", None) or "")


def _reply(response: object) -> AIMessage:
    """The model's own message of a response; beside it may stand what LangChain made of a structured answer. Raises FormatError where there is none."""
    result = [response] if isinstance(response, AIMessage) else getattr(response, "result", [])
    for message in result:
        if isinstance(message, AIMessage):
            return message
    raise FormatError("a response of LangChain holds a message of the model")
