"""What a scripted model does in one call: the steps of `ScriptedModel` and `ScriptedServer`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct, field

from memorist.core.messages import JsonObject, Usage
from memorist.errors import ModelError
from memorist.ports import Request


class Say(Struct, frozen=True, kw_only=True):
    """Answer with text."""

    text: str
    usage: Usage | None = None


class Think(Struct, frozen=True, kw_only=True):
    """Reason. `signature` comes back as a thinking signature, or as a reasoning item's encrypted
    content.
    """

    text: str
    signature: str = "c2lnbmVk"
    usage: Usage | None = None


class CallTool(Struct, frozen=True, kw_only=True):
    """Call a tool.

    `arguments` is the exact text of the arguments where the format carries text; None writes
    `input` as JSON. `custom` makes a custom tool call (free text), `namespace` a call to a tool
    inside a namespace; both exist in Responses only. Without `id` the call gets the next number.
    """

    name: str
    input: JsonObject = field(default_factory=dict)
    arguments: str | None = None
    id: str | None = None
    namespace: str | None = None
    custom: bool = False
    usage: Usage | None = None


class ReplyParts(Struct, frozen=True, kw_only=True):
    """Several parts in one reply, in this order.

    `stop_reason`, in the format's own words, replaces the one that follows from the parts.
    """

    parts: tuple[Say | Think | CallTool, ...]
    usage: Usage | None = None
    stop_reason: str | None = None


class GivenReplyBody(Struct, frozen=True, kw_only=True):
    """The whole reply body as given, in unstreamed form.

    A stream is derived from it, unless `plain` asks for the body itself even when a stream is
    requested, as some compatible servers answer.
    """

    body: JsonObject
    plain: bool = False


class Fail(Struct, frozen=True, kw_only=True):
    """Fail with this error; the server sends the status and message from which a client raises
    it.
    """

    error: ModelError


class HttpError(Struct, frozen=True, kw_only=True):
    """Answer with an HTTP status and an error body.

    `retry_after` is the header's text in seconds.
    """

    code: int
    message: str = "scripted failure"
    kind: str | None = None
    """The error's type (Anthropic) or code (OpenAI); None takes the one of the status."""
    retry_after: str | None = None


class Hang(Struct, frozen=True):
    """Never answer: hold the call until the client disconnects, the server closes, or the time
    limit passes.
    """


class DelayReply(Struct, frozen=True, kw_only=True):
    """Wait, then perform `step`."""

    seconds: float
    step: AnswerStep


class InterruptedReply(Struct, frozen=True, kw_only=True):
    """Send the first part of the reply to `step`, then stop.

    `at` is the share of the events (of the bytes, when not streamed) that is sent. `then`: `close`
    breaks the connection, `end` ends the stream as if it were complete, `hang` keeps it open in
    silence, `error` sends an error event (overload).
    """

    step: AnswerStep
    at: float = 0.5
    then: Literal["close", "end", "hang", "error"] = "close"


class Garbage(Struct, frozen=True, kw_only=True):
    """Answer 200 with a body that is not JSON."""

    text: str = '{"type": "message", "content": [{'


AnswerStep = Say | Think | CallTool | ReplyParts | GivenReplyBody
"""The steps that give a whole reply."""

Step = AnswerStep | Fail | HttpError | Hang | DelayReply | InterruptedReply | Garbage
"""Every step of a script."""

Script = Sequence[Step] | Callable[[Request], Step]
"""A list is used up in order; a function decides from the request."""


def list_step_parts(
    step: Say | Think | CallTool | ReplyParts,
) -> tuple[Say | Think | CallTool, ...]:
    """The step's parts, in order."""
    return step.parts if isinstance(step, ReplyParts) else (step,)
