"""Common types and functions of the dialects: what was read, what was written, and what was lost.

Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from memorist.auto_memory.dialects.bullets import bullets
from memorist.auto_memory.kinds import Kind, Trust
from memorist.auto_memory.topic import OWN_KEY, Provenance, Topic, file_name, new_topic
from memorist.safety.secrets import redact

HELD = ("kind", "name", "description", "pinned", "origin", "other keys", "links", "lines")
"""What a memory has besides its text, in the order in which losses are reported."""
_LINK = re.compile(r"\[\[[^\[\]\n]+\]\]")
_KNOWN_KEYS = frozenset({"name", "description", "type", "metadata", "pinned", OWN_KEY})
_NAME = 60
"""Characters of an entry's start that serve as its name where the dialect has no names."""
_DESCRIPTION = 150
"""Characters of an entry's first line that serve as its description (claude-code.md section 7.4: a
hook has under about 150).
"""


class Left(Struct, frozen=True):
    """Something that was found and is not imported: its path or heading, and why."""

    where: str
    why: str


class Read(Struct, frozen=True, kw_only=True):
    """What a dialect made of some files.

    The path of each topic is one that a memory folder accepts; all are distinct.
    """

    topics: tuple[Topic, ...]
    left: tuple[Left, ...] = ()
    folders: Mapping[str, tuple[str, ...]] = {}
    """Full paths of the folders to which a memory applies, by the memory's path; a missing one
    applies everywhere.
    """


class Lost(Struct, frozen=True):
    """What a dialect cannot hold of one memory. `whole` when nothing of the memory was written."""

    path: str
    what: tuple[str, ...]
    whole: bool = False


class Wrote(Struct, frozen=True, kw_only=True):
    """The dialect's files that hold the memories, and what they do not hold."""

    files: Mapping[str, bytes]
    """By path relative to the target folder, with slashes."""
    lost: tuple[Lost, ...] = ()


class Dialect(Struct, frozen=True, kw_only=True):
    """One layout.

    `write` takes the memories, most valuable first, and the target's existing files, whose foreign
    content is kept.
    """

    name: str
    title: str
    holds: frozenset[str]
    """The subset of `MEMORY_TRAITS` that survives a round trip."""
    looks_at: tuple[str, ...]
    """Files, or folders ending in a slash, that `write` needs to see; an empty text is the whole
    target folder.
    """
    file: str
    """The one file that it writes; empty when there are several."""
    recognise: Callable[[Mapping[str, bytes]], bool]
    read: Callable[[Mapping[str, bytes]], Read]
    write: Callable[[Sequence[Topic], Mapping[str, bytes]], Wrote]


def text_of(data: bytes) -> str:
    """Decode a file: no byte order mark, plain line ends, invalid UTF-8 as lone surrogates."""
    return data.decode("utf-8", "surrogateescape").removeprefix("\ufeff").replace("\r\n", "\n")


def entry(text: str, kind: Kind | None, taken: dict[str, int], *, name: str = "", made: str = "") -> Topic:
    """Create a memory from a text without a file of its own; its path is added to `used_paths`."""
    # The file name is made from the text, and the gate does not check names.
    first = _first(redact(text).text)
    path = free_path(file_name(name or first[:_NAME]), taken)
    provenance = Provenance(created=made, trust=Trust.IMPORTED)
    title = name or path.removesuffix(".md")
    return new_topic(path, kind=kind, name=title, description=first[:_DESCRIPTION], body=text, provenance=provenance)


def listed(lines: Sequence[str], where: str, kind: Kind | None, taken: dict[str, int]) -> tuple[list[Topic], list[Left]]:
    """Create a memory for each distinct list entry, and report the other lines as ignored in
    `source`.
    """
    found, others = bullets(lines)
    topics = [entry(each, kind, taken) for each in dict.fromkeys(found)]
    return topics, [Left(where, f"{len(others)} lines are no list entries")] if others else []


def _first(text: str) -> str:
    """Return the first line without Markdown marks, encodable."""
    line = text.strip().partition("\n")[0].strip("#*- ")
    return " ".join(line.encode("utf-8", "replace").decode().split())


def in_use(paths: Iterable[str]) -> dict[str, int]:
    """Map used paths (folded) to the number that the next path of that name gets."""
    return dict.fromkeys(map(folded, paths), 2)


def free_path(wanted: str, taken: dict[str, int]) -> str:
    """Return the path, numbered where it is in use already, and mark it as used."""
    key = folded(wanted)
    path = wanted
    while folded(path) in taken:
        path = f"{wanted.removesuffix('.md')}-{taken[key]}.md"
        taken[key] += 1
    taken[folded(path)] = 2
    return path


def folded(path: str) -> str:
    """Fold a path for comparison: some file systems ignore case or Unicode form."""
    return unicodedata.normalize("NFKC", path).casefold()


def losses(topic: Topic, holds: frozenset[str]) -> tuple[str, ...]:
    """Find what a memory loses in a dialect with only these traits."""
    front = topic.document.front
    provenance = topic.provenance
    first = _first(topic.body)
    origin = provenance.session or provenance.quote or provenance.trust not in (Trust.UNKNOWN, Trust.IMPORTED)
    there = {
        "kind": topic.kind is not None,
        "name": file_name(topic.name) not in (file_name(first[:_NAME]), topic.path.rsplit("/", 1)[-1]),
        "description": bool(front and front.text("description")) and not first.startswith(topic.description),
        "pinned": topic.pinned,
        "origin": bool(origin),
        "other keys": any(each.key and each.key not in _KNOWN_KEYS for each in front.entries) if front else False,
        "links": _LINK.search(topic.body) is not None,
        "lines": "\n" in topic.body.strip(),
    }
    return tuple(name for name in HELD if there[name] and name not in holds)


def lost(topic: Topic, what: Sequence[str]) -> tuple[Lost, ...]:
    """Build the loss record of one memory; empty when nothing is lost."""
    return (Lost(topic.path, tuple(what)),) if what else ()


def outdated(topics: Sequence[Topic]) -> tuple[list[Topic], tuple[Lost, ...]]:
    """Split memories into active and superseded: most layouts cannot mark one as superseded."""
    active = [topic for topic in topics if topic.provenance.status == "active"]
    gone = [topic for topic in topics if topic.provenance.status != "active"]
    return active, tuple(Lost(topic.path, ("it was superseded, and the layout has no word for that",), whole=True) for topic in gone)
