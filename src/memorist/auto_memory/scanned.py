"""What a scan of a memory folder saw, and what has changed since: a second scan costs in what changed. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.kinds import Trust
from memorist.auto_memory.manifest import HEAD_BYTES, Head, head_from, head_of, is_memory, one_line, unreadable_name
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

    @property
    def judged(self) -> bool:
        """Whether it tells what its text says, so that it need not be judged again."""
        return self.head is not None and self.blob != ""


NOTHING = Seen(0, 0, "")
"""What a scan saw of a file that is not there."""


class Scan(Struct, frozen=True):
    """All files of the folder, and the settings that decided how much of each was read."""

    lines: int = 0
    rules: int = RULES
    files: dict[str, Seen] = {}
    whole: bool = True
    """Whether it saw all files; false where it was made in steps, and stopped before the last."""


def seen(path: str, facts: FileFacts, data: bytes, *, blob: str, lines: int, foreign: bool = False) -> Seen:
    """What a scan keeps of a file, from its facts and its bytes (its first ones, where it is too large to be read)."""
    if not is_memory(path) or unreadable_name(path):
        return Seen(facts.size, facts.modified_ns, blob)
    modified = facts.modified_ns / 1e9
    topic = parse(path, data)
    if len(data) <= HEAD_BYTES and data.count(b"\n") < lines and b"\r" not in data:
        head = head_from(topic, modified=modified, size=facts.size)  # the head is all of it
    else:
        head = head_of(path, data[:HEAD_BYTES], lines=lines, modified=modified, size=facts.size)
    if foreign:
        head = replace(head, trust=Trust.UNKNOWN)
    found = doubts(topic, Trust.UNKNOWN if foreign else None)
    if found:
        head = replace(head, doubts=found, seal=seal(topic))
    return Seen(facts.size, facts.modified_ns, blob, head, foreign)


def seen_again(before: Seen, facts: FileFacts) -> Seen:
    """What a scan keeps of a file whose bytes were judged before: a copy, or one that was only touched, costs nothing more."""
    head = before.head and replace(before.head, modified=facts.modified_ns / 1e9, size=facts.size)
    return replace(before, size=facts.size, modified_ns=facts.modified_ns, head=head)


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
