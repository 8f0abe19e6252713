"""What the wire formats of the scripted model share: facts of a reply, server-sent events, sizes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import msgspec
from msgspec import Struct

from memorist.core.messages import JsonObject, Usage
from memorist.core.tokens import estimate_text
from memorist.testing.steps import Answer, Call, Many, Raw, Say, Think, parts_of

CREATED = 1_700_000_000
"""The creation time in every scripted reply; constant, so that replies are the same in every run.
"""

_encode = msgspec.json.encode


class Event(NamedTuple):
    """One server-sent event.

    `name` is empty where the format has no `event:` line; `data` is an object, or the text of a
    closing mark.
    """

    name: str
    data: JsonObject | str

    def encode(self) -> bytes:
        """The event in wire form."""
        data = self.data.encode() if isinstance(self.data, str) else _encode(self.data)
        head = f"event: {self.name}\n".encode() if self.name else b""
        return head + b"data: " + data + b"\n\n"


class Facts(Struct, frozen=True, kw_only=True):
    """What a reply needs besides its step: the call's number from 1, the model's name, the tokens.
    """

    number: int
    model: str
    usage: Usage
    cache_write_long: int = 0
    request: JsonObject


class Wire(Protocol):
    """One wire format of the scripted model. All methods are pure."""

    def reply(self, step: Say | Think | Call | Many, facts: Facts) -> JsonObject:
        """The whole reply in unstreamed form."""
        ...

    def events(self, body: JsonObject) -> list[Event]:
        """The reply as a stream."""
        ...

    def error(self, status: int, message: str, kind: str | None) -> JsonObject:
        """An error body."""
        ...

    def error_event(self, message: str) -> Event:
        """An overload in the middle of a stream."""
        ...


def pieces(text: str) -> Iterator[str]:
    """Split a text as a model's stream does: at least 40 characters a piece, at most about 16
    pieces; nothing for an empty text.
    """
    size = max(40, len(text) // 16)
    for start in range(0, len(text), size):
        yield text[start : start + size]


def arguments_of(call: Call) -> str:
    """The exact text of a call's arguments."""
    return call.arguments if call.arguments is not None else _encode(call.input).decode()


def output_tokens(step: Say | Think | Call | Many) -> int:
    """Estimated output tokens of a step, at least 1."""
    total = 0
    for part in parts_of(step):
        match part:
            case Say(text=text) | Think(text=text):
                total += estimate_text(text)
            case Call():
                total += estimate_text(part.name + arguments_of(part))
    return max(1, total)


def body_of(wire: Wire, step: Answer, facts: Facts) -> JsonObject:
    """Build the reply body of an answering step."""
    return step.body if isinstance(step, Raw) else wire.reply(step, facts)
