"""Stems of English words by Porter's algorithm (Program 14(3), 1980), as SQLite's `porter`
tokeniser makes them. Pure.
"""

from __future__ import annotations

import re
from functools import lru_cache

STEM_CACHE_SIZE = 65_536
"""Cached stems: the vocabulary of some ten thousand memories."""


MAX_STEM_LETTERS = 20
"""Letters beyond which a word is not stemmed: longer ones are joined identifiers, not English."""


_LOWERCASE_WORD = re.compile(r"[a-z]+")


_STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "logi": "log", "bli": "ble", "alli": "al", "entli": "ent",
    "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al", "iveness": "ive", "fulness": "ful",
    "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble",
}  # fmt: skip


_STEP_3 = {
    "icate": "ic",
    "ative": "",
    "alize": "al",
    "iciti": "ic",
    "ical": "ic",
    "ful": "",
    "ness": "",
}


_STEP_4 = (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ion", "ism", "ate", "iti", "ous", "ive", "ize", "al", "er", "ic", "ou",
)  # fmt: skip


@lru_cache(STEM_CACHE_SIZE)
def stem_word(word: str) -> str:
    """Return the stem of a lower-case word.

    A word that is not 3 to `MAX_STEM_LETTERS` plain letters is returned unchanged.
    """
    if not 3 <= len(word) <= MAX_STEM_LETTERS or not _LOWERCASE_WORD.fullmatch(word):
        return word
    word = _strip_plural(word)
    word = _strip_past(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replace_suffix(word, _STEP_2)
    word = _replace_suffix(word, _STEP_3)
    word = _strip_suffix(word)
    return _strip_final_letters(word)


def _letter_shape(part: str) -> str:
    """Render the part as consonants and vowels: `toy` is `cvc`; y after a consonant is a vowel."""
    shape = ""
    for letter in part:
        vowel = letter in "aeiou" or (letter == "y" and shape[-1:] == "c")
        shape += "v" if vowel else "c"
    return shape


def _measure(part: str) -> int:
    """Count how many times vowels are followed by consonants."""
    return _letter_shape(part).count("vc")


def _has_vowel(part: str) -> bool:
    return "v" in _letter_shape(part)


def _ends_in_double_consonant(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _letter_shape(word)[-1] == "c"


def _ends_in_short_syllable(word: str) -> bool:
    """Whether it ends in consonant, vowel, consonant, the last not w, x or y: such a word has lost
    its e.
    """
    return _letter_shape(word)[-3:] == "cvc" and word[-1] not in "wxy"


def _strip_plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _strip_past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    cut = next((word[: -len(end)] for end in ("ed", "ing") if word.endswith(end)), None)
    if cut is None or not _has_vowel(cut):
        return word
    if cut.endswith(("at", "bl", "iz")):
        return cut + "e"
    if _ends_in_double_consonant(cut) and cut[-1] not in "lsz":
        return cut[:-1]
    return cut + "e" if _measure(cut) == 1 and _ends_in_short_syllable(cut) else cut


def _replace_suffix(word: str, endings: dict[str, str]) -> str:
    """Replace the longest ending in the table if the rest can stand alone."""
    for size in range(min(7, len(word)), 2, -1):
        if (new := endings.get(word[-size:])) is not None:
            return word[:-size] + new if _measure(word[:-size]) > 0 else word
    return word


def _strip_suffix(word: str) -> str:
    for end in _STEP_4:
        if word.endswith(end):
            cut = word[: -len(end)]
            fits = _measure(cut) > 1 and (end != "ion" or cut.endswith(("s", "t")))
            return cut if fits else word
    return word


def _strip_final_letters(word: str) -> str:
    if word.endswith("e"):
        cut = word[:-1]
        size = _measure(cut)
        if size > 1 or (size == 1 and not _ends_in_short_syllable(cut)):
            word = cut
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word
