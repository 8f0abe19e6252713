"""What every dialect gives and takes: what was read, what was written, and what could not go along. Pure."""

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
"""What a memory has beside its words, in the order in which a loss is told."""
_LINK = re.compile(r"\[\[[^\[\]\n]+\]\]")
_KNOWN_KEYS = frozenset({"name", "description", "type", "metadata", "pinned", OWN_KEY})
_NAME = 60
"""Characters of an entry's start that name it where the dialect has no names."""
_DESCRIPTION = 150
"""Characters of an entry's first line that describe it (claude-code.md section 7.4: a hook has under about 150)."""


class Left(Struct, frozen=True):
    """Something that was found and is no memory: its path or heading, and why."""

    where: str
    why: str


class Read(Struct, frozen=True, kw_only=True):
    """What a dialect made of some files. The path of each topic is one that a memory folder takes; no two are the same."""

    topics: tuple[Topic, ...]
    left: tuple[Left, ...] = ()
    folders: Mapping[str, tuple[str, ...]] = {}
    """The folders for which a memory holds, as full paths, by path of the memory; one that is missing holds everywhere."""


class Lost(Struct, frozen=True):
    """What a dialect cannot hold of one memory. `whole` when nothing of the memory was written."""

    path: str
    what: tuple[str, ...]
    whole: bool = False


class Wrote(Struct, frozen=True, kw_only=True):
    """The files of a dialect that hold the memories, and what they do not hold."""

    files: Mapping[str, bytes]
    """By path relative to the target folder, with slashes."""
    lost: tuple[Lost, ...] = ()


class Dialect(Struct, frozen=True, kw_only=True):
    """One layout. `write` takes the memories, the most valuable first, and the files that stand in the target: what is there and ours to keep stays."""

    name: str
    title: str
    holds: frozenset[str]
    """Of `HELD`: what comes back equal when it is read again."""
    looks_at: tuple[str, ...]
    """Files, or folders ending in a slash, that `write` wants to see; an empty text is the whole target folder."""
    file: str
    """The one file that it writes; empty when there are several."""
    recognise: Callable[[Mapping[str, bytes]], bool]
    read: Callable[[Mapping[str, bytes]], Read]
    write: Callable[[Sequence[Topic], Mapping[str, bytes]], Wrote]


def text_of(data: bytes) -> str:
    """A file's text without byte order mark, with plain line ends; bytes that are no UTF-8 are kept as lone surrogates."""
    return data.decode("utf-8", "surrogateescape").removeprefix("\ufeff").replace("\r\n", "\n")


def entry(text: str, kind: Kind | None, taken: dict[str, int], *, name: str = "", made: str = "") -> Topic:
    """A memory for a text that has no file of its own; `taken` holds the paths `in_use` and takes the new one."""
    # A file's name is taken from the text, and no gate looks at names.
    first = _first(redact(text).text)
    path = free_path(file_name(name or first[:_NAME]), taken)
    provenance = Provenance(created=made, trust=Trust.IMPORTED)
    title = name or path.removesuffix(".md")
    return new_topic(path, kind=kind, name=title, description=first[:_DESCRIPTION], body=text, provenance=provenance)


def listed(lines: Sequence[str], where: str, kind: Kind | None, taken: dict[str, int]) -> tuple[list[Topic], list[Left]]:
    """A memory for each list entry among some lines, equal ones once; and a word on the other lines, said of `where`."""
    found, others = bullets(lines)
    topics = [entry(each, kind, taken) for each in dict.fromkeys(found)]
    return topics, [Left(where, f"{len(others)} lines are no list entries")] if others else []


def _first(text: str) -> str:
    """The first line as a header may hold it: without marks, bytes that were no UTF-8 as question marks."""
    line = text.strip().partition("\n")[0].strip("#*- ")
    return " ".join(line.encode("utf-8", "replace").decode().split())


def in_use(paths: Iterable[str]) -> dict[str, int]:
    """Paths in use, each with the number that the next of its name gets."""
    return dict.fromkeys(map(folded, paths), 2)


def free_path(wanted: str, taken: dict[str, int]) -> str:
    """The path, with a number where it is in use already; it is then in use."""
    key = folded(wanted)
    path = wanted
    while folded(path) in taken:
        path = f"{wanted.removesuffix('.md')}-{taken[key]}.md"
        taken[key] += 1
    taken[folded(path)] = 2
    return path


def folded(path: str) -> str:
    """A path as it is compared: file systems that ignore case or Unicode form take two of the same for one."""
    return unicodedata.normalize("NFKC", path).casefold()


def losses(topic: Topic, holds: frozenset[str]) -> tuple[str, ...]:
    """What of a memory goes lost in a dialect that holds only so much beside its words."""
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
    """The loss of one memory; empty when there is none."""
    return (Lost(topic.path, tuple(what)),) if what else ()


def outdated(topics: Sequence[Topic]) -> tuple[list[Topic], tuple[Lost, ...]]:
    """The memories that hold, and those that were superseded: a layout without a place for that would show both as true."""
    active = [topic for topic in topics if topic.provenance.status == "active"]
    gone = [topic for topic in topics if topic.provenance.status != "active"]
    return active, tuple(Lost(topic.path, ("it was superseded, and the layout has no word for that",), whole=True) for topic in gone)
