"""A conversation as its model is shown it, entry by entry: the host's entries, or what
replaced them.

Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from memorist.context.turn_rollback import starts_turn
from memorist.core.messages import WORLD_STATE_ID_PREFIX, Message
from memorist.engine.host_history import COMPARED_NEWEST_ENTRIES, HostHistory, HostHistoryEntry
from memorist.formats.request_codec import Codec, copy_cache_mark, strip_entry_cache_marks


class ShownEntry(Struct, frozen=True):
    """One entry of the view: an entry of the host, by its index, or one of memorist's, with its
    wire items.
    """

    messages: tuple[Message, ...]
    host_index: int | None
    items: tuple[Any, ...] = ()
    replaced_index: int | None = None
    """The host's entry that one of memorist's is shown in place of."""


class RolledBackTurns(Struct, frozen=True):
    """Turns that the user rolled back: the index of the first host entry that differs, and the
    messages that are gone.
    """

    host_index: int
    messages: tuple[Message, ...]

    @property
    def turns(self) -> int:
        """Number of turns that are gone."""
        return sum(map(starts_turn, self.messages))


class ShownHistory:
    """The entries that the next request shows."""

    def __init__(self, codec: Codec, history: HostHistory) -> None:
        self._codec = codec
        self._history = history
        self._entries: list[ShownEntry] = []
        self._preamble: ShownEntry | None = None
        """The preamble before the conversation.

        It has no messages, since it is not part of the conversation.
        """
        self._sent_items: list[Any] = []
        """Wire items that were sent for the first `_sent_count` entries, so that a request costs
        time in its new entries only.
        """
        self._sent_count = 0
        self._prepared_copy: list[Any] | None = None
        self._instructions_version = 0
        """That of the instructions among what was sent."""
        self.differs_from_host_history = False
        """Whether the view differs from the host's history."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages in the view, in order."""
        return tuple(message for shown in self._entries for message in shown.messages)

    def host_object_ids(self) -> frozenset[int]:
        """The `id()` of each message object that comes from the host's own entries: only those can
        be found again in its history.
        """
        return frozenset(
            id(message)
            for shown in self._entries
            if shown.host_index is not None
            for message in shown.messages
        )

    @property
    def first_message(self) -> Message | None:
        """The first message in the view."""
        return next((message for shown in self._entries for message in shown.messages), None)

    def add_entries(self, entries: Sequence[HostHistoryEntry]) -> None:
        """Append the entries of a new request."""
        self._entries += [ShownEntry(entry.messages, entry.index) for entry in entries]

    def reset_to_host_entries(self, entries: Sequence[HostHistoryEntry]) -> None:
        """Show the host's own entries again, after the host rewrote its history."""
        self._replace_entries([ShownEntry(entry.messages, entry.index) for entry in entries])
        self.differs_from_host_history = self._preamble is not None

    def set_preamble(self, messages: Sequence[Message]) -> None:
        """Show these messages before the conversation, after the host's own instructions, from the
        next request on.

        Neither a compaction nor a rewritten history changes them.
        """
        shown = [each for each in self._entries if each is not self._preamble]
        self._preamble = ShownEntry((), None, tuple(self._codec.encode_messages(messages)))
        self._replace_entries(shown)
        self.differs_from_host_history = True

    def find_rollback(self, entries: Sequence[HostHistoryEntry]) -> RolledBackTurns | None:
        """Detect a rollback: the rewritten history equals the old one up to the start of a turn,
        followed by new user messages or nothing.

        None for every other rewriting. Entries that a compaction removed from the view are not
        compared.
        """
        hosts = [shown for shown in self._entries if shown.host_index is not None]
        for index, shown in enumerate(hosts):
            at = shown.host_index or 0
            if at >= len(entries) or _message_ids(shown.messages) != _message_ids(
                entries[at].messages
            ):
                dropped = tuple(message for each in hosts[index:] for message in each.messages)
                after = [message for entry in entries[at:] for message in entry.messages]
                begins = bool(index) and bool(dropped) and starts_turn(dropped[0])
                fresh = all(starts_turn(message) for message in after) and all(
                    entry.new_messages == entry.messages for entry in entries[at:]
                )
                return RolledBackTurns(at, dropped) if begins and fresh else None
        return None

    def truncate(self, host_index: int) -> None:
        """Keep only the entries before the host's entry of this index, and before the world changes
        that were inserted for it. What was inserted for an entry that stays, stays.
        """
        end = next(
            (
                index
                for index, shown in enumerate(self._entries)
                if shown.host_index is not None and shown.host_index >= host_index
            ),
            len(self._entries),
        )
        removed = tuple(
            f"{WORLD_STATE_ID_PREFIX}{each.id}"
            for shown in self._entries[end : end + 1]
            for each in shown.messages
        )
        while (
            end
            and self._entries[end - 1].host_index is None
            and any(each.id.startswith(removed) for each in self._entries[end - 1].messages)
        ):
            end -= 1
        self._replace_entries(
            [shown for shown in self._entries[:end] if shown is not self._preamble]
        )

    def _replace_entries(self, shown: list[ShownEntry]) -> None:
        self._entries, self._sent_items, self._sent_count, self._prepared_copy = shown, [], 0, None
        if self._preamble is not None:
            shown.insert(
                next(
                    (at for at, each in enumerate(shown) if not _is_instructions(each)), len(shown)
                ),
                self._preamble,
            )

    def append_injected(self, message: Message) -> None:
        """Show one of memorist's messages after all others."""
        self._entries.append(self._build_own_entry(message))

    def insert_before(self, message: Message, other: Message) -> Message | None:
        """Insert one of memorist's messages right before the host's entry that holds `other`, and
        return the message before it.

        Returns None and inserts nothing when that entry was already sent, when the model has
        answered it, or when a call would be separated from its results.
        """
        at = len(self._entries)
        while at > self._sent_count:
            at -= 1
            here = self._entries[at].messages
            if any(each.role == "assistant" or each.tool_results for each in here):
                return None
            if any(each is other for each in here):
                before = self._message_before(at)
                if before is None or before.tool_uses:
                    return None
                self._entries.insert(at, self._build_own_entry(message))
                return before
        return None

    def _message_before(self, at: int) -> Message | None:
        return next(
            (
                message
                for position in range(at - 1, -1, -1)
                for message in reversed(self._entries[position].messages)
            ),
            None,
        )

    def _build_own_entry(self, message: Message) -> ShownEntry:
        self.differs_from_host_history = True
        return self._encode_entry(message)

    def _encode_entry(self, message: Message, replaced_index: int | None = None) -> ShownEntry:
        """One of memorist's entries, without the cache marks that the host's may have had then."""
        items = map(strip_entry_cache_marks, self._codec.encode_messages([message]))
        return ShownEntry((message,), None, tuple(items), replaced_index)

    @property
    def last_message(self) -> Message | None:
        """The last message in the view."""
        return self._message_before(len(self._entries))

    def replace_messages(self, messages: Sequence[Message]) -> int:
        """Replace the view by these messages. Message objects that are already in the view keep
        their wire form.

        Returns the number of wire items at the start of the history that stay unchanged.
        """
        known = {id(shown.messages[0]): shown for shown in self._entries if shown.messages}
        indexes = {
            message.id: shown.replaced_index if shown.host_index is None else shown.host_index
            for shown in self._entries
            for message in shown.messages
        }
        new: list[ShownEntry] = []
        at = 0
        while at < len(messages):
            shown = known.get(id(messages[at]))
            count = 0 if shown is None else len(shown.messages)
            if shown is not None and all(
                mine is theirs
                for mine, theirs in zip(shown.messages, messages[at : at + count], strict=False)
            ):
                new.append(shown)
                at += count
            else:
                new.append(self._encode_entry(messages[at], indexes.get(messages[at].id)))
                at += 1
        before_it = self._entries
        self._replace_entries(new)
        same = 0
        for before, after in zip(before_it, new, strict=False):
            if before is not after:
                break
            same += 1 if after.host_index is not None else len(after.items)
        self.differs_from_host_history = True
        return same

    def copy_items_ahead_of_request(self) -> None:
        """Copy the list of items ahead of the next request, as `HostHistory` does."""
        self._prepared_copy = list(self._sent_items)

    def build_request_items(self) -> list[Any]:
        """The history of the request for this view; the list is the caller's own."""
        version = self._history.instructions_version
        since = self._first_unsettled() if version == self._instructions_version else 0
        self._instructions_version = version
        size = sum(
            len(shown.items) if shown.host_index is None else 1
            for shown in self._entries[since : self._sent_count]
        )
        same = len(self._sent_items) - size
        del self._sent_items[same:]
        following = [*self._entries[since + 1 :], None]
        for shown, after in zip(self._entries[since:], following, strict=True):
            if shown.host_index is not None:
                self._sent_items.append(self._history.get_entry(shown.host_index))
            elif shown.replaced_index is None or (
                after is not None and after.replaced_index == shown.replaced_index
            ):
                self._sent_items += shown.items
            else:
                source = self._history.get_entry(shown.replaced_index)
                *others, last = shown.items
                self._sent_items += [*others, copy_cache_mark(source, last)]
        self._sent_count = len(self._entries)
        spare, self._prepared_copy = self._prepared_copy, None
        if spare is None:
            return list(self._sent_items)
        spare[same:] = self._sent_items[same:]
        return spare

    def _first_unsettled(self) -> int:
        """Index of the first entry that may differ from what was sent: a host may have moved its
        cache marks within its newest entries.
        """
        at, newest = self._sent_count, None
        while at > 0:
            index = self._entries[at - 1].host_index
            newest = index if newest is None else newest
            if (
                index is not None
                and newest is not None
                and index <= newest - COMPARED_NEWEST_ENTRIES
            ):
                break
            at -= 1
        return at


def _message_ids(messages: Sequence[Message]) -> list[str]:
    return [message.id for message in messages]


def _is_instructions(shown: ShownEntry) -> bool:
    """Whether an entry holds only the host's instructions, which many providers require first."""
    return bool(shown.messages) and all(
        message.role in ("system", "developer") for message in shown.messages
    )
