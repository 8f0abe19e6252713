"""memorist in the Microsoft Agent Framework: a context provider for the whole, a compaction strategy for compaction alone.

    Agent(client, tools=tools, context_providers=[MemoristProvider(project=".")])

The provider adds a chat middleware to each run, because `before_run` and `after_run` see a run's first and last message only. The history that the framework
keeps is never changed.
"""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

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

from memorist.adapters.agent_framework_messages import made, originals_of, reply, tools_of
from memorist.adapters.attached import Attached
from memorist.adapters.chat_items import FORMAT
from memorist.adapters.conversation import Conversation
from memorist.core.messages import JsonObject
from memorist.ports import Model
from memorist.settings import Settings

REACHES = frozenset({"notes", "compaction", "recall", "extraction"})
"""What the provider does in this host."""

STRATEGY_REACHES = frozenset({"notes", "compaction"})
"""What the strategy does alone: it is never told of a turn's end."""

_OURS = "_memorist"
"""Our mark on a message that memorist put into the framework's list."""

_log = logging.getLogger("memorist.adapters")


class MemoristProvider(ContextProvider):
    """Notes, compaction, recall and extraction for an agent.

    Args:
        project: folder that memories and sessions belong to.
        home, model, settings: those of `Memorist`.
        attached: an engine to share.
        source_id: the provider's id in the framework.
    """

    reaches = REACHES

    def __init__(
        self,
        *,
        project: str = "",
        home: str | os.PathLike[str] | None = None,
        model: str | Model | None = None,
        settings: Settings | None = None,
        attached: Attached | None = None,
        source_id: str = "memorist",
    ) -> None:
        super().__init__(source_id)
        self._project = os.path.realpath(project) if project else ""
        self.attached = attached or Attached(home=home, model=model, settings=settings)

    def conversation(self, session: str) -> Conversation:
        """The conversation of one of the framework's sessions."""
        return self.attached.conversation(session, project=self._project, format=FORMAT)

    async def before_run(self, *, agent: SupportsAgentRun, session: AgentSession, context: SessionContext, state: dict[str, Any]) -> None:
        """Have each call of the model in this run go through memorist."""
        del agent, state
        context.extend_middleware(self.source_id, _Calls(self.conversation(session.session_id)))

    async def after_run(self, *, agent: SupportsAgentRun, session: AgentSession, context: SessionContext, state: dict[str, Any]) -> None:
        """The agent is done, and the user is asked again."""
        del agent, context, state
        await self.conversation(session.session_id).aend_turn()

    def close(self) -> None:
        """Close the engine. Not needed at the end of a process."""
        self.attached.close()


class _Calls(ChatMiddleware):
    """Each call of a model, within the loop of tool calls."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Send what `prepare` gives, and take the reply."""
        if (context.options or {}).get("conversation_id"):
            _log.warning("the provider keeps this conversation's history, so memorist cannot work on it; run the agent with store=False")
            await call_next()
            return
        try:
            await self._prepare(context)
        except Exception:
            # Whatever a later version puts into its messages, the agent goes on with its own.
            _log.warning("memorist could not read a request of the Agent Framework, which goes out as it is", exc_info=True)
        if context.stream:
            context.stream_result_hooks.append(self._observe)
        await call_next()
        if isinstance(context.result, ChatResponse):
            await self._observe(context.result)

    async def _prepare(self, context: ChatContext) -> None:
        options = context.options or {}
        given = originals_of(context.messages)
        instructions = options.get("instructions")
        head = [{"role": "system", "content": str(instructions)}] if instructions else []
        request: JsonObject = {"model": str(options.get("model") or ""), "messages": [*head, *given.items]}
        tools = tools_of(options)
        if tools:
            request["tools"] = tools
        if options.get("max_tokens"):
            request["max_completion_tokens"] = options["max_tokens"]
        sent = await self._conversation.aprepare(request)
        if sent is not request:
            context.messages = given.back(sent["messages"][len(head) :], made)

    async def _observe(self, response: ChatResponse) -> None:
        try:
            said = reply(response)
            if said is not None:
                await self._conversation.aobserve(said)
        except Exception:
            # As in `process`.
            _log.warning("memorist could not read a reply of the Agent Framework", exc_info=True)


class MemoristCompaction:
    """The framework's `CompactionStrategy`, for an agent that shall have compaction and nothing else; one for each conversation.

    `agent.run(text, session=session, compaction_strategy=MemoristCompaction(session=session.session_id))`. Marks messages as excluded, as the framework's
    own strategies do, and puts a summary among them.

    Args:
        session: id of the conversation; without it one is made.
        home, model, settings, attached: as in `MemoristProvider`.
    """

    reaches = STRATEGY_REACHES

    def __init__(
        self,
        *,
        session: str = "",
        home: str | os.PathLike[str] | None = None,
        model: str | Model | None = None,
        settings: Settings | None = None,
        attached: Attached | None = None,
    ) -> None:
        self.session = session or str(uuid.uuid4())
        self.attached = attached or Attached(home=home, model=model, settings=settings)
        self._conversation = self.attached.conversation(self.session, format=FORMAT)

    async def __call__(self, messages: list[Message]) -> bool:
        """Change the list in place; whether anything was changed. The list as it is where memorist fails."""
        try:
            hosts = [message for message in messages if not message.additional_properties.get(_OURS)]
            given = originals_of(hosts)
            request: JsonObject = {"model": "", "messages": given.items}
            sent = await self._conversation.aprepare(request)
            shown = hosts if sent is request else given.back(sent["messages"], made)
            return _show(messages, hosts, shown)
        except Exception:
            # As in `_Calls.process`.
            _log.warning("memorist could not read the messages of the Agent Framework, which stay as they are", exc_info=True)
            return False


def _show(messages: list[Message], hosts: list[Message], shown: list[Message]) -> bool:
    """Bring the list to what is shown: all of the host's messages in their order, those left out marked, ours before what they stood before."""
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
    """What stands in the list: the host's messages by identity, ours by their words, since those are made anew for each call."""
    return [
        (id(message) if id(message) in order else message.text, bool(message.additional_properties.get(EXCLUDED_KEY))) for message in messages
    ]
