"""The dream without a model: what rules prove, and no more (DR-5). Pure.

Memories that say the same are merged, dead links are removed, dates of a proven day become
absolute. Contradictions are reported, not settled. Idempotent: the plan of a folder to which a plan
was applied is empty.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from memorist.auto_memory.changes import Change
from memorist.auto_memory.kinds import Trust
from memorist.auto_memory.shown import doubts
from memorist.auto_memory.topic import Topic, with_body, with_header
from memorist.auto_memory.topic import encode as encoded
from memorist.dream.conflicts import Instruction, Known, Question, Remark, against, questions
from memorist.dream.dated import dated, described, may_be_dated
from memorist.dream.pointers import Links, mended
from memorist.dream.same import equal, key, numbered

_RANK = {trust: place for place, trust in enumerate(Trust)}


class Held(Struct, frozen=True, kw_only=True):
    """The folder as a dream begins with it."""

    topics: tuple[Topic, ...]
    data: Mapping[str, bytes]
    """The bytes of each memory."""
    changed: Mapping[str, float] = {}
    """When each last changed, in seconds since the epoch, UTC."""
    foreign: Collection[str] = ()
    """Paths of files put there by another writer.

    They are left as they are: a file that the dream wrote would be trusted in what it claims.
    """
    kept: Collection[str] = ()
    """Paths that an undo of a dream restored: the user wants them so."""
    ever: Collection[str] = ()
    """Paths that the history knows."""
    times: Mapping[str, Mapping[str, float]] = {}
    """By path, the proven time of each line, for memories with a date to be made absolute."""
    instructions: tuple[Instruction, ...] = ()
    asked: Collection[str] = ()
    """Marks of questions that were asked before."""
    waiting: Collection[str] = ()
    """Paths that the user is already asked about: the inbox has one question for each, and further
    ones wait until it is settled.
    """


class Act(Struct, frozen=True, kw_only=True):
    """One thing that a dream did, for its journal."""

    path: str
    did: str
    """`merged`, `date_lines`, `unlinked`, `retired`, `changed` or `added`."""
    why: str


class Plan(Struct, frozen=True, kw_only=True):
    """The planned changes."""

    changes: tuple[Change, ...] = ()
    """Removals come last: a dream that is killed half-way has lost nothing."""
    acts: tuple[Act, ...] = ()
    questions: tuple[Question, ...] = ()
    remarks: tuple[Remark, ...] = ()


def wanting_times(topics: Sequence[Topic]) -> tuple[str, ...]:
    """Return paths of the memories in which a date could be made absolute if its lines' times were
    known.
    """
    return tuple(topic.path for topic in topics if may_be_dated(topic))


def plan(held: Held, *, most_questions: int) -> Plan:
    """Plan what rules prove of this folder, and at most `max_questions` questions that it
    raises.
    """
    acts: list[Act] = []
    now = {topic.path: topic for topic in held.topics}
    for path, times in held.times.items():
        if path not in (*held.foreign, *held.kept):
            topic = now[path]
            made = _with(topic, dated(topic.body, times), described(_described(topic), topic.body, times))
            _put(now, acts, made, "dated", "relative dates made absolute by the day on which they were written")
    moved = _tidied(now, acts, held)
    changes = [Change(path=path, before=held.data[path], after=encoded(topic.text())) for path, topic in now.items()]
    real = [change for change in changes if change.before != change.after]
    gone = [Change(path=path, before=held.data[path], after=None) for path in moved]
    known = [Known(topic, held.changed.get(path, 0.0)) for path, topic in sorted(now.items()) if topic.provenance.status == "active"]
    found = [*against(known, held.instructions), *questions(known)]
    asked: dict[str, Question] = {}
    for each in found:
        if isinstance(each, Question) and each.mark not in held.asked and not {each.path, each.beside} & set(held.waiting):
            asked.setdefault(each.path, each)
    return Plan(
        changes=(*real, *gone),
        acts=tuple(dict.fromkeys(act for act in acts if act.did == "merged" or act.path in now)),
        questions=tuple(asked.values())[:most_questions],
        remarks=tuple(each for each in found if isinstance(each, Remark)),
    )


def _tidied(now: dict[str, Topic], acts: list[Act], held: Held) -> dict[str, str]:
    """Repair links and merge duplicates until neither finds anything: memories may say the same
    once their links do. Return where each merged one went.
    """
    names: dict[str, str] = {}
    for topic in held.topics:
        names.setdefault(topic.name, topic.path)
    moved: dict[str, str] = {}
    while True:
        links = Links(present=frozenset(now), names=names, ever=held.ever, moved=moved)
        for path in sorted(now.keys() - frozenset(held.foreign) - frozenset(held.kept)):
            topic = now[path]
            made = _with(topic, mended(path, topic.body, links), mended(path, _described(topic), links))
            _put(now, acts, made, "unlinked", "links to memories that are gone or merged were mended")
        merged = _merge(now, acts, held)
        if not merged:
            return moved
        moved = {path: merged.get(to, to) for path, to in moved.items()} | merged


def _described(topic: Topic) -> str:
    """Return the description in the header; empty if there is none."""
    front = topic.document.front
    return "" if front is None else front.text("description")


def _with(topic: Topic, body: str, description: str) -> Topic:
    """Return the memory with another text and description. Neither is ever emptied."""
    made = with_body(topic, f"\n{body.strip()}\n") if body != topic.body and body.strip() else topic
    new = " ".join(description.split())
    return with_header(made, {"description": new}) if new and description != _described(topic) else made


def _put(now: dict[str, Topic], acts: list[Act], made: Topic, did: str, why: str) -> None:
    """Replace a memory by its edited version if they differ."""
    if made != now[made.path]:
        now[made.path] = made
        acts.append(Act(path=made.path, did=did, why=why))


def _meant(topic: Topic, now: Mapping[str, Topic], held: Held) -> Topic:
    """Return the memory itself; or the one whose name it has but for a number appended by memorist,
    if both are fully equal.
    """
    base = None if topic.path in held.foreign or key(topic) is None else now.get(numbered(topic))
    return base if base is not None and base.path not in held.kept and equal(base, topic) else topic


def _merge(now: dict[str, Topic], acts: list[Act], held: Held) -> dict[str, str]:
    """Remove all but one of the memories that say the same; return where each went."""
    groups: dict[tuple[object, ...], list[Topic]] = {}
    for topic in now.values():
        found = None if topic.path in held.kept else key(_meant(topic, now, held))
        if found is not None:
            groups.setdefault(found, []).append(topic)
    moved: dict[str, str] = {}
    for group in groups.values():
        # What is withheld from models stays for the user to look at, and does not speak for one
        # that is shown.
        shown = [topic for topic in group if not doubts(topic)] if len(group) > 1 else []
        if len(shown) < 2:
            continue
        kept, *others = sorted(
            shown,
            key=lambda topic: (
                topic.path in held.foreign,
                not topic.pinned,
                _RANK[topic.provenance.trust],
                bool(numbered(topic)),
                topic.provenance.created,
                topic.path,
            ),
        )
        for other in others:
            moved[other.path] = kept.path
            del now[other.path]
            acts.append(Act(path=other.path, did="merged", why=f"{kept.path} says the same"))
    return moved
