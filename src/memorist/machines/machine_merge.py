"""What one machine knows of its memories, and how another takes it over. Pure.

An entry carries the checksums of the texts that it replaced, so that of two texts each machine can
tell which is the later one, or that both were changed; a deletion is an entry without a text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from memorist.team.memory_merge import merge_memory_texts

MAX_FORMER_CHECKSUMS = 50
"""Former texts of a memory that are known by their checksums. Our choice."""


class VersionedMemory(Struct, frozen=True):
    """One memory: its text (None: deleted), how often it was changed anywhere, and the checksums of
    its former texts.
    """

    text: str | None
    changes: int = 1
    former: tuple[str, ...] = ()


ProjectEntries = dict[str, VersionedMemory]
"""Path below the memory folder to what is known of it."""


class MachineSnapshot(Struct, frozen=True, kw_only=True):
    """One machine's memories by project, which is named by its remotes."""

    machine: str
    projects: dict[str, ProjectEntries] = {}


def compute_memory_checksum(text: str | None) -> str:
    """The first 128 bits of SHA-256 in hexadecimal digits; empty for no text."""
    return "" if text is None else hashlib.sha256(text.encode()).hexdigest()[:32]


def update_own_published_entries(
    last: Mapping[str, VersionedMemory], now: Mapping[str, str]
) -> ProjectEntries:
    """The entries of this machine, from those it last published and the texts that it has now."""
    found = dict(last)
    for path in {*last, *now}:
        old, text = last.get(path), now.get(path)
        if old is None:
            found[path] = VersionedMemory(text)
        elif old.text != text:
            found[path] = _succeed(text, old)
    return found


def _succeed(text: str | None, *replaced: VersionedMemory) -> VersionedMemory:
    """An entry that stands for all that were replaced."""
    former = [each for entry in replaced for each in entry.former]
    former += [compute_memory_checksum(entry.text) for entry in replaced]
    kept = [each for each in dict.fromkeys(former) if each != compute_memory_checksum(text)]
    return VersionedMemory(
        text, max(each.changes for each in replaced) + 1, tuple(kept[-MAX_FORMER_CHECKSUMS:])
    )


def _join_histories(own: VersionedMemory, other: VersionedMemory) -> VersionedMemory:
    """One entry for the same text on two machines: what either of them knows it to have replaced,
    or an older text of a third one would count as a change of its own.
    """
    first, second = sorted((own, other), key=lambda each: (each.changes, each.former))
    former = tuple(dict.fromkeys((*first.former, *second.former)))[-MAX_FORMER_CHECKSUMS:]
    return VersionedMemory(own.text, second.changes, former)


def _follows(later: VersionedMemory, earlier: VersionedMemory) -> bool:
    """Whether an entry replaced the other one; where each was once the other's, by the count."""
    if compute_memory_checksum(earlier.text) not in later.former:
        return False
    back = compute_memory_checksum(later.text) in earlier.former
    return not back or later.changes > earlier.changes


def merge_machine_memories_without_loss(
    published: Mapping[str, VersionedMemory],
    here: Mapping[str, str],
    others: Sequence[Mapping[str, VersionedMemory]],
) -> ProjectEntries:
    """The entries of this machine after it has taken in the others'; `published` are its own of the
    last time, `here` are its texts.

    Of two changes in different sections both are kept. Otherwise all machines choose the same text
    and keep the other one beside it: nothing is lost.
    """
    theirs: ProjectEntries = {}
    for other in others:
        theirs = _merge(theirs, other, {}, ())
    mine = update_own_published_entries(published, here)
    return _merge(mine, theirs, published, {path for path in mine if path not in published})


def _merge(
    mine: Mapping[str, VersionedMemory],
    theirs: Mapping[str, VersionedMemory],
    published: Mapping[str, VersionedMemory],
    new: Collection[str],
) -> ProjectEntries:
    """What is `new` here is no old text that came back, though another machine had it once."""
    found = dict(mine)
    for path, other in theirs.items():
        own = found.get(path)
        if own is None or (path not in new and _follows(other, own)):
            found[path] = other
        elif own.text == other.text:
            found[path] = _join_histories(own, other)
        elif not _follows(own, other):
            found |= _resolve(path, own, other, published.get(path))
    return found


def _resolve(
    path: str, own: VersionedMemory, other: VersionedMemory, base: VersionedMemory | None
) -> ProjectEntries:
    """Both were changed. A change wins over a deletion."""
    if own.text is None or other.text is None:
        return {path: _succeed(own.text if other.text is None else other.text, own, other)}
    common = base is not None and compute_memory_checksum(base.text) in other.former
    merged = merge_memory_texts(
        base.text if base is not None and common else None, own.text, other.text
    )
    if merged is not None:
        return {path: _succeed(merged, own, other)}
    first, second = sorted((own.text, other.text), key=compute_memory_checksum)
    second_path = f"{path.removesuffix('.md')}-{compute_memory_checksum(second)[:6]}.md"
    return {path: _succeed(first, own, other), second_path: VersionedMemory(second)}
