"""Scan a session for stage one: what it proves, how it is split, and the evidence of each part.

Pure; the lines come from outside. The file is read once for the structural result, and once more if
a model reads it in parts. Memory does not grow with the file.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from memorist.context.rollback import taken_back
from memorist.core.messages import Message
from memorist.formats.recognise import read
from memorist.formats.recorded import Entry, Head, Lines, Mend, RolledBack
from memorist.rollouts.deeds import Gathering
from memorist.rollouts.evidence import Rows, Tier, parts, row_bytes
from memorist.rollouts.rows import RowMaker


class Gone(Struct, frozen=True):
    """The result of one pass: the task log, and the bytes of dialogue in each user turn."""

    deeds: Gathering
    weights: list[int]


def gather(lines: Lines) -> Gone:
    """Scan a session. Raises UnreadableSession."""
    deeds, maker = Gathering(), RowMaker()
    weights = [0]
    for entry in live(lines):
        deeds.add(entry)
        for row in maker.add(entry):
            if row.tier is Tier.USER and maker.turns > len(weights) - 1:
                weights.append(0)
            if row.tier <= Tier.COMMENTARY:
                weights[-1] += row_bytes(row)
    return Gone(deeds, weights)


def evidence(lines: Lines, weights: list[int], size: int) -> list[Rows]:
    """Collect the rows of each part, where `size` is the bytes one part may show.

    Raises UnreadableSession.
    """
    ends, after = [], 0
    for turns in parts(weights, size):
        after += turns
        ends.append(after)
    found = [Rows(size) for _ in ends]
    maker, at = RowMaker(), 0
    for entry in live(lines):
        for row in maker.add(entry):
            # The turns before the first message of the user count as one.
            while at < len(ends) - 1 and row.tier is Tier.USER and maker.turns >= ends[at]:
                at += 1
            found[at].add(row)
    for row in maker.end():
        found[-1].add(row)
    return found


def live(lines: Lines) -> Iterator[Entry]:
    """Yield the entries of a session without rolled-back turns (CX-7). Raises UnreadableSession."""
    entries = read(lines)
    head = next(entries, None)
    if head is not None:
        yield head
    if not (isinstance(head, Head) and head.format == "memorist"):
        yield from entries  # the reader of any other format left them out
        return
    stretches = iter(taken_back(read(lines)) if _has_markers(lines) else ())
    first, after = next(stretches, (-1, -1))
    number = 1
    for place, entry in enumerate(entries, 1):
        number += not isinstance(entry, Mend)
        while 0 <= after <= place:
            first, after = next(stretches, (-1, -1))
        if not first <= place < after:
            # Its messages may tell the line of another file, which they were first read from.
            yield replace(entry, line=number) if isinstance(entry, Message) else entry


def _has_markers(lines: Lines) -> bool:
    return any(isinstance(entry, RolledBack) for entry in read(lines))
