"""What a session holds that can stand behind a memory: the person's own words, and what came from elsewhere. Pure (SF-2)."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from msgspec import Struct

from memorist.core.messages import Message, Origin, Text
from memorist.formats.harness import typed_text

RUN = 6
"""Words in a row that a text must share with a source to be taken from it."""
SHARE = 0.5
"""Part of a text's runs that must stand in a source for the text to come from there."""
MIN_QUOTE = 3
"""Words or signs of the shortest quote that proves anything; in Chinese each sign counts."""

_OUTSIDE = frozenset({Origin.TOOL, Origin.AGENT, Origin.NOTIFICATION})


class Evidence(Struct, frozen=True, kw_only=True):
    """What was said since memories were extracted last. `user`: message id and typed text; `outside`: tool results, other agents, notices."""

    session: str = ""
    user: tuple[tuple[str, str], ...] = ()
    outside: tuple[str, ...] = ()


def evidence(session: str, messages: Iterable[Message]) -> Evidence:
    """Sort what messages say by who says it. What a harness put in, memorist's own recall included, is neither (AM-11)."""
    user: list[tuple[str, str]] = []
    outside: list[str] = []
    for message in messages:
        outside += [result.text for result in message.tool_results]
        if message.origin in _OUTSIDE:
            outside.append(message.text)
        elif message.origin is Origin.USER:
            typed = typed_words(message)
            if typed:
                user.append((message.id, typed))
    return Evidence(session=session, user=tuple(user), outside=tuple(outside))


def typed_words(message: Message) -> str:
    """What the person typed in a message; empty for one that is not the person's."""
    if message.origin is not Origin.USER:
        return ""
    parts = [typed_text(block.text) for block in message.blocks if isinstance(block, Text) and block.origin in (None, Origin.USER)]
    return "\n".join(part.strip() for part in parts if part.strip())


def plain(text: str) -> str:
    """Text as it is compared: compatibility form, no case, single blanks, no quotation marks."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(" " if letter in "\"'`“”„‘’«»「」『』*_" else letter for letter in folded).split())


def quoted_in(quote: str, said: Evidence, *, shortest: int = MIN_QUOTE) -> tuple[str, ...]:
    """Ids of the person's messages in which the quote stands; empty for one too short to prove anything."""
    wanted = plain(quote)
    if len(words(wanted)) < shortest:
        return ()
    return tuple(id for id, text in said.user if wanted in plain(text))


def words(text: str) -> list[str]:
    """Words of a plain text; a sign of a script without blanks is a word."""
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
    """Every run of `RUN` words of a text; for a shorter text the one run of all its words."""
    found = words(plain(text))
    if len(found) <= RUN:
        return {tuple(found)} if found else set()
    return {tuple(found[start : start + RUN]) for start in range(len(found) - RUN + 1)}


def comes_from_outside(text: str, said: Evidence) -> bool:
    """Whether at least half of a text's runs of words stand in what came from elsewhere, and not in the person's words."""
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
    stream = " " + " ".join(words(plain(source))) + " "
    return {run for run in wanted if f" {' '.join(run)} " in stream}
