"""Read a provider's reply on the side while its bytes go to the client unchanged. Pure."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping

import msgspec
import zstandard

from memorist.core.messages import JsonObject
from memorist.errors import FormatError
from memorist.models.call_failure import (
    CallFailure,
    build_failure_from_error_object,
    build_failure_from_status,
    is_context_too_long,
)
from memorist.models.event_stream import parse_plain_reply
from memorist.models.reply_assembly import assemble_anthropic, assemble_chat, assemble_responses

_ASSEMBLERS: Mapping[str, Callable[[Iterable[JsonObject]], JsonObject | CallFailure]] = {
    "anthropic": assemble_anthropic,
    "openai_responses": assemble_responses,
    "openai_chat": assemble_chat,
}


def decompress_body(data: bytes, encoding: str, limit: int) -> bytes:
    """Remove a body's content encoding (gzip, deflate, zstd or none).

    Raises FormatError for another encoding, a broken body, or one larger than `limit`.
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
        raise FormatError("a packed body cannot be unpacked") from error
    raise FormatError("the content encoding of a body is not supported")


def _inflate(data: bytes, bits: int, most: int) -> bytes:
    unpacking = zlib.decompressobj(bits)
    found = unpacking.decompress(data, most)
    if unpacking.unconsumed_tail or not unpacking.eof:
        raise FormatError("a packed body is cut, or far too large")
    return found


def _decompress_zstd(data: bytes, most: int) -> bytes:
    reader = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(data)
    parts, size = list[bytes](), 0
    while part := reader.read(1_048_576):
        parts.append(part)
        size += len(part)
        if size > most:
            raise FormatError("a packed body is far too large")
    return b"".join(parts)


def parse_upstream_reply(format: str, content_type: str, data: bytes) -> JsonObject | CallFailure:
    """The reply in a provider's bytes, streamed or not, or the fault that ended it."""
    try:
        if "event-stream" not in content_type:
            return parse_plain_reply(data)
        return _ASSEMBLERS[format](decode_sse_events(data))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        return CallFailure(
            kind="invalid", message=f"an answer is not of the format: {type(error).__name__}"
        )


def decode_sse_events(data: bytes) -> list[JsonObject]:
    """The decoded events of a stream; incomplete events and those that are not JSON objects are
    left out.
    """
    found = []
    for event in data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n\n"):
        lines = [
            line[5:].removeprefix(b" ") for line in event.split(b"\n") if line.startswith(b"data:")
        ]
        if not lines:
            continue
        try:
            value = msgspec.json.decode(b"\n".join(lines))
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue  # `[DONE]`, or cut
        if isinstance(value, dict):
            found.append(value)
    return found


def is_context_overflow(status: int, headers: Mapping[str, str], data: bytes) -> bool:
    """Whether a reply says that the request exceeds the model's window: an error, or a stream that
    begins with one.
    """
    if status < 400:
        return any(
            is_context_too_long(fault)
            for event in decode_sse_events(data)
            if (fault := _fault_of_event(event)) is not None
        )
    try:
        body = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        body = None
    return is_context_too_long(
        build_failure_from_status(status, data[:2_000].decode("utf-8", "replace"), body, headers)
    )


def _fault_of_event(event: JsonObject) -> CallFailure | None:
    response = event.get("response")
    error = event.get("error") or (response.get("error") if isinstance(response, dict) else None)
    if event.get("type") == "error" and error is None:
        error = event
    return build_failure_from_error_object(error) if isinstance(error, dict) else None
