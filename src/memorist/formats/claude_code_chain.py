"""Finding the live conversation in a Claude Code session file, and its order (claude-code.md
sections 6.9, 12.7 and 12.14).

A file is a tree: rewinds leave dead branches, parallel tool calls fork it, a compaction starts a
new root. The live conversation is the path from the newest leaf to the first root, continued across
compactions through the records before them, with the results of parallel calls put back in.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from itertools import pairwise

from msgspec import Struct

from memorist.formats.claude_code_index import ASSISTANT, BOUNDARY, BRIDGED, META, MISSING, RESULT, ROOT, SIDE, USER, Index

_SPOKEN = USER | ASSISTANT
_TIP_SEARCH = 256
"""Records at the end of the file that are searched for one that belongs after the leaf."""


class Chain(Struct, frozen=True):
    """The live conversation: record numbers, oldest first."""

    order: array[int]
    recovered: frozenset[int]
    """Records that were off the path and were put back in."""
    kept: dict[int, int]
    """For a boundary with a preserved segment: the number of messages before it that were kept."""


class _Tree:
    """Navigation towards the root over one index."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.barred = SIDE | BRIDGED
        spoken = [flags for flags in index.flags if flags & _SPOKEN]
        if spoken and all(flags & SIDE for flags in spoken):
            self.barred = BRIDGED  # the file of a subagent: its side chain is what there is
        self._before: array[int] | None = None
        self.tails: dict[int, tuple[int, int]] = {}
        """For the tail of a preserved segment: its boundary, and the record to continue from."""
        self.kept: dict[int, int] = {}
        for boundary, segment in index.segments:
            self._add_segment(boundary, *(index.number(uuid) for uuid in (segment.head_uuid, segment.anchor_uuid, segment.tail_uuid)))

    def up(self, number: int) -> int:
        """The parent; the nearest earlier message when the parent is missing or on a side chain;
        ROOT at the top.
        """
        parent = self.index.parent[number]
        if parent == ROOT:
            return ROOT
        return parent if parent >= 0 and not self.index.flags[parent] & self.barred else self.before(number)

    def before(self, number: int) -> int:
        """The nearest message or boundary of the main line that comes before a record in the file,
        or ROOT.
        """
        if self._before is None:
            self._before = array("i")
            latest = ROOT
            for here, flags in enumerate(self.index.flags):
                self._before.append(latest)
                if flags & (_SPOKEN | BOUNDARY) and not flags & self.barred:
                    latest = here
        return self._before[number]

    def spoken(self, number: int, *, meta: bool) -> bool:
        """Whether the record is a message of the main line; with `meta` also one that the user did
        not type.
        """
        flags = self.index.flags[number]
        return bool(flags & _SPOKEN) and not flags & (self.barred | (0 if meta else META))

    def across(self, boundary: int) -> int:
        """The record before a compaction: its logical parent, otherwise the tail it kept, otherwise
        the nearest earlier message.
        """
        found = self.index.found.get(self.index.logical.get(boundary, 0), MISSING)
        if found < 0 or found == boundary or self.index.flags[found] & SIDE & self.barred:
            found = next((tail for tail, (owner, _) in self.tails.items() if owner == boundary), MISSING)
        if found >= 0 and self.index.flags[found] & BRIDGED:
            return self.up(found)
        return found if found >= 0 else self.before(boundary)

    def _add_segment(self, boundary: int, head: int, anchor: int, tail: int) -> None:
        """Register a preserved segment if its tail leads to its head; a broken one is ignored."""
        if head < 0 or tail < 0:
            return
        number, kept = tail, 0
        for _ in range(self.index.records):
            kept += self.spoken(number, meta=True)
            if number == head:
                self.kept[boundary] = kept
                self.tails[tail] = (boundary, anchor if anchor >= 0 else boundary)
                return
            number = self.index.parent[number]
            if number < 0:
                return


def live_chain(index: Index) -> Chain:
    """Find the live conversation of a file; empty when the file holds no message."""
    tree = _Tree(index)
    leaf = _newest_leaf(tree)
    if leaf < 0:
        return Chain(array("I"), frozenset(), {})
    order, seen = _walk(tree, _tip(tree, leaf))
    lost = _lost_parts(tree, order, seen)
    recovered = frozenset(number for group in lost.values() for number in group)
    if lost:
        order = _put_back(index, order, lost)
    return Chain(order, recovered, tree.kept)


def _newest_leaf(tree: _Tree) -> int:
    """The last message; in a file out of order, the newest message without a message below it."""
    for meta in (False, True):
        last = next((number for number in reversed(range(tree.index.records)) if tree.spoken(number, meta=meta)), ROOT)
        if last < 0 or not tree.index.shuffled:
            if last >= 0:
                return last
            continue
        return _newest_of_shuffled(tree, meta=meta)
    return ROOT


def _newest_of_shuffled(tree: _Tree, *, meta: bool) -> int:
    """The newest message by time that has none below it.

    A message that no leaf leads to is part of a cycle: it counts as well.
    """
    times = tree.index.times
    above = array("i", (_next_spoken(tree, number, meta=meta) for number in range(tree.index.records)))
    messages = [number for number in range(tree.index.records) if tree.spoken(number, meta=meta)]
    below = {above[number] for number in messages}
    leaves = [number for number in messages if number not in below]
    reached: set[int] = set()
    for leaf in leaves:
        number = leaf
        while number >= 0 and number not in reached:
            reached.add(number)
            number = above[number]
    return max((number for number in messages if number not in below or number not in reached), key=lambda number: (times[number], number))


def _next_spoken(tree: _Tree, number: int, *, meta: bool) -> int:
    """The nearest message above a record, or ROOT."""
    above = tree.index.parent[number]
    for _ in range(tree.index.records):
        if above < 0 or tree.spoken(above, meta=meta):
            return above
        above = tree.index.parent[above]
    return ROOT


def _tip(tree: _Tree, leaf: int) -> int:
    """The last record below the leaf without a typed message between them (hook output, a queued
    prompt); otherwise the leaf.
    """
    last = tree.index.records - 1
    for number in range(last, max(last - _TIP_SEARCH, -1 if tree.index.shuffled else leaf), -1):
        if number != leaf and not tree.index.flags[number] & tree.barred and _next_spoken(tree, number, meta=False) == leaf:
            return number
    return leaf


def _walk(tree: _Tree, tip: int) -> tuple[array[int], bytearray]:
    """The path from the tip to the root, in forward order, and a flag for each record on it. A
    cycle ends the walk; the records found so far are kept.
    """
    flags = tree.index.flags
    seen = bytearray(tree.index.records)
    order = array("I")
    number = tip
    while number >= 0 and not seen[number]:
        seen[number] = 1
        order.append(number)
        parent = tree.up(number)
        if parent in tree.tails and not seen[tree.tails[parent][0]]:
            boundary, anchor = tree.tails[parent]
            number = boundary if seen[anchor] else anchor
        elif flags[number] & BOUNDARY and parent == ROOT:
            number = tree.across(number)
        else:
            number = parent
    order.reverse()
    return order, seen


def _lost_parts(tree: _Tree, order: array[int], seen: bytearray) -> dict[int, list[int]]:
    """Records of replies on the path, and results of their calls, that are not on the path
    themselves; by the reply's hash.
    """
    index = tree.index
    live = {index.reply[number] for number in order if index.reply[number]}
    lost: dict[int, list[int]] = {}
    home: dict[int, int] = {}
    every = [*range(index.records)] * 2 if index.shuffled else range(index.records)  # out of order: a result may come before its call
    for number in every:
        if seen[number] or number in home or index.flags[number] & tree.barred:
            continue
        if index.reply[number] in live:
            reply = index.reply[number]
            above = tree.up(number)
            if above < 0 or not (seen[above] or above in home):
                continue  # the reply's id, but in a dead branch
        elif index.flags[number] & RESULT and (parent := index.parent[number]) >= 0:
            reply = index.reply[parent] or home.get(parent, 0)
            if reply not in live:
                continue
        else:
            continue
        home[number] = reply
        lost.setdefault(reply, []).append(number)
    return lost


def _put_back(index: Index, order: array[int], lost: dict[int, list[int]]) -> array[int]:
    """The path with the detached records inserted into their reply's round: its own records and the
    results that follow, in the order of the file.
    """
    whole = array("I")
    at = 0
    while at < len(order):
        reply = index.reply[order[at]]
        if reply not in lost:
            whole.append(order[at])
            at += 1
            continue
        end = _end_of_round(index, order, at)
        own = order[at:end]
        ordered = not index.shuffled and all(earlier < later for earlier, later in pairwise(own))
        found = lost.pop(reply)
        whole.extend(sorted([*own, *found]) if ordered else _after_reply(index, own, found))
        at = end
    return whole


def _end_of_round(index: Index, order: array[int], start: int) -> int:
    """Where the records of a reply and the results of its calls end."""
    reply = index.reply[order[start]]
    end = start + 1
    for at in range(start + 1, len(order)):
        flags = index.flags[order[at]]
        if (flags & ASSISTANT and index.reply[order[at]] == reply) or flags & RESULT:
            end = at + 1
        elif flags & (_SPOKEN | BOUNDARY):
            break
    return end


def _after_reply(index: Index, own: Iterable[int], found: list[int]) -> list[int]:
    """Records of the reply first, then results, when the file's order says nothing."""
    every = [*own, *found]
    return [number for number in every if index.flags[number] & ASSISTANT] + [
        number for number in every if not index.flags[number] & ASSISTANT
    ]
