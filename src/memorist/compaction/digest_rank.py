"""Score how likely an extract is to be needed again. Pure.

The score is the logarithm of how many words of an extract are expected to be used again, per word:
a base by kind, decreasing with age, higher for files that were changed and for names the assistant
used recently. The weights were fitted on the recorded sessions, rounded, and adjusted by hand on
the 26 points of the `carryover` benchmark. Moving a base by a half either way changes what is kept
by two hundredths at most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import exp, log, log1p

from msgspec import Struct

from memorist.compaction.digest_units import Kind, Piece, Unit


class Fade(Struct, frozen=True):
    """Score when new (`base`), and how fast it falls with the logarithm of age (`slope`)."""

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
"""Tokens of history; age enters as log(1 + tokens since / EXTRACT_AGE_UNIT)."""

CHANGED = 1.2
"""Bonus for a file that was changed in the session: it is likely to be changed again."""

SUPERSEDED = -1.6
"""Penalty for a read from before the file's last change: what remains of it is mostly irrelevant.
"""

FOCUS = 0.3
"""Factor of the logarithm of how often the extract's file was changed."""

HEAT = 3.0
"""Factor of the mean heat of the names in the extract."""

HEAT_HALF_LIFE = 8_000
"""Tokens after which the heat of a name that the assistant used has halved."""

REPEATS = 0.4
"""Factor of the mean logarithm of how often the extract's lines were shown."""

TELLING = 12
"""Characters; shorter lines repeat by chance and do not count as repeats."""

DIGITS = -3.0
"""Factor of the share of digits: tables, hashes and logs are seldom quoted."""

SINGLES = 0.8
"""Factor of the share of one-word lines: lists of names and paths, closing lines of code."""

_OWN = ("said", "call", "change", "thought")


class History(Struct, frozen=True):
    """What the scoring needs to know of the whole history: when files were last changed, and how
    hot names are, weighted by rarity.
    """

    changed: dict[str, int]
    changes: dict[str, int]
    heat: dict[str, float]
    repeats: dict[str, float]
    """Logarithm of how often a line was shown; only lines shown in more than one block."""


def history(found: Sequence[Piece], named: Sequence[set[str]], ages: Sequence[int]) -> History:
    """Scan all blocks once; `named` holds the names of each. `ages[step - 1]` is the number of
    tokens from that message on.
    """
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
    """Expected number of reuses per word of the extract, which contains these names."""
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
