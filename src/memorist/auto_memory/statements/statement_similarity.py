"""Decide whether two statements are the same rule, and find the nearest known one (AM-12). Pure.

`is_same_rule` supports merging without review, so it says yes only where words alone prove it:
equal words up to case, punctuation, politeness, articles, plural endings, and the order of a plain
list. Any other difference, above all a negation, number, name or path, makes two rules.
`find_most_similar_text` supports looking before writing: it finds what is similar and decides nothing.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

from msgspec import Struct

from memorist.auto_memory.statements.statement_patterns import VERBS
from memorist.core.lazy import lazy_pattern
from memorist.core.text_analysis import NOTES_STOP_WORDS, STEM_LETTERS, parse_word_list

MIN_EXAMINED_JACCARD = 0.5
"""Least Jaccard similarity of two texts' content words for one to be worth examining."""

_TOKEN_PATTERN = lazy_pattern(
    r"`[^`\s]+`|[぀-ヿ㐀-䶿一-鿿]|[^\W_](?:[\w'’]|[-./\\:@#=+~&%](?=[\w/]))*[+#]*|"
    r"[-./\\~@#$%&*+<>=|^_]{1,64}+(?=\w)[\w*./\\=-]*[\w*/]|[-./\\~@#$%&*+<>=|^_]{1,64}[*/_]"
    r"|[-<>=!/\\*+#@&|^~$%_]{1,8}|[,.;:!?…—–。，；：！？]|[^\s\"'`“”‘’«»„「」『』]"
)
_CJK = lazy_pattern(r"[぀-ヿ㐀-䶿一-鿿]")
_PUNCTUATION = frozenset(",.;:!?…—–。，；：！？-")
_POLITE_WORDS = frozenset(["please", "pls", "kindly", "请", "吧"])
_ARTICLES = frozenset(["a", "an", "the"])
_LETTERED_NOUNS = parse_word_list(
    """
         option plan variant step version type class group team phase part point grade column
    """
)
_UPPERCASE_NAMES = frozenset(["US", "IT", "WHO"])
"""Names that are other words in lower case."""
_NEGATIONS = parse_word_list(
    """
         not no never nor neither without none cannot nothing nobody 不 别 没 无 勿 非
         nicht kein keine keinen keiner nie niemals ohne pas jamais sans nunca jamás não nem
         senza не нет без никогда нельзя
    """
)
_SHORT_FORMS = (
    (lazy_pattern(r"\b(?:can['’]t|cannot|can not)\b", re.IGNORECASE), "can not"),
    (lazy_pattern(r"\b(?:won['’]t)\b", re.IGNORECASE), "will not"),
    (
        lazy_pattern(
            r"\b(do|does|did|is|are|was|were|should|would|could|must|has|have|had)n['’]t\b",
            re.IGNORECASE,
        ),
        r"\1 not",
    ),
    (lazy_pattern(r"\bdont\b", re.IGNORECASE), "do not"),
    (lazy_pattern(r"\b(i|you|we|they)['’](ve|re|ll|d|m)\b", re.IGNORECASE), r"\1 '\2"),
)
_SHORTENED = frozenset(("not", "will"))
"""Words that a text may hold without their letters: `don't`, `won't`."""
_NOT_PLURAL = parse_word_list(
    """
             news always this does less goods means customs arms windows analysis alias us is was
    has its yes whereas perhaps besides         sales series species
    """
)
_BEFORE_OR_AFTER = (
    "before|after|until|instead|rather|vor|bevor|nach|nachdem|statt|avant|après|plutôt|antes|"
    "después|depois|prima|dopo|invece|до|после|перед|вместо"
)
_ORDER_MATTERS = lazy_pattern(
    rf"\b(?:{_BEFORE_OR_AFTER}|then|first|order|sequence|precede\w*|follow\w*|over|than|from|to|"
    r"into|vs|versus)\b|先|再|然后|之前|之后|而不是|到",
    re.IGNORECASE,
)
_ORDER_WORDS = frozenset(_BEFORE_OR_AFTER.split("|"))
_UNJUDGED = (
    NOTES_STOP_WORDS - _ORDER_WORDS
    | _ARTICLES
    | _POLITE_WORDS
    | parse_word_list(
        "and as at be by do for has he her his if in is it its of on or our she so they to too was we"
        " who you"
    )
)
"""Words that may stand anywhere without another sense."""


class MostSimilarText(Struct, frozen=True):
    """The most similar known text: its index in the input, and the share of common words, 0 to 1."""

    index: int
    share: float


def is_same_rule(left: str, right: str) -> bool:
    """Whether two texts state the same rule; False where in doubt.

    Two texts without any word are the same only when they are equal.
    """
    if left == right:
        return True
    mine = compute_rule_key(left)
    return (
        bool(mine)
        and extract_distinctive_stem(left) in right.casefold()
        and mine == compute_rule_key(right)
    )


@lru_cache(maxsize=2_000)
def extract_distinctive_stem(text: str) -> str:
    """A part that every text of the same rule has in small letters: the longest plain word, but for
    the letter that an ending may replace (`policy`, `policies`), and what a short form stands for
    (`won't`); empty for a text without one. Most texts are told apart by it in a hundredth of the
    time that it takes to read them.
    """
    words = (
        each
        for each in compute_rule_key(text)
        if each.isascii() and each.isalpha() and each not in _SHORTENED
    )
    return max(words, key=len, default="")[:-1].casefold()


@lru_cache(maxsize=20_000)
def compute_rule_key(text: str) -> tuple[str, ...]:
    """Return a key that texts of the same rule share, for look-ups; empty for a text without words."""
    found = _canonical_tokens(text)
    return found if any(token not in _PUNCTUATION for token in found) else ()


def find_most_similar_text(
    text: str, others: Sequence[str], *, min_share: float = MIN_EXAMINED_JACCARD
) -> MostSimilarText | None:
    """Return the first text with the greatest similarity of at least `min_share`; None where none
    is near.
    """
    words = extract_comparable_words(text)
    best: MostSimilarText | None = None
    for index, other in enumerate(others):
        share = (
            1.0
            if is_same_rule(text, other)
            else _word_overlap(words, extract_comparable_words(other))
        )
        if share >= min_share and (best is None or share > best.share):
            best = MostSimilarText(index, share)
    return best


def count_negations(text: str) -> int:
    """Count the negations in a text: `not`, `never`, `without` and the like, with short forms and
    Chinese.
    """
    return sum(token in _NEGATIONS for token in _canonical_tokens(text))


def keeps_negations_and_word_order(text: str, sentence: str) -> bool:
    """Tell whether a text that holds the words of a sentence denies the same of them, and leaves
    them in their order where the sentence speaks of one or is of a script without blanks.

    A word that the text does not hold is not judged, but for those of an order (`before`).
    """
    said, other = _split_denied(sentence), _split_denied(text)
    known = other.plain | other.denied
    if said.denied & known - other.denied or said.plain & known - other.plain:
        return False
    if not (_ORDER_MATTERS.search(sentence) or _CJK.search(sentence)):
        return True
    left = iter(other.words)
    return all(word in left for word in said.words if word in known or word in _ORDER_WORDS)


class _Denials(Struct, frozen=True):
    """The words of a text in order, and which of them stand behind a negation in their clause."""

    words: tuple[str, ...]
    plain: frozenset[str]
    denied: frozenset[str]


def _split_denied(text: str) -> _Denials:
    for pattern, full in _SHORT_FORMS:
        text = pattern.sub(full, text)
    words: list[str] = []
    behind: tuple[set[str], set[str]] = (set(), set())
    is_denied = False
    for token in _comparable_tokens(_TOKEN_PATTERN.findall(unicodedata.normalize("NFC", text))):
        if token in _PUNCTUATION:
            is_denied = False
        elif token in _NEGATIONS:
            is_denied = True
        elif token not in _UNJUDGED:
            words.append(token[:STEM_LETTERS] if token.isalpha() else token)
            behind[is_denied].add(words[-1])
    return _Denials(tuple(words), frozenset(behind[False]), frozenset(behind[True]))


def _word_overlap(left: frozenset[str], right: frozenset[str]) -> float:
    together = len(left | right)
    return len(left & right) / together if together else 0.0


def extract_comparable_words(text: str) -> frozenset[str]:
    """Return a text's content words: no politeness, no negation, and character pairs in unspaced
    scripts.
    """
    tokens = [
        token
        for token in _canonical_tokens(text)
        if token not in _PUNCTUATION and token not in _NEGATIONS
    ]
    pairs = {
        first + second
        for first, second in itertools.pairwise(tokens)
        if _CJK.match(first) and _CJK.match(second)
    }
    return frozenset(token for token in tokens if not _CJK.match(token)) | pairs


def _canonical_tokens(text: str) -> tuple[str, ...]:
    text = unicodedata.normalize("NFC", text)
    for pattern, full in _SHORT_FORMS:
        text = pattern.sub(full, text)
    tokens = list(_comparable_tokens(_TOKEN_PATTERN.findall(text)))
    while tokens and tokens[-1] in _PUNCTUATION:
        tokens.pop()
    listed = tokens if _ORDER_MATTERS.search(text) else _sort_trailing_list(tokens)
    return tuple(
        token
        for at, token in enumerate(listed)
        if token not in _PUNCTUATION or (at and listed[at - 1] in _NEGATIONS)
    )


def _comparable_tokens(tokens: Sequence[str]) -> Iterator[str]:
    """Yield comparable tokens.

    Punctuation stays for now: after a negation it changes what is negated.
    """
    for at, token in enumerate(tokens):
        word = token.strip("`") if len(token) > 2 else token
        if token in _PUNCTUATION:
            yield token
        elif not _is_polite(tokens, at):
            yield _fold_token(word, coded=word != token)


def _is_polite(tokens: Sequence[str], at: int) -> bool:
    """Whether a token is a politeness word, or an article before a word.

    A capital, or a place at the end, makes a name of an article: `plan A`, `option a`.
    """
    word = tokens[at].casefold()
    if word not in _ARTICLES:
        return word in _POLITE_WORDS
    followed = at + 1 < len(tokens) and tokens[at + 1][0].isalnum()
    named = tokens[at] == "A" and at > 0
    return followed and not named and (at == 0 or tokens[at - 1].casefold() not in _LETTERED_NOUNS)


def _fold_token(word: str, *, coded: bool) -> str:
    """Fold case and plural of a plain word; keep a name in code, with digits, signs or inner
    capitals.
    """
    if coded or not word.isalpha() or not (word.islower() or word.istitle() or word.isupper()):
        return word.replace("’", "'")
    if word in _UPPERCASE_NAMES:
        return word
    folded = word.casefold()
    if (
        not word.islower()
        or len(folded) < 4
        or folded in _NOT_PLURAL
        or folded.endswith(("ss", "us", "is"))
        or not folded.endswith("s")
    ):
        return folded
    if folded.endswith("ies") and len(folded) > 4:
        return folded[:-3] + "y"
    if folded.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return folded[:-2]
    return folded[:-1]


def _sort_trailing_list(tokens: list[str]) -> list[str]:
    """Sort a trailing list of single words, as in `red, green and blue`.

    A list of orders keeps its order, which may matter.
    """
    joints = {"and", "or", "&", "和", "或"}
    if len(tokens) < 3 or tokens[-2] not in joints:
        return tokens
    items = [tokens[-1], tokens[-3]]
    at = len(tokens) - 3
    if at and tokens[at] == ",":
        items, at = [tokens[-1], tokens[at - 1]], at - 1
    while at >= 2 and tokens[at - 1] == ",":
        at -= 2
        items.append(tokens[at])
    plain = all(
        item not in _PUNCTUATION | _NEGATIONS | joints
        and item not in VERBS
        and not _CJK.match(item)
        for item in items
    )
    return [*tokens[:at], tokens[-2], *sorted(items)] if plain else tokens
