"""Split text into search words: lower case, stems, identifiers whole and in parts, and in unspaced
scripts pairs of characters, or three in a row of an alphabet.

Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from memorist.core.language_detection import (
    detect_language_by_script,
    detect_snowball_language,
    fold_case_and_accents,
    stem_in_language,
)
from memorist.core.lazy import lazy_pattern
from memorist.core.text_analysis import parse_word_list
from memorist.core.word_stems import STEM_CACHE_SIZE, stem_word

# English words that the ranker treats specially.


QUERY_STOP_WORDS = parse_word_list(
    """
    a about after all also an and any are as at be been before being but by can could d did do
    does doing done down during each for from had has have having he her here hers him his how i
    if in into is it its just ll m many may me might mine more most much must my no nor not of on
    or other our ours out over re s shall she should since so some such t than that the their
    theirs them then there these they this those to under up us ve very was we were what when
    where which who whom whose why will with would you your yours isn didn doesn don wasn weren
    won wouldn couldn shouldn hasn haven hadn
    """
)
"""Words of a query that do not say what it is about."""

_IRREGULAR_FORMS = (
    "become became|begin began begun|bend bent|bite bit bitten|blow blew blown|break broke "
    "broken|bring brought|build built|burn burnt|buy bought|catch caught|choose chose chosen|come "
    "came|creep crept|deal dealt|dig dug|draw drew drawn|dream dreamt|drink drank drunk|drive "
    "drove driven|eat ate eaten|fall fell fallen|feed fed|feel felt|fight fought|find found|fly "
    "flew flown|forget forgot forgotten|forgive forgave forgiven|freeze froze frozen|get got "
    "gotten|give gave given|go went gone|grow grew grown|hang hung|hear heard|hide hid hidden|hold "
    "held|keep kept|know knew known|lay laid|lead led|learn learnt|leave left|lend lent|lose "
    "lost|make made|mean meant|meet met|pay paid|ride rode ridden|ring rang rung|rise rose "
    "risen|run ran|say said|see saw seen|seek sought|sell sold|send sent|shake shook shaken|shine "
    "shone|shoot shot|sing sang sung|sink sank sunk|sit sat|sleep slept|speak spoke spoken|spend "
    "spent|spring sprang|stand stood|steal stole stolen|stick stuck|strike struck|swear swore "
    "sworn|sweep swept|swim swam swum|take took taken|teach taught|tear tore torn|tell told|think "
    "thought|throw threw thrown|understand understood|wake woke woken|wear wore worn|weave wove "
    "woven|win won|write wrote written|rewrite rewrote rewritten|undo undid undone|child children "
    "kid kids|man men|woman women|person people|mouse mice|foot feet|tooth teeth|wife wives|life "
    "lives|leaf leaves|knife knives|shelf shelves|index indices|movie film films|mother mom mum "
    "mommy|father dad daddy|photo photos photograph picture pictures pic pics|bike "
    "bicycle|grandmother grandma|grandfather grandpa|tv television|database db|repository repo "
    "repos|directory dir dirs folder folders|configuration config configs|documentation "
    "docs|environment env|authentication auth|kubernetes k8s|javascript js|typescript ts"
)
BASE_FORMS = {
    form: forms.split()[0] for forms in _IRREGULAR_FORMS.split("|") for form in forms.split()[1:]
}
"""Irregular forms and a few everyday synonyms, mapped to the word they count as: no stemmer joins
`went` to `go`.
"""

TIME_EXPRESSION = lazy_pattern(
    r"\b(?:yesterday|today|tonight|tomorrow|last|next|ago|recently|since|week(?:end)?s?|"
    r"months?|years?|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|january|february|march|april|may|june|july|august|september|october|november|december|"
    r"\d+)\b",
    re.IGNORECASE,
)
"""A text that places something in time."""

TIME_QUESTION = re.compile(
    r"\bwhen\b|\bhow long\b|\b(?:what|which) (?:year|month|date|day|time)\b", re.IGNORECASE
)
"""A question about time."""


MAX_WORD_CHARS = 64
"""Characters kept of one word: longer ones are hashes and encoded data, which nobody types."""

MAX_TEXT_CHARS = 100_000
"""Characters read of one text. Up to 4,096 bytes of a memory are shown (RC-4); text far behind them
cannot be its subject.
"""

_UNSPACED_ALPHABETS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
"""Thai, Lao, Burmese, Khmer."""
_SYLLABLES_AND_SIGNS = (
    "\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Kana, bopomofo, Chinese characters, Hangul."""
_UNSPACED_SCRIPTS = _UNSPACED_ALPHABETS + _SYLLABLES_AND_SIGNS
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a"
    "\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u07a6-\u07b0"
    "\u0900-\u0963\u0971-\u09e5\u09fe-\u0a65\u0a70-\u0ae5\u0afa-\u0b65\u0b71-\u0be5\u0c00-\u0c65"
    "\u0c80-\u0ce5\u0d00-\u0d65\u0d80-\u0de5\u200c\u200d"
)
"""Signs that stand on a letter or join two, and the letters of the scripts of India among which
they are: a word goes on there, which for a regular expression ends.
"""
_LETTERS = rf"[^\W_](?:[^\W_]|[{_MARKS}])*"

_WORD_RUN = lazy_pattern(rf"([{_UNSPACED_SCRIPTS}]+)|({_LETTERS}(?:[_./:\\-]+{_LETTERS})*)")
_ASCII_WORD_RUN = lazy_pattern(r"([^\W_]+(?:[_./:\\-]+[^\W_]+)*)", re.ASCII)
_UNSPACED_RUN = lazy_pattern(f"[{_UNSPACED_SCRIPTS}]+")
_ALPHABET_RUN = lazy_pattern(f"([{_UNSPACED_ALPHABETS}]+)")
_CLUSTER = lazy_pattern(
    "[\u0e40-\u0e44\u0ec0-\u0ec4]?."
    "[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u1056-\u109d\u17b4-\u17d3]*"
)
"""A letter of an unspaced alphabet with what is written before, on and below it."""
LETTERS_PER_CLUSTER = 3
"""Letters in a row that are searched for: a word of these languages has three to nine, and two are
in any text.
"""
_ALPHANUMERIC_RUN = lazy_pattern(_LETTERS)
_CAMEL_CASE_BREAK = lazy_pattern(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PATH_SEPARATOR = lazy_pattern(r"[./:\\]+")


def extract_words_with_keys(text: str) -> Iterator[tuple[str, str]]:
    """Yield every word of the text, in order, as its search key and as it is spelled.

    A word of a text in a language other than English is followed by its stem there.
    """
    language = detect_snowball_language(text)
    for key, spelled in _extract_words(text):
        yield key, spelled
        if language != "english" and spelled.isalpha() and not _UNSPACED_RUN.search(spelled):
            stem = stem_in_language(spelled, language)
            if stem != key:
                yield stem, spelled


def _extract_words(text: str) -> Iterator[tuple[str, str]]:
    text = text[:MAX_TEXT_CHARS]
    if text.isascii():
        for run in _ASCII_WORD_RUN.findall(text):
            yield from _identifier_words(run)
        return
    text = unicodedata.normalize("NFKC", text)
    for match in _WORD_RUN.finditer(text):
        unspaced, spaced = match.groups()
        if unspaced:
            yield from _unspaced_words(unspaced)
        elif _UNSPACED_RUN.search(spaced):
            for part in re.split(f"([{_UNSPACED_SCRIPTS}]+)", spaced):
                yield from (
                    _unspaced_words(part)
                    if _UNSPACED_RUN.fullmatch(part)
                    else _identifier_words(part)
                )
        else:
            yield from _identifier_words(spaced)


def _unspaced_words(run: str) -> Iterator[tuple[str, str]]:
    """The words of a run without spaces, as far as they can be told."""
    for part in _ALPHABET_RUN.split(run):
        if _ALPHABET_RUN.match(part):
            letters = _CLUSTER.findall(part)
            for at in range(max(1, len(letters) - LETTERS_PER_CLUSTER + 1)):
                word = "".join(letters[at : at + LETTERS_PER_CLUSTER])[:MAX_WORD_CHARS]
                yield word, word
        else:
            yield from _character_pairs(part)


def _character_pairs(run: str) -> Iterator[tuple[str, str]]:
    """Yield single characters and adjacent pairs: a single one can be searched for, and a pair
    means more.
    """
    for at, character in enumerate(run):
        yield character, character
        if at + 1 < len(run):
            yield run[at : at + 2], run[at : at + 2]


@lru_cache(STEM_CACHE_SIZE)
def _identifier_words(run: str) -> tuple[tuple[str, str], ...]:
    """Split a word or identifier into its parts and the joined whole, so that `readAll`, `read_all`
    and `read-all` match.
    """
    if run.isalpha() and (run.islower() or run.istitle()):
        return ((make_search_key(run), run),)
    found = []
    segments = [segment for segment in _PATH_SEPARATOR.split(run) if segment]
    for segment in segments:
        parts = [
            part
            for piece in _ALPHANUMERIC_RUN.findall(segment)
            for part in _CAMEL_CASE_BREAK.split(piece)
            if part
        ]
        found += [(make_search_key(part), part) for part in parts]
        if len(parts) > 1:
            found.append((_join_identifier(segment), segment))
    if len(segments) > 1:
        found.append((_join_identifier(run), run))
    return tuple(found)


def count_unspaced_letters(text: str) -> int:
    """The number of letters of a text in scripts that part no words."""
    return sum(map(len, _UNSPACED_RUN.findall(text)))


def make_search_key(word: str) -> str:
    """The search key of one plain word: folded, mapped to its base form if irregular, stemmed."""
    if language := detect_language_by_script(word):
        return stem_in_language(word[:MAX_WORD_CHARS], language)
    folded = fold_case_and_accents(word)[:MAX_WORD_CHARS]
    return stem_word(BASE_FORMS.get(folded, folded))


def _join_identifier(run: str) -> str:
    return fold_case_and_accents("".join(_ALPHANUMERIC_RUN.findall(run)))[:MAX_WORD_CHARS]
