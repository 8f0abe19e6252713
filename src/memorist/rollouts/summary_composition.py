"""Compose the summary from the handbook: preferences and tips as they stand, one line per task, by
place and day (RO-6). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.interop.codex_memory import (
    CONTENTS,
    PREFERENCES,
    PROFILE,
    SUMMARY_VERSION,
    TIPS,
)
from memorist.auto_memory.interop.dialect import (
    render_bullet,
    split_bullets_from_other_lines,
    split_headed_sections,
)
from memorist.core.token_count import estimate_text_tokens
from memorist.rollouts.handbook import (
    ENTRY_LISTS,
    EVERYWHERE,
    UNKNOWN_GROUP,
    Handbook,
    HandbookClaim,
    HandbookGroup,
    HandbookTask,
    find_entry_tasks,
    render_claim_tags,
    render_source_tag,
)
from memorist.rollouts.raw_memory import ASKED_PREFIX, PASSED_ON_PREFIX, REPORTED_PREFIX
from memorist.rollouts.session_claims import OLDER_WORK_TITLE, get_task_last_update_time

# The summary, `memory_summary.md`: what a session is shown of everything remembered, by place.


SUMMARY_FILE = "memory_summary.md"
MAX_SUMMARY_TOKENS = 5_000
"""Upper bound of the summary's tokens, whatever the number of sessions: a session is shown half of
it at most, and a person reads it through.
"""
MAX_PROFILE_WORDS = 350
"""Upper bound of words of the profile (Codex)."""
_OLDER = "older memory topics"
_COUNT = re.compile(r"\(\d+ entries are left out here for want of room\)")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


class GroupSummaryEntries(Struct, frozen=True):
    """The entries below the heading of one place."""

    group: str
    entries: tuple[str, ...]


class SummaryTopic(Struct, frozen=True):
    """One line of the table of contents, with what is below it."""

    group: str
    day: str
    """ISO 8601; empty for an older topic."""
    text: str


class MemorySummary(Struct, frozen=True, kw_only=True):
    """The whole file."""

    preamble: str = ""
    """What precedes the first section."""
    profile: str = ""
    preferences: tuple[GroupSummaryEntries, ...] = ()
    tips: tuple[GroupSummaryEntries, ...] = ()
    topics: tuple[SummaryTopic, ...] = ()
    other: tuple[str, ...] = ()
    """Sections unknown to the layout, verbatim."""
    left_out: int = 0
    """Entries left out for lack of space."""

    @property
    def entry_count(self) -> int:
        """Number of entries of topics, tips and preferences."""
        return len(self.topics) + sum(len(part.entries) for part in (*self.tips, *self.preferences))


def find_summary_problem(text: str) -> str:
    """Return why a text is not a valid summary, in one sentence; empty if it is."""
    lines = text.split("\n")
    if lines[0] != SUMMARY_VERSION:
        return f"its first line is not {SUMMARY_VERSION}"
    found = [
        part.title.casefold().replace("’", "'")
        for part in split_headed_sections(text)
        if part.level == 2
    ]
    missing = [name for name in (PROFILE, PREFERENCES, TIPS, CONTENTS) if name not in found]
    return f"it has no section {missing[0]}" if missing else ""


class _SummaryParser:
    """State of parsing the file."""

    def __init__(self) -> None:
        self.profile: list[str] = []
        self.preferences: list[GroupSummaryEntries] = []
        self.tips: list[GroupSummaryEntries] = []
        self.topics: list[SummaryTopic] = []
        self.other: list[list[str]] = []
        self.above = ""
        self.group = EVERYWHERE
        self.day = ""

    def add_section(self, level: int, title: str, text: str, lines: Sequence[str]) -> None:
        """Add one section."""
        if level <= 2:
            self.above, self.group, self.day = title.casefold().replace("’", "'"), EVERYWHERE, ""
        if self.above == PROFILE:
            self.profile.append("\n".join(lines) if level == 2 else text)
        elif self.above in (PREFERENCES, TIPS):
            self.group = title if level > 2 else EVERYWHERE
            found, loose = split_bullets_from_other_lines(lines)
            entries = (*found, *(line.strip() for line in loose))
            into = self.preferences if self.above == PREFERENCES else self.tips
            into += [GroupSummaryEntries(self.group, entries)] if entries else []
        elif self.above == CONTENTS:
            self._add_topics(level, title, lines)
        elif level <= 2:
            self.other.append([text])
        elif self.other:
            self.other[-1].append(text)

    def _add_topics(self, level: int, title: str, lines: Sequence[str]) -> None:
        if level == 3:
            self.group, self.day = ("", "") if title.casefold() == _OLDER else (title, "")
        elif level > 3:
            self.day = title if _DAY.fullmatch(title) else ""
            self.group = self.group if self.day else title
        found, loose = split_bullets_from_other_lines(lines)
        texts = [*found, *(line.strip() for line in loose)]
        self.topics += [
            SummaryTopic(self.group or EVERYWHERE, self.day, text)
            for text in texts
            if not _COUNT.fullmatch(text)
        ]


def parse_memory_summary(text: str) -> MemorySummary:
    """Parse a text with plain line ends. Never fails."""
    reading = _SummaryParser()
    body = text.removeprefix(SUMMARY_VERSION)
    preamble = ""
    for part in split_headed_sections(body):
        if part.level:
            reading.add_section(part.level, part.title, part.text, part.lines)
        else:
            preamble = part.text.strip("\n")
    return MemorySummary(
        preamble=preamble,
        profile="\n".join(reading.profile).strip(),
        preferences=tuple(reading.preferences),
        tips=tuple(reading.tips),
        topics=tuple(reading.topics),
        other=tuple(filter(None, ("\n".join(each).strip("\n") for each in reading.other))),
    )


def render_memory_summary(summary: MemorySummary) -> str:
    """Render the text."""
    parts = [
        SUMMARY_VERSION,
        summary.preamble,
        "## User Profile",
        summary.profile.strip(),
        "## User preferences",
        *_render_parts(summary.preferences),
    ]
    parts += [
        "## General Tips",
        *_render_parts(summary.tips),
        "## What's in Memory",
        *_render_topics(summary.topics),
    ]
    if summary.left_out:
        parts.append(f"- ({summary.left_out} entries are left out here for want of room)")
    return "\n\n".join(part for part in (*parts, *summary.other) if part) + "\n"


def _render_parts(parts: Sequence[GroupSummaryEntries]) -> list[str]:
    return [
        f"### {part.group}\n\n" + "\n".join(map(render_bullet, part.entries))
        for part in parts
        if part.entries
    ]


def _render_topics(topics: Sequence[SummaryTopic]) -> list[str]:
    """Render recent topics by place and day, then older ones by place."""
    lines: list[str] = []
    folder = day = ""
    for topic in (topic for topic in topics if topic.day):
        if topic.group != folder:
            folder, day = topic.group, ""
            lines.append(f"### {folder}")
        if topic.day != day:
            day = topic.day
            lines.append(f"#### {day}")
        lines.append(render_bullet(topic.text))
    older = [topic for topic in topics if not topic.day]
    lines += ["### Older Memory Topics"] if older else []
    for name in dict.fromkeys(topic.group for topic in older):
        lines += [
            f"#### {name}",
            *(render_bullet(topic.text) for topic in older if topic.group == name),
        ]
    return _join_paragraphs(lines)


def _join_paragraphs(lines: Sequence[str]) -> list[str]:
    """Join paragraphs; consecutive list entries stand together."""
    found: list[str] = []
    for line in lines:
        if found and line.startswith("- ") and found[-1].startswith("- "):
            found[-1] += f"\n{line}"
        else:
            found.append(line)
    return found


def fit_summary_to_tokens_and_bytes(
    summary: MemorySummary, lean_bytes: int | None
) -> MemorySummary:
    """Fit a summary into `MAX_SUMMARY_TOKENS`; a lean one, whose file has at most `lean_bytes`,
    into those as well.
    """
    if lean_bytes is not None:
        # The file ends with a line break that the summary does not have.
        summary = drop_summary_entries_to_fit(
            summary, lean_bytes - 1, lambda text: len(text.encode("utf-8", "replace"))
        )
    return drop_summary_entries_to_fit(summary, MAX_SUMMARY_TOKENS, estimate_text_tokens)


def drop_summary_entries_to_fit(
    summary: MemorySummary, limit: int, size: Callable[[str], int]
) -> MemorySummary:
    """Fit the summary into `limit`, measured by `size`, by dropping whole entries.

    Dropped first to last: older topics, tips, recent topics, preferences, each from the end; then
    the profile. The number of dropped entries is recorded in it.
    """
    if size(render_memory_summary(summary)) <= limit:
        return summary
    total = summary.entry_count
    low, high = 0, total
    while low < high:
        middle = (low + high) // 2
        if size(render_memory_summary(_drop_entries(summary, middle))) <= limit:
            high = middle
        else:
            low = middle + 1
    found = _drop_entries(summary, low)
    if size(render_memory_summary(found)) <= limit:
        return found
    return replace(found, preamble="", profile="", other=())


def _drop_entries(summary: MemorySummary, number: int) -> MemorySummary:
    """Return the summary without `number` of its entries."""
    older = [at for at, topic in enumerate(summary.topics) if not topic.day][::-1]
    recent = [at for at, topic in enumerate(summary.topics) if topic.day][::-1]
    tips, preferences = _removal_order(summary.tips), _removal_order(summary.preferences)
    order = [
        *(("topic", at) for at in older),
        *(("tip", at) for at in tips),
        *(("topic", at) for at in recent),
    ]
    dropped = set([*order, *(("preference", at) for at in preferences)][:number])
    return replace(
        summary,
        topics=tuple(
            topic for at, topic in enumerate(summary.topics) if ("topic", at) not in dropped
        ),
        tips=_keep_entries(summary.tips, {at for name, at in dropped if name == "tip"}),
        preferences=_keep_entries(
            summary.preferences, {at for name, at in dropped if name == "preference"}
        ),
        left_out=summary.left_out + number,
    )


def _removal_order(parts: Sequence[GroupSummaryEntries]) -> list[int]:
    """Order entries for removal, least useful first: the last entry of every part before the second
    last of any.
    """
    found, number = [], 0
    for part in parts:
        for at in range(len(part.entries)):
            found.append((at, number))
            number += 1
    return [number for _, number in sorted(found, reverse=True)]


def _keep_entries(
    parts: Sequence[GroupSummaryEntries], dropped: set[int]
) -> tuple[GroupSummaryEntries, ...]:
    kept, number = [], 0
    for part in parts:
        entries = tuple(entry for at, entry in enumerate(part.entries, number) if at not in dropped)
        number += len(part.entries)
        kept += [GroupSummaryEntries(part.group, entries)] if entries else []
    return tuple(kept)


RECENT_DAYS = 3
"""Working days that count as recent (Codex)."""
MAX_TIPS = 12
"""Tips of one place, from knowledge and failures. Our choice."""
MAX_TIP_CHARACTERS = 240
"""Longest tip or learning in characters; longer ones are looked up in the handbook."""
RAN_PREFIX = "Ran: "
"""Prefix of an entry about a command of unknown use: a session that wants it looks it up."""
_SENTENCE_END = re.compile(r"(?<=[.!?])(?= )| …(?= )")
_REQUEST_PREFIXES = (ASKED_PREFIX, PASSED_ON_PREFIX)
_MAX_TOPIC_KEYWORDS = 6


def update_summary_from_handbook(
    handbook: Handbook, present: MemorySummary, touched: Collection[str]
) -> MemorySummary:
    """Compose the summary of a handbook.

    Topics of untouched groups keep their wording, and so do the profile and unknown sections.
    """
    shown = [group for group in handbook.groups if group.title != UNKNOWN_GROUP]
    works = [
        (group, work)
        for group in handbook.groups
        for work in group.works
        if _is_listed(handbook, group, work)
    ]
    days = sorted({_last_day(work) for _, work in works} - {""}, reverse=True)[:RECENT_DAYS]
    known = {
        make_summary_topic_key(topic.group, topic.text): topic.text
        for topic in present.topics
        if topic.group not in touched
    }
    order = {group.title: at for at, group in enumerate(handbook.groups)}
    topics = [_build_topic(group, work, days, known) for group, work in works]
    return MemorySummary(
        preamble=present.preamble,
        profile=present.profile,
        preferences=tuple(
            _summary_part(group.title, group.preferences) for group in shown if group.preferences
        ),
        tips=tuple(
            _summary_part(group.title, tips)
            for group in shown
            if (tips := tuple(_select_tips(group)))
        ),
        topics=tuple(
            sorted(
                (topic for topic in topics if topic.day),
                key=lambda topic: (order[topic.group], _descending_day(topic.day)),
            )
        )
        + tuple(topic for topic in topics if not topic.day),
        other=present.other,
    )


def _descending_day(day: str) -> int:
    return -int(day.replace("-", ""))


def _is_listed(handbook: Handbook, group: HandbookGroup, work: HandbookTask) -> bool:
    """Tasks of "everywhere" are listed under their projects' groups when they are there too."""
    others = (other for other in handbook.groups if other.title != EVERYWHERE)
    return bool(work.sources) and (
        group.title != EVERYWHERE
        or not any(source.thread in other.threads for other in others for source in work.sources)
    )


def _last_day(work: HandbookTask) -> str:
    return get_task_last_update_time(work)[:10]


def _summary_part(title: str, entries: tuple[HandbookClaim, ...]) -> GroupSummaryEntries:
    return GroupSummaryEntries(
        title,
        tuple(
            entry.text + render_claim_tags(entry) + render_source_tag(entry) for entry in entries
        ),
    )


def _select_tips(group: HandbookGroup) -> Iterator[HandbookClaim]:
    """Yield knowledge and failures alternately, most useful first; not what an agent said of its
    own work.
    """
    own = [
        entry
        for name in ENTRY_LISTS[1:]
        for entry in group.entries_in_list(name)
        if entry.by != "sessions"
    ]
    yield from own
    rest = [
        [entry for entry in group.entries_in_list(name) if _is_tip(entry)]
        for name in ENTRY_LISTS[1:]
    ]
    left = max(0, MAX_TIPS - len(own))
    for at in range(max(map(len, rest), default=0)):
        for entries in rest:
            if at < len(entries) and left > 0:
                left -= 1
                yield entries[at]


def _is_tip(entry: HandbookClaim) -> bool:
    return (
        entry.by == "sessions"
        and len(entry.text) <= MAX_TIP_CHARACTERS
        and not entry.text.startswith((*_REQUEST_PREFIXES, REPORTED_PREFIX, RAN_PREFIX))
    )


def _build_topic(
    group: HandbookGroup, work: HandbookTask, days: list[str], known: dict[tuple[str, str], str]
) -> SummaryTopic:
    day = _last_day(work) if _last_day(work) in days else ""
    text = _topic_text(group, work)
    return SummaryTopic(
        group.title, day, known.get(make_summary_topic_key(group.title, text), text)
    )


def make_summary_topic_key(folder: str, text: str) -> tuple[str, str]:
    """Return a topic's identity, however the rest is worded: its place, and its name before the
    keywords.
    """
    return folder, text.split("\n", 1)[0].split(": ", 1)[0].strip()


def _topic_text(group: HandbookGroup, work: HandbookTask) -> str:
    """Render one topic: its name and keywords, its outcome, and the first thing it taught."""
    taught = [
        entry
        for name in ENTRY_LISTS[1:]
        for entry in group.entries_in_list(name)
        if work in find_entry_tasks(entry, group.works)
    ]
    title = work.title.replace(": ", " – ")
    lines = [
        f"{title}: {', '.join(work.keywords[:_MAX_TOPIC_KEYWORDS])}"
        if work.keywords
        else f"{title}:"
    ]
    sessions = (
        f"{len(work.sources)} sessions, the last on {_last_day(work)}"
        if len(work.sources) > 1
        else _last_day(work)
    )
    lines.append(
        f"- desc: {', '.join(filter(None, (work.outcome or '', sessions)))}; {work.sources[0].path}"
    )
    if taught and work.title != OLDER_WORK_TITLE:
        lines.append(f"- learnings: {_shorten_learning(_choose_learning(taught))}")
    return "\n".join(lines)


def _choose_learning(taught: Sequence[HandbookClaim]) -> str:
    """What a task taught beyond its name: what the user decided or put right, else what the agent
    found and told at most length, else the first entry that is no request.
    """
    others = [entry for entry in taught if not entry.text.startswith(_REQUEST_PREFIXES)]
    said = [entry.text for entry in others if entry.proof == "said"]
    reports = [entry.text for entry in others if entry.text.startswith(REPORTED_PREFIX)]
    if said or not reports:
        return (said or [entry.text for entry in others] or [taught[0].text])[0]
    return max(reports, key=len)


def _shorten_learning(text: str) -> str:
    """The first sentences that fit; a longer one is cut."""
    text = " ".join(text.split())
    if len(text) <= MAX_TIP_CHARACTERS:
        return text
    ends = [found.start() for found in _SENTENCE_END.finditer(text[:MAX_TIP_CHARACTERS])]
    if ends and ends[-1] >= MAX_TIP_CHARACTERS // 3:
        return text[: ends[-1]]
    return text[: MAX_TIP_CHARACTERS - 1].rstrip() + "…"
