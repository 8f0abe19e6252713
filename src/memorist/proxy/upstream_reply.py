"""Read a provider's reply on the side while its bytes go to the client unchanged. Pure."""

from __future__ import annotations

import zlib

import zstandard

from memorist.core.messages import JsonObject
from memorist.errors import WireFormatError
from memorist.models.call_failure import (
    CallFailure,
    build_failure_from_error_object,
    is_context_too_long,
    is_too_long_response,
)
from memorist.models.reply_assembly import parse_sse_json_objects


def decompress_body(data: bytes, encoding: str, limit: int) -> bytes:
    """Remove a body's content encoding (gzip, deflate, zstd or none).

    Raises WireFormatError for another encoding, a broken body, or one larger than `limit`.
    """
    try:
        match encoding.strip().lower():
            case "" | "identity":
                return data
            case "gzip" | "x-gzip":
                return _inflate(data, zlib.MAX_WBITS | 16, limit)
            case "deflate":
                return _inflate(data, zlib.MAX_WBITS, limit)
            case "zstd":
                return _decompress_zstd(data, limit)
    except (zlib.error, zstandard.ZstdError) as error:
        raise WireFormatError("a packed body cannot be unpacked") from error
    raise WireFormatError("the content encoding of a body is not supported")


def _inflate(data: bytes, bits: int, most: int) -> bytes:
    unpacking = zlib.decompressobj(bits)
    found = unpacking.decompress(data, most)
    if unpacking.unconsumed_tail or not unpacking.eof:
        raise WireFormatError("a packed body is cut, or far too large")
    return found


def _decompress_zstd(data: bytes, most: int) -> bytes:
    reader = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(data)
    parts, size = list[bytes](), 0
    while part := reader.read(1_048_576):
        parts.append(part)
        size += len(part)
        if size > most:
            raise WireFormatError("a packed body is far too large")
    return b"".join(parts)


def is_context_overflow(status: int, data: bytes) -> bool:
    """Whether a reply says that the request exceeds the model's window: an error, or a stream that
    begins with one.
    """
    if status >= 400:
        return is_too_long_response(status, data)
    return any(
        is_context_too_long(fault)
        for event in parse_sse_json_objects(data)
        if (fault := _fault_of_event(event)) is not None
    )


def _fault_of_event(event: JsonObject) -> CallFailure | None:
    response = event.get("response")
    error = event.get("error") or (response.get("error") if isinstance(response, dict) else None)
    if event.get("type") == "error" and error is None:
        error = event
    return build_failure_from_error_object(error) if isinstance(error, dict) else None
