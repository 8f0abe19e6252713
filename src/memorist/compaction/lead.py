"""Ensure that a history begins with a user message: the APIs demand it (claude-code.md section 6.5
step 6). Pure.
"""

from __future__ import annotations

from msgspec.structs import replace

from memorist.compaction.groups import MARKER_ID
from memorist.compaction.result import Compacted
from memorist.core.messages import Message, Origin, Text
from memorist.core.tokens import estimate_message


def lead_of(marker: str) -> Message:
    """The user message put first where the beginning was dropped."""
    return Message(id=MARKER_ID, role="user", blocks=(Text(marker),), origin=Origin.INJECTED)


def led(made: Compacted, marker: str, factor: float = 1.0) -> Compacted:
    """The history with a user message in front that says that the beginning was dropped, where it
    would begin with the assistant.
    """
    if not made.messages or made.messages[0].role != "assistant":
        return made
    lead = lead_of(marker)
    return replace(made, messages=(lead, *made.messages), tokens_after=made.tokens_after + estimate_message(lead, factor))
