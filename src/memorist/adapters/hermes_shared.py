"""What the two halves of the plug-in for Hermes Agent share: the engine, session names, and
messages in wire form.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from memorist.adapters.attached import Attached, EngineArguments, attach
from memorist.adapters.chat_items import FORMAT, call_of, reply_of, text_of, usage_of
from memorist.adapters.conversation import Conversation
from memorist.adapters.originals import Originals
from memorist.core.messages import JsonObject
from memorist.store.layout import folder_name

_KEYS = ("role", "content", "tool_calls", "tool_call_id", "name")
"""Keys of a Hermes message that go over the wire; the rest (times, ids, the prepared text of a
request) is Hermes' own.
"""


class Shared:
    """State shared by the provider and the engine of one plug-in: the memorist engine, opened on
    first use, and the conversations.
    """

    def __init__(
        self, *, project: str | Path | None = None, fetch: bool = False, attached: Attached | None = None, **engine: Unpack[EngineArguments]
    ) -> None:
        self.fetch = fetch
        self._project = project
        self._attached = attached
        self._engine = engine
        self._making = threading.Lock()
        self._projects: dict[str, str] = {}
        """Projects of the sessions that are remembered."""
        self._histories: dict[str, list[JsonObject]] = {}
        self._heard: set[str] = set()
        self._first: dict[str, str] = {}
        """The id under which a session began, by the ids that Hermes gave it at its compactions."""
        self.model = ""
        """Name of the agent's model."""

    @property
    def attached(self) -> Attached:
        """The memorist engine. Raises SettingsError or ModelNameError."""
        with self._making:
            if self._attached is None:
                self._attached = attach(None, self._engine)
            return self._attached

    def remembers(self, session: str, home: str, user: str) -> None:
        """Begin a session with a user. It belongs to the configured project; else to the user of a
        gateway, or to the whole profile.

        Other sessions (subagents, timers) are not remembered.
        """
        apart = f"/hermes-users/{folder_name(home)}/{folder_name(user)}" if user else home
        self._projects[session] = apart if self._project is None else str(self._project)

    def forget(self, session: str) -> None:
        """Drop a session that is over from memory."""
        self._histories.pop(session, None)
        self._heard.discard(session)

    def goes_on(self, old: str, new: str) -> None:
        """Continue a session under another id, which Hermes gave it at a compaction."""
        if old and new != old:
            self._first[new] = self._first.get(old, old)

    def conversation(self, session: str) -> Conversation:
        """The conversation of a session of Hermes."""
        first = self._first.get(session, session)
        return self.attached.conversation(first, project=self._projects.get(first, ""), format=FORMAT)

    def history(self, session: str) -> list[JsonObject]:
        """The last known history of a session."""
        return self._histories.get(session, [])

    def keep(self, session: str, messages: Iterable[Mapping[str, Any]]) -> list[JsonObject]:
        """Store the history of a session and return it in wire form."""
        kept = self._histories[session] = [wire_of(message) for message in messages]
        return kept

    def hears(self, session: str) -> bool:
        """Whether hooks report the model calls of this session."""
        return session in self._heard

    def begin_turn(self, *, session_id: str = "", conversation_history: Sequence[Mapping[str, Any]] = (), **_: object) -> None:
        """Hermes' hook `pre_llm_call`: before the provider is asked what to recall."""
        self.keep(session_id, conversation_history)

    def call(self, *, session_id: str = "", conversation_history: Sequence[Mapping[str, Any]] = (), model: str = "", **_: object) -> None:
        """Hermes' hook `pre_api_request`: one model call.

        Hermes sends its own request, and replaces its history only at its compactions.
        """
        self._heard.add(session_id)
        self.model = model or self.model
        self.conversation(session_id).prepare({"model": model, "messages": self.keep(session_id, conversation_history)})

    def answer(
        self, *, session_id: str = "", assistant_message: object = None, usage: Mapping[str, Any] | None = None, **_: object
    ) -> None:
        """Hermes' hook `post_api_request`: the model's reply."""
        used = usage_of(
            prompt=_count(usage, "prompt_tokens"), output=_count(usage, "completion_tokens"), cached=_count(usage, "cache_read_tokens")
        )
        self.conversation(session_id).observe_mapped(lambda: reply_of([_said(assistant_message)], used, self.model))


def _count(usage: Mapping[str, Any] | None, name: str) -> int | None:
    value = (usage or {}).get(name)
    return value if isinstance(value, int) else None


def _said(message: object) -> JsonObject:
    """The model's message, an object of one of several SDKs."""
    calls = []
    for call in getattr(message, "tool_calls", None) or ():
        function = call.function
        calls.append({"id": call.id, "function": {"name": function.name, "arguments": function.arguments}})
    return wire_of({"role": "assistant", "content": getattr(message, "content", None), "tool_calls": calls})


def wire_of(message: Mapping[str, Any]) -> JsonObject:
    """Encode a Hermes message; the same for a model's message as received and as Hermes stores it.
    """
    item = {key: message[key] for key in _KEYS if message.get(key)}
    item["content"] = message.get("content") or ""
    if "tool_calls" in item:
        item["tool_calls"] = [
            call_of(str(call.get("id")), str(call["function"].get("name")), call["function"].get("arguments"))
            for call in item["tool_calls"]
        ]
    return item


def added(given: Sequence[JsonObject], sent: Sequence[JsonObject]) -> list[str]:
    """The texts that memorist adds to the host's messages, in order; for a compacted conversation
    only those after the last message.
    """
    both = Originals(((True, item), [item]) for item in given).back(sent, lambda items: [(False, item) for item in items])
    if sum(host for host, _ in both) < len(given):
        last = max((index for index, (host, _) in enumerate(both) if host), default=len(both))
        both = both[last:]
    return [text for host, item in both if not host and (text := text_of(item.get("content")))]
