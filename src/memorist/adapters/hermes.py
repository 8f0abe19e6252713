"""memorist in Hermes Agent: a memory provider and a context engine, which share one conversation.

Hermes loads both from a folder in its home (docs/plugs/hermes.md), whose `__init__.py` is one line:
the import of `register`, or

    register = plugin(project="/srv/shop")

Hermes keeps its own history and replaces it by what the context engine returns; the provider sees
it at the end of each turn.
"""

from __future__ import annotations

import copy
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Unpack

import msgspec
from agent.context_engine import ContextEngine
from agent.memory_provider import MemoryProvider

from memorist.adapters.chat_messages import FORMAT, build_chat_completion
from memorist.adapters.engine_thread import EngineArguments, EngineThread
from memorist.adapters.hermes_state import (
    HermesPluginState,
    encode_message_as_wire_json,
    list_texts_added_to_request,
)
from memorist.adapters.host_conversation import HostConversation
from memorist.adapters.message_map import MessageMap
from memorist.compaction.compaction_thresholds import compute_request_thresholds
from memorist.core.messages import JsonObject
from memorist.core.tool_pairs import holds_same_objects
from memorist.engine.fetch_tool import FETCH_TOOL_NAME, build_fetch_tool_definition
from memorist.errors import MemoristError

FEATURES = frozenset({"notes", "compaction", "recall", "extraction"})
"""Features of memorist that both provide together."""

_log = logging.getLogger("memorist.adapters")

_ENGINE_SHARE = 0.75
"""Share of the context length that Hermes never exceeds; the default of
`ContextEngine.threshold_percent`.
"""


class MemoristMemoryProvider(MemoryProvider):
    """Recall before a turn, notes and extraction after it.

    Hermes asks its provider once per turn, before it begins. Where the plug-in is enabled too,
    hooks report each model call, so that notes are updated during a long turn; else memorist sees a
    turn at its end.
    """

    features = frozenset({"notes", "recall", "extraction"})

    def __init__(self, shared: HermesPluginState | None = None) -> None:
        self.shared = shared or HermesPluginState()
        self.session = ""
        self._shown: set[str] = set()
        self._writes = True
        self._owner = ("", "")
        """Hermes' home, and the user of a gateway."""

    @property
    def name(self) -> str:
        """The name in `memory.provider`."""
        return "memorist"

    def is_available(self) -> bool:
        """Always: memorist needs no account and no network."""
        return True

    def initialize(self, session_id: str, **kwargs: object) -> None:
        """Begin a session. Nothing is written for sessions of subagents and timers."""
        self.session = session_id
        self._writes = kwargs.get("agent_context", "primary") == "primary"
        user = str(kwargs.get("user_id_alt") or kwargs.get("user_id") or "")
        platform = str(kwargs.get("platform") or "")
        self._owner = (
            str(kwargs.get("hermes_home", "")),
            f"{platform}:{user}" if user and platform else user,
        )
        if self._writes:
            self.shared.begin_session(session_id, *self._owner)

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        """Return what memorist would show the model with this message: the memory index once, and
        relevant memories.
        """
        if not query or not self._writes:
            return ""
        session = session_id or self.session
        given = self.shared.get_last_history(session)
        if not given or given[-1].get("role") != "user":
            given = [*given, {"role": "user", "content": query}]
        sent = self._conversation(session).prepare(
            {"model": self.shared.get_model(session), "messages": given}
        )
        new = [
            text
            for text in list_texts_added_to_request(given, sent["messages"])
            if text not in self._shown
        ]
        self._shown.update(new)
        return "\n\n".join(new)

    def on_turn_start(self, turn_number: int, message: str, **kwargs: object) -> None:
        """Learn which model is used."""
        del turn_number, message
        self.shared.note_model(self.session, str(kwargs.get("model") or ""))

    def sync_turn(
        self,
        user_content: str,
        assistant_content: str,
        *,
        session_id: str = "",
        messages: list[dict[str, Any]] | None = None,
    ) -> None:
        """End a turn.

        Its messages are recorded now, from the whole history where Hermes gives it, unless hooks
        reported its calls one by one.
        """
        session = session_id or self.session
        if not self._writes:
            return
        conversation = self._conversation(session)
        if not self.shared.has_hooks(session):
            said = [
                {"role": "user", "content": user_content},
                {"role": "assistant", "content": assistant_content},
            ]
            *before, last = self.shared.store_history(
                session, messages or [*self.shared.get_last_history(session), *said]
            )
            conversation.prepare({"model": self.shared.get_model(session), "messages": before})
            conversation.observe(build_chat_completion([last]))
        conversation.end_turn()

    def on_pre_compress(self, messages: list[dict[str, Any]]) -> str:
        """Return the notes, for another engine's summary; memorist's own has them."""
        del messages
        return self._conversation("").notes or ""

    def on_session_switch(
        self,
        new_session_id: str,
        *,
        parent_session_id: str = "",
        reset: bool = False,
        rewound: bool = False,
        **kwargs: object,
    ) -> None:
        """Follow Hermes to another session id. A compaction continues the same conversation."""
        del rewound
        if kwargs.get("reason") == "compression" and not reset:
            self.shared.continue_session(parent_session_id or self.session, new_session_id)
        elif new_session_id != self.session:
            self._shown = set()
            if self._writes:
                self.shared.begin_session(new_session_id, *self._owner)
        self.session = new_session_id

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """Return none: memories are shown without a tool."""
        return []

    def shutdown(self) -> None:
        """End the session: write everything and release its files."""
        if self.session:
            self._conversation("").close()
            self.shared.drop_session_state(self.session)

    def _conversation(self, session_id: str) -> HostConversation:
        return self.shared.conversation(session_id or self.session)


class MemoristEngine(ContextEngine):
    """Compaction by memorist in place of Hermes' own."""

    features = frozenset({"notes", "compaction"})

    def __init__(self, shared: HermesPluginState | None = None) -> None:
        self.shared = shared or HermesPluginState()
        self.session = ""
        self._model = ""
        """Name of the model of this copy's agent."""

    def __deepcopy__(self, memo: dict[int, Any]) -> MemoristEngine:
        """Return a shallow copy.

        Hermes copies the engine for each agent, and the copies share files and threads.
        """
        del memo
        return copy.copy(self)

    @property
    def name(self) -> str:
        """The name in `context.engine`."""
        return "memorist"

    def update_model(
        self,
        model: str,
        context_length: int,
        base_url: str = "",
        api_key: str = "",
        provider: str = "",
        api_mode: str = "",
    ) -> None:
        """Set the model and its window.

        The threshold is memorist's, or Hermes' where that is lower.
        """
        del base_url, api_key, provider, api_mode
        self._model = model
        self.shared.note_model(self.session, model)
        self.context_length = context_length
        own = compute_request_thresholds(
            {"model": model}, self.shared.engine_thread.engine.settings
        ).auto
        self.threshold_tokens = min(own, int(context_length * _ENGINE_SHARE))

    def update_from_response(self, usage: dict[str, Any]) -> None:
        """Record the usage of the last call."""
        self.last_prompt_tokens = int(usage.get("prompt_tokens") or 0)
        self.last_completion_tokens = int(usage.get("completion_tokens") or 0)
        self.last_total_tokens = int(usage.get("total_tokens") or 0)

    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        """Whether the conversation is too large."""
        return (
            (self.last_prompt_tokens if prompt_tokens is None else prompt_tokens)
            >= self.threshold_tokens
            > 0
        )

    def compress(
        self,
        messages: list[dict[str, Any]],
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        force: bool = False,
        memory_context: str = "",
    ) -> list[dict[str, Any]]:
        """Return the history to continue with; Hermes' own message wherever memorist changed
        nothing.

        The same list when nothing was compacted.
        """
        del current_tokens
        conversation = self.shared.conversation(self.session)
        model = self._model or self.shared.get_model(self.session)
        given: MessageMap[dict[str, Any]] = MessageMap()

        def make() -> JsonObject:
            for message in messages:
                given.add_message_with_items(message, [encode_message_as_wire_json(message)])
            return {"model": model, "messages": given.wire_items}

        def back(sent: JsonObject) -> list[dict[str, Any]]:
            return given.build_host_messages(
                sent["messages"], lambda items: [dict(item) for item in items]
            )

        smaller = conversation.encode_prepare_decode(make, back, messages)
        if holds_same_objects(smaller, messages) and (focus_topic or force):
            try:
                conversation.compact("\n\n".join(filter(None, (focus_topic, memory_context))))
            except MemoristError as error:
                _log.warning(
                    "memorist could not make the conversation %r smaller: %s", self.session, error
                )
            smaller = conversation.encode_prepare_decode(
                lambda: {"model": model, "messages": given.wire_items}, back, messages
            )
        elif holds_same_objects(smaller, messages):
            smaller = conversation.shrink_refused_request_and_decode(back) or messages
        if not holds_same_objects(smaller, messages):
            self.compression_count += 1
            self.shared.store_history(self.session, smaller)
        return smaller

    def on_session_start(self, session_id: str, **kwargs: object) -> None:
        """Begin a session, or continue one under another id after a compaction."""
        if kwargs.get("boundary_reason") == "compression":
            self.shared.continue_session(
                str(kwargs.get("old_session_id") or self.session), session_id
            )
        self.session = session_id

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """The fetch tool, where it was requested."""
        return [dict(build_fetch_tool_definition(FORMAT)["function"])] if self.shared.fetch else []

    def handle_tool_call(self, name: str, args: dict[str, Any], **kwargs: object) -> str:
        """Answer a call of the fetch tool."""
        del kwargs
        if name != FETCH_TOOL_NAME:
            return msgspec.json.encode({"error": f"memorist has no tool {name}"}).decode()
        try:
            text = self.shared.conversation(self.session).fetch(str(args.get("id", "")))
        except MemoristError as error:
            return msgspec.json.encode({"error": str(error)}).decode()
        return msgspec.json.encode(
            {"error": "there is nothing of that id"} if text is None else {"text": text}
        ).decode()


_shared_states: dict[tuple[object, ...], HermesPluginState] = {}
"""The shared state by its options:

Hermes loads a plug-in's file once for the provider and once for the engine.
"""

HermesRegistry = object
"""What Hermes passes to `register`: different classes for providers and for the rest, with nothing
in common.
"""


def plugin(
    *,
    project: str | Path | None = None,
    fetch: bool = False,
    attached: EngineThread | None = None,
    **engine: Unpack[EngineArguments],
) -> Callable[[HermesRegistry], None]:
    """Return a `register` for a plug-in of Hermes. Called again with the same options, as Hermes
    does, it shares one engine.

    Args:
        project: folder that memories belong to; without it they belong to Hermes' profile. Each
            user of a gateway has memories of their own.
        fetch: offer the model a tool that fetches back what was removed.
        attached: a shared engine; without it one is opened with the arguments of `Memorist`, on
            first use.
        **engine: the arguments of `Memorist`.
    """
    key = (
        str(project),
        fetch,
        id(attached),
        os.environ.get("MEMORIST_HOME"),
        repr(sorted(engine.items(), key=lambda item: item[0])),
    )

    def register(context: HermesRegistry) -> None:
        if key not in _shared_states:
            _shared_states[key] = HermesPluginState(
                project=project, fetch=fetch, attached=attached, **engine
            )
        shared = _shared_states[key]
        for offer, make in (
            ("register_memory_provider", MemoristMemoryProvider),
            ("register_context_engine", MemoristEngine),
        ):
            take = getattr(context, offer, None)
            if take is not None:
                take(make(shared))
        hook = getattr(context, "register_hook", None)
        if hook is not None:
            hook("pre_llm_call", shared.on_pre_llm_call)
            hook("pre_api_request", shared.on_api_request)
            hook("post_api_request", shared.on_api_response)

    return register


register = plugin()
"""What Hermes calls when it loads the plug-in."""
