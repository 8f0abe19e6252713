"""Update the handbook without a model (RO-5). Pure.

New claims go in, claims that lost their sessions go out, everything else stays byte for byte.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.rollouts.handbook import EVERYWHERE, LISTS, MADE, SOMEWHERE, Entry, Group, Handbook, List, Work
from memorist.rollouts.learn import Done, Fact, Learnt
from memorist.rollouts.merging import (
    KEYWORDS,
    fitting,
    gathered,
    joined,
    key_of,
    newest,
    ranked,
    session_mark,
    unwanted,
    without_superseded,
)
from memorist.rollouts.places import folders_of


class Report(Struct, frozen=True, kw_only=True):
    """What a consolidation did, in numbers."""

    sessions: int = 0
    """New or changed sessions."""
    gone: int = 0
    """Sessions that are no longer selected."""
    forgotten: int = 0
    """Claims that rested on such sessions only."""
    superseded: int = 0
    """Claims replaced by newer ones."""
    left_out: int = 0
    """Claims left out for lack of space."""
    withheld: int = 0
    """Claims that read like orders planted for an agent."""

    def told(self) -> str:
        """Describe the counts that are not zero."""
        words = {
            "sessions": "sessions new or changed", "gone": "sessions gone", "forgotten": "claims forgotten with them",
            "superseded": "claims superseded", "left_out": "claims left out for want of room", "withheld": "claims withheld as planted orders",
        }  # fmt: skip
        return ", ".join(f"{getattr(self, name)} {text}" for name, text in words.items() if getattr(self, name))


class Noted(Struct, frozen=True):
    """A note of the user as an entry of a place."""

    place: str
    entry: Entry


class Given(Struct, frozen=True, kw_only=True):
    """The input of a consolidation."""

    learnt: tuple[Learnt, ...]
    notes: tuple[Noted, ...] = ()
    """All notes that exist; entries of other notes are removed."""
    dropped: Collection[str] = ()
    """Fingerprints of what the user removed (`merging.claim_fingerprint`,
    `session_fingerprint`).
    """
    changed: Collection[str] = ()
    """Sessions whose extract changed although the session did not continue."""
    today: str = ""
    """ISO 8601 date."""


class Consolidated(Struct, frozen=True):
    """The handbook, what was done, and the titles of the changed groups."""

    handbook: Handbook
    report: Report
    touched: frozenset[str]


def consolidate(present: Handbook, given: Given) -> Consolidated:
    """Build the handbook for these sessions. Deterministic and idempotent."""
    alive = {each.thread: each.updated for each in given.learnt}
    uses = {each.thread: each.uses for each in given.learnt}
    titles = list(dict.fromkeys([group.title for group in present.groups] + _new_titles(given)))
    groups: list[Group] = []
    touched: set[str] = set()
    counts = {"forgotten": 0, "superseded": 0, "left_out": 0}
    for title in titles:
        known = _joined_groups([group for group in present.groups if group.title == title])
        change = _Change(known or _new_group(title), given, alive)
        if known is not None and known.raw and not change.due:
            groups.append(known)
            continue
        touched.add(title)
        made = change.made(uses)
        counts = {name: count + change.counts.get(name, 0) for name, count in counts.items()}
        groups += [] if made.empty else [made]
    ordered = tuple(sorted(groups, key=_order))
    before = frozenset().union(*(group.threads for group in present.groups)) if present.groups else frozenset()
    fresh = [each for each in given.learnt if any(_fresh(each, present.group(done.place), given) for done in each.works)]
    withheld = sum(each.withheld for each in fresh)
    report = Report(sessions=len(fresh), gone=len(before - alive.keys()), withheld=withheld, **counts)
    made_line = _line(report, given.today) if touched else present.made
    return Consolidated(replace(present, made=made_line, groups=ordered), report, frozenset(touched))


def _new_titles(given: Given) -> list[str]:
    places = [done.place for each in given.learnt for done in each.works if not _refused(each, done.place, given)]
    return [*places, *(note.place for note in given.notes)]


def _line(report: Report, today: str) -> str:
    said = report.told()
    return f"{MADE}{today} by structure, without a model{f': {said}' if said else ''}."


def _order(group: Group) -> tuple[bool, tuple[int, ...], str]:
    """Sort key: "everywhere" first, then by the newest session."""
    newest_first = tuple(-ord(sign) for sign in max(map(newest, group.works), default=""))
    return group.title != EVERYWHERE, newest_first or (0,), group.title


def _new_group(title: str) -> Group:
    if title == EVERYWHERE:
        return Group(title=title, scope="what the user wants in every project", applies="cwd=any; reuse_rule=holds for every session")
    if title == SOMEWHERE:
        return Group(
            title=title, scope="sessions that name no folder", applies="cwd=none; reuse_rule=only where the same task comes up again"
        )
    shown = title if title.replace("/", "").replace("-", "").replace("_", "").replace(".", "").isalnum() else f"`{title}`"
    applies = f"cwd={shown}; reuse_rule=only for work in this folder and below it"
    return Group(title=title, scope=f"sessions in {title}", applies=applies, folders=folders_of(title))


def _joined_groups(groups: Sequence[Group]) -> Group | None:
    """Join groups of one title, as when the user wrote a second one. A single group stays
    as it is.
    """
    if len(groups) < 2:
        return groups[0] if groups else None
    first = groups[0]
    for other in groups[1:]:
        shift = max((work.number for work in first.works), default=0)
        works = (*first.works, *(replace(work, number=work.number + shift) for work in other.works))
        lists = {name: (*first.entries(name), *other.entries(name)) for name in LISTS}
        first = replace(first, works=works, head=(*first.head, *other.head), other=(*first.other, *other.other), raw="", **lists)
    return first


def _refused(each: Learnt, title: str, given: Given) -> bool:
    return bool(given.dropped) and session_mark(title, each.thread, each.updated) in given.dropped


def _fresh(each: Learnt, group: Group | None, given: Given) -> bool:
    """Tell whether a session, in this version, is not yet in the group."""
    sources = (source for work in group.works for source in work.sources) if group is not None else ()
    there = any((source.thread, source.updated) == (each.thread, each.updated) for source in sources)
    title = group.title if group is not None else next((done.place for done in each.works), "")
    return (not there or each.thread in given.changed) and not _refused(each, title, given)


class _Change:
    """The update of one group."""

    def __init__(self, group: Group, given: Given, alive: Mapping[str, str]) -> None:
        self._group = group
        self._given = given
        sources = [source for work in group.works for source in work.sources]
        self._stale = {source.thread for source in sources if alive.get(source.thread) != source.updated or source.thread in given.changed}
        self._gone = {thread for thread in self._stale if thread not in alive}
        here = [each for each in given.learnt if any(done.place == group.title for done in each.works)]
        self._fresh = sorted((each for each in here if _fresh(each, group, given)), key=lambda each: (each.updated, each.thread))
        noted = [
            note.entry for note in given.notes if note.place == group.title and not unwanted(given.dropped, group.title, note.entry.text)
        ]
        self._notes = {entry.note: entry for entry in noted}
        held = {entry.note for name in LISTS for entry in group.entries(name) if entry.by == "note" and entry.note}
        self.due = bool(self._stale or self._fresh or held ^ self._notes.keys())
        self.counts: dict[str, int] = {}

    def made(self, uses: Mapping[str, int]) -> Group:
        """Build the updated group."""
        works = self._works()
        survivors = {source.thread for work in self._group.works for source in work.sources} - self._stale
        # An entry that names no session of its own stands as long as any session of its group does.
        loose = bool(survivors) or not self._stale
        lists: dict[str, tuple[Entry, ...]] = {}
        numbers = {key_of(work.title): work.number for work in works}
        for name in LISTS:
            entries = self._entries(name, numbers, loose=loose)
            holding = without_superseded(entries)
            self._count("superseded", len(entries) - len(holding))
            lists[name] = fitting(ranked(holding, uses))
            self._count("left_out", len(holding) - len(lists[name]))
        left = self._group.left_out + self.counts.get("left_out", 0)
        return replace(self._group, works=gathered(works, uses), left_out=left, raw="", **lists)

    def _count(self, name: str, number: int) -> None:
        self.counts[name] = self.counts.get(name, 0) + number

    def _works(self) -> tuple[Work, ...]:
        works = [
            replace(work, sources=tuple(each for each in work.sources if each.thread not in self._stale)) for work in self._group.works
        ]
        by_title = {key_of(work.title): at for at, work in enumerate(works)}
        for each in self._fresh:
            for done in each.works:
                if done.place != self._group.title:
                    continue
                at = by_title.get(key_of(done.title))
                if at is None:
                    by_title[key_of(done.title)] = len(works)
                    works.append(Work(number=max((work.number for work in works), default=0) + 1, title=done.title))
                    at = len(works) - 1
                works[at] = _with(works[at], done)
        return tuple(work for work in works if work.sources or work.other)

    def _entries(self, name: List, numbers: Mapping[tuple[str, ...], int], *, loose: bool) -> tuple[Entry, ...]:
        """Build one list: without entries that lost their sessions, with the new ones."""
        kept: dict[tuple[str, ...], Entry] = {}
        orphans: dict[tuple[str, ...], Entry] = {}
        for entry in self._group.entries(name):
            support = tuple(thread for thread in entry.support if thread not in self._stale)
            stands = entry.by == "user" or (entry.by == "sessions" and (bool(support) or (loose and not entry.support)))
            stands = stands or (entry.by == "note" and (not entry.note or entry.note in self._notes))
            left = replace(entry, support=support)
            key = key_of(entry.text)
            if stands:
                kept[key] = joined(kept[key], left) if key in kept else left
            else:
                orphans[key] = left
        for fact in self._facts(name, numbers):
            key = key_of(fact.text)
            known = kept.get(key) or orphans.get(key)
            kept[key] = joined(known, fact) if known is not None and (key in kept or known.by == "sessions") else fact
        self._count("forgotten", sum(key not in kept for key in orphans))
        return tuple(kept.values())

    def _facts(self, name: List, numbers: Mapping[tuple[str, ...], int]) -> list[Entry]:
        title = self._group.title
        facts: list[Fact] = [fact for each in self._fresh for fact in each.facts if fact.place == title and fact.into == name]
        wanted = [fact for fact in facts if not unwanted(self._given.dropped, title, fact.entry.text)]
        found = [replace(fact.entry, works=(numbers[key_of(fact.title)],)) for fact in wanted]
        noted = [entry for entry in self._notes.values() if name == "preferences"]
        return [*found, *(entry for entry in noted if not self._holds_note(entry.note))]

    def _holds_note(self, note: str) -> bool:
        return any(entry.note == note for name in LISTS for entry in self._group.entries(name))


def _with(work: Work, done: Done) -> Work:
    """Return a task with one more session, or a newer version of one."""
    sources = tuple(each for each in work.sources if each.thread != done.source.thread)
    later = done.source.updated >= newest(work)
    words = tuple(dict.fromkeys((*work.keywords, *done.keywords)))[:KEYWORDS]
    outcome = (done.outcome or work.outcome) if later else work.outcome
    ordered = tuple(sorted((*sources, done.source), key=lambda each: (each.updated, each.thread), reverse=True))
    return replace(work, sources=ordered, outcome=outcome, keywords=words)
