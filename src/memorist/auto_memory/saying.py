"""A way of saying: a pattern with the act it stands for. Pure."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from msgspec import Struct

Act = Literal["remember", "forget", "rule", "correction"]
"""What the user wants of memory: keep this, drop that, work so from now on, work otherwise from now on."""


@cache
def _compiled(text: str) -> re.Pattern[str]:
    """The pattern of a text. Made when it is first asked for: all of them at once would make every start of a program wait."""
    return re.compile(text, re.IGNORECASE)


class Saying(Struct, frozen=True):
    """One way of saying. The pattern is matched at the start of a sentence, after its lead-in; its group `text` is what is kept."""

    act: Act
    text: str
    """The pattern, which ignores case."""
    standing: bool = False
    """It is said of single tasks as well: words that bind it to one task rule it out."""
    exception: str = ""
    """Matched against what is kept; a match rules it out. Empty for none."""
    lead: str = ""
    """The sentence before it has to match this from its start. Empty for none."""
    follow: bool = False
    """The sentence after it belongs to it."""

    def match(self, sentence: str) -> re.Match[str] | None:
        """The sentence as this way of saying, if it is."""
        return _compiled(self.text).match(sentence)

    def rules_out(self, kept: str) -> bool:
        """Whether what is kept is an exception to it."""
        return bool(self.exception) and _compiled(self.exception).match(kept) is not None

    def follows(self, before: str) -> bool:
        """Whether it may stand after this sentence."""
        return not self.lead or _compiled(self.lead).match(before) is not None


def saying(act: Act, pattern: str, *, standing: bool = False, unless: str = "", after: str = "", follow: bool = False) -> Saying:
    """A way of saying from the texts of its patterns, which ignore case."""
    return Saying(act, pattern, standing, unless, after, follow)
