"""What the two halves of the plug-in for Hermes Agent share: the engine, session names, and
messages in wire form.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from memorist.adapters.chat_messages import (
    FORMAT,
    build_chat_completion,
    build_chat_tool_call,
    build_chat_usage,
    extract_content_text,
)
from memorist.adapters.engine_thread import (
    EngineArguments,
    EngineThread,
    attach_or_open_engine_thread,
)
from memorist.adapters.host_conversation import HostConversation
from memorist.adapters.message_map import MessageMap
from memorist.core.messages import JsonObject

_WIRE_KEYS = ("role", "content", "tool_calls", "tool_call_id", "name")
"""Keys of a Hermes message that go over the wire; the rest (times, ids, the prepared text of a
request) is Hermes' own.
"""


class HermesPluginState:
    """State shared by the provider and the engine of one plug-in: the memorist engine, opened on
    first use, and the conversations.
    """

    def __init__(
        self,
        *,
        project: str | Path | None = None,
        fetch: bool = False,
        attached: EngineThread | None = None,
        **engine: Unpack[EngineArguments],
    ) -> None:
        self.fetch = fetch
        self._project = project
        self._attached = attached
        self._engine = engine
        self._attach_lock = threading.Lock()
        self._owners: dict[str, tuple[str, str]] = {}
        """User and project of the sessions that are remembered."""
        self._histories: dict[str, list[JsonObject]] = {}
        self._hooked_sessions: set[str] = set()
        self._first_ids: dict[str, str] = {}
        """The id under which a session began, by the ids that Hermes gave it at its compactions."""
        self._models: dict[str, str] = {}
        """Name of the model of each session's agent; by the empty text the one named last."""

    @property
    def engine_thread(self) -> EngineThread:
        """The memorist engine. Raises SettingsError or ModelNameError."""
        with self._attach_lock:
            if self._attached is None:
                self._attached = attach_or_open_engine_thread(None, self._engine)
            return self._attached

    def begin_session(self, session: str, home: str, user: str) -> None:
        """Begin a session of a gateway's user, or of nobody in particular (empty). It belongs to
        the configured project, else to the profile.

        Other sessions (subagents, timers) are not remembered.
        """
        self._owners[session] = user, home if self._project is None else str(self._project)

    def note_model(self, session: str, model: str) -> None:
        """Note which model a session's agent has; an empty name says nothing."""
        if model:
            self._models[session] = self._models[""] = model

    def get_model(self, session: str) -> str:
        """Name of the model of a session's agent; where it was never named, the last of all."""
        return self._models.get(session) or self._models.get("", "")

    def drop_session_state(self, session: str) -> None:
        """Drop a session that is over from memory."""
        self._models.pop(session, None)
        self._histories.pop(session, None)
        self._hooked_sessions.discard(session)

    def continue_session(self, old: str, new: str) -> None:
        """Continue a session under another id, which Hermes gave it at a compaction."""
        if old and new != old:
            self._first_ids[new] = self._first_ids.get(old, old)
            self.note_model(new, self.get_model(old))

    def conversation(self, session: str) -> HostConversation:
        """The conversation of a session of Hermes."""
        first = self._first_ids.get(session, session)
        user, project = self._owners.get(first, ("", ""))
        return self.engine_thread.conversation(first, user=user, project=project, format=FORMAT)

    def get_last_history(self, session: str) -> list[JsonObject]:
        """The last known history of a session."""
        return self._histories.get(session, [])

    def store_history(
        self, session: str, messages: Iterable[Mapping[str, Any]]
    ) -> list[JsonObject]:
        """Store the history of a session and return it in wire form."""
        kept = self._histories[session] = [
            encode_message_as_wire_json(message) for message in messages
        ]
        return kept

    def has_hooks(self, session: str) -> bool:
        """Whether hooks report the model calls of this session."""
        return session in self._hooked_sessions

    def on_pre_llm_call(
        self,
        *,
        session_id: str = "",
        conversation_history: Sequence[Mapping[str, Any]] = (),
        **_: object,
    ) -> None:
        """Hermes' hook `pre_llm_call`: before the provider is asked what to recall."""
        self.store_history(session_id, conversation_history)

    def on_api_request(
        self,
        *,
        session_id: str = "",
        conversation_history: Sequence[Mapping[str, Any]] = (),
        model: str = "",
        **_: object,
    ) -> None:
        """Hermes' hook `pre_api_request`: one model call.

        Hermes sends its own request, and replaces its history only at its compactions.
        """
        self._hooked_sessions.add(session_id)
        self.note_model(session_id, model)
        self.conversation(session_id).prepare(
            {"model": model, "messages": self.store_history(session_id, conversation_history)}
        )

    def on_api_response(
        self,
        *,
        session_id: str = "",
        assistant_message: object = None,
        usage: Mapping[str, Any] | None = None,
        **_: object,
    ) -> None:
        """Hermes' hook `post_api_request`: the model's reply."""
        used = build_chat_usage(
            prompt=_usage_count(usage, "prompt_tokens"),
            output=_usage_count(usage, "completion_tokens"),
            cached=_usage_count(usage, "cache_read_tokens"),
        )
        self.conversation(session_id).encode_and_observe(
            lambda: build_chat_completion(
                [_encode_assistant(assistant_message)], used, self.get_model(session_id)
            )
        )


def _usage_count(usage: Mapping[str, Any] | None, name: str) -> int | None:
    value = (usage or {}).get(name)
    return value if isinstance(value, int) else None


def _encode_assistant(message: object) -> JsonObject:
    """The model's message, an object of one of several SDKs."""
    calls = []
    for call in getattr(message, "tool_calls", None) or ():
        function = call.function
        calls.append(
            {"id": call.id, "function": {"name": function.name, "arguments": function.arguments}}
        )
    return encode_message_as_wire_json(
        {"role": "assistant", "content": getattr(message, "content", None), "tool_calls": calls}
    )


def encode_message_as_wire_json(message: Mapping[str, Any]) -> JsonObject:
    """Encode a Hermes message; the same for a model's message as received and as Hermes stores
    it.
    """
    item = {key: message[key] for key in _WIRE_KEYS if message.get(key)}
    item["content"] = message.get("content") or ""
    if "tool_calls" in item:
        item["tool_calls"] = [
            build_chat_tool_call(
                str(call.get("id")),
                str(call["function"].get("name")),
                call["function"].get("arguments"),
            )
            for call in item["tool_calls"]
        ]
    return item


def list_texts_added_to_request(
    host_items: Sequence[JsonObject], sent: Sequence[JsonObject]
) -> list[str]:
    """The texts that memorist adds to the host's messages, in order; for a compacted conversation
    only those after the last message.
    """
    both = MessageMap(((True, item), [item]) for item in host_items).build_host_messages(
        sent, lambda items: [(False, item) for item in items]
    )
    if sum(host for host, _ in both) < len(host_items):
        last = max((index for index, (host, _) in enumerate(both) if host), default=len(both))
        both = both[last:]
    return [
        text
        for host, item in both
        if not host and (text := extract_content_text(item.get("content")))
    ]
