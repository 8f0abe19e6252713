"""Statement patterns: a regular expression with the act it stands for. Pure."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from msgspec import Struct

Act = Literal["remember", "forget", "rule", "correction"]
"""What the user wants: remember this, forget that, work so from now on, work otherwise from now on.
"""


@cache
def _compiled(text: str) -> re.Pattern[str]:
    """Compile a pattern on first use: compiling all of them at import would slow down every start.
    """
    return re.compile(text, re.IGNORECASE)


class Saying(Struct, frozen=True):
    """One pattern.

    It is matched at the start of a sentence, after its lead-in; group `text` is the statement.
    """

    act: Act
    text: str
    """The regular expression, matched without case."""
    standing: bool = False
    """The phrase is also used of single tasks, so words that bind it to one task rule it out."""
    exception: str = ""
    """Matched against the statement's text; a match rules it out. Empty for none."""
    lead: str = ""
    """The preceding sentence has to match this from its start. Empty for none."""
    follow: bool = False
    """Whether the sentence after it belongs to it."""

    def match(self, sentence: str) -> re.Match[str] | None:
        """Match a sentence against the pattern."""
        return _compiled(self.text).match(sentence)

    def rules_out(self, kept: str) -> bool:
        """Whether the statement's text is an exception to the pattern."""
        return bool(self.exception) and _compiled(self.exception).match(kept) is not None

    def follows(self, before: str) -> bool:
        """Whether the pattern may match after this sentence."""
        return not self.lead or _compiled(self.lead).match(before) is not None


def saying(act: Act, pattern: str, *, standing: bool = False, unless: str = "", after: str = "", follow: bool = False) -> Saying:
    """Define a pattern; all expressions ignore case."""
    return Saying(act, pattern, standing, unless, after, follow)
