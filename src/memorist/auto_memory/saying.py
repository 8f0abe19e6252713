"""A way of saying: a pattern with the act it stands for. Pure."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

Act = Literal["remember", "forget", "rule", "correction"]
"""What the user wants of memory: keep this, drop that, work so from now on, work otherwise from now on."""


class Saying(Struct, frozen=True):
    """One way of saying. The pattern is matched at the start of a sentence, after its lead-in; its group `text` is what is kept."""

    act: Act
    pattern: re.Pattern[str]
    standing: bool = False
    """It is said of single tasks as well: words that bind it to one task rule it out."""
    unless: re.Pattern[str] | None = None
    """Matched against what is kept; a match rules it out."""
    after: re.Pattern[str] | None = None
    """The sentence before it has to match this from its start."""
    follow: bool = False
    """The sentence after it belongs to it."""


def saying(act: Act, pattern: str, *, standing: bool = False, unless: str = "", after: str = "", follow: bool = False) -> Saying:
    """A way of saying from the texts of its patterns, which ignore case."""
    return Saying(
        act,
        re.compile(pattern, re.IGNORECASE),
        standing,
        re.compile(unless, re.IGNORECASE) if unless else None,
        re.compile(after, re.IGNORECASE) if after else None,
        follow,
    )
