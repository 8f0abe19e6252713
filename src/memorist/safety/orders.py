"""Whether a text tries to give an agent orders (SF-2): signs of planted instructions, and whether a text instructs at all.

The signs are for content of outside origin: what a tool, a page or another agent said. They are signs and no proof: a text that explains such
attacks shows them too, and a clever order shows none. What keeps such content from becoming an instruction is its origin; this says what to
show to a person first. English and Chinese.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from memorist.core.later import late_pattern
from memorist.safety.finding import Finding, apart
from memorist.safety.folding import Folded, decoded, fold, spaced_out
from memorist.safety.hidden import spelled
from memorist.safety.order_rules import SIGNS

_DEPTH = 2
"""Layers of encoding that are opened."""


_BY_HINT = {each: tuple(number for number, sign in enumerate(SIGNS) if each in sign.hints) for sign in SIGNS for each in sign.hints}
"""Which signs a hint calls for: many share theirs, and a text is looked through once for each hint."""


def planted(text: str) -> tuple[Finding, ...]:
    """Signs that the text gives an agent orders, in order, apart from each other.

    Rules: `override` (of earlier instructions), `role` (posing as system, developer or user), `authority` (claims of permission), `hide`
    (from the user), `exfiltrate`, `remember` (for ever), `address` (to an AI that reads this), `tool-call`; with `encoded-` before the name
    where it had to be decoded first.
    """
    return apart(_planted(text, _DEPTH))


_LEADING = late_pattern(r"^[ \t]*(?:[>|#*-]+[ \t]*)+", re.MULTILINE)
_PARTED = late_pattern(r"(?<![A-Za-z0-9+/_-])(?:[A-Za-z0-9+/_-]{8,}[ \t]*\r?\n[>|# \t]*){2,}[A-Za-z0-9+/_-]{2,}={0,2}")


def signs_of_orders(text: str) -> frozenset[str]:
    """The rules of `planted`, found also where an order is drawn out: by wide gaps, over lines of a quotation, or encoded on short lines."""
    return _signs_of_short(text) if len(text) <= _SHORT else _signs_of(text)


_SHORT = 40
"""Characters of what headers repeat in every file: their keys, kinds and marks of trust."""


@lru_cache(maxsize=1024)
def _signs_of_short(text: str) -> frozenset[str]:
    return _signs_of(text)


def _signs_of(text: str) -> frozenset[str]:
    rules = {finding.rule for finding in planted(text)}
    joined = " ".join(_LEADING.sub(" ", text).split())
    if joined != text:
        rules |= {finding.rule for finding in planted(joined)}
    for block in _PARTED.findall(text):
        rules |= {finding.rule for finding in planted(re.sub(r"[\s>|#]+", "", block)) if finding.rule.startswith("encoded-")}
    return frozenset(rules)


def _planted(text: str, depth: int) -> Iterator[Finding]:
    folded = fold(text)
    yield from _signs(folded)
    for span, letters in spaced_out(folded):
        yield from (Finding(*span, f"encoded-{rule}") for rule in _gapless(letters))
    if depth:
        for finding, said in spelled(text):
            yield from _inside((finding.start, finding.end), said, depth)
        for span, said in decoded(text):
            yield from _inside(span, said, depth)


def _signs(folded: Folded) -> Iterator[Finding]:
    text = folded.text
    hinted = {number for hint, numbers in _BY_HINT.items() if hint in text for number in numbers}
    for number in sorted(hinted):
        for found in SIGNS[number].pattern.finditer(text):
            yield Finding(*folded.span(*found.span()), SIGNS[number].rule)


def _gapless(letters: str) -> Iterator[str]:
    return (sign.rule for sign in SIGNS if sign.gapless is not None and sign.gapless.search(letters))


def _inside(span: tuple[int, int], said: str, depth: int) -> Iterator[Finding]:
    for rule in {finding.rule.removeprefix("encoded-") for finding in _planted(said, depth - 1)}:
        yield Finding(*span, f"encoded-{rule}")
