"""JSON merge patches (RFC 7386) and the canonical form of values that they can carry. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

import msgspec

from memorist.core.messages import (
    JsonObject,
)

_encode = msgspec.json.Encoder(order="deterministic").encode


def to_patchable(value: object) -> object:
    """Return the value as a patch can carry it: null removes a key, so keys without a value are
    left out; NaN and infinity are not JSON.
    """
    match value:
        case dict():
            return to_patchable_object(value)
        case list() | tuple():
            return [to_patchable(each) for each in value]
        case float() if not math.isfinite(value):
            return None
        case _:
            return value


def to_patchable_object(values: Mapping[str, object]) -> JsonObject:
    """Return an object as a patch can carry it."""
    return {
        str(key): inner for key, each in values.items() if (inner := to_patchable(each)) is not None
    }


def encode_canonical(value: object) -> bytes:
    """Encode a JSON value to the same bytes whatever the order of its keys. True differs from 1."""
    try:
        return _encode(value)
    except (OverflowError, UnicodeEncodeError):  # an integer of more than 64 bits; a lone surrogate
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def build_merge_patch(before: JsonObject, now: JsonObject) -> JsonObject:
    """Build the patch that turns `before` into `now`; empty if they are equal.

    Neither may hold null as the value of a key.
    """
    patch: JsonObject = {key: None for key in before if key not in now}
    for key, value in now.items():
        old = before.get(key)
        if key in before and encode_canonical(old) == encode_canonical(value):
            continue
        patch[key] = (
            build_merge_patch(old, value)
            if isinstance(old, dict) and isinstance(value, dict)
            else value
        )
    return patch


def apply_merge_patch(before: JsonObject, patch: JsonObject) -> JsonObject:
    """Return the state after the patch. The arguments are not changed."""
    now = dict(before)
    for key, value in patch.items():
        if value is None:
            now.pop(key, None)
        elif isinstance(value, dict):
            old = now.get(key)
            now[key] = apply_merge_patch(old if isinstance(old, dict) else {}, value)
        else:
            now[key] = value
    return now
