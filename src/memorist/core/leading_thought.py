"""What a model thought before its answer, where its server passes it on inside the text. Pure."""

from __future__ import annotations

import re

_THOUGHT = re.compile(
    r"\s*<(?P<tag>think|thinking|reasoning)>(?P<thought>.*?)(?:</(?P=tag)>|\Z)\s*", re.DOTALL
)
_UNOPENED_THOUGHT = re.compile(
    r"(?P<thought>.*?)^[ \t]*</(?:think|thinking|reasoning)>[ \t]*$\s*", re.DOTALL | re.MULTILINE
)
"""Thoughts whose opening mark stood at the end of the prompt, as some chat templates have it."""


def strip_leading_thought(said: str) -> str:
    """What a model says after what it thought, where its server left the thoughts in the text."""
    found = match_leading_thought(said)
    return said[found.end() :] if found else said


def match_leading_thought(said: str) -> re.Match[str] | None:
    """The thought at the beginning of a text, as the group `thought`; the answer follows it."""
    found = _THOUGHT.match(said) or _UNOPENED_THOUGHT.match(said)
    if found is None or found.re is _THOUGHT:
        return found
    # An answer about such marks quotes them: in code, or with the opening one.
    quotes = "<think" in found["thought"] or "<reason" in found["thought"]
    return None if quotes or found["thought"].count("```") % 2 else found
