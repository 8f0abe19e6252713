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

from memorist.context.context_tags import identify_context_tag, split_by_context_tags
from memorist.context.recorded_context import describe_and_render_block, name_untagged_text
from memorist.core.messages import Block, JsonObject, Message, Origin, TextBlock, UnknownBlock
from memorist.errors import InputError
from memorist.formats.codec_registry import find_codec
from memorist.settings import Family

NO_TAG = "no tag"
"""An instruction recognised by its role alone."""
_WHOLE = re.compile(r"\s*<([A-Za-z_][\w.-]{0,80})(?:\s[^<>]*)?>.*</\1>\s*", re.DOTALL)
_WRITTEN = re.compile(r"(\+ )?(\w+): (.+?)(?: \(([^()]*)\))?")
_VAGUE = frozenset({NO_TAG, "system-reminder", "injected"})
"""Tags that do not say what the text is about."""

KnownSubjects = Mapping[str, Sequence[str]]
"""What a text is about, by marker words planted on purpose (a file's content, a folder's name).

The first one found counts.
"""


class OutlineItem(Struct, frozen=True):
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


class OutlinePair(Struct, frozen=True):
    """A row of a comparison: the same kind of text on both sides, or something only one
    side has.
    """

    theirs: OutlineItem | None
    ours: OutlineItem | None
    moved: bool = False
    """Whether both sides have it, in different places."""
    same: bool = False
    """Whether both have it in the same place and share a message in the same way with the equal
    item before it.
    """


def parse_outline_item(written: str) -> OutlineItem:
    """Parse an item as `str` writes it. Raises InputError for anything else."""
    found = _WRITTEN.fullmatch(written)
    if found is None:
        raise InputError(f"{written!r} is no item of an outline, such as 'user: prompt'")
    return OutlineItem(found[2], found[3], found[4] or "", joined=bool(found[1]))


def build_outline(body: JsonObject, facts: KnownSubjects | None = None) -> tuple[OutlineItem, ...]:
    """Build the structure of a request body of any wire format.

    Raises WireFormatError for anything else.
    """
    by_key = {"input": "openai_responses", "max_completion_tokens": "openai_chat"}
    wire = find_codec(next((by_key[key] for key in body if key in by_key), "anthropic"))
    prompt = wire.decode_request(body)
    family: Family = "file-native" if wire.name == "anthropic" else "rollout"
    items: list[OutlineItem] = []
    begun = family != "rollout"
    for message in (*prompt.system, *prompt.messages):
        tags = [
            (tag, text)
            for block in message.blocks
            for tag, text in _block_tags(block, message, family, first=not begun)
        ]
        begun = begun or any(text for _, text in tags)
        items += [
            OutlineItem(
                message.role,
                tag,
                _find_subject(text, facts or {}) if tag in _VAGUE else "",
                joined=place > 0,
            )
            for place, (tag, text) in enumerate(tags)
        ]
    return tuple(items)


def _block_tags(
    block: Block, message: Message, family: Family, *, first: bool
) -> Iterator[tuple[str, str]]:
    if not isinstance(block, TextBlock):
        yield (
            f"[{block.kind}]"
            if isinstance(block, UnknownBlock)
            else describe_and_render_block(block)[0],
            "",
        )
        return
    if message.role == "assistant":
        kind = identify_context_tag(block.text, "assistant", family)
        yield kind.tag if kind else "reply", ""
        return
    for kind, text in split_by_context_tags(block.text, message.role, family):
        if kind is not None:
            yield "summary" if kind.origin is Origin.SUMMARY else kind.tag, text
        elif whole := _WHOLE.fullmatch(text):
            yield f"<{whole[1]}>", text
        elif message.role in {"developer", "system"}:
            yield "base_instructions" if first and message.role == "developer" else NO_TAG, text
        else:
            yield name_untagged_text(message, block)[0], text


def _find_subject(text: str, facts: KnownSubjects) -> str:
    return next((name for name, words in facts.items() if any(word in text for word in words)), "")


def find_added_items(
    before: Sequence[OutlineItem], now: Sequence[OutlineItem]
) -> tuple[OutlineItem, ...]:
    """Return what a request adds after all items of the previous one; everything if it does not
    continue it.
    """
    return tuple(now[len(before) :]) if tuple(now[: len(before)]) == tuple(before) else tuple(now)


def compare_outlines(
    theirs: Sequence[OutlineItem], ours: Sequence[OutlineItem]
) -> tuple[OutlinePair, ...]:
    """Align both sides by their longest common subsequence of kinds; what both have in different
    places stays where each has it.
    """
    places = _longest_common(
        [_item_key(item) for item in theirs], [_item_key(item) for item in ours]
    )
    pairs: list[OutlinePair] = []
    for (mine, yours), (next_mine, next_yours) in pairwise(
        [(-1, -1), *places, (len(theirs), len(ours))]
    ):
        if mine >= 0:
            pairs.append(OutlinePair(theirs[mine], ours[yours]))
        pairs += [OutlinePair(item, None) for item in theirs[mine + 1 : next_mine]]
        pairs += [OutlinePair(None, item) for item in ours[yours + 1 : next_yours]]
    return tuple(_mark_shared(_join_moved(pairs)))


def _mark_shared(pairs: Iterable[OutlinePair]) -> Iterator[OutlinePair]:
    """Yield the pairs, each marked as same or not.

    After an item only one side has, nothing can be shared in the same way.
    """
    before = True
    for pair in pairs:
        both = pair.theirs is not None and pair.ours is not None and not pair.moved
        before = both and (not before or pair.theirs == pair.ours)
        yield replace(pair, same=before)


def _item_key(item: OutlineItem) -> tuple[str, str, str]:
    return item.role, item.tag, item.about


def _longest_common(left: Sequence[object], right: Sequence[object]) -> list[tuple[int, int]]:
    """Return the index pairs of the longest common subsequence."""
    lengths = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for at in range(len(left) - 1, -1, -1):
        for to in range(len(right) - 1, -1, -1):
            same = left[at] == right[to]
            lengths[at][to] = (
                lengths[at + 1][to + 1] + 1
                if same
                else max(lengths[at + 1][to], lengths[at][to + 1])
            )
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


def _join_moved(pairs: Sequence[OutlinePair]) -> Iterator[OutlinePair]:
    """Yield the pairs, with items that both sides have in different places joined into one."""
    alone = [pair.ours for pair in pairs if pair.theirs is None and pair.ours is not None]
    moved: list[OutlineItem] = []
    rows: list[OutlinePair] = []
    for pair in pairs:
        other = None
        if pair.ours is None and pair.theirs is not None:
            kind = _item_key(pair.theirs)
            other = next((item for item in alone if _item_key(item) == kind), None)
        if other is not None:
            alone.remove(other)
            moved.append(other)
            rows.append(OutlinePair(pair.theirs, other, moved=True))
        else:
            rows.append(pair)
    for row in rows:
        if row.theirs is None and row.ours in moved:
            moved.remove(row.ours)
        else:
            yield row
