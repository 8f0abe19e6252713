"""One conversation: what the host tells is followed, written to the transcript, and turned into notes when they are due."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any, cast

from msgspec import Struct

from memorist.core.messages import JsonObject, Message
from memorist.core.tokens import family_factor
from memorist.errors import FormatError, NothingToDo
from memorist.events import Event, FileRead, HistoryReplaced, Listener, SessionClosed, SessionOpened, TurnsRolledBack
from memorist.forks.spec import ParentCall, Receipt
from memorist.formats import memorist_jsonl
from memorist.formats.recorded import Boundary, Head, Measured, RolledBack
from memorist.formats.registry import codec
from memorist.host_history import HostHistory, as_sent
from memorist.ports import Clock, Files, Model, Request
from memorist.session_memory.follow import Following
from memorist.session_memory.prompt import Texts
from memorist.session_memory.run import Means, SessionMemory
from memorist.session_memory.trigger import Due, Host, allowed
from memorist.settings import Settings
from memorist.store.events import EventLog
from memorist.store.layout import SessionLayout
from memorist.store.lines import LineFile
from memorist.store.sessions import keep_receipt, keep_session
from memorist.store.transcript import TranscriptWriter

CLOSE_SECONDS = 60.0
"""Longest wait for background work when a session is closed (AM-9's bound for every drain)."""

Entry = Head | Message | Boundary | RolledBack | Measured


class World(Struct, frozen=True, kw_only=True):
    """What a session needs from outside."""

    clock: Clock
    files: Files
    database: sqlite3.Connection
    model: Model | None
    settings: Settings
    listener: Listener | None = None


class Session:
    """Opened by `Memorist.open`. Methods are called from one task; updates of the notes run beside it."""

    def __init__(self, id: str, project: str, format: str, layout: SessionLayout, world: World) -> None:  # noqa: A002 - the field's own words
        self.id = id
        self.layout = layout
        self.following = Following(world.settings.session_memory)
        self._project = project
        self._format = format
        self._world = world
        self._codec = codec(format)
        self._last: JsonObject | None = None
        self._receipts: list[Receipt] = []
        self._closed = False

    def start(self, host: Host, texts: Texts) -> None:
        """Read what is on disk and begin. Called once, by the engine."""
        world = self._world
        self._transcript = TranscriptWriter(self.layout.transcript)
        self._events = EventLog(self.layout.events, world.clock)
        self._allowed = allowed(host, world.settings.session_memory)
        means = Means(
            clock=world.clock,
            files=world.files,
            model=world.model,
            settings=world.settings.session_memory,
            limits=world.settings.forks,
            tell=self._tell,
            keep=self._keep_receipt,
        )
        self.memory = SessionMemory(self.layout, self.following, texts, means)
        known = self._take_up()
        self._history = HostHistory(self._codec, known)
        if not known:
            self._record(Head(session=self.id, format="memorist", cwd=self._project))
        keep_session(
            world.database, self.id, project=self._project, folder=str(self.layout.folder), format=self._format, now=world.clock.now()
        )
        self._tell(SessionOpened(self.id, self._format, resumed=bool(known), messages=len(known)))

    def _take_up(self) -> list[str]:
        """Follow the transcript on disk again; the notes' cursor says up to which message they reach (SM-14)."""
        cursor = self.memory.cursor()
        known = []
        recorded = self.layout.transcript
        for entry in memorist_jsonl.read(LineFile(recorded)) if recorded.exists() and recorded.stat().st_size else ():
            if isinstance(entry, Message):
                known.append(entry.id)
            self._follow(entry)
            if cursor is not None and isinstance(entry, Message) and entry.id == cursor.message:
                self.following.updated(self.following.tokens)
        return known

    async def prepare(self, request: JsonObject) -> JsonObject:
        """Take the request that the host is about to send, and give the one to send.

        Costs time in what is new in the history, not in what is old. Raises FormatError when the request is not of the session's format.
        """
        items = self._items(request)
        news = self._history.sent(items)
        self.following.meter.factor = family_factor(str(request.get("model", "")))
        if news.rewritten and self.following.messages:
            self._replaced(Boundary(id="", line=0, trigger="host"))
        for message in news.messages:
            self._take(message)
        self._last = {key: value for key, value in request.items() if key != self._codec.history_key()}
        self._last_keys = list(request)
        return request

    def _items(self, request: JsonObject) -> Sequence[Any]:
        key = self._codec.history_key()
        items = request.get(key)
        if isinstance(items, str) and self._format == "openai_responses":
            return [{"role": "user", "content": items}]
        if not isinstance(items, list | tuple):
            raise FormatError(f"a request of format {self._format!r} holds its history as a list under {key!r}")
        return items

    async def observe(self, reply: object) -> None:
        """Take the model's reply: the SDK's object or its JSON. Starts an update of the notes in the background when one is due.

        Raises FormatError when the reply is not of the session's format.
        """
        body = as_sent(reply)
        if not isinstance(body, dict):
            raise FormatError(f"a reply of format {self._format!r} is an object, not {type(reply).__name__}")
        answer = self._codec.decode_reply(cast("JsonObject", body))
        due: Due | None = None
        for message in self._history.observed(answer.messages):
            due = self._take(message) or due
        self._offer(due or self.following.reply_ended(answer.usage), cast("JsonObject", body))

    async def end_turn(self) -> None:
        """The reply had no tool calls, and the host waits for its user: a natural break."""
        self._offer(self.following.end_turn(), None)
        self._transcript.flush()

    def on_file_read(self, path: str) -> None:
        """A file was read into the conversation by other means than a tool call."""
        self.following.ledger.work.files.read(path)
        self._tell(FileRead(path))

    async def summarise(self) -> str:
        """Bring the notes up to date now, whatever the thresholds say, and give them (SM-11). Raises NothingToDo for an empty conversation."""
        if not self.following.messages:
            raise NothingToDo("the conversation is empty, so there is nothing to take notes of")
        await self.memory.update(Due(why="asked for", tokens=self.following.tokens), self._parent(None))
        return self.notes or ""

    @property
    def notes(self) -> str | None:
        """The notes as they are on disk; None when there are none yet."""
        return self.memory.notes()

    def receipts(self) -> list[Receipt]:
        """What ran in the background since the session was opened, oldest first."""
        return list(self._receipts)

    async def follow(self, entry: Entry) -> None:
        """Take one entry of a recorded session, as a replay does: like live, but an update of the notes is waited for, so that every replay of a file
        gives the same notes.
        """
        due = self._record(entry)
        if due is not None and self._allowed:
            await self.memory.update(due, None)

    def _record(self, entry: Entry) -> Due | None:
        match entry:
            case Message():
                return self._take(entry)
            case Boundary():
                self._replaced(entry)
                return None
            case _:
                self._transcript.append(entry)
                return self._follow(entry)

    def _take(self, message: Message) -> Due | None:
        self._transcript.append(message)
        return self.following.take(message)

    def _follow(self, entry: object) -> Due | None:
        match entry:
            case Message():
                return self.following.take(entry)
            case Measured(context=context):
                return self.following.measured(context)
            case Head():
                self.following.begin(entry)
            case RolledBack():
                self._tell(TurnsRolledBack(entry.turns, entry.messages, entry.line))
            case Boundary():
                self.following.history_replaced(entry.replacement)
        return None

    def _replaced(self, boundary: Boundary) -> None:
        before = self.following.tokens
        self._transcript.append(boundary)
        self.following.history_replaced(boundary.replacement)
        self._tell(HistoryReplaced(boundary.trigger, boundary.tokens_before or before, self.following.tokens, boundary.line))

    def _offer(self, due: Due | None, reply: JsonObject | None) -> None:
        if due is not None and self._allowed:
            self.memory.offer(due, self._parent(reply))

    def _parent(self, reply: JsonObject | None) -> ParentCall | None:
        """The parent's last request as it was sent, and the reply to it."""
        if self._last is None or self._world.model is None:
            return None
        key = self._codec.history_key()
        body = {name: self._history.items if name == key else self._last[name] for name in self._last_keys}
        return ParentCall(Request(format=self._format, body=body, label="parent"), reply)

    def _tell(self, event: Event) -> None:
        self._events.append(event)
        if self._world.listener is not None:
            self._world.listener(event)

    def _keep_receipt(self, receipt: Receipt) -> int:
        self._receipts.append(receipt)
        return keep_receipt(self._world.database, self.id, receipt)

    async def close(self) -> None:
        """Wait for what runs, at most a minute, write everything, and let go of the files. May be called twice."""
        if self._closed:
            return
        self._closed = True
        await self.memory.drain(CLOSE_SECONDS)
        self._transcript.close()
        self._tell(SessionClosed(self.following.messages, self.following.tokens))
        self._events.close()
