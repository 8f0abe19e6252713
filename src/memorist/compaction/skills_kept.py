"""Skills survive every compaction strategy: invoked ones are restored behind the message that
replaces the old conversation (CP-8, SK-2). Pure.
"""

from __future__ import annotations

from msgspec.structs import replace

from memorist.compaction.full import Terms
from memorist.compaction.restore import Back, skills_back
from memorist.compaction.result import Compacted, Outcome

OURS = "memorist"
"""Id prefix of messages that a compaction inserted."""


def with_skills(made: Outcome, terms: Terms, factor: float) -> Outcome:
    """The result with the invoked skills, where the strategy itself restores none, as far as there
    is room for them.
    """
    if not isinstance(made, Compacted) or made.strategy in {"full", "micro"} or not terms.facts.skills:
        return made
    room = min(terms.limit, made.tokens_before) - made.tokens_after - 1
    backs: list[Back] = []
    for back in skills_back(terms.facts.skills, made.messages, terms.settings, terms.texts, factor):
        room -= back.restored.tokens
        if room < 0:
            break
        backs.append(back)
    if not backs:
        return made
    # A hand-over stays last (CP-11).
    head = (
        0
        if made.strategy == "inline"
        else next((at for at, message in enumerate(made.messages) if not message.id.startswith(OURS)), len(made.messages))
    )
    return replace(
        made,
        messages=(*made.messages[:head], *(back.message for back in backs), *made.messages[head:]),
        tokens_after=made.tokens_after + sum(back.restored.tokens for back in backs),
        restored=(*made.restored, *(back.restored for back in backs)),
    )
