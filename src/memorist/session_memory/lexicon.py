"""What counts as a word, as a name, and as a token when notes are weighed. Pure, and cheap: it runs on every sentence of a session."""

from __future__ import annotations

import re
from collections.abc import Collection
from string import ascii_letters, ascii_lowercase

STEM_LENGTH = 6
"""Letters of a word that count: inflections of one word fall together, without a stemmer."""

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
"""Words that carry no content in an account of work; words of three letters and fewer never count."""

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
"""Words by which a sentence gives a cause, a rule or a result rather than a description."""

NAME_LENGTH = 200
"""Characters of one word that are looked at for names."""

DOUBT_WORDS = frozenset(
    {"might", "maybe", "possibly", "probably", "perhaps", "seems", "seem", "suspect", "wonder", "guess", "unsure", "hmm"}
)
"""Words by which a writer says that he is not sure."""

SHORT_WORD = 3
"""Words of so many letters carry no content."""

_WORD = re.compile(r"[a-z]{3,}")
_NAME = re.compile(
    r"(?:(?:~|\.{1,2})?/)?[A-Za-z_@.][\w@-]*(?:(?:/|\.|::|->|#|:)[\w@*-]+)+"  # paths, members, places
    r"|[A-Za-z]+_\w+|_\w{2,}"  # snake_case
    r"|[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*|[A-Z]{2,}[a-z]\w+"  # camelCase, PascalCase, HTTPServer
    r"|[a-z]{2,}\d\w*|\d+[a-f][0-9a-f]{5,}|[a-f]+\d[0-9a-f]{5,}"  # name1, hashes
)
_TICKED = re.compile(r"`([^`\n]{2,80})`")
_AROUND = "`'\"()[]{},;!?.…“”‘’*<>="
_LOWER = ascii_lowercase.encode()
_LETTERS = ascii_letters.encode()
_TOKENS_PER_LOWER = 0.228
_TOKENS_PER_UPPER = 0.402
_TOKENS_PER_SIGN = 0.557
_TOKENS_PER_SPACE = 0.012


def stems(text: str) -> frozenset[str]:
    """The content words of a text, lower case, cut to their first letters."""
    return words(text)[0]


def words(text: str) -> tuple[frozenset[str], set[str]]:
    """The content words of a text, lower case, cut to their first letters; and all of its words of three letters and more."""
    found = set(_WORD.findall(text.lower()))
    return frozenset([word[:STEM_LENGTH] for word in found - STOP_WORDS if len(word) > SHORT_WORD]), found


def names(text: str, plain: Collection[str] = ()) -> tuple[str, ...]:
    """The identifiers and paths in a text, in order, each once: what stands in back-ticks, and words shaped like code.

    `plain` are words of the text known to be none.
    """
    found: dict[str, None] = {}
    if "`" in text:
        for ticked in _TICKED.findall(text):
            found[ticked.strip()] = None
    for token in [token for token in text.split() if token not in plain]:
        bare = token.strip(_AROUND)
        if len(bare) <= 2 or bare in plain:
            continue
        if bare.isalpha() and (bare[1:].islower() or bare.isupper()):
            continue
        if bare.isdigit():
            continue
        for name in _NAME.findall(bare[:NAME_LENGTH]):
            found[name.rstrip(".-:")] = None
    return tuple(found)


def name_keys(found: tuple[str, ...]) -> frozenset[str]:
    """Names as they are compared: a path by its last part, all in lower case."""
    return frozenset(name.rstrip("/").rsplit("/", 1)[-1].lower() for name in found)


def token_cost(text: str) -> int:
    """Tokens of a text in o200k, estimated from the kinds of its letters; about 15 per cent off for one line, 2 for a page.

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
