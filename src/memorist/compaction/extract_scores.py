"""How likely each extract of a history is to be needed again: features of blocks and extracts,
weighted by fitted numbers. Pure.

The score of an extract is the expected share of its words that the assistant uses again before
anybody shows them. It is the exponential of a weighted sum: features of the block, with weights of
their own for each kind of block, and features of the extract. `ExtractWeights` holds the weights
and says how they were fitted.

Few extracts of a long history are worth their room. So blocks are scored whole first, and only the
most promising are split.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from math import exp, log, log1p
from operator import mul
from pathlib import Path

import msgspec
from msgspec import Struct

from memorist.compaction.history_extracts import (
    Extract,
    ExtractKind,
    SourceBlock,
    split_into_extracts,
)
from memorist.core.json_decoding import decode_json
from memorist.transcript_analysis.names_in_text import find_recognizable_names

# Weights by which extracts and identifiers are scored, read once from their data file.


class ExtractWeights(msgspec.Struct, frozen=True):
    """Weights in the order of the features that they are of."""

    blocks: dict[ExtractKind, tuple[float, ...]]
    """Weights of a constant and of `compute_block_features`, by kind."""
    extracts: dict[ExtractKind, tuple[float, ...]]
    """Weights of `compute_extract_features`, by kind."""
    typical_scores: dict[ExtractKind, float]
    """What the features of an extract add on average, by kind: for blocks that are not split."""
    names: tuple[float, ...]
    """Weights of `identifier_ranking.compute_identifier_features`."""


@cache
def load_extract_weights() -> ExtractWeights:
    """The weights that ship with memorist."""
    return decode_json(
        Path(__file__).with_name("extract_weights.json").read_bytes(), as_type=ExtractWeights
    )


AGE_UNIT, CLEARED_AGE_UNIT = 2_000, 1_000
"""Tokens; an age enters as log(1 + tokens since / unit)."""

CLEARED_RESULT_TOKENS = 8
"""Tokens that a tool result counts for in the cleared age: what is left once it is cleared."""

HEAT_HALF_LIFE_TOKENS = 8_000
"""Tokens after which the heat of a name that the assistant used has halved."""

RECENT_TOKENS = 3_000
"""Tokens within which a name that the assistant used belongs to its present work."""

EXPLORED_ROOM_FACTOR = 6
"""Blocks are split, the most promising first, until they hold so many times the room."""

ASSISTANT_KINDS = frozenset({"said", "call", "change", "thought"})
"""Kinds of blocks that the assistant wrote: names it used itself are likely to be used again."""

OWN_WORK_LIFT = 1.39
"""Added to the logarithm of the score of calls and changes, which is 4 times the score: the agent
repeats its own commands and code more in whole runs than the fitted share of single words tells.
Chosen among 1, 2, 3, 4, 5 and 8 on half of the recorded sessions; docs/benchmarks.md has the other
half.
"""

_OWN_WORK = frozenset({"call", "change"})

_MAX_LOG_SCORE = 0.0
"""At most every word of an extract is used again."""

_MIN_REPEATED_LENGTH = 12
"""Characters; shorter lines repeat by chance."""


class MessageAgeInTokens(Struct, frozen=True):
    """Age of a message: the tokens from it on, the same with all results cleared, and whether it
    belongs to the newest turn.
    """

    age: int
    cleared: int
    in_newest_turn: bool


class ExtractScoringContext(Struct, frozen=True):
    """What the scoring needs to know of the whole history."""

    ages: Sequence[MessageAgeInTokens]
    """The age of each message: `ages[step - 1]`."""
    changed: dict[str, int]
    """Step in which a file was last changed."""
    changes: dict[str, int]
    reads: dict[str, int]
    """Step in which a file was last read."""
    touched: dict[str, int]
    """Step in which a file was last read or changed."""
    heat: dict[str, float]
    newest_request_names: set[str]
    """Names in the user's newest text."""
    recent: set[str]
    """Names that the assistant used within `RECENT_TOKENS`."""
    repeats: dict[str, float]
    """Logarithm of how often a line was shown; only lines of more than one block."""
    families: dict[str, float]
    """Heat of the names of each family together, 0 to 1."""
    written: set[str]
    """Lines that the assistant wrote."""


def collect_extract_scoring_context(
    found: Sequence[SourceBlock],
    named: Sequence[set[str]],
    ages: Sequence[MessageAgeInTokens],
    asked: set[str],
) -> ExtractScoringContext:
    """Scan all blocks once; `named` holds the names of each, `asked` those in the user's newest
    text.
    """
    changed: dict[str, int] = {}
    changes: dict[str, int] = {}
    reads: dict[str, int] = {}
    touched: dict[str, int] = {}
    hot: dict[str, float] = {}
    spread: dict[str, int] = {}
    recent: set[str] = set()
    for block, own in zip(found, named, strict=True):
        source = block.source
        if source.path:
            touched[source.path] = source.step
            if source.kind == "change":
                changed[source.path] = source.step
                changes[source.path] = changes.get(source.path, 0) + 1
            elif source.kind == "file":
                reads[source.path] = source.step
        warmth = (
            2 ** (-ages[source.step - 1].age / HEAT_HALF_LIFE_TOKENS)
            if source.kind in ASSISTANT_KINDS
            else 0.0
        )
        if warmth and ages[source.step - 1].age <= RECENT_TOKENS:
            recent |= own
        for name in own:
            spread[name] = spread.get(name, 0) + 1
            if warmth:
                hot[name] = hot.get(name, 0.0) + warmth
    heat = {name: min(1.0, warmth) / (spread[name] + 1) ** 0.5 for name, warmth in hot.items()}
    return ExtractScoringContext(
        ages,
        changed,
        changes,
        reads,
        touched,
        heat,
        asked,
        recent,
        _measure_family_heat(hot),
        *_count_lines(found),
    )


def strip_last_name_part(name: str) -> str:
    """The name without its last part: its folder, class or module; empty for a name of one part."""
    at = max(name.rfind("/"), name.rfind("."), name.rfind(":"))
    return name[:at] if at > 0 else ""


def _measure_family_heat(hot: dict[str, float]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, warmth in hot.items():
        if head := strip_last_name_part(name):
            found[head] = min(1.0, found.get(head, 0.0) + warmth)
    return found


def _count_lines(found: Iterable[SourceBlock]) -> tuple[dict[str, float], set[str]]:
    """How often each line was shown (logarithm), and the lines that the assistant wrote."""
    seen: dict[str, int] = {}
    written: set[str] = set()
    for block in found:
        lines = set(map(str.strip, block.text.split("\n")))
        if block.source.kind in ASSISTANT_KINDS:
            written |= lines
        for line in lines:
            seen[line] = seen.get(line, 0) + 1
    return {line: log(count) for line, count in seen.items() if count > 1}, written


def compute_block_features(block: SourceBlock, history: ExtractScoringContext) -> list[float]:
    """Features of a whole block, in the order of `ExtractWeights.blocks`."""
    source = block.source
    when = history.ages[source.step - 1]
    age, cleared = log1p(when.age / AGE_UNIT), log1p(when.cleared / CLEARED_AGE_UNIT)
    path = source.path
    last = history.touched.get(path, 0)
    return [
        1.0,
        age,
        cleared,
        age * age,
        float(when.in_newest_turn),
        float(path in history.changed),
        float(history.changed.get(path, 0) > source.step),
        float(history.reads.get(path, 0) > source.step),
        log1p(history.changes.get(path, 0)),
        log1p(history.ages[last - 1].age / AGE_UNIT) - age if last else 0.0,
        log1p(len(block.text) / 400),
    ]


def compute_extract_features(
    extract: Extract, own: set[str], history: ExtractScoringContext, parts: int
) -> list[float]:
    """Features of an extract, one of `parts` of its block, with the names `own`; in the order of
    `ExtractWeights.extracts`.
    """
    text = extract.text
    heats = [history.heat.get(name, 0.0) for name in own]
    lines = [line for each in extract.lines if (line := each.strip())]
    several = max(1, len(lines))
    raw = text.encode("utf-8", "surrogatepass")
    return [
        sum(heats) / (len(own) + 1),
        max(heats, default=0.0),
        len(own & history.newest_request_names) / (len(own) + 1),
        len(own) / several,
        (len(raw) - len(raw.translate(None, b"0123456789"))) / max(1, len(raw)),
        sum([" " not in line for line in lines]) / several,
        sum([history.repeats.get(line, 0.0) for line in lines if len(line) >= _MIN_REPEATED_LENGTH])
        / several,
        len(
            [
                line
                for line in lines
                if len(line) >= _MIN_REPEATED_LENGTH and line in history.written
            ]
        )
        / several,
        len(own & history.recent) / (len(own) + 1),
        log1p(len(text) / 100),
        float(extract.part == 0),
        float(extract.part == parts - 1),
        log1p(extract.part),
    ]


def _score_block(block: SourceBlock, history: ExtractScoringContext) -> float:
    """What the block itself adds to the logarithm of the score of each of its extracts."""
    kind = block.source.kind
    weights = load_extract_weights().blocks[kind]
    fitted: float = sum(map(mul, weights, compute_block_features(block, history)))
    return fitted + OWN_WORK_LIFT if kind in _OWN_WORK else fitted


def choose_promising_blocks(
    found: Sequence[SourceBlock], history: ExtractScoringContext, characters: int
) -> list[SourceBlock]:
    """The blocks with the highest scores before they are split, in order, until they hold so many
    characters.
    """
    typical = load_extract_weights().typical_scores
    scores = [_score_block(each, history) + typical[each.source.kind] for each in found]
    chosen: list[int] = []
    for at in sorted(range(len(found)), key=lambda at: -scores[at]):
        if characters <= 0:
            break
        characters -= len(found[at].text)
        chosen.append(at)
    return [found[at] for at in sorted(chosen)]


def split_blocks_into_scored_extracts(
    found: Iterable[SourceBlock], history: ExtractScoringContext
) -> list[tuple[Extract, float]]:
    """The extracts of these blocks, each with its score."""
    scored: list[tuple[Extract, float]] = []
    for block in found:
        weights = load_extract_weights().extracts[block.source.kind]
        base = _score_block(block, history)
        extracts = split_into_extracts(block)
        for extract in extracts:
            value = base + sum(
                map(
                    mul,
                    weights,
                    compute_extract_features(
                        extract, find_recognizable_names(extract.text), history, len(extracts)
                    ),
                )
            )
            scored.append((extract, exp(min(value, _MAX_LOG_SCORE))))
    return scored
