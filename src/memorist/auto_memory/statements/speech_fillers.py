"""Sounds of hesitation in what a user dictated ("uh", "ähm", "euh"), which are no part of what was
said. Pure.
"""

from __future__ import annotations

import re
from functools import lru_cache

from memorist.core.lazy import lazy_pattern

_SOUND = r"(?:u+h+m*|u+m+|erm+|e+hm+|ä+h+m*|ö+h+m*|e+u+h+|э+м+|э{2,})"
_GAP, _SPACE = r"[ \t]{0,3}", r"[ \t]{1,3}"
_PAUSE = rf"{_GAP}(?:,|\.{{2,}}|…)"
_HESITATION = lazy_pattern(
    rf"(?P<before>(?:{_PAUSE})?{_GAP})(?<![\w'’.\-/@#$=:])"
    rf"(?P<sounds>{_SOUND}(?:(?:{_PAUSE})?{_SPACE}{_SOUND})*)(?![\w'’\-/=(\[:]|\.\w)"
    rf"(?P<after>{_PAUSE}|\.)?(?P<turns>(?={_SPACE}(?:not|never|but|nicht|nie|pas|no)\b))?"
    rf"(?P<next>{_SPACE}\w?)?",
    re.IGNORECASE,
)
_CODE_OR_QUOTATION = lazy_pattern(r"[`\"“”«»„]|^(?: {4}|\t)")
"""Marks that nobody dictates, in whose lines all is left as it is."""
_ENGLISH = lazy_pattern(
    r"\b(?:the|and|for|with|from|that|this|when|you|your|always|never|before|after|every|should|"
    r"must|please|want|i|we)\b",
    re.IGNORECASE,
)
"""Words without which `um` is not taken for a sound: it is a word in German and Portuguese."""
_NOT_ENGLISH = lazy_pattern(
    r"\b(?:zu|die|der|das|den|dem|nicht|uhr|sempre|nunca|não|para|com|que|em|de|mais)\b",
    re.IGNORECASE,
)


FILLER_CACHE_SIZE = 16
"""Texts whose answer is remembered: a message is read by seven rules while it is answered."""


@lru_cache(FILLER_CACHE_SIZE)
def remove_hesitation_sounds(text: str) -> str:
    """Leave out sounds of hesitation between words, with the pauses around them. Code, quotations,
    capitals (`UH`) and lines of nothing else stay.
    """
    if _HESITATION.search(text) is None:
        return text
    return "\n".join(_remove_from_line(line) for line in text.split("\n"))


def _remove_from_line(line: str) -> str:
    if _CODE_OR_QUOTATION.search(line):
        return line
    um_is_sound = bool(_ENGLISH.search(line)) and not _NOT_ENGLISH.search(line)

    def remove(match: re.Match[str]) -> str:
        sounds, next_word = match["sounds"], match["next"] or ""
        before, after = match["before"].strip(), (match["after"] or "").strip()
        starts = not line[: match.start()].rstrip(' \t"') or line[: match.start()][-1] in ".!?:"
        is_word = sounds.casefold() == "um" and not (um_is_sound or (after and (before or starts)))
        if is_word or (sounds.isupper() and len(sounds) > 1):
            return match[0]
        if starts:
            shown = next_word.lstrip() if match.start() == 0 else next_word
            return shown[:-1] + shown[-1:].upper() if sounds[0].isupper() else shown
        goes_on = before == after and match["turns"] is None
        pause = "" if goes_on else after if after == "." else before or after
        return pause + next_word

    cleaned = _HESITATION.sub(remove, line)
    return cleaned if any(map(str.isalnum, cleaned)) else line
