"""What the agent said in a session that still says something later: whole statements, without what
it was about to do, offers, and the state of the work on the way. Pure.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from memorist.core.lazy import lazy_pattern
from memorist.rollouts.structural_task_log import TaskLogBuilder
from memorist.session_memory.structural_notes import (
    LEARNINGS_SECTION,
    RESULTS_SECTION,
    TASK_SECTION,
    build_assistant_statement_lines,
)
from memorist.transcript_analysis.note_line_selection import NoteLine, build_weighted_note_line

_UNCUED_FACTOR = 0.6
"""Factor for what the agent said on the way that tells no cause, rule or result."""
_SHIPPED_FACTOR = 3.0
"""Factor for the number of an issue or pull request, a commit or a branch that came of the work:
short, and looked for later.
"""
REPORT_OVERHEAD_TOKENS = 5
"""Tokens of the words and tags around a report, shared by its sentences."""

SHIPPED = lazy_pattern(
    r"\b(?:opened|created|filed|merged|pushed|committed|released|open at|PR)\b.*"
    r"(?:#\d+|\b[0-9a-f]{7,40}\b|/pull/\d+|/issues/\d+)",
    re.IGNORECASE,
)


_NARRATES = lazy_pattern(
    r"\b(?:i['’]m|i am) (?:now |also |just |still |then )*"
    r"(?!getting|seeing|hitting|proposing|suggesting|recommending|assuming|keeping|leaving)\w+ing\b"
    r"|\b(?:let me|i['’]ll|let['’]s|so i can)\b|\band am \w+ing\b"
    r"|\b(?:is|are) (?:still |now )*(?:in progress|running|compiling|waiting|finishing|pushing)\b"
    r"|^(?:\W*`[^`]*`)+\W*$",
    re.IGNORECASE,
)
"""What the agent was about to do, which is past when a later session reads it, and mere names."""


def list_lasting_agent_statements(log: TaskLogBuilder) -> list[NoteLine]:
    """The agent's statements, those that stand alone: no thoughts, code or older summaries."""
    found = []
    opened = _find_opened_numbers(log)
    for line in build_assistant_statement_lines(log.ledger, set()):
        is_last = line.order[-2] == log.ledger.turns.count
        skipped = line.is_table or not _is_lasting(line, last=is_last)
        each = None if skipped else _cut_narration(line)
        if each is None or (
            len(each.stems) <= _MAX_ANNOUNCING_STEMS
            and any(number in each.text for number in opened)
        ):
            continue
        if _GUESSES.search(each.text):
            each = replace(each, weight=_GUESS_FACTOR * each.weight)
        if each.section.startswith((RESULTS_SECTION, TASK_SECTION)):
            found.append(_place_report(each, each.order))
        elif each.order[0] == 0 and not _is_progress(each.text):
            said = _place_report(each, each.order[1:])
            cue = each.section == LEARNINGS_SECTION
            found.append(said if cue else replace(said, weight=_UNCUED_FACTOR * said.weight))
    return found


def _find_opened_numbers(log: TaskLogBuilder) -> set[str]:
    """The numbers of what was opened, which stands in an entry of its own."""
    addresses = [each.address for task in log.tasks for each in task.opened if each.address]
    return {form for each in addresses for form in (each, f"#{each.rsplit('/', 1)[-1]}")}


def _cut_narration(line: NoteLine) -> NoteLine | None:
    """The line up to where the agent tells what it was about to do; None where nothing is left."""
    found = _NARRATES.search(line.text)
    if found is None or SHIPPED.search(line.text):
        return line
    finding = _CLAUSE_JOINT.sub("", line.text[: found.start()])
    finding = _CLAUSE_JOINT.sub("", _DEPENDENT.sub("", finding))
    cut = build_weighted_note_line(line.section, finding, line.order, line.weight)
    return cut if len(cut.stems) >= _CLAUSE_STEMS else None


_OFFERS = lazy_pattern(
    r"\bwhenever you\b|\bgive the word\b|\blet me know\b|\b(?:want|like) me to\b"
    r"|\bsay (?:the word|if you)\b|\bhard refresh\b"
    r"|\b(?:reload|refresh) the\b.*\b(?:page|browser|tab)\b"
    r"|\bhappy to\b|\bworth (?:a|another) (?:quick |closer |second )?(?:check|look|glance)\b"
    r"|^\W*i (?:can['’]t|cannot) .*\bmyself\b|\bif you (?:want|like|prefer|wish)\b"
    r"|^\W*i (?:can|could) (?:also |then |now )?(?:write|add|open|draft|prepare|make|do)\b",
    re.IGNORECASE,
)
_WAITS = lazy_pattern(
    r"\b(?:checks?|jobs?|runs?|builds?|CI|workflows?)\b[^.;]{0,40}\b(?:pending|queued|in progress"
    r"|still running)\b|\b(?:pending|queued) (?:\w+ )?(?:checks?|jobs?|runs?)\b"
    r"|\bno (?:failing|failed|pending) (?:\w+ )?(?:checks?|jobs?)\b|\bmergeable\b"
    r"|\b(?:working tree|work ?tree|branch|(?:git )?status) (?:is |stays )?(?:now |back )?clean\b"
    r"|\bcurrently (?:untracked|unstaged|uncommitted)\b|^\W*(?:auth|login)\b[^.]*\bactive\b",
    re.IGNORECASE,
)
"""A state that ends by itself, also that of the last turn: a check that runs, a file not yet
added.
"""
_PASSES_AWAY = lazy_pattern(
    r"\bready (?:to|for|when)\b|\b(?:not|nothing|never) (?:yet |been )*(?:committed|pushed|staged"
    r"|merged)\b|\bstaged (?:locally|in)\b|\bI? ?still (?:need|have) to\b|\bstay out of\b"
    r"|\b(?:remains?|stays?|left|still|unrelated|pre-?existing) (?:\w+ ){0,2}"
    r"(?:uncommitted|unstaged|untracked)\b"
    r"|^\W*good, (?:now|so)\b|\bclean branch\b",
    re.IGNORECASE,
)
"""The state of the work on the way; only that of the last turn is still so later."""
_PROGRESS = lazy_pattern(
    r"^\W*(?:the |my |this |that |a )?(?:(?:first|second|third|next|last|final|staged|generated|new"
    r"|refreshed|hosted|committed|complete|repository|unit|explicit|focused"
    r"|targeted|narrow(?:er)?|direct|full|whole|small|local|remaining) )*"
    r"(?:patch|diff|index|staged set|hunks?|work ?tree|working tree|edits?|branch|commit|push"
    r"|rebase|merge|verification|build|bundle|suite|test run|tests?|lint(?:er)?"
    r"|formatt(?:er|ing)|checks?|implementation|validation|CI(?: run)?)\b[^.;:]{0,40}?"
    r"\b(?:is|are|was|were|looks?|applied|landed|completed|pass(?:es|ed)?|finished|match(?:es)?"
    r"|needs?|will|came back|succeeded|covers?|has|have|hit)\b"
    r"|^\W*i(?:['’]ve| have)? (?:now |also |just |already )*(?:got|moved|spotted|have|split"
    r"|narrowed|located|read|finished|inspected|reviewed|traced|isolated|checked|gathered"
    r"|collected)\b"
    r"|^\W*(?:line too long|needs? to|step \d|plan complete|next step|all green"
    r"|(?:good|great)[,:—])"
    r"|^\W*(?:\S+ ){1,4}(?:is|are) (?:now )?"
    r"(?:available|free|in place|checked out|up to date|ready)\b",
    re.IGNORECASE,
)
"""How far the agent had come, which its last words of the turn or the proofs of the session say
better; kept only with a cause.
"""
_TELLS_CAUSE = lazy_pattern(
    r"\b(?:because|since|due to|which (?:means|meant|caused)|caused? by|so that|not \w+ but"
    r"|instead of|once|unless|only (?:when|if|with|after))\b"
    r"|\bfail(?:s|ed|ing|ure)?\b|\berror\b|\brequires?\b|\bblocked\b|\bmissing\b",
    re.IGNORECASE,
)
_GUESSES = lazy_pattern(
    r"\b(?:maybe|perhaps|probably|(?:is|are|it['’]s) likely|might be|may be|could be"
    r"|i (?:think|guess|suspect)|seems? (?:to|like))\b",
    re.IGNORECASE,
)
_GUESS_FACTOR = 0.6
"""Factor for what the agent only supposed: what it found comes later."""
_BARE_COMMIT = lazy_pattern(
    r"(?:[*_`]*(?:all )?(?:done|committed|commits?|pushed|amended)\b[*_`]*[\s:,.—–-]*"
    r"(?:(?:and|as|in|it|to|is|at|on|with|commit|pushed|committed|branch|now|hash|sha)\s+)*"
    r"[`\"'(]*[\w./-]*[`\"')]*[\s.,!]*(?:(?:on|to|onto) (?:branch )?[`\w./-]+[\s.,!]*)?)+"
    r"|\W*\d+ files? changed\b[\w\s,()+-]*[.!]?",
    re.IGNORECASE,
)
"""A commit's name or size, without what was committed."""
_MAX_ANNOUNCING_STEMS = 4
"""Content words up to which a sentence only tells that something was opened."""


def _is_lasting(line: NoteLine, *, last: bool) -> bool:
    """Whether a sentence of the agent still says something when a later session reads it; `last` if
    it belongs to the session's last turn.
    """
    if any(each.search(line.text) for each in (_OFFERS, _WAITS)):
        return False
    if _BARE_COMMIT.fullmatch(line.text):
        return False
    return last or not _PASSES_AWAY.search(line.text)


def _is_progress(sentence: str) -> bool:
    return _PROGRESS.match(sentence) is not None and _TELLS_CAUSE.search(sentence) is None


_CLAUSE_JOINT = lazy_pattern(r"[\s,;:—–-]*(?:\b(?:so|and|then|but|next|now|before|while)[\s,]*)*\Z")
_DEPENDENT = lazy_pattern(
    r"(?:\A|[,;:—–]\s*)(?:since|once|when|if|while|because|after|before|as|until)\b[^,;:—–]*\Z",
    re.IGNORECASE,
)
"""A clause that says nothing without the one that was cut off."""
_CLAUSE_STEMS = 4
"""Content words of a clause that tells something by itself."""


def _place_report(line: NoteLine, order: tuple[int, ...]) -> NoteLine:
    ships = SHIPPED.search(line.text)
    return NoteLine(
        RESULTS_SECTION,
        line.text,
        line.stems,
        line.keys,
        line.cost + REPORT_OVERHEAD_TOKENS,
        line.weight * (_SHIPPED_FACTOR if ships else 1.0),
        order,
    )
