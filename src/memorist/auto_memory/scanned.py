"""What a scan of a memory folder saw, and what has changed since: a second scan costs in what changed. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence

from msgspec import Struct

from memorist.auto_memory.manifest import Head, head_of, is_memory
from memorist.ports import FileFacts

MAX_FILE = 1_000_000
"""Bytes of the largest file that is taken into the history and searched; a memory has a few hundred. Larger ones are listed and reported."""


class Seen(Struct, frozen=True):
    """One file as the last scan saw it."""

    size: int
    modified_ns: int
    blob: str
    """The history's name for its bytes; empty for a file that is too large."""
    head: Head | None = None
    """None for the index."""


class Scan(Struct, frozen=True):
    """All files of the folder, and the settings that decided how much of each was read."""

    lines: int = 0
    files: dict[str, Seen] = {}


def seen(path: str, facts: FileFacts, start: bytes, *, blob: str, lines: int) -> Seen:
    """What a scan keeps of a file, from its facts and its first bytes."""
    modified = facts.modified_ns / 1e9
    head = head_of(path, start, lines=lines, modified=modified, size=facts.size) if is_memory(path) else None
    return Seen(facts.size, facts.modified_ns, blob, head)


class Difference(Struct, frozen=True):
    """Paths whose facts are not what the last scan saw, and those that are gone."""

    changed: tuple[str, ...]
    gone: tuple[str, ...]

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self.changed or self.gone)


_BREAKS = ("Cc", "Cs", "Zl", "Zp")
"""Unicode categories of what ends a line, steers a terminal, or stands for bytes that are no UTF-8."""


def one_line(path: str) -> bool:
    """Whether a name can stand in a line of text: in the index, a prompt, JSON. A file with another one is reported by `memory check`, and not read."""
    return (path.isascii() and path.isprintable()) or not any(unicodedata.category(letter) in _BREAKS for letter in path)


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
