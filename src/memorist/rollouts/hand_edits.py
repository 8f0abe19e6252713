"""What a user wrote into the handbook or the summary by hand: found, and put into the next version.
Pure (RO-5).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.rollouts.handbook import (
    ENTRY_LISTS,
    EVERYWHERE,
    EntryList,
    Handbook,
    HandbookClaim,
    HandbookGroup,
)
from memorist.rollouts.handbook_parser import parse_handbook_entry
from memorist.rollouts.session_claims import (
    compute_claim_digest,
    compute_session_version_digest,
    is_claim_removed_by_user,
)
from memorist.rollouts.session_location import parse_group_title_folders
from memorist.rollouts.summary_composition import (
    GroupSummaryEntries,
    MemorySummary,
    make_summary_topic_key,
)
from memorist.rollouts.superseded_claims import build_claim_comparison_key

_LIST_BY_SUMMARY_PART: dict[str, EntryList] = {"preferences": "preferences", "tips": "knowledge"}
USER_PROFILE_MARK = "(by the user)"
"""Ends a profile that the user wrote or changed: no consolidation changes or drops it."""


class ParsedHandbookAndSummary(Struct, frozen=True):
    """The two files as values."""

    handbook: Handbook
    summary: MemorySummary


class MarkedHandEdits(Struct, frozen=True, kw_only=True):
    """The files with the user's changes marked, and what the user removed."""

    files: ParsedHandbookAndSummary
    added: int = 0
    """Entries that the user wrote or reworded."""
    removed_digests: frozenset[str] = frozenset()
    """Digests of what was removed (`compute_claim_digest`, `compute_session_version_digest`)."""


def mark_hand_edits(
    base: ParsedHandbookAndSummary, present: ParsedHandbookAndSummary
) -> MarkedHandEdits:
    """Compare the current files with those that memorist last accepted."""
    dropped: set[str] = set()
    added = 0
    groups: list[HandbookGroup] = []
    known = {group.title: group for group in base.handbook.groups}
    for group in present.handbook.groups:
        marked, number = _mark_user_entries(known.get(group.title), group)
        added += number
        groups.append(marked)
    for group in base.handbook.groups:
        dropped |= _removed_digests(group, present.handbook.find_group(group.title))
    handbook = replace(present.handbook, groups=tuple(groups))
    for name, into in _LIST_BY_SUMMARY_PART.items():
        was = _summary_entries(getattr(base.summary, name))
        now = _summary_entries(getattr(present.summary, name))
        new = {key: entry for key, entry in now.items() if key not in was}
        removed = was.keys() - now.keys()
        added += len(new)
        dropped |= {
            compute_claim_digest(applies, was[applies, key].text) for applies, key in removed
        }
        handbook = _remove_entries(_add_entries(handbook, into, new), removed)
    topics = _new_topics(base.summary, present.summary)
    added += len(topics)
    handbook = _add_entries(handbook, "knowledge", topics)
    summary = present.summary
    if (
        summary.profile
        and summary.profile != base.summary.profile
        and not summary.profile.endswith(USER_PROFILE_MARK)
    ):
        summary = replace(summary, profile=f"{summary.profile}\n{USER_PROFILE_MARK}")
        added += 1
    return MarkedHandEdits(
        files=ParsedHandbookAndSummary(handbook, summary),
        added=added,
        removed_digests=frozenset(dropped),
    )


def _new_topics(
    base: MemorySummary, present: MemorySummary
) -> dict[tuple[str, tuple[str, ...]], HandbookClaim]:
    """Find lines that the user added to the table of contents: since it is regenerated, they become
    knowledge entries.
    """
    known = {
        make_summary_topic_key(topic.group, topic.text): topic.text.split("\n")
        for topic in base.topics
    }
    found: list[tuple[str, str]] = []
    for topic in present.topics:
        was = known.get(make_summary_topic_key(topic.group, topic.text))
        lines = (
            [" ".join(topic.text.split())]
            if was is None
            else [line for line in topic.text.split("\n") if line not in was]
        )
        found += [
            (topic.group, text)
            for line in lines
            if (text := line.strip().removeprefix("- ").strip())
        ]
    return {
        (applies, build_claim_comparison_key(text)): HandbookClaim(text=text)
        for applies, text in found
    }


def add_user_entries_from_summary(
    summary: MemorySummary, handbook: Handbook, dropped: Collection[str]
) -> Handbook:
    """Add the entries that the summary marks as the user's: the lean form keeps them nowhere else.

    Removed ones stay out.
    """
    for name, into in _LIST_BY_SUMMARY_PART.items():
        own = {
            key: entry
            for key, entry in _summary_entries(getattr(summary, name)).items()
            if entry.by == "user" and not is_claim_removed_by_user(dropped, key[0], entry.text)
        }
        handbook = _add_entries(handbook, into, own)
    return handbook


def _mark_user_entries(
    base: HandbookGroup | None, present: HandbookGroup
) -> tuple[HandbookGroup, int]:
    """Return a group with its new entries marked as the user's."""
    if base is not None and base.raw == present.raw:
        return present, 0
    changed: dict[str, tuple[HandbookClaim, ...]] = {}
    number = 0
    for name in ENTRY_LISTS:
        known = (
            {_exact_text(entry) for entry in base.entries_in_list(name)}
            if base is not None
            else set()
        )
        entries = []
        for entry in present.entries_in_list(name):
            new = entry.by == "sessions" and _exact_text(entry) not in known
            number += new
            entries.append(replace(entry, by="user") if new else entry)
        changed[name] = tuple(entries)
    return (replace(present, raw="", **changed) if number else present), number


def _exact_text(entry: HandbookClaim) -> str:
    """Return what identifies an entry's exact wording."""
    return " ".join(entry.text.split())


def _removed_digests(base: HandbookGroup, present: HandbookGroup | None) -> set[str]:
    dropped: set[str] = set()
    for name in ENTRY_LISTS:
        now = (
            {build_claim_comparison_key(entry.text) for entry in present.entries_in_list(name)}
            if present is not None
            else set()
        )
        dropped |= {
            compute_claim_digest(base.title, entry.text)
            for entry in base.entries_in_list(name)
            if build_claim_comparison_key(entry.text) not in now
        }
    there = present.threads if present is not None else frozenset()
    sources = (source for work in base.works for source in work.sources)
    return dropped | {
        compute_session_version_digest(base.title, source.thread, source.updated)
        for source in sources
        if source.thread not in there
    }


def _summary_entries(
    parts: Sequence[GroupSummaryEntries],
) -> dict[tuple[str, tuple[str, ...]], HandbookClaim]:
    """Return the entries of a part of the summary by place and claim."""
    entries = (
        (part.group, parse_handbook_entry(text, ())) for part in parts for text in part.entries
    )
    return {(applies, build_claim_comparison_key(entry.text)): entry for applies, entry in entries}


def _add_entries(
    handbook: Handbook, into: EntryList, new: Mapping[tuple[str, tuple[str, ...]], HandbookClaim]
) -> Handbook:
    for (folder, key), entry in new.items():
        group = handbook.find_group(folder)
        own = replace(entry, by="user") if entry.by == "sessions" else entry
        if group is None:
            applies = (
                f"cwd={'any' if folder == EVERYWHERE else f'`{folder}`'}; reuse_rule=the "
                f"user's own words"
            )
            section = HandbookGroup(
                title=folder, applies=applies, folders=parse_group_title_folders(folder)
            )
            handbook = replace(
                handbook, groups=(*handbook.groups, replace(section, **{into: (own,)}))
            )
        elif not any(
            build_claim_comparison_key(each.text) == key and each.by != "sessions"
            for each in group.all_entries
        ):
            others = _without_claim(group, key)
            handbook = _replace_group(
                handbook, replace(others, **{into: (own, *others.entries_in_list(into))})
            )
    return handbook


def _remove_entries(handbook: Handbook, removed: Iterable[tuple[str, tuple[str, ...]]]) -> Handbook:
    for applies, key in removed:
        group = handbook.find_group(applies)
        if group is not None and any(
            build_claim_comparison_key(each.text) == key for each in group.all_entries
        ):
            handbook = _replace_group(handbook, _without_claim(group, key))
    return handbook


def _without_claim(group: HandbookGroup, key: tuple[str, ...]) -> HandbookGroup:
    lists = {
        name: tuple(
            each
            for each in group.entries_in_list(name)
            if build_claim_comparison_key(each.text) != key
        )
        for name in ENTRY_LISTS
    }
    return replace(group, raw="", **lists)


def _replace_group(handbook: Handbook, group: HandbookGroup) -> Handbook:
    return replace(
        handbook,
        groups=tuple(group if each.title == group.title else each for each in handbook.groups),
    )
