"""What a scan of a memory folder saw, and what has changed since: a second scan costs in what changed. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.kinds import Trust
from memorist.auto_memory.manifest import HEAD_BYTES, Head, head_of, is_memory, one_line, unreadable_name
from memorist.auto_memory.shown import BY_PERSON, doubts, seal
from memorist.auto_memory.topic import parse
from memorist.ports import FileFacts

RULES = 1
"""Counts the changes of the rules by which files are judged; a scan made by others is made anew."""


class Seen(Struct, frozen=True):
    """One file as the last scan saw it."""

    size: int
    modified_ns: int
    blob: str
    """The history's name for its bytes; empty for a file that is too large."""
    head: Head | None = None
    """None for the index, and for a file whose name cannot stand in a list."""
    foreign: bool = False
    """Somebody else made the file, and nothing that passed the gate has changed it since: what it claims of its origin is not believed."""


NOTHING = Seen(0, 0, "")
"""What a scan saw of a file that is not there."""


class Scan(Struct, frozen=True):
    """All files of the folder, and the settings that decided how much of each was read."""

    lines: int = 0
    rules: int = RULES
    files: dict[str, Seen] = {}


def seen(path: str, facts: FileFacts, data: bytes, *, blob: str, lines: int, foreign: bool = False) -> Seen:
    """What a scan keeps of a file, from its facts and its bytes (its first ones, where it is too large to be read)."""
    if not is_memory(path) or unreadable_name(path):
        return Seen(facts.size, facts.modified_ns, blob)
    head = head_of(path, data[:HEAD_BYTES], lines=lines, modified=facts.modified_ns / 1e9, size=facts.size)
    if foreign:
        head = replace(head, trust=Trust.UNKNOWN)
    topic = parse(path, data)
    found = doubts(topic, Trust.UNKNOWN if foreign else None)
    if found:
        head = replace(head, doubts=found, seal=seal(topic))
    return Seen(facts.size, facts.modified_ns, blob, head, foreign)


def lifts(before: Seen, after: Seen) -> bool:
    """Whether a file claims to be the person's word now that it did not before: only what passes the gate may say so."""
    return before.head is not None and after.head is not None and before.head.trust not in BY_PERSON and after.head.trust in BY_PERSON


def ours(known: Scan, *passed: str) -> frozenset[str]:
    """Paths whose claim of origin is believed when they change: those of the last scan that are not foreign, and those that passed the gate."""
    return frozenset(passed) | {path for path, each in known.files.items() if not each.foreign}


class Difference(Struct, frozen=True):
    """Paths whose facts are not what the last scan saw, and those that are gone."""

    changed: tuple[str, ...]
    gone: tuple[str, ...]

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self.changed or self.gone)


def difference(known: Mapping[str, Seen], present: Sequence[tuple[str, FileFacts]]) -> Difference:
    """What is to be read again. Links are no memories: where they lead is not ours."""
    names = set()
    changed = []
    for path, facts in present:
        if not path.endswith(".md") or not facts.is_file or not one_line(path):
            continue
        names.add(path)
        seen = known.get(path)
        if seen is None or seen.size != facts.size or seen.modified_ns != facts.modified_ns:
            changed.append(path)
    return Difference(tuple(changed), tuple(sorted(known.keys() - names)))
