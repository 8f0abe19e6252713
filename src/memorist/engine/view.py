"""What the model of a session is shown: the host's history, compacted where necessary, and access
to what was removed.
"""

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
"""Delay in seconds before idle work begins: by then the host has sent its request and waits.

Our choice: half a megabyte takes some milliseconds, a model takes a second.
"""
LONG = 256
"""Number of entries from which the history is copied ahead of the next request, because copying it
takes noticeable time.
"""


class Kept(Struct, frozen=True):
    """One message of a saved view: a host's by its id, one of memorist's in full.

    Written to disk.
    """

    id: str
    own: Message | None = None


class Inserted(Struct, frozen=True):
    """One of memorist's messages, shown after the message with the id `after`. Written to disk."""

    after: str
    message: Message


class View:
    """The view of one session, with its compactor.

    `compact_if_due` is called before each request, `build_request` returns the request to send.
    """

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
        """Items at the start of the history that are unchanged since the last request."""
        self._settled = False
        """Whether the last request had a cache mark at its end, so that a longer one may have it
        too.
        """
        self._model: object = None

    @property
    def changed(self) -> bool:
        """Whether the model is shown something other than the host's history."""
        return self._window.changed

    def lead(self, messages: Sequence[Message]) -> None:
        """Show these messages before all others from the next request on: the first context, which
        is not part of the conversation.
        """
        self._window.lead(messages)
        self._same, self._settled = 0, False

    def messages(self) -> tuple[Message, ...]:
        """The messages in the view, without the preamble."""
        return self._window.messages

    def taken_back(self, news: News) -> TakenBack | None:
        """Return the turns that the user rolled back, if the host rewrote its history for that and
        nothing else.
        """
        return self._window.taken_back(news.entries) if news.rewritten else None

    def _cut_back(self, back: TakenBack, news: News) -> None:
        """Truncate the view.

        The older part is sent as before, with what was inserted in it, so that the provider's cache
        still serves it.
        """
        self._window.cut_back(back.at)
        if self._window.changed:
            self._show(self._window.messages)
        self._same, self._settled = 0, False
        self._window.take([entry for entry in news.entries if entry.index >= back.at])

    def take(self, news: News, back: TakenBack | None = None) -> None:
        """Add what came with a request.

        The first request of a process restores the view that the former process saved; without one,
        what the model has already seen stays as it was shown.
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
            # A manual compaction kept nothing, so the reply before it would be the first message shown.
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
        """Compact the view if that is due, requested or forced; None when there was nothing to
        decide.
        """
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
            discard(self._files, self._layout.inserts)  # the saved view holds them now
        except StoreError:
            # Without it a new process shows the host's history and compacts it again; nothing is lost.
            self._saved = []

    def mend(self, mended: Callable[[tuple[Message, ...]], tuple[Message, ...]]) -> None:
        """Replace the shown messages by `repair(messages)`, if that changes any of them."""
        now = self._window.messages
        new = mended(now)
        if len(new) != len(now) or any(one is not other for one, other in zip(now, new, strict=True)):
            self._show(new)

    def insert(self, message: Message, *, before: Message | None = None) -> None:
        """Show one of memorist's messages in this request and all later ones.

        It goes after all that is shown, or right before the new host message `before` where it can
        stand there. Constant time, however long the view is.
        """
        last = None if before is None else self._window.put_before(message, before)
        if last is None:
            last = self._window.last
            self._window.append(message)
        line = msgspec.json.encode(Inserted(last.id if last else "", message)) + b"\n"
        with contextlib.suppress(StoreError):  # a new process shows the history without it
            self._files.append(self._layout.inserts, line)

    def insert_first(self, message: Message) -> None:
        """Show one of memorist's messages before all others except the host's instructions, which
        many providers require first.

        Only for a view that no request has shown yet, or that was just compacted: elsewhere it
        would break the provider's cache.
        """
        order = self._window.messages
        at = next((index for index, each in enumerate(order) if each.role not in ("system", "developer")), len(order))
        self._show([*order[:at], message, *order[at:]])

    @property
    def begun(self) -> bool:
        """Whether the view holds a message of the model."""
        return any(message.origin is Origin.MODEL for message in self._window.messages)

    @property
    def newest(self) -> Message | None:
        """The last message in the view."""
        return self._window.last

    @property
    def open_for_more(self) -> bool:
        """Whether a message may be added at the end: not after a message of the model, which the
        host wants continued.
        """
        last = self._window.last
        return last is not None and last.role != "assistant"

    def body(self, request: JsonObject, key: str, *, marks: bool) -> JsonObject:
        """Return the request to send; the same object when nothing changes.

        With `marks`, cache breakpoints are set unless the host sets its own.
        """
        if self._window.changed:
            body = {**request, key: self._window.items()}
            body = self._marked(body, lambda items: items) if marks else body  # the list is our own
        elif marks:
            # The host's entries may be SDK objects; the history holds them as plain JSON.
            body = self._marked({**request, key: self._history.entries}, lambda _: self._history.taken_spare())
            if body.get(key) is self._history.entries:
                body[key] = self._history.taken_spare()
        else:
            body = request
        self._same = len(body[key]) if isinstance(body.get(key), list) else 0
        return body

    def _marked(self, body: JsonObject, copied: Callable[[list[Any]], list[Any]]) -> JsonObject:
        """Set cache breakpoints.

        As soon as the host sets one itself, memorist sets none in this session.
        """
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
        """Do work for the next request in advance, while the host waits for its model."""
        if len(self._history.entries) >= LONG:
            self._window.make_spare() if self._window.changed else self._history.make_spare()

    def items(self) -> list[Any]:
        """The history as it was last sent."""
        return self._window.items() if self._window.changed else self._history.items

    def fetch(self, wanted: str) -> str | None:
        """Return the full text of a message or tool result that is no longer shown in full; None
        when the session has none with this id.
        """
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
        """Texts of the shown messages whose ids start with `id_prefix`."""
        return [message.text for message in self._window.messages if message.id.startswith(start)]

    def _put_back(self) -> None:
        """Show again, in its old position, what a former process had inserted between the host's
        messages.
        """
        inserted, self._inserted = self._inserted, []
        if not inserted:
            return
        shown = self._window.messages
        last = {message.id: index for index, message in enumerate(shown)}
        there = {
            (message.id, message.text) for message in shown
        }  # the view was saved with them, and the process killed before it deleted the inserts
        after: dict[int, list[Message]] = {}
        for each in inserted:
            at = last.get(each.after)
            if at is not None and (each.message.id, each.message.text) not in there:
                after.setdefault(at, []).append(each.message)
                last[each.message.id] = at
        if after:
            self._show([one for index, message in enumerate(shown) for one in (message, *after.get(index, ()))])

    def _take_up(self, entries: Sequence[Entry]) -> None:
        """Show what the former process had shown, if the host's history still holds it, and then
        what came after.
        """
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
