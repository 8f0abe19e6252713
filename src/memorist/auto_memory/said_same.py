"""When two sayings are the same rule, and which of the known ones is nearest (AM-12). Pure.

`same_rule` is for merging without looking, so it answers yes only where words alone prove it: the same words but for case, punctuation,
politeness, articles, plural endings, and the order of a plain list. Any other difference, a negation, a number, a name or a path above all,
makes two rules of them. `nearest` is for looking before writing: it finds what is alike and decides nothing.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterator, Sequence

from msgspec import Struct

from memorist.auto_memory.said_words import VERB
from memorist.core.later import late_pattern

ALIKE = 0.5
"""The least share of content words two texts have in common, over those they have together, for one to be worth a look."""

_TOKEN = late_pattern(
    r"`[^`\s]+`|[぀-ヿ㐀-䶿一-鿿]|[^\W_](?:[\w'’]|[-./\\:@#=+~&%](?=[\w/]))*[+#]*|[-./\\~@#$%&*+<>=|^_]+[\w*./\\=-]*[\w*/]"
    r"|[-<>=!/\\*+#@&|^~$%_]{1,8}|[,.;:!?…—–。，；：！？]|[^\s\"'`“”‘’«»„「」『』]"
)
_LONG = 5
"""Letters of a word that no short form (`won't`, `dont`) stands for."""
_CJK = late_pattern(r"[぀-ヿ㐀-䶿一-鿿]")
_PUNCTUATION = frozenset(",.;:!?…—–。，；：！？-")
_POLITE = frozenset(["please", "pls", "kindly", "请", "吧"])
_ARTICLES = frozenset(["a", "an", "the"])
_LETTERED = frozenset(
    ["option", "plan", "variant", "step", "version", "type", "class", "group", "team", "phase", "part", "point", "grade", "column"]
)
_SHOUTED = frozenset(["US", "IT", "WHO"])
"""Names that are other words in small letters."""
_NEGATIONS = frozenset(
    ["not", "no", "never", "nor", "neither", "without", "none", "cannot", "nothing", "nobody", "不", "别", "没", "无", "勿", "非"]
)
_SHORT_FORMS = (
    (late_pattern(r"\b(?:can['’]t|cannot|can not)\b", re.IGNORECASE), "can not"),
    (late_pattern(r"\b(?:won['’]t)\b", re.IGNORECASE), "will not"),
    (late_pattern(r"\b(do|does|did|is|are|was|were|should|would|could|must|has|have|had)n['’]t\b", re.IGNORECASE), r"\1 not"),
    (late_pattern(r"\bdont\b", re.IGNORECASE), "do not"),
    (late_pattern(r"\b(i|you|we|they)['’](ve|re|ll|d|m)\b", re.IGNORECASE), r"\1 '\2"),
)
_NOT_PLURAL = frozenset(
    re.findall(
        r"\w+",
        """
        news always this does less goods means customs arms windows analysis alias us is was has its yes whereas perhaps besides
        sales series species
        """,
    )
)
_SEQUENCE = late_pattern(
    r"\b(?:then|first|before|after|order|sequence|precede\w*|follow\w*|over|than|from|to|into|vs|versus|instead|rather)\b|先"
    r"|再|然后|之前|之后|而不是|到",
    re.IGNORECASE,
)
_ORDERING = late_pattern(VERB + r"\Z")


class Nearest(Struct, frozen=True):
    """The known text that is most alike: its place in what was given, and the share of words in common, from 0 to 1."""

    index: int
    share: float


def same_rule(left: str, right: str) -> bool:
    """Whether two texts say the same by rule. False where in doubt; two texts without any word are the same only when they are equal."""
    if left == right:
        return True
    mine = rule_key(left)
    return bool(mine) and mine == rule_key(right)


def rule_key(text: str) -> tuple[str, ...]:
    """What two texts that are the same rule have in common, to find one among many; empty for a text without any word, which is only itself."""
    found = _canonical(text)
    return found if any(token not in _PUNCTUATION for token in found) else ()


def telling(text: str) -> str:
    """Letters that stand in every text of the same rule, once case is folded: its longest word, without the end that a plural changes. To look for
    before comparing with thousands of texts, which costs a thousand times more; empty where nothing is certain.
    """
    words = [token.casefold() for token in _canonical(text) if token.isalpha() and len(token) >= _LONG]
    return max((word.removesuffix("y") for word in words), key=len, default="")


def nearest(text: str, others: Sequence[str], *, least: float = ALIKE) -> Nearest | None:
    """The first of the texts that has most in common with this one, if that is at least `least`; None where none is near."""
    words = content_words(text)
    best: Nearest | None = None
    for index, other in enumerate(others):
        share = 1.0 if same_rule(text, other) else _share(words, content_words(other))
        if share >= least and (best is None or share > best.share):
            best = Nearest(index, share)
    return best


def negations(text: str) -> int:
    """How many times a text says no: `not`, `never`, `without` and the like, short forms and Chinese among them."""
    return sum(token in _NEGATIONS for token in _canonical(text))


def _share(left: frozenset[str], right: frozenset[str]) -> float:
    together = len(left | right)
    return len(left & right) / together if together else 0.0


def content_words(text: str) -> frozenset[str]:
    """What a text is about: words without politeness and negation, and pairs of neighbours in scripts without spaces."""
    tokens = [token for token in _canonical(text) if token not in _PUNCTUATION and token not in _NEGATIONS]
    pairs = {first + second for first, second in itertools.pairwise(tokens) if _CJK.match(first) and _CJK.match(second)}
    return frozenset(token for token in tokens if not _CJK.match(token)) | pairs


def _canonical(text: str) -> tuple[str, ...]:
    text = unicodedata.normalize("NFC", text)
    for pattern, full in _SHORT_FORMS:
        text = pattern.sub(full, text)
    tokens = list(_meaningful(_TOKEN.findall(text)))
    while tokens and tokens[-1] in _PUNCTUATION:
        tokens.pop()
    listed = tokens if _SEQUENCE.search(text) else _list_in_order(tokens)
    return tuple(token for at, token in enumerate(listed) if token not in _PUNCTUATION or (at and listed[at - 1] in _NEGATIONS))


def _meaningful(tokens: Sequence[str]) -> Iterator[str]:
    """Tokens as they are compared. Punctuation stays for now: after a negation it changes what is negated."""
    for at, token in enumerate(tokens):
        word = token.strip("`") if len(token) > 2 else token
        if token in _PUNCTUATION:
            yield token
        elif not _is_polite(tokens, at):
            yield _folded(word, coded=word != token)


def _is_polite(tokens: Sequence[str], at: int) -> bool:
    """A word of politeness; an article before a word. A capital or a place at the end makes a name of it: `plan A`, `option a`."""
    word = tokens[at].casefold()
    if word not in _ARTICLES:
        return word in _POLITE
    followed = at + 1 < len(tokens) and tokens[at + 1][0].isalnum()
    named = tokens[at] == "A" and at > 0
    return followed and not named and (at == 0 or tokens[at - 1].casefold() not in _LETTERED)


def _folded(word: str, *, coded: bool) -> str:
    """A plain word without case and plural; a name in code, with digits, signs or capitals inside, as it is."""
    if coded or not word.isalpha() or not (word.islower() or word.istitle() or word.isupper()):
        return word.replace("’", "'")
    if word in _SHOUTED:
        return word
    folded = word.casefold()
    if not word.islower() or len(folded) < 4 or folded in _NOT_PLURAL or folded.endswith(("ss", "us", "is")) or not folded.endswith("s"):
        return folded
    if folded.endswith("ies") and len(folded) > 4:
        return folded[:-3] + "y"
    if folded.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return folded[:-2]
    return folded[:-1]


def _list_in_order(tokens: list[str]) -> list[str]:
    """A list of single words at the end, as in `red, green and blue`, sorted; a list of orders keeps its order, which may matter."""
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
    plain = all(item not in _PUNCTUATION | _NEGATIONS | joints and not _ORDERING.match(item) and not _CJK.match(item) for item in items)
    return [*tokens[:at], tokens[-2], *sorted(items)] if plain else tokens
