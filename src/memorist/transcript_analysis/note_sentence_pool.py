"""The statements of a session, as a bounded pool of weighted sentences. Pure."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from functools import lru_cache

from msgspec import Struct

from memorist.core.lazy import lazy_pattern
from memorist.core.sentences import (
    MAX_EXAMINED_CHARACTERS,
    AnalyzedSentence,
    analyze_raw_sentence,
    analyze_sentence,
    extract_prose_sentences,
)
from memorist.transcript_analysis.note_line_selection import NoteLine

FRAGMENT_FACTOR = 0.8
"""Factor for a sentence without an end: a heading or a bare list item says less on its own."""

DOUBT_FACTOR = 0.75
"""Factor for a thought that the assistant itself doubted."""

_SENTENCE_ENDS = ".!?`)"

MAX_POOL_SENTENCES = 350
"""Sentences kept; at twice the number the weaker half is dropped, so that the cost per sentence
does not grow with the session.
"""

RECENT_SHARE = 0.25
"""Share of the pool that is kept for its recency alone when the weaker half is dropped."""

MAX_POOL_NAMES = 1_000
"""Identifiers kept; at twice the number the rarer half is dropped."""

_LEAST_WEIGHT = 1e-6

TEXT_CACHE_SIZE = 256
"""Size of the cache of weighed texts: a summary asks for those of the newest messages again. A few
megabytes at most.
"""

USER, FINAL, SAID, INTENT, THOUGHT, COMMIT, PLAN, COMMENT, EARLIER, SHOWN = (
    "user", "final", "said", "intent", "thought", "commit", "plan", "comment", "earlier", "shown",
)  # fmt: skip
"""Sources of a sentence: the user; the final words of a turn; an assistant's statement; an
announcement of its next step; its reasoning; a commit message; a plan shown to the user; a comment
in changed code; a summary of earlier messages; code shown by a search or a partial read.
"""

BASE_WEIGHT = {
    USER: 3.0, FINAL: 2.4, COMMIT: 1.9, SAID: 1.7, PLAN: 1.4, INTENT: 1.0, EARLIER: 0.9,
    THOUGHT: 0.75, COMMENT: 0.6, SHOWN: 0.5,
}  # fmt: skip
"""Weight by source. The order follows how often text from each source occurs in human-written
summaries of such sessions.
"""

_INTENT = lazy_pattern(
    r"(?:(?:ok(?:ay)?|good|great|perfect|clear|now|first|next|then|so|also|alright|right|sure|"
    r"excellent)[,.!:\s—-]+)*"
    r"(?:let me|let['’]s|i['’]ll|i will|i['’]m going to|i am going to|i need to|i should|i "
    r"want to|i have to|now (?:i|let)|next i|time to"
    r"|(?:now|next|first|then),? (?:re-?)?(?:remove|add|fix|update|run|check|make|create|write|"
    r"read|look|test|commit|push|verify|rename|replace"
    r"|move|build|install|merge|resolve|clean|implement|edit|change|search|find|see|try|wire|start)"
    r"|(?:and |so )?i (?:now |also |then |first |only |just )*(?:take|look|read|clear|copy|"
    r"round|check|run|start|begin|add|try|test|write"
    r"|change|move|put|go|open|search|count|compare|print|show|update|remove|set|turn|build|"
    r"commit|mend|fix|make)"
    r"|to (?:be sure|make sure|see|find out|check)|first (?:the|what|a|an|two|one|some|idea|its?)"
    r"|(?:now|then|next),? (?:the|its|for the) [\w`' -]{0,40}\w(?=:|\.$)"
    r"|i['’]m (?:now |also |just )?(?!getting|seeing|hitting)\w+ing\b|next i['’]m"
    r"|running|checking|reading|updating|adding|fixing|looking|committing)\b",
    re.IGNORECASE,
)
_MUSING = lazy_pattern(
    r"(?:wait|hmm|actually,? (?:let|wait|i)|(?:so )?the user|they['’]ve|they want|i think|"
    r"maybe|perhaps"
    r"|so,? (?:i|let)|but i|let me|let['’]s|i should|i need|i['’]ll"
    r"|i['’]m|i could|i can|i have|i want|i was|i see|first,? (?:i|let)|ok(?:ay)?[,.]|now|good|"
    r"looking at|next|you['’]ve provided|could you)\b",
    re.IGNORECASE,
)
_REACTION = lazy_pattern(
    r"(?:good question|great question|you're (?:absolutely )?right|absolutely|perfect|great|"
    r"excellent|done|all set)[!.]?$",
    re.IGNORECASE,
)


class NoteSentenceCandidate(Struct):
    """A sentence that may go into the notes."""

    source: str
    turn: int
    order: int
    """Increases through the session."""
    sentence: AnalyzedSentence
    weight: float
    has_cue: bool
    line: NoteLine | None = None
    """Its line in the notes, None where it has no section; final once `is_final`."""
    is_final: bool = False
    """Its turn has ended, so that its section and weight are final."""


class NoteSentencePool:
    """The sentences of a session, at most `2 * MAX_POOL_SENTENCES`, and its identifiers."""

    __slots__ = ("_order", "candidates", "names")

    def __init__(self) -> None:
        self.candidates: list[NoteSentenceCandidate] = []
        self.names: dict[str, float] = {}
        self._order = 0

    def add_text(self, source: str, turn: int, text: str) -> list[NoteSentenceCandidate]:
        """Add the sentences of a text; returns the candidates created."""
        added = []
        for kind, found, weight in (
            _weigh_cached_statements if len(text) <= MAX_EXAMINED_CHARACTERS else _weigh_statements
        )(source, text):
            self._order += 1
            added.append(
                NoteSentenceCandidate(kind, turn, self._order, found, weight, found.has_cue)
            )
            self.add_name_weight(found.names, weight)
        self.candidates.extend(added)
        if len(self.candidates) > 2 * MAX_POOL_SENTENCES:
            self._drop_weakest()
        return added

    def add_text_as_one_sentence(self, source: str, turn: int, text: str) -> None:
        """Add a text as a single sentence, unchanged."""
        self._order += 1
        self.candidates.append(
            NoteSentenceCandidate(
                source,
                turn,
                self._order,
                analyze_sentence(text),
                BASE_WEIGHT[source],
                has_cue=False,
            )
        )

    def add_name_weight(self, names: tuple[str, ...] | frozenset[str], weight: float) -> None:
        """Add weight to identifiers that occurred."""
        for name in names:
            self.names[name] = self.names.get(name, 0.0) + weight
        if len(self.names) > 2 * MAX_POOL_NAMES:
            kept = sorted(self.names.items(), key=lambda pair: -pair[1])[:MAX_POOL_NAMES]
            self.names = dict(kept)

    def drop_turns(self, numbers: Container[int]) -> None:
        """Drop what was said in these turns."""
        dropped = [each for each in self.candidates if each.turn in numbers]
        self.candidates = [each for each in self.candidates if each.turn not in numbers]
        for each in dropped:
            self.subtract_name_weight(each.sentence.names, each.weight)

    def subtract_name_weight(self, names: Iterable[str], weight: float) -> None:
        """Take back weight of identifiers; one that occurred nowhere else is dropped."""
        for name in names:
            self.names[name] = self.names.get(name, 0.0) - weight
            if self.names[name] < _LEAST_WEIGHT:
                del self.names[name]

    def _drop_weakest(self) -> None:
        recent = int(MAX_POOL_SENTENCES * RECENT_SHARE)
        older = sorted(self.candidates[:-recent], key=score_note_sentence, reverse=True)[
            : MAX_POOL_SENTENCES - recent
        ]
        self.candidates = sorted(older, key=_statement_order) + self.candidates[-recent:]


def _weigh_statements(source: str, text: str) -> tuple[tuple[str, AnalyzedSentence, float], ...]:
    """The sentences of a text that are worth keeping, each with its kind and weight."""
    kept = []
    for phrase in extract_prose_sentences(text, tables=source == SAID):
        kind = source if phrase.is_table else refine_or_drop_sentence_category(source, phrase.text)
        if not kind:
            continue
        found = analyze_raw_sentence(phrase)
        if (
            kind in (SAID, THOUGHT)
            and not found.is_table
            and not found.names
            and len(found.stems) < (3 if found.has_cue else 4)
        ):
            continue
        weight = (
            BASE_WEIGHT[kind]
            * (1.15 if found.has_cue else 1.0)
            * (1.0 if found.is_table or found.text[-1] in _SENTENCE_ENDS else FRAGMENT_FACTOR)
        )
        if kind == THOUGHT and found.has_doubt:
            weight *= DOUBT_FACTOR
        kept.append((kind, found, weight))
    return tuple(kept)


_weigh_cached_statements = lru_cache(TEXT_CACHE_SIZE)(_weigh_statements)


def score_note_sentence(candidate: NoteSentenceCandidate) -> float:
    """Value of a candidate per token, considered alone."""
    found = candidate.sentence
    return candidate.weight * (len(found.stems) + 1.5 * len(found.names)) / (found.cost + 6)


def _statement_order(candidate: NoteSentenceCandidate) -> int:
    return candidate.order


_SUMMARY_FRAME = lazy_pattern(
    r"(?:if you need specific details from before|this session is being continued from"
    r"|the (?:summary below|conversation is summarized below)|recent messages are preserved"
    r"|(?:please )?continue (?:the conversation|with the last task)"
    r"|another language model started to solve)",
    re.IGNORECASE,
)
"""What a client puts around every summary."""


def refine_or_drop_sentence_category(source: str, text: str) -> str:
    """The source, refined by how the sentence begins; empty for what is not worth keeping."""
    if source == SAID:
        if _REACTION.match(text):
            return ""
        return INTENT if _INTENT.match(text) else SAID
    if source == EARLIER and _SUMMARY_FRAME.match(text):
        return ""
    if source == THOUGHT and (text.endswith("?") or _MUSING.match(text)):
        return ""
    return source
