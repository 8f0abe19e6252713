"""Compact a recorded conversation without a model, with any strategy; for the command line and the
benchmarks. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from memorist.compaction import from_session_memory, full, inline, micro
from memorist.compaction.conversation import Conversation, conversation, typed
from memorist.compaction.digest import digest
from memorist.compaction.from_session_memory import Notes
from memorist.compaction.full import Terms
from memorist.compaction.lead import led
from memorist.compaction.recorded import Recorded
from memorist.compaction.result import Compacted, Outcome, Strategy, Unchanged
from memorist.compaction.settings import CompactionSettings
from memorist.compaction.standing import Parted, parted, stood
from memorist.compaction.tail import tail
from memorist.compaction.texts import Texts
from memorist.core.messages import Message
from memorist.core.tokens import family_factor
from memorist.session_memory.ledger import Ledger
from memorist.session_memory.sections import merge_structural
from memorist.session_memory.structural import NotesBudget, render

ORDER: tuple[Strategy, ...] = ("micro", "session-memory", "structural")
"""Strategies that `auto` tries, the least lossy first, until the conversation fits its budget."""


class Offline(Struct, frozen=True, kw_only=True):
    """Options of an offline compaction."""

    budget: int
    """Most tokens of the new history."""
    texts: Texts
    template: str
    """Template of the notes."""
    settings: CompactionSettings
    source: str = ""
    """Path of the full transcript, for reference in the result."""
    summary: str = ""
    """A model's summary; empty uses the structural notes instead."""
    factor: float = 1.0


def compact(recorded: Recorded, strategy: Strategy, how: Offline) -> Outcome:
    """The new history, or the reason why it is unchanged."""
    held = conversation(
        recorded.messages, said=[words for words in map(typed, recorded.everything) if words], transcript=how.source, factor=how.factor
    )
    if strategy != "auto":
        return _by(strategy, recorded, held, how)
    if held.tokens <= how.budget:
        return Unchanged(f"The conversation has {held.tokens:,} tokens, which is within the budget of {how.budget:,}.")
    made: Outcome = Unchanged("No way made the conversation smaller.")
    for each in ORDER:
        made = _by(each, recorded, held, how)
        if isinstance(made, Compacted) and made.tokens_after <= how.budget:
            return made
    return made


def _by(strategy: Strategy, recorded: Recorded, held: Conversation, how: Offline) -> Outcome:
    if strategy == "micro":
        return micro.clear(held.messages, micro.old_results(held.messages, how.settings.micro_keep), factor=how.factor)
    apart = parted(held, how.budget + 1)
    return stood(_rest_by(strategy, recorded, apart, how), apart)


def _rest_by(strategy: Strategy, recorded: Recorded, apart: Parted, how: Offline) -> Outcome:
    """Rewrite the part behind the preamble with the strategy."""
    cwd = recorded.head.cwd if recorded.head else ""
    held, budget = apart.rest, apart.limit - 1
    terms = Terms(texts=how.texts, settings=how.settings, limit=apart.limit, automatic=False)
    match strategy:
        case "session-memory":
            notes = Notes(text=notes_of(recorded, how), path=how.source, template=how.template, last_summarised=None)
            return from_session_memory.compact(held, notes, terms)
        case "full":
            return full.compact(held, how.summary or notes_of(recorded, how), terms)
        case "inline":
            return inline.compact(held, inline.HandOver(summary=how.summary or notes_of(recorded, how)), terms)
        case "structural":
            return digest(held.messages, budget, said=held.said, transcript=how.source, cwd=cwd, factor=how.factor)
        case _:
            return led(tail(held.messages, budget, factor=how.factor), how.texts.cut_marker, how.factor)


def notes_of(recorded: Recorded, how: Offline) -> str:
    """The structural notes of everything said so far."""
    head = recorded.head
    ledger = Ledger(head.cwd if head else "", title=head.title if head else "", branch=head.branch if head else "")
    for message in recorded.everything:
        ledger.add(message)
    return merge_structural(how.template, how.template, render(ledger, NotesBudget(total_tokens=min(2_900, how.budget // 2))))


def factor_of(messages: Sequence[Message]) -> float:
    """Tokens per estimated token for the newest model named in the messages."""
    return family_factor(next((message.model for message in reversed(messages) if message.model), "") or "")
