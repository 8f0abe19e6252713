"""The entries that the model is shown: the host's own, or what compaction made of them. Pure.

Until something is compacted the host's request goes out unchanged. After that the view holds the
new history; entries that were kept are sent byte for byte as the host wrote them, and only
memorist's own entries are encoded here. That keeps the prefix stable for the provider's cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from memorist.context.rollback import is_turn
from memorist.core.messages import WORLD_CHANGE, Message
from memorist.engine.host_history import WINDOW, Entry, HostHistory
from memorist.formats.codec import Codec


class Shown(Struct, frozen=True):
    """One entry of the view: an entry of the host, by its index, or one of memorist's, with its
    wire items.
    """

    messages: tuple[Message, ...]
    index: int | None
    items: tuple[Any, ...] = ()


class TakenBack(Struct, frozen=True):
    """Turns that the user rolled back: the index of the first host entry that differs, and the
    messages that are gone.
    """

    at: int
    messages: tuple[Message, ...]

    @property
    def turns(self) -> int:
        """Number of turns that are gone."""
        return sum(map(is_turn, self.messages))


class Window:
    """The entries that the next request shows."""

    def __init__(self, codec: Codec, history: HostHistory) -> None:
        self._codec = codec
        self._history = history
        self._shown: list[Shown] = []
        self._lead: Shown | None = None
        """The preamble before the conversation.

        It has no messages, since it is not part of the conversation.
        """
        self._items: list[Any] = []
        """Wire items that were sent for the first `_sent_count` entries, so that a request costs
        time in its new entries only.
        """
        self._sent = 0
        self._spare: list[Any] | None = None
        self.changed = False
        """Whether the view differs from the host's history."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages in the view, in order."""
        return tuple(message for shown in self._shown for message in shown.messages)

    def of_host(self) -> frozenset[int]:
        """The `id()` of each message object that comes from the host's own entries: only those can
        be found again in its history.
        """
        return frozenset(id(message) for shown in self._shown if shown.index is not None for message in shown.messages)

    @property
    def first(self) -> Message | None:
        """The first message in the view."""
        return next((message for shown in self._shown for message in shown.messages), None)

    def take(self, entries: Sequence[Entry]) -> None:
        """Append the entries of a new request."""
        self._shown += [Shown(entry.messages, entry.index) for entry in entries]

    def restart(self, entries: Sequence[Entry]) -> None:
        """Show the host's own entries again, after the host rewrote its history."""
        self._put([Shown(entry.messages, entry.index) for entry in entries])
        self.changed = self._lead is not None

    def lead(self, messages: Sequence[Message]) -> None:
        """Show these messages before the conversation, after the host's own instructions, from the
        next request on.

        Neither a compaction nor a rewritten history changes them.
        """
        shown = [each for each in self._shown if each is not self._lead]
        self._lead = Shown((), None, tuple(self._codec.encode_messages(messages)))
        self._put(shown)
        self.changed = True

    def taken_back(self, entries: Sequence[Entry]) -> TakenBack | None:
        """Detect a rollback: the rewritten history equals the old one up to the start of a turn,
        followed by new user messages or nothing.

        None for every other rewriting. Entries that a compaction removed from the view are not
        compared.
        """
        hosts = [shown for shown in self._shown if shown.index is not None]
        for place, shown in enumerate(hosts):
            at = shown.index or 0
            if at >= len(entries) or _ids(shown.messages) != _ids(entries[at].messages):
                dropped = tuple(message for each in hosts[place:] for message in each.messages)
                after = [message for entry in entries[at:] for message in entry.messages]
                begins = bool(place) and bool(dropped) and is_turn(dropped[0])
                fresh = all(is_turn(message) for message in after) and all(entry.new == entry.messages for entry in entries[at:])
                return TakenBack(at, dropped) if begins and fresh else None
        return None

    def cut_back(self, at: int) -> None:
        """Keep only the entries before the host's entry of this index, and before the world changes
        that were inserted for it. What was inserted for an entry that stays, stays.
        """
        end = next((place for place, shown in enumerate(self._shown) if shown.index is not None and shown.index >= at), len(self._shown))
        gone = tuple(f"{WORLD_CHANGE}{each.id}" for shown in self._shown[end : end + 1] for each in shown.messages)
        while end and self._shown[end - 1].index is None and any(each.id.startswith(gone) for each in self._shown[end - 1].messages):
            end -= 1
        self._put([shown for shown in self._shown[:end] if shown is not self._lead])

    def _put(self, shown: list[Shown]) -> None:
        self._shown, self._items, self._sent, self._spare = shown, [], 0, None
        if self._lead is not None:
            shown.insert(next((at for at, each in enumerate(shown) if not _instructs(each)), len(shown)), self._lead)

    def append(self, message: Message) -> None:
        """Show one of memorist's messages after all others."""
        self._shown.append(self._ours(message))

    def put_before(self, message: Message, other: Message) -> Message | None:
        """Insert one of memorist's messages right before the host's entry that holds `other`, and
        return the message before it.

        Returns None and inserts nothing when that entry was already sent, when the model has
        answered it, or when a call would be separated from its results.
        """
        at = len(self._shown)
        while at > self._sent:
            at -= 1
            here = self._shown[at].messages
            if any(each.role == "assistant" or each.tool_results for each in here):
                return None
            if any(each is other for each in here):
                before = self._before(at)
                if before is None or before.tool_uses:
                    return None
                self._shown.insert(at, self._ours(message))
                return before
        return None

    def _before(self, at: int) -> Message | None:
        return next((message for place in range(at - 1, -1, -1) for message in reversed(self._shown[place].messages)), None)

    def _ours(self, message: Message) -> Shown:
        self.changed = True
        return Shown((message,), None, tuple(self._codec.encode_messages([message])))

    @property
    def last(self) -> Message | None:
        """The last message in the view."""
        return self._before(len(self._shown))

    def rewrite(self, messages: Sequence[Message]) -> int:
        """Replace the view by these messages. Message objects that are already in the view keep
        their wire form.

        Returns the number of wire items at the start of the history that stay unchanged.
        """
        known = {id(shown.messages[0]): shown for shown in self._shown if shown.messages}
        new: list[Shown] = []
        at = 0
        while at < len(messages):
            shown = known.get(id(messages[at]))
            count = 0 if shown is None else len(shown.messages)
            if shown is not None and all(mine is theirs for mine, theirs in zip(shown.messages, messages[at : at + count], strict=False)):
                new.append(shown)
                at += count
            else:
                new.append(Shown((messages[at],), None, tuple(self._codec.encode_messages([messages[at]]))))
                at += 1
        before_it = self._shown
        self._put(new)
        same = 0
        for before, after in zip(before_it, new, strict=False):
            if before is not after:
                break
            same += 1 if after.index is not None else len(after.items)
        self.changed = True
        return same

    def make_spare(self) -> None:
        """Copy the list of items ahead of the next request, as `HostHistory.prepare_copy` does."""
        self._spare = list(self._items)

    def items(self) -> list[Any]:
        """The history of the request for this view; the list is the caller's own."""
        since = self._unsettled()
        size = sum(len(shown.items) if shown.index is None else 1 for shown in self._shown[since : self._sent])
        same = len(self._items) - size
        del self._items[same:]
        for shown in self._shown[since:]:
            if shown.index is None:
                self._items += shown.items
            else:
                self._items.append(self._history.item(shown.index))
        self._sent = len(self._shown)
        spare, self._spare = self._spare, None
        if spare is None:
            return list(self._items)
        spare[same:] = self._items[same:]
        return spare

    def _unsettled(self) -> int:
        """Index of the first entry that may differ from what was sent: a host may have moved its
        cache marks within its newest entries.
        """
        at, newest = self._sent, None
        while at > 0:
            index = self._shown[at - 1].index
            newest = index if newest is None else newest
            if index is not None and newest is not None and index <= newest - WINDOW:
                break
            at -= 1
        return at


def _ids(messages: Sequence[Message]) -> list[str]:
    return [message.id for message in messages]


def _instructs(shown: Shown) -> bool:
    """Whether an entry holds only the host's instructions, which many providers require first."""
    return bool(shown.messages) and all(message.role in ("system", "developer") for message in shown.messages)
