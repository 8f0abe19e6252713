"""A prompt that decides on what waits in the inbox: word for word a command of memorist's. Pure."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from memorist.auto_memory.statements.text_around_pastes import extract_typed_text
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import Message

_REQUEST = lazy_pattern(
    r"(`?)memorist (?:(?:memory )?(?P<shows>inbox)|(?:memory )?(?:inbox )?(?P<verb>accept|reject)"
    r"(?P<names>(?:[ ,]+(?:\d{1,3}|[0-9a-f]{8}|all))*))\1",
    re.IGNORECASE,
)


class InboxRequest(Struct, frozen=True):
    """What a prompt asks of the inbox; `names` are numbers of its list, or ids."""

    verb: Literal["show", "accept", "reject"]
    names: tuple[str, ...] = ()


def find_inbox_request(typed: str) -> InboxRequest | None:
    """What a whole prompt asks of the inbox; None for any other prompt."""
    found = _REQUEST.fullmatch(" ".join(typed.split()))
    if found is None:
        return None
    if found["shows"]:
        return InboxRequest("show")
    verb: Literal["accept", "reject"] = "accept" if found["verb"].lower() == "accept" else "reject"
    return InboxRequest(verb, tuple(re.findall(r"\w+", found["names"].lower())))


def find_inbox_request_in_message(message: Message) -> InboxRequest | None:
    """What a message of the user asks of the inbox; None for any other message."""
    return find_inbox_request(extract_typed_text(message))
