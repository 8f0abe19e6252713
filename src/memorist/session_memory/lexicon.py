"""Words, identifiers and token estimates for weighing notes. Pure, and cheap: it runs on every
sentence of a session.
"""

from __future__ import annotations

import re
from string import ascii_letters, ascii_lowercase

from msgspec import Struct

from memorist.core.later import late_pattern

STEM_LENGTH = 6
"""Letters of a word that count: inflections of a word coincide, without a stemmer."""

STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        about after again against already also although always another because been before being below between both came cannot comes
        could does doing done down during each either else even ever every from further gets give goes going gone good have having
        here hers herself himself however into itself just know left less like look made make many maybe might more most much must
        need never next nothing okay once only onto other ours over perhaps please quite rather really right same seem seems shall
        should since some something still such sure take than thank thanks that them then there therefore these they thing things
        this those though through thus together under until upon very want wants well were what when where whether which while whom
        whose will with within without would your yours yourself
        """,
    )
)
"""Words without content in an account of work; words of three letters or fewer never count."""

CUE_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        because since cause caused causes causing reason root problem issue bug turns means instead rather but however only never
        always must require requires required need needs should already existing unrelated work works fail fails failed failing
        broken stale confirm confirms confirmed verified fix fixed fixes not longer without unless depends expects same matches
        consistent pattern convention pass passes passing clean
        """,
    )
)
"""Words that indicate a cause, a rule or a result rather than a description."""

NAME_LENGTH = 200
"""Characters of one word that are searched for names."""

DOUBT_WORDS = frozenset(
    {"might", "maybe", "possibly", "probably", "perhaps", "seems", "seem", "suspect", "wonder", "guess", "unsure", "hmm"}
)
"""Words by which a writer expresses doubt."""

SHORT_WORD = 3
"""Words of so many letters or fewer carry no content."""

KNOWN_WORDS = 16_384
"""Size of the word cache: a user's vocabulary and a project's names. A few megabytes at most."""

KNOWN_LENGTH = 64
"""Letters above which a word is not cached: it hardly repeats."""

_CUE, _DOUBT = 1, 2
_NO_NAMES: frozenset[str] = frozenset()
_WORD = late_pattern(r"[a-z]{3,}")
_NAME = late_pattern(
    r"(?:(?:~|\.{1,2})?/)?[A-Za-z_@.][\w@-]*(?:(?:/|\.|::|->|#|:)[\w@*-]+)+"  # paths, members, places
    r"|[A-Za-z]+_\w+|_\w{2,}"  # snake_case
    r"|[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*|[A-Z]{2,}[a-z]\w+"  # camelCase, PascalCase, HTTPServer
    r"|[a-z]{2,}\d\w*|\d+[a-f][0-9a-f]{5,}|[a-f]+\d[0-9a-f]{5,}"  # name1, hashes
)
_SHAPED = late_pattern(r"[_/.:#>0-9]|[a-z][A-Z]|[A-Z][A-Z][a-z]")
"""A word that matches none of these cannot contain a name."""
_TICKED = late_pattern(r"`([^`\n]{2,80})`")
_AROUND = "`'\"()[]{},;!?.…“”‘’*<>="
_LOWER = ascii_lowercase.encode()
_LETTERS = ascii_letters.encode()
_TOKENS_PER_LOWER = 0.228
_TOKENS_PER_UPPER = 0.402
_TOKENS_PER_SIGN = 0.557
_TOKENS_PER_SPACE = 0.012


class Reading(Struct, frozen=True, gc=False):
    """The content of a text: its content words, its identifiers, and whether it indicates causes or
    doubts.
    """

    stems: frozenset[str]
    """Content words, lower case, cut to their first letters."""
    names: tuple[str, ...]
    """Identifiers and paths, in order, each once: text in back-ticks, and words shaped like code.
    """
    cue: bool
    doubt: bool


def read(text: str) -> Reading:
    """Analyze a text. Words seen before are cached, so that a sentence costs little more than its
    splitting.
    """
    content: set[str] = set()
    found: dict[str, None] = dict.fromkeys(map(str.strip, _TICKED.findall(text))) if "`" in text else {}
    marks = 0
    for word in dict.fromkeys(map(_WORDS.__getitem__, text.split())):
        if isinstance(word, str):
            content.add(word)
        else:
            content.update(word.stems)
            found.update(word.names)
            marks |= word.mark
    content.discard("")
    return Reading(frozenset(content), tuple(found), bool(marks & _CUE), bool(marks & _DOUBT))


def names(text: str) -> tuple[str, ...]:
    """The identifiers and paths in a text, as in `TextContent.names`."""
    return read(text).names


class Word(Struct, frozen=True, gc=False, eq=False):
    """An analyzed token that is more than a plain word: its stems, its names (as keys, in order),
    and its flags.
    """

    stems: tuple[str, ...]
    names: dict[str, None]
    mark: int


def _taken_apart(token: str) -> Word | str:
    """Analyze a whitespace-separated token: the stem of a plain word (empty where it carries no
    content), or everything else it holds.
    """
    bare = token.strip(_AROUND)
    if bare.isalpha() and bare.isascii() and bare[1:].islower():
        word = bare.lower()
        stem = "" if len(word) <= SHORT_WORD or word in STOP_WORDS else word[:STEM_LENGTH]
        mark = (_CUE if word in CUE_WORDS else 0) | (_DOUBT if word in DOUBT_WORDS else 0)
        return Word((stem,) if stem else (), {}, mark) if mark else stem
    plain = _WORD.findall(token.lower())
    mark = (0 if CUE_WORDS.isdisjoint(plain) else _CUE) | (0 if DOUBT_WORDS.isdisjoint(plain) else _DOUBT)
    stems = tuple([word[:STEM_LENGTH] for word in plain if len(word) > SHORT_WORD and word not in STOP_WORDS])
    found = dict.fromkeys(_names_in(bare))
    return Word(stems, found, mark) if found or mark or len(stems) > 1 else "".join(stems)


class _Known(dict[str, Word | str]):
    """Cache of analyzed tokens: memoizes a pure function, emptied when full."""

    def __missing__(self, token: str) -> Word | str:
        if len(self) >= KNOWN_WORDS:
            self.clear()
        found = _taken_apart(token[:NAME_LENGTH])
        if len(token) <= KNOWN_LENGTH:
            self[token] = found
        return found


_WORDS = _Known()


def _names_in(bare: str) -> tuple[str, ...]:
    if len(bare) <= 2 or bare.isdigit() or (bare.isalpha() and (bare[1:].islower() or bare.isupper())):
        return ()
    if not _SHAPED.search(bare):
        return ()
    return tuple([name.rstrip(".-:") for name in _NAME.findall(bare[:NAME_LENGTH]) if name[0] != "." or not name[1:2].isdigit()])


def name_keys(found: tuple[str, ...]) -> frozenset[str]:
    """Names in the form in which they are compared: a path by its last part, all lower case."""
    return frozenset([name.rstrip("/").rsplit("/", 1)[-1].lower() for name in found]) if found else _NO_NAMES


def token_cost(text: str) -> int:
    """Estimate the o200k tokens of a text from its character classes; about 15 % off for one line,
    2 % for a page.

    The weights are a least-squares fit over 6,000 pieces of recorded sessions.
    """
    raw = text.encode("utf-8", "replace")
    size = len(raw)
    no_lower = len(raw.translate(None, _LOWER))
    no_letters = len(raw.translate(None, _LETTERS))
    spaces = raw.count(b" ")
    weighed = (
        (size - no_lower) * _TOKENS_PER_LOWER
        + (no_lower - no_letters) * _TOKENS_PER_UPPER
        + (no_letters - spaces) * _TOKENS_PER_SIGN
        + spaces * _TOKENS_PER_SPACE
    )
    return int(weighed) + 1
