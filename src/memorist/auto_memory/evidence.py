"""Evidence for a memory: the user's own words, and what came from outside. Pure (SF-2)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct

from memorist.auto_memory.own_words import own_words
from memorist.core.later import late_pattern
from memorist.core.messages import Message, Origin, Text
from memorist.formats.harness import typed_text

RUN = 6
"""Consecutive words that a text must share with a source to count as taken from it."""
SHARE = 0.5
"""Fraction of a text's word runs that must occur in a source for the text to come from there."""
MIN_QUOTE = 3
"""Words of the shortest quote that proves anything; each Chinese character counts as a word."""

SHARED = 2
"""Content words that a quote must share with the memory that rests on it."""
SHORT = 3
"""Words of the shortest sentence whose origin can be determined."""

_EMPTY = frozenset(
    re.findall(
        r"\w+",
        "a an the that this it about of to for i you we my our your is are be was as on in at and or please me could would can will do does"
        " what how why when with from by if not no so have has look 的 了 是 我 你 在 请 吗 这 那 和 一 不 有 要 帮 看 下 个",
    )
)
"""Words without content of their own."""
_SENTENCE = late_pattern(r"[.!?;](?=\s|$)|[。！？；\n]")
_ADDRESS = late_pattern(
    r"(?<![\w-])(?<![\w-]\.)(?:https?://)?(?:[\w-]+\.)+[a-z]{2,}\b(?:/[\w./-]*)?|(?<![\w.+-])[\w.+-]+@[\w-]+\.\w+", re.IGNORECASE
)
"""Matched at the start of a run only; trying every letter of a run would be quadratic."""
_FILE = late_pattern(r"[\w-]+\.(?:md|py|js|ts|go|rs|toml|ya?ml|json|txt|sh|cfg|ini|sql|html|css|lock)", re.IGNORECASE)
_OUTSIDE = frozenset({Origin.TOOL, Origin.AGENT, Origin.NOTIFICATION})


class Evidence(Struct, frozen=True, kw_only=True):
    """What was said in a session.

    `user_messages` are pairs of message id and the user's own words; `outside_texts` are tool
    results, other agents' messages, notifications, and what the user quoted.
    """

    session: str = ""
    user: tuple[tuple[str, str], ...] = ()
    outside: tuple[str, ...] = ()
    proven: tuple[str, ...] = ()
    """Paths whose change follows by rule from the memories themselves (DR-5). Such a change adds
    nothing new, so the memory's earlier evidence still holds.
    """


def evidence(session: str, messages: Iterable[Message]) -> Evidence:
    """Sort the messages' texts by who said them.

    Text injected by a client or by memorist's own recall counts for neither side (AM-11).
    """
    user: list[tuple[str, str]] = []
    outside: list[str] = []
    for message in messages:
        outside += [result.text for result in message.tool_results]
        if message.origin in _OUTSIDE:
            outside.append(message.text)
        elif message.origin is Origin.USER:
            typed = typed_words(message)
            own = own_words(typed)
            if own:
                user.append((message.id, own))
            if plain(own) != plain(typed):
                outside.append(typed)
    return Evidence(session=session, user=tuple(user), outside=tuple(outside))


def typed_words(message: Message) -> str:
    """Return what the user typed in a message; empty for a message that is not the user's."""
    if message.origin is not Origin.USER:
        return ""
    parts = [typed_text(block.text) for block in message.blocks if isinstance(block, Text) and block.origin in (None, Origin.USER)]
    return "\n".join(part.strip() for part in parts if part.strip())


def all_typed(session: str, message: Message) -> Evidence:
    """Collect the evidence for statements found by code in one message.

    All typed text counts: the code that found them has already told quotations apart.
    """
    return Evidence(session=session, user=((message.id, typed_words(message)),))


def plain(text: str) -> str:
    """Normalise text for comparison: NFKC, case folded, single spaces, no quotation marks."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(" " if letter in "\"'`“”„‘’«»「」『』*_" else letter for letter in folded).split())


def quoted_in(quote: str, said: Evidence, *, shortest: int = MIN_QUOTE) -> tuple[str, ...]:
    """Return the ids of the user's messages that contain the quote; empty for too short a quote."""
    wanted = plain(quote)
    if len(words(wanted)) < shortest:
        return ()
    return tuple(id for id, text in said.user if wanted in plain(text))


def words(text: str) -> list[str]:
    """Split normalised text into words; each character of an unspaced script is a word."""
    found: list[str] = []
    word = ""
    for letter in text:
        alone = "\u3040" <= letter <= "\u9fff" or "\uac00" <= letter <= "\ud7af" or "\U00020000" <= letter <= "\U0003ffff"
        if letter.isalnum() and not alone:
            word += letter
            continue
        if word:
            found.append(word)
            word = ""
        if alone:
            found.append(letter)
    return [*found, word] if word else found


def runs(text: str) -> set[tuple[str, ...]]:
    """Return every run of `RUN_WORDS` words; for a shorter text, the one run of all its words."""
    found = words(plain(text))
    if len(found) <= RUN:
        return {tuple(found)} if found else set()
    return {tuple(found[start : start + RUN]) for start in range(len(found) - RUN + 1)}


def comes_from_outside(text: str, said: Evidence) -> bool:
    """Whether at least `BORROWED_SHARE` of the word runs occur in outside texts and not in the
    user's words.
    """
    mine = runs(text)
    if not mine or not said.outside:
        return False
    theirs: set[tuple[str, ...]] = set()
    for _, typed in said.user:
        theirs |= _found(mine, typed)
    left = mine - theirs
    found: set[tuple[str, ...]] = set()
    for source in said.outside:
        found |= _found(left - found, source)
    return len(found) >= max(1.0, SHARE * len(mine))


def _found(wanted: set[tuple[str, ...]], source: str) -> set[tuple[str, ...]]:
    if not wanted:
        return set()
    stream = _known_stream(source) if len(source) <= _REMEMBERED else _stream(source)
    return {run for run in wanted if f" {' '.join(run)} " in stream}


def _stream(source: str) -> str:
    """Join a source's words with spaces, including one at each end."""
    return " " + " ".join(words(plain(source))) + " "


_REMEMBERED = 12_000
"""Characters of the longest source whose words are cached. One evidence is queried for every entry
of an answer, and normalising it takes the most time.
"""
_known_stream = lru_cache(maxsize=1024)(_stream)


def bears_on(quote: str, text: str) -> bool:
    """Whether a quote is about what a memory says: a genuine quote supports nothing else.

    Between an unspaced script and a spaced one words cannot be compared; the answer is then yes.
    """
    mine, theirs = _content(quote), _content(text)
    if any(map(_is_sign, mine)) != any(map(_is_sign, theirs)):
        return True
    return len(mine & theirs) >= min(SHARED, len(mine))


def _content(text: str) -> frozenset[str]:
    return frozenset(word[:5] for word in words(plain(text)) if word not in _EMPTY)


def _is_sign(word: str) -> bool:
    return "\u3040" <= word[0] <= "\uffff"


def borrowed(text: str, said: Evidence) -> tuple[str, ...]:
    """Return the sentences of a text that come from outside.

    A sentence counts when it is word for word from there, or contains an address (site, mail) that
    occurs only there.
    """
    if not said.outside:
        return ()
    typed = " ".join(text.casefold() for _, text in said.user)
    sources = " ".join(said.outside).casefold()
    found = []
    for sentence in _SENTENCE.split(text):
        if len(words(plain(sentence))) >= SHORT and comes_from_outside(sentence, said):
            found.append(sentence)
            continue
        named = [name for name in _ADDRESS.findall(sentence.casefold()) if not _FILE.fullmatch(name)]
        if any(name in sources and name not in typed for name in named):
            found.append(sentence)
    return tuple(found)
