"""What the two halves of the plug-in for Hermes Agent share: the engine, the sessions' names, and messages as they go over the wire."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from memorist.adapters.attached import Attached, EngineArguments, attach
from memorist.adapters.chat_items import FORMAT, text_of
from memorist.adapters.conversation import Conversation
from memorist.adapters.originals import Originals
from memorist.core.messages import JsonObject
from memorist.store.layout import folder_name

_KEYS = ("role", "content", "tool_calls", "tool_call_id", "name", "reasoning_content")
"""What of a message of Hermes goes over the wire; the rest (times, ids, the prepared text of a request) is its own."""


class Shared:
    """What the provider and the engine of one plug-in share: the memorist engine, made when it is first needed, and the conversations."""

    def __init__(self, *, project: str | Path | None = None, attached: Attached | None = None, **engine: Unpack[EngineArguments]) -> None:
        self._project = project
        self._attached = attached
        self._engine = engine
        self._making = threading.Lock()
        self._projects: dict[str, str] = {}
        self._first: dict[str, str] = {}
        """The id under which a session began, by the ids that Hermes gave it at its compactions."""

    @property
    def attached(self) -> Attached:
        """The memorist engine. Raises SettingsError or ModelNameError."""
        with self._making:
            if self._attached is None:
                self._attached = attach(None, self._engine)
            return self._attached

    def began(self, session: str, home: str, user: str = "") -> None:
        """A session begins. What is remembered belongs to the project that was set; else to the user of a gateway, or to the whole profile."""
        apart = f"/hermes-users/{folder_name(home)}/{folder_name(user)}" if user else home
        self._projects.setdefault(session, apart if self._project is None else str(self._project))

    def goes_on(self, old: str, new: str) -> None:
        """Hermes gave a session that it made smaller another id."""
        if old and new != old:
            self._first[new] = self._first.get(old, old)

    def conversation(self, session: str) -> Conversation:
        """The conversation of a session of Hermes."""
        first = self._first.get(session, session)
        return self.attached.conversation(first, project=self._projects.get(first, str(self._project or "")), format=FORMAT)


def wire_of(message: Mapping[str, Any]) -> JsonObject:
    """What of a message of Hermes goes over the wire."""
    return {key: message[key] for key in _KEYS if key in message and not (message[key] is None and key != "content")}


def request_of(messages: Iterable[Mapping[str, Any]], model: str) -> JsonObject:
    """A history of Hermes as a request."""
    return {"model": model, "messages": [wire_of(message) for message in messages]}


def added(given: Sequence[JsonObject], sent: Sequence[JsonObject]) -> list[str]:
    """The texts that memorist shows beside the host's messages, in their order; of a conversation made smaller only those after the last message."""
    both = Originals(((True, item), [item]) for item in given).back(sent, lambda items: [(False, item) for item in items])
    if sum(host for host, _ in both) < len(given):
        last = max((index for index, (host, _) in enumerate(both) if host), default=len(both))
        both = both[last:]
    return [text for host, item in both if not host and (text := text_of(item.get("content")))]
