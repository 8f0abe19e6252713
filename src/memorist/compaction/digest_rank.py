"""How likely an extract is to be needed again. Pure.

The score is the logarithm of how many words of an extract are expected to be used again, for each of its words: a base by kind, less with age, more
for files that were changed and for names that the assistant has just used. The weights were fitted on the recorded
sessions, rounded, and then adjusted by hand on the 26 points of the `carryover` benchmark. A base moved by a half either way changes what is kept by
two hundredths at most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import exp, log, log1p

from msgspec import Struct

from memorist.compaction.digest_units import Kind, Piece, Unit


class Fade(Struct, frozen=True):
    """`base` when new, and how fast that falls with the logarithm of age."""

    base: float
    slope: float


FADES: dict[Kind, Fade] = {
    "call": Fade(-2.5, 0.8),
    "said": Fade(-3.4, 0.8),
    "file": Fade(-3.1, 1.2),
    "output": Fade(-3.6, 1.6),
    "error": Fade(-2.3, 1.5),
    "change": Fade(-2.4, 1.1),
    "thought": Fade(-4.8, 2.0),
    "injected": Fade(-4.3, 1.5),
}
AGE_UNIT = 4_000
"""Tokens of history; age counts as log(1 + tokens since / AGE_UNIT)."""

CHANGED = 1.2
"""A file that was changed in the session: it is changed again."""

SUPERSEDED = -1.6
"""A read of a file from before its last change: what is left of it is mostly what was not of interest."""

FOCUS = 0.3
"""Times the logarithm of how often its file was changed."""

HEAT = 3.0
"""Times the mean heat of the names in it."""

HEAT_HALF_LIFE = 8_000
"""Tokens after which a name that the assistant used is half as hot."""

REPEATS = 0.4
"""Times the mean logarithm of how often its lines were shown."""

TELLING = 12
"""Shorter lines are the same by chance."""

DIGITS = -3.0
"""Times the share of digits: tables, hashes and logs are seldom quoted."""

SINGLES = 0.8
"""Times the share of lines of one word: lists of names and paths, closing lines of code."""

_OWN = ("said", "call", "change", "thought")


class History(Struct, frozen=True):
    """What the ranking needs to know of the whole: when files were last changed, and how hot names are, by their rarity."""

    changed: dict[str, int]
    changes: dict[str, int]
    heat: dict[str, float]
    repeats: dict[str, float]
    """How often a line was shown, as a logarithm; only of those that were shown in more than one piece."""


def history(found: Sequence[Piece], named: Sequence[set[str]], ages: Sequence[int]) -> History:
    """Look at all pieces once; `named` holds the names of each. `ages[step - 1]` is the number of tokens from that message on."""
    changed: dict[str, int] = {}
    changes: dict[str, int] = {}
    hot: dict[str, float] = {}
    spread: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for piece, names in zip(found, named, strict=True):
        source = piece.source
        if source.kind == "change":
            changed[source.path] = source.step
            changes[source.path] = changes.get(source.path, 0) + 1
        lines.update(set(map(str.strip, piece.text.split("\n"))))
        spread.update(names)
        if source.kind in _OWN:
            weight = 2 ** (-ages[source.step - 1] / HEAT_HALF_LIFE)
            for name in names:
                hot[name] = hot.get(name, 0.0) + weight
    heat = {name: min(1.0, warmth) / (spread[name] + 1) ** 0.5 for name, warmth in hot.items()}
    return History(changed, changes, heat, {line: log(count) for line, count in lines.items() if count > 1})


def rate(unit: Unit, names: set[str], past: History, age: int) -> float:
    """Expected uses for each word of the extract, which holds these names."""
    source, text = unit.source, unit.text
    fade = FADES[source.kind]
    value = fade.base - fade.slope * log1p(age / AGE_UNIT)
    if source.kind == "file" and source.path in past.changed:
        value += CHANGED + (SUPERSEDED if past.changed[source.path] > source.step else 0.0)
    if source.path in past.changes:
        value += FOCUS * log1p(past.changes[source.path] - 1)
    value += HEAT * sum(past.heat.get(name, 0.0) for name in names) / (len(names) + 1)
    raw = text.encode("utf-8", "surrogatepass")
    value += DIGITS * (len(raw) - len(raw.translate(None, b"0123456789"))) / max(1, len(text))
    lines = [line for each in unit.lines if (line := each.strip())]
    value += SINGLES * sum([" " not in line for line in lines]) / max(1, len(lines))
    value += REPEATS * sum([past.repeats.get(line, 0.0) for line in lines if len(line) >= TELLING]) / max(1, len(lines))
    return exp(value)
