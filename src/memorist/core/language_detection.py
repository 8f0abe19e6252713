"""The language of a text, for search: its commonest words and its stems. Pure.

English is stemmed in `memorist.core.search_words`. A text in another language that is recognised
gets a second key for each word, its stem there, so that `Rechnungen` is found by `Rechnung`; a text
too short to be recognised still matches by either. Stems are Snowball's (package
`snowballstemmer`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache
from importlib import import_module

from memorist.core.lazy import lazy_pattern

STEM_CACHE_SIZE = 65_536
MIN_COMMON_WORDS = 2
"""Common words of a language that a text holds at least before it is taken to be in it."""
MAX_DETECTED_CHARS = 2_000
"""Characters at a text's beginning that its language is recognised by."""

_COMMON = {
    "english": "the and to of is in it you that for on with are this be have not we do as if can "
    "what how from but at or an all will there when which",
    "german": "der die das und ist nicht ein eine einen wir ich zu auf mit von den dem des im für "
    "wie was wird werden sind auch oder bei nach aus noch nur kein keine haben hat soll mal bitte",
    "french": "le la les des et est une un dans pour pas que qui sur avec ce cette nous vous je il "
    "du au aux ne se sont comment quoi faut être ou mais par plus tout",
    "spanish": "el la los las de que y en un una es por con para no se lo como del al más pero sus "
    "este esta cómo qué hay está son todo todos cuando nunca siempre",
    "portuguese": "o a os as de que e em um uma é por com para não se como do da dos das no na "
    "mais "
    "mas este esta isso está são todo quando nunca sempre você",
    "italian": "il lo la gli le di che e in un una è per con non si come del della dei al più ma "
    "questo questa sono tutto quando mai sempre anche nel",
    "dutch": "de het een en is niet van in op met voor dat die te aan zijn we ik wij er maar ook "
    "naar bij hoe wat wordt worden geen moet dit",
    "swedish": "och att det som en ett är inte på för med av den vi jag till har om kan ska när "
    "hur",
    "polish": "i w na nie to się jest z do że jak o dla po co czy ale przez są być tylko",
    "turkish": "ve bir bu için ile da de ne nasıl değil mi var olarak gibi daha çok ama",
    "finnish": "ja ei se että ovat mutta kun jos tai myös niin kuin vain mitä missä milloin miten "
    "miksi kuka tämä olla aina koskaan minä",
    "danish": "og det er på ikke af den vi jeg til har om kan skal når hvor hvornår hvordan hvad "
    "et fra bliver",
    "norwegian": "og det er på ikke av den vi jeg til har om kan skal når hvor hvordan hva et som "
    "fra blir",
    "czech": "se je že pro jak kde kdy ale nebo jsou které už jen tak vždy nikdy máme",
    "hungarian": "az és hogy nem egy van meg csak mit hol mikor hogyan vagy kell ez azt vannak "
    "mindig soha",
    "romanian": "și în la cu pe nu este un să din pentru sunt cum unde când sau dar",
    "indonesian": "yang dan ini itu dengan untuk dari tidak pada adalah kita kami bagaimana kapan "
    "selalu jangan",
    "hindi": "का के की है में को से और हैं पर यह वह नहीं तो ही भी कि एक जो क्या कब कहाँ कैसे हम आप था थी थे "
    "किया जाता जाती जाते रहा हो करना लिए",
    "arabic": "في من على إلى أن هذا هذه ما هو هي لا كان مع عن التي الذي كل متى أين كيف هل نحن",
    "greek": "και το η ο να τα της του είναι για με σε που δεν στο στη τι πώς πού πότε",
    "russian": "и в не на что с это как по для мы я из у к но а все так же если или при нужно надо "
    "быть только когда",
}  # fmt: skip
_OWN_LETTERS = {
    "polish": lazy_pattern("[łąęśźż]"),
    "czech": lazy_pattern("[ěřů]"),
    "hungarian": lazy_pattern("[őű]"),
    "romanian": lazy_pattern("[țţ]"),
    "turkish": lazy_pattern("[ğış]"),
}
"""Letters of a language that hardly another one has: a word with one counts as a common word."""
_FINNISH_ENDINGS = ("ssa", "ssä", "sta", "stä", "lla", "llä", "lta", "ltä", "aan", "ään", "isin")
"""Endings of Finnish, whose words are long and seldom common: a word with one counts as one."""
MIN_FINNISH_LETTERS = 6
"""Letters of a word whose ending counts."""
COMMON_WORDS = {language: frozenset(words.split()) for language, words in _COMMON.items()}
"""Words of each language that say nothing of what a text is about."""
_LANGUAGES_OF_WORD = {
    word: tuple(language for language, common in COMMON_WORDS.items() if word in common)
    for word in frozenset().union(*COMMON_WORDS.values())
}
_SCRIPTS = (
    (lazy_pattern("[\u0400-\u04ff]"), "russian"),
    (lazy_pattern("[\u0370-\u03ff]"), "greek"),
    (lazy_pattern("[\u0600-\u06ff]"), "arabic"),
    (lazy_pattern("[\u0530-\u058f]"), "armenian"),
    (lazy_pattern("[\u0900-\u097f]"), "hindi"),
    (lazy_pattern("[\u0b80-\u0bff]"), "tamil"),
)
"""Scripts that tell the language by themselves, nearly always."""
_WORD = lazy_pattern("(?:[^\\W\\d_]|[\u0900-\u0963])+")
_COMBINING_ACCENT = lazy_pattern(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u200c\u200d]"
)
"""Accents, the vowel signs of Hebrew and Arabic, which are seldom written, and joiners."""


def detect_snowball_language(text: str) -> str:
    """Return the language of a text, as Snowball calls it; `english` where in doubt."""
    lowered = text[:MAX_DETECTED_CHARS].lower()
    words = set(_WORD.findall(lowered))
    counts = dict.fromkeys(COMMON_WORDS, 0)
    for word in words & _LANGUAGES_OF_WORD.keys():
        for language in _LANGUAGES_OF_WORD[word]:
            counts[language] += 1
    counts["finnish"] += sum(
        word.endswith(_FINNISH_ENDINGS) and len(word) >= MIN_FINNISH_LETTERS for word in words
    )
    if not lowered.isascii():
        for language, letters in _OWN_LETTERS.items():
            if letters.search(lowered):
                counts[language] += sum(letters.search(word) is not None for word in words)
    best = max(counts, key=lambda language: counts[language])
    return best if counts[best] >= max(MIN_COMMON_WORDS, counts["english"] + 1) else "english"


def detect_language_by_script(word: str) -> str:
    """Return the language that a word's script tells; empty for Latin and unknown ones."""
    if word.isascii():
        return ""
    return next((language for script, language in _SCRIPTS if script.search(word)), "")


def fold_case_and_accents(word: str) -> str:
    """Fold case and strip accents."""
    if word.isascii():
        return word.lower()
    return _COMBINING_ACCENT.sub("", unicodedata.normalize("NFD", word.casefold()))


@lru_cache(STEM_CACHE_SIZE)
def stem_in_language(word: str, language: str) -> str:
    """Return the folded stem of a word of this language."""
    find_stem = _make_stemmer(language)
    stem = find_stem(word.lower())
    if language == "russian":  # takes an ending off `коммит` that it leaves on `коммиты`
        stem = find_stem(stem)
    return fold_case_and_accents(stem)


def _make_stemmer(language: str) -> Callable[[str], str]:
    """A stemmer for one caller: it keeps the word that it works on in itself, so that two threads
    with one would spoil each other's stems, which are cached.
    """
    stem: Callable[[str], str] = import_module("snowballstemmer").stemmer(language).stemWord
    return stem


@cache
def list_non_english_common_words() -> frozenset[str]:
    """Search keys of the common words of all languages but English."""
    return frozenset(
        key
        for language, words in COMMON_WORDS.items()
        if language != "english"
        for word in words
        for key in (fold_case_and_accents(word), stem_in_language(word, language))
    ) - {fold_case_and_accents(word) for word in COMMON_WORDS["english"]}
