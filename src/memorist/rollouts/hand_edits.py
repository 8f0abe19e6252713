"""Find what the user changed in the consolidated files since memorist last wrote them, so that it
is kept and not undone later (RO-5). Pure.

A new entry is the user's; a missing one was removed, and is not restored by the same claim from the
same place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.rollouts.compose import topic_key
from memorist.rollouts.handbook import EVERYWHERE, LISTS, Entry, Group, Handbook, List
from memorist.rollouts.handbook_reading import read_entry
from memorist.rollouts.merging import entry_mark, key_of, session_mark, unwanted
from memorist.rollouts.overview import Part, Summary
from memorist.rollouts.places import folders_of

OWN_PROFILE = "(by the user)"
"""Ends a profile that the user wrote or changed: no consolidation changes or drops it."""


class Files(Struct, frozen=True):
    """The two files as values."""

    handbook: Handbook
    summary: Summary


class HandEdits(Struct, frozen=True, kw_only=True):
    """The files with the user's changes marked, and what the user removed."""

    files: Files
    added: int = 0
    """Entries that the user wrote or reworded."""
    dropped: frozenset[str] = frozenset()
    """Fingerprints of what was removed (`merging.claim_fingerprint`, `session_fingerprint`)."""


def hand_edits(base: Files, present: Files) -> HandEdits:
    """Compare the current files with those that memorist last accepted."""
    dropped: set[str] = set()
    added = 0
    groups: list[Group] = []
    known = {group.title: group for group in base.handbook.groups}
    for group in present.handbook.groups:
        marked, number = _marked(known.get(group.title), group)
        added += number
        groups.append(marked)
    for group in base.handbook.groups:
        dropped |= _taken_out(group, present.handbook.group(group.title))
    handbook = replace(present.handbook, groups=tuple(groups))
    for into, name in (("preferences", "preferences"), ("knowledge", "tips")):
        was, now = _texts(getattr(base.summary, name)), _texts(getattr(present.summary, name))
        new = {key: entry for key, entry in now.items() if key not in was}
        gone = was.keys() - now.keys()
        added += len(new)
        dropped |= {entry_mark(place, was[place, key].text) for place, key in gone}
        handbook = _with_entries(handbook, "preferences" if into == "preferences" else "knowledge", new)
        handbook = _without_entries(handbook, gone)
    topics = _new_topics(base.summary, present.summary)
    added += len(topics)
    handbook = _with_entries(handbook, "knowledge", topics)
    summary = present.summary
    if summary.profile and summary.profile != base.summary.profile and not summary.profile.endswith(OWN_PROFILE):
        summary = replace(summary, profile=f"{summary.profile}\n{OWN_PROFILE}")
        added += 1
    return HandEdits(files=Files(handbook, summary), added=added, dropped=frozenset(dropped))


def _new_topics(base: Summary, present: Summary) -> dict[tuple[str, tuple[str, ...]], Entry]:
    """Find lines that the user added to the table of contents: since it is regenerated, they become
    knowledge entries.
    """
    known = {topic_key(topic.place, topic.text): topic.text.split("\n") for topic in base.topics}
    found: list[tuple[str, str]] = []
    for topic in present.topics:
        was = known.get(topic_key(topic.place, topic.text))
        lines = [" ".join(topic.text.split())] if was is None else [line for line in topic.text.split("\n") if line not in was]
        found += [(topic.place, text) for line in lines if (text := line.strip().removeprefix("- ").strip())]
    return {(place, key_of(text)): Entry(text=text) for place, text in found}


def own_entries(summary: Summary, handbook: Handbook, dropped: Collection[str]) -> Handbook:
    """Add the entries that the summary marks as the user's: the lean form keeps them nowhere else.

    Removed ones stay out.
    """
    for into, parts in (("preferences", summary.preferences), ("knowledge", summary.tips)):
        own = {key: entry for key, entry in _texts(parts).items() if entry.by == "user" and not unwanted(dropped, key[0], entry.text)}
        handbook = _with_entries(handbook, "preferences" if into == "preferences" else "knowledge", own)
    return handbook


def _marked(base: Group | None, present: Group) -> tuple[Group, int]:
    """Return a group with its new entries marked as the user's."""
    if base is not None and base.raw == present.raw:
        return present, 0
    changed: dict[str, tuple[Entry, ...]] = {}
    number = 0
    for name in LISTS:
        known = {_whole(entry) for entry in base.entries(name)} if base is not None else set()
        entries = []
        for entry in present.entries(name):
            new = entry.by == "sessions" and _whole(entry) not in known
            number += new
            entries.append(replace(entry, by="user") if new else entry)
        changed[name] = tuple(entries)
    return (replace(present, raw="", **changed) if number else present), number


def _whole(entry: Entry) -> str:
    """Return what identifies an entry's exact wording."""
    return " ".join(entry.text.split())


def _taken_out(base: Group, present: Group | None) -> set[str]:
    dropped: set[str] = set()
    for name in LISTS:
        now = {key_of(entry.text) for entry in present.entries(name)} if present is not None else set()
        dropped |= {entry_mark(base.title, entry.text) for entry in base.entries(name) if key_of(entry.text) not in now}
    there = present.threads if present is not None else frozenset()
    sources = (source for work in base.works for source in work.sources)
    return dropped | {session_mark(base.title, source.thread, source.updated) for source in sources if source.thread not in there}


def _texts(parts: Sequence[Part]) -> dict[tuple[str, tuple[str, ...]], Entry]:
    """Return the entries of a part of the summary by place and claim."""
    entries = ((part.place, read_entry(text, ())) for part in parts for text in part.entries)
    return {(place, key_of(entry.text)): entry for place, entry in entries}


def _with_entries(handbook: Handbook, into: List, new: Mapping[tuple[str, tuple[str, ...]], Entry]) -> Handbook:
    for (place, key), entry in new.items():
        group = handbook.group(place)
        own = replace(entry, by="user") if entry.by == "sessions" else entry
        if group is None:
            applies = f"cwd={'any' if place == EVERYWHERE else f'`{place}`'}; reuse_rule=the user's own words"
            made = Group(title=place, applies=applies, folders=folders_of(place))
            handbook = replace(handbook, groups=(*handbook.groups, replace(made, **{into: (own,)})))
        elif not any(key_of(each.text) == key and each.by != "sessions" for name in LISTS for each in group.entries(name)):
            kept = {name: tuple(each for each in group.entries(name) if key_of(each.text) != key) for name in LISTS}
            kept[into] = (own, *kept[into])
            handbook = _replaced(handbook, replace(group, raw="", **kept))
    return handbook


def _without_entries(handbook: Handbook, gone: Iterable[tuple[str, tuple[str, ...]]]) -> Handbook:
    for place, key in gone:
        group = handbook.group(place)
        if group is not None and any(key_of(each.text) == key for name in LISTS for each in group.entries(name)):
            kept = {name: tuple(each for each in group.entries(name) if key_of(each.text) != key) for name in LISTS}
            handbook = _replaced(handbook, replace(group, raw="", **kept))
    return handbook


def _replaced(handbook: Handbook, group: Group) -> Handbook:
    return replace(handbook, groups=tuple(group if each.title == group.title else each for each in handbook.groups))
