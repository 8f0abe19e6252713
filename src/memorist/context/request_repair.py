"""A host's own request, so that a provider accepts it: after an interrupted tool, say. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from memorist.context.message_normalization import UNLIMITED_TOKENS, normalize_history
from memorist.core.messages import JsonObject
from memorist.formats.codec_registry import find_codec


def repair_request(request: JsonObject, wire_format: str) -> JsonObject:
    """The request with a history that a provider accepts; the same object where it is one already.

    What is done is described in docs/world-state.md; no output is cut. A request that goes on from
    one the provider stored (`previous_response_id`, `conversation`) is left alone, since the calls
    of its outputs are there. The result is the same for the same history, so that the prompt cache
    serves it. Raises WireFormatError for another format, or a request that is not of it.
    """
    if request.get("previous_response_id") or request.get("conversation"):
        return request
    codec = find_codec(wire_format)
    decoded = codec.decode_request(request)
    messages = normalize_history(decoded.messages, wire_format, tool_tokens=UNLIMITED_TOKENS)
    if len(messages) == len(decoded.messages) and all(
        one is other for one, other in zip(messages, decoded.messages, strict=True)
    ):
        return request
    return codec.encode_request(replace(decoded, messages=messages))
