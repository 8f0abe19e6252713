"""Select the memories that are relevant enough to be shown (RC-1, RC-3). Pure.

A ranking always has a first place; that alone is no reason to show it. A memory is shown when its
words and its meaning together say more than chance gives for a message of that length and that
many memories.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from memorist.auto_memory.memory_manifest import MemoryHeader
from memorist.core.messages import Message, Origin
from memorist.core.search_words import count_unspaced_letters
from memorist.recall.project_question import is_question_without_request
from memorist.recall.word_chance import contains_name_like_word, is_hardly_ever_typed
from memorist.settings import RecallSettings

MIN_QUERY_WORDS = 2
"""Words that a message needs to be searched for; "continue" and "yes" have too few (Claude Code).
"""
DEVIATIONS_PER_NAT = 0.15
"""Standard deviations of nearness that a nat of word evidence counts as."""
MIN_RELEVANCE = 1.9
"""Relevance from which one memory of one is shown, in standard deviations."""
REQUEST_COST = 0.45
ANSWER_ALLOWANCE = 1.3
"""What is added to it where the message asks nothing of the project, and taken off for the one
memory that is nearest to a question: there silence costs more, and a line too many less. Chosen on
the folders of three owners (docs/ranking.md).
"""
MESSAGE_WORD_COST = 0.04
MAX_COUNTED_WORDS = 30
"""Added to it for each word of the message, the first thirty: the more a message says, the nearer
some part of it is to any memory. Both were chosen on questions in other words to the memories of
every other repository of ten, and on messages about something else (docs/ranking.md).
"""
MIN_WORD_EVIDENCE = 4.0
"""The same in nats where only words are known: one word that hardly any message holds, or several
common ones.
"""
MIN_SHARE_OF_BEST = 0.7
"""Share of the best match's relevance that another needs to be shown beside it."""
COMPARISON_COST = 0.4
WORD_COMPARISON_COST = 0.7
"""Added for each natural logarithm of the number of memories, to the relevance and to the words'
evidence: the best of many is higher by chance.

These were chosen on half the repositories of a set of paraphrases and of messages about
something else (docs/ranking.md).
"""
MAX_COUNTED_MEMORIES = 6
"""Memories from which the relevance needed rises no more with their number: the nearness of those
beside the best then tells what many give by chance.
"""
MEMORIES_ON_ONE_TOPIC = 4
COMMON_NEARNESS_SHARE = 0.6
"""The share of the nearness of the next memory, after so many that may be near because they are
about the same thing, that is taken off every memory's: in a project about git all are near to "run
git status". Chosen on the folders of five repositories, whole and in parts of eight
(docs/ranking.md).
"""
MAX_QUERY_CHARS = 4_000
"""Longest part of a message used as a query: its start. A pasted log would match everything."""


class MemoryMatch(Struct, frozen=True, kw_only=True):
    """One memory that the query found."""

    path: str
    score: float
    words: tuple[str, ...] = ()
    """Words of the query that occur in it."""
    evidence: float = 0.0
    """What those words say beyond chance, in nats."""
    nearness: float | None = None
    """How much nearer its meaning is than that of unrelated texts, in standard deviations; None
    without embeddings.
    """
    why: str = ""
    """One line for humans."""


class SelectedMemory(Struct, frozen=True):
    """A memory to show, and why."""

    path: str
    score: float
    why: str


def select_relevant_memories(
    query: str,
    matches: Sequence[MemoryMatch],
    headers: Mapping[str, MemoryHeader],
    settings: RecallSettings,
    *,
    excluded_paths: Collection[str] = (),
) -> tuple[SelectedMemory, ...]:
    """Select the memories to show of those that the query found, best first, at most as many as
    the settings allow.

    `excluded_paths` are those already in the context.
    """
    relevant = list_relevant_memory_paths(query, matches, len(headers))
    found = [
        SelectedMemory(match.path, match.score, _explain_selection(match))
        for match in matches
        if match.path in relevant
        and match.path not in excluded_paths
        and match.path in headers
        and headers[match.path].status == "active"
    ]
    return tuple(found[: settings.limit])


def list_relevant_memory_paths(
    query: str, matches: Sequence[MemoryMatch], compared: int
) -> frozenset[str]:
    """Find the paths of the query's matches among `compared` memories that are more than chance
    and not far behind the best.
    """
    common_nearness = measure_nearness_to_all_memories(matches)
    best = _find_nearest(matches)
    above = {match.path: _measure_above(match, common_nearness) for match in matches}
    floor = MIN_SHARE_OF_BEST * max(above.values(), default=0.0)
    return frozenset(
        match.path
        for match in matches
        if above[match.path] >= floor
        and is_relevant_match(match, compared, query, common_nearness, is_nearest=match is best)
    )


def _find_nearest(matches: Sequence[MemoryMatch]) -> MemoryMatch | None:
    return max(matches, key=measure_relevance_above_chance, default=None)


def measure_nearness_to_all_memories(matches: Sequence[MemoryMatch]) -> float:
    """How near a message is to the memories of a project whatever they say, by those that it found,
    in standard deviations; 0 for a project of a few.
    """
    near = sorted((each.nearness for each in matches if each.nearness is not None), reverse=True)
    if len(near) > MEMORIES_ON_ONE_TOPIC:
        return COMMON_NEARNESS_SHARE * max(0.0, near[MEMORIES_ON_ONE_TOPIC])
    return 0.0


def _measure_above(match: MemoryMatch, common_nearness: float) -> float:
    """The relevance of a match without what the project's memories have in common."""
    return measure_relevance_above_chance(match) - (
        0.0 if match.nearness is None else common_nearness
    )


def measure_relevance_above_chance(match: MemoryMatch) -> float:
    """How far a match lies above chance: in standard deviations, or without embeddings in nats."""
    if match.nearness is None:
        return match.evidence
    return match.nearness + DEVIATIONS_PER_NAT * match.evidence


def is_relevant_match(
    match: MemoryMatch,
    compared: int,
    query: str,
    common_nearness: float = 0.0,
    *,
    is_nearest: bool = False,
) -> bool:
    """Whether a match among `compared` memories, which all have that `common_nearness` to the
    message, is more than chance for it.
    """
    if (
        match.nearness is not None
        and match.evidence >= _measure_word_threshold(compared)
        and any(map(contains_name_like_word, match.words))
    ):
        return True  # a name that the embedding may not know
    return measure_relevance_above_chance(match) >= compute_match_relevance_threshold(
        match, compared, query, common_nearness, is_nearest=is_nearest
    )


def compute_match_relevance_threshold(
    match: MemoryMatch,
    compared: int,
    query: str,
    common_nearness: float = 0.0,
    *,
    is_nearest: bool = False,
) -> float:
    """The relevance from which a match is shown, in the unit of
    `measure_relevance_above_chance`.
    """
    if match.nearness is None:
        return _measure_word_threshold(compared)
    many = COMPARISON_COST * math.log(min(max(1, compared), MAX_COUNTED_MEMORIES))
    cost = _measure_message_cost(query, is_nearest)
    return MIN_RELEVANCE + cost + many + common_nearness


@lru_cache(maxsize=64)
def _measure_message_cost(query: str, is_nearest: bool) -> float:
    """What a message asks of a memory beyond what one of one needs, of the nearest one less."""
    length = MESSAGE_WORD_COST * min(len(query.split()), MAX_COUNTED_WORDS)
    if not is_question_without_request(query):
        return length + REQUEST_COST
    return length - ANSWER_ALLOWANCE if is_nearest else length


def _measure_word_threshold(compared: int) -> float:
    return MIN_WORD_EVIDENCE + WORD_COMPARISON_COST * math.log(max(1, compared))


def explain_memory_omission(
    query: str, match: MemoryMatch, matches: Sequence[MemoryMatch], compared: int
) -> str:
    """Explain why one of the matches among `compared` memories, all active, is not shown for the
    query.
    """
    common_nearness = measure_nearness_to_all_memories(matches)
    is_nearest = match is _find_nearest(matches)
    common = ", ".join(match.words) or "no word"
    if is_relevant_match(match, compared, query, common_nearness, is_nearest=is_nearest):
        return f"others come before it ({common})"
    unit = "nats" if match.nearness is None else "deviations"
    needed = compute_match_relevance_threshold(
        match, compared, query, common_nearness, is_nearest=is_nearest
    )
    relevance = max(0.0, measure_relevance_above_chance(match))
    return (
        f"too little in common ({common}): {relevance:.1f} {unit} above chance, {needed:.1f} needed"
    )


def _explain_selection(match: MemoryMatch) -> str:
    words = list(dict.fromkeys(match.words))
    reasons = ["words: " + ", ".join(words[:6])] if words else []
    if match.nearness is not None and match.nearness >= MIN_RELEVANCE - ANSWER_ALLOWANCE:
        reasons.append(f"meaning: {match.nearness:.1f} deviations above chance")
    return "; ".join(reasons)


def has_enough_search_words(query: str) -> bool:
    """Whether a message has enough words to search for: two, or one that hardly anybody types."""
    words = query.split()
    return (
        len(words) >= MIN_QUERY_WORDS
        or any(contains_name_like_word(word) or is_hardly_ever_typed(word) for word in words)
        or count_unspaced_letters(query) >= MIN_QUERY_WORDS
    )


_COMMON_NAMES = frozenset(
    {
        "__init__", "app", "changelog", "config", "constants", "dockerfile", "helpers", "index",
        "init", "lib", "license", "main", "makefile", "mod", "package", "readme", "settings",
        "setup", "test", "tests", "types", "util", "utils",
    }
)  # fmt: skip
"""Names, without ending, that files of many folders have: such a file has to be named with its
folder.
"""
_PATH_END = re.compile(r"[\w@.+~/\\-]*\Z")


def mentions_file(text: str, path: str) -> bool:
    """Whether a text names this file: by its name with ending, and by no other folder than its own.

    A name that files of many folders have counts only with its folder.
    """
    parts = path.replace("\\", "/").strip("/").split("/")
    name = parts[-1]
    if "." not in name.strip("."):
        return False
    for match in re.finditer(rf"{re.escape(name)}(?![\w@+~/\\-]|\.\w)", text):
        # No further back than the path goes: a text may be one long run of such characters.
        least = max(0, match.start() - len(path) - len("./"))
        lead = next(_PATH_END.finditer(text, least, match.start()))
        plain = f"{lead[0]}{name}".replace("\\", "/").removeprefix("./")
        named = plain.strip("/").split("/")
        if named == parts[-len(named) :] and (
            len(named) > 1 or name.split(".")[0].lower() not in _COMMON_NAMES
        ):
            return True
    return False


def list_successful_tools(messages: Sequence[Message]) -> tuple[str, ...]:
    """List the tools called successfully since the user's last message, each once."""
    failed = {
        result.tool_use_id
        for message in messages
        for result in message.tool_results
        if result.is_error
    }
    names = [
        use.name
        for message in messages
        if message.origin is Origin.MODEL
        for use in message.tool_uses
        if use.id not in failed
    ]
    return tuple(dict.fromkeys(names))


# Explain in one line why an entry was found.


def explain_match(matched: Sequence[str], *, around: bool, cosine: float | None) -> str:
    """Explain a match: the words, or that they occur around it; the similarity."""
    parts = []
    if matched:
        parts.append("has " + ", ".join(matched))
    elif around:
        parts.append("stands beside what was asked for")
    if cosine is not None:
        parts.append(f"meaning {cosine:.2f}")
    return "; ".join(parts)
