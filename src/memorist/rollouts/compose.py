"""Compose the summary from the handbook: preferences and tips as they stand, one line per task, by
place and day (RO-6). Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from memorist.rollouts.handbook import EVERYWHERE, LISTS, SOMEWHERE, Entry, Group, Handbook, Work, own_tags, tasks_of
from memorist.rollouts.merging import OLDER, newest
from memorist.rollouts.overview import Part, Summary, Topic
from memorist.rollouts.raw_memory import REPORTED

RECENT_DAYS = 3
"""Working days that count as recent (codex.md section 1.8)."""
TIPS = 12
"""Tips of one place, from knowledge and failures. Our choice."""
TIP = 240
"""Longest tip in characters; longer ones are looked up in the handbook."""
RAN = "Ran: "
"""Prefix of an entry about a command of unknown use: a session that wants it looks it up."""
_LEARNT = 200
_KEYWORDS = 6


def compose(handbook: Handbook, present: Summary, touched: Collection[str]) -> Summary:
    """Compose the summary of a handbook.

    Topics of untouched groups keep their wording, and so do the profile and unknown sections.
    """
    shown = [group for group in handbook.groups if group.title != SOMEWHERE]
    works = [(group, work) for group in handbook.groups for work in group.works if _told(handbook, group, work)]
    days = sorted({_day(work) for _, work in works} - {""}, reverse=True)[:RECENT_DAYS]
    known = {topic_key(topic.place, topic.text): topic.text for topic in present.topics if topic.place not in touched}
    order = {group.title: at for at, group in enumerate(handbook.groups)}
    topics = [_topic(group, work, days, known) for group, work in works]
    return Summary(
        preamble=present.preamble,
        profile=present.profile,
        preferences=tuple(_part(group.title, group.preferences) for group in shown if group.preferences),
        tips=tuple(_part(group.title, tips) for group in shown if (tips := tuple(_tips(group)))),
        topics=tuple(sorted((topic for topic in topics if topic.day), key=lambda topic: (order[topic.place], _negative(topic.day))))
        + tuple(topic for topic in topics if not topic.day),
        other=present.other,
    )


def _negative(day: str) -> int:
    return -int(day.replace("-", ""))


def _told(handbook: Handbook, group: Group, work: Work) -> bool:
    """Tasks of "everywhere" are listed under their projects' groups when they stand there too."""
    others = (other for other in handbook.groups if other.title != EVERYWHERE)
    return bool(work.sources) and (
        group.title != EVERYWHERE or not any(source.thread in other.threads for other in others for source in work.sources)
    )


def _day(work: Work) -> str:
    return newest(work)[:10]


def _part(title: str, entries: tuple[Entry, ...]) -> Part:
    return Part(title, tuple(entry.text + own_tags(entry) for entry in entries))


def _tips(group: Group) -> Iterator[Entry]:
    """Yield knowledge and failures alternately, most useful first; not what an agent said of its
    own work.
    """
    own = [entry for name in LISTS[1:] for entry in group.entries(name) if entry.by != "sessions"]
    yield from own
    rest = [[entry for entry in group.entries(name) if _is_tip(entry)] for name in LISTS[1:]]
    left = max(0, TIPS - len(own))
    for at in range(max(map(len, rest), default=0)):
        for entries in rest:
            if at < len(entries) and left > 0:
                left -= 1
                yield entries[at]


def _is_tip(entry: Entry) -> bool:
    return entry.by == "sessions" and len(entry.text) <= TIP and not entry.text.startswith((REPORTED, RAN))


def _topic(group: Group, work: Work, days: list[str], known: dict[tuple[str, str], str]) -> Topic:
    day = _day(work) if _day(work) in days else ""
    text = _text(group, work)
    return Topic(group.title, day, known.get(topic_key(group.title, text), text))


def topic_key(place: str, text: str) -> tuple[str, str]:
    """Return a topic's identity, however the rest is worded: its place, and its name before the
    keywords.
    """
    return place, text.split("\n", 1)[0].split(": ", 1)[0].strip()


def _text(group: Group, work: Work) -> str:
    """Render one topic: its name and keywords, its outcome, and the first thing it taught."""
    taught = [entry for name in LISTS[1:] for entry in group.entries(name) if work in tasks_of(entry, group.works)]
    title = work.title.replace(": ", " – ")
    lines = [f"{title}: {', '.join(work.keywords[:_KEYWORDS])}" if work.keywords else f"{title}:"]
    sessions = f"{len(work.sources)} sessions, the last on {_day(work)}" if len(work.sources) > 1 else _day(work)
    lines.append(f"- desc: {', '.join(filter(None, (work.outcome or '', sessions)))}; {work.sources[0].path}")
    if taught and work.title != OLDER:
        text = " ".join(taught[0].text.split())
        lines.append(f"- learnings: {text if len(text) <= _LEARNT else text[: _LEARNT - 1].rstrip() + '…'}")
    return "\n".join(lines)
