"""The body of a first request, as a host of each family builds it from the pieces of its context."""

from __future__ import annotations

from collections.abc import Sequence

from memorist.context.context_pieces import ContextPiece, ContextSection
from memorist.context.first_context_assembly import build_piece_messages
from memorist.core.messages import DecodedRequest, JsonObject, Message, Origin, TextBlock, WireInfo
from memorist.formats.codec_registry import find_codec

_CACHED: JsonObject = {"cache_control": {"type": "ephemeral"}}


def build_deferred_tools_section(names: Sequence[str]) -> ContextSection:
    """List the tools that are not in the request's schema, one name a line."""
    return ContextSection(tag="available-deferred-tools", text="\n".join(names), source="the host")


def build_responses_body(
    pieces: Sequence[ContextPiece], conversation: Sequence[Message] = ()
) -> JsonObject:
    """Build `input` of a Responses request: the context's messages, then the conversation."""
    return _encode(
        "openai_responses", (), [*build_piece_messages(pieces, "rollout"), *conversation]
    )


def build_anthropic_body(
    pieces: Sequence[ContextPiece], conversation: Sequence[Message] = ()
) -> JsonObject:
    """Build `system` and `messages` of a Messages request.

    The static part and the whole of `system` each end with a cache mark. The user context precedes
    all messages and shares one message with the user's first words, as the API merges neighbours of
    one role.
    """
    blocks = [each for each in pieces if each.role == "system"]
    marked = {len([each for each in blocks if each.tag == "static"]) - 1, len(blocks) - 1}
    system = Message(
        id="system",
        role="system",
        blocks=tuple(
            TextBlock(each.text, extra=_CACHED if number in marked else None)
            for number, each in enumerate(blocks)
        ),
        origin=Origin.INJECTED,
        wire=WireInfo("anthropic"),
    )
    context = build_piece_messages(
        [each for each in pieces if each.role != "system"], "file-native"
    )
    return _encode("anthropic", (system,) if blocks else (), [*context, *conversation])


def _encode(name: str, system: tuple[Message, ...], history: Sequence[Message]) -> JsonObject:
    return find_codec(name).encode_request(
        DecodedRequest(
            system=system,
            tools=(),
            messages=tuple(history),
            params={},
            wire=WireInfo(name, "request"),
        )
    )
