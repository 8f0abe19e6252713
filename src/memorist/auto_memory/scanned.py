"""State of a memory folder's last scan and its differences, so that a second scan costs only what
changed.

Pure.
"""

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
"""Version of the rules by which files are judged; a scan made under another version is discarded.
"""


class Seen(Struct, frozen=True):
    """One file as the last scan saw it."""

    size: int
    modified_ns: int
    blob: str
    """The history's blob id of its bytes; empty for a file that is too large."""
    head: Head | None = None
    """None for the index, and for a file whose name cannot stand in a list."""
    foreign: bool = False
    """Another program made the file and nothing that passed the gate has changed it since: its
    claim of origin is not believed.
    """

    @property
    def judged(self) -> bool:
        """Whether its content was judged, so that it need not be judged again."""
        return self.head is not None and self.blob != ""


NOTHING = Seen(0, 0, "")
"""The scan entry of a file that does not exist."""


class Scan(Struct, frozen=True):
    """All files of the folder, and the settings that decided how much of each was read."""

    lines: int = 0
    rules: int = RULES
    files: dict[str, Seen] = {}
    whole: bool = True
    """Whether all files were scanned; False after an incremental scan that stopped early."""


def seen(path: str, facts: FileFacts, data: bytes, *, blob: str, lines: int, foreign: bool = False) -> Seen:
    """Build a file's scan entry from its facts and bytes (its first bytes where it is too large).
    """
    if not is_memory(path) or unreadable_name(path):
        return Seen(facts.size, facts.modified_ns, blob)
    modified = facts.modified_ns / 1e9
    topic = parse(path, data)
    if len(data) <= HEAD_BYTES and data.count(b"\n") < lines and b"\r" not in data:
        head = head_from(topic, modified=modified, size=facts.size)  # the whole file was read
    else:
        head = head_of(path, data[:HEAD_BYTES], lines=lines, modified=modified, size=facts.size)
    if foreign:
        head = replace(head, trust=Trust.UNKNOWN)
    found = doubts(topic, Trust.UNKNOWN if foreign else None)
    if found:
        head = replace(head, doubts=found, seal=seal(topic))
    return Seen(facts.size, facts.modified_ns, blob, head, foreign)


def seen_again(before: Seen, facts: FileFacts) -> Seen:
    """Update the entry of a file whose bytes were judged before: copies and touched files cost
    nothing more.
    """
    head = before.head and replace(before.head, modified=facts.modified_ns / 1e9, size=facts.size)
    return replace(before, size=facts.size, modified_ns=facts.modified_ns, head=head)


def lifts(before: Seen, after: Seen) -> bool:
    """Whether a file newly claims to be the user's word; only what passes the gate may do so."""
    return before.head is not None and after.head is not None and before.head.trust not in BY_PERSON and after.head.trust in BY_PERSON


def ours(known: Scan, *passed: str) -> frozenset[str]:
    """Return the paths whose claim of origin is believed when they change.

    These are the paths of the last scan that are not foreign, and those that passed the gate.
    """
    return frozenset(passed) | {path for path, each in known.files.items() if not each.foreign}


class Difference(Struct, frozen=True):
    """Paths whose facts differ from the last scan, and paths that are gone."""

    changed: tuple[str, ...]
    gone: tuple[str, ...]

    def __bool__(self) -> bool:
        """Whether anything differs."""
        return bool(self.changed or self.gone)


def difference(known: Mapping[str, Seen], present: Sequence[tuple[str, FileFacts]]) -> Difference:
    """Determine which files must be read again.

    Links are not memories: their targets are not the folder's.
    """
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
