"""Build the note lines from the dialogue: title, task, results, learnings, documentation. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from memorist.core.later import late_pattern
from memorist.session_memory.ledger import Ledger
from memorist.session_memory.ledger_talk import ANSWERING, Ask
from memorist.session_memory.ledger_texts import (
    BASE_WEIGHT,
    COMMENT,
    COMMIT,
    EARLIER,
    FINAL,
    PLAN,
    SAID,
    SHOWN,
    THOUGHT,
    Candidate,
    quality,
)
from memorist.session_memory.rank import LINE_OVERHEAD, Line
from memorist.session_memory.sentences import Sentence, sentence, shorten

TITLE, STATE, TASK = "Session Title", "Current State", "Task specification"
DOCS, LEARNED, RESULTS = "Codebase and System Documentation", "Learnings", "Key results"

TITLE_LENGTH = 90
_CLAUSE_LENGTH = 28
_CLAUSE = late_pattern(r"[:;,](?= )| (?:[—–-]|because|so that|and|but|which|then|when|while) | \(")
_HIT = late_pattern(r":\d+\)$")
_COMMON = late_pattern(r"_|test|set_?[Uu]p|tear_?[Dd]own|main$|init$|write$|read$|get$|set$|run$")
"""Function names that are meaningless on their own."""

_LINK = late_pattern(r"https?://\S+")
_COMMITTED = late_pattern(r"\[\S+(?: \([^)]*\))? [0-9a-f]{7,}\] ([^;]+)")
_GROUPS = ("", "In its reasoning:", "In an earlier summary:", "In the changed code:", "In code that was read:")
_GROUP_OF = {THOUGHT: 1, EARLIER: 2, COMMENT: 3, SHOWN: 4}
_PLACES = {COMMIT: RESULTS, PLAN: TASK + "/plan", COMMENT: DOCS, EARLIER: DOCS, SHOWN: DOCS}
_SHOWN_LIMIT = 8
_DECLARED = late_pattern(
    r"`(?:[a-z]+(?:\([^)]*\))? )*?(?:func|function|def|class|struct|enum|trait|interface|type|fn|impl) (?:\([^)]*\) ?)?(\w+)"
)
_LAST_TABLES = 2
_OLDER = 0.85
_MUST_SENTENCES = 4
_SHORT_ASK = 110
"""Tokens below which a user message is included whole."""

_MUST_ASKS = 560
"""Tokens of user messages that are included before anything else."""


def of_sentence(section: str, found: Sentence, order: tuple[int, ...], weight: float, *, must: bool = False) -> Line:
    """A line made of this sentence."""
    return Line(section, found.text, found.stems, found.keys, found.cost + LINE_OVERHEAD, weight, order, must, found.bullet, found.table)


def title(ledger: Ledger) -> str:
    """The session's own title, or the beginning of the first request."""
    if ledger.title:
        return shorten(ledger.title, TITLE_LENGTH)
    asks = [ask for ask in ledger.talk.asks if ask.how != ANSWERING]
    spoken = [ask for ask in asks if len(ask.text) >= 16 and ask.text[0] not in "!/#"]
    first = next(iter(spoken or asks), None)
    if first is None:
        return ""
    heading = first.sentences[0].text if first.sentences else first.text
    if len(first.sentences) > 1 and heading.rstrip(" …").lower().startswith("implement the following plan"):
        heading = first.sentences[1].text
    heading = _LINK.sub("", heading.removeprefix("Plan: ")).strip(" :-") or heading
    return heading if len(heading) <= TITLE_LENGTH else _clause(heading) or _subject(ledger) or shorten(heading, TITLE_LENGTH)


def _clause(heading: str) -> str:
    """The longest prefix of a long sentence that ends at a clause boundary; empty where there is
    none of a reasonable length.
    """
    ends = [match.start() for match in _CLAUSE.finditer(heading[: TITLE_LENGTH + 1])]
    return heading[: ends[-1]] if ends and ends[-1] >= _CLAUSE_LENGTH else ""


def _subject(ledger: Ledger) -> str:
    """The subject of the first commit; empty where there was none."""
    commits = (commit for turn in ledger.turns.turns for commit in turn.commits)
    found = next((match[1] for commit in commits if (match := _COMMITTED.match(commit))), "")
    return shorten(found, TITLE_LENGTH)


def task_lines(ledger: Ledger) -> list[Line]:
    """The user's messages: the short ones whole and the first sentences of the others must be
    included; the rest is weighed.
    """
    lines: list[Line] = []
    left = _MUST_ASKS
    ranked = ledger.talk.asks[:1] + ledger.talk.asks[:0:-1]
    must: set[int] = set()
    for ask in ranked:
        if ask.price < 0:
            ask.price = sum(each.cost + LINE_OVERHEAD for each in _must_part(ask))
        price = ask.price
        if price <= left:
            must.add(id(ask))
            left -= price
    for at, ask in enumerate(ledger.talk.asks):
        made_for = (at, id(ask) in must)
        if ask.told_for != made_for:
            ask.told_for, ask.told = made_for, _ask_lines(ask, at, must=made_for[1])
        lines.extend(ask.told)
    return lines


def _must_part(ask: Ask) -> list[Sentence]:
    whole = sum(each.cost for each in ask.sentences)
    return ask.sentences if whole <= _SHORT_ASK else ask.sentences[:_MUST_SENTENCES]


def _ask_lines(ask: Ask, at: int, *, must: bool) -> list[Line]:
    if not ask.sentences:
        return [of_sentence(TASK, sentence(ask.text), (at, 0), 3.0, must=must)]
    first = {id(each) for each in _must_part(ask)}
    return [
        of_sentence(TASK, each, (at, place), 2.6 if place < 12 else 2.0, must=must and id(each) in first)
        for place, each in enumerate(ask.sentences)
    ]


def task_text(ledger: Ledger, lines: list[Line]) -> str:
    """Render the user's messages in order; omitted sentences leave an ellipsis."""
    asks: dict[int, list[Line]] = {}
    for each in lines:
        asks.setdefault(each.order[0], []).append(each)
    out = []
    for at in sorted(asks):
        ask = ledger.talk.asks[at]
        how = f"({ask.how}) " if ask.how else ""
        chosen = sorted(asks[at], key=lambda each: each.order)
        whole = len(ask.sentences) or 1
        times = f" (×{ask.times})" if ask.times > 1 else ""
        out.append(f"- {how}{joined(chosen, whole)}{times}")
    return "\n".join(out)


def results_text(lines: list[Line]) -> str:
    """Render final words and commit messages, grouped by turn."""
    turns: dict[int, list[Line]] = {}
    for each in sorted(lines, key=lambda each: each.order):
        turns.setdefault(each.order[0], []).append(each)
    return "\n".join(f"- {joined(found, 0)}" for found in turns.values())


def joined(parts: list[Line], whole: int) -> str:
    """Join sentences: adjacent ones on one line, list items on their own lines, tables below an
    empty line, gaps as an ellipsis.

    The last number of a line's order is its position. With `whole`, the original number of
    sentences, an ellipsis also marks what is missing at the start and the end.
    """
    text = ""
    last = -1 if whole else parts[0].order[-1] - 1
    before = ""
    for each in parts:
        gap = each.order[-1] != last + 1
        if not text:
            text = ("… " if gap else "") + _indented(each)
        elif each.table or before == "table":
            text += f"\n\n  {_indented(each)}"
        elif each.bullet:
            text += f"\n  - {each.text}"
        elif before == "bullet":
            text += f"\n  {each.text}"
        else:
            text += f" … {each.text}" if gap and not text.endswith("…") else f" {each.text}"
        last, before = each.order[-1], "table" if each.table else "bullet" if each.bullet else ""
    return text if not whole or last == whole - 1 or text.endswith("…") else f"{text} …"


def _indented(each: Line) -> str:
    """The line's text; the rows of a table indented to stay inside the list item."""
    return each.text.replace("\n", "\n  ") if each.table else each.text


def said_lines(ledger: Ledger, skip: set[int]) -> list[Line]:
    """Lines from the assistant's statements: final words go to the results, causes and rules to the
    learnings, the rest to the documentation.
    """
    now = ledger.turns.now.number
    tail = {each.order for each in ledger.talk.tail}
    tables = {each.order for each in [each for each in ledger.talk.pool.candidates if each.sentence.table][-_LAST_TABLES:]}
    lines = []
    shown = [each for each in ledger.talk.pool.candidates if each.source in (SHOWN, COMMENT)]
    spoken_of = sorted((each for each in shown if _spoken_of(each, ledger.talk.pool.names)), key=quality, reverse=True)
    skip = skip | ({each.order for each in shown} - {each.order for each in spoken_of[:_SHOWN_LIMIT]})
    for each in ledger.talk.pool.candidates:
        if each.order in skip:
            continue
        if not each.placed:
            closed = each.turn != now
            each.line = _said_line(each, _OLDER if closed else 1.0, final=each.order in tail, must=each.order in tables)
            each.placed = closed and not each.sentence.table
        if each.line is not None:
            lines.append(each.line)
    return lines


def _said_line(candidate: Candidate, age: float, *, final: bool, must: bool) -> Line | None:
    section, weight = _place(candidate, final=final)
    if not section:
        return None
    group = (_GROUP_OF.get(candidate.source, 0),) if section in (DOCS, LEARNED) else ()
    return of_sentence(section, candidate.sentence, (*group, candidate.turn, candidate.order), weight * age, must=must)


def _spoken_of(candidate: Candidate, names: Mapping[str, float]) -> bool:
    """Whether a shown declaration counts: only where a search hit it or its name occurs elsewhere;
    comments always count.
    """
    text = candidate.sentence.text
    declared = _DECLARED.match(text) if candidate.source == SHOWN else None
    if declared is None or declared[1] in names or f"{declared[1]}()" in names:
        return True
    return bool(_HIT.search(text)) and not _COMMON.match(declared[1])


def grouped_text(lines: list[Line]) -> str:
    """Render statements first; below them, each under a label, text from weaker sources."""
    out: list[str] = []
    group = 0
    for each in sorted(lines, key=lambda each: each.order):
        if each.order[0] != group:
            group = each.order[0]
            out.append(_GROUPS[group])
        out.append(f"- {each.text}")
    return "\n".join(out)


def _place(each: Candidate, *, final: bool) -> tuple[str, float]:
    """The section of a statement, empty for none, and its weight there."""
    if each.source == FINAL or each.sentence.table or (final and each.source == SAID):
        return RESULTS, max(each.weight, BASE_WEIGHT[FINAL])
    if each.source == SAID and each.sentence.text.endswith("?"):
        return "", 0.0
    if each.source in (SAID, THOUGHT):
        return LEARNED if each.cue else DOCS, each.weight
    return _PLACES.get(each.source, ""), each.weight
