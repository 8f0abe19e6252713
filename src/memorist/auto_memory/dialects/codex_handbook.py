"""Codex: the memories in its `MEMORY.md` (the handbook) and `memory_summary.md` (codex.md section
1.8, schemas).

Pure.
"""

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

_TAGS = re.compile(r"(?:\s*\[(?:Tasks? \d+[^\]]*|ad-hoc note[^\]]*|by the user|(?:said|proved|inferred)(?: [\d-]{10})?)\])+\s*$")
_FOLDER = re.compile(r"cwd=([^;\n]+)")
_TICKED = re.compile(r"`([^`\n]+)`")
_APART = re.compile(r"\s*(?:,|\+|\||\band\b)\s*")
_ABSOLUTE = re.compile(r"/|[A-Za-z]:[\\/]|\\\\")


class Block(Struct, frozen=True, kw_only=True):
    """One task group of the handbook: its head, and the sections below it."""

    title: str
    scope: str = ""
    """The value of the line `scope:`."""
    applies: str = ""
    """The value of the line `applies_to:`."""
    folders: tuple[str, ...] = ()
    """The folders to which it applies; empty when it names none by full path."""
    head: Section
    parts: tuple[Section, ...] = ()

    @property
    def text(self) -> str:
        """The group, verbatim."""
        return "\n".join(part.text for part in (self.head, *self.parts))


class Found(Struct, frozen=True):
    """Memories of one file; `folders` maps a memory's path to the folders it is limited to."""

    topics: list[Topic]
    folders: dict[str, tuple[str, ...]]
    left: list[Left]


def blocks(text: str) -> tuple[list[Section], list[Block]]:
    """Parse the task groups of a handbook, and the sections before the first one.

    Plain line ends are expected.
    """
    before: list[Section] = []
    grouped: list[list[Section]] = []
    for part in sections(text):
        if part.level == 1 and part.title.startswith(GROUP):
            grouped.append([part])
        elif grouped:
            grouped[-1].append(part)
        else:
            before.append(part)
    return before, [_block(parts) for parts in grouped]


def _block(parts: Sequence[Section]) -> Block:
    head = [line.strip() for line in parts[0].lines]
    scope, applies = (
        next((line.partition(":")[2].strip() for line in head if line.startswith(name)), "") for name in ("scope:", "applies_to:")
    )
    title = parts[0].title.removeprefix(GROUP).strip()
    return Block(title=title, scope=scope, applies=applies, folders=folders("\n".join(head)), head=parts[0], parts=tuple(parts[1:]))


def summary(path: str, text: str, taken: dict[str, int]) -> Found:
    """Read `memory_summary.md`: profile, preferences and tips.

    The rest of it is a table of contents.
    """
    found = Found([], {}, [])
    above = ""
    for part in sections(text.removeprefix(VERSION)):
        above = part.title.casefold().replace("’", "'") if part.level <= 2 else above
        if above == PROFILE:
            profile = "\n".join(part.lines).strip()
            found.topics.extend([entry(_plain(profile), Kind.USER, taken, name="user profile")] if profile else [])
        elif above in (PREFERENCES, TIPS):
            _entries(path, part, Kind.FEEDBACK if above == PREFERENCES else Kind.PROJECT, taken, found)
        elif above != CONTENTS:
            found.left.append(Left(f"{path}: {part.title or 'its beginning'}", "a section that the layout does not name"))
        elif part.level <= 2:
            found.left.append(Left(f"{path}: {part.title}", "a table of contents of the handbook"))
    return found


def _entries(path: str, part: Section, kind: Kind, taken: dict[str, int], found: Found) -> None:
    """Add a section's entries; below a heading that names folders they apply to those only."""
    entries, others = bullets(part.lines)
    topics = [entry(_plain(each), kind, taken) for each in entries]
    places = absolute_folders(part.title) if part.level > 2 else ()
    found.topics.extend(topics)
    found.folders.update({topic.path: places for topic in topics if places})
    found.left.extend(_others(f"{path}: {part.title}", others))


def handbook(path: str, text: str, taken: dict[str, int]) -> Found:
    """Read the handbook: each preference, and each group's knowledge and lessons from failures."""
    found = Found([], {}, [])
    before, groups = blocks(text)
    found.left.extend(Left(f"{path}: {part.title or 'its beginning'}", "it stands before the first task group") for part in before)
    for group in groups:
        _group(path, group, taken, found)
    return found


def _group(path: str, group: Block, taken: dict[str, int], found: Found) -> None:
    """Add the memories of one task group."""
    tasks = 0
    topics: list[Topic] = []
    for part in group.parts:
        name = part.title.casefold()
        entries, others = bullets(part.lines)
        if part.level == 2 and name == PREFERENCES:
            topics += [entry(_plain(each), Kind.FEEDBACK, taken) for each in entries]
            found.left.extend(_others(f"{path}: {group.title}: {part.title}", others))
        elif part.level == 2 and name in (KNOWLEDGE, FAILURES):
            topics += _knowledge(group.title, group.scope, name, entries, taken)
            found.left.extend(_others(f"{path}: {group.title}: {part.title}", others))
        else:
            tasks += 1
    found.topics.extend(topics)
    found.folders.update({topic.path: group.folders for topic in topics if group.folders})
    if tasks:
        found.left.append(
            Left(f"{path}: {group.title}", f"{tasks} sections tell of sessions and their files, which are evidence and no memory")
        )


def _knowledge(title: str, scope: str, name: str, entries: Sequence[str], taken: dict[str, int]) -> list[Topic]:
    """Build one topic from a group's knowledge: single lines seldom make sense without the group.
    """
    if not entries:
        return []
    told = f"{title}: what failed, and what to do instead" if name == FAILURES else title
    text = "\n".join([*([f"{told}. {scope}" if scope else told]), "", *(bullet(_plain(each)) for each in entries)])
    return [entry(text, Kind.PROJECT, taken, name=f"{title} failures" if name == FAILURES else title)]


def folders(head: str) -> tuple[str, ...]:
    """Return the folders named in a group's head; empty when none is a full path."""
    match = _FOLDER.search(head)
    return absolute_folders(match[1]) if match else ()


def absolute_folders(text: str) -> tuple[str, ...]:
    """Return the full paths in a list of folders, in backticks or separated by commas and the like.
    """
    named = _TICKED.findall(text) or [each.strip("`'\" ") for each in _APART.split(text.strip())]
    return tuple(each for each in named if _ABSOLUTE.match(each))


def _plain(text: str) -> str:
    """Strip trailing tags that point into Codex's own files."""
    return _TAGS.sub("", text) or text


def _others(where: str, lines: Sequence[str]) -> list[Left]:
    return [Left(where, f"{len(lines)} lines are no list entries")] if lines else []
