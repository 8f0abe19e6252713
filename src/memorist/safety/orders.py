"""Finding prompt injection (SF-2): signs that a text gives an agent instructions.

The signs are for content of outside origin: what a tool, a page or another agent wrote. They are no
proof: a text that explains such attacks shows them too, and a clever injection shows none. What
keeps such content from becoming an instruction is its origin; the signs say what to show the user
first. English and Chinese.
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
"""Layers of encoding that are decoded."""


_BY_HINT = {each: tuple(number for number, sign in enumerate(SIGNS) if each in sign.hints) for sign in SIGNS for each in sign.hints}
"""The signs that each hint belongs to: many share a hint, and a text is searched once per hint."""


def planted(text: str) -> tuple[Finding, ...]:
    """Signs of injected instructions, in order, without overlaps.

    Rules: `override` (of earlier instructions), `role` (posing as system, developer or user),
    `authority` (claims of permission), `hide` (from the user), `exfiltrate`, `remember` (for ever),
    `address` (to an AI that reads this), `tool-call`; with the prefix `encoded-` when the text had
    to be decoded first.
    """
    return apart(_planted(text, _DEPTH))


_LEADING = late_pattern(r"^[ \t]*(?:[>|#*-]+[ \t]*)+", re.MULTILINE)
_PARTED = late_pattern(r"(?<![A-Za-z0-9+/_-])(?:[A-Za-z0-9+/_-]{8,}[ \t]*\r?\n[>|# \t]*){2,}[A-Za-z0-9+/_-]{2,}={0,2}")


def signs_of_orders(text: str) -> frozenset[str]:
    """The rules of `find_injections`, also for instructions that are stretched by wide gaps, spread
    over quoted lines, or encoded on short lines.
    """
    return _signs_of_short(text) if len(text) <= _SHORT else _signs_of(text)


_SHORT = 40
"""Longest text whose result is cached: header keys, kinds and trust marks that repeat in every
file.
"""


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
