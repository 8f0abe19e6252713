"""The handbook, `MEMORY.md`: what past sessions taught, by place, each claim with its supporting
sessions. Pure.

The layout is Codex's (codex.md section 1.8), as its own parser reads it. What memorist adds is
in brackets at the end of an entry: its proof and date, which session of a task it comes from if
there are several, and its owner.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.interop.codex_memory import (
    FAILURES,
    GROUP_PREFIX,
    KNOWLEDGE,
    PREFERENCES,
    CodexTaskGroup,
    parse_handbook_groups,
)
from memorist.auto_memory.interop.dialect import HeadedSection, parse_bullets, render_bullet
from memorist.core.text_analysis import replace_surrogates
from memorist.rollouts.raw_memory import TASK_OUTCOMES, ClaimProof, TaskOutcome
from memorist.rollouts.rollout_summaries import short_thread_id

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


class HandbookSource(Struct, frozen=True, kw_only=True):
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
    sources: tuple[HandbookSource, ...] = ()
    keywords: tuple[str, ...] = ()
    other: tuple[str, ...] = ()
    """Sections unknown to the layout, verbatim."""


class HandbookEntry(Struct, frozen=True, kw_only=True):
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


class HandbookSection(Struct, frozen=True, kw_only=True):
    """What holds in one place."""

    title: str
    scope: str = ""
    applies: str = ""
    folders: tuple[str, ...] = ()
    """Full paths; the group applies to sessions in one of them, or below it."""
    works: tuple[HandbookTask, ...] = ()
    preferences: tuple[HandbookEntry, ...] = ()
    knowledge: tuple[HandbookEntry, ...] = ()
    failures: tuple[HandbookEntry, ...] = ()
    left_out: int = 0
    """Entries left out for lack of space."""
    head: tuple[str, ...] = ()
    """Lines of its head unknown to the layout."""
    other: tuple[str, ...] = ()
    """Sections unknown to the layout, verbatim."""
    raw: str = ""
    """The group as it was read; empty if changed since."""

    def entries(self, name: EntryList) -> tuple[HandbookEntry, ...]:
        """Return one of its three lists."""
        found: tuple[HandbookEntry, ...] = getattr(self, name)
        return found

    @property
    def threads(self) -> frozenset[str]:
        """The sessions that it rests on."""
        return frozenset(source.thread for work in self.works for source in work.sources)

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing."""
        return not (
            self.works
            or self.preferences
            or self.knowledge
            or self.failures
            or self.head
            or self.other
        )


class Handbook(Struct, frozen=True, kw_only=True):
    """The whole file."""

    date_line: str = ""
    """The line that memorist writes at the top."""
    preamble: str = ""
    """Everything else before the first group."""
    groups: tuple[HandbookSection, ...] = ()

    def find_group(self, title: str) -> HandbookSection | None:
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


def render_group(group: HandbookSection) -> str:
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
            render_bullet(_entry_with_tags(entry, group.works)) for entry in group.entries(name)
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


def _source_line(source: HandbookSource) -> str:
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


def find_entry_tasks(entry: HandbookEntry, works: Iterable[HandbookTask]) -> list[HandbookTask]:
    """Return the tasks that an entry comes from; if they no longer exist, all tasks of its
    sessions.
    """
    there = [
        work for work in works if any(source.thread in entry.support for source in work.sources)
    ]
    return [work for work in there if work.number in entry.works] or there


def _entry_with_tags(entry: HandbookEntry, works: Iterable[HandbookTask]) -> str:
    rests = [_support_tag(work, entry.support) for work in find_entry_tasks(entry, works)]
    return f"{entry.text}{render_entry_tags(entry)}" + (
        f" [{', '.join(filter(None, rests))}]" if any(rests) else ""
    )


def render_entry_tags(entry: HandbookEntry) -> str:
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


def render_source_tag(entry: HandbookEntry) -> str:
    """Render the signs of the sessions that an entry rests on, as a reply may cite them."""
    signs = [short_thread_id(thread) for thread in entry.support[-MAX_NAMED_SESSIONS:]]
    return f" [from {' '.join(signs)}]" if signs else ""


def _support_tag(work: HandbookTask, support: Sequence[str]) -> str:
    threads = [source.thread for source in work.sources]
    there = [thread for thread in threads if thread in support]
    if not there:
        return ""
    marks = [] if len(there) == len(threads) else [short_thread_id(thread) for thread in there]
    return " ".join([f"Task {work.number}", *marks])


def _quote_value(text: str) -> str:
    plain = replace_surrogates(text)
    return plain if not plain or _PLAIN.fullmatch(plain) else msgspec.json.encode(plain).decode()


# Parse the handbook from the text of `MEMORY.md`, whoever wrote it. Pure.


_BY_HEADING: dict[str, EntryList] = {
    PREFERENCES: "preferences",
    KNOWLEDGE: "knowledge",
    FAILURES: "failures",
}
_TASK = re.compile(r"Task (\d{1,6})\s*:?\s*(.*)", re.DOTALL)
_TAG = re.compile(r"\s*\[([^\[\]\n]+)\]\s*\Z")
_PROOF = re.compile(r"(said|proved|inferred)(?: (\d{4}-\d\d-\d\d))?")
_DIGITS = 7
_SUPPORT = re.compile(r"Tasks? \d")
_FROM = re.compile(r"from(?: [0-9A-Za-z]{4})+")
_NOTE = re.compile(r"ad-hoc note(?: (\S+))?")
_PAIR = re.compile(r"\b(cwd|rollout_path|updated_at|thread_id)=(\"(?:[^\"\\]|\\.)*\"|[^,;()\"]*)")


def parse_handbook(text: str) -> Handbook:
    """Parse a text with plain line ends.

    Never fails: what the layout does not name is kept verbatim.
    """
    before, found = parse_handbook_groups(text)
    lines = "\n".join(part.text for part in before).split("\n")
    titles = (CONSOLIDATED_PREFIX, CONSOLIDATED_PREFIX.removeprefix("# "))
    title_line = next((line for line in lines if line.startswith(titles)), "")
    preamble = "\n".join(line for line in lines if line != title_line or not title_line).strip("\n")
    return Handbook(
        date_line=title_line,
        preamble=preamble,
        groups=tuple(_parse_group(block) for block in found),
    )


def _parse_group(block: CodexTaskGroup) -> HandbookSection:
    lines = [line for line in block.head.lines if line.strip()]
    head = tuple(
        line
        for line in lines
        if not line.strip().startswith(("scope:", "applies_to:", LEFT_OUT_FIELD))
    )
    left = next(
        (line.partition(":")[2] for line in lines if line.strip().startswith(LEFT_OUT_FIELD)), ""
    )
    number = re.search(r"\d{1,9}", left)
    group = HandbookSection(
        title=block.title,
        scope=block.scope,
        applies=block.applies_to,
        folders=block.folders,
        left_out=int(number[0]) if number else 0,
        head=head,
        raw=block.text.strip("\n"),
    )
    return _fill_group(group, block.sections)


def _fill_group(group: HandbookSection, parts: Sequence[HeadedSection]) -> HandbookSection:
    works: list[HandbookTask] = []
    listed: dict[EntryList, list[str]] = {name: [] for name in ENTRY_LISTS}
    other: list[list[str]] = []
    inside: Literal["work", "other", ""] = ""
    for part in parts:
        task = _TASK.fullmatch(part.title) if part.level == 2 else None
        name = _BY_HEADING.get(part.title.casefold()) if part.level == 2 else None
        if task:
            works.append(_parse_task(int(task[1]), task[2].strip(), part))
            inside = "work"
        elif name:
            entries, loose = parse_bullets(part.lines)
            listed[name] += [*entries, *(line.strip() for line in loose)]
            inside = ""
        elif part.level > 2 and inside == "work":
            works[-1] = _add_section(works[-1], part)
        elif part.level > 2 and inside == "other":
            other[-1].append(part.text)
        else:
            other.append([part.text])
            inside = "other"
    filled = replace(
        group,
        works=_inherit_sources(works),
        other=tuple("\n".join(each).strip("\n") for each in other),
    )
    return replace(
        filled,
        **{
            name: tuple(parse_entry(text, filled.works) for text in texts)
            for name, texts in listed.items()
        },
    )


def _inherit_sources(works: Sequence[HandbookTask]) -> tuple[HandbookTask, ...]:
    """Give a task that names no session, and says nothing else, those of the task above it."""
    found: list[HandbookTask] = []
    for work in works:
        bare = found and not work.sources and not work.other
        found.append(replace(work, sources=found[-1].sources) if bare else work)
    return tuple(found)


def _parse_task(number: int, title: str, part: HeadedSection) -> HandbookTask:
    name, comma, last = title.rpartition(", ")
    outcome = next((each for each in TASK_OUTCOMES if comma and each == last), None)
    below = "\n".join(part.lines).strip("\n")
    return HandbookTask(
        number=number,
        title=name if outcome else title,
        outcome=outcome,
        other=(below,) if below else (),
    )


def _add_section(work: HandbookTask, part: HeadedSection) -> HandbookTask:
    name = part.title.casefold()
    entries, loose = parse_bullets(part.lines)
    if name == SUMMARY_FILES_HEADING:
        lines = [line for each in (*entries, *loose) for line in each.split("\n") if line.strip()]
        found = {line: _parse_source(line) for line in lines}
        rest = tuple(render_bullet(line) for line, source in found.items() if source is None)
        return replace(
            work, sources=(*work.sources, *filter(None, found.values())), other=(*work.other, *rest)
        )
    if name == KEYWORDS_HEADING:
        words = (word.strip() for line in (*entries, *loose) for word in line.split(","))
        return replace(work, keywords=tuple(dict.fromkeys(filter(None, words))))
    return replace(work, other=(*work.other, part.text.strip("\n")))


def _parse_source(text: str) -> HandbookSource | None:
    found = {match[1]: _unquote(match[2].strip()) for match in _PAIR.finditer(text)}
    if not found.get("thread_id"):
        return None
    path = text.split(" (", 1)[0].strip("` ")
    location = found.get("cwd", ""), found.get("rollout_path", "")
    return HandbookSource(
        path=path,
        thread=found["thread_id"],
        updated=found.get("updated_at", ""),
        cwd=location[0],
        rollout=location[1],
    )


def _unquote(text: str) -> str:
    if not text.startswith('"'):
        return text
    try:
        return msgspec.json.decode(text, type=str)
    except msgspec.DecodeError:
        return text.strip('"')


def parse_entry(text: str, works: Iterable[HandbookTask]) -> HandbookEntry:
    """Parse an entry and the tags at its end; its support is looked up in the tasks of its
    group.
    """
    entry = HandbookEntry(text=text.strip())
    support: set[str] = set()
    tasks: set[int] = set()
    while tag := _TAG.search(entry.text):
        proven, note = _PROOF.fullmatch(tag[1]), _NOTE.fullmatch(tag[1])
        rest = entry.text[: tag.start()]
        if not rest.strip():
            break
        if proven:
            entry = replace(entry, proof=_parse_proof(proven[1]), date=proven[2] or "")
        elif note:
            entry = replace(entry, by="note", note=note[1] or "")
        elif tag[1] == USER_TAG:
            entry = replace(entry, by="user")
        elif _FROM.fullmatch(tag[1]):
            pass  # the summary names sessions by their signs, for citations
        elif _SUPPORT.match(tag[1]):
            for number, threads in _tagged_tasks(tag[1], works):
                tasks.add(number)
                support |= threads
        else:
            break
        entry = replace(entry, text=rest.rstrip())
    return replace(entry, support=tuple(sorted(support)), works=tuple(sorted(tasks)))


def _parse_proof(text: str) -> ClaimProof:
    return "said" if text == "said" else "proved" if text == "proved" else "inferred"


def _tagged_tasks(tag: str, works: Iterable[HandbookTask]) -> Iterator[tuple[int, set[str]]]:
    """Yield the tasks and sessions that a tag such as `[Task 1, Task 3 3fQ2]` names: all of task 1,
    and one session of task 3.
    """
    known = {work.number: work for work in works}
    for each in re.sub(r"Tasks?", "", tag).split(","):
        number, *marks = each.split() or [""]
        work = known.get(int(number)) if number.isdecimal() and len(number) < _DIGITS else None
        if work is not None:
            yield (
                work.number,
                {
                    source.thread
                    for source in work.sources
                    if not marks or short_thread_id(source.thread) in marks
                },
            )
