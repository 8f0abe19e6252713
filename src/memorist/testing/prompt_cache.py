"""Prompt-cache accounting as the providers do it. Pure, so that a test can say how much of a
request should be a cache read.

Anthropic: a mark (`cache_control`) on a block writes the prefix that ends there. A later request
reads the longest prefix that was written before and ends at one of its own marks or at most 20
blocks before one. The prefix runs over tools, system and messages. Another model starts over; a
change of thinking or tool choice keeps tools and system only (Anthropic's prompt caching guide).

OpenAI: no marks. The longest common start with any earlier request counts, from 1,024 tokens on, in
steps of 128 (OpenAI's prompt caching guide).

With a clock (`now`) entries expire when their lifetime has passed since the last request that read
or wrote them; without one they never expire.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import NamedTuple

import msgspec
from msgspec import Struct

from memorist.core.messages import JsonObject, Usage
from memorist.core.token_count import estimate_text_tokens

LOOKBACK_BLOCKS = 20
"""Blocks before a mark that are searched for a written prefix (Anthropic's prompt caching guide).
"""

OPENAI_MIN_PREFIX_TOKENS = 1_024
OPENAI_PREFIX_STEP_TOKENS = 128
"""Smallest cached prefix and its granularity in tokens (OpenAI's prompt caching guide)."""

LIFETIMES = {"5m": 300.0, "1h": 3_600.0}
"""Lifetime of a written prefix in seconds, by the mark's `ttl` (Anthropic's prompt caching guide).
"""

OPENAI_PREFIX_LIFETIME_SECONDS = 600.0
"""Seconds of idle time after which a prefix expires:

5 to 10 minutes (OpenAI's prompt caching guide).
"""

_MESSAGE_KEYS = ("thinking", "tool_choice", "output_config")
_encode = msgspec.json.Encoder(order="deterministic").encode


class InputTokenCounts(Struct, frozen=True, kw_only=True):
    """Input tokens of one request by price class.

    `cache_write_long` is the part of `cache_write` with a lifetime of one hour.
    """

    input: int
    cache_read: int = 0
    cache_write: int = 0
    cache_write_long: int = 0

    @property
    def total(self) -> int:
        """All input tokens."""
        return self.input + self.cache_read + self.cache_write

    def usage(self, output: int) -> Usage:
        """The same as a `Usage`."""
        return Usage(
            input=self.input,
            cache_read=self.cache_read,
            cache_write=self.cache_write,
            output=output,
        )


class CumulativePrefixBlock(NamedTuple):
    """One block of the prefix: the key of everything up to its end, the tokens up to its end, and
    the lifetime of its mark (None: no mark).
    """

    key: str
    tokens: int
    ttl: str | None


class PrefixExpiry(NamedTuple):
    """When a prefix expires, in seconds of the given clock, and the lifetime that each hit
    renews.
    """

    until: float = inf
    lifetime: float = inf


class PromptCacheState(Struct, frozen=True):
    """What earlier requests left in the cache: written prefixes by key (Anthropic), and texts with
    their expiry (OpenAI).
    """

    written: Mapping[str, PrefixExpiry] = {}
    texts: Mapping[str, float] = {}


def _as_blocks(content: object) -> list[JsonObject]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return (
        [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    )


def _raw_blocks(body: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    for tool in _as_blocks(body.get("tools")):
        yield "tool", tool
    for block in _as_blocks(body.get("system")):
        yield "system", block
    for message in body.get("messages", ()):
        if isinstance(message, dict):
            for block in _as_blocks(message.get("content")):
                yield f"message:{message.get('role')}", block


def _remove_mark(block: JsonObject) -> JsonObject:
    plain = {key: value for key, value in block.items() if key != "cache_control"}
    if isinstance(plain.get("content"), list):
        plain["content"] = [
            _remove_mark(part) if isinstance(part, dict) else part for part in plain["content"]
        ]
    return plain


def get_cache_mark_lifetime(block: JsonObject) -> str | None:
    """The lifetime of a block's cache mark (`5m` by default), also inside a tool result; None
    without a mark.
    """
    mark = block.get("cache_control")
    if isinstance(mark, dict):
        return str(mark.get("ttl", "5m"))
    inner = block.get("content")
    for part in reversed(inner) if isinstance(inner, list) else ():
        if isinstance(part, dict) and isinstance(part.get("cache_control"), dict):
            return str(part["cache_control"].get("ttl", "5m"))
    return None


def split_anthropic_blocks(body: JsonObject) -> list[CumulativePrefixBlock]:
    """The request's prefix, block by block. Marks are not part of the text they mark."""
    digest = hashlib.sha256(_encode(body.get("model")))
    blocks: list[CumulativePrefixBlock] = []
    tokens = 0
    in_messages = False
    for position, raw in _raw_blocks(body):
        if position.startswith("message") and not in_messages:
            in_messages = True
            digest.update(_encode({key: body.get(key) for key in _MESSAGE_KEYS}))
        text = _encode(_remove_mark(raw))
        digest.update(position.encode() + b"\0" + text + b"\0")
        tokens += estimate_text_tokens(text.decode())
        blocks.append(
            CumulativePrefixBlock(digest.hexdigest(), tokens, get_cache_mark_lifetime(raw))
        )
    automatic = body.get("cache_control")
    if blocks and isinstance(automatic, dict):
        blocks[-1] = blocks[-1]._replace(ttl=str(automatic.get("ttl", "5m")))
    return blocks


def _find_longest_read(
    state: PromptCacheState,
    blocks: Sequence[CumulativePrefixBlock],
    marks: list[int],
    now: float | None,
) -> int:
    """Index of the last block that is read from the cache; -1 for none."""
    for mark in reversed(marks):
        for index in range(mark, max(-1, mark - LOOKBACK_BLOCKS - 1), -1):
            entry = state.written.get(blocks[index].key)
            if entry is not None and (now is None or now <= entry.until):
                return index
    return -1


def compute_anthropic_usage_and_cache(
    state: PromptCacheState,
    blocks: Sequence[CumulativePrefixBlock],
    *,
    minimum: int = 0,
    now: float | None = None,
) -> tuple[PromptCacheState, InputTokenCounts]:
    """Anthropic's accounting for a request that is already split into blocks; see
    `compute_request_usage`.
    """
    total = blocks[-1].tokens if blocks else 0
    marks = [
        index
        for index, block in enumerate(blocks)
        if block.ttl is not None and block.tokens >= minimum
    ]
    if not marks:
        return state, InputTokenCounts(input=total)
    found = _find_longest_read(state, blocks, marks, now)
    read = blocks[found].tokens if found >= 0 else 0
    end = max(read, blocks[marks[-1]].tokens)
    long_end = max([read, *(blocks[index].tokens for index in marks if blocks[index].ttl == "1h")])
    counts = InputTokenCounts(
        input=total - end, cache_read=read, cache_write=end - read, cache_write_long=long_end - read
    )
    written = dict(state.written)
    for block in blocks[: found + 1]:
        if now is not None and block.key in written:
            written[block.key] = written[block.key]._replace(
                until=now + written[block.key].lifetime
            )
    for index in marks:
        fresh = _new_cached_prefix(blocks[index].ttl, now)
        written[blocks[index].key] = max(fresh, written.get(blocks[index].key, fresh))
    return msgspec.structs.replace(state, written=written), counts


def _new_cached_prefix(ttl: str | None, now: float | None) -> PrefixExpiry:
    lifetime = LIFETIMES.get(ttl or "5m", LIFETIMES["5m"])
    return PrefixExpiry() if now is None else PrefixExpiry(now + lifetime, lifetime)


def render_openai_prefix(body: JsonObject) -> str:
    """The request as one text in OpenAI's cache order: tools, instructions, then the history."""
    history = body["input"] if "input" in body else body.get("messages", [])
    entries = [{"role": "user", "content": history}] if isinstance(history, str) else history
    head = _encode([body.get("model"), body.get("tools", []), body.get("instructions")]).decode()
    return "\n".join([head, *(_encode(entry).decode() for entry in entries)])


def find_common_prefix_length(left: str, right: str) -> int:
    """Length in characters of the common start of two texts."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _account_openai(
    state: PromptCacheState, body: JsonObject, now: float | None
) -> tuple[PromptCacheState, InputTokenCounts]:
    text = render_openai_prefix(body)
    alive = {
        earlier: until for earlier, until in state.texts.items() if now is None or now <= until
    }
    counts = _openai_counts(
        estimate_text_tokens(text),
        max(
            (
                estimate_text_tokens(text[: find_common_prefix_length(text, earlier)])
                for earlier in alive
            ),
            default=0,
        ),
    )
    kept = {earlier: until for earlier, until in alive.items() if not text.startswith(earlier)}
    return msgspec.structs.replace(
        state, texts=kept | {text: inf if now is None else now + OPENAI_PREFIX_LIFETIME_SECONDS}
    ), counts


def _openai_counts(total: int, common: int) -> InputTokenCounts:
    cached = common // OPENAI_PREFIX_STEP_TOKENS * OPENAI_PREFIX_STEP_TOKENS
    read = cached if cached >= OPENAI_MIN_PREFIX_TOKENS else 0
    return InputTokenCounts(input=total - read, cache_read=read)


def compute_openai_usage_and_cache(
    state: PromptCacheState, blocks: Sequence[CumulativePrefixBlock], *, now: float | None = None
) -> tuple[PromptCacheState, InputTokenCounts]:
    """OpenAI's accounting for a request that is already split into blocks: the longest run of whole
    blocks that an earlier request began with.
    """
    common = 0
    for block in blocks:
        entry = state.written.get(block.key)
        if entry is None or (now is not None and now > entry.until):
            break
        common = block.tokens
    until = (
        PrefixExpiry()
        if now is None
        else PrefixExpiry(now + OPENAI_PREFIX_LIFETIME_SECONDS, OPENAI_PREFIX_LIFETIME_SECONDS)
    )
    written = {**state.written, **dict.fromkeys((block.key for block in blocks), until)}
    return msgspec.structs.replace(state, written=written), _openai_counts(
        blocks[-1].tokens if blocks else 0, common
    )


def compute_request_usage(
    state: PromptCacheState,
    wire_format: str,
    body: JsonObject,
    *,
    minimum: int = 0,
    now: float | None = None,
) -> tuple[PromptCacheState, InputTokenCounts]:
    """Count the input of a request and what it reads from and writes to the cache; returns the
    cache after it.

    `minimum` is the smallest prefix in tokens that an Anthropic mark caches: 0 here so that small
    tests show cache reads; the provider's is 1,024 or more by model. `now` is the time at which the
    request begins, in seconds; with it entries expire.
    """
    if wire_format == "anthropic":
        return compute_anthropic_usage_and_cache(
            state, split_anthropic_blocks(body), minimum=minimum, now=now
        )
    return _account_openai(state, body, now)
