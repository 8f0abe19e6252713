"""Identifiers of a history as a compact list, those most likely to be used again for their length
first. Pure.

An identifier is a path, address, hash, long number or name in code
(`text_analysis.find_identifiers`). How likely it is to be used again is a logistic sum of its
features with the fitted weights of `ExtractWeights`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from math import exp, log1p
from operator import mul

from msgspec import Struct

from memorist.compaction.extract_scores import (
    AGE_UNIT,
    ASSISTANT_KINDS,
    CLEARED_AGE_UNIT,
    ExtractScoringContext,
    load_extract_weights,
    strip_last_name_part,
)
from memorist.compaction.history_extracts import SourceBlock
from memorist.core.token_count import BYTES_PER_TOKEN

_HASH = re.compile(r"[0-9a-f-]*\d[0-9a-f-]*")
_MIN_HASH_LENGTH = 7

_MIN_NAME_BYTES = 6
"""Bytes below which no name is tried."""


class IdentifierUsage(Struct):
    """A name: in how many blocks it occurred, in how many that the assistant wrote, in which steps
    last, in which kind of block last, and in which file last.
    """

    text: str
    file: str = ""
    blocks: int = 0
    assistant_blocks: int = 0
    changes: int = 0
    step: int = 0
    assistant_step: int = 0
    kind: str = ""
    names_in_last_block: int = 0
    """Names in the block in which it occurred last."""


def collect_identifiers(
    found: Sequence[SourceBlock], named: Sequence[set[str]]
) -> list[IdentifierUsage]:
    """Collect the names of a history; `named` holds the names of each block."""
    known: dict[str, IdentifierUsage] = {}
    for block, texts in zip(found, named, strict=True):
        source = block.source
        own = source.kind in ASSISTANT_KINDS
        change = source.kind == "change"
        for text in texts:
            name = known.get(text)
            if name is None:
                name = known[text] = IdentifierUsage(text)
            name.blocks += 1
            name.step = source.step
            name.kind = source.kind
            name.names_in_last_block = len(texts)
            if own:
                name.assistant_blocks += 1
                name.changes += change
                name.assistant_step = source.step
            if source.path and source.path != text:
                name.file = source.path
    return list(known.values())


def compute_identifier_features(
    name: IdentifierUsage, history: ExtractScoringContext
) -> list[float]:
    """Features of a name, in the order of `ExtractWeights.names`."""
    text = name.text
    last = history.ages[name.step - 1]
    age, cleared = log1p(last.age / AGE_UNIT), log1p(last.cleared / CLEARED_AGE_UNIT)
    own_age = (
        log1p(history.ages[name.assistant_step - 1].age / AGE_UNIT) if name.assistant_step else 0.0
    )
    return [
        1.0,
        log1p(name.assistant_blocks),
        log1p(name.blocks),
        age,
        cleared,
        own_age,
        float(not name.assistant_step),
        log1p(name.changes),
        float(last.in_newest_turn),
        float(text in history.newest_request_names),
        float(text in history.touched),
        float("/" in text),
        float("." in text),
        float(any(map(str.isdigit, text))),
        float(len(text) >= _MIN_HASH_LENGTH and _HASH.fullmatch(text) is not None),
        float("_" in text),
        float(name.kind == "error"),
        float(name.kind == "change"),
        float(name.kind == "injected"),
        log1p(history.ages[file - 1].age / AGE_UNIT)
        if (file := history.touched.get(name.file, 0))
        else 0.0,
        log1p(history.changes.get(name.file, 0)),
        history.families.get(strip_last_name_part(text), 0.0),
        log1p(name.names_in_last_block / 10),
    ]


def rank_identifiers(
    names: Iterable[IdentifierUsage], history: ExtractScoringContext
) -> list[IdentifierUsage]:
    """The names, those most likely to be used again for what they cost first."""
    return [
        name
        for _, _, name in sorted(
            [(-_value(name, history), name.text, name) for name in names], key=lambda each: each[:2]
        )
    ]


def _value(name: IdentifierUsage, history: ExtractScoringContext) -> float:
    score: float = sum(
        map(mul, load_extract_weights().names, compute_identifier_features(name, history))
    )
    return 1 / (1 + exp(-score)) / (len(name.text) + 2)


def render_identifiers_missing_from_summary(
    names: Iterable[IdentifierUsage], is_known: Callable[[str], bool], room: int
) -> str:
    """Render the names that are not known, in the given order, in `room` tokens: those seen in a
    listed file after its path, the others on one line. A part of a listed name is not listed.
    """
    left = room * BYTES_PER_TOKEN
    chosen: dict[str, IdentifierUsage] = {}
    listed = ""
    for name in names:
        size = _name_size(name.text)
        if left < _MIN_NAME_BYTES:
            break
        if size > left or _is_part(name.text, listed) or is_known(name.text):
            continue
        for part in [each for each in chosen if _is_part(each, name.text)]:
            left += _name_size(part)
            del chosen[part]
        left -= size
        chosen[name.text] = name
        listed += f"{name.text}\n"
    return _render_groups(chosen)


def _is_part(name: str, text: str) -> bool:
    """Whether the text holds this name as a word or words of its own: `b.py` is part of `a/b.py`,
    and `Config` is no part of `ConfigLoader`.
    """
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        if not _continues_word(text[at - 1 : at]) and not _continues_word(text[end : end + 1]):
            return True
        at = text.find(name, at + 1)
    return False


def _continues_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


def _name_size(text: str) -> int:
    """Bytes of a name in the list."""
    return len(text.encode("utf-8", "surrogatepass")) + 2


def _render_groups(chosen: dict[str, IdentifierUsage]) -> str:
    """The chosen names, each once: a file precedes what was seen in it, or is with the others
    where nothing was.
    """
    files = {name.file for name in chosen.values() if name.file in chosen}
    by_file: dict[str, list[str]] = {file: [] for file in files}
    loose: list[str] = []
    for text, name in chosen.items():
        if text not in files:
            by_file.get(name.file, loose).append(text)
    loose += [file for file, found in by_file.items() if not found]
    lines = [f"{file}: {', '.join(found)}" for file, found in sorted(by_file.items()) if found]
    return "\n".join([*lines, ", ".join(sorted(loose))] if loose else lines)
