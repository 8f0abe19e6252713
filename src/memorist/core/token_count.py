"""Token counts: a provider's own numbers where there are any, an estimate for what came after.

The estimate is UTF-8 bytes / 4 times a factor of the model family. Bytes, not characters, so that a
Chinese character counts as about three quarters of a token instead of a quarter. The factors are
medians over 700 steps of recorded sessions between two requests with known usage:
characters / 4 alone is 1.35 to 1.8 times too low on Claude, and every threshold would fire
late.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from functools import lru_cache

import msgspec

from memorist.core.media_size import (
    MEDIA_TOKENS,
    estimate_media_tokens,
    iterate_base64_media_in_json,
)
from memorist.core.messages import (
    Block,
    DocumentBlock,
    ImageBlock,
    JsonObject,
    Message,
    Origin,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolUse,
    UnknownBlock,
    Usage,
)

TokenCounter = Callable[[str], int]
"""Returns how many tokens a text has for the host's model."""

BYTES_PER_TOKEN = 4
"""Both clients estimate with four bytes (Claude Code, Codex)."""

_NEWER_CLAUDE = re.compile(
    r"claude.*?(?:-4-[789]\b|-(?:opus|sonnet|haiku|fable|mythos)-([5-9]|\d{2})\b)"
)
_encode = msgspec.json.Encoder().encode
_INLINE_TEXT = ("text", "content")
"""Sources of a document whose words stand in the request."""


_KEEPS_REASONING = re.compile(r"gpt-(?:5\.[6-9]|[6-9]|\d\d)")
"""OpenAI's models from 5.6 on: in recorded sessions of Codex the counts of requests that begin a
turn include the reasoning of the turn before, with 5.0 to 5.5 they do not.
"""


@lru_cache(maxsize=64)
def get_token_factor(model: str) -> float:
    """Tokens of this model per estimated token.

    1.42 up to Claude 4.6, 1.72 from 4.7 on, 1.05 for OpenAI's models, 1.2 for all others; 1 where
    no model is named.
    """
    lowered = model.lower()
    if not lowered:
        return 1.0
    if "claude" in lowered or lowered.startswith("<synthetic>"):
        return 1.72 if _NEWER_CLAUDE.search(lowered) else 1.42
    if re.search(r"(^|[:/])(gpt|o\d|codex)", lowered):
        return 1.05
    return 1.2


def estimate_text_tokens(text: str, factor: float = 1.0) -> int:
    """Estimate the tokens of a text."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return math.ceil(size / BYTES_PER_TOKEN * factor)


def _block_bytes(block: Block) -> int:
    return _measure_block(block, _length, BYTES_PER_TOKEN)


def _measure_block(block: Block, measure: Callable[[str | bytes], int], token: int) -> int:
    """The size of a block in the unit of `measure`, in which a token of media has the size
    `token`.
    """
    match block:
        case TextBlock(text=text) | ThinkingBlock(text=text):
            size = measure(text)
        case ToolUse(name=name, arguments=arguments):
            size = measure(name) + measure(_encode(block.input) if arguments is None else arguments)
        case ToolResult(content=content):
            size = sum(_measure_block(part, measure, token) for part in content)
        case ImageBlock(source=source):
            size = _estimate_picture_source_tokens(source) * token
        case DocumentBlock(source=source):
            least = 0 if source.get("type") in _INLINE_TEXT else MEDIA_TOKENS
            size = _measure_json(source, measure, token, least)
        case RedactedThinkingBlock(data=data):
            size = measure(data)
        case UnknownBlock(raw=raw):
            size = _measure_json(raw, measure, token)
    return size


def _estimate_picture_source_tokens(source: JsonObject) -> int:
    """Tokens of a picture: by its pixels where its bytes are in the request."""
    found = next(iterate_base64_media_in_json(source, "image"), None)
    return MEDIA_TOKENS if found is None else estimate_media_tokens(*found)


def _measure_json(
    raw: JsonObject, measure: Callable[[str | bytes], int], token: int, least: int = 0
) -> int:
    """The size of JSON without its media, and of these `least` tokens where there are none."""
    media = tuple(iterate_base64_media_in_json(raw))
    text = _encode(raw)
    for data, _ in media:
        text = text.replace(data.encode(), b"")
    tokens = sum(estimate_media_tokens(*each) for each in media)
    return measure(text) + (tokens or least) * token


def _encode_part(value: object) -> str | bytes:
    try:
        return value if isinstance(value, str) else _encode(value)
    except TypeError:  # an SDK's object, which goes out as that SDK writes it
        return str(value)


def _length(text: str | bytes) -> int:
    return _utf8_length(text) if isinstance(text, str) else len(text)


def _utf8_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def estimate_block_tokens(block: Block) -> int:
    """Estimate the tokens of one block."""
    return math.ceil(_block_bytes(block) / BYTES_PER_TOKEN)


def estimate_message_tokens(message: Message, factor: float = 1.0) -> int:
    """Estimate the tokens of a message's blocks. Encrypted reasoning is not counted: the provider's
    own numbers include it.
    """
    return math.ceil(sum(map(_block_bytes, message.blocks)) / BYTES_PER_TOKEN * factor)


def count_message_tokens(message: Message, count_tokens: TokenCounter) -> int:
    """The tokens of a message's blocks by a counter of the host's; media are estimated."""

    def measure(text: str | bytes) -> int:
        return count_tokens(text if isinstance(text, str) else text.decode())

    return sum(_measure_block(block, measure, 1) for block in message.blocks)


def estimate_messages_tokens(messages: Iterable[Message], factor: float = 1.0) -> int:
    """Estimate the tokens of all these messages together."""
    return sum(estimate_message_tokens(message, factor) for message in messages)


MIN_CALIBRATION_TOKENS = 4_000
"""Estimated growth between two measurements from which their ratio says something."""

CALIBRATION_RANGE = (0.5, 2.5)
"""Credible ratios of measured to estimated tokens: recorded sessions lie between 0.7 and 1.8."""


MIN_REASONING_TOKENS = 300
"""Reasoning of a turn from which the next count tells whether it was sent again: estimates of the
user's message are off by less.
"""


class HiddenReasoningTracker:
    """Hidden reasoning of the turn so far, which some models leave out of the context as soon as
    the user says something new. What the counts of this conversation showed decides; until then
    the model's name does.
    """

    def __init__(self) -> None:
        self.is_kept = False
        self.tokens = 0
        """Reasoning since the user's last message, as far as providers told."""
        self._reply_tokens = 0
        self._ended = 0
        """Reasoning of the turn before, until a count shows whether it was sent again."""
        self._sent = 0
        """Tokens of the request that began the turn, without that reasoning; 0 before it."""

    def clear(self) -> None:
        """The history was replaced."""
        self.tokens = self._reply_tokens = self._ended = self._sent = 0

    def drop_hidden_reasoning_at_user_turn(self) -> int:
        """The user said something new; returns the tokens that leave the context."""
        self._ended, self._sent, self.tokens, self._reply_tokens = self.tokens, 0, 0, 0
        return 0 if self.is_kept else self._ended

    def on_reply(self, context: int) -> None:
        """A reply begins, to a request of `context` tokens."""
        self._reply_tokens = 0
        if not self._sent:
            self._sent = context - (self._ended if self.is_kept else 0)

    def add_reported_usage(self, given: int, reasoning: int) -> None:
        """A provider counted `given` input tokens, and the reasoning of the reply."""
        self.tokens += reasoning - self._reply_tokens
        self._reply_tokens = reasoning
        if self._ended >= MIN_REASONING_TOKENS and self._sent and given > 0:
            self.is_kept = given - self._sent > self._ended / 2
        self._ended = 0


class ContextMeter:
    """The size of the context in tokens as messages are added: the newest reported usage plus an
    estimate of what follows it (CP-2).

    A reply that is stored as several records counts once: its usage replaces the estimates of all
    its records, while what stands between them (results of parallel calls) stays counted.
    """

    def __init__(self, factor: float = 1.0, count_tokens: TokenCounter | None = None) -> None:
        self.factor = factor
        self._count_tokens = count_tokens
        self._model = ""
        self._base = 0
        self._since = 0
        self._between = 0
        self._after_model = 0
        self._reply: str | None = None
        self._reply_input = 0
        """Input tokens of that reply as reported; 0 while unknown."""
        self._prefix: int | None = None
        self._assumed_prefix = 0
        """Estimated size of the instructions and tools, until a count tells."""
        self._estimated = 0
        self._counted = self._counted_bytes = 0
        """Tokens by the host's counter, and by a quarter of their bytes."""
        self._first_measured: tuple[int, int] | None = None
        """The first measured context since the history was replaced, and the estimate for it."""
        self._ratio = 1.0
        self._reasoning = HiddenReasoningTracker()
        self.subtracted = 0
        """Tokens that later usage still includes although they were removed (a replay that compacts
        where the recorded agent did not).
        """

    def set_model(self, model: str) -> None:
        """The model that the next request goes to."""
        self.factor = get_token_factor(model)
        if model != self._model:
            self._model = model
            self._reasoning.is_kept = _KEEPS_REASONING.search(model.lower()) is not None

    @property
    def tokens(self) -> int:
        """Current size in tokens."""
        return self._base + self._since

    @property
    def is_measured(self) -> bool:
        """Whether a provider has counted this context."""
        return self._prefix is not None

    def assume_prefix(self, parts: Iterable[object], *, limit: int) -> None:
        """Count the instructions and tools that go with the history, as at most `limit` tokens,
        until a provider has counted the context.
        """
        if self._prefix is None:
            size = min(sum(map(self._measure_part, parts)), limit)
            self._base += size - self._assumed_prefix
            self._assumed_prefix = size

    @property
    def _fixed(self) -> int:
        """Tokens that stay when the history is replaced."""
        return self._assumed_prefix if self._prefix is None else self._prefix

    @property
    def calibrated_factor(self) -> float:
        """Tokens for one estimated token as the provider counts them: the model family's factor,
        corrected by how the measured context grew.
        """
        counted = self._counted_bytes >= MIN_CALIBRATION_TOKENS
        factor = self._counted / self._counted_bytes if counted else self.factor
        return factor * self._ratio

    def _calibrate(self, measured: int, estimated: int) -> None:
        if self._first_measured is None:
            self._first_measured = (measured, estimated)
            return
        grown = estimated - self._first_measured[1]
        if grown < MIN_CALIBRATION_TOKENS:
            return
        ratio = (measured - self._first_measured[0]) / grown
        low, high = CALIBRATION_RANGE
        if low <= ratio <= high:
            self._ratio = ratio

    def add(self, message: Message, *, measure: bool = True) -> None:
        """Count one more message. With `measure=False` its usage is ignored, because it was
        measured on another context.
        """
        size = self._measure(message)
        if message.origin is Origin.USER and message.role == "user":
            left_out = self._reasoning.drop_hidden_reasoning_at_user_turn()
            self._base = max(min(self._base, self._fixed), self._base - left_out)
        self._estimated += size
        self._after_model = 0 if message.origin is Origin.MODEL else self._after_model + size
        if message.reply_id is None:
            self._between += size
        elif self._begins_reply(message.reply_id, message.usage):
            self._between = 0
            self._reasoning.on_reply(self.tokens)
        self._since += size
        if measure and message.usage is not None and message.usage.context_tokens > 0:
            self.record_measurement(
                message.usage.context_tokens,
                uncounted=self._between if message.reply_id is not None else 0,
                output=message.usage.output,
                reasoning=message.usage.reasoning,
            )

    def _measure(self, message: Message) -> int:
        if self._count_tokens is None:
            return estimate_message_tokens(message, self.factor)
        size = count_message_tokens(message, self._count_tokens)
        self._counted += size
        self._counted_bytes += estimate_message_tokens(message)
        return size

    def _measure_part(self, value: object) -> int:
        part = _encode_part(value)
        if self._count_tokens is None:
            return math.ceil(_length(part) / BYTES_PER_TOKEN * self.factor)
        return self._count_tokens(part if isinstance(part, str) else part.decode())

    def _begins_reply(self, reply_id: str, usage: Usage | None) -> bool:
        """Tell whether a record is the first of its reply. Some servers give all replies one id: a
        reply whose input was counted otherwise is another one.
        """
        given = usage.context_tokens - usage.output if usage is not None else 0
        is_another = given > 0 and self._reply_input not in (0, given)
        begins = reply_id != self._reply or is_another
        self._reply = reply_id
        self._reply_input = given or (0 if begins else self._reply_input)
        return begins

    def record_measurement(
        self, context: int, uncounted: int | None = None, *, output: int = 0, reasoning: int = 0
    ) -> None:
        """Record the context size that a provider reported; `uncounted` tokens came after the part
        it measured. Its newest reply has `output` tokens, `reasoning` of them hidden.

        A count that is reported apart from a message belongs to the newest reply: what came after
        that reply's messages (results written before the count) is not included in it.
        """
        uncounted = self._after_model if uncounted is None else uncounted
        if self._prefix is None:
            self._prefix = max(0, context - self._estimated - reasoning)
        # Less than the prefix: it held a history that was not seen and is gone since.
        self._prefix = min(self._prefix, context)
        self._calibrate(context, self._estimated - uncounted)
        given = context - output - self.subtracted if output else 0
        self._reasoning.add_reported_usage(given, reasoning)
        self._base = max(self._prefix, context - self.subtracted)
        self._since = uncounted

    def subtract_removed_tokens(self, tokens: int) -> None:
        """Subtract tokens that were removed although later usage will include them."""
        self.subtracted += tokens
        self._base = max(self._fixed, self._base - tokens)

    def uncount_unsent_tokens(self, tokens: int) -> None:
        """Take back tokens that were added and then not sent (a result that went to disk): no usage
        has counted them.
        """
        self._estimated = max(0, self._estimated - tokens)
        self._since = max(0, self._since - tokens)
        self._between = max(0, self._between - tokens)
        self._after_model = max(0, self._after_model - tokens)

    def reset_to_fixed_prefix(self) -> None:
        """Start over after the history was replaced: only the fixed prefix (instructions, tools)
        remains, until messages are added again.
        """
        self.subtracted = 0
        self._base = self._fixed
        self._since = 0
        self._between = 0
        self._first_measured = None
        self._reply = None
        self._reply_input = 0
        self._reasoning.clear()
