"""The handbook, `MEMORY.md`: what past sessions taught, by place, each claim with its supporting
sessions. Pure.

The layout is Codex's (Codex), as its own parser reads it. What memorist adds is
in brackets at the end of an entry: its proof and date, which session of a task it comes from if
there are several, and its owner.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from memorist.auto_memory.interop.codex_memory import GROUP_PREFIX
from memorist.auto_memory.interop.dialect import render_bullet
from memorist.core.text_encoding import replace_surrogates
from memorist.rollouts.raw_memory import ClaimProof, TaskOutcome
from memorist.rollouts.rollout_summaries import compute_short_rollout_digest

HANDBOOK_FILE = "MEMORY.md"
EVERYWHERE = "everywhere"
"""Title of the group whose facts hold in every project."""
UNKNOWN_GROUP = "unknown place"
"""Title of the group of sessions that name no folder: shown only on request."""
CONSOLIDATED_PREFIX = "# Consolidated "
"""Prefix of the title that memorist writes at the top; a line of text in older files."""

EntryList = Literal["preferences", "knowledge", "failures"]
ENTRY_LISTS: tuple[EntryList, ...] = ("preferences", "knowledge", "failures")
_HEADINGS: dict[EntryList, str] = {
    "preferences": "User preferences",
    "knowledge": "Reusable knowledge",
    "failures": "Failures and how to do differently",
}
SUMMARY_FILES_HEADING = "rollout_summary_files"
KEYWORDS_HEADING = "keywords"
LEFT_OUT_FIELD = "left_out:"
USER_TAG = "by the user"
_PLAIN = re.compile(
    r"[^\s,;()\"=\x00-\x1f\x7f](?:[^,;()\"=\x00-\x1f\x7f]*[^\s,;()\"=\x00-\x1f\x7f])?"
)


class HandbookSessionReference(Struct, frozen=True, kw_only=True):
    """A session that supports a task, as a line of the handbook names it."""

    path: str
    """Path of its summary, relative to the folder."""
    thread: str
    updated: str = ""
    """RFC 3339: the version of the session."""
    cwd: str = ""
    rollout: str = ""
    """Path of the recorded session."""


class HandbookTask(Struct, frozen=True, kw_only=True):
    """One task, worked on in one or more sessions."""

    number: int
    title: str
    outcome: TaskOutcome | None = None
    sources: tuple[HandbookSessionReference, ...] = ()
    keywords: tuple[str, ...] = ()
    other: tuple[str, ...] = ()
    """Sections unknown to the layout, verbatim."""


class HandbookClaim(Struct, frozen=True, kw_only=True):
    """One claim."""

    text: str
    proof: ClaimProof | None = None
    date: str = ""
    """The day it was said or seen, ISO 8601."""
    support: tuple[str, ...] = ()
    """Supporting session ids; empty if it rests on all of its group, or on no session."""
    works: tuple[int, ...] = ()
    """Numbers of its tasks within the group; empty if unknown."""
    by: Literal["sessions", "user", "note"] = "sessions"
    """`user`: written into the file by the user; `note`: from the note named below."""
    note: str = ""


class HandbookGroup(Struct, frozen=True, kw_only=True):
    """What holds in one place."""

    title: str
    scope: str = ""
    applies: str = ""
    folders: tuple[str, ...] = ()
    """Full paths; the group applies to sessions in one of them, or below it."""
    works: tuple[HandbookTask, ...] = ()
    preferences: tuple[HandbookClaim, ...] = ()
    knowledge: tuple[HandbookClaim, ...] = ()
    failures: tuple[HandbookClaim, ...] = ()
    left_out: int = 0
    """Entries left out for lack of space."""
    head: tuple[str, ...] = ()
    """Lines of its head unknown to the layout."""
    other: tuple[str, ...] = ()
    """Sections unknown to the layout, verbatim."""
    raw: str = ""
    """The group as it was read; empty if changed since."""

    def entries_in_list(self, name: EntryList) -> tuple[HandbookClaim, ...]:
        """Return one of its three lists."""
        found: tuple[HandbookClaim, ...] = getattr(self, name)
        return found

    @property
    def all_entries(self) -> tuple[HandbookClaim, ...]:
        """The entries of its three lists."""
        return (*self.preferences, *self.knowledge, *self.failures)

    @property
    def threads(self) -> frozenset[str]:
        """The sessions that it rests on."""
        return frozenset(source.thread for work in self.works for source in work.sources)

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing."""
        return not (self.works or self.all_entries or self.head or self.other)


class Handbook(Struct, frozen=True, kw_only=True):
    """The whole file."""

    date_line: str = ""
    """The line that memorist writes at the top."""
    preamble: str = ""
    """Everything else before the first group."""
    groups: tuple[HandbookGroup, ...] = ()

    def find_group(self, title: str) -> HandbookGroup | None:
        """Return the group of that title."""
        return next((group for group in self.groups if group.title == title), None)


def render_handbook(handbook: Handbook) -> str:
    """Render the text. An unchanged group stays as it was read."""
    parts = [
        handbook.date_line,
        handbook.preamble.strip("\n"),
        *(group.raw or render_group(group) for group in handbook.groups),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def render_group(group: HandbookGroup) -> str:
    """Render one group from its values."""
    head = [
        f"# {GROUP_PREFIX} {group.title}",
        "",
        f"scope: {group.scope}".rstrip(),
        f"applies_to: {group.applies}".rstrip(),
    ]
    head += (
        [f"{LEFT_OUT_FIELD} {group.left_out} entries, for want of room"] if group.left_out else []
    )
    parts = ["\n".join([*head, *group.head])]
    parts += [
        _render_task(work, above)
        for work, above in zip(group.works, (None, *group.works), strict=False)
    ]
    for name in ENTRY_LISTS:
        lines = [
            render_bullet(_entry_with_tags(entry, group.works))
            for entry in group.entries_in_list(name)
        ]
        parts += ["\n".join([f"## {_HEADINGS[name]}", "", *lines])] if lines else []
    return "\n\n".join([*parts, *group.other])


def _render_task(work: HandbookTask, above: HandbookTask | None) -> str:
    """Render one task; one that rests on the same sessions as the task above names none."""
    title = " ".join(work.title.split())
    parts = [f"## Task {work.number}: {title}" + (f", {work.outcome}" if work.outcome else "")]
    # What is no section stands before the first one, or it would be read as part of the last.
    parts += [each for each in work.other if not each.startswith("#")]
    if work.other or above is None or work.sources != above.sources:
        lines = map(_source_line, work.sources)
        parts += ["\n".join([f"### {SUMMARY_FILES_HEADING}", "", *lines])]
    parts += [f"### {KEYWORDS_HEADING}\n\n{', '.join(work.keywords)}"] if work.keywords else []
    return "\n\n".join([*parts, *(each for each in work.other if each.startswith("#"))])


def _source_line(source: HandbookSessionReference) -> str:
    facts = {
        "cwd": source.cwd,
        "rollout_path": source.rollout,
        "updated_at": source.updated,
        "thread_id": source.thread,
    }
    return (
        f"- {source.path} "
        f"({', '.join(f'{name}={_quote_value(value)}' for name, value in facts.items())})"
    )


def find_entry_tasks(entry: HandbookClaim, works: Iterable[HandbookTask]) -> list[HandbookTask]:
    """Return the tasks that an entry comes from; if they no longer exist, all tasks of its
    sessions.
    """
    there = [
        work for work in works if any(source.thread in entry.support for source in work.sources)
    ]
    return [work for work in there if work.number in entry.works] or there


def _entry_with_tags(entry: HandbookClaim, works: Iterable[HandbookTask]) -> str:
    rests = [_support_tag(work, entry.support) for work in find_entry_tasks(entry, works)]
    return f"{entry.text}{render_claim_tags(entry)}" + (
        f" [{', '.join(filter(None, rests))}]" if any(rests) else ""
    )


def render_claim_tags(entry: HandbookClaim) -> str:
    """Render the tags at an entry's end: its proof, date and owner."""
    tags = [f"{entry.proof} {entry.date}".strip()] if entry.proof else []
    tags += (
        [USER_TAG]
        if entry.by == "user"
        else [f"ad-hoc note {entry.note}".strip()]
        if entry.by == "note"
        else []
    )
    return "".join(f" [{tag}]" for tag in tags)


MAX_NAMED_SESSIONS = 3
"""Sessions that an entry of the summary names, so that it can be cited."""


def render_source_tag(entry: HandbookClaim) -> str:
    """Render the signs of the sessions that an entry rests on, as a reply may cite them."""
    signs = [compute_short_rollout_digest(thread) for thread in entry.support[-MAX_NAMED_SESSIONS:]]
    return f" [from {' '.join(signs)}]" if signs else ""


def _support_tag(work: HandbookTask, support: Sequence[str]) -> str:
    threads = [source.thread for source in work.sources]
    there = [thread for thread in threads if thread in support]
    if not there:
        return ""
    marks = (
        []
        if len(there) == len(threads)
        else [compute_short_rollout_digest(thread) for thread in there]
    )
    return " ".join([f"Task {work.number}", *marks])


def _quote_value(text: str) -> str:
    plain = replace_surrogates(text)
    return plain if not plain or _PLAIN.fullmatch(plain) else msgspec.json.encode(plain).decode()
