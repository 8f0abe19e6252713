"""The handbook, `MEMORY.md`: what past sessions taught, by place, each claim with its supporting
sessions. Pure.

The layout is Codex's (codex.md section 1.8), as its own parser reads it. What memorist adds stands
in brackets at the end of an entry: its proof and date, which session of a task it comes from if
there are several, and its owner.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from memorist.auto_memory.dialects.bullets import bullet
from memorist.auto_memory.dialects.codex_handbook import GROUP
from memorist.rollouts.artefacts import short_mark
from memorist.rollouts.raw_memory import Outcome, Proof

HANDBOOK = "MEMORY.md"
EVERYWHERE = "everywhere"
"""Title of the group whose facts hold in every project."""
SOMEWHERE = "unknown place"
"""Title of the group of sessions that name no folder: shown only on request."""
MADE = "Consolidated "
"""Prefix of the line that memorist writes at the top."""

List = Literal["preferences", "knowledge", "failures"]
LISTS: tuple[List, ...] = ("preferences", "knowledge", "failures")
_HEADINGS: dict[List, str] = {
    "preferences": "User preferences",
    "knowledge": "Reusable knowledge",
    "failures": "Failures and how to do differently",
}
FILES = "rollout_summary_files"
KEYWORDS = "keywords"
LEFT_OUT = "left_out:"
USER = "by the user"
_PLAIN = re.compile(r"[^\s,;()\"=\x00-\x1f\x7f](?:[^,;()\"=\x00-\x1f\x7f]*[^\s,;()\"=\x00-\x1f\x7f])?")


class Source(Struct, frozen=True, kw_only=True):
    """A session that supports a task, as a line of the handbook names it."""

    path: str
    """Path of its summary, relative to the folder."""
    thread: str
    updated: str = ""
    """RFC 3339: the version of the session."""
    cwd: str = ""
    rollout: str = ""
    """Path of the recorded session."""


class Work(Struct, frozen=True, kw_only=True):
    """One task, worked on in one or more sessions."""

    number: int
    title: str
    outcome: Outcome | None = None
    sources: tuple[Source, ...] = ()
    keywords: tuple[str, ...] = ()
    other: tuple[str, ...] = ()
    """Sections unknown to the layout, verbatim."""


class Entry(Struct, frozen=True, kw_only=True):
    """One claim."""

    text: str
    proof: Proof | None = None
    date: str = ""
    """The day it was said or seen, ISO 8601."""
    support: tuple[str, ...] = ()
    """Supporting session ids; empty if it rests on all of its group, or on no session."""
    works: tuple[int, ...] = ()
    """Numbers of its tasks within the group; empty if unknown."""
    by: Literal["sessions", "user", "note"] = "sessions"
    """`user`: written into the file by the user; `note`: from the note named below."""
    note: str = ""


class Group(Struct, frozen=True, kw_only=True):
    """What holds in one place."""

    title: str
    scope: str = ""
    applies: str = ""
    folders: tuple[str, ...] = ()
    """Full paths; the group applies to sessions in one of them, or below it."""
    works: tuple[Work, ...] = ()
    preferences: tuple[Entry, ...] = ()
    knowledge: tuple[Entry, ...] = ()
    failures: tuple[Entry, ...] = ()
    left_out: int = 0
    """Entries left out for lack of space."""
    head: tuple[str, ...] = ()
    """Lines of its head unknown to the layout."""
    other: tuple[str, ...] = ()
    """Sections unknown to the layout, verbatim."""
    raw: str = ""
    """The group as it was read; empty if changed since."""

    def entries(self, name: List) -> tuple[Entry, ...]:
        """Return one of its three lists."""
        found: tuple[Entry, ...] = getattr(self, name)
        return found

    @property
    def threads(self) -> frozenset[str]:
        """The sessions that it rests on."""
        return frozenset(source.thread for work in self.works for source in work.sources)

    @property
    def empty(self) -> bool:
        """Whether it says nothing."""
        return not (self.works or self.preferences or self.knowledge or self.failures or self.head or self.other)


class Handbook(Struct, frozen=True, kw_only=True):
    """The whole file."""

    made: str = ""
    """The line that memorist writes at the top."""
    preamble: str = ""
    """Everything else before the first group."""
    groups: tuple[Group, ...] = ()

    def group(self, title: str) -> Group | None:
        """Return the group of that title."""
        return next((group for group in self.groups if group.title == title), None)


def render(handbook: Handbook) -> str:
    """Render the text. An unchanged group stays as it was read."""
    parts = [handbook.made, handbook.preamble.strip("\n"), *(group.raw or render_group(group) for group in handbook.groups)]
    return "\n\n".join(part for part in parts if part) + "\n"


def render_group(group: Group) -> str:
    """Render one group from its values."""
    head = [f"# {GROUP} {group.title}", "", f"scope: {group.scope}".rstrip(), f"applies_to: {group.applies}".rstrip()]
    head += [f"{LEFT_OUT} {group.left_out} entries, for want of room"] if group.left_out else []
    parts = ["\n".join([*head, *group.head])]
    parts += [_render_work(work) for work in group.works]
    for name in LISTS:
        lines = [bullet(_marked(entry, group.works)) for entry in group.entries(name)]
        parts += ["\n".join([f"## {_HEADINGS[name]}", "", *lines])] if lines else []
    return "\n\n".join([*parts, *group.other])


def _render_work(work: Work) -> str:
    title = " ".join(work.title.split())
    parts = [f"## Task {work.number}: {title}" + (f", {work.outcome}" if work.outcome else "")]
    # What is no section stands before the first one, or it would be read as part of the last.
    parts += [each for each in work.other if not each.startswith("#")]
    parts += ["\n".join([f"### {FILES}", "", *map(_source_line, work.sources)])]
    parts += [f"### {KEYWORDS}\n\n{', '.join(work.keywords)}"] if work.keywords else []
    return "\n\n".join([*parts, *(each for each in work.other if each.startswith("#"))])


def _source_line(source: Source) -> str:
    facts = {"cwd": source.cwd, "rollout_path": source.rollout, "updated_at": source.updated, "thread_id": source.thread}
    return f"- {source.path} ({', '.join(f'{name}={_quoted(value)}' for name, value in facts.items())})"


def tasks_of(entry: Entry, works: Iterable[Work]) -> list[Work]:
    """Return the tasks that an entry comes from; if they no longer exist, all tasks of its
    sessions.
    """
    there = [work for work in works if any(source.thread in entry.support for source in work.sources)]
    return [work for work in there if work.number in entry.works] or there


def _marked(entry: Entry, works: Iterable[Work]) -> str:
    rests = [_rests(work, entry.support) for work in tasks_of(entry, works)]
    return f"{entry.text}{own_tags(entry)}" + (f" [{', '.join(filter(None, rests))}]" if any(rests) else "")


def own_tags(entry: Entry) -> str:
    """Render the tags at an entry's end: its proof, date and owner."""
    tags = [f"{entry.proof} {entry.date}".strip()] if entry.proof else []
    tags += [USER] if entry.by == "user" else [f"ad-hoc note {entry.note}".strip()] if entry.by == "note" else []
    return "".join(f" [{tag}]" for tag in tags)


def _rests(work: Work, support: Sequence[str]) -> str:
    threads = [source.thread for source in work.sources]
    there = [thread for thread in threads if thread in support]
    if not there:
        return ""
    marks = [] if len(there) == len(threads) else [short_mark(thread) for thread in there]
    return " ".join([f"Task {work.number}", *marks])


def _quoted(text: str) -> str:
    plain = text.encode("utf-8", "replace").decode()
    return plain if not plain or _PLAIN.fullmatch(plain) else msgspec.json.encode(plain).decode()
