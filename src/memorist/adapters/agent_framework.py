"""memorist in the Microsoft Agent Framework: a context provider for everything, a compaction strategy for compaction alone.

    Agent(client, tools=tools, context_providers=[MemoristProvider(project=".")])

The provider adds a chat middleware to each run, because `before_run` and `after_run` see only a run's
first and last message. The history that the framework stores is never changed.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Unpack

from agent_framework import (
    EXCLUDED_KEY,
    AgentSession,
    ChatContext,
    ChatMiddleware,
    ChatResponse,
    ContextProvider,
    Message,
    SessionContext,
    SupportsAgentRun,
)
from agent_framework.exceptions import ChatClientException

from memorist.adapters.agent_framework_messages import made, originals_of, reply
from memorist.adapters.attached import Attached, EngineArguments, attach
from memorist.adapters.chat_items import FORMAT
from memorist.adapters.conversation import Conversation
from memorist.adapters.originals import Originals
from memorist.adapters.refusals import says_too_long
from memorist.core.messages import JsonObject

REACHES = frozenset({"notes", "compaction", "recall", "extraction"})
"""Features of memorist that the provider has."""

STRATEGY_REACHES = frozenset({"compaction"})
"""Features of the strategy alone: it sees no reply and no end of a turn."""

_OURS = "_memorist"
"""Marks a message that memorist put into the framework's list."""

_log = logging.getLogger("memorist.adapters")


class MemoristProvider(ContextProvider):
    """Notes, compaction, recall and extraction for an agent.

    Args:
        project: folder that memories and sessions belong to. Without one nothing is remembered across sessions.
        source_id: the provider's id in the framework.
        attached: a shared engine; without it one is opened with the arguments of `Memorist`.
        **engine: the arguments of `Memorist`.
    """

    reaches = REACHES

    def __init__(
        self,
        *,
        project: str | Path = "",
        source_id: str = "memorist",
        attached: Attached | None = None,
        **engine: Unpack[EngineArguments],
    ) -> None:
        super().__init__(source_id)
        self._project = str(project)
        self.attached = attach(attached, engine)
        """The engine. Close it, or leave that to the end of the program."""
        self.session = ""
        """Id of the session that was used last."""

    def conversation(self, session: str) -> Conversation:
        """Return the conversation of one of the framework's sessions."""
        self.session = session
        return self.attached.conversation(session, project=self._project, format=FORMAT)

    async def before_run(self, *, agent: SupportsAgentRun, session: AgentSession, context: SessionContext, state: dict[str, Any]) -> None:
        """Route each model call of this run through memorist."""
        del agent, state
        context.extend_middleware(self.source_id, _Calls(self.conversation(session.session_id)))

    async def after_run(self, *, agent: SupportsAgentRun, session: AgentSession, context: SessionContext, state: dict[str, Any]) -> None:
        """End the turn: the agent is done and waits for the user."""
        del agent, context, state
        await self.conversation(session.session_id).aend_turn()


class _Calls(ChatMiddleware):
    """Wraps each model call within the tool loop."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Send the prepared messages and observe the reply; send once more, smaller, if the
        provider refuses them as too long.
        """
        if (context.options or {}).get("conversation_id"):
            _log.warning("the provider keeps this conversation's history, so memorist cannot work on it; run the agent with store=False")
            await call_next()
            return
        mapped = _Mapped(context)
        context.messages = await self._conversation.aprepare_mapped(mapped.body, mapped.back, context.messages)
        if context.stream:
            context.stream_result_hooks.append(self._observe)
        try:
            await call_next()
        except ChatClientException as error:
            smaller = await self._conversation.arecover_mapped(mapped.back) if says_too_long(error) else None
            if smaller is None:
                raise
            context.messages = smaller
            await call_next()
        if isinstance(context.result, ChatResponse):
            await self._observe(context.result)

    async def _observe(self, response: ChatResponse) -> None:
        if response.messages:
            await self._conversation.aobserve_mapped(lambda: reply(response))


class _Mapped:
    """A request of the framework encoded for memorist, and the way back."""

    def __init__(self, context: ChatContext) -> None:
        self._messages = list(context.messages)
        self._options = context.options or {}
        self._originals: Originals[Message] = Originals()

    def body(self) -> JsonObject:
        """Encode the request without instructions and tools: they stay unchanged, and count through
        the usage that the model reports.
        """
        self._originals = originals_of(self._messages)
        request: JsonObject = {"model": str(self._options.get("model") or ""), "messages": self._originals.items}
        most = self._options.get("max_tokens")
        return {**request, "max_completion_tokens": most} if most else request

    def back(self, sent: JsonObject) -> list[Message]:
        """Return the messages to send."""
        return self._originals.back(sent["messages"], made)


class MemoristCompaction:
    """The framework's `CompactionStrategy`, for an agent that needs compaction only; one for each conversation.

    `agent.run(text, session=session, compaction_strategy=MemoristCompaction(session=session.session_id))`.
    Marks messages as excluded, as the framework's own strategies do, and inserts a summary.

    Args:
        session: id of the conversation; without it one is generated.
        agent_model: name of the agent's model, whose window counts; the framework does not pass it to a
            strategy. Without it, 200,000 tokens.
        attached: as for `MemoristProvider`.
        **engine: the arguments of `Memorist`.
    """

    reaches = STRATEGY_REACHES

    def __init__(
        self, *, session: str = "", agent_model: str = "", attached: Attached | None = None, **engine: Unpack[EngineArguments]
    ) -> None:
        self._model = agent_model
        self.session = session or str(uuid.uuid4())
        self.attached = attach(attached, engine)
        self._conversation = self.attached.conversation(self.session, format=FORMAT)

    async def __call__(self, messages: list[Message]) -> bool:
        """Change the list in place; whether anything was changed.

        The list stays as it is when memorist fails.
        """
        hosts = [message for message in messages if not message.additional_properties.get(_OURS)]
        given: Originals[Message] = Originals()

        def make() -> JsonObject:
            nonlocal given
            given = originals_of(hosts)
            return {"model": self._model, "messages": given.items}

        shown = await self._conversation.aprepare_mapped(make, lambda sent: given.back(sent["messages"], made), hosts)
        return _show(messages, hosts, shown)


def _show(messages: list[Message], hosts: list[Message], shown: list[Message]) -> bool:
    """Update the list to the view: all host messages in order, omitted ones marked, memorist's own
    before what they preceded.
    """
    order = {id(message): index for index, message in enumerate(hosts)}
    kept = {id(message) for message in shown} & order.keys()
    before = _standing(messages, order)
    wanted: list[Message] = []
    at = 0
    for message in shown:
        place = order.get(id(message))
        if place is None:
            message.additional_properties[_OURS] = True
            wanted.append(message)
        else:
            wanted += hosts[at : place + 1]
            at = max(at, place + 1)
    wanted += hosts[at:]
    for message in hosts:
        out = id(message) not in kept
        if out or EXCLUDED_KEY in message.additional_properties:
            message.additional_properties[EXCLUDED_KEY] = out
    messages[:] = wanted
    return before != _standing(messages, order)


def _standing(messages: list[Message], order: Mapping[int, int]) -> list[tuple[object, bool]]:
    """State of the list: the host's messages by identity, memorist's by text, since those are
    rebuilt for each call.
    """
    return [
        (id(message) if id(message) in order else message.text, bool(message.additional_properties.get(EXCLUDED_KEY)))
        for message in messages
    ]
