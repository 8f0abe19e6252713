"""Codex: what its `MEMORY.md` (the handbook) and `memory_summary.md` hold as memories (codex.md section 1.8, schemas). Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from memorist.auto_memory.dialects.bullets import Section, bullet, bullets, sections
from memorist.auto_memory.dialects.values import Left, entry
from memorist.auto_memory.kinds import Kind
from memorist.auto_memory.topic import Topic

VERSION = "v1"
"""First line of a `memory_summary.md`."""
GROUP = "Task Group:"
PREFERENCES = "user preferences"
KNOWLEDGE = "reusable knowledge"
FAILURES = "failures and how to do differently"
PROFILE = "user profile"
TIPS = "general tips"
CONTENTS = "what's in memory"

_TAGS = re.compile(r"(?:\s*\[(?:Tasks? \d+[^\]]*|ad-hoc note)\])+\s*$")
_FOLDER = re.compile(r"cwd=([^;\n]+)")
_APART = re.compile(r"\s*(?:,|\+|\||\band\b)\s*")
_ABSOLUTE = re.compile(r"/|[A-Za-z]:[\\/]|\\\\")


class Found(Struct, frozen=True):
    """Memories of one file; `folders` names those that hold for some folders only, by path of the memory."""

    topics: list[Topic]
    folders: dict[str, tuple[str, ...]]
    left: list[Left]


def summary(path: str, text: str, taken: dict[str, int]) -> Found:
    """The memories of `memory_summary.md`: profile, preferences and tips. The rest of it is a table of contents."""
    topics: list[Topic] = []
    left: list[Left] = []
    contents = False
    for part in sections(text.removeprefix(VERSION)):
        title = part.title.casefold().replace("’", "'")
        contents = contents and part.level > 2
        if part.level == 2 and title == PROFILE:
            profile = "\n".join(part.lines).strip()
            topics += [entry(_plain(profile), Kind.USER, taken, name="user profile")] if profile else []
        elif part.level == 2 and title in (PREFERENCES, TIPS):
            kind = Kind.FEEDBACK if title == PREFERENCES else Kind.PROJECT
            found, others = bullets(part.lines)
            topics += [entry(_plain(each), kind, taken) for each in found]
            left += _others(f"{path}: {part.title}", others)
        elif part.level == 2 and title == CONTENTS:
            contents = True
            left.append(Left(f"{path}: {part.title}", "a table of contents of the handbook"))
        elif not contents:
            left.append(Left(f"{path}: {part.title or 'its beginning'}", "a section that the layout does not name"))
    return Found(topics, {}, left)


def handbook(path: str, text: str, taken: dict[str, int]) -> Found:
    """The memories of the handbook: each preference, and what each group of tasks knows and learned from failures."""
    found = Found([], {}, [])
    group: list[Section] = []
    for part in [*sections(text), Section(1, GROUP, ())]:
        if part.level == 1 and part.title.startswith(GROUP):
            _group(path, group, taken, found)
            group = [part]
        elif group:
            group.append(part)
        else:
            found.left.append(Left(f"{path}: {part.title or 'its beginning'}", "it stands before the first task group"))
    return found


def _group(path: str, parts: Sequence[Section], taken: dict[str, int], found: Found) -> None:
    """Add what one task group holds."""
    if not parts:
        return
    title = parts[0].title.removeprefix(GROUP).strip()
    head = [line.strip() for line in parts[0].lines if line.strip()]
    scope = next((line.partition(":")[2].strip() for line in head if line.startswith("scope:")), "")
    tasks = 0
    topics: list[Topic] = []
    for part in parts[1:]:
        name = part.title.casefold()
        entries, others = bullets(part.lines)
        if part.level == 2 and name == PREFERENCES:
            topics += [entry(_plain(each), Kind.FEEDBACK, taken) for each in entries]
            found.left.extend(_others(f"{path}: {title}: {part.title}", others))
        elif part.level == 2 and name in (KNOWLEDGE, FAILURES):
            topics += _knowledge(title, scope, name, entries, taken)
            found.left.extend(_others(f"{path}: {title}: {part.title}", others))
        else:
            tasks += 1
    folders = _folders("\n".join(head))
    found.topics.extend(topics)
    found.folders.update({topic.path: folders for topic in topics if folders})
    if tasks:
        found.left.append(Left(f"{path}: {title}", f"{tasks} sections tell of sessions and their files, which are evidence and no memory"))


def _knowledge(title: str, scope: str, name: str, entries: Sequence[str], taken: dict[str, int]) -> list[Topic]:
    """What a group knows goes together: a line of it seldom makes sense without the group."""
    if not entries:
        return []
    told = f"{title}: what failed, and what to do instead" if name == FAILURES else title
    text = "\n".join([*([f"{told}. {scope}" if scope else told]), "", *(bullet(_plain(each)) for each in entries)])
    return [entry(text, Kind.PROJECT, taken, name=f"{title} failures" if name == FAILURES else title)]


def _folders(head: str) -> tuple[str, ...]:
    """The folders for which a group holds; empty when it names none that is a full path."""
    match = _FOLDER.search(head)
    named = _APART.split(match[1].strip()) if match else []
    return tuple(each.strip("`'\" ") for each in named if _ABSOLUTE.match(each.strip("`'\" ")))


def _plain(text: str) -> str:
    """An entry without the tags at its end that point into Codex's own files."""
    return _TAGS.sub("", text) or text


def _others(where: str, lines: Sequence[str]) -> list[Left]:
    return [Left(where, f"{len(lines)} lines are no list entries")] if lines else []
