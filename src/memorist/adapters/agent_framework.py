"""memorist in the Microsoft Agent Framework: a context provider for everything, a compaction
strategy for compaction alone.

    Agent(client, tools=tools, context_providers=[MemoristProvider(project=".")])

The provider adds a chat middleware to each run, because `before_run` and `after_run` see only a
run's first and last message. The history that the framework stores is never changed.
"""

from __future__ import annotations

import copy
import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from agent_framework import (
    EXCLUDED_KEY,
    AgentSession,
    ChatContext,
    ChatMiddleware,
    ChatResponse,
    ContextProvider,
    FunctionInvocationContext,
    FunctionMiddleware,
    HistoryProvider,
    Message,
    SessionContext,
    SupportsAgentRun,
)
from agent_framework.exceptions import ChatClientException

from memorist.adapters.agent_framework_messages import (
    decode_wire_items_to_messages,
    encode_reply_as_wire_json,
    map_messages_to_items,
)
from memorist.adapters.chat_messages import FORMAT, build_chat_request
from memorist.adapters.engine_thread import (
    EngineArguments,
    EngineThread,
    attach_or_open_engine_thread,
)
from memorist.adapters.host_conversation import HostConversation
from memorist.adapters.message_map import MessageMap
from memorist.adapters.run_identity import (
    RunValue,
    UserAndProject,
    UserAndProjectResolver,
    find_user_id,
    give_nested_agent_own_session,
    tool_scope,
)
from memorist.adapters.wire_reply import is_too_long_error
from memorist.core.messages import JsonObject
from memorist.ports import HostInfo

FEATURES = frozenset({"notes", "compaction", "recall", "extraction"})
"""Features of memorist that the provider has."""

STRATEGY_FEATURES = frozenset({"compaction"})
"""Features of the strategy alone: it sees no reply and no end of a turn."""

_OWN_MARK = "_memorist"
"""Marks a message that memorist put into the framework's list."""

_UNNAMED = "UnnamedAgent"
"""The framework's name for an agent without one."""

_log = logging.getLogger("memorist.adapters")


class MemoristProvider(ContextProvider):
    """Notes, compaction, recall and extraction for an agent.

    Args:
        project: folder that memories and sessions belong to, or a function of the `AgentSession`.
            Without one nothing is remembered across sessions.
        user: whose memory it is, or a function of the `AgentSession`. Without it the `user_id` in
            the session's state; users share nothing.
        source_id: the provider's id in the framework.
        attached: a shared engine; without it one is opened with the arguments of `Memorist`.
        **engine: the arguments of `Memorist`.
    """

    features = FEATURES

    def __init__(
        self,
        *,
        project: RunValue[AgentSession] | Path = "",
        user: RunValue[AgentSession] | None = None,
        source_id: str = "memorist",
        attached: EngineThread | None = None,
        **engine: Unpack[EngineArguments],
    ) -> None:
        super().__init__(source_id)
        self._identity = UserAndProjectResolver[AgentSession](user, project, _find_user)
        self.attached = attach_or_open_engine_thread(attached, engine)
        """The engine. Close it, or leave that to the end of the program."""
        self.session = ""
        """Id of the session that was used last."""

    def conversation(self, session: str, *, user: str = "", project: str = "") -> HostConversation:
        """Return the conversation of one of the framework's sessions.

        `user` and `project` are needed where they come from the run.
        """
        return self._open_conversation(session, self._identity.resolve_named(user, project))

    def _run_conversation(self, agent: SupportsAgentRun, session: AgentSession) -> HostConversation:
        id, host = give_nested_agent_own_session(session.session_id, _agent_name(agent))
        return self._open_conversation(id, self._identity.resolve(session), host)

    def _open_conversation(
        self, session: str, owner: UserAndProject, host: HostInfo | None = None
    ) -> HostConversation:
        self.session = session
        return self.attached.conversation(
            session, user=owner.user, project=owner.project, format=FORMAT, host=host
        )

    async def before_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        """Route each model call of this run through memorist."""
        del state
        conversation = self._run_conversation(agent, session)
        context.extend_middleware(
            self.source_id,
            [_MemoristChatMiddleware(conversation, agent), _ToolScopeMiddleware(conversation.id)],
        )

    async def after_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        """End the turn: the agent is done and waits for the user."""
        del context, state
        await self._run_conversation(agent, session).aend_turn()


def _find_user(session: AgentSession) -> str:
    return find_user_id(session.state)


def _agent_name(agent: SupportsAgentRun) -> str:
    return str(getattr(agent, "name", None) or _UNNAMED)


class _ToolScopeMiddleware(FunctionMiddleware):
    """Wraps each tool call: what it asks another agent are not the person's words."""

    def __init__(self, session: str) -> None:
        self._session = session

    async def process(
        self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]
    ) -> None:
        """Run the tool."""
        del context
        with tool_scope(self._session):
            await call_next()


class _MemoristChatMiddleware(ChatMiddleware):
    """Wraps each model call within the tool loop."""

    def __init__(self, conversation: HostConversation, agent: SupportsAgentRun) -> None:
        self._conversation = conversation
        self._agent = agent

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Send the prepared messages and observe the reply; send once more, smaller, if the
        provider refuses them as too long.
        """
        if (context.options or {}).get("conversation_id"):
            _log.warning(
                "the provider keeps this conversation's history, so memorist cannot work on "
                "it; run the agent with store=False"
            )
            await call_next()
            return
        mapped = _FrameworkRequest(context, self._agent)
        context.messages = await self._conversation.aencode_prepare_decode(
            mapped.encode, mapped.decode, context.messages
        )
        if context.stream:
            context.stream_result_hooks.append(self._observe)
        try:
            await call_next()
        except ChatClientException as error:
            smaller = (
                await self._conversation.ashrink_refused_request_and_decode(mapped.decode)
                if is_too_long_error(error)
                else None
            )
            if smaller is None:
                raise
            context.messages = smaller
            await call_next()
        if isinstance(context.result, ChatResponse):
            await self._observe(context.result)

    async def _observe(self, response: ChatResponse) -> None:
        if response.messages:
            await self._conversation.aencode_and_observe(
                lambda: encode_reply_as_wire_json(response)
            )


def _remove_own_name(messages: Sequence[Message], author: str) -> list[Message]:
    """Return the messages with the agent's own ones as they were first sent: without its name,
    which the framework adds when the run is over. It would cost the provider's cache from there on.
    """
    return [
        _copy_unnamed(message)
        if message.role == "assistant" and message.author_name == author
        else message
        for message in messages
    ]


def _copy_unnamed(message: Message) -> Message:
    unnamed = copy.copy(message)
    unnamed.author_name = None
    return unnamed


class _FrameworkRequest:
    """A request of the framework encoded for memorist, and the way back."""

    def __init__(self, context: ChatContext, agent: SupportsAgentRun) -> None:
        self._messages = list(context.messages)
        self._agent = agent
        self._options = context.options or {}
        self._message_map: MessageMap[Message] = MessageMap()

    def encode(self) -> JsonObject:
        """Encode the request."""
        providers = getattr(self._agent, "context_providers", ())
        sources = {each.source_id for each in providers if isinstance(each, HistoryProvider)}
        self._message_map = map_messages_to_items(self._messages, sources)
        model, limit = str(self._options.get("model") or ""), self._options.get("max_tokens")
        return build_chat_request(model, self._message_map.wire_items, limit)

    def decode(self, sent: JsonObject) -> list[Message]:
        """Return the messages to send."""
        shown = self._message_map.build_host_messages(
            sent["messages"], decode_wire_items_to_messages
        )
        return _remove_own_name(shown, _agent_name(self._agent))


class MemoristCompaction:
    """The framework's `CompactionStrategy`, for an agent that needs compaction only; one for each
    conversation.

    `agent.run(text, session=session,
    compaction_strategy=MemoristCompaction(session=session.session_id))`. Marks messages as
    excluded, as the framework's own strategies do, and inserts a summary.

    Args:
        session: id of the conversation; without it one is generated.
        agent_model: name of the agent's model, whose window counts; the framework does not pass it
            to a strategy. Without it, 200,000 tokens.
        attached: as for `MemoristProvider`.
        **engine: the arguments of `Memorist`.
    """

    features = STRATEGY_FEATURES

    def __init__(
        self,
        *,
        session: str = "",
        agent_model: str = "",
        attached: EngineThread | None = None,
        **engine: Unpack[EngineArguments],
    ) -> None:
        self._model = agent_model
        self.session = session or str(uuid.uuid4())
        self.attached = attach_or_open_engine_thread(attached, engine)
        self._conversation = self.attached.conversation(self.session, format=FORMAT)

    async def __call__(self, messages: list[Message]) -> bool:
        """Change the list in place; whether anything was changed.

        The list stays as it is when memorist fails.
        """
        hosts = [
            message for message in messages if not message.additional_properties.get(_OWN_MARK)
        ]
        given: MessageMap[Message] = MessageMap()

        def make() -> JsonObject:
            nonlocal given
            given = map_messages_to_items(hosts)
            return build_chat_request(self._model, given.wire_items)

        shown = await self._conversation.aencode_prepare_decode(
            make,
            lambda sent: given.build_host_messages(sent["messages"], decode_wire_items_to_messages),
            hosts,
        )
        return _apply_view(messages, hosts, shown)


def _apply_view(messages: list[Message], hosts: list[Message], shown: list[Message]) -> bool:
    """Update the list to the view: all host messages in order, omitted ones marked, memorist's own
    before what they preceded.
    """
    order = {id(message): index for index, message in enumerate(hosts)}
    kept = {id(message) for message in shown} & order.keys()
    before = _list_state(messages, order)
    wanted: list[Message] = []
    at = 0
    for message in shown:
        position = order.get(id(message))
        if position is None:
            message.additional_properties[_OWN_MARK] = True
            wanted.append(message)
        else:
            wanted += hosts[at : position + 1]
            at = max(at, position + 1)
    wanted += hosts[at:]
    for message in hosts:
        out = id(message) not in kept
        if out or EXCLUDED_KEY in message.additional_properties:
            message.additional_properties[EXCLUDED_KEY] = out
    messages[:] = wanted
    return before != _list_state(messages, order)


def _list_state(messages: list[Message], order: Mapping[int, int]) -> list[tuple[object, bool]]:
    """State of the list: the host's messages by identity, memorist's by text, since those are
    rebuilt for each call.
    """
    return [
        (
            id(message) if id(message) in order else message.text,
            bool(message.additional_properties.get(EXCLUDED_KEY)),
        )
        for message in messages
    ]
