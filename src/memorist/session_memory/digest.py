"""The brief that replaces the full history for a model other than the parent's (FK-7). Pure."""

from __future__ import annotations

from collections.abc import Mapping

from memorist.core.tokens import BYTES_PER_TOKEN
from memorist.core.truncate import cut_end, cut_middle

NEWEST_TOKENS = 6_000
"""Budget for the newest messages, in full; the structural notes cover what came before."""

MESSAGE_TOKENS = 1_500
"""Most tokens of one message in the brief."""


def digest(derived: Mapping[str, str], newest: list[tuple[str, str]], tokens: int = NEWEST_TOKENS) -> str:
    """Render a brief of the conversation: what is derived from its structure, then its newest
    messages as (speaker, text), oldest first.
    """
    parts = ["What is known of the conversation so far, taken from its transcript by a program:"]
    parts += [f"## {title}\n{body}" for title, body in derived.items() if body.strip()]
    parts.append("The newest messages:")
    room = tokens * BYTES_PER_TOKEN
    chosen: list[str] = []
    for speaker, text in reversed(newest):
        piece = f"[{speaker}]\n{cut_middle(text, MESSAGE_TOKENS)}"
        room -= len(piece)
        if room < 0 and chosen:
            break
        chosen.append(piece)
    parts += reversed(chosen)
    return cut_end("\n\n".join(parts), tokens * 3)
