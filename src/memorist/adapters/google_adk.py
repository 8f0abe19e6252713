"""memorist in Google's Agent Development Kit: a plugin for the loop, a memory service, an event
summarizer.

    App(name="shop", root_agent=agent, plugins=[MemoristPlugin(project=".")])

What ADK keeps in its sessions is never changed; the model is shown what `prepare` returns.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack
from urllib.parse import quote

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.apps.base_events_summarizer import BaseEventsSummarizer
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions, EventCompaction
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.sessions.session import Session
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from msgspec import Struct, field

from memorist.adapters.chat_messages import FORMAT, build_chat_request, extract_content_text
from memorist.adapters.engine_thread import (
    EngineArguments,
    EngineThread,
    attach_or_open_engine_thread,
)
from memorist.adapters.google_adk_messages import AdkContentMap
from memorist.adapters.host_conversation import EngineFailure, HostConversation
from memorist.adapters.run_identity import UserAndProject, enter_tool, give_nested_agent_own_session
from memorist.adapters.wire_reply import is_too_long_error
from memorist.compaction.compaction_result import CompactionStrategy
from memorist.core.bounded_collections import BoundedDict
from memorist.core.messages import JsonObject
from memorist.errors import MemoristError
from memorist.ports import HostInfo
from memorist.recall.memory_search import open_memory_search
from memorist.recall.reachable_memory import ReachableMemory
from memorist.store.home_layout import make_folder_name

FEATURES = frozenset({"notes", "compaction", "recall", "extraction"})
"""Features of memorist that this adapter provides."""

_MAX_RESULTS = 10
"""Memories that one search returns at most. Our choice: ADK puts all of them into the prompt."""

_MAX_OPEN_RUNS = 1_000
"""Runs whose end is awaited. Our choice: ADK does not report the end of a run that was cancelled,
which is dropped by this bound.
"""

_log = logging.getLogger("memorist.adapters")


class _OpenRun(Struct):
    """A running invocation."""

    requests: dict[str, AdkContentMap] = field(default_factory=dict)
    """The request that each agent awaits a reply for, by the agent's name."""
    conversations: set[HostConversation] = field(default_factory=set)
    """Conversations whose turn has not ended."""


AdkUser = str | Callable[[str, str], str]
"""A user, or a function that finds it for ADK's names of an app and its user."""


def resolve_adk_user_and_project(
    user: AdkUser | None, project: str | Path | None, app: str, name: str
) -> UserAndProject:
    """Whose memory ADK's user `name` of `app` has: by default one for each user of each app.

    A project that is not given is the app's own, a path that does not exist on disk. What the
    function `user` raises reaches ADK; where it finds nobody, nothing is remembered across
    sessions.
    """
    root = f"/adk-apps/{make_folder_name(app)}" if project is None else str(project)
    if user is None:
        return UserAndProject(f"{quote(name, safe='')}@{quote(app, safe='')}", root)
    if isinstance(user, str):
        return UserAndProject(user, root)
    found = user(app, name)
    return UserAndProject(found, root) if found else UserAndProject("", "")


class MemoristPlugin(BasePlugin):
    """Notes, compaction, recall and extraction for every agent of an app or runner.

    Args:
        project: folder that memories and sessions belong to; without it they belong to the app.
        user: whose memory it is: a text, or a function of ADK's names of app and user; by default
            each user of each app has memories of their own. Empty: the home's own memory, which all
            users share with other agents on this machine.
        name: the plugin's name in ADK.
        attached: a shared engine, which is not closed with the plugin; without it one is opened
            with the arguments of `Memorist`.
        **engine: the arguments of `Memorist`.
    """

    features = FEATURES

    def __init__(
        self,
        *,
        project: str | Path | None = None,
        user: AdkUser | None = None,
        name: str = "memorist",
        attached: EngineThread | None = None,
        **engine: Unpack[EngineArguments],
    ) -> None:
        super().__init__(name=name)
        self._project = project
        self._user = user
        self._engine = engine
        self._owns = attached is None
        self._is_closed = False
        self.attached = attach_or_open_engine_thread(attached, engine)
        """The engine."""
        self.session = ""
        """Id of the conversation that was used last."""
        self._runs: dict[str, _OpenRun] = BoundedDict(_MAX_OPEN_RUNS)
        """By the id of the invocation, the oldest first."""

    def conversation(self, *, app: str, user: str, session: str, agent: str) -> HostConversation:
        """Return the conversation of one agent in one of ADK's sessions."""
        self.session, host = give_nested_agent_own_session(f"{session}/{agent}", agent)
        owner = resolve_adk_user_and_project(self._user, self._project, app, user)
        return self.attached.conversation(
            self.session, user=owner.user, project=owner.project, format=FORMAT, host=host
        )

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Open the engine again after a runner closed the plugin, which other runners share."""
        del invocation_context
        if self._is_closed:
            self._is_closed = False
            try:
                self.attached = EngineThread(**self._engine)
            except (MemoristError, OSError) as error:
                _log.warning("memorist could not be opened again: %s", error)

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> None:
        """Note the tool: what it asks another agent are not the person's words. ADK runs it with a
        copy of this context.
        """
        del tool, tool_args
        enter_tool(self._conversation(tool_context).id)

    def _open_run(self, id: str) -> _OpenRun:
        if id not in self._runs:
            self._runs[id] = _OpenRun()
        return self._runs[id]

    def _conversation(self, context: CallbackContext) -> HostConversation:
        session = context.session
        return self.conversation(
            app=session.app_name, user=session.user_id, session=session.id, agent=context.agent_name
        )

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> None:
        """Replace the contents by the prepared ones. Never answers in place of the model."""
        conversation = self._conversation(callback_context)
        run, agent = self._open_run(callback_context.invocation_id), callback_context.agent_name
        run.conversations.add(conversation)

        def make() -> JsonObject:
            typed = _find_typed_texts(callback_context.session)
            contents = run.requests[agent] = AdkContentMap(llm_request.contents, typed)
            limit = llm_request.config.max_output_tokens
            return build_chat_request(
                llm_request.model or "", contents.message_map.wire_items, limit
            )

        def back(sent: JsonObject) -> list[types.Content]:
            return run.requests[agent].decode(sent["messages"])

        llm_request.contents = await conversation.aencode_prepare_decode(
            make, back, llm_request.contents
        )

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> None:
        """Observe the reply. Parts of a stream are skipped; the whole reply follows them."""
        run = self._open_run(callback_context.invocation_id)
        contents = run.requests.get(callback_context.agent_name)
        if (
            contents is not None
            and not llm_response.partial
            and llm_response.content is not None
            and llm_response.content.parts
        ):
            await self._conversation(callback_context).aencode_and_observe(
                lambda: contents.encode_reply(llm_response)
            )

    async def on_model_error_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest, error: Exception
    ) -> None:
        """After a refusal as too long, make the next request smaller.

        ADK reports the error itself.
        """
        del llm_request
        if is_too_long_error(error):
            await self._conversation(callback_context).ashrink_refused_request()

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """End the turn: the agents are done and wait for the user."""
        run = self._runs.pop(invocation_context.invocation_id, _OpenRun())
        for conversation in run.conversations:
            await conversation.aend_turn()

    async def on_run_error_callback(
        self, *, invocation_context: InvocationContext, error: Exception
    ) -> None:
        """Forget a run that broke off. Its turn has no end."""
        del error
        self._runs.pop(invocation_context.invocation_id, None)

    async def close(self) -> None:
        """Close the engine, unless it is shared. The next run opens it again."""
        if self._owns:
            self._is_closed = True
            await asyncio.to_thread(self.attached.close)


def _find_typed_texts(session: Session) -> set[str]:
    """What the user of a session said, who is its author there."""
    said = [event.content for event in session.events if event.author == "user"]
    return {
        part.text.strip()
        for content in said
        for part in (content.parts or () if content is not None else ())
        if part.text is not None
    }


class MemoristMemory(BaseMemoryService):
    """ADK's memory service over memorist's memories.

    `search_memory` finds them, `add_session_to_memory` extracts them from a session. Takes the
    arguments of `MemoristPlugin`. With the plugin active `add_session_to_memory` is not needed: it
    extracts at the end of each turn.
    """

    def __init__(
        self,
        *,
        project: str | Path | None = None,
        user: AdkUser | None = None,
        attached: EngineThread | None = None,
        **engine: Unpack[EngineArguments],
    ) -> None:
        self._project = project
        self._user = user
        self.attached = attach_or_open_engine_thread(attached, engine)

    async def add_session_to_memory(self, session: Session) -> None:
        """Take a whole session and extract what is worth keeping.

        The same session may be added again as it grows.
        """
        await self._add_contents(session.app_name, session.user_id, session.id, session.events)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Take these events as a conversation of their own."""
        del custom_metadata
        name = session_id or (events[0].invocation_id if events else "")
        await self._add_contents(
            app_name, user_id, f"{name}/{events[0].id}" if events else name, events
        )

    async def _add_contents(self, app: str, user: str, id: str, events: Sequence[Event]) -> None:
        given = AdkContentMap(
            [event.content for event in events if event.content is not None and not event.partial]
        )
        if not given.message_map.wire_items:
            return
        owner = resolve_adk_user_and_project(self._user, self._project, app, user)
        conversation = self.attached.conversation(
            f"{id}/memory", user=owner.user, project=owner.project, format=FORMAT
        )
        await conversation.aprepare(build_chat_request("", given.message_map.wire_items))
        await conversation.aend_turn()
        await conversation.aclose()

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """Return the memories that are relevant to the query, best first; none when memorist
        fails.
        """
        owner = resolve_adk_user_and_project(self._user, self._project, app_name, user_id)
        if not owner.project:
            return SearchMemoryResponse(memories=[])
        entries = await self.attached.arun_or_return_failure(lambda: self._search(owner, query))
        if isinstance(entries, EngineFailure):
            _log.warning("memorist could not search its memories: %s", entries.error)
            entries = []
        return SearchMemoryResponse(memories=entries)

    async def _search(self, owner: UserAndProject, query: str) -> list[MemoryEntry]:
        engine = await self.attached.open_engine(owner.user)
        memory = engine.memory(owner.project)
        reachable = ReachableMemory(memory)
        search = open_memory_search(memory, engine.settings.recall)
        try:
            matches = search.search(query, _MAX_RESULTS)
        finally:
            search.close()
        active = {path for path, head in reachable.headers().items() if head.status == "active"}
        entries = []
        for match in matches:
            topic, doubts = reachable.read_memory_with_suspicions(match.path)
            if not doubts and match.path in active:
                content = types.Content(role="user", parts=[types.Part(text=topic.body)])
                entries.append(
                    MemoryEntry(
                        id=match.path,
                        content=content,
                        author="memorist",
                        custom_metadata={"description": topic.description},
                    )
                )
        return entries


class MemoristSummarizer(BaseEventsSummarizer):
    """The summarizer for ADK's own compaction:
    `EventsCompactionConfig(summarizer=MemoristSummarizer(), …)`.

    Needed only where ADK should compact the sessions that it stores; the plugin compacts requests
    by itself. Takes the arguments of the plugin except its name and the user; `project` only
    decides where its files are.
    """

    def __init__(
        self,
        *,
        project: str | Path = "",
        attached: EngineThread | None = None,
        **engine: Unpack[EngineArguments],
    ) -> None:
        self._project = str(project)
        self.attached = attach_or_open_engine_thread(attached, engine)

    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        """Return one event in place of these; None, and ADK keeps all of them, when nothing was
        compacted.
        """
        given = AdkContentMap([event.content for event in events if event.content is not None])
        items = given.message_map.wire_items
        if not items:
            return None
        # ADK does not say whose events they are, so nothing of them is learnt or recalled.
        conversation = self.attached.conversation(
            f"adk-events-{events[0].id}-{events[-1].id}",
            project=self._project,
            format=FORMAT,
            host=HostInfo(main=False),
        )
        try:
            sent = await _compact_request(conversation, build_chat_request("", items))
        except (MemoristError, OSError) as error:
            _log.warning("memorist could not summarise events: %s", error)
            return None
        finally:
            await conversation.aclose()
        if sent == items:
            return None
        said = [
            f"{item['role']}: {extract_content_text(item.get('content'))}"
            for item in sent
            if item.get("content")
        ]
        content = types.Content(role="model", parts=[types.Part(text="\n\n".join(said))])
        span = EventCompaction(
            start_timestamp=events[0].timestamp,
            end_timestamp=events[-1].timestamp,
            compacted_content=content,
        )
        return Event(
            author="user", actions=EventActions(compaction=span), invocation_id=Event.new_id()
        )


async def _compact_request(conversation: HostConversation, request: JsonObject) -> list[JsonObject]:
    """The items of the request, compacted by a model where there is one, else by rules."""
    items: list[JsonObject] = request["messages"]
    sent: list[JsonObject] = (await conversation.aprepare(request))["messages"]
    strategies: tuple[CompactionStrategy, ...] = ("full", "structural")
    for strategy in strategies:
        if sent != items:
            break
        if (await conversation.acompact(strategy=strategy)).result is not None:
            sent = (await conversation.aprepare(request))["messages"]
    return sent
