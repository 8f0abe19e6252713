"""The summary, `memory_summary.md`: what a session is shown of everything remembered, by place.

Pure. The layout is Codex's (codex.md section 1.8). Below its headings memorist adds one heading per
place, so that a session is shown only its own (RO-7).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.dialects.bullets import bullet, bullets, sections
from memorist.auto_memory.dialects.codex_handbook import CONTENTS, PREFERENCES, PROFILE, TIPS, VERSION
from memorist.rollouts.handbook import EVERYWHERE

SUMMARY = "memory_summary.md"
PROFILE_WORDS = 350
"""Upper bound of words of the profile (codex.md section 1.8)."""
_OLDER = "older memory topics"
_COUNT = re.compile(r"\(\d+ entries are left out here for want of room\)")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


class Part(Struct, frozen=True):
    """The entries below the heading of one place."""

    place: str
    entries: tuple[str, ...]


class Topic(Struct, frozen=True):
    """One line of the table of contents, with what stands below it."""

    place: str
    day: str
    """ISO 8601; empty for an older topic."""
    text: str


class Summary(Struct, frozen=True, kw_only=True):
    """The whole file."""

    preamble: str = ""
    """What precedes the first section."""
    profile: str = ""
    preferences: tuple[Part, ...] = ()
    tips: tuple[Part, ...] = ()
    topics: tuple[Topic, ...] = ()
    other: tuple[str, ...] = ()
    """Sections unknown to the layout, verbatim."""
    left_out: int = 0
    """Entries left out for lack of space."""


def invalid(text: str) -> str:
    """Return why a text is not a valid summary, in one sentence; empty if it is."""
    lines = text.split("\n")
    if lines[0] != VERSION:
        return f"its first line is not {VERSION}"
    found = [part.title.casefold().replace("’", "'") for part in sections(text) if part.level == 2]
    missing = [name for name in (PROFILE, PREFERENCES, TIPS, CONTENTS) if name not in found]
    return f"it has no section {missing[0]}" if missing else ""


class _Reading:
    """State of parsing the file."""

    def __init__(self) -> None:
        self.profile: list[str] = []
        self.preferences: list[Part] = []
        self.tips: list[Part] = []
        self.topics: list[Topic] = []
        self.other: list[list[str]] = []
        self.above = ""
        self.place = EVERYWHERE
        self.day = ""

    def section(self, level: int, title: str, text: str, lines: Sequence[str]) -> None:
        """Add one section."""
        if level <= 2:
            self.above, self.place, self.day = title.casefold().replace("’", "'"), EVERYWHERE, ""
        if self.above == PROFILE:
            self.profile.append("\n".join(lines) if level == 2 else text)
        elif self.above in (PREFERENCES, TIPS):
            self.place = title if level > 2 else EVERYWHERE
            found, loose = bullets(lines)
            entries = (*found, *(line.strip() for line in loose))
            into = self.preferences if self.above == PREFERENCES else self.tips
            into += [Part(self.place, entries)] if entries else []
        elif self.above == CONTENTS:
            self._contents(level, title, lines)
        elif level <= 2:
            self.other.append([text])
        elif self.other:
            self.other[-1].append(text)

    def _contents(self, level: int, title: str, lines: Sequence[str]) -> None:
        if level == 3:
            self.place, self.day = ("", "") if title.casefold() == _OLDER else (title, "")
        elif level > 3:
            self.day = title if _DAY.fullmatch(title) else ""
            self.place = self.place if self.day else title
        found, loose = bullets(lines)
        texts = [*found, *(line.strip() for line in loose)]
        self.topics += [Topic(self.place or EVERYWHERE, self.day, text) for text in texts if not _COUNT.fullmatch(text)]


def parse(text: str) -> Summary:
    """Parse a text with plain line ends. Never fails."""
    reading = _Reading()
    body = text.removeprefix(VERSION)
    preamble = ""
    for part in sections(body):
        if part.level:
            reading.section(part.level, part.title, part.text, part.lines)
        else:
            preamble = part.text.strip("\n")
    return Summary(
        preamble=preamble,
        profile="\n".join(reading.profile).strip(),
        preferences=tuple(reading.preferences),
        tips=tuple(reading.tips),
        topics=tuple(reading.topics),
        other=tuple(filter(None, ("\n".join(each).strip("\n") for each in reading.other))),
    )


def render(summary: Summary) -> str:
    """Render the text."""
    parts = [VERSION, summary.preamble, "## User Profile", summary.profile.strip(), "## User preferences", *_parts(summary.preferences)]
    parts += ["## General Tips", *_parts(summary.tips), "## What's in Memory", *_topics(summary.topics)]
    if summary.left_out:
        parts.append(f"- ({summary.left_out} entries are left out here for want of room)")
    return "\n\n".join(part for part in (*parts, *summary.other) if part) + "\n"


def _parts(parts: Sequence[Part]) -> list[str]:
    return [f"### {part.place}\n\n" + "\n".join(map(bullet, part.entries)) for part in parts if part.entries]


def _topics(topics: Sequence[Topic]) -> list[str]:
    """Render recent topics by place and day, then older ones by place."""
    lines: list[str] = []
    place = day = ""
    for topic in (topic for topic in topics if topic.day):
        if topic.place != place:
            place, day = topic.place, ""
            lines.append(f"### {place}")
        if topic.day != day:
            day = topic.day
            lines.append(f"#### {day}")
        lines.append(bullet(topic.text))
    older = [topic for topic in topics if not topic.day]
    lines += ["### Older Memory Topics"] if older else []
    for name in dict.fromkeys(topic.place for topic in older):
        lines += [f"#### {name}", *(bullet(topic.text) for topic in older if topic.place == name)]
    return _spaced(lines)


def _spaced(lines: Sequence[str]) -> list[str]:
    """Join paragraphs; consecutive list entries stand together."""
    found: list[str] = []
    for line in lines:
        if found and line.startswith("- ") and found[-1].startswith("- "):
            found[-1] += f"\n{line}"
        else:
            found.append(line)
    return found


def fitted(summary: Summary, limit: int, size: Callable[[str], int]) -> Summary:
    """Fit the summary into `limit`, measured by `size`, by dropping whole entries.

    Dropped first to last: older topics, tips, recent topics, preferences, each from the end; then
    the profile. The number of dropped entries is recorded in it.
    """
    if size(render(summary)) <= limit:
        return summary
    total = _count(summary)
    low, high = 0, total
    while low < high:
        middle = (low + high) // 2
        if size(render(_without(summary, middle))) <= limit:
            high = middle
        else:
            low = middle + 1
    found = _without(summary, low)
    return found if size(render(found)) <= limit else replace(found, preamble="", profile="", other=())


def _count(summary: Summary) -> int:
    return len(summary.topics) + sum(len(part.entries) for part in (*summary.tips, *summary.preferences))


def _without(summary: Summary, number: int) -> Summary:
    """Return the summary without `number` of its entries."""
    older = [at for at, topic in enumerate(summary.topics) if not topic.day][::-1]
    recent = [at for at, topic in enumerate(summary.topics) if topic.day][::-1]
    tips, preferences = _places(summary.tips), _places(summary.preferences)
    order = [*(("topic", at) for at in older), *(("tip", at) for at in tips), *(("topic", at) for at in recent)]
    gone = set([*order, *(("preference", at) for at in preferences)][:number])
    return replace(
        summary,
        topics=tuple(topic for at, topic in enumerate(summary.topics) if ("topic", at) not in gone),
        tips=_kept(summary.tips, {at for name, at in gone if name == "tip"}),
        preferences=_kept(summary.preferences, {at for name, at in gone if name == "preference"}),
        left_out=summary.left_out + number,
    )


def _places(parts: Sequence[Part]) -> list[int]:
    """Order entries for removal, least useful first: the last entry of every part before the second
    last of any.
    """
    found, number = [], 0
    for part in parts:
        for at in range(len(part.entries)):
            found.append((at, number))
            number += 1
    return [number for _, number in sorted(found, reverse=True)]


def _kept(parts: Sequence[Part], gone: set[int]) -> tuple[Part, ...]:
    kept, number = [], 0
    for part in parts:
        entries = tuple(entry for at, entry in enumerate(part.entries, number) if at not in gone)
        number += len(part.entries)
        kept += [Part(part.place, entries)] if entries else []
    return tuple(kept)
