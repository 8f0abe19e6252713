"""What would become of each sentence of a message: decided as in a session, stored nowhere (AM-8).

Words are read by `statements.sentence_verdicts`; here the memory, its policy and the gate follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.memory_changes import MemoryChange
from memorist.auto_memory.quotation_proof import drop_statements_in_others_words
from memorist.auto_memory.statement_changes import (
    build_removal_prefilter,
    is_about_everything,
    plan_memory_removal,
    plan_new_memory,
)
from memorist.auto_memory.statements.bare_corrections import (
    find_bare_corrections,
    is_lasting_correction,
)
from memorist.auto_memory.statements.sentence_verdicts import (
    UNATTRIBUTED,
    SentenceVerdict,
    explain_message,
)
from memorist.auto_memory.statements.statement_parser import Statement
from memorist.auto_memory.write_evidence import collect_evidence_from_typed_message
from memorist.auto_memory.write_gate import (
    POLICY_IS_OFF,
    AcceptedChange,
    NeedsReview,
    adjust_verdict_to_review_policy,
    judge_memory_change,
    policy_forbids_writing,
)
from memorist.core.messages import Message

Fate = Literal["kept", "known", "forgets", "waits", "not kept"]


class SentenceFate(Struct, frozen=True):
    """What would become of one sentence."""

    text: str
    fate: Fate
    reasons: tuple[str, ...]
    paths: tuple[str, ...] = ()
    """The memories that say it already, that it corrects, or that it asks to forget."""


def preview_message(
    memory: AutoMemory,
    message: Message,
    reply_before: str = "",
    *,
    session: str = "",
    is_text_announced: bool = False,
) -> tuple[SentenceFate, ...]:
    """The fate of each sentence of a message of the user. Raises StoreError."""
    return tuple(_list_fates(memory, message, reply_before, session, announced=is_text_announced))


def _list_fates(
    memory: AutoMemory, message: Message, reply_before: str, session: str, *, announced: bool
) -> Iterator[SentenceFate]:
    corrections = {} if announced else _find_corrections(memory, message)
    for each in explain_message(message, reply_before, is_text_announced=announced):
        surely = each.outcome == "states"
        if each.text in corrections and not surely:
            yield corrections[each.text]
        elif each.statement is None:
            yield SentenceFate(each.text, "not kept", (each.reason,))
        else:
            is_certain = each.statement.certain and surely
            statement = replace(each.statement, certain=is_certain)
            yield _judge_statement(memory, statement, each, message, session)


def _find_corrections(memory: AutoMemory, message: Message) -> dict[str, SentenceFate]:
    """The fate of each bare correction of a typed message, by its quote."""
    if not message.is_typed:
        return {}
    found = {}
    for each in drop_statements_in_others_words(find_bare_corrections(message), message):
        if paths := memory.find_corrected_memories(each.text):
            fate: Fate = "kept" if is_lasting_correction(each.quote) else "waits"
            found[each.quote] = SentenceFate(each.quote, fate, ("it corrects a memory",), paths)
        elif paths := memory.find_corrected_memories(each.text, in_doubt=True):
            why = ("a memory may no longer hold",)
            found[each.quote] = SentenceFate(each.quote, "waits", why, paths)
    return found


def _judge_statement(
    memory: AutoMemory, statement: Statement, read: SentenceVerdict, message: Message, session: str
) -> SentenceFate:
    if policy_forbids_writing(memory.settings, "said"):
        return SentenceFate(read.text, "not kept", (POLICY_IS_OFF,))
    if statement.act == "forget":
        return _judge_removal(memory, statement, read)
    change = plan_new_memory(
        statement,
        memory.folder.listing.find_same_names,
        session=session,
        timestamp=message.timestamp,
    )
    if known := _find_known(memory, change):
        return SentenceFate(read.text, "known", ("a memory says it already",), (known,))
    if statement.certain:
        return SentenceFate(read.text, *_judge_addition(memory, change, message, session, read))
    if read.reason == UNATTRIBUTED or drop_statements_in_others_words([statement], message):
        return SentenceFate(read.text, "waits", (read.reason,))
    return SentenceFate(read.text, "not kept", ("it stands among the words of others",))


def _judge_addition(
    memory: AutoMemory, change: MemoryChange, message: Message, session: str, read: SentenceVerdict
) -> tuple[Fate, tuple[str, ...]]:
    """What the gate and the policy say to a new memory."""
    evidence = collect_evidence_from_typed_message(session, message)
    case = memory.build_gate_context("said", evidence, {change.path})
    verdict = adjust_verdict_to_review_policy(
        judge_memory_change(change, case), memory.settings, "said"
    )
    match verdict:
        case AcceptedChange(remarks=remarks):
            return "kept", (read.reason, *remarks)
        case NeedsReview(reasons=reasons):
            return "waits", reasons
        case _:
            return "not kept", verdict.reasons


def _find_known(memory: AutoMemory, change: MemoryChange) -> str:
    """The memory that says a change already, here or in every project."""
    for prefix, owner in memory.memories_by_prefix.items():
        if path := owner.known_memories.find_saying_the_same(change):
            return prefix + path
    return ""


def _judge_removal(memory: AutoMemory, statement: Statement, read: SentenceVerdict) -> SentenceFate:
    if not statement.text and not statement.certain:
        why = "something else than a memory may be meant"
        return SentenceFate(read.text, "not kept", (why,))
    if not statement.text:
        why = "it takes back what the message right before it stated"
        return SentenceFate(read.text, "forgets", (why,))
    plans = [
        (
            plan_memory_removal(
                statement, owner.read_memory_files(build_removal_prefilter(statement))
            ),
            prefix,
        )
        for prefix, owner in memory.memories_by_prefix.items()
    ]
    paths = tuple(prefix + each.path for plan, prefix in plans for each in plan.changes)
    if not paths:
        why = "no memory has these words"
        if is_about_everything(statement.text):
            why = "it names every memory, which `memorist memory forget --all` asks about"
        return SentenceFate(read.text, "not kept", (why,))
    if not statement.certain:
        why = "something else may be meant: you are asked whether it is one of these"
        return SentenceFate(read.text, "not kept", (why,), paths)
    if any(plan.is_certain for plan, _ in plans):
        sure = tuple(
            prefix + e.path for plan, prefix in plans if plan.is_certain for e in plan.changes
        )
        return SentenceFate(read.text, "forgets", (read.reason,), sure)
    return SentenceFate(read.text, "waits", ("these may be meant",), paths)
