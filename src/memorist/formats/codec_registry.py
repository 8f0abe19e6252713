"""Finding a codec by name."""

from __future__ import annotations

from memorist.errors import WireFormatError
from memorist.formats import anthropic_messages, openai_chat, openai_responses
from memorist.formats.request_codec import Codec

_CODECS: dict[str, Codec] = {
    "anthropic": anthropic_messages.CODEC,
    "openai_chat": openai_chat.CODEC,
    "openai_responses": openai_responses.CODEC,
}


def find_codec(name: str) -> Codec:
    """The codec of that name. Raises WireFormatError, which lists the known names."""
    found = _CODECS.get(name)
    if found is None:
        raise WireFormatError(
            f"{name!r} is no wire format; use one of {', '.join(sorted(_CODECS))}."
        )
    return found
