"""What takes part in a session: notes, memory, recall, context and the rest are extensions in one
list, and a host may add its own.

The session calls the extensions in the order of the list, one after another, each event of every
extension before the next event. Time as an extension sees it:

1. `on_message(replayed=True)` for each message that an earlier process recorded, oldest first, and
   `on_turns_rolled_back` where the user went back behind some of them.
2. For each request: `on_turns_rolled_back` if the user went back behind some messages, and
   `on_history_replaced` if the host rewrote or rolled back its history, then `on_message` for each
   new message, then `on_resume` (first request of the process, and after a rollback), then, if the
   conversation is compacted here, `on_history_replaced`, then `before_request`.
3. `on_message` for each message of the reply, then `on_reply`.
   `before_tool` for a call of the reply, if the host asks.
4. `on_turn_end`, when the reply has no tool calls.
5. `aclose`, once.

An extension that raises is switched off for the rest of the session, with an `ExtensionFailed`
event; the session and the other extensions go on.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Literal, Protocol, TypeVar

from msgspec import Struct

from memorist.core.error_guard import ErrorGuard
from memorist.core.messages import Message, ToolUse, Usage
from memorist.errors import MemoristError, StoreError
from memorist.events import Event, ExtensionFailed
from memorist.forks.fork_spec import ParentCall

_log = logging.getLogger("memorist")

HistoryChange = Literal["compacted", "rewritten", "rolled back"]
"""Why messages are gone: memorist or the agent compacted the conversation, the host rewrote it, or
its user rolled turns back."""


def _no_parent() -> ParentCall | None:
    return None


class SessionReply(Struct, frozen=True, kw_only=True):
    """A reply of the host's model, decoded."""

    messages: tuple[Message, ...]
    usage: Usage = Usage()
    at: float
    """When it arrived, in seconds since the epoch."""
    parent: Callable[[], ParentCall | None] = _no_parent
    """Returns the request as it was sent, with this reply, for a fork that shares its prompt cache;
    None where there is none.
    """


class SessionView(Protocol):
    """The messages that the model is shown in the next request, and how to add some."""

    model: str
    """The model that the request names; empty if none."""
    context_window: int | None
    """The model's context window in tokens; None if unknown."""

    @property
    def has_model_reply(self) -> bool:
        """Whether the view holds a message of the model."""
        ...

    @property
    def last_message(self) -> Message | None:
        """The last message in the view."""
        ...

    @property
    def accepts_messages(self) -> bool:
        """Whether a message may be added at the end."""
        ...

    def messages(self) -> tuple[Message, ...]:
        """All messages, oldest first."""
        ...

    def injected_texts(self, id_prefix: str) -> list[str]:
        """Texts of the messages whose ids start with `id_prefix`."""
        ...

    def insert(self, message: Message, *, before: Message | None = None) -> None:
        """Show a message from this request on: at the end, or before a new message of the host."""
        ...

    def insert_at_start(self, message: Message) -> None:
        """Show a message before all others, in a view without a model's reply or just compacted."""
        ...

    def set_preamble(self, messages: Sequence[Message]) -> None:
        """Show these messages before all others, and keep them there."""
        ...

    def apply_repair(self, repair: Callable[[tuple[Message, ...]], tuple[Message, ...]]) -> None:
        """Replace the messages by `repair(messages)`, if that changes any of them."""
        ...


class SessionExtension:
    """Takes part in one session; each method does nothing until a subclass defines it.

    Methods run on the session's event loop and hold up the host: slow work belongs into a task.
    """

    def on_message(self, message: Message, *, replayed: bool = False) -> None:
        """A message was recorded; `replayed` marks one that an earlier process had seen already, or
        the session that this one was forked from.
        """

    async def before_request(self, view: SessionView, new_messages: Sequence[Message]) -> None:
        """A request with these new messages is about to be sent; what is inserted goes with it.
        Among them are the user's that the host sends again after it had left them out, or behind
        another beginning: what was inserted for them is gone.
        """

    def on_reply(self, reply: SessionReply) -> None:
        """The model replied; `on_message` was called for the messages of the reply."""

    def before_tool(self, call: ToolUse) -> str:
        """The agent is about to make this call: the text to show it first; empty for none."""
        del call
        return ""

    def on_turn_end(self, parent: ParentCall | None = None) -> None:
        """The host waits for its user. `parent` is the last request with its reply, if any."""

    def on_file_read(self, path: str) -> None:
        """The host read a file into the conversation by other means than a tool call."""

    def on_history_replaced(self, reason: HistoryChange) -> None:
        """Messages left the conversation, and with them what was inserted among them."""

    def on_turns_rolled_back(self, messages: Sequence[Message]) -> None:
        """The user went back behind these messages; `on_history_replaced` follows where the host's
        history was replaced.
        """

    def on_resume(self, view: SessionView) -> None:
        """The view holds what remains, after a restart or a rollback: state is restored from it."""

    async def wait_for_background(self) -> None:
        """Wait for background work, within a bound; the session stays open."""

    async def aclose(self) -> None:
        """The session closes: wait for background work within a bound, and release everything."""
        await self.wait_for_background()


ExtensionKind = TypeVar("ExtensionKind", bound=SessionExtension)


class ExtensionList(SessionExtension):
    """The extensions of one session: each event goes to all of them, in order."""

    def __init__(
        self, extensions: Iterable[SessionExtension], emit: Callable[[Event], None]
    ) -> None:
        self._extensions = list(extensions)
        self._retired: list[SessionExtension] = []
        """Extensions that take no more part, and are closed with the others."""
        self._emit = emit

    def find(self, kind: type[ExtensionKind]) -> ExtensionKind | None:
        """The extension of this class; None if there is none, or it was switched off."""
        return next((each for each in self._extensions if isinstance(each, kind)), None)

    def add_first(self, extension: SessionExtension) -> None:
        """Add an extension before all others."""
        self._extensions.insert(0, extension)

    def remove_by_class(self, *kinds: type[SessionExtension]) -> None:
        """Let extensions of these classes take no more part in the session."""
        retired = [each for each in self._extensions if isinstance(each, kinds)]
        self._extensions = [each for each in self._extensions if each not in retired]
        self._retired += retired

    def _notify(self, event: Callable[[SessionExtension], None]) -> None:
        for extension in tuple(self._extensions):
            with ErrorGuard(partial(self._remove_after_error, extension)):
                if extension in self._extensions:
                    event(extension)

    async def _await(self, event: Callable[[SessionExtension], Awaitable[None]]) -> None:
        for extension in tuple(self._extensions):
            with ErrorGuard(partial(self._remove_after_error, extension)):
                await event(extension)

    async def _wait_for_one(self, extension: SessionExtension) -> None:
        with ErrorGuard(partial(self._remove_after_error, extension)):
            await extension.wait_for_background()

    def _remove_after_error(self, extension: SessionExtension, error: Exception) -> None:
        """Take an extension out of the list because of an error, and say so in the log."""
        self._extensions.remove(extension)
        _log.warning(
            "the extension %s failed and takes no more part in its session: %s",
            type(extension).__name__,
            error,
            exc_info=None if isinstance(error, MemoristError) else error,
        )
        with contextlib.suppress(StoreError):  # the same disk may refuse the event
            self._emit(
                ExtensionFailed(type(extension).__name__, str(error) or type(error).__name__)
            )

    def on_message(self, message: Message, *, replayed: bool = False) -> None:
        """A message was recorded."""
        self._notify(lambda each: each.on_message(message, replayed=replayed))

    async def before_request(self, view: SessionView, new_messages: Sequence[Message]) -> None:
        """A request is about to be sent."""
        await self._await(lambda each: each.before_request(view, new_messages))

    def on_reply(self, reply: SessionReply) -> None:
        """The model replied."""
        self._notify(lambda each: each.on_reply(reply))

    def before_tool(self, call: ToolUse) -> str:
        """The texts of all extensions before a call."""
        texts: list[str] = []
        self._notify(lambda each: texts.append(each.before_tool(call)))
        return "\n".join(filter(None, texts))

    def on_turn_end(self, parent: ParentCall | None = None) -> None:
        """The host waits for its user."""
        self._notify(lambda each: each.on_turn_end(parent))

    def on_file_read(self, path: str) -> None:
        """The host read a file."""
        self._notify(lambda each: each.on_file_read(path))

    def on_history_replaced(self, reason: HistoryChange) -> None:
        """Messages left the conversation."""
        self._notify(lambda each: each.on_history_replaced(reason))

    def on_turns_rolled_back(self, messages: Sequence[Message]) -> None:
        """The user went back behind these messages."""
        self._notify(lambda each: each.on_turns_rolled_back(messages))

    def on_resume(self, view: SessionView) -> None:
        """The view holds what remains."""
        self._notify(lambda each: each.on_resume(view))

    async def wait_for_background(self) -> None:
        """Wait for background work."""
        await self._await(lambda each: each.wait_for_background())

    async def aclose(self) -> None:
        """Close every extension. All are waited for at once, so that their bounds do not add up."""
        self._extensions, self._retired = [*self._extensions, *self._retired], []
        await asyncio.gather(*map(self._wait_for_one, tuple(self._extensions)))
        await self._await(lambda each: each.aclose())
