"""Noticing that a streamed answer only repeats itself, and ending it there. Pure.

A small model that falls into a loop writes the same line until its output limit, and each token of
it is waited and paid for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from memorist.core.messages import JsonObject
from memorist.core.token_count import BYTES_PER_TOKEN
from memorist.formats.request_codec import REPEATED_REASON
from memorist.models.call_failure import CallFailure
from memorist.models.reply_assembly import (
    ReplyAssembler,
    assemble_anthropic_reply,
    assemble_chat_reply,
    assemble_responses_reply,
)

MIN_COPIES = 6
MIN_CHARACTERS = 1_200
"""An answer ends that has repeated one piece so often and so long, without one different
character. Of 5,372 texts that models wrote in recorded sessions (half of the repositories, code
and patches included) the longest such repetition of a piece of 8 characters or more has 428
characters in four copies, the most copies are six in 345 characters.
"""
SHORT_PIECE, MIN_SHORT_CHARACTERS = 16, 6_000
"""A piece shorter than this may be a rule, a table of zeros or an empty row: it takes this many
characters.
"""
WATCHED_CHARACTERS = 9_000
"""The end of an answer that is looked at: six copies of 1,500 characters."""
CHECK_INTERVAL_CHARACTERS = 200
"""Characters between two looks."""
_CLUE = 16
"""Characters at the end that are searched for before it: each place is a possible distance."""
_MAX_CANDIDATES = 32


def count_repeated_characters(text: str) -> int:
    """How many characters at the end of the text only repeat the piece in front of them; 0 where
    it is no loop.
    """
    piece = _find_repeated_piece(text)
    if not piece:
        return 0
    start = len(text) - max(MIN_CHARACTERS, MIN_COPIES * piece)
    while start > 0 and text[start - 1] == text[start - 1 + piece]:
        start -= 1
    return len(text) - start - piece


def _find_repeated_piece(text: str) -> int:
    """Length of the piece that the text's end repeats; 0 where it repeats none often enough."""
    clue = text[-_CLUE:]
    last = at = len(text) - _CLUE
    for _ in range(_MAX_CANDIDATES):
        at = text.rfind(clue, 0, max(0, at) + _CLUE - 1)
        piece = last - at
        if at < 0 or piece * MIN_COPIES > len(text):
            return 0
        if _repeats(text, piece, max(MIN_CHARACTERS, MIN_COPIES * piece)):
            # The nearest distance is the piece itself; a later one would be several of it.
            enough = piece >= SHORT_PIECE or _repeats(text, piece, MIN_SHORT_CHARACTERS)
            return piece if enough else 0
    return 0


def _repeats(text: str, piece: int, length: int) -> bool:
    end = text[-length:]
    return len(end) == length and end[piece:] == end[:-piece]


class _Growth(Struct, frozen=True):
    """What one event adds: to which text of the answer, and the words."""

    channel: tuple[object, ...]
    text: str


class RepetitionDetector:
    """Reads along with a stream. Each text of an answer (words, thought, the arguments of a call)
    is watched by itself.
    """

    def __init__(self) -> None:
        self._channel: tuple[object, ...] = ()
        self._end = ""
        self._unchecked = 0
        self.read = 0
        """Characters of the answer so far, of all its texts."""

    def count_repeated(self, event: JsonObject) -> int:
        """Characters that only repeat what the answer said before, when with this event it is a
        loop; else 0.
        """
        growth = _read_growth(event)
        if growth is None:
            return 0
        if growth.channel != self._channel:
            self._channel, self._end = growth.channel, ""
        self._end = (self._end + growth.text)[-WATCHED_CHARACTERS:]
        self.read += len(growth.text)
        self._unchecked += len(growth.text)
        if self._unchecked < CHECK_INTERVAL_CHARACTERS:
            return 0
        self._unchecked = 0
        return count_repeated_characters(self._end)


def _read_growth(event: JsonObject) -> _Growth | None:
    """What an event of any of the three formats adds to the answer; None for other events."""
    match event:
        case {"type": str(kind), "delta": str(text)}:
            indexes = (event.get("output_index"), event.get("content_index"))
            return _Growth((kind, *indexes), text)
        case {"type": "content_block_delta", "index": index, "delta": dict(delta)}:
            return _first_text((index,), delta, ("text", "thinking", "partial_json"))
        case {"choices": [{"delta": {"tool_calls": [dict(call), *_]}}, *_]}:
            call_body = call.get("function") or call.get("custom") or {}
            return _first_text(("call", call.get("index")), call_body, ("arguments", "input"))
        case {"choices": [{"delta": dict(delta)}, *_]}:
            return _first_text((), delta, ("content", "reasoning_content", "reasoning"))
        case _:
            return None


def _first_text(
    channel: tuple[object, ...], holder: JsonObject, keys: Iterable[str]
) -> _Growth | None:
    found = [(key, text) for key in keys if isinstance(text := holder.get(key), str) and text]
    return _Growth((*channel, found[0][0]), found[0][1]) if found else None


def assemble_streamed_reply_without_loop(
    events: Sequence[JsonObject], assemble: ReplyAssembler, *, repeated: int, read: int
) -> JsonObject | CallFailure:
    """The reply as far as it was read, without the `repeated` characters at its end; a call or a
    thought that the loop was in is left out. Its stop reason is `REPEATED_REASON`, and its output
    is estimated from the characters that were `read`: the provider counts at the end only.
    """
    output = read // BYTES_PER_TOKEN + 1
    if assemble is assemble_chat_reply:
        return _end_chat(events, repeated, output)
    if assemble is assemble_anthropic_reply:
        return _end_anthropic(events, repeated, output)
    return _end_responses(events, repeated, output)


def _end_chat(events: Sequence[JsonObject], repeated: int, output: int) -> JsonObject | CallFailure:
    closing = {"choices": [{"index": 0, "delta": {}, "finish_reason": REPEATED_REASON}]}
    body = assemble_chat_reply([*events, closing])
    if isinstance(body, CallFailure):
        return body
    message = body["choices"][0]["message"]
    if message.get("tool_calls"):
        message["tool_calls"] = message["tool_calls"][:-1]
    elif message.get("content"):
        message["content"] = message["content"][:-repeated]
    if not message.get("tool_calls"):
        message.pop("tool_calls", None)
    return body | {"usage": (body.get("usage") or {}) | {"completion_tokens": output}}


def _end_anthropic(
    events: Sequence[JsonObject], repeated: int, output: int
) -> JsonObject | CallFailure:
    closing = (
        {
            "type": "message_delta",
            "delta": {"stop_reason": REPEATED_REASON},
            "usage": {"output_tokens": output},
        },
        {"type": "message_stop"},
    )
    body = assemble_anthropic_reply([*events, *closing])
    if isinstance(body, CallFailure):
        return body
    *whole, last = body["content"]
    ended = [last | {"text": last["text"][:-repeated]}] if last.get("type") == "text" else []
    return body | {"content": [*whole, *ended]}


def _end_responses(
    events: Sequence[JsonObject], repeated: int, output: int
) -> JsonObject | CallFailure:
    started: JsonObject = {}
    item: JsonObject = {}
    said = ""
    for event in events:
        kind = event.get("type")
        if kind == "response.created":
            started = event["response"]
        elif kind == "response.output_item.added":
            item, said = event, ""
        elif kind == "response.output_text.delta":
            said += event["delta"]
    incomplete: JsonObject = {
        **(item.get("item") or {}),
        "status": "incomplete",
        "content": [{"type": "output_text", "text": said[:-repeated], "annotations": []}],
    }
    done = {**item, "type": "response.output_item.done", "item": incomplete}
    response = {
        **started,
        "status": "incomplete",
        "incomplete_details": {"reason": REPEATED_REASON},
        "output": [],
        "usage": {"output_tokens": output},
    }
    closing = {"type": "response.incomplete", "response": response}
    return assemble_responses_reply([*events, *([done] if said else []), closing])
