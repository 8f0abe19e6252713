"""One live conversation: what a host calls before and after each call of its model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, cast

from memorist.compaction.call import Call, Done
from memorist.compaction.provider import ProviderSummary
from memorist.compaction.result import Strategy
from memorist.compaction.summary import Unusable
from memorist.context.host import HostContext
from memorist.context.piece import Piece
from memorist.core.messages import JsonObject, Message
from memorist.core.tokens import family_factor
from memorist.engine.beside import Beside
from memorist.engine.cache_watch import CacheWatch
from memorist.engine.fetching import fetch_tool
from memorist.engine.host_history import HostHistory, as_sent, sound
from memorist.engine.journal import Journal
from memorist.engine.model_limits import OUTPUT_LIMITS, limits_of, price_for
from memorist.engine.provider_edits import ProviderEdits
from memorist.engine.view import SENT_SECONDS, View
from memorist.engine.window import Window
from memorist.errors import FormatError, NothingToDo
from memorist.events import CacheBroke, CompactionFailed, ConversationCompacted, FileRead
from memorist.forks.spec import ParentCall, Receipt
from memorist.formats.recorded import Boundary
from memorist.formats.registry import codec
from memorist.models.prices import Price
from memorist.ports import Request
from memorist.session_memory.follow import Following
from memorist.session_memory.run import SessionMemory
from memorist.session_memory.trigger import Due
from memorist.store.layout import SessionLayout


class Session:
    """Opened by `Memorist.open`.

    Methods are called from one task; updates of the notes run in the background.
    """

    def __init__(self, journal: Journal, beside: Beside, ended: Callable[[Session], object] = lambda _: None) -> None:
        self._journal = journal
        self._beside = beside
        self._ended = ended
        self._format = journal.named.format
        self._codec = codec(self._format)
        self._history = HostHistory(self._codec, journal.known)
        window = Window(self._codec, self._history)
        self._view = View(window, self._history, journal.compactor, layout=journal.layout, files=journal.world.files)
        self._resumed = False
        self._request: JsonObject | None = None
        self._last: JsonObject | None = None
        self._spent: JsonObject | None = None
        self._reply: JsonObject | None = None
        self._tried_again = False
        self._about: tuple[object, ...] = ()
        self._watch = CacheWatch()
        self._provider = ProviderEdits(self._format, journal.world.settings.compaction)
        self._limits = limits_of({}, journal.world.settings)
        self._price: Price | None = None

    @property
    def id(self) -> str:
        """The id that it was opened with."""
        return self._journal.named.id

    @property
    def layout(self) -> SessionLayout:
        """Paths of its files."""
        return self._journal.layout

    @property
    def following(self) -> Following:
        """State of the conversation: size of the context, messages, turns."""
        return self._journal.following

    @property
    def memory(self) -> SessionMemory:
        """The session memory: the notes and their updates."""
        return self._journal.memory

    @property
    def notes(self) -> str | None:
        """The notes on disk; None when there are none yet."""
        return self.memory.notes()

    def assemble(self, context: HostContext) -> None:
        """Assemble the context, for a host that does not do it itself.

        Call it before the first request in each process, and again when any of its information
        changes: the next request then tells the model the difference.
        """
        self._beside.assemble(context)

    @property
    def context(self) -> tuple[Piece, ...]:
        """The first context as the model sees it, piece by piece; empty before the first request,
        and where the host assembles its own.
        """
        return self._beside.context

    def receipts(self) -> list[Receipt]:
        """Receipts of the forks that ran since the session was opened, oldest first."""
        return list(self._journal.receipts)

    async def prepare(self, request: JsonObject) -> JsonObject:
        """Take the request that the host is about to send, and return the one to send.

        The history is compacted where the window demands it or it was requested; the host's own objects are
        never changed. Takes time in proportion to what is new in the history. Raises FormatError when the
        request is not of the session's format.
        """
        news = self._history.sent(self._items(request))
        following = self._journal.following
        following.meter.factor = family_factor(str(request.get("model", "")))
        back = self._view.taken_back(news)
        if back is not None:
            self._journal.taken_back(back.turns, len(back.messages))
        elif news.rewritten and following.messages:
            kept = tuple(message for entry in news.entries for message in entry.messages if message not in entry.new)
            self._journal.replaced(Boundary(id="", line=0, trigger="host", kept=len(kept)), kept)
            self._beside.made_anew()
        for message in news.messages:
            self._journal.take(message)
        self._view.take(news, back)
        if back is not None:
            self._beside.taken_back(self._view)
        if not self._resumed:
            self._resumed = True
            self._beside.take_up(self._view)
        self._know(request)
        self._tried_again = False
        if self._journal.compacts and self._journal.compactor.due(self._journal.world.clock.now(), self._limits):
            await self._fit()
        await self._show(request, news.messages)
        return self._to_send(request, rewritten=news.rewritten)

    async def _show(self, request: JsonObject, messages: Sequence[Message]) -> None:
        """Insert what the extensions have to show besides the host's messages, given the new ones.
        """
        await self._beside.show(self._view, request, messages, None if self._price is None else self._price.window)

    def _know(self, request: JsonObject) -> None:
        """Update thresholds and price; looked up again only when the request's model or output
        limit changes.
        """
        about = (request.get("model"), *(request.get(name) for name in OUTPUT_LIMITS))
        if about != self._about:
            self._about = about
            self._limits = limits_of(request, self._journal.world.settings)
            self._price = price_for(request, self._journal.world.settings)

    def _items(self, request: JsonObject) -> Sequence[Any]:
        key = self._codec.history_key()
        items = request.get(key)
        if isinstance(items, str) and self._format == "openai_responses":
            return [{"role": "user", "content": items}]
        if not isinstance(items, list | tuple):
            raise FormatError(f"a request of format {self._format!r} holds its history as a list under {key!r}")
        return items

    def _to_send(self, request: JsonObject, *, rewritten: bool = False) -> JsonObject:
        marks = self._format == "anthropic" and self._journal.compacts
        self._request, self._reply = request, None
        request = self._beside.dressed(request)
        if marks or self._view.changed:
            self._spent = self._last
        asyncio.get_running_loop().call_later(SENT_SECONDS, self._while_waiting)
        shown = self._view.body(request, self._codec.history_key(), marks=marks)
        self._last = self._provider.edited(shown, self._limits, self.following.tokens, self._view.messages)
        self._watch.sending(self._last, self._codec.history_key(), self._journal.world.clock.now(), rewritten=rewritten)
        return self._last

    def _while_waiting(self) -> None:
        """Prepare the next request while the host waits for its model: copy the history, free the
        previous request, update the ledger.
        """
        self._spent = None
        self._view.make_ready()
        self.following.ledger.look()

    async def observe(self, reply: object) -> None:
        """Take the model's reply: the SDK's object or its JSON. Starts an update of the notes in
        the background when one is due.

        Raises FormatError when the reply is not of the session's format.
        """
        body = sound(as_sent(reply))
        if not isinstance(body, dict):
            raise FormatError(f"a reply of format {self._format!r} is an object, not {type(reply).__name__}")
        self._reply = cast("JsonObject", body)
        answer = self._codec.decode_reply(self._reply)
        due: Due | None = None
        for message in self._history.observed(answer.messages):
            due = self._journal.take(message) or due
        self._journal.compactor.replied(self._journal.world.clock.now(), answer.usage)
        self._beside.replied(answer.messages)
        self._provider_did(self._reply)
        broke = self._watch.answered(answer.usage)
        if broke is not None:
            self._journal.tell(CacheBroke(broke.cause, broke.what, broke.tokens))
        due = due or self.following.reply_ended(answer.usage)
        self._journal.offer(due, self._parent(self._reply) if due else None)

    def _provider_did(self, reply: JsonObject) -> None:
        """Record what the provider itself cleared or compacted."""
        cleared, summary = self._provider.answered(reply)
        before = self.following.tokens
        if cleared is not None:
            self._watch.edited()
            self._journal.tell(ConversationCompacted("micro", "provider", before + cleared.tokens, before, len(cleared.ids), 0))
        if isinstance(summary, ProviderSummary):
            self._watch.edited()
            self._journal.tell(ConversationCompacted("provider", "provider", before, before, 0, 0))
        elif isinstance(summary, Unusable):
            self._journal.tell(CompactionFailed("provider", summary.why))

    @property
    def betas(self) -> tuple[str, ...]:
        """Beta names that the last prepared request needs, for
        `client.beta.messages.create(betas=…)`; empty where none.
        """
        return self._provider.betas

    async def end_turn(self) -> None:
        """End the turn: the reply had no tool calls and the host waits for its user, a natural
        break.
        """
        due = self.following.end_turn()
        parent = self._parent(self._reply)
        self._journal.offer(due, parent if due else None)
        self._beside.turn_ended(parent)
        self._journal.flush()

    def on_file_read(self, path: str) -> None:
        """Note that a file was read into the conversation by other means than a tool call."""
        self.following.ledger.work.files.read(path)
        self._beside.read(path)
        self._journal.tell(FileRead(path))

    async def summarise(self) -> str:
        """Update the notes now, whatever the thresholds say, and return them (SM-11).

        Raises NothingToDo for an empty conversation.
        """
        if not self.following.messages:
            raise NothingToDo("the conversation is empty, so there is nothing to take notes of")
        await self.memory.update(Due(why="asked for", tokens=self.following.tokens), self._parent(None))
        return self.notes or ""

    async def compact(self, instructions: str = "", strategy: Strategy = "auto") -> Done:
        """Compact the conversation now; the next request shows it. `instructions` say what a
        summary should hold.

        The outcome's `result` is None when nothing was compacted, and its `why` says why. Raises
        NothingToDo for an empty conversation.
        """
        if not self.following.messages or self._request is None:
            raise NothingToDo("the conversation is empty, so there is nothing to compact")
        return await self._fit(manual=strategy, instructions=instructions) or Done(None)

    async def recover(self) -> JsonObject | None:
        """Compact after the provider refused the last request as too long, and return the request
        to send instead.

        Once for each prepared request; None when nothing more can be done.
        """
        if self._request is None or self._tried_again or not self._journal.compacts:
            return None
        self._tried_again = True
        done = await self._fit(forced=True)
        if done is None or done.result is None:
            return None
        await self._show(self._request, ())
        return self._to_send(self._request)

    async def _fit(self, *, manual: Strategy | None = None, instructions: str = "", forced: bool = False) -> Done | None:
        call = Call(
            limits=self._limits,
            parent=self._parent(None),
            price=self._price,
            manual=manual,
            instructions=instructions,
            forced=forced,
            provider_compacts=self._provider.active,
            skills=self._journal.called.all(),
        )
        done = await self._view.fit(self._journal.world.clock.now(), call)
        if done is not None and done.result is not None:
            self._watch.edited()
        if done is not None and done.result is not None and done.result.strategy != "micro":
            self._journal.compacted(done.boundary(manual=manual is not None), done.result.messages)
            self._beside.made_anew()
        return done

    def fetch(self, id: str) -> str | None:
        """Return the full text of a message or tool result that is no longer shown in full; None
        when the session has none with this id.
        """
        self._journal.flush()
        return self._view.fetch(id)

    @property
    def fetch_tool(self) -> JsonObject:
        """The definition of a tool by which the model fetches back what was removed.

        A host that offers it answers its calls with `fetch`.
        """
        return fetch_tool(self._format)

    def _parent(self, reply: JsonObject | None) -> ParentCall | None:
        """The parent's last request as it was sent, and the reply to it."""
        if self._last is None or self._journal.world.model is None:
            return None
        body = self._last
        if body is self._request:
            # The body is the host's own object and may have changed since; our copy of the history has not.
            key = self._codec.history_key()
            body = {name: self._history.items if name == key else value for name, value in body.items()}
        return ParentCall(Request(format=self._format, body=body, label="parent"), reply)

    async def close(self) -> None:
        """Wait for background work, at most a minute, write everything and release the files.

        May be called twice.
        """
        await self._beside.close()
        await self._journal.close()
        self._ended(self)
