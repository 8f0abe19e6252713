"""memorist in LangChain and deepagents: a middleware that changes what the model is shown, and
leaves the agent's state alone.

agent = create_agent(model, tools, middleware=[MemoristMiddleware(project=".")], checkpointer=…)
"""

from __future__ import annotations

import hashlib
import logging
import threading
import uuid
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.config import get_config
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import Runtime
from langgraph.types import Command

from memorist.adapters.chat_messages import build_chat_request
from memorist.adapters.engine_thread import (
    EngineArguments,
    EngineThread,
    attach_or_open_engine_thread,
)
from memorist.adapters.host_conversation import HostConversation
from memorist.adapters.langchain_messages import (
    decode_wire_items_to_messages,
    encode_message_as_wire_json,
    encode_reply_as_wire_json,
)
from memorist.adapters.message_map import MessageMap
from memorist.adapters.run_identity import (
    RunValue,
    UserAndProjectResolver,
    evaluate_run_value,
    find_user_id,
    is_in_tool,
    tool_scope,
)
from memorist.adapters.wire_reply import is_too_long_error
from memorist.core.messages import JsonObject
from memorist.engine.fetch_tool import FETCH_TOOL_NAME, build_fetch_tool_definition
from memorist.engine.history_matching import (
    KnownHistory,
    RequestHistory,
    UnnamedConversationFinder,
    hash_conversation_scope,
)
from memorist.errors import WireFormatError
from memorist.ports import HostInfo

MAX_UNTHREADED_RUNS = 10_000
"""Conversations without an id that can be gone on with. Our choice."""


class _UnthreadedRun(NamedTuple):
    """A run without a thread: its session, and the history that it began with."""

    session: str
    known: KnownHistory
    length: int


class UnthreadedRuns:
    """The runs of a host that sends the whole history and no id, told apart by their histories.

    Only what users and the model said counts, as web clients drop tool calls; what users say first
    is anybody's. May be used by several threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: OrderedDict[str, _UnthreadedRun] = OrderedDict()
        self._histories: UnnamedConversationFinder[str] = UnnamedConversationFinder(
            MAX_UNTHREADED_RUNS
        )

    def find_session(self, run: str, user: str, messages: Sequence[BaseMessage]) -> str:
        """Return the session of a run; `run` names it, the same for all of its requests."""
        with self._lock:
            if run not in self._runs:
                self._runs[run] = self._begin(run, _read_history(user, messages))
            if len(self._runs) > MAX_UNTHREADED_RUNS:
                self._runs.popitem(last=False)
            return self._runs[run].session

    def _begin(self, run: str, history: RequestHistory[BaseMessage]) -> _UnthreadedRun:
        if len(history) < 2:
            return _UnthreadedRun(run, history.begin(), len(history))
        match = self._histories.find(history)
        session = run if match is None else match.key
        known = history.begin() if match is None else match.continue_history()
        self._histories.remember(session, known)
        return _UnthreadedRun(session, known, len(history))

    def on_turn_end(self, run: str, user: str, messages: Sequence[BaseMessage]) -> None:
        """Note the history with which a turn ended, if it is of a run without a thread."""
        with self._lock:
            ended = self._runs.get(run)
            if ended is not None:
                reply = _read_history(user, messages).steps(ended.length)
                self._histories.remember(ended.session, ended.known.with_reply(reply))


def _read_history(user: str, messages: Sequence[BaseMessage]) -> RequestHistory[BaseMessage]:
    said = [message for message in messages if _is_said(message)]
    return RequestHistory(said, _describe_message, hash_conversation_scope(user))


def _is_said(message: BaseMessage) -> bool:
    """Whether a client sends a message back as it was: what users and the model said."""
    is_call = bool(getattr(message, "tool_calls", None))
    return isinstance(message, HumanMessage | AIMessage) and bool(message.text) and not is_call


def _describe_message(message: BaseMessage) -> tuple[bool, str]:
    return isinstance(message, HumanMessage), f"{message.type} {message.text}"


FEATURES = frozenset({"notes", "compaction", "recall", "extraction"})
"""Features of memorist that this adapter provides."""

_TOOL_NODE = "tools"
"""The node in which `create_agent` runs its tools."""

_log = logging.getLogger("memorist.adapters")

RunRuntime = Runtime[Any] | ToolRuntime
"""What a function of a run is given: `context`, and in a tool also `config`."""


class MemoristMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Session memory, compaction, recall and extraction for an agent of `create_agent` or
    `create_deep_agent`, sync and async.

    A session is a thread: its `thread_id`; without one, the conversation that starts with the same
    message (its id). An agent within another graph has a session of its own, in which nothing is
    learnt or recalled: what it is asked may be a model's words.

    Args:
        project: root folder of the project, or a function of the runtime; memories belong to it.
            Without one nothing is remembered across sessions.
        user: whose memory it is, or a function of the runtime. Without it the `user_id` of the
            runtime's context or of the configuration; users share nothing.
        session: the id of the session, or a function of the runtime. Without it the thread id;
            without that, a history that continues an earlier one continues its session.
        main: the agent is a node of a graph that passes on a person's words: then its session is
            the thread, as if no graph were around it. Within a tool it stays a nested agent.
        fetch: offer the model a tool that fetches back what was removed.
        attached: an engine shared with other agents; without it one is opened with the arguments of
            `Memorist`.
        **engine: the arguments of `Memorist`.
    """

    features = FEATURES

    def __init__(
        self,
        *,
        project: RunValue[RunRuntime] | Path = "",
        user: RunValue[RunRuntime] | None = None,
        session: RunValue[RunRuntime] = "",
        main: bool = False,
        fetch: bool = False,
        attached: EngineThread | None = None,
        **engine: Unpack[EngineArguments],
    ) -> None:
        super().__init__()
        self.attached = attach_or_open_engine_thread(attached, engine)
        """The engine. Close it, or leave that to the end of the program."""
        self.session = ""
        """Id of the session that was used last."""
        self._identity = UserAndProjectResolver[RunRuntime](user, project, _find_user)
        self._session_value = session
        self._is_main = main
        self._has_warned_of_graph = False
        self._unthreaded_runs = UnthreadedRuns()
        self.tools: Sequence[BaseTool] = [self._build_fetch_tool()] if fetch else []

    def conversation(self, session: str, *, user: str = "", project: str = "") -> HostConversation:
        """Return the conversation of a session by its thread id: for its notes, or to compact it.

        `user` and `project` are needed where they come from the run.
        """
        owner = self._identity.resolve_named(user, project)
        return self.attached.conversation(
            session, user=owner.user, project=owner.project, format="openai_chat"
        )

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Send the prepared request; once more, smaller, if the provider refuses it as too long."""
        talk, mapped = self._request_conversation(request), LangChainRequest(request)
        prepared = talk.encode_prepare_decode(mapped.encode, mapped.decode, request)
        try:
            response = handler(prepared)
        except Exception as error:  # providers differ; other errors are re-raised
            again = (
                talk.shrink_refused_request_and_decode(mapped.decode)
                if is_too_long_error(error)
                else None
            )
            if again is None:
                raise
            response = handler(again)
        talk.encode_and_observe(lambda: encode_reply_as_wire_json(_model_message(response)))
        return response

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """As `wrap_model_call`."""
        talk, mapped = self._request_conversation(request), LangChainRequest(request)
        prepared = await talk.aencode_prepare_decode(mapped.encode, mapped.decode, request)
        try:
            response = await handler(prepared)
        except Exception as error:  # providers differ; other errors are re-raised
            again = (
                await talk.ashrink_refused_request_and_decode(mapped.decode)
                if is_too_long_error(error)
                else None
            )
            if again is None:
                raise
            response = await handler(again)
        await talk.aencode_and_observe(lambda: encode_reply_as_wire_json(_model_message(response)))
        return response

    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        """Run a tool. What it asks another agent are not the person's words."""
        with self._scope_of_tool(request):
            return handler(request)

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """As `wrap_tool_call`."""
        with self._scope_of_tool(request):
            return await handler(request)

    def _scope_of_tool(self, request: ToolCallRequest) -> AbstractContextManager[None]:
        if request.tool_call["name"] == FETCH_TOOL_NAME:  # it belongs to the conversation
            return nullcontext()
        return tool_scope(self.session)

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """End the turn."""
        self._ended_conversation(runtime, state["messages"]).end_turn()

    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """As `after_agent`."""
        await self._ended_conversation(runtime, state["messages"]).aend_turn()

    def _ended_conversation(
        self, runtime: Runtime[Any], messages: Sequence[BaseMessage]
    ) -> HostConversation:
        conversation = self._run_conversation(runtime, messages)
        run = _name_by_first_message(messages)
        self._unthreaded_runs.on_turn_end(run, conversation.name.user, messages)
        return conversation

    def _request_conversation(self, request: ModelRequest[Any]) -> HostConversation:
        return self._run_conversation(
            request.runtime, request.state.get("messages") or request.messages
        )

    def _run_conversation(
        self, runtime: RunRuntime, messages: Sequence[BaseMessage]
    ) -> HostConversation:
        """Return the conversation of a run.

        Without a thread, the first message identifies the run: LangGraph gives each message an id,
        a new one in each run where the host sends plain texts or dicts.
        """
        owner = self._identity.resolve(runtime)
        info = getattr(runtime, "execution_info", None)
        nested = self._is_nested(getattr(info, "checkpoint_ns", None) or "")
        thread = evaluate_run_value(self._session_value, runtime) or getattr(
            info, "thread_id", None
        )
        names = [str(thread)] if thread else []
        first = _name_by_first_message(messages)
        if nested:
            names.append(first)
        elif not names:
            names.append(self._unthreaded_runs.find_session(first, owner.user, messages))
        self.session = "/".join(names)
        return self.attached.conversation(
            self.session,
            user=owner.user,
            project=owner.project,
            format="openai_chat",
            host=HostInfo(main=not nested),
        )

    def _is_nested(self, namespace: str) -> bool:
        """Whether the agent of this checkpoint namespace works for another agent."""
        *outer, _ = (node.partition(":")[0] for node in namespace.split("|"))
        if is_in_tool() or _TOOL_NODE in outer or not outer:
            return is_in_tool() or bool(outer)
        if not (self._is_main or self._has_warned_of_graph):
            self._has_warned_of_graph = True
            _log.warning(
                "this agent is a node of another graph, so memorist learns and recalls nothing in "
                "it; if a person's words reach it, pass main=True to MemoristMiddleware"
            )
        return not self._is_main

    def _build_fetch_tool(self) -> BaseTool:
        def fetch(id: str, runtime: ToolRuntime) -> str:
            return self._run_conversation(runtime, runtime.state["messages"]).answer_fetch(id)

        async def afetch(id: str, runtime: ToolRuntime) -> str:
            return await self._run_conversation(runtime, runtime.state["messages"]).aanswer_fetch(
                id
            )

        description = build_fetch_tool_definition("openai_chat")["function"]["description"]
        return StructuredTool.from_function(
            fetch, afetch, name=FETCH_TOOL_NAME, description=description
        )


def _find_user(runtime: RunRuntime) -> str:
    """The user that a run names in its context or its configuration."""
    try:
        config = getattr(runtime, "config", None) or get_config()
    except RuntimeError:  # outside of a run
        config = {}
    return find_user_id(getattr(runtime, "context", None), config.get("configurable", {}))


def _name_by_first_message(messages: Sequence[BaseMessage]) -> str:
    """A name for a history by the id of its first message, and by its text too where the id is a
    client's own: that may number its messages from 1.
    """
    id = messages[0].id if messages else None
    if not id:
        return uuid.uuid4().hex
    try:
        return str(uuid.UUID(id))
    except ValueError:
        return f"{id}-{hashlib.sha256(repr(messages[0].content).encode()).hexdigest()[:12]}"


class LangChainRequest:
    """A LangChain request encoded for memorist, and the way back."""

    def __init__(self, request: ModelRequest[Any]) -> None:
        self._request = request
        self._message_map: MessageMap[AnyMessage] = MessageMap()

    def encode(self) -> JsonObject:
        """Encode the request as Chat Completions. Instructions and tools are not included also
        because other middleware may change them per call.
        """
        request = self._request
        self._message_map = MessageMap(
            (message, (encode_message_as_wire_json(message),)) for message in request.messages
        )
        limit = request.model_settings.get("max_tokens") or getattr(
            request.model, "max_tokens", None
        )
        return build_chat_request(_model_name(request), self._message_map.wire_items, limit)

    def decode(self, body: JsonObject) -> ModelRequest[Any]:
        """Return the request to send; the same object when nothing was changed."""
        hosts = self._request.messages
        messages = self._message_map.build_host_messages(
            body["messages"], lambda run: decode_wire_items_to_messages(run, hosts)
        )
        if len(messages) == len(hosts) and all(
            one is other for one, other in zip(messages, hosts, strict=True)
        ):
            return self._request
        return self._request.override(messages=messages)


def _model_name(request: ModelRequest[Any]) -> str:
    model = request.model
    return str(getattr(model, "model_name", None) or getattr(model, "model", None) or "")


def _model_message(response: object) -> AIMessage:
    """The model's message in a response, which may also hold a structured answer.

    Raises WireFormatError when there is none.
    """
    result = [response] if isinstance(response, AIMessage) else getattr(response, "result", [])
    for message in result:
        if isinstance(message, AIMessage):
            return message
    raise WireFormatError("a response of LangChain holds a message of the model")
