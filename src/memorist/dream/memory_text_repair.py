"""Repairs in the text of memories (DR-5): relative dates become absolute where the history proves
the day on which they were written, and links whose target is gone are mended. Pure.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec import Struct

from memorist.auto_memory.memory_changes import Actor
from memorist.auto_memory.memory_file import MemoryFile, MemoryKind
from memorist.auto_memory.relative_dates import make_dates_absolute
from memorist.core.lazy import lazy_pattern
from memorist.dream.duplicate_memories import mark_prose_lines

DATED_ACTORS: frozenset[Actor] = frozenset({"said", "extraction", "agent", "user"})
"""Actors whose words are as old as their change.

What was imported, accepted later, restored by an undo or found in the folder is older.
"""
_RECURRING = re.compile(
    r"\b(?:always|never|every|each|daily|weekly|monthly|whenever|when|before|after|until|if|"
    r"must|should|usually|often)\b|每|总是|从不|如果",
    re.IGNORECASE,
)


def is_date_repair_candidate(topic: MemoryFile) -> bool:
    """Tell cheaply whether a date in it could be made absolute, before its lines' times are looked
    up.
    """
    if topic.kind is not MemoryKind.PROJECT or topic.provenance.status != "active":
        return False
    return (
        resolve_dates_by_line_times(topic.body, dict.fromkeys(topic.body.splitlines(), 0.0))
        != topic.body
    )


def make_description_dates_absolute(description: str, text: str, times: Mapping[str, float]) -> str:
    """Make the description's dates absolute if it is the beginning of a line of the text and then
    means the same days.
    """
    for line in text.splitlines():
        if line in times and description and line.strip().startswith(description):
            dated = make_dates_absolute(description, times[line])
            return dated if _date_line(line, times).strip().startswith(dated) else description
    return description


def resolve_dates_by_line_times(text: str, times: Mapping[str, float]) -> str:
    """Make the dates of each line absolute by when it was written (seconds since the epoch, UTC);
    lines without a time stay.
    """
    return "".join(
        _date_line(line, times) if prose else line for line, prose in mark_prose_lines(text)
    )


def _date_line(line: str, times: Mapping[str, float]) -> str:
    plain = line.rstrip("\r\n")
    if plain not in times or _RECURRING.search(plain):
        return line
    return make_dates_absolute(plain, times[plain]) + line[len(plain) :]


def find_proven_line_times(
    lines: Sequence[tuple[str, str]], changes: Mapping[str, tuple[Actor, float]]
) -> dict[str, float]:
    """Return the time of each line of a memory, as far as it is proven.

    `lines` are text and id of the originating change; `changes` the actor and time of each change.
    A line that occurs twice, from two days, has no proven time.
    """
    found: dict[str, set[float | None]] = {}
    for text, change in lines:
        actor, at = changes.get(change, ("other", 0.0))
        found.setdefault(text, set()).add(at if actor in DATED_ACTORS and at > 0 else None)
    return {
        text: at
        for text, times in found.items()
        for at in times
        if len(times) == 1 and at is not None
    }


# Repair links between memories whose target is gone (DR-5).

_LINK = lazy_pattern(
    r"(?<![!\\])(?:\[\[(?P<name>[^\[\]|\n]{1,200})(?:\|(?P<label>[^\[\]\n]{1,200}))?\]\]"
    r"|\[(?P<text>[^\[\]\n]{1,200})\]\((?P<path>[^()\s#]{1,200}\.md)(?P<part>#[^()\s]{0,200})?\))"
)
_CODE_SPAN = lazy_pattern(r"`[^`\n]*`")
_ONLY_LINKS = lazy_pattern(
    r"\s*(?:[-*+]\s+)?(?:see(?:\s+also)?:?\s+)?\0(?:(?:\s*,\s*|\s+and\s+)\0)*[.;]?\s*",
    re.IGNORECASE,
)


class ValidLinkTargets(Struct, frozen=True, kw_only=True):
    """Valid link targets. Paths are relative to the memory folder."""

    present: Collection[str]
    names: Mapping[str, str] = {}
    """Header names to the paths of their memories."""
    known_paths: Collection[str] = ()
    """Paths that the history knows."""
    moved: Mapping[str, str] = {}
    """Paths that this dream removes, to the memory that says the same."""


def repair_memory_links(path: str, text: str, links: ValidLinkTargets) -> str:
    """Return the text of the memory at `path` with links retargeted to what moved, and without
    provably dead links.

    A line that holds nothing else is removed with its link; elsewhere the link's words stay.
    """
    return "".join(
        _repair_line(path, line, links) if prose and "[" in line else line
        for line, prose in mark_prose_lines(text)
    )


def _repair_line(path: str, line: str, links: ValidLinkTargets) -> str:
    code = [match.span() for match in _CODE_SPAN.finditer(line)]
    dead = 0

    def put(match: re.Match[str], replace_with: Callable[[str], str]) -> str:
        nonlocal dead
        if any(start <= match.start() < end for start, end in code):
            return match[0]
        target = _link_target(path, match, links)
        if target in links.moved:
            return _retarget_link(path, match, links.moved[target])
        if target in links.present or target not in links.known_paths:
            return match[0]
        dead += 1
        return replace_with(match["label"] or match["text"] or match["name"])

    bare = _LINK.sub(lambda match: put(match, lambda _: "\0"), line)
    if dead and _ONLY_LINKS.fullmatch(bare):
        return ""
    return _LINK.sub(lambda match: put(match, str), line) if dead or bare != line else line


def _link_target(path: str, match: re.Match[str], links: ValidLinkTargets) -> str:
    if match["path"]:
        return posixpath.normpath(posixpath.join(posixpath.dirname(path), match["path"]))
    name = match["name"].partition("#")[0].strip()
    file = name if name.endswith(".md") else f"{name}.md"
    return file if file in links.moved or file in links.present else links.names.get(name, file)


def _retarget_link(path: str, match: re.Match[str], to: str) -> str:
    """The link to what stayed, also to the part of it that was named (`#setup`)."""
    if match["path"]:
        target = posixpath.relpath(to, posixpath.dirname(path) or ".")
        return f"[{match['text']}]({target}{match['part'] or ''})"
    _, mark, part = match["name"].partition("#")
    label = f"|{match['label']}" if match["label"] else ""
    return f"[[{to.removesuffix('.md')}{mark}{part}{label}]]"
