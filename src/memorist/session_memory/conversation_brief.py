"""The brief that replaces the full history for another model than that of the parent
(FK-7). Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

from memorist.core.messages import Message, Origin, TextBlock
from memorist.core.token_count import estimate_text_tokens
from memorist.core.truncation import truncate_end, truncate_middle
from memorist.forks.fork_spec import BRIEF_HEAD, NEWEST_HEAD

BRIEF_TOKENS = 6_000
"""Budget for the newest messages, in full; the structural notes cover what came before."""


BRIEF_MESSAGE_TOKENS = 1_500
"""Most tokens of one message in the brief."""


def extract_text_without_injections(message: Message) -> str:
    """The text of a message without what the host put in: instruction files and the like are long,
    and tell nothing of what was done.
    """
    if message.origin is Origin.INJECTED:
        return ""
    return "\n".join(
        block.text
        for block in message.blocks
        if isinstance(block, TextBlock) and block.origin is not Origin.INJECTED
    )


def render_conversation_brief(derived: Mapping[str, str], newest: list[tuple[str, str]]) -> str:
    """Render a brief of the conversation: what is derived from its structure, then its newest
    messages as (speaker, text), oldest first.
    """
    parts = [BRIEF_HEAD]
    parts += [f"## {title}\n{body}" for title, body in derived.items() if body.strip()]
    parts.append(NEWEST_HEAD)
    room = BRIEF_TOKENS
    chosen: list[str] = []
    for speaker, text in reversed(newest):
        piece = f"[{speaker}]\n{truncate_middle(text, BRIEF_MESSAGE_TOKENS)}"
        room -= estimate_text_tokens(piece)
        if room < 0 and chosen:
            break
        chosen.append(piece)
    parts += reversed(chosen)
    return truncate_end("\n\n".join(parts), BRIEF_TOKENS * 3)
