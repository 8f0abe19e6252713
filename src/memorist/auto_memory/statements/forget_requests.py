"""Read a sentence that asks to forget something, and how sure that is (AM-8). Pure.

Three things tell it: a verb of forgetting, of no longer remembering or of deleting; what it is about;
and whether a thing of the work holds that. Only what no code can be (what was said to the agent, what
it knows, its memory) is removed without a question, and only from a memory that has every word.
"""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

from memorist.auto_memory.statements import forget_request_patterns as patterns
from memorist.auto_memory.statements.statement_filters import (
    is_question_or_supposition,
    is_reported_speech,
)
from memorist.auto_memory.statements.statement_patterns import SENTENCE_CACHE_SIZE, find_lead_in_end
from memorist.auto_memory.statements.user_prose import ProseSentence, mask_quotations
from memorist.core.language_detection import COMMON_WORDS
from memorist.core.lazy import lazy_pattern
from memorist.core.search_words import QUERY_STOP_WORDS
from memorist.core.text_analysis import count_cjk_letters

MAX_REQUEST_WORDS = 28
MAX_REQUEST_CHARS = 180
"""Words and characters of such a sentence at most; more of either is a task. Our choice."""


class ForgetRequest(Struct, frozen=True):
    """What a sentence asks to forget."""

    text: str
    """The words that name it; all of the sentence where none does."""
    is_sure: bool
    """Whether nothing but a memory can be meant."""


def _compile(*alternatives: str) -> re.Pattern[str]:
    return lazy_pattern("|".join(alternatives), re.IGNORECASE)


_EVERYTHING = _compile(patterns.FORGETS_EVERYTHING)
_VERB = _compile(
    patterns.FORGETS,
    patterns.REMEMBERS_NO_LONGER,
    patterns.DELETES,
    patterns.NO_LONGER_HOLDS,
    patterns.KEEPS_NO_LONGER,
)
_DELETES = _compile(patterns.DELETES)
_NOT_DELETING = _compile(patterns.FORGETS, patterns.NO_LONGER_HOLDS)
_NO_LONGER = _compile(patterns.REMEMBERS_NO_LONGER, patterns.FORGETS_FACT)
_KNOWN = _compile(patterns.KNOWN)
_TOLD = _compile(patterns.TOLD)
_FORGOTTEN = _compile(patterns.ALL_ABOUT, patterns.RULES)
_MEMORIES = _compile(patterns.MEMORIES)
_MAYBE_MEANT = _compile(patterns.RULES, patterns.THINGS)
_THINGS = _compile(patterns.THINGS)
_WORK = _compile(patterns.WORK)
_NEGATED = _compile(patterns.NEGATED)
_PUT_OFF = _compile(patterns.FOR_NOW)
_ALWAYS = _compile(patterns.IN_GENERAL)
_TOGETHER = _compile(patterns.TOGETHER)
_POLITE = lazy_pattern(
    r"\b(?:(?:can|could|would|will) (?:you|the|that|my)|you can|kannst|könntest|darfst|peux|pou(?:rr|v)\w+|puedes|podrías|podés|pode|poderia|puoi|potresti|può|kun je|мож\w+)\b"
    r"|能|可以|麻烦|くれ|もら|いただけ|줄래",
    re.IGNORECASE,
)
_REASONS = _compile(patterns.REASONS)
_ABOUT_USER = _compile(patterns.ABOUT_USER)
_REQUEST_WORD = lazy_pattern(
    rf"{patterns.NO_LONGER_VALID}|{patterns.REQUEST_WORDS}|{patterns.RULES}|(?:{patterns.FORGETS}|{patterns.DELETES})"
    r"(?:(?<![\u2e80-\ud7ff])[^\W\u2e80-\ud7ff]+)?",
    re.IGNORECASE,
)
_WORD = lazy_pattern(r"\w+(?:[-.]\w+)*")
_PARTICLE = lazy_pattern("[a-z]|[\u3041-\u3093]{1,3}", re.IGNORECASE)
"""A single letter, and what joins Japanese words."""
_LANGUAGES = "german french spanish portuguese italian dutch russian english"
_COMMON = QUERY_STOP_WORDS.union(*(COMMON_WORDS[each] for each in _LANGUAGES.split()))


@lru_cache(SENTENCE_CACHE_SIZE)
def read_forget_request(sentence: ProseSentence) -> ForgetRequest | None:
    """What a sentence asks to forget; None where it asks for nothing of the kind."""
    start = find_lead_in_end(sentence.masked)
    everything = _EVERYTHING.fullmatch(sentence.masked, start)
    if everything is not None:
        return ForgetRequest(everything[everything.lastgroup or 0], is_sure=True)
    sure = _is_sure(sentence.masked)
    if sure is None:
        return None
    return ForgetRequest(_find_naming_words(sentence.text) or sentence.text, is_sure=sure)


def asks_surely_to_forget(quote: str) -> bool:
    """Whether nothing but a memory can be meant by a sentence that asks to forget."""
    masked = mask_quotations(quote)
    if _EVERYTHING.fullmatch(masked, find_lead_in_end(masked)):
        return True
    return _is_sure(masked) is True


def is_deletion_or_postponing_task(masked: str) -> bool:
    """Whether a sentence is a task for once: to delete something in a file, a table or a program,
    or to leave something for now.
    """
    if _ALWAYS.search(masked):
        return False
    start = find_lead_in_end(masked)
    deletes = (
        _DELETES.search(masked) if count_cjk_letters(masked) else _DELETES.match(masked, start)
    )
    if deletes is not None and _WORK.search(masked):
        return True
    return _NOT_DELETING.search(masked) is not None and _PUT_OFF.search(masked) is not None


def _is_sure(masked: str) -> bool | None:
    """Whether nothing but a memory can be meant; None where the sentence does not ask to forget."""
    if (
        len(masked) > MAX_REQUEST_CHARS
        or len(masked.split()) > MAX_REQUEST_WORDS
        or _VERB.search(masked) is None
        or _NEGATED.search(masked)
        or is_reported_speech(masked)
        or (is_question_or_supposition(masked) and not _POLITE.search(masked))
    ):
        return None
    forgets, is_work = _NOT_DELETING.search(masked) is not None, _WORK.search(masked) is not None
    if _KNOWN.search(masked):
        return forgets or not is_work
    if _TOLD.search(masked):
        return forgets
    if forgets or _NO_LONGER.search(masked):
        return _rate_forgetting(masked, is_work=is_work)
    return None if is_work else _rate_deletion(masked)


def _rate_forgetting(masked: str, *, is_work: bool) -> bool | None:
    if _PUT_OFF.search(masked):
        return None
    if _NO_LONGER.search(masked) or _FORGOTTEN.search(masked):
        return not is_work and _TOGETHER.search(masked) is None
    return False if _THINGS.search(masked) else None


def _rate_deletion(masked: str) -> bool | None:
    if _PUT_OFF.search(masked) or _ALWAYS.search(masked):
        return None
    if _MEMORIES.search(masked):
        return True
    return False if _MAYBE_MEANT.search(masked) else None


def _find_naming_words(text: str) -> str:
    """The words of a request that name what is to go: as they stand where only common words are
    between them.
    """
    asked = _REASONS.sub("", text)
    blanked = _REQUEST_WORD.sub(lambda found: "\0" * len(found[0]), asked)
    words = [
        found
        for found in _WORD.finditer(blanked)
        if found[0].casefold() not in _COMMON and not _PARTICLE.fullmatch(found[0])
    ]
    if not words:
        about_user = _ABOUT_USER.search(asked)
        return about_user[0] if about_user else ""
    span = slice(words[0].start(), words[-1].end())
    return " ".join(each[0] for each in words) if "\0" in blanked[span] else asked[span]
