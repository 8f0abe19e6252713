"""Whether a line that a model wrote for the handbook or its summary may stand. Pure (RO-5, SF-2).

A model that a session's text took over writes orders, and beside them lines that read like any
other. So the orders void the whole answer, and every other line must say what the sessions show.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from memorist.auto_memory.quotation_proof import split_sentences_by_line
from memorist.auto_memory.statements.statement_similarity import (
    count_negations,
    extract_comparable_words,
    is_same_rule,
    keeps_negations_and_word_order,
)
from memorist.core.lazy import lazy_pattern
from memorist.core.sentences import shorten_to_one_line
from memorist.core.text_analysis import analyze_text
from memorist.core.word_stems import stem_word
from memorist.rollouts.hand_edits import ParsedHandbookAndSummary
from memorist.rollouts.handbook import HandbookClaim, render_handbook
from memorist.rollouts.raw_memory import ASKED_PREFIX, PASSED_ON_PREFIX, REPORTED_PREFIX
from memorist.rollouts.summary_composition import render_memory_summary
from memorist.safety.permission_claims import (
    claims_permission,
    is_injected_order_or_permission,
    is_order_reserved_for_user,
)
from memorist.safety.secrets import redact
from memorist.store.extract_rows import RolloutExtract
from memorist.transcript_analysis.answer_check import (
    MIN_COVERED_SHARE,
    AnswerLineChecker,
    CoveredLineDetector,
)
from memorist.transcript_analysis.names_in_text import NameOccurrenceLookup, find_recognizable_names

PLANTED = "reads like an order planted for an agent"
REQUEST_REPEATED = "only repeats what was asked"
MIN_SHOWN_SHARE = 0.5
"""Share of the content words of a free sentence that the sessions must hold, and of a claim that
its new sentence must: one about something else holds few. Our choice.
"""
_ADDRESS = lazy_pattern(r"\w+://[^\s`\"'<>()]+|[\w-]{2,}(?:\.[\w-]{2,})+")
"""A URL, host or file name: what an agent would fetch or run."""
_INSTEAD = lazy_pattern(r"\b(?:instead of|rather than|in place of)\b|代替|而不是", re.IGNORECASE)
_QUOTATION = lazy_pattern(r"“[^”\n]{3,}”|\"[^\"\n]{3,}\"|`[^`\n]+`")
_ARROW = lazy_pattern(r"[”\"]?\s*(?:->|→)\s*")
"""Ends a clause, as a full stop does: `never squash` -> `keep the commits apart`."""
_SPEAKERS = (ASKED_PREFIX, PASSED_ON_PREFIX, REPORTED_PREFIX)
_JOINTS = lazy_pattern(r"[/\\._-]+")
"""What joins words in a path or a name: `/home/dev/till` shows a till."""


def extract_content_stems(text: str) -> frozenset[str]:
    """The stems of the words of a text that carry content."""
    return frozenset(map(stem_word, extract_comparable_words(text)))


_SPEAKING_STEMS = extract_content_stems(
    "the user users person works working prefers likes wants uses who"
)
"""Words that only say that a sentence is about the user."""


def is_order_to_agent(text: str) -> bool:
    """Whether a text orders an agent about as injections do: no honest consolidation says so."""
    return is_injected_order_or_permission(text) or is_order_reserved_for_user(text)


def find_claim_content_lost(claim: str, text: str) -> str:
    """What of a claim a new sentence leaves out or turns round; empty where it keeps all. A request
    without the word that it is one would be a standing order, and a report a fact.
    """
    if any(claim.startswith(each) and not text.startswith(each) for each in _SPEAKERS):
        return "leaves out whose words they are"
    present = NameOccurrenceLookup(text)
    lost = [name for name in sorted(find_recognizable_names(claim)) if not present[name]]
    folded = text.casefold()
    lost += [each for each in _QUOTATION.findall(claim) if each[1:-1].casefold() not in folded]
    lost += [each for each in re.findall(r"\d+", claim) if each not in text]
    if lost:
        return f"leaves out {lost[0]}"
    stems = extract_content_stems(claim)
    if len(stems & extract_content_stems(text)) < MIN_SHOWN_SHARE * len(stems):
        return "says something else than the claim"
    text, claim = (_ARROW.sub(". ", each) for each in (text, claim))
    if keeps_negations_and_word_order(text, claim):
        return ""
    return "denies what a claim says, or turns it"


class RepeatedRequestDetector:
    """What sessions were asked for: by the titles of tasks, and by claims that are requests."""

    def __init__(self, titles: Iterable[str], claims: Iterable[str]) -> None:
        requests = (each for each in claims if each.startswith((ASKED_PREFIX, PASSED_ON_PREFIX)))
        self._texts = [
            CoveredLineDetector(f"{ASKED_PREFIX}{each}") for each in (*titles, *requests)
        ]

    def only_repeats_request(self, line: str) -> bool:
        """Whether a line only says one of them again. Without the word that it is one it would be
        a standing order.
        """
        return any(each.covers_line(line) for each in self._texts)


MAX_LINE_WORDS = 400
"""Words of a line that a model may write."""


class ModelWrittenLineReview:
    """Judges what the model wrote line by line, by what the draft and the sessions say."""

    def __init__(
        self, draft: ParsedHandbookAndSummary, rows: Sequence[RolloutExtract], dropped: list[str]
    ) -> None:
        texts = [render_handbook(draft.handbook), render_memory_summary(draft.summary)]
        texts += [f"{row.raw_memory}\n{row.rollout_summary}" for row in rows]
        source = "\n".join(texts)
        self._check = AnswerLineChecker(source, "")
        self._source = source.casefold()
        self._shown = analyze_text(source).stems
        self._content = extract_content_stems(source) | extract_content_stems(
            _JOINTS.sub(" ", source)
        )
        self._claims = [
            (entry.text, extract_content_stems(entry.text))
            for group in draft.handbook.groups
            for entry in group.all_entries
        ]
        self._requests = RepeatedRequestDetector(
            (work.title for group in draft.handbook.groups for work in group.works),
            (text for text, _ in self._claims),
        )
        self.dropped = dropped
        """Is told what may not stand."""
        self.planted = ""
        """The first line that orders agents about; empty for none."""

    def is_line_acceptable(self, line: str, what: str, known: str = "") -> bool:
        """Whether a line may stand; `known` is the claim that it words anew. What may not is told
        as `what`.
        """
        if is_order_to_agent(line) and not is_order_to_agent(known):
            self.planted = self.planted or f"{what} {PLANTED}: “{shorten_to_one_line(line, 80)}”"
            return False
        fault = self._find_line_fault(line) or ("" if known else self._find_free_fault(line))
        if not fault and self._turns_round(line, known):
            fault = "turns round what a claim says"
        if fault:
            self.dropped.append(f"{what} {fault}: “{shorten_to_one_line(line, 80)}”")
            return False
        return True

    def _find_line_fault(self, line: str) -> str:
        """Why a line may not stand, whatever it is about; empty where it may."""
        if len(line.split()) > MAX_LINE_WORDS:
            return f"has more than {MAX_LINE_WORDS} words"
        if redact(line).rules:
            return "holds a secret"
        if invented := self._find_new_address(line):
            return f"names {invented}, which stands nowhere in what the model was shown"
        return self._check.find_line_fault(line)

    def _find_free_fault(self, line: str) -> str:
        """The same of a sentence that the model words by itself: it must say what is shown, and no
        leave that is not.
        """
        stems = extract_content_stems(line) - _SPEAKING_STEMS
        if not stems or len(stems & self._content) < MIN_SHOWN_SHARE * len(stems):
            return "says what no claim shows"
        if claims_permission(line) and line.casefold() not in self._source:
            return "says what a person allowed, or that a check is not needed"
        return ""

    def _find_new_address(self, line: str) -> str:
        found = (match[0].rstrip(".,;:") for match in _ADDRESS.finditer(line))
        return next((each for each in found if each.casefold() not in self._source), "")

    def is_statement_acceptable(self, line: str, what: str, known: str = "") -> bool:
        """The same for a line that says what holds: it may not be a request without the word that
        it is one.
        """
        if not known and self._requests.only_repeats_request(line):
            self.dropped.append(f"{what} {REQUEST_REPEATED}: “{shorten_to_one_line(line, 80)}”")
            return False
        return self.is_line_acceptable(line, what, known)

    def choose_model_or_claim_wording(self, line: str, claim: HandbookClaim) -> str:
        """Return the model's wording of a claim where it says the same, else the claim's own. What
        the user said has no other.
        """
        if claim.proof == "said":
            fault = "" if is_same_rule(line, claim.text) else "words anew what the user said"
        else:
            fault = find_claim_content_lost(claim.text, line) or self._find_added(line, claim)
        if fault:
            self.dropped.append(f"a claim {fault}: “{shorten_to_one_line(line, 80)}”")
        return claim.text if fault or claim.proof == "said" else line

    def _find_added(self, line: str, claim: HandbookClaim) -> str:
        """What a wording adds to a proved claim that no session shows; empty for none."""
        if claim.proof != "proved":
            return ""
        denies = count_negations(line) > count_negations(claim.text)
        is_shown = analyze_text(line).stems <= self._shown
        return "" if is_shown and not denies else "adds to what is proved"

    def _turns_round(self, line: str, known: str) -> bool:
        """Whether a line denies the claim that it words anew, or sets something in the place of one
        whose words it nearly all holds.
        """
        if known and not keeps_negations_and_word_order(line, known):
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
                if each.strip() in present or self.is_statement_acceptable(each.strip(), what)
            ]
            kept += [line] if len(good) == len(sentences) else [" ".join(good)] if good else []
        return "\n".join(kept)
