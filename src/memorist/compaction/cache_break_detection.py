"""Explain prompt-cache misses: each request is kept as hashes, and a drop in cache reads is traced
to its cause (CP-19).

A drop is reported when cache reads fell by more than 5 % and by more than 2,000 tokens against the
previous call (Claude Code). Causes that the sender controls are checked first, in
the order of how much of the prefix they invalidate: tools, system, model, other parameters that key
the cache, messages, cache marks; then expiry; whatever is left is the provider's own doing. Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import chain
from typing import Literal

import msgspec
from msgspec import Struct

from memorist.compaction.cache_breakpoints import list_mark_lifetimes
from memorist.core.messages import JsonObject, Usage
from memorist.events import CacheBroke

MIN_DROP_SHARE = 0.05
MIN_DROP_TOKENS = 2_000
"""A drop is reported only above both bounds (Claude Code)."""

SHORT_LIFETIME_SECONDS = 300.0
LONG_LIFETIME_SECONDS = 3_600.0
"""Lifetimes of a cache entry (Claude Code)."""

CACHE_KEY_PARAMS = (
    "thinking", "tool_choice", "output_config", "context_management", "betas", "speed",
    "service_tier", "reasoning", "reasoning_effort", "text", "response_format",
    "parallel_tool_calls", "prompt_cache_key",
)  # fmt: skip
"""Parameters of the three wire formats that may key the cache: thinking and effort, tool choice,
betas, output form (Claude Code).
"""

CacheBreakCause = Literal[
    "tools", "system", "model", "params", "messages", "marks", "time", "provider"
]

_encode_sorted = msgspec.json.Encoder(order="deterministic").encode
_encode_as_written = msgspec.json.Encoder().encode


class RequestFingerprint(Struct, frozen=True):
    """The parts of a request as hashes: enough to say what changed, nothing of the content."""

    model: str
    system: tuple[str, ...]
    tools: tuple[tuple[str, str], ...]
    """Name and hash of each tool, in order."""
    params: tuple[tuple[str, str], ...]
    """Name and hash of each parameter of `CACHE_KEY_PARAMS` that is present."""
    messages: tuple[str, ...]
    marks: tuple[str, ...] = ()
    """Lifetimes of the cache marks, in order (`5m`, `1h`)."""


def _hash_value(value: object, *, exact: bool = False) -> str:
    """Eight-byte hash of the value; `exact` makes it sensitive to key order."""
    return hashlib.blake2b(
        (_encode_as_written if exact else _encode_sorted)(_strip_cache_marks(value)), digest_size=8
    ).hexdigest()


def _strip_cache_marks(value: object) -> object:
    """The value without cache marks, which are not part of the marked text and move every turn. A
    string equals its single text block.
    """
    match value:
        case dict():
            plain = {key: each for key, each in value.items() if key != "cache_control"}
            content = plain.get("content")
            if isinstance(content, str):
                plain["content"] = [{"type": "text", "text": content}]
            elif isinstance(content, list):
                plain["content"] = [_strip_cache_marks(part) for part in content]
            return plain
        case _:
            return value


def _as_blocks(value: object) -> list[object]:
    if isinstance(value, str):
        return [{"type": "text", "text": value}]
    return list(value) if isinstance(value, list) else []


def _tool_name(tool: object) -> str:
    if not isinstance(tool, dict):
        return ""
    inner = tool.get("function")
    name = inner.get("name") if isinstance(inner, dict) else tool.get("name", tool.get("type"))
    return str(name or "")


def fingerprint_request(body: JsonObject, *, exact: bool = False) -> RequestFingerprint:
    """Fingerprint a request body of any of the three wire formats."""
    tools = _as_blocks(body.get("tools"))
    system = _as_blocks(body.get("system", body.get("instructions")))
    history = _as_blocks(body.get("messages", body.get("input")))
    return RequestFingerprint(
        model=str(body.get("model", "")),
        system=tuple(_hash_value(block, exact=exact) for block in system),
        tools=tuple((_tool_name(tool), _hash_value(tool, exact=exact)) for tool in tools),
        params=tuple((name, _hash_value(body[name])) for name in CACHE_KEY_PARAMS if name in body),
        messages=tuple(_hash_value(entry, exact=exact) for entry in history),
        marks=tuple(
            chain.from_iterable(
                map(
                    list_mark_lifetimes,
                    (*tools, *system, *history, {"cache_control": body.get("cache_control")}),
                )
            )
        ),
    )


def detect_cache_break(
    before: RequestFingerprint,
    now: RequestFingerprint,
    usage_before: Usage | None,
    usage_now: Usage,
    gap_seconds: float,
    *,
    expected: bool = False,
) -> CacheBroke | None:
    """Find the cause of a drop in cache reads between two calls; None when there is no reportable
    drop.

    `gap_seconds` lies between the starts of the two calls. `expected` is set for the first call
    after an edit of ours (compaction, clearing), and `usage_before` is None when there is nothing
    to compare with: neither is reported.
    """
    if expected or usage_before is None:
        return None
    fall = usage_before.cache_read - usage_now.cache_read
    if fall <= MIN_DROP_TOKENS or fall <= usage_before.cache_read * MIN_DROP_SHARE:
        return None
    cause, what = _find_cause(before, now, gap_seconds)
    return CacheBroke(cause, what, fall)


def _find_cause(
    before: RequestFingerprint, now: RequestFingerprint, gap_seconds: float
) -> tuple[CacheBreakCause, str]:
    found = compare_fingerprints(before, now)
    if not found and (time := _describe_expiry(before.marks, gap_seconds)):
        found = [("time", time)]
    return (
        found[0] if found else ("provider", "nothing that was sent changed, and the time was short")
    )


def compare_fingerprints(
    before: RequestFingerprint, now: RequestFingerprint
) -> list[tuple[CacheBreakCause, str]]:
    """What the sender changed between two requests, apart from appended history; the most
    invalidating change first.
    """
    found: list[tuple[CacheBreakCause, str]] = [
        ("tools", _describe_tool_changes(before.tools, now.tools)),
        ("system", _describe_system_change(before.system, now.system)),
        ("model", f"{before.model} became {now.model}" if before.model != now.model else ""),
        ("params", _describe_named_changes(before.params, now.params)),
        ("messages", _describe_history_change(before.messages, now.messages)),
        ("marks", _describe_lost_marks(before.marks, now.marks)),
    ]
    return [(cause, what) for cause, what in found if what]


def _describe_tool_changes(
    before: Sequence[tuple[str, str]], now: Sequence[tuple[str, str]]
) -> str:
    if before == now:
        return ""
    return _describe_named_changes(before, now) or "the order of the tools changed"


def _describe_named_changes(
    before: Sequence[tuple[str, str]], now: Sequence[tuple[str, str]]
) -> str:
    """Which entries of two lists of named hashes were added, removed or changed."""
    old, new = dict(before), dict(now)
    parts = {
        "added": [name for name in new if name not in old],
        "removed": [name for name in old if name not in new],
        "changed": [name for name in new if name in old and new[name] != old[name]],
    }
    return "; ".join(f"{verb}: {', '.join(names)}" for verb, names in parts.items() if names)


def find_first_difference_index(before: Sequence[str], now: Sequence[str]) -> int:
    """Index of the first entry that differs; the length of the shorter list where there is none."""
    return next(
        (
            index
            for index, (left, right) in enumerate(zip(before, now, strict=False))
            if left != right
        ),
        min(len(before), len(now)),
    )


def _describe_system_change(before: Sequence[str], now: Sequence[str]) -> str:
    if before == now:
        return ""
    return f"block {find_first_difference_index(before, now)} of {len(now)} (counted from 0)"


def _describe_history_change(before: Sequence[str], now: Sequence[str]) -> str:
    """Where the history differs from the previous one; a history that only grew does not differ."""
    first = find_first_difference_index(before, now)
    if first == len(before):
        return ""
    if first == len(now):
        return f"the history was cut back to its first {len(now)} of {len(before)} entries"
    return f"entry {first} of {len(now)} (counted from 0) is not the one sent before"


def _describe_lost_marks(before: Sequence[str], now: Sequence[str]) -> str:
    if len(now) < len(before):
        if now:
            return f"{len(before)} cache marks became {len(now)}"
        return "the request has no cache mark any more"
    return ""


def _describe_expiry(marks: Sequence[str], gap_seconds: float) -> str:
    """A gap beyond the shorter lifetime explains a drop unless every mark was for an hour."""
    if gap_seconds > LONG_LIFETIME_SECONDS:
        return f"{gap_seconds / 60:.0f} minutes passed; entries live for 1 h at most"
    if gap_seconds > SHORT_LIFETIME_SECONDS and not (marks and all(mark == "1h" for mark in marks)):
        return f"{gap_seconds / 60:.0f} minutes passed; entries live for 5 min"
    return ""
