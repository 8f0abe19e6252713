"""Update the handbook without a model (RO-5). Pure.

New claims go in, claims that lost their sessions go out, everything else stays byte for byte.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.core.plural import pluralize
from memorist.rollouts.handbook import (
    CONSOLIDATED_PREFIX,
    ENTRY_LISTS,
    EVERYWHERE,
    UNKNOWN_GROUP,
    EntryList,
    Handbook,
    HandbookClaim,
    HandbookGroup,
    HandbookTask,
)
from memorist.rollouts.session_claims import (
    MAX_LIST_ENTRIES,
    MAX_MERGED_KEYWORDS,
    ClaimsOfOneSession,
    SessionClaim,
    SessionTask,
    collapse_older_tasks,
    compute_session_version_digest,
    get_task_last_update_time,
    is_claim_removed_by_user,
    limit_entries_keeping_user_notes,
    merge_into_known_entry,
    rank_handbook_entries,
)
from memorist.rollouts.session_location import parse_group_title_folders
from memorist.rollouts.superseded_claims import build_claim_comparison_key, drop_superseded_claims


class ConsolidationCounts(Struct, frozen=True, kw_only=True):
    """What a consolidation did, in numbers."""

    sessions: int = 0
    """New or changed sessions."""
    removed: int = 0
    """Sessions that are no longer selected."""
    forgotten: int = 0
    """Claims that rested on such sessions only."""
    superseded: int = 0
    """Claims replaced by newer ones."""
    left_out: int = 0
    """Claims left out for lack of space."""
    withheld: int = 0
    """Claims that read like orders planted for an agent."""

    def describe(self) -> str:
        """Describe the counts that are not zero."""
        words = {
            "sessions": ("session", "new or changed"), "removed": ("session", "gone"),
            "forgotten": ("claim", "forgotten with them"), "superseded": ("claim", "superseded"),
            "left_out": ("claim", "left out for want of room"),
            "withheld": ("claim", "withheld as planted orders"),
        }  # fmt: skip
        return ", ".join(
            f"{pluralize(getattr(self, name), thing)} {text}"
            for name, (thing, text) in words.items()
            if getattr(self, name)
        )


class UserNoteEntry(Struct, frozen=True):
    """A note of the user as an entry of a place."""

    group: str
    entry: HandbookClaim


class ConsolidationInput(Struct, frozen=True, kw_only=True):
    """The input of a consolidation."""

    session_claims: tuple[ClaimsOfOneSession, ...]
    notes: tuple[UserNoteEntry, ...] = ()
    """All notes that exist; entries of other notes are removed."""
    removed_digests: Collection[str] = ()
    """Fingerprints of what the user removed (`compute_claim_digest`,
    `compute_session_version_digest`).
    """
    changed_threads: Collection[str] = ()
    """Sessions whose extract changed although the session did not continue."""
    today: str = ""
    """ISO 8601 date."""
    max_list_entries: int = MAX_LIST_ENTRIES
    """Entries of one list of a group."""


class ConsolidatedHandbook(Struct, frozen=True):
    """The handbook, what was done, and the titles of the changed groups."""

    handbook: Handbook
    report: ConsolidationCounts
    changed_titles: frozenset[str]


def consolidate_handbook(present: Handbook, inputs: ConsolidationInput) -> ConsolidatedHandbook:
    """Build the handbook for these sessions. Deterministic and idempotent."""
    alive = {each.thread: each.updated for each in inputs.session_claims}
    uses = {each.thread: each.uses for each in inputs.session_claims}
    titles = list(dict.fromkeys([group.title for group in present.groups] + _new_titles(inputs)))
    groups: list[HandbookGroup] = []
    touched: set[str] = set()
    counts = {"forgotten": 0, "superseded": 0, "left_out": 0}
    for title in titles:
        known = _join_groups([group for group in present.groups if group.title == title])
        change = _GroupUpdate(known or _new_group(title), inputs, alive)
        if known is not None and known.raw and not change.is_due:
            groups.append(known)
            continue
        touched.add(title)
        draft = change.build(uses)
        counts = {name: count + change.counts.get(name, 0) for name, count in counts.items()}
        groups += [] if draft.is_empty else [draft]
    ordered = tuple(sorted(groups, key=_group_order))
    before = (
        frozenset().union(*(group.threads for group in present.groups))
        if present.groups
        else frozenset()
    )
    fresh = [
        each
        for each in inputs.session_claims
        if any(_is_fresh(each, present.find_group(done.group), inputs) for done in each.tasks)
    ]
    withheld = sum(each.withheld for each in fresh)
    report = ConsolidationCounts(
        sessions=len(fresh), removed=len(before - alive.keys()), withheld=withheld, **counts
    )
    date_line = _status_line(report, inputs.today) if touched else present.date_line
    return ConsolidatedHandbook(
        replace(present, date_line=date_line, groups=ordered), report, frozenset(touched)
    )


def _new_titles(given: ConsolidationInput) -> list[str]:
    new_sections = [
        done.group
        for each in given.session_claims
        for done in each.tasks
        if not _is_dropped_session(each, done.group, given)
    ]
    return [*new_sections, *(note.group for note in given.notes)]


def _status_line(report: ConsolidationCounts, today: str) -> str:
    said = report.describe()
    return (
        f"{CONSOLIDATED_PREFIX}{today} by structure, without a model{f': {said}' if said else ''}."
    )


def _group_order(group: HandbookGroup) -> tuple[bool, tuple[int, ...], str]:
    """Sort key: "everywhere" first, then by the newest session."""
    newest_first = tuple(
        -ord(sign) for sign in max(map(get_task_last_update_time, group.works), default="")
    )
    return group.title != EVERYWHERE, newest_first or (0,), group.title


def _new_group(title: str) -> HandbookGroup:
    if title == EVERYWHERE:
        return HandbookGroup(
            title=title,
            scope="what the user wants in every project",
            applies="cwd=any; reuse_rule=holds for every session",
        )
    if title == UNKNOWN_GROUP:
        return HandbookGroup(
            title=title,
            scope="sessions that name no folder",
            applies="cwd=none; reuse_rule=only where the same task comes up again",
        )
    shown = (
        title
        if title.replace("/", "").replace("-", "").replace("_", "").replace(".", "").isalnum()
        else f"`{title}`"
    )
    applies = f"cwd={shown}; reuse_rule=only for work in this folder and below it"
    return HandbookGroup(
        title=title,
        scope=f"sessions in {title}",
        applies=applies,
        folders=parse_group_title_folders(title),
    )


def _join_groups(groups: Sequence[HandbookGroup]) -> HandbookGroup | None:
    """Join groups of one title, as when the user wrote a second one. A single group stays
    as it is.
    """
    if len(groups) < 2:
        return groups[0] if groups else None
    first = groups[0]
    for other in groups[1:]:
        shift = max((work.number for work in first.works), default=0)
        works = (*first.works, *(replace(work, number=work.number + shift) for work in other.works))
        lists = {
            name: (*first.entries_in_list(name), *other.entries_in_list(name))
            for name in ENTRY_LISTS
        }
        first = replace(
            first,
            works=works,
            head=(*first.head, *other.head),
            other=(*first.other, *other.other),
            raw="",
            **lists,
        )
    return first


def _is_dropped_session(each: ClaimsOfOneSession, title: str, given: ConsolidationInput) -> bool:
    return (
        bool(given.removed_digests)
        and compute_session_version_digest(title, each.thread, each.updated)
        in given.removed_digests
    )


def _is_fresh(
    each: ClaimsOfOneSession, group: HandbookGroup | None, given: ConsolidationInput
) -> bool:
    """Tell whether a session, in this version, is not yet in the group."""
    sources = (
        (source for work in group.works for source in work.sources) if group is not None else ()
    )
    there = any(
        (source.thread, source.updated) == (each.thread, each.updated) for source in sources
    )
    title = group.title if group is not None else next((done.group for done in each.tasks), "")
    return (not there or each.thread in given.changed_threads) and not _is_dropped_session(
        each, title, given
    )


class _GroupUpdate:
    """The update of one group."""

    def __init__(
        self, group: HandbookGroup, given: ConsolidationInput, alive: Mapping[str, str]
    ) -> None:
        self._group = group
        self._given = given
        sources = [source for work in group.works for source in work.sources]
        self._stale = {
            source.thread
            for source in sources
            if alive.get(source.thread) != source.updated or source.thread in given.changed_threads
        }
        here = [
            each
            for each in given.session_claims
            if any(done.group == group.title for done in each.tasks)
        ]
        self._fresh = sorted(
            (each for each in here if _is_fresh(each, group, given)),
            key=lambda each: (each.updated, each.thread),
        )
        noted = [
            note.entry
            for note in given.notes
            if note.group == group.title
            and not is_claim_removed_by_user(given.removed_digests, group.title, note.entry.text)
        ]
        self._notes = {entry.note: entry for entry in noted}
        existing = {entry.note for entry in group.all_entries if entry.by == "note" and entry.note}
        self.is_due = bool(self._stale or self._fresh or existing ^ self._notes.keys())
        self.counts: dict[str, int] = {}

    def build(self, uses: Mapping[str, int]) -> HandbookGroup:
        """Build the updated group."""
        works = self._build_tasks()
        survivors = {
            source.thread for work in self._group.works for source in work.sources
        } - self._stale
        # An entry that names no session of its own stands as long as any session of its group does.
        loose = bool(survivors) or not self._stale
        lists: dict[str, tuple[HandbookClaim, ...]] = {}
        numbers = {build_claim_comparison_key(work.title): work.number for work in works}
        for name in ENTRY_LISTS:
            entries = self._build_entries(name, numbers, loose=loose)
            holding = drop_superseded_claims(entries)
            self._count("superseded", len(entries) - len(holding))
            lists[name] = limit_entries_keeping_user_notes(
                rank_handbook_entries(holding, uses), self._given.max_list_entries
            )
            self._count("left_out", len(holding) - len(lists[name]))
        left = self._group.left_out + self.counts.get("left_out", 0)
        said = "\n".join(entry.text for entries in lists.values() for entry in entries).lower()
        kept = tuple(_drop_said_keywords(work, said) for work in collapse_older_tasks(works, uses))
        return replace(self._group, works=kept, left_out=left, raw="", **lists)

    def _count(self, name: str, number: int) -> None:
        self.counts[name] = self.counts.get(name, 0) + number

    def _build_tasks(self) -> tuple[HandbookTask, ...]:
        works = [
            replace(
                work, sources=tuple(each for each in work.sources if each.thread not in self._stale)
            )
            for work in self._group.works
        ]
        by_title = {build_claim_comparison_key(work.title): at for at, work in enumerate(works)}
        for each in self._fresh:
            for done in each.tasks:
                if done.group != self._group.title:
                    continue
                at = by_title.get(build_claim_comparison_key(done.title))
                if at is None:
                    by_title[build_claim_comparison_key(done.title)] = len(works)
                    works.append(
                        HandbookTask(
                            number=max((work.number for work in works), default=0) + 1,
                            title=done.title,
                        )
                    )
                    at = len(works) - 1
                works[at] = _add_session(works[at], done)
        return tuple(work for work in works if work.sources or work.other)

    def _build_entries(
        self, name: EntryList, numbers: Mapping[tuple[str, ...], int], *, loose: bool
    ) -> tuple[HandbookClaim, ...]:
        """Build one list: without entries that lost their sessions, with the new ones."""
        kept: dict[tuple[str, ...], HandbookClaim] = {}
        orphans: dict[tuple[str, ...], HandbookClaim] = {}
        for entry in self._group.entries_in_list(name):
            support = tuple(thread for thread in entry.support if thread not in self._stale)
            stands = entry.by == "user" or (
                entry.by == "sessions" and (bool(support) or (loose and not entry.support))
            )
            stands = stands or (
                entry.by == "note" and (not entry.note or entry.note in self._notes)
            )
            left = replace(entry, support=support)
            key = build_claim_comparison_key(entry.text)
            if stands:
                kept[key] = merge_into_known_entry(kept[key], left) if key in kept else left
            else:
                orphans[key] = left
        for fact in self._fresh_entries(name, numbers):
            key = build_claim_comparison_key(fact.text)
            known = kept.get(key) or orphans.get(key)
            kept[key] = (
                merge_into_known_entry(known, fact)
                if known is not None and (key in kept or known.by == "sessions")
                else fact
            )
        self._count("forgotten", sum(key not in kept for key in orphans))
        return tuple(kept.values())

    def _fresh_entries(
        self, name: EntryList, numbers: Mapping[tuple[str, ...], int]
    ) -> list[HandbookClaim]:
        title = self._group.title
        facts: list[SessionClaim] = [
            fact
            for each in self._fresh
            for fact in each.claims
            if fact.group == title and fact.into == name
        ]
        wanted = [
            fact
            for fact in facts
            if not is_claim_removed_by_user(self._given.removed_digests, title, fact.entry.text)
        ]
        found = [
            replace(fact.entry, works=(numbers[build_claim_comparison_key(fact.title)],))
            for fact in wanted
        ]
        noted = [entry for entry in self._notes.values() if name == "preferences"]
        return [*found, *(entry for entry in noted if not self._holds_note(entry.note))]

    def _holds_note(self, note: str) -> bool:
        return any(
            entry.note == note
            for name in ENTRY_LISTS
            for entry in self._group.entries_in_list(name)
        )


def _drop_said_keywords(work: HandbookTask, said: str) -> HandbookTask:
    """The task without the keywords by which a search finds its title or an entry (`said`, in small
    letters) anyway.
    """
    text = f"{work.title.lower()}\n{said}"
    return replace(work, keywords=tuple(word for word in work.keywords if word.lower() not in text))


def _add_session(work: HandbookTask, done: SessionTask) -> HandbookTask:
    """Return a task with one more session, or a newer version of one."""
    sources = tuple(each for each in work.sources if each.thread != done.source.thread)
    later = done.source.updated >= get_task_last_update_time(work)
    words = tuple(dict.fromkeys((*work.keywords, *done.keywords)))[:MAX_MERGED_KEYWORDS]
    outcome = (done.outcome or work.outcome) if later else work.outcome
    ordered = tuple(
        sorted((*sources, done.source), key=lambda each: (each.updated, each.thread), reverse=True)
    )
    return replace(work, sources=ordered, outcome=outcome, keywords=words)
