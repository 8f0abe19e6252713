"""What a conversation shows, and what of it the assistant uses later: the two measures of `carryover`. Pure.

- A *fact* is a path, URL, identifier, hash or long number: a web address; a run of name signs with a stroke, dot, underscore or `::` inside; a
  name with a capital inside; letters and digits together; a number of five digits and more. A fact is kept where its text stands, whatever
  stands around it.
- A *span* is ten words or signs in a row within one block (`WORD`). White space does not count, so that code counts as the same however it is
  indented or wrapped in a listing; line numbers in front of a line, as readers of files print them, do not count either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from memorist.core.messages import Block, JsonObject, Message, Origin, Text, Thinking, ToolResult, ToolUse

SPAN = 10
"""Words or signs in a row that count as verbatim."""

WORD = re.compile(r"\w+|[^\w\s]")
_FACT = re.compile(
    r"https?://[^\s\"'`<>()\[\]{},;]+"
    r"|[~.]{0,2}/?[A-Za-z0-9_@$-]+(?:(?:/|\.|::|->)[A-Za-z0-9_@$-]+)+"
    r"|[A-Za-z_$][A-Za-z0-9_$]*|\d[0-9A-Za-z_-]*"
)
_SHAPED = re.compile(r"[a-z][A-Z]|[A-Z]{2,}[a-z]|\w_\w|[A-Za-z].*\d|\d.*[A-Za-z]|^\d{5,}$|[\w)]/\w|::|->|\w\.[A-Za-z_]\w")
_LINE_NUMBER = re.compile(r"^ *\d+(?:→|\t|:)", re.MULTILINE)
_SHORTEST = 4

Span = tuple[str, ...]


class Used(Struct, frozen=True):
    """What the assistant took from the earlier conversation with nobody showing it again."""

    facts: frozenset[str]
    spans: frozenset[Span]


def facts(text: str) -> set[str]:
    """The facts of a text."""
    found = (each.strip(".-/:") for each in _FACT.findall(text))
    return {each for each in found if len(each) >= _SHORTEST and _SHAPED.search(each)}


def spans(texts: Iterable[str]) -> set[Span]:
    """The spans of some texts, none across two of them."""
    found: set[Span] = set()
    for text in texts:
        words = WORD.findall(_LINE_NUMBER.sub("", text))
        found.update(zip(*(words[start:] for start in range(SPAN)), strict=False))
    return found


def values(given: JsonObject) -> Iterator[str]:
    """The texts in a tool's input."""
    stack: list[object] = [given]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            stack.extend(reversed(value.values()))
        elif isinstance(value, list):
            stack.extend(reversed(value))


def block_texts(block: Block) -> list[str]:
    """What a model reads in this block."""
    match block:
        case Text(text=text) | Thinking(text=text):
            return [text]
        case ToolUse():
            return list(values(block.input)) or [block.arguments or ""]
        case ToolResult():
            return [block.text]
        case _:
            return []


def shown(messages: Sequence[Message]) -> list[str]:
    """What a model reads in these messages, block by block."""
    return [text for message in messages for block in message.blocks for text in block_texts(block)]


def used_later(earlier: Sequence[Message], later: Sequence[Message]) -> Used:
    """What stands in `earlier`, and in `later` first in the assistant's own words or in the input of a tool, before a user or a tool shows it."""
    texts = shown(earlier)
    known = "\n".join(texts)
    known_facts, known_spans = facts(known), spans(texts)
    taken_facts: set[str] = set()
    taken_spans: set[Span] = set()
    seen_facts: set[str] = set()
    seen_spans: set[Span] = set()
    for message in later:
        own = message.origin is Origin.MODEL
        for block in message.blocks:
            if own and isinstance(block, Thinking):
                continue
            parts = block_texts(block)
            new_facts = facts("\n".join(parts)) - seen_facts
            new_spans = spans(parts) - seen_spans
            if own:
                taken_facts |= new_facts & known_facts
                taken_spans |= new_spans & known_spans
            seen_facts |= new_facts
            seen_spans |= new_spans
    return Used(frozenset(taken_facts), frozenset(taken_spans))


def kept(messages: Sequence[Message], used: Used) -> tuple[float, float]:
    """Parts of the used facts and spans that these messages hold; 1.0 where nothing was used."""
    texts = shown(messages)
    whole = "\n".join(texts)
    held_facts = sum(fact in whole for fact in used.facts) / len(used.facts) if used.facts else 1.0
    held_spans = len(used.spans & spans(texts)) / len(used.spans) if used.spans else 1.0
    return held_facts, held_spans
