"""Tell the unnamed conversations of one client apart, by their histories.

A client sends its whole history with each request and names nothing. A request goes on with the
conversation whose newest messages it repeats: also one that the host has cut at its start or
changed in its middle, one that is tried again, and one whose last turn the user rewords. Any other
one begins a conversation: starting over is better than mixing two.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
import uuid
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from msgspec import Struct, field

from memorist.core.messages import JsonObject, Message, TextBlock
from memorist.engine.host_history import (
    compute_message_digest,
    replace_lone_surrogates,
    to_plain_json,
)
from memorist.errors import FormatError
from memorist.formats.codec_registry import find_codec

MAX_DEFAULT_CONVERSATIONS = 1_000
"""Unnamed conversations that can be gone on with; the one idle longest is forgotten.

Our choice: one takes about a hundred bytes for each of its messages.
"""
COMPARED_STEPS = 8
"""Newest known steps that are compared. Our choice."""
MIN_REPEATED_STEPS = 4
"""Steps that tell a history by themselves where its start is another one. Our choice."""

_START = "start"
"""The step before the first message."""
_USER = "user"
"""How the step of a message begins in which a user says something."""
_NOT_READABLE = (LookupError, TypeError, AttributeError, ValueError, FormatError, RecursionError)


class DefaultConversation(Struct, eq=False):
    """An unnamed conversation. A step stands for a message."""

    id: str
    scope: str
    """What it shares with no other: user, project and wire format."""
    instructions: bytes = b""
    """Digest of the instructions of its newest request."""
    steps: list[str] = field(default_factory=lambda: [_START])
    """Its history as last sent."""
    opening: int = 0
    """Index of the last step of its first request."""
    reply: list[str] = field(default_factory=list)
    """The reply to its newest request, once that is there."""
    seen: set[str] = field(default_factory=set)
    """All steps that it ever had."""

    def add_reply(self, format: str, reply: object) -> None:
        """Note the reply to the newest request."""
        with contextlib.suppress(*_NOT_READABLE):
            messages = find_codec(format).decode_reply(to_plain_json(reply)).messages
            self.reply = [_to_step(message) for message in messages]
            self.seen.update(self.reply)


class DefaultConversations:
    """The unnamed conversations of one client. May be used by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[str, DefaultConversation] = OrderedDict()
        """By id, the one idle longest first."""
        self.newest_id = str(uuid.uuid4())
        """Id of the one that was used last; of the first one before that."""

    def find_or_start(self, format: str, body: JsonObject, scope: str) -> DefaultConversation:
        """The conversation of a request, which is noted as its newest one."""
        history = _RequestHistory(format, body)
        with self._lock:
            found = self._find(history, scope)
            if found is None:
                found = DefaultConversation(
                    str(uuid.uuid4()) if self._known else self.newest_id, scope
                )
                found.steps += history.steps(0)
                found.opening = len(found.steps) - 1
                found.seen.update(found.steps)
            found.instructions, found.reply = history.instructions, []
            self._known[found.id] = found
            self._known.move_to_end(found.id)
            self.newest_id = found.id
            if len(self._known) > MAX_DEFAULT_CONVERSATIONS:
                self._known.popitem(last=False)
        return found

    def _find(self, history: _RequestHistory, scope: str) -> DefaultConversation | None:
        """The conversation that the history goes on with, with its steps brought up to date."""
        known = [each for each in reversed(self._known.values()) if each.scope == scope]
        for index in range(len(history) - 1, -1, -1):
            step = history.step(index)
            matches = [
                _Match(each, history, index, position)
                for each in known
                if step in each.seen
                for position in _find_positions([*each.steps, *each.reply], step)
            ]
            sure = [each for each in matches if each.is_sure and each.is_continued]
            likely = [each for each in matches if each.is_answered_in_place or each.is_window]
            if sure or len(likely) == 1:
                best = max(sure or likely, key=lambda each: each.rank)
                best.take_over()
                return best.conversation
        return None


class _RequestHistory:
    """The history of a request; steps are computed as they are asked for, from the newest on."""

    def __init__(self, format: str, body: JsonObject) -> None:
        given = body.get("input" if format == "openai_responses" else "messages")
        if isinstance(given, str):
            given = [{"role": "user", "content": given}]
        items = given if isinstance(given, list | tuple) else ()
        self._format = format
        self._items = [each for each in items if not _is_instructions(each)]
        self._steps: dict[int, str] = {}
        self._instructions: list[Any] = [
            body.get("system"),
            body.get("instructions"),
            *filter(_is_instructions, items),
        ]

    def __len__(self) -> int:
        return len(self._items)

    def step(self, index: int) -> str:
        """The step of an entry; -1 stands before the first."""
        if index not in self._steps:
            self._steps[index] = _START if index < 0 else self._read_step(self._items[index])
        return self._steps[index]

    def _read_step(self, item: object) -> str:
        try:
            plain = replace_lone_surrogates(to_plain_json(item))
            return _to_step(find_codec(self._format).decode_history_item(plain, ""))
        except _NOT_READABLE:
            return repr(item)  # the engine reports what is wrong with it

    def steps(self, start: int) -> list[str]:
        """The steps from this entry on."""
        return [self.step(index) for index in range(start, len(self))]

    @cached_property
    def instructions(self) -> bytes:
        """Digest of the instructions."""
        said = repr(self._instructions).encode("utf-8", "replace")
        return hashlib.blake2b(said, digest_size=8).digest()


class _Match:
    """One entry of a request's history, and the step of a conversation that it repeats."""

    def __init__(
        self, conversation: DefaultConversation, history: _RequestHistory, index: int, position: int
    ) -> None:
        self.conversation = conversation
        self._history = history
        self._index = index
        self._position = position
        self._steps = [*conversation.steps, *conversation.reply]
        count = 0
        while count < min(COMPARED_STEPS, position + 1, index + 2) and self._steps[
            position - count
        ] == history.step(index - count):
            count += 1
        self._repeated = count

    @property
    def is_sure(self) -> bool:
        """Whether what is repeated tells the conversation: from its start on, or enough of it."""
        is_whole = self._repeated == self._position + 1 == self._index + 2
        return is_whole or self._repeated >= MIN_REPEATED_STEPS

    @property
    def is_answered_in_place(self) -> bool:
        """Whether the newest reply is at its place, though what it answers was worded anew: hosts
        add to the newest message what they looked up, and leave it out of their history.
        """
        is_reply = self._position >= len(self.conversation.steps)
        return is_reply and self._position == self._index + 1

    @property
    def is_window(self) -> bool:
        """Whether all that the history holds up to here is the conversation's end, with a reply in
        it: of hosts that send their two or three newest messages alone.
        """
        repeated = self._steps[self._position + 1 - self._repeated : self._position + 1]
        has_reply = not all(step.startswith(_USER) for step in repeated)
        return self._repeated == self._index + 1 and has_reply and self.is_continued

    @property
    def is_continued(self) -> bool:
        """Whether the request goes on from the conversation's end, or replaces its last turn by one
        that was not replaced itself: then both are gone on with.
        """
        opening, reply = self.conversation.opening, self.conversation.reply
        left_out, added = self._steps[self._position + 1 :], self._history.steps(self._index + 1)
        is_opening_again = not added and self._position == opening
        if not left_out:
            same = self.conversation.instructions == self._history.instructions
            return same or not is_opening_again
        if left_out == reply:  # tried again, or the host has changed the reply
            return not is_opening_again
        is_last_turn = left_out[0].startswith(_USER) and not any(
            step.startswith(_USER) for step in left_out[1:]
        )
        return (
            is_last_turn
            and self._position >= opening
            and not self.conversation.seen.difference(self._steps).intersection(added)
        )

    @property
    def rank(self) -> tuple[int, bool, int]:
        """What tells the best match: the length, the same instructions, the fewest steps left."""
        same = self.conversation.instructions == self._history.instructions
        return self._repeated, same, self._position - len(self._steps)

    def take_over(self) -> None:
        """Bring the conversation's steps up to date."""
        steps = self._steps[: self._position + 1]
        for back in range(min(COMPARED_STEPS, self._position, self._index + 1)):
            steps[self._position - back] = self._history.step(self._index - back)
        steps += self._history.steps(self._index + 1)
        self.conversation.steps = steps
        self.conversation.seen.update(steps[-COMPARED_STEPS:], self._history.steps(self._index + 1))


def _find_positions(steps: Sequence[str], step: str) -> list[int]:
    """The newest positions of a step, the newest first."""
    found = [index for index, each in enumerate(steps) if each == step]
    return found[: -COMPARED_STEPS - 1 : -1]


def _to_step(message: Message) -> str:
    """A message as a step: of results the ids alone, as hosts clear old ones."""
    if message.tool_results:
        return " ".join(("result", *(each.tool_use_id for each in message.tool_results)))
    is_said = any(isinstance(block, TextBlock) for block in message.blocks)
    return (
        f"{_USER if message.role == 'user' and is_said else ''} {compute_message_digest(message)}"
    )


def _is_instructions(item: object) -> bool:
    return isinstance(item, Mapping) and item.get("role") in ("system", "developer")
