"""Reconcile a new memory with those that are there: which it repeats, replaces, shortens or
contradicts, and what is asked about. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.memory_changes import MemoryChange
from memorist.auto_memory.memory_file import (
    MemoryFile,
    parse_memory_file,
    with_body,
    with_header_values,
    with_provenance,
)
from memorist.auto_memory.statement_comparison import (
    OPPOSED,
    StatementRelation,
    compare_statements,
    remove_contradicted_clauses,
)
from memorist.auto_memory.statements.statement_similarity import is_same_rule
from memorist.auto_memory.team_memory import is_team_path
from memorist.auto_memory.value_correction import names_whole_subject
from memorist.auto_memory.visible_memory import USER_TRUST
from memorist.core.lazy import lazy_pattern
from memorist.core.text_encoding import encode_file_text_as_utf8


class Reconciliation(Struct, frozen=True, kw_only=True):
    """What becomes of a new memory beside those that are there."""

    changes: tuple[MemoryChange, ...] = ()
    """What is written: the new memory, those that it replaces, or the known one with a newer
    date.
    """
    replaced_paths: tuple[str, ...] = ()
    """Paths of the memories that the new one replaces."""
    shortened_paths: tuple[str, ...] = ()
    """Paths of the memories a part of which the new one replaces; the rest stays."""
    known_path: str = ""
    """Path of the memory that says the same; empty where none does."""
    contradicts: str = ""
    """Path of a memory that says otherwise, where the new one is not the user's word."""
    questions: tuple[tuple[MemoryChange, str], ...] = ()
    """Changes of other memories that the user may want, each with the reason to ask."""


def reconcile_new_memory(
    change: MemoryChange, topics: Iterable[MemoryFile], now: str
) -> Reconciliation:
    """Reconcile a memory that is about to be made with the `topics` that are there.

    The user's word replaces what it contradicts, or the part that it contradicts where the rest
    can stand alone, and asks otherwise. Any other word changes nothing: it is dropped where it is
    known, and named where it contradicts.
    """
    added = parse_memory_file(change.path, change.after or b"")
    said = prefix_statement_with_its_refusal(added)
    found = [
        (agreement, topic)
        for topic in topics
        if not is_team_path(topic.path)
        and topic.path != change.path
        and topic.provenance.status == "active"
        and (agreement := _compare_added(added, said, topic)) is not StatementRelation.UNRELATED
    ]
    same = next((topic for agreement, topic in found if agreement is StatementRelation.SAME), None)
    if added.provenance.trust not in USER_TRUST:
        return _judge_unproven(change, found)
    if same is not None:
        return Reconciliation(changes=(_confirm(same, added, now),), known_path=same.path)
    corrected = [topic for agreement, topic in found if agreement is StatementRelation.CORRECTED]
    replaced = [
        topic
        for agreement, topic in found
        if agreement in (StatementRelation.RESTATED, StatementRelation.OPPOSITE)
    ] or (corrected if len(corrected) == 1 else [])
    shortened = [
        shorter
        for agreement, topic in found
        if agreement is StatementRelation.PARTLY_OPPOSITE
        and (shorter := _remove_contradicted_part(topic, said)) is not None
    ]
    paths = tuple(each.path for each in shortened)
    return Reconciliation(
        changes=(
            _with_replaced(added, replaced) if replaced else change,
            *(_removal(topic) for topic in replaced),
            *shortened,
        ),
        replaced_paths=tuple(topic.path for topic in replaced),
        shortened_paths=paths,
        questions=tuple(
            (_removal(topic), reason)
            for agreement, topic in found
            if topic not in replaced
            and topic.path not in paths
            and (reason := _explain_question(agreement, said))
        ),
    )


_REFUSAL = lazy_pattern(
    r"(?:no|nope|nah|actually|correction|wrong)\b\s*[,:.!–—-]+\s*", re.IGNORECASE
)


def prefix_statement_with_its_refusal(added: MemoryFile) -> str:
    """What a memory says, behind the refusal that its sentence began with."""
    refusal = _REFUSAL.match(added.provenance.quote)
    return f"{refusal[0]}{added.one_line_text}" if refusal else added.one_line_text


def find_memory_saying_the_same(change: MemoryChange, topics: Iterable[MemoryFile]) -> str:
    """Path of the memory that says what a change would newly say; empty where none does."""
    if change.before is not None or change.after is None:
        return ""
    said = parse_memory_file(change.path, change.after).one_line_text
    return next((topic.path for topic in topics if _compare_topic(said, topic) in _KNOWN), "")


def find_corrected_memories(
    said: str, topics: Iterable[MemoryFile], *, in_doubt: bool = False
) -> tuple[str, ...]:
    """Paths of the memories that a statement says otherwise, or whose value it corrects; `in_doubt`
    those of which nothing tells whether they still hold.
    """
    relations = _DOUBTED if in_doubt else _CHANGED
    return tuple(
        topic.path
        for topic in topics
        if topic.provenance.status == "active"
        and not is_team_path(topic.path)
        and _compare_topic(said, topic) in relations
    )


_KNOWN = (StatementRelation.SAME, StatementRelation.RESTATED)

_CHANGED = (StatementRelation.OPPOSITE, StatementRelation.CORRECTED)
_DOUBTED = (
    StatementRelation.PARTLY_OPPOSITE,
    StatementRelation.ABANDONED,
    StatementRelation.STATED_OTHERWISE,
)


def _judge_unproven(
    change: MemoryChange, found: Sequence[tuple[StatementRelation, MemoryFile]]
) -> Reconciliation:
    same = next((topic.path for agreement, topic in found if agreement in _KNOWN), "")
    if same:
        return Reconciliation(known_path=same)
    against = (*OPPOSED, StatementRelation.CORRECTED)
    other = next((topic.path for agreement, topic in found if agreement in against), "")
    return Reconciliation(changes=(change,), contradicts=other)


def _compare_added(added: MemoryFile, said: str, topic: MemoryFile) -> StatementRelation:
    """How a new memory, `said` with the refusal before it, stands to one that is there: the same
    words said again refuse nothing that they say.
    """
    if is_same_rule(added.one_line_text, topic.one_line_text):
        return StatementRelation.SAME
    return _compare_topic(said, topic)


def _compare_topic(said: str, topic: MemoryFile) -> StatementRelation:
    found = compare_statements(said, topic.one_line_text)
    if found is StatementRelation.UNRELATED:
        former = extract_former_text_from_description(topic)
        if is_same_rule(said, topic.description):
            return StatementRelation.SAME
        if former and compare_statements(said, former) in _CHANGED:
            return StatementRelation.CORRECTED
    longer = "\n" in topic.body.strip() and topic.provenance.trust in USER_TRUST
    if longer and found in (StatementRelation.OPPOSITE, StatementRelation.RESTATED):
        if found is StatementRelation.OPPOSITE:
            return StatementRelation.PARTLY_OPPOSITE
        return StatementRelation.UNRELATED
    return found


def _confirm(known: MemoryFile, added: MemoryFile, now: str) -> MemoryChange:
    """The known memory, said again: with the newer date, words and message."""
    given = known.provenance
    provenance = replace(
        added.provenance, created=given.created, verified=now, replaces=given.replaces
    )
    return MemoryChange(
        path=known.path,
        before=encode_file_text_as_utf8(known.text()),
        after=encode_file_text_as_utf8(with_provenance(known, provenance).text()),
    )


_FORMER_MARK = "(before: "
"""Begins what a memory's description keeps of the one that it replaced."""

MAX_FORMER_CHARS = 150
"""Characters of the longest former text that is kept: the index shows no more of a line."""


def _find_lost_topic(added: MemoryFile, former: MemoryFile) -> str:
    """The text of a former memory that says what the new one is about; empty where that says it."""
    return next(
        (
            text
            for text in (former.one_line_text, extract_former_text_from_description(former))
            if text
            and len(text) <= MAX_FORMER_CHARS
            and not names_whole_subject(prefix_statement_with_its_refusal(added), text)
        ),
        "",
    )


def extract_former_text_from_description(topic: MemoryFile) -> str:
    """What a memory's description keeps of one that it replaced; empty where it keeps nothing.

    A user may write the same mark themselves: it counts where the memory replaces another and
    does not say those words.
    """
    _, former = split_at_former_text(topic.description)
    is_own = not topic.provenance.replaces or f"{_FORMER_MARK}{former})" in topic.body
    return "" if is_own else former


def strip_former_text_from_description(topic: MemoryFile) -> str:
    """A memory's description without what it keeps of one that it replaced."""
    if extract_former_text_from_description(topic):
        return split_at_former_text(topic.description)[0]
    return topic.description


def split_at_former_text(description: str) -> tuple[str, str]:
    """A description before its last mark and the text behind it, whoever wrote that."""
    before, mark, rest = description.rpartition(_FORMER_MARK)
    return (before.rstrip(), rest.removesuffix(")")) if mark else (description, "")


def _with_replaced(added: MemoryFile, replaced: Sequence[MemoryFile]) -> MemoryChange:
    """The new memory, which names those that it replaces and takes over their pin."""
    provenance = replace(added.provenance, replaces=tuple(topic.path for topic in replaced))
    topic = with_provenance(added, provenance)
    former = next((text for each in replaced if (text := _find_lost_topic(added, each))), "")
    if former:
        line = f"{added.description} {_FORMER_MARK}{former})"
        topic = with_header_values(topic, {"description": line})
    if any(each.pinned for each in replaced):
        topic = with_header_values(topic, {"pinned": "true"})
    return MemoryChange(path=added.path, before=None, after=encode_file_text_as_utf8(topic.text()))


def _removal(topic: MemoryFile) -> MemoryChange:
    return MemoryChange(path=topic.path, before=encode_file_text_as_utf8(topic.text()), after=None)


def _explain_question(agreement: StatementRelation, said: str) -> str:
    """Why the user is asked about a memory that the new one touches without replacing it; empty for
    one that it does not touch.
    """
    if agreement is StatementRelation.CORRECTED:
        return f"the user said “{said}”, and this may be what it corrects"
    if agreement is StatementRelation.ABANDONED:
        return f"the user said “{said}”, and this works with it"
    if agreement is StatementRelation.STATED_OTHERWISE:
        return f"the user said “{said}”, and this may be no longer so"
    if agreement is StatementRelation.PARTLY_OPPOSITE:
        return f"the user said “{said}”, and a part of this says otherwise"
    return ""


_LEANS = lazy_pattern(
    r"(?:except|unless|but|only|also|otherwise|außer|sondern|sauf|mais|excepto|salvo|pero|exceto|mas|кроме|но)\b"
    r"|.*\b(?:it|its|they|them|their|that|those|these|this|es|dies\w*|ça|cela|eso|ello|isso|это)\b",
    re.IGNORECASE | re.DOTALL,
)
"""What is left of a memory depends on what was taken out of it."""

_GOES_ON = ("—", "–", "-", ":")
"""Ends a text whose rest is missing: `Наша база данных —`."""


def _remove_contradicted_part(topic: MemoryFile, said: str) -> MemoryChange | None:
    """A memory of one line without what the user says otherwise; None where no rest can stand
    alone.
    """
    rest = "" if "\n" in topic.body.strip() else remove_contradicted_clauses(said, topic.body)
    if not rest or _LEANS.match(rest) or rest.rstrip(" .").endswith(_GOES_ON):
        return None
    changed = with_header_values(with_body(topic, f"\n{rest}\n"), {"description": rest[:150]})
    return MemoryChange(
        path=topic.path,
        before=encode_file_text_as_utf8(topic.text()),
        after=encode_file_text_as_utf8(changed.text()),
    )
