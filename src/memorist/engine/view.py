"""What a session's model is shown: the host's history, made smaller where it must be, and the way back to what was taken out."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from memorist.compaction.call import Call, Done
from memorist.compaction.marks import host_marks, mark
from memorist.compaction.recorded import found
from memorist.compaction.run import Compactor
from memorist.core.messages import JsonObject, Message, Origin, ToolResult
from memorist.engine.host_history import WINDOW, Entry, HostHistory, News
from memorist.engine.window import TakenBack, Window
from memorist.errors import StoreError
from memorist.formats import memorist_jsonl
from memorist.ports import Files
from memorist.store.files import discard
from memorist.store.layout import SessionLayout
from memorist.store.lines import LineFile

SENT_SECONDS = 0.02
"""After it a host has sent the request that it was given, and waits. Ours: half a megabyte takes some milliseconds; a model takes a second."""
LONG = 256
"""Entries of a history that takes longer to copy than to ask for a copy ahead of time."""


class Kept(Struct, frozen=True):
    """One message of a saved window: a host's by its id, or ours in full."""

    id: str
    own: Message | None = None


class Inserted(Struct, frozen=True):
    """A message of ours that was shown after the message with the id `after`."""

    after: str
    message: Message


class View:
    """The window of one session, with its compactor. `fit` is called before each request, `body` gives the request to send."""

    def __init__(self, window: Window, history: HostHistory, compactor: Compactor, *, layout: SessionLayout, files: Files) -> None:
        self._window = window
        self._history = history
        self._compactor = compactor
        self._layout = layout
        self._files = files
        self._saved = self._load()
        self._inserted = self._load_inserts()
        self._host_marks = False
        self._same = 0
        """Entries at the start of the history that stand as in the last request."""
        self._settled = False
        """Whether the last request had a mark at its end, so that a longer one may have."""
        self._model: object = None

    @property
    def changed(self) -> bool:
        """Whether the model is shown something else than the host's history."""
        return self._window.changed

    def lead(self, messages: Sequence[Message]) -> None:
        """Show these before all others from the next request on: the session's first context, which is no part of the conversation."""
        self._window.lead(messages)
        self._same, self._settled = 0, False

    def messages(self) -> tuple[Message, ...]:
        """The messages that are shown, without the lead."""
        return self._window.messages

    def taken_back(self, news: News) -> TakenBack | None:
        """The turns that the user took back, where the host rewrote its history for that and nothing else."""
        return self._window.taken_back(news.entries) if news.rewritten else None

    def _cut_back(self, back: TakenBack, news: News) -> None:
        """The older part goes out as it did, with what was shown in it, so that the provider's cache still serves it."""
        self._window.cut_back(back.at)
        if self._window.changed:
            self._show(self._window.messages)
        self._same, self._settled = 0, False
        self._window.take([entry for entry in news.entries if entry.index >= back.at])

    def take(self, news: News, back: TakenBack | None = None) -> None:
        """Take in what came with a request. The first request of a process takes up the window that the last process had saved; where there is none, what
        the model has seen already stays as it was shown.
        """
        if self._window.first is None and not self._saved:
            order = [message for entry in news.entries for message in entry.messages]
            answered = next((index for index in range(len(order) - 1, -1, -1) if order[index].role == "assistant"), 0)
            self._compactor.joined(order[:answered])
        if back is not None:
            self._cut_back(back, news)
        elif news.rewritten:
            self._window.restart(news.entries)
            self._same, self._settled = 0, False
            self._forget()
        else:
            self._window.take(news.entries)
            self._take_up(news.entries)
            self._put_back()
        self._offload(news.entries)
        if self.changed and (first := self._window.first) is not None and first.role == "assistant":
            # A compaction by hand kept nothing, and the reply that it came after is the first to be shown.
            self._show([self._compactor.lead(), *self._window.messages])

    def _offload(self, entries: Sequence[Entry]) -> None:
        recent = [message for entry in entries for message in entry.messages]
        if not any(isinstance(block, ToolResult) for message in recent for block in message.blocks):
            return
        shown = self._compactor.offload(recent)
        if shown is not None:
            whole = self._window.messages
            self._show([*whole[: len(whole) - len(recent)], *shown])

    async def fit(self, now: float, call: Call) -> Done | None:
        """Make the window smaller if it is due, asked for or forced; None when there was nothing to decide."""
        if not (call.manual or call.forced or self._compactor.due(now, call.limits)):
            return None
        done = await self._compactor.make_smaller(replace(call, messages=self._window.messages))
        if done.result is not None:
            self._show(done.result.messages)
        return done

    def _show(self, messages: Sequence[Message]) -> None:
        hosts = self._window.of_host()
        self._same, self._settled = min(self._same, self._window.rewrite(messages)), False
        kept = [Kept(message.id, None if id(message) in hosts else message) for message in self._window.messages]
        try:
            self._files.write(self._layout.window, msgspec.json.encode(kept))
            discard(self._files, self._layout.inserts)  # the window holds them now
        except StoreError:
            # Without it a new process shows the host's history again and compacts it anew; nothing is lost.
            self._saved = []

    def mend(self, mended: Callable[[tuple[Message, ...]], tuple[Message, ...]]) -> None:
        """Show what `mended` makes of the messages, where it makes something else of them."""
        now = self._window.messages
        new = mended(now)
        if len(new) != len(now) or any(one is not other for one, other in zip(now, new, strict=True)):
            self._show(new)

    def insert(self, message: Message, *, before: Message | None = None) -> None:
        """Show a message of ours with this request and every later one: after what is shown now, or right before this new message of the host's where it
        can stand there. Costs the same however long the window is.
        """
        last = None if before is None else self._window.put_before(message, before)
        if last is None:
            last = self._window.last
            self._window.append(message)
        line = msgspec.json.encode(Inserted(last.id if last else "", message)) + b"\n"
        with contextlib.suppress(StoreError):  # a new process shows the history without it
            self._files.append(self._layout.inserts, line)

    def insert_first(self, message: Message) -> None:
        """Show a message of ours before all others but the host's instructions, which many providers want first; for a window that no request has shown
        yet, or that was just made anew.
        """
        order = self._window.messages
        at = next((index for index, each in enumerate(order) if each.role not in ("system", "developer")), len(order))
        self._show([*order[:at], message, *order[at:]])

    @property
    def begun(self) -> bool:
        """Whether the model has spoken in what is shown."""
        return any(message.origin is Origin.MODEL for message in self._window.messages)

    @property
    def newest(self) -> Message | None:
        """The last message that is shown."""
        return self._window.last

    @property
    def open_for_more(self) -> bool:
        """Whether something may be shown at the end: not after words of the model, which the host wants continued."""
        last = self._window.last
        return last is not None and last.role != "assistant"

    def body(self, request: JsonObject, key: str, *, marks: bool) -> JsonObject:
        """The request to send: the very same object where nothing is to be changed. With `marks` it gets cache breakpoints where the host set none."""
        if self._window.changed:
            body = {**request, key: self._window.items()}
            body = self._marked(body, lambda items: items) if marks else body  # the list is our own already
        elif marks:
            # The host's entries may be objects of an SDK; the history has them as they are sent.
            body = self._marked({**request, key: self._history.entries}, lambda _: self._history.taken_spare())
            if body.get(key) is self._history.entries:
                body[key] = self._history.taken_spare()
        else:
            body = request
        self._same = len(body[key]) if isinstance(body.get(key), list) else 0
        return body

    def _marked(self, body: JsonObject, copied: Callable[[list[Any]], list[Any]]) -> JsonObject:
        """Breakpoints for a host that sets none. One that does knows its own ways, and is left alone from then on."""
        start = max(0, self._same - WINDOW) if self._window.changed else self._history.unchanged
        if not self._host_marks and (body.get("cache_control") or host_marks(body, start)):
            self._host_marks = True
        if self._host_marks:
            return body
        messages, settled = body["messages"], self._settled and body.get("model") == self._model
        marked = mark(body, same=self._same, bare=len(messages), settled=settled, copied=copied)
        self._settled, self._model = marked["messages"] is not messages, body.get("model")
        return marked

    def make_ready(self) -> None:
        """What the next request will need anyway, done while the host waits for its model."""
        if len(self._history.entries) >= LONG:
            self._window.make_spare() if self._window.changed else self._history.make_spare()

    def items(self) -> list[Any]:
        """The history as it was last sent."""
        return self._window.items() if self._window.changed else self._history.items

    def fetch(self, wanted: str) -> str | None:
        """The whole text of a message or tool result that is no longer shown in full, by its id; None when the session has none of that id."""
        path = self._layout.transcript
        if not path.exists():
            return None
        entries = memorist_jsonl.read(LineFile(path))
        return found((entry for entry in entries if isinstance(entry, Message)), wanted)

    def _load(self) -> list[Kept]:
        try:
            return msgspec.json.decode(self._files.read(self._layout.window), type=list[Kept])
        except (FileNotFoundError, msgspec.DecodeError):
            return []

    def _load_inserts(self) -> list[Inserted]:
        found = []
        try:
            for line in self._files.read(self._layout.inserts).splitlines():
                with contextlib.suppress(msgspec.DecodeError):  # a torn last line
                    found.append(msgspec.json.decode(line, type=Inserted))
        except FileNotFoundError:
            pass
        return found

    def own(self, start: str) -> list[str]:
        """Texts of the messages that are shown whose ids begin so."""
        return [message.text for message in self._window.messages if message.id.startswith(start)]

    def _put_back(self) -> None:
        """Show again, where it stood, what a former process had shown beside the host's messages."""
        inserted, self._inserted = self._inserted, []
        if not inserted:
            return
        shown = self._window.messages
        last = {message.id: index for index, message in enumerate(shown)}
        there = {
            (message.id, message.text) for message in shown
        }  # the window was saved with them, and the process killed before it said so
        after: dict[int, list[Message]] = {}
        for each in inserted:
            at = last.get(each.after)
            if at is not None and (each.message.id, each.message.text) not in there:
                after.setdefault(at, []).append(each.message)
                last[each.message.id] = at
        if after:
            self._show([one for index, message in enumerate(shown) for one in (message, *after.get(index, ()))])

    def _take_up(self, entries: Sequence[Entry]) -> None:
        """Show what the last process had shown, where the host's history still holds it, and then what came after."""
        saved, self._saved = self._saved, []
        if not saved:
            return
        given = {message.id: message for entry in entries for message in entry.messages}
        order = [message for entry in entries for message in entry.messages]
        shown = [kept.own or given.get(kept.id) for kept in saved]
        last = max((index for index, message in enumerate(order) if any(message is one for one in shown)), default=-1)
        if all(message is not None for message in shown) and last >= 0:
            self._window.rewrite([*(message for message in shown if message is not None), *order[last + 1 :]])
        else:
            self._forget()

    def _forget(self) -> None:
        self._saved = []
        self._inserted = []
        discard(self._files, self._layout.window)
        discard(self._files, self._layout.inserts)
