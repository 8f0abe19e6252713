"""The structure of a request: who sends what kind of text, in which order, without the text. Pure.

It is what is kept of a captured request of another client, and what two ways to assemble a context
are compared by (docs/context-compared.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from memorist.context.recorded import part_of, untagged
from memorist.context.scaffold import identify, pieces_of
from memorist.context.settings import Family
from memorist.core.messages import Block, JsonObject, Message, Origin, Text, Unknown
from memorist.errors import InputError
from memorist.formats.registry import codec, recognise_request

NO_TAG = "no tag"
"""An instruction recognised by its role alone."""
_WHOLE = re.compile(r"\s*<([A-Za-z_][\w.-]{0,80})(?:\s[^<>]*)?>.*</\1>\s*", re.DOTALL)
_WRITTEN = re.compile(r"(\+ )?(\w+): (.+?)(?: \(([^()]*)\))?")
_VAGUE = frozenset({NO_TAG, "system-reminder", "injected"})
"""Tags that do not say what the text is about."""

Facts = Mapping[str, Sequence[str]]
"""What a text is about, by marker words planted on purpose (a file's content, a folder's name).

The first one found counts.
"""


class Item(Struct, frozen=True):
    """One item of a request."""

    role: str
    tag: str
    """A tag of the scaffold table, or what else it is: `prompt`, `reply`, `tool_use` …; `<name>`
    for a tag the table does not know, `[kind]` for an item the format does not know.
    """
    about: str = ""
    """The subject found in it, where the tag alone does not say it."""
    joined: bool = False
    """Whether it shares a message with the item before it."""

    def __str__(self) -> str:
        about = f" ({self.about})" if self.about else ""
        return f"{'+ ' if self.joined else ''}{self.role}: {self.tag}{about}"


class Pair(Struct, frozen=True):
    """A row of a comparison: the same kind of text on both sides, or something only one
    side has.
    """

    theirs: Item | None
    ours: Item | None
    moved: bool = False
    """Whether both sides have it, in different places."""
    same: bool = False
    """Whether both have it in the same place and share a message in the same way with the equal
    item before it.
    """


def item(written: str) -> Item:
    """Parse an item as `str` writes it. Raises InputError for anything else."""
    found = _WRITTEN.fullmatch(written)
    if found is None:
        raise InputError(f"{written!r} is no item of an outline, such as 'user: prompt'")
    return Item(found[2], found[3], found[4] or "", joined=bool(found[1]))


def outline(body: JsonObject, facts: Facts | None = None) -> tuple[Item, ...]:
    """Build the structure of a request body of any wire format.

    Raises FormatError for anything else.
    """
    wire = codec(recognise_request(body))
    prompt = wire.decode_request(body)
    family: Family = "file-native" if wire.name == "anthropic" else "rollout"
    items: list[Item] = []
    begun = family != "rollout"
    for message in (*prompt.system, *prompt.messages):
        tags = [(tag, text) for block in message.blocks for tag, text in _tags(block, message, family, first=not begun)]
        begun = begun or any(text for _, text in tags)
        items += [
            Item(message.role, tag, _about(text, facts or {}) if tag in _VAGUE else "", joined=place > 0)
            for place, (tag, text) in enumerate(tags)
        ]
    return tuple(items)


def _tags(block: Block, message: Message, family: Family, *, first: bool) -> Iterator[tuple[str, str]]:
    if not isinstance(block, Text):
        yield f"[{block.kind}]" if isinstance(block, Unknown) else part_of(block), ""
        return
    if message.role == "assistant":
        kind = identify(block.text, "assistant", family)
        yield kind.tag if kind else "reply", ""
        return
    for kind, text in pieces_of(block.text, message.role, family):
        if kind is not None:
            yield "summary" if kind.origin is Origin.SUMMARY else kind.tag, text
        elif whole := _WHOLE.fullmatch(text):
            yield f"<{whole[1]}>", text
        elif message.role in {"developer", "system"}:
            yield "base_instructions" if first and message.role == "developer" else NO_TAG, text
        else:
            yield untagged(message, block)[0], text


def _about(text: str, facts: Facts) -> str:
    return next((name for name, words in facts.items() if any(word in text for word in words)), "")


def added(before: Sequence[Item], now: Sequence[Item]) -> tuple[Item, ...]:
    """Return what a request adds after all items of the previous one; everything if it does not
    continue it.
    """
    return tuple(now[len(before) :]) if tuple(now[: len(before)]) == tuple(before) else tuple(now)


def compared(theirs: Sequence[Item], ours: Sequence[Item]) -> tuple[Pair, ...]:
    """Align both sides by their longest common subsequence of kinds; what both have in different
    places stays where each has it.
    """
    places = _common([_kind(item) for item in theirs], [_kind(item) for item in ours])
    pairs: list[Pair] = []
    for (mine, yours), (next_mine, next_yours) in pairwise([(-1, -1), *places, (len(theirs), len(ours))]):
        if mine >= 0:
            pairs.append(Pair(theirs[mine], ours[yours]))
        pairs += [Pair(item, None) for item in theirs[mine + 1 : next_mine]]
        pairs += [Pair(None, item) for item in ours[yours + 1 : next_yours]]
    return tuple(_judged(_united(pairs)))


def _judged(pairs: Iterable[Pair]) -> Iterator[Pair]:
    """Yield the pairs, each marked as same or not.

    After an item only one side has, nothing can be shared in the same way.
    """
    before = True
    for pair in pairs:
        both = pair.theirs is not None and pair.ours is not None and not pair.moved
        before = both and (not before or pair.theirs == pair.ours)
        yield replace(pair, same=before)


def _kind(item: Item) -> tuple[str, str, str]:
    return item.role, item.tag, item.about


def _common(left: Sequence[object], right: Sequence[object]) -> list[tuple[int, int]]:
    """Return the index pairs of the longest common subsequence."""
    lengths = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for at in range(len(left) - 1, -1, -1):
        for to in range(len(right) - 1, -1, -1):
            same = left[at] == right[to]
            lengths[at][to] = lengths[at + 1][to + 1] + 1 if same else max(lengths[at + 1][to], lengths[at][to + 1])
    found, at, to = [], 0, 0
    while at < len(left) and to < len(right):
        if left[at] == right[to]:
            found.append((at, to))
            at, to = at + 1, to + 1
        elif lengths[at + 1][to] >= lengths[at][to + 1]:
            at += 1
        else:
            to += 1
    return found


def _united(pairs: Sequence[Pair]) -> Iterator[Pair]:
    """Yield the pairs, with items that both sides have in different places joined into one."""
    alone = [pair.ours for pair in pairs if pair.theirs is None and pair.ours is not None]
    moved: list[Item] = []
    rows: list[Pair] = []
    for pair in pairs:
        other = None
        if pair.ours is None and pair.theirs is not None:
            kind = _kind(pair.theirs)
            other = next((item for item in alone if _kind(item) == kind), None)
        if other is not None:
            alone.remove(other)
            moved.append(other)
            rows.append(Pair(pair.theirs, other, moved=True))
        else:
            rows.append(pair)
    for row in rows:
        if row.theirs is None and row.ours in moved:
            moved.remove(row.ours)
        else:
            yield row
