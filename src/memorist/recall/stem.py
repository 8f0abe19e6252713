"""Stem English words by Porter's algorithm (Program 14(3), 1980), as SQLite's `porter` tokeniser
does.

Pure. Implemented here so that the index does not depend on how SQLite was built, and so that
matched words can be reported without querying it.
"""

from __future__ import annotations

import re
from functools import lru_cache

KNOWN_WORDS = 65_536
"""Cached stems: the vocabulary of some ten thousand memories."""

LONGEST = 20
"""Letters beyond which a word is not stemmed: longer ones are joined identifiers, not English."""

_PLAIN = re.compile(r"[a-z]+")
_STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "logi": "log", "bli": "ble", "alli": "al", "entli": "ent",
    "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al", "iveness": "ive", "fulness": "ful",
    "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble",
}  # fmt: skip
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP_4 = (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ion", "ism", "ate", "iti", "ous", "ive", "ize", "al", "er", "ic", "ou",
)  # fmt: skip


@lru_cache(KNOWN_WORDS)
def stem(word: str) -> str:
    """Return the stem of a lower-case word.

    A word that is not 3 to `MAX_STEM_LETTERS` plain letters is returned unchanged.
    """
    if not 3 <= len(word) <= LONGEST or not _PLAIN.fullmatch(word):
        return word
    word = _plurals(word)
    word = _past(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(word, _STEP_2)
    word = _replaced(word, _STEP_3)
    word = _shortened(word)
    return _tidied(word)


def _shape(part: str) -> str:
    """Render the part as consonants and vowels: `toy` is `cvc`; y after a consonant is a vowel."""
    made = ""
    for letter in part:
        vowel = letter in "aeiou" or (letter == "y" and made[-1:] == "c")
        made += "v" if vowel else "c"
    return made


def _measure(part: str) -> int:
    """Count how many times vowels are followed by consonants."""
    return _shape(part).count("vc")


def _has_vowel(part: str) -> bool:
    return "v" in _shape(part)


def _doubled(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _shape(word)[-1] == "c"


def _short_end(word: str) -> bool:
    """Whether it ends in consonant, vowel, consonant, the last not w, x or y: such a word has lost
    its e.
    """
    return _shape(word)[-3:] == "cvc" and word[-1] not in "wxy"


def _plurals(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    cut = next((word[: -len(end)] for end in ("ed", "ing") if word.endswith(end)), None)
    if cut is None or not _has_vowel(cut):
        return word
    if cut.endswith(("at", "bl", "iz")):
        return cut + "e"
    if _doubled(cut) and cut[-1] not in "lsz":
        return cut[:-1]
    return cut + "e" if _measure(cut) == 1 and _short_end(cut) else cut


def _replaced(word: str, endings: dict[str, str]) -> str:
    """Replace the longest ending in the table if the rest can stand alone."""
    for size in range(min(7, len(word)), 2, -1):
        if (new := endings.get(word[-size:])) is not None:
            return word[:-size] + new if _measure(word[:-size]) > 0 else word
    return word


def _shortened(word: str) -> str:
    for end in _STEP_4:
        if word.endswith(end):
            cut = word[: -len(end)]
            fits = _measure(cut) > 1 and (end != "ion" or cut.endswith(("s", "t")))
            return cut if fits else word
    return word


def _tidied(word: str) -> str:
    if word.endswith("e"):
        cut = word[:-1]
        size = _measure(cut)
        if size > 1 or (size == 1 and not _short_end(cut)):
            word = cut
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word
