"""Tell conversations that name nothing apart, by their histories. Pure.

A client sends its whole history with each request, or the newest part of it. A request goes on with
the conversation whose newest messages it repeats: also one that the host has cut at its start or
changed in its middle, one that is tried again, and one whose last turn the user rewords. Any other
one begins a conversation: starting over is better than mixing two.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from memorist.core.messages import Message, TextBlock
from memorist.engine.host_history import (
    compute_message_digest,
    is_instructions,
    replace_lone_surrogates,
    to_plain_json,
)
from memorist.errors import WireFormatError
from memorist.formats.codec_registry import find_codec

MAX_KEPT_STEPS = 64
"""Newest steps of a conversation that are known: a turn that is longer cannot be worded anew. Our
choice; a conversation takes up to ten kilobytes.
"""
MAX_SEARCHED_ENTRIES = 256
"""Newest entries of a request that are looked up: more than one reply and its results add. Our
choice.
"""
MAX_CANDIDATES = 100
"""Conversations that are compared where more hold the same message, as a greeting. Our choice."""
COMPARED_STEPS = 8
"""Newest known steps that are compared. Our choice."""
MIN_REPEATED_STEPS = 4
"""Steps that tell a history by themselves where its start is another one. Our choice."""
MAX_REPLACED_STEPS = 16
"""Steps that are known to have been replaced. Our choice."""

NOT_READABLE = (LookupError, TypeError, AttributeError, ValueError, WireFormatError, RecursionError)
"""What reading something that a host calls a message may raise."""

_START = bytes(8)
"""The step before the first message."""

Entry = TypeVar("Entry")
Key = TypeVar("Key", bound=Hashable)


class KnownHistory(Struct, frozen=True, omit_defaults=True):
    """What is known of the history of a conversation. A step stands for a message: a hash with the
    scope as its key, which reveals nothing of either.
    """

    steps: tuple[bytes, ...]
    """The newest ones as last sent, and the reply to that once it is there."""
    opening: int
    """How many steps its first request had."""
    skipped: int = 0
    """How many steps came before those that are known."""
    replied: int = 0
    """How many of the last steps are the reply."""
    replaced: tuple[bytes, ...] = ()
    """Steps that it had, and has others in place of."""
    instructions: str = ""
    """A hash of the instructions of its newest request."""

    def with_reply(self, reply: Sequence[bytes]) -> KnownHistory:
        """The same with these steps as the reply to its newest request."""
        asked = self.steps[: len(self.steps) - self.replied]
        return _keep_newest(self, [*asked, *reply], len(reply))


def _keep_newest(known: KnownHistory, steps: Sequence[bytes], replied: int) -> KnownHistory:
    """The history with these steps in place of its own, cut to what is kept."""
    dropped = max(0, len(steps) - MAX_KEPT_STEPS)
    return replace(
        known,
        steps=tuple(steps[dropped:]),
        skipped=known.skipped + dropped,
        replied=min(replied, MAX_KEPT_STEPS),
        replaced=known.replaced[-MAX_REPLACED_STEPS:],
    )


class RequestHistory(Generic[Entry]):
    """The history of a request; steps are computed as they are asked for, from the newest on.

    Args:
        entries: its messages without instructions.
        describe: whether a user speaks in an entry, and what it says.
        scope: what its conversation shares with no other, such as user, project and wire format; at
            most 64 bytes.
        instructions: a hash of its instructions.
    """

    def __init__(
        self,
        entries: Sequence[Entry],
        describe: Callable[[Entry], tuple[bool, str]],
        scope: bytes,
        instructions: str = "",
    ) -> None:
        self.scope = scope
        self.instructions = instructions
        self._entries = entries
        self._describe = describe
        self._steps: dict[int, bytes] = {-1: _START}

    def __len__(self) -> int:
        return len(self._entries)

    def step(self, index: int) -> bytes:
        """The step of an entry; -1 stands before the first."""
        if index not in self._steps:
            self._steps[index] = _hash_step(self.scope, *self._describe(self._entries[index]))
        return self._steps[index]

    def steps(self, start: int) -> list[bytes]:
        """The steps from this entry on."""
        return [self.step(index) for index in range(start, len(self))]

    def read_newest(self) -> None:
        """Compute now what a search looks at first: messages of megabytes take long."""
        self.steps(max(0, len(self) - 2 * COMPARED_STEPS))

    def begin(self) -> KnownHistory:
        """What is known of a conversation that begins with this request."""
        first = max(-1, len(self) - MAX_KEPT_STEPS)
        return KnownHistory(
            steps=tuple(self.steps(first)),
            opening=len(self),
            skipped=first + 1,
            instructions=self.instructions,
        )


def read_request_history(
    format: str, given: object, scope: bytes, instructions: str = ""
) -> RequestHistory[object]:
    """The history in a request of a wire format, as it stands under the body's key."""
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
    items = given if isinstance(given, list | tuple) else ()
    codec = find_codec(format)

    def describe(item: object) -> tuple[bool, str]:
        try:
            plain = replace_lone_surrogates(to_plain_json(item))
            return build_message_key_for_matching(codec.decode_history_item(plain, ""))
        except NOT_READABLE:
            return False, repr(item)  # the engine reports what is wrong with it

    said = [item for item in items if not is_instructions(item)]
    return RequestHistory(said, describe, scope, instructions)


def build_message_key_for_matching(message: Message) -> tuple[bool, str]:
    """Whether a user speaks in a message, and what it says: of results the ids alone, as hosts
    clear old ones.
    """
    if message.tool_results:
        return False, " ".join(("result", *(each.tool_use_id for each in message.tool_results)))
    is_said = any(isinstance(block, TextBlock) for block in message.blocks)
    return message.role == "user" and is_said, compute_message_digest(message)


def hash_messages(scope: bytes, messages: Iterable[Message]) -> list[bytes]:
    """The steps of messages."""
    return [_hash_step(scope, *build_message_key_for_matching(message)) for message in messages]


def hash_conversation_scope(*parts: str) -> bytes:
    """A hash of what a conversation shares with no other; it reveals none of the parts."""
    return hashlib.blake2b(repr(parts).encode("utf-8", "backslashreplace"), digest_size=16).digest()


def _hash_step(scope: bytes, is_user: bool, text: str) -> bytes:
    """A step; the last bit of its first byte says that a user speaks in it."""
    data = text.encode("utf-8", "surrogatepass")
    step = hashlib.blake2b(data, key=scope, digest_size=8).digest()
    return bytes((step[0] & 0xFE | is_user,)) + step[1:]


def _is_user(step: bytes) -> bool:
    return bool(step[0] & 1)


class UnnamedConversationFinder(Generic[Key]):
    """The histories of unnamed conversations, each under a key; the one idle longest is forgotten.

    For one thread at a time.
    """

    def __init__(self, max_conversations: int) -> None:
        self._max_conversations = max_conversations
        self._known: dict[Key, KnownHistory] = {}
        """The one idle longest first."""
        self._keys: dict[bytes, tuple[Key, ...]] = {}
        """By step, the conversations that hold it, the one idle longest first."""

    def __len__(self) -> int:
        return len(self._known)

    def remember(self, key: Key, known: KnownHistory) -> None:
        """Note the history of a conversation, which is the newest one now."""
        former = self._known.pop(key, None)
        steps = {*known.steps} - {_START}
        if former is not None:
            self._drop_steps(key, {*former.steps} - {_START} - steps)
        self._known[key] = known
        for step in steps:
            others = self._keys.get(step, ())
            if others[-1:] != (key,):
                self._keys[step] = (*(each for each in others if each != key), key)
        if len(self._known) > self._max_conversations:
            oldest = next(iter(self._known))
            self._drop_steps(oldest, {*self._known.pop(oldest).steps} - {_START})

    def _drop_steps(self, key: Key, steps: Iterable[bytes]) -> None:
        for step in steps:
            others = tuple(each for each in self._keys[step] if each != key)
            if others:
                self._keys[step] = others
            else:
                del self._keys[step]

    def find(
        self, history: RequestHistory[Any], is_busy: Callable[[Key], bool] = lambda _: False
    ) -> HistoryStepMatch[Key] | None:
        """The conversation that a history goes on with; None for a new one. The opening of one that
        still waits for a reply (`is_busy`) is not tried again, but said in another as well.
        """
        for index in range(len(history) - 1, max(-1, len(history) - 1 - MAX_SEARCHED_ENTRIES), -1):
            step = history.step(index)
            matches = [
                HistoryStepMatch(key, self._known[key], history, index, position)
                for key in self._keys.get(step, ())[: -MAX_CANDIDATES - 1 : -1]
                for position in _find_positions(self._known[key].steps, step)
            ]
            continued = [
                each
                for each in matches
                if each.is_continued and not (each.is_opening_again and is_busy(each.key))
            ]
            sure = [each for each in continued if each.is_sure]
            likely = [each for each in continued if each.is_answered_in_place or each.is_window]
            if sure or len(likely) == 1:
                return max(sure or likely, key=lambda each: each.rank)
        return None


class HistoryStepMatch(Generic[Key]):
    """One entry of a request's history, and the step of a conversation that it repeats."""

    def __init__(
        self, key: Key, known: KnownHistory, history: RequestHistory[Any], index: int, position: int
    ) -> None:
        self.key = key
        self._known = known
        self._history = history
        self._index = index
        self._position = position
        count = 0
        while count < min(COMPARED_STEPS, position + 1, index + 2) and known.steps[
            position - count
        ] == history.step(index - count):
            count += 1
        self._repeated = count

    @property
    def _is_at_same_index(self) -> bool:
        """Whether the step stands as far from the start as the entry does in the request."""
        return self._known.skipped + self._position == self._index + 1

    @property
    def is_sure(self) -> bool:
        """Whether what is repeated tells the conversation: from its start on, or enough of it."""
        is_whole = self._is_at_same_index and self._repeated == self._index + 2
        return is_whole or self._repeated >= MIN_REPEATED_STEPS

    @property
    def is_answered_in_place(self) -> bool:
        """Whether the newest reply stands where it did, though what it answers was worded anew:
        hosts add to the newest message what they looked up, and leave it out of their history.
        """
        is_reply = self._position >= len(self._known.steps) - self._known.replied
        return is_reply and self._is_at_same_index

    @property
    def is_window(self) -> bool:
        """Whether all that the history holds up to here is the conversation's end, with a reply in
        it: of hosts that send their two or three newest messages alone.
        """
        repeated = self._known.steps[self._position + 1 - self._repeated : self._position + 1]
        has_reply = not all(map(_is_user, repeated))
        return self._repeated == self._index + 1 and has_reply

    @property
    def is_opening_again(self) -> bool:
        """Whether the request says what the first one said, and nothing else."""
        last = self._known.skipped + self._position
        return last == self._known.opening and self._index == len(self._history) - 1

    @property
    def is_continued(self) -> bool:
        """Whether the request goes on from the conversation's end, or replaces its last turn by one
        that was not replaced itself: then both are gone on with.
        """
        known, added = self._known, self._history.steps(self._index + 1)
        left_out = known.steps[self._position + 1 :]
        is_after_opening = known.skipped + self._position >= known.opening
        if not left_out:
            return self._has_same_instructions or not self.is_opening_again
        if len(left_out) == known.replied:  # tried again, or the host has changed the reply
            return not self.is_opening_again
        is_last_turn = _is_user(left_out[0]) and not any(map(_is_user, left_out[1:]))
        return is_last_turn and is_after_opening and not {*known.replaced} & {*added}

    @property
    def _has_same_instructions(self) -> bool:
        return self._known.instructions == self._history.instructions

    @property
    def rank(self) -> tuple[int, bool, int]:
        """What tells the best match: the length, the same instructions, the fewest steps left."""
        left_out = len(self._known.steps) - self._position
        return self._repeated, self._has_same_instructions, -left_out

    def continue_history(self) -> KnownHistory:
        """The history of the conversation with this request."""
        known, position = self._known, self._position
        steps = list(known.steps[: position + 1])
        for back in range(min(COMPARED_STEPS, position, self._index + 1)):
            steps[position - back] = self._history.step(self._index - back)
        steps += self._history.steps(self._index + 1)
        former = dict.fromkeys((*known.replaced, *known.steps))
        replaced = tuple(step for step in former if step not in {*steps})
        newer = replace(known, replaced=replaced, instructions=self._history.instructions)
        return _keep_newest(newer, steps, 0)


def _find_positions(steps: Sequence[bytes], step: bytes) -> list[int]:
    """The newest positions of a step, the newest first."""
    found = [index for index, each in enumerate(steps) if each == step]
    return found[: -COMPARED_STEPS - 1 : -1]
