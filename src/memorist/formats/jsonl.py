"""Shared by the readers of JSONL session files: timestamps, lines that need repair, and why a line
cannot be used.
"""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime

import msgspec

FAILURES = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding a bad line raises; RecursionError for excessive nesting."""

MALFORMED = "its fields are not those of such a record"
REPLACED = "characters that are not valid text were replaced"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SURROGATE = re.compile("[\ud800-\udfff]")


def seconds(timestamp: object) -> float | None:
    """A recorded time (ISO 8601, UTC when it names no zone) as seconds since the epoch; None for
    anything else.
    """
    if not isinstance(timestamp, str):
        return None
    try:
        if timestamp.endswith("Z"):
            return datetime.fromisoformat(timestamp).timestamp()
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def epoch(moment: datetime | None) -> float | None:
    """A decoded time (UTC when it names no zone) as seconds since the epoch."""
    if moment is None:
        return None
    # What `timestamp` gives, in half its time.
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH).total_seconds()


def mended(data: bytes) -> bytes | None:
    """Repair a line: strip NUL bytes around it; replace bad UTF-8, lone surrogates and numbers
    unknown to JSON. None when it is no object.
    """
    try:
        record = json.loads(
            data.strip(b"\0\r\n \t").decode("utf-8", "replace"), strict=False, parse_constant=_no_number, parse_float=_finite
        )
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    return _SURROGATE.sub("\ufffd", json.dumps(record, ensure_ascii=False)).encode()


def _no_number(_: str) -> None:
    return None


def _finite(number: str) -> float | None:
    value = float(number)
    return value if math.isfinite(value) else None


def reason(data: bytes, *, last: bool) -> str:
    """Why a line is no record, in one clause."""
    if mended(data) is not None:
        return MALFORMED
    if not data.strip(b"\0\r\n \t"):
        return "it holds only NUL bytes"
    if b"\0" in data:
        return "it is binary, not text"
    return "it is cut off" if last else "it is not a JSON object"
