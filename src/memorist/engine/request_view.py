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

from memorist.compaction.cache_breakpoints import add_cache_breakpoints, find_host_breakpoints
from memorist.compaction.compaction_input import CompactionInput, CompactionOutcome
from memorist.compaction.compactor import Compactor
from memorist.compaction.window_at_message import find_text_by_id
from memorist.core.json_decoding import decode_json
from memorist.core.messages import JsonObject, Message, Origin, ToolResult
from memorist.engine.host_history import (
    COMPARED_NEWEST_ENTRIES,
    HistoryAdditions,
    HostHistory,
    HostHistoryEntry,
)
from memorist.engine.shown_history import RolledBackTurns, ShownHistory
from memorist.errors import StoreError
from memorist.formats import transcript_format
from memorist.ports import FileSystem
from memorist.safety.redacted_json import encode_redacted
from memorist.store.disk_files import read_json_if_valid, remove_if_exists
from memorist.store.home_layout import SessionLayout
from memorist.store.transcript_reader import UnpackedUtf8Lines

IDLE_WORK_DELAY_SECONDS = 0.02
"""Delay in seconds before idle work begins: by then the host has sent its request and waits.

Our choice: half a megabyte takes some milliseconds, a model takes a second.
"""
LONG_HISTORY_ENTRIES = 256
"""Number of entries from which the history is copied ahead of the next request, because copying it
takes noticeable time.
"""


class SavedViewEntry(Struct, frozen=True):
    """One message of a saved view: a host's by its id, one of memorist's in full.

    Written to disk.
    """

    id: str
    own: Message | None = None


class InjectedMessage(Struct, frozen=True):
    """One of memorist's messages, shown after the message with the id `after`. Written to disk."""

    after: str
    message: Message


def read_saved_view(files: FileSystem, layout: SessionLayout) -> list[SavedViewEntry]:
    """The view that a former process saved; empty where there is none. Raises StoreError."""
    return read_json_if_valid(files, layout.shown_messages, list[SavedViewEntry]) or []


def read_injected_messages(files: FileSystem, layout: SessionLayout) -> list[InjectedMessage]:
    """What was inserted since that view was saved. Raises StoreError."""
    found = []
    with contextlib.suppress(FileNotFoundError):
        for line in files.read(layout.injected_messages).splitlines():
            with contextlib.suppress(msgspec.DecodeError):  # a torn last line
                found.append(decode_json(line, as_type=InjectedMessage))
    return found


class RequestView:
    """The view of one session, with its compactor.

    `compact_if_due` is called before each request, `build_request` returns the request to send.
    """

    def __init__(
        self,
        window: ShownHistory,
        history: HostHistory,
        compactor: Compactor,
        *,
        layout: SessionLayout,
        files: FileSystem,
        raw: bool = False,
    ) -> None:
        self._window = window
        self._encode = msgspec.json.encode if raw else encode_redacted
        self._history = history
        self._compactor = compactor
        self._layout = layout
        self._files = files
        self._saved = read_saved_view(files, layout)
        self._injected = read_injected_messages(files, layout)
        self._host_sets_marks = False
        self._stable_count = 0
        """Items at the start of the history that are unchanged since the last request."""
        self._end_marked = False
        """Whether the last request had a cache mark at its end, so that a longer one may have it
        too.
        """
        self._model: object = None
        self.model = ""
        """The model that the next request names."""
        self.context_window: int | None = None
        """Its context window in tokens; None when unknown."""

    @property
    def differs_from_host_history(self) -> bool:
        """Whether the model is shown something other than the host's history."""
        return self._window.differs_from_host_history

    def set_preamble(self, messages: Sequence[Message]) -> None:
        """Show these messages before all others from the next request on: the first context, which
        is not part of the conversation.
        """
        self._window.set_preamble(messages)
        self._stable_count, self._end_marked = 0, False

    def messages(self) -> tuple[Message, ...]:
        """The messages in the view, without the preamble."""
        return self._window.messages

    def find_rollback(self, update: HistoryAdditions) -> RolledBackTurns | None:
        """Return the turns that the user rolled back, if the host rewrote its history for that and
        nothing else.
        """
        return self._window.find_rollback(update.entries) if update.rewritten else None

    def _apply_rollback(self, rollback: RolledBackTurns, update: HistoryAdditions) -> None:
        """Truncate the view.

        The older part is sent as before, with what was inserted in it, so that the provider's cache
        still serves it.
        """
        self._window.truncate(rollback.host_index)
        if self._window.differs_from_host_history:
            self.show_messages(self._window.messages)
        self._stable_count, self._end_marked = 0, False
        self._window.add_entries(
            [entry for entry in update.entries if entry.index >= rollback.host_index]
        )

    def add_request(
        self, update: HistoryAdditions, rollback: RolledBackTurns | None = None
    ) -> None:
        """Add what came with a request.

        The first request of a process restores the view that the former process saved; without one,
        what the model has already seen stays as it was shown.
        """
        if self._window.first_message is None and not self._saved:
            order = [message for entry in update.entries for message in entry.messages]
            answered = next(
                (
                    index
                    for index in range(len(order) - 1, -1, -1)
                    if order[index].role == "assistant"
                ),
                0,
            )
            self._compactor.keep_shown_results(order[:answered])
        if rollback is not None:
            self._apply_rollback(rollback, update)
        elif update.rewritten:
            self._window.reset_to_host_entries(update.entries)
            self._stable_count, self._end_marked = 0, False
            self._discard_saved()
        else:
            self._window.add_entries(update.entries)
            self._restore_saved(update.entries)
            self._restore_injected()
        self._offload_results(update.entries)
        if (
            self.differs_from_host_history
            and (first := self._window.first_message) is not None
            and first.role == "assistant"
        ):
            # A manual compaction kept nothing, so the reply before it would be the first message
            # shown.
            self.show_messages([self._compactor.build_opening_message(), *self._window.messages])

    def _offload_results(self, entries: Sequence[HostHistoryEntry]) -> None:
        recent = [message for entry in entries for message in entry.messages]
        if not any(isinstance(block, ToolResult) for message in recent for block in message.blocks):
            return
        shown = self._compactor.offload_results(recent)
        if shown is not None:
            whole = self._window.messages
            self.show_messages([*whole[: len(whole) - len(recent)], *shown])

    async def compact_if_due(self, now: float, call: CompactionInput) -> CompactionOutcome | None:
        """Compact what is shown if that is due, requested or forced; None when there was nothing to
        decide. The result is shown by `show_messages`.
        """
        if not (call.manual or call.forced or self._compactor.is_due(now, call.limits)):
            return None
        return await self._compactor.compact(replace(call, messages=self._window.messages))

    def show_messages(self, messages: Sequence[Message]) -> None:
        """Show these messages from now on, and save the view for a new process."""
        hosts = self._window.host_object_ids()
        self._stable_count = min(self._stable_count, self._window.replace_messages(messages))
        self._end_marked = False
        kept = [
            SavedViewEntry(message.id, None if id(message) in hosts else message)
            for message in self._window.messages
        ]
        try:
            self._files.write(self._layout.shown_messages, self._encode(kept))
            remove_if_exists(
                self._files, self._layout.injected_messages
            )  # the saved view holds them now
        except StoreError:
            # Without it a new process shows the host's history and compacts it again; nothing is
            # lost.
            self._saved = []

    def apply_repair(self, repair: Callable[[tuple[Message, ...]], tuple[Message, ...]]) -> None:
        """Replace the shown messages by `repair(messages)`, if that changes any of them."""
        now = self._window.messages
        new = repair(now)
        if len(new) != len(now) or any(
            one is not other for one, other in zip(now, new, strict=True)
        ):
            self.show_messages(new)

    def insert(self, message: Message, *, before: Message | None = None) -> None:
        """Show one of memorist's messages in this request and all later ones.

        It goes after all that is shown, or right before the new host message `before` where it can
        be there. Constant time, however long the view is.
        """
        last = None if before is None else self._window.insert_before(message, before)
        if last is None:
            last = self._window.last_message
            self._window.append_injected(message)
        line = self._encode(InjectedMessage(last.id if last else "", message)) + b"\n"
        with contextlib.suppress(StoreError):  # a new process shows the history without it
            self._files.append(self._layout.injected_messages, line)

    def insert_at_start(self, message: Message) -> None:
        """Show one of memorist's messages before all others except the host's instructions, which
        many providers require first.

        Only for a view that no request has shown yet, or that was just compacted: elsewhere it
        would break the provider's cache.
        """
        order = self._window.messages
        at = next(
            (index for index, each in enumerate(order) if each.role not in ("system", "developer")),
            len(order),
        )
        self.show_messages([*order[:at], message, *order[at:]])

    @property
    def has_model_reply(self) -> bool:
        """Whether the view holds a message of the model."""
        return any(message.origin is Origin.MODEL for message in self._window.messages)

    @property
    def last_message(self) -> Message | None:
        """The last message in the view."""
        return self._window.last_message

    @property
    def accepts_messages(self) -> bool:
        """Whether a message may be added at the end: not after a message of the model, which the
        host wants continued.
        """
        last = self._window.last_message
        return last is not None and last.role != "assistant"

    def build_request(self, request: JsonObject, key: str, *, marks: bool) -> JsonObject:
        """Return the request to send; the same object when nothing changes.

        With `marks`, cache breakpoints are set unless the host sets its own.
        """
        if self._window.differs_from_host_history:
            body = {**request, key: self._window.build_request_items()}
            body = (
                self._add_cache_marks(body, lambda items: items) if marks else body
            )  # the list is our own
        elif marks:
            # The host's entries may be SDK objects; the history holds them as plain JSON.
            body = self._add_cache_marks(
                {**request, key: self._history.entries}, lambda _: self._history.take_copy()
            )
            if body.get(key) is self._history.entries:
                body[key] = self._history.take_copy()
        else:
            body = request
        self._stable_count = len(body[key]) if isinstance(body.get(key), list) else 0
        return body

    def _add_cache_marks(
        self, body: JsonObject, copied: Callable[[list[Any]], list[Any]]
    ) -> JsonObject:
        """Set cache breakpoints.

        As soon as the host sets one itself, memorist sets none in this session.
        """
        start = (
            max(0, self._stable_count - COMPARED_NEWEST_ENTRIES)
            if self._window.differs_from_host_history
            else self._history.unchanged_count
        )
        if not self._host_sets_marks and (
            body.get("cache_control") or find_host_breakpoints(body, start)
        ):
            self._host_sets_marks = True
        if self._host_sets_marks:
            return body
        messages, settled = body["messages"], self._end_marked and body.get("model") == self._model
        marked = add_cache_breakpoints(
            body,
            unchanged_entries=self._stable_count,
            unmarked_entries=len(messages),
            known_cacheable=settled,
            copy_list=copied,
        )
        self._end_marked, self._model = marked["messages"] is not messages, body.get("model")
        return marked

    def prepare_next_request(self) -> None:
        """Do work for the next request in advance, while the host waits for its model."""
        if len(self._history.entries) >= LONG_HISTORY_ENTRIES:
            source = self._window if self._window.differs_from_host_history else self._history
            source.copy_items_ahead_of_request()

    def fetch(self, id: str) -> str | None:
        """Return the full text of a message or tool result that is no longer shown in full; None
        when the session has none with this id.
        """
        path = self._layout.transcript
        if not path.exists():
            return None
        entries = transcript_format.read_session(UnpackedUtf8Lines(path))
        return find_text_by_id((entry for entry in entries if isinstance(entry, Message)), id)

    def injected_texts(self, id_prefix: str) -> list[str]:
        """Texts of the shown messages whose ids start with `id_prefix`."""
        return [
            message.text for message in self._window.messages if message.id.startswith(id_prefix)
        ]

    def _restore_injected(self) -> None:
        """Show again, in its old position, what a former process had inserted between the host's
        messages.
        """
        inserted, self._injected = self._injected, []
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
            self.show_messages(
                [
                    one
                    for index, message in enumerate(shown)
                    for one in (message, *after.get(index, ()))
                ]
            )

    def _restore_saved(self, entries: Sequence[HostHistoryEntry]) -> None:
        """Show what the former process had shown, if the host's history still holds it, and then
        what came after.
        """
        saved, self._saved = self._saved, []
        if not saved:
            return
        given = {message.id: message for entry in entries for message in entry.messages}
        order = [message for entry in entries for message in entry.messages]
        shown = [kept.own or given.get(kept.id) for kept in saved]
        # By id: a message that was shortened is saved in full as memorist's own, and still says how
        # far the host's history was known.
        known = {kept.id for kept in saved}
        last = max(
            (index for index, message in enumerate(order) if message.id in known), default=-1
        )
        if all(message is not None for message in shown) and last >= 0:
            self._window.replace_messages(
                [*(message for message in shown if message is not None), *order[last + 1 :]]
            )
        else:
            self._discard_saved()

    def _discard_saved(self) -> None:
        self._saved = []
        self._injected = []
        with contextlib.suppress(StoreError):  # what the history no longer holds is not restored
            remove_if_exists(self._files, self._layout.shown_messages)
            remove_if_exists(self._files, self._layout.injected_messages)
