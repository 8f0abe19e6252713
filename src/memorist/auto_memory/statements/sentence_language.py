"""Whether a sentence in Latin letters is English. Pure."""

from __future__ import annotations

_ENGLISH_TABLE = """
the and of to for with not be is are all any from that this it use when you your if only always
never before after by on in at as or an each every should must do
"""
_OTHER_TABLE = """
der das den dem und nicht ist sind wird werden ein eine einen einem keine keinen mit auf bei von zu zum zur im nur wenn sich oder
immer nie alle jede jeder neue soll sollen muss auch vor nach
le la les des du et ne pas un une pour dans avec sans sur est sont ou en au aux que si toujours jamais
el los las del y sin con para por lo al es son una se siempre nunca cada todos todas solo sobre antes
os da dos das e sem com em um uma ao ser sempre apenas nos na de
"""
"""Frequent words of the other languages that are written in plain Latin letters."""
_ENGLISH_WORDS, _OTHER_WORDS = (frozenset(each.split()) for each in (_ENGLISH_TABLE, _OTHER_TABLE))


def is_english(words: list[str]) -> bool:
    """Whether words in lower case are read as English: at most one in twelve is another language's, or
    they hold more of its frequent words.
    """
    other = sum(word in _OTHER_WORDS or not word.isascii() for word in words)
    return 12 * other <= len(words) or other < sum(word in _ENGLISH_WORDS for word in words)


def count_supported_language_words(words: list[str]) -> int:
    """How many of the words in lower case are frequent ones of the languages that rules read."""
    return sum(word in _ENGLISH_WORDS or word in _OTHER_WORDS for word in words)
