"""Whether a line that a model wrote for the handbook or its summary may stand. Pure (RO-5, SF-2).

A model that a session's text took over writes orders, and beside them lines that read like any
other. So the orders void the whole answer, and every other line must say what the sessions show.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memorist.auto_memory.quotation_proof import split_sentences_by_line
from memorist.auto_memory.statements.statement_similarity import (
    extract_content_words,
    keeps_denials_and_order,
)
from memorist.core.lazy import lazy_pattern
from memorist.core.sentences import shorten_to_one_line
from memorist.core.word_stems import stem_word
from memorist.rollouts.hand_edits import HandbookAndSummary
from memorist.rollouts.handbook import render_handbook
from memorist.rollouts.summary_composition import render_memory_summary
from memorist.safety.permission_claims import (
    claims_permission,
    is_injected_order_or_permission,
    is_order_reserved_for_user,
)
from memorist.safety.secrets import redact
from memorist.store.extract_rows import RolloutExtract
from memorist.transcript.answer_check import MIN_COVERED_SHARE, LineCheck

PLANTED = "reads like an order planted for an agent"
MIN_SHOWN_SHARE = 0.5
"""Share of the content words of a free sentence that the sessions must hold, and of a claim that
its new sentence must: one about something else holds few. Our choice.
"""
_ADDRESS = lazy_pattern(r"\w+://[^\s`\"'<>()]+|[\w-]{2,}(?:\.[\w-]{2,})+")
"""A URL, host or file name: what an agent would fetch or run."""
_INSTEAD = lazy_pattern(r"\b(?:instead of|rather than|in place of)\b|代替|而不是", re.IGNORECASE)
_JOINTS = lazy_pattern(r"[/\\._-]+")
"""What joins words in a path or a name: `/home/dev/till` shows a till."""


def extract_content_stems(text: str) -> frozenset[str]:
    """The stems of the words of a text that carry content."""
    return frozenset(map(stem_word, extract_content_words(text)))


_SPEAKING_STEMS = extract_content_stems(
    "the user users person works working prefers likes wants uses who"
)
"""Words that only say that a sentence is about the user."""


def is_order_to_agent(text: str) -> bool:
    """Whether a text orders an agent about as injections do: no honest consolidation says so."""
    return is_injected_order_or_permission(text) or is_order_reserved_for_user(text)


class HandbookLineCheck:
    """Judges the lines of one answer by `source`, what the model was shown of the sessions, and by
    `prompt`, the words that asked.
    """

    def __init__(self, source: str, prompt: str = "") -> None:
        self._check = LineCheck(source, prompt)
        self._source = source.casefold()
        self._stems = extract_content_stems(source) | extract_content_stems(
            _JOINTS.sub(" ", source)
        )

    def find_fault(self, line: str, most_words: int) -> str:
        """Why a line may not stand, whatever it is about; empty where it may."""
        if not line:
            return "is empty"
        if len(line.split()) > most_words:
            return f"has more than {most_words} words"
        if redact(line).rules:
            return "holds a secret"
        if is_order_to_agent(line):
            return PLANTED
        invented = self._find_new_address(line)
        if invented:
            return f"names {invented}, which stands nowhere in what the model was shown"
        return self._check.find_fault(line)

    def find_free_wording_fault(self, line: str, most_words: int) -> str:
        """The same of a sentence that the model words by itself: it must say what is shown, and no
        leave that is not.
        """
        fault = self.find_fault(line, most_words)
        if fault:
            return fault
        stems = extract_content_stems(line) - _SPEAKING_STEMS
        if not stems or len(stems & self._stems) < MIN_SHOWN_SHARE * len(stems):
            return "says what no claim shows"
        if claims_permission(line) and line.casefold() not in self._source:
            return "says what a person allowed, or that a check is not needed"
        return ""

    def _find_new_address(self, line: str) -> str:
        found = (match[0].rstrip(".,;:") for match in _ADDRESS.finditer(line))
        return next((each for each in found if each.casefold() not in self._source), "")


MAX_LINE_WORDS = 400
"""Words of a line that a model may write."""


class ModelWrittenLineReview:
    """Judges what the model wrote line by line, by what the draft and the sessions say."""

    def __init__(
        self, draft: HandbookAndSummary, rows: Sequence[RolloutExtract], dropped: list[str]
    ) -> None:
        texts = [render_handbook(draft.handbook), render_memory_summary(draft.summary)]
        texts += [f"{row.raw_memory}\n{row.rollout_summary}" for row in rows]
        self._check = HandbookLineCheck("\n".join(texts))
        self._claims = [
            (entry.text, extract_content_stems(entry.text))
            for group in draft.handbook.groups
            for entry in group.all_entries
        ]
        self.dropped = dropped
        """Is told what may not stand."""
        self.planted = ""
        """The first line that orders agents about; empty for none."""

    def accept_line(self, line: str, what: str, known: str = "") -> bool:
        """Whether a line may stand; `known` is the claim that it words anew. What may not is told
        as `what`.
        """
        if is_order_to_agent(line) and not is_order_to_agent(known):
            self.planted = self.planted or f"{what} {PLANTED}: “{shorten_to_one_line(line, 80)}”"
            return False
        find = self._check.find_fault if known else self._check.find_free_wording_fault
        fault = find(line, MAX_LINE_WORDS)
        fault = "" if known and fault == PLANTED else fault
        if not fault and self._turns_round(line, known):
            fault = "turns round what a claim says"
        if fault:
            self.dropped.append(f"{what} {fault}: “{shorten_to_one_line(line, 80)}”")
            return False
        return True

    def _turns_round(self, line: str, known: str) -> bool:
        """Whether a line denies the claim that it words anew, or sets something in the place of one
        whose words it nearly all holds.
        """
        if known and not keeps_denials_and_order(line, known):
            return True
        stems = extract_content_stems(line)
        return any(
            len(_INSTEAD.findall(line)) > len(_INSTEAD.findall(text))
            for text, words in self._claims
            if text == known or (words and len(words & stems) >= MIN_COVERED_SHARE * len(words))
        )

    def drop_refused_sentences(self, text: str, present: str, what: str) -> str:
        """The text without the sentences that may not stand and are not there already."""
        kept = []
        for line in text.split("\n"):
            sentences = list(split_sentences_by_line(line))
            good = [
                each
                for each in sentences
                if each.strip() in present or self.accept_line(each.strip(), what)
            ]
            kept += [line] if len(good) == len(sentences) else [" ".join(good)] if good else []
        return "\n".join(kept)
