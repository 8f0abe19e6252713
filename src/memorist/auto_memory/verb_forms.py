"""Fold the forms of a verb that a negation changes: `toca` and `no toques`, 고쳐 and 고치지 마.

Pure. A folded word is no stem of grammar: it is what the forms of one verb share, and other words
of the same letters share it, too. So it counts only where all other words of a clause are the same.
"""

from __future__ import annotations

from functools import lru_cache

from memorist.core.lazy import lazy_pattern
from memorist.core.text_analysis import parse_word_list

# Korean: the last syllable takes up the ending.

_FIRST_SYLLABLE, _LAST_SYLLABLE = 0xAC00, 0xD7A3
_FINALS, _VOWELS = 28, 21
_FINAL_N, _FINAL_L, _FINAL_B = 4, 8, 17
_UNCONTRACTED = {6: 20, 14: 13, 9: 8}
"""Vowels that hold an ending, and the stem's own: 고쳐 is of 고치, 바꿔 of 바꾸, 봐 of 보."""
_KOREAN_NOUN_VERB = lazy_pattern(
    r"(?:하(?:지|세요|십시오|라|자|도록|는|면)?|합니다|합시다|한다|할|해(?:라|줘|요|야|도|주세요)?)\Z"
)
_KOREAN_ENDING = lazy_pattern(r"(?:지|(?:으)?(?:세요|십시오|면)|습니다|는다|도록|자)\Z")
_KOREAN_REQUEST = lazy_pattern(r"(?<=[가-힣])(?:라|줘|요|야|도)\Z")


def fold_korean_verb(word: str) -> str:
    """A word without the ending of a verb; empty where it is nothing else, such as 해줘."""
    noun = _KOREAN_NOUN_VERB.sub("", word)
    if noun != word:
        return noun
    stem = _KOREAN_ENDING.sub("", word)
    if stem == word and word.endswith(("니다", "다")) and len(word) > 1:
        stem = _drop_final(word.removesuffix("다").removesuffix("니"), (_FINAL_B, _FINAL_N))
    if stem == word:
        stem = _open_contraction(_KOREAN_REQUEST.sub("", word))
    return word if stem == word else _drop_final(stem, (_FINAL_L,)) or word


def _drop_final(text: str, finals: tuple[int, ...]) -> str:
    """The text without the final consonant of its last syllable, where it is one of these."""
    at = ord(text[-1]) - _FIRST_SYLLABLE if text else -1
    if not 0 <= at <= _LAST_SYLLABLE - _FIRST_SYLLABLE or at % _FINALS not in finals:
        return text
    return text[:-1] + chr(ord(text[-1]) - at % _FINALS)


def _open_contraction(text: str) -> str:
    """The stem of 고쳐, 바꿔 and 넣어."""
    if len(text) < 2:
        return text
    if text[-1] in "어아":
        return text[:-1]
    initial, rest = divmod(ord(text[-1]) - _FIRST_SYLLABLE, _VOWELS * _FINALS)
    vowel, final = divmod(rest, _FINALS)
    if final or vowel not in _UNCONTRACTED:
        return text
    return text[:-1] + chr(_FIRST_SYLLABLE + (initial * _VOWELS + _UNCONTRACTED[vowel]) * _FINALS)


# Japanese: kana behind the last sign of the verb.

_JAPANESE_ENDING = lazy_pattern(
    r"(?<=[一-鿿ァ-ヶー々])(?:する|しろ|せよ|[しさ])\Z|[いきぎしちにびみり]る\Z|(?<=[えけげせぜてでねべめれ])る\Z"
    r"|(?<=[ぁ-ゖ一-鿿々])[うくぐすつぬぶむるわかがさたなばまらいきぎしちにびみりっん]\Z"
)


def fold_japanese_verb(word: str) -> str:
    """A word without the ending of a verb; empty where it is nothing else."""
    verb = _JAPANESE_FRAME.sub("", word)
    return "" if verb in _JAPANESE_AUXILIARIES else _JAPANESE_ENDING.sub("", verb)


_JAPANESE_FRAME = lazy_pattern(r"(?:こと|ように?)(?:する|し)?\Z")
_JAPANESE_AUXILIARIES = frozenset(("", "する", "し", "さ"))

# Languages of Latin letters: an order changes its last letters.

_VERB_ENDING = lazy_pattern(
    r"(?<=\w\w)(?:[aáàâeéêo]s?|[ae]n|[ae]m|[aeiáéí]r|[aei]mos|[áaéei]is|(?<=e[lr])n)\Z"
)
_LAST_LETTERS = (("qu", "c"), ("gu", "g"), ("ç", "c"), ("z", "c"), ("j", "g"))
"""How a verb's stem is written before `e` or `a`, and how before the other: `toca`, `no toques`."""


@lru_cache(maxsize=20_000)
def fold_european_verb(word: str) -> str:
    """A verb of a European language without the ending that tells an order from a ban."""
    stem = _VERB_ENDING.sub("", word)
    for ending, plain in _LAST_LETTERS:
        if stem.endswith(ending):
            return stem.removesuffix(ending) + plain
    return stem


def cut_verb_to_common_stem(word: str) -> str:
    """The beginning that all forms of a verb have: `to` of `toca` and `no toques`."""
    if "가" <= word[-1] <= "힣":
        return word[:-1] or word
    stem = _VERB_ENDING.sub("", word)
    for ending in ("qu", "gu", "ç", "z", "j", "c", "g"):
        stem = stem.removesuffix(ending)
    return stem or word


SEPARABLE = parse_word_list(
    "ab an auf aus bei ein fest her hin hinzu los mit nach um vor weg zu zurück"
)
"""What stands apart from a German verb in an order: `lege … an`, but `anlegen`."""
_LAST_PARTICLE = lazy_pattern(rf"\s({'|'.join(sorted(SEPARABLE))})\W*\Z")
_PREFIXED = lazy_pattern(rf"({'|'.join(sorted(SEPARABLE, key=len, reverse=True))})(\w{{3,}})\Z")


def find_separated_verb_prefix(clause: str) -> str:
    """What a clause ends with of a German verb that is apart; empty for none."""
    found = _LAST_PARTICLE.search(clause)
    return found[1] if found else ""


def split_separable_verb_prefix(word: str) -> tuple[str, str]:
    """The part of a German verb that can stand apart, and the rest; empty where there is none."""
    found = _PREFIXED.match(word)
    return (found[1], found[2]) if found else ("", "")
