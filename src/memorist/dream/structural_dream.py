"""The dream without a model: what rules prove, and no more (DR-5). Pure.

Memories that say the same are merged, dead links are removed, dates of a proven day become
absolute. Contradictions are reported, not settled. Idempotent: the plan of a folder to which a plan
was applied is empty.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from msgspec import Struct

from memorist.auto_memory.memory_changes import MemoryChange
from memorist.auto_memory.memory_file import MemoryFile, with_body, with_header_values
from memorist.auto_memory.visible_memory import find_memory_suspicions
from memorist.core.text_encoding import encode_file_text_as_utf8
from memorist.dream.dream_input import DreamInput
from memorist.dream.dream_questions import MemoryRemovalQuestion, choose_removal_questions_for_user
from memorist.dream.duplicate_memories import (
    are_equal_memories,
    compute_memory_merge_key,
    compute_text_meaning_key,
    get_unnumbered_path,
)
from memorist.dream.memory_conflicts import (
    TRUST_ORDER,
    DatedMemory,
    DreamRemark,
    compare_memories_with_instructions,
    find_conflicting_or_duplicate_memories,
)
from memorist.dream.memory_text_repair import (
    ValidLinkTargets,
    make_description_dates_absolute,
    repair_memory_links,
    resolve_dates_by_line_times,
)
from memorist.platforms.background_thread import PROMPT_IN_PROGRESS


class DreamAct(Struct, frozen=True, kw_only=True):
    """One thing that a dream did, for its journal."""

    path: str
    did: str
    """`merged`, `dated`, `unlinked`, `retired`, `changed` or `added`."""
    why: str


class DreamPlan(Struct, frozen=True, kw_only=True):
    """What rules would change in a memory folder, what they would ask, and what they noticed."""

    changes: tuple[MemoryChange, ...] = ()
    """Removals come last: a dream that is killed half-way has lost nothing."""
    acts: tuple[DreamAct, ...] = ()
    questions: tuple[MemoryRemovalQuestion, ...] = ()
    remarks: tuple[DreamRemark, ...] = ()


def plan_dream(snapshot: DreamInput, *, max_questions: int) -> DreamPlan:
    """Plan what rules prove of this folder, and at most `max_questions` questions that it
    raises.
    """
    acts: list[DreamAct] = []
    now = {topic.path: topic for topic in snapshot.topics}
    for path, times in snapshot.times.items():
        if path not in (*snapshot.foreign, *snapshot.restored_paths):
            topic = now[path]
            edited = _edit_topic(
                topic,
                resolve_dates_by_line_times(topic.body, times),
                make_description_dates_absolute(_header_description(topic), topic.body, times),
            )
            _replace_topic(
                now,
                acts,
                edited,
                "dated",
                "relative dates made absolute by the day on which they were written",
            )
    moved = _repair_and_merge(now, acts, snapshot)
    changes = [
        MemoryChange(
            path=path, before=snapshot.data[path], after=encode_file_text_as_utf8(topic.text())
        )
        for path, topic in now.items()
    ]
    real = [change for change in changes if change.before != change.after]
    removals = [MemoryChange(path=path, before=snapshot.data[path], after=None) for path in moved]
    known = [
        DatedMemory(topic, snapshot.changed.get(path, 0.0))
        for path, topic in sorted(now.items())
        if topic.provenance.status == "active"
    ]
    found = [
        *compare_memories_with_instructions(known, snapshot.instructions),
        *find_conflicting_or_duplicate_memories(PROMPT_IN_PROGRESS.iterate_between_prompts(known)),
    ]
    return DreamPlan(
        changes=(*real, *removals),
        acts=tuple(dict.fromkeys(act for act in acts if act.did == "merged" or act.path in now)),
        questions=choose_removal_questions_for_user(
            (each for each in found if isinstance(each, MemoryRemovalQuestion)),
            asked=snapshot.asked_question_keys,
            waiting=snapshot.questioned_paths,
            limit=max_questions,
        ),
        remarks=tuple(each for each in found if isinstance(each, DreamRemark)),
    )


def _repair_and_merge(
    now: dict[str, MemoryFile], acts: list[DreamAct], snapshot: DreamInput
) -> dict[str, str]:
    """Repair links and merge duplicates until neither finds anything: memories may say the same
    once their links do. Return where each merged one went.
    """
    names: dict[str, str] = {}
    for topic in snapshot.topics:
        names.setdefault(topic.name, topic.path)
    moved: dict[str, str] = {}
    while True:
        links = ValidLinkTargets(
            present=frozenset(now), names=names, known_paths=snapshot.ever, moved=moved
        )
        for path in PROMPT_IN_PROGRESS.iterate_between_prompts(
            sorted(now.keys() - frozenset(snapshot.foreign) - frozenset(snapshot.restored_paths))
        ):
            topic = now[path]
            edited = _edit_topic(
                topic,
                repair_memory_links(path, topic.body, links),
                repair_memory_links(path, _header_description(topic), links),
            )
            _replace_topic(
                now,
                acts,
                edited,
                "unlinked",
                "links to memories that are gone or merged were mended",
            )
        merged = _merge_duplicates(now, acts, snapshot)
        if not merged:
            return moved
        moved = {path: merged.get(to, to) for path, to in moved.items()} | merged


def _header_description(topic: MemoryFile) -> str:
    """Return the description in the header; empty if there is none."""
    front = topic.document.front
    return "" if front is None else front.text_value("description")


def _edit_topic(topic: MemoryFile, body: str, description: str) -> MemoryFile:
    """Return the memory with another text and description. Neither is ever emptied."""
    edited = (
        with_body(topic, f"\n{body.strip()}\n") if body != topic.body and body.strip() else topic
    )
    new = " ".join(description.split())
    if new and description != _header_description(topic):
        return with_header_values(edited, {"description": new})
    return edited


def _replace_topic(
    now: dict[str, MemoryFile], acts: list[DreamAct], replacement: MemoryFile, did: str, why: str
) -> None:
    """Replace a memory by its edited version if they differ."""
    if replacement != now[replacement.path]:
        now[replacement.path] = replacement
        acts.append(DreamAct(path=replacement.path, did=did, why=why))


def _unnumbered_original(
    topic: MemoryFile, now: Mapping[str, MemoryFile], snapshot: DreamInput
) -> MemoryFile:
    """Return the memory itself; or the one whose name it has but for a number appended by memorist,
    if both are fully equal.
    """
    base = None if topic.path in snapshot.foreign else now.get(get_unnumbered_path(topic))
    if (
        base is not None
        and base.path not in snapshot.restored_paths
        and compute_memory_merge_key(topic) is not None
        and are_equal_memories(base, topic)
    ):
        return base
    return topic


def _merge_duplicates(
    now: dict[str, MemoryFile], acts: list[DreamAct], snapshot: DreamInput
) -> dict[str, str]:
    """Remove all but one of the memories that say the same; return where each went."""
    texts = {
        topic.path: compute_text_meaning_key(topic.body)
        for topic in PROMPT_IN_PROGRESS.iterate_between_prompts(now.values())
    }
    counts = Counter(texts.values())
    groups: dict[tuple[object, ...], list[MemoryFile]] = {}
    for topic in (each for each in now.values() if counts[texts[each.path]] > 1):
        found = (
            None
            if topic.path in snapshot.restored_paths
            else compute_memory_merge_key(_unnumbered_original(topic, now, snapshot))
        )
        if found is not None:
            groups.setdefault(found, []).append(topic)
    moved: dict[str, str] = {}
    for group in groups.values():
        # What is withheld from models stays for the user to look at, and does not speak for one
        # that is shown.
        shown = (
            [topic for topic in group if not find_memory_suspicions(topic)]
            if len(group) > 1
            else []
        )
        if len(shown) < 2:
            continue
        kept, *others = sorted(
            shown,
            key=lambda topic: (
                topic.path in snapshot.foreign,
                not topic.pinned,
                TRUST_ORDER[topic.provenance.trust],
                bool(get_unnumbered_path(topic)),
                topic.provenance.created,
                topic.path,
            ),
        )
        for other in others:
            moved[other.path] = kept.path
            del now[other.path]
            acts.append(DreamAct(path=other.path, did="merged", why=f"{kept.path} says the same"))
    return moved
