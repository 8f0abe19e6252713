"""Session notes without a model: what the transcript alone proves, in the ten sections of SM-4
(SM-13). Pure.

Everything in the notes is taken from the transcript: the user's and the assistant's sentences
verbatim, paths, commands, output lines, and counts. Only the labels around them are ours.
"""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

from memorist.session_memory.ledger import Ledger
from memorist.session_memory.lexicon import token_cost
from memorist.session_memory.paths import relative, root_of
from memorist.session_memory.rank import Chosen, Line, choose
from memorist.session_memory.sections_log import LOG, log_lines, state_lines
from memorist.session_memory.sections_talk import (
    DOCS,
    LEARNED,
    RESULTS,
    STATE,
    TASK,
    TITLE,
    grouped_text,
    results_text,
    said_lines,
    task_lines,
    task_text,
    title,
)
from memorist.session_memory.sections_work import ERRORS, FILES, FLOW, error_lines, file_lines, flow_lines

SECTIONS = (TITLE, STATE, TASK, FILES, FLOW, ERRORS, DOCS, LEARNED, RESULTS, LOG)
"""The sections in the template's order."""

PLAN_SECTION = TASK + "/plan"

_SHOWN = re.compile(r"(?=.{3,60}$)(?=.*[A-Za-z])(?:[~@.]?/)?[\w@-]+(?:(?:/|\.|::|->|#|:)[\w@*-]+)*(?:\(\))?")

_EITHER_OR = re.compile(r"[A-Za-z-]+(?:/[A-Za-z-]+)+|[A-Za-z0-9]{1,5}|[a-z]+|e\.g|i\.e")
"""Words joined by a slash, plain words, and short letter groups: not names."""

_HASH = re.compile(r"[0-9a-f]{7,40}")

NAMES_SHARE = 0.07
"""Share of the budget for the line of names."""

SHARED = 4
"""Where two lists share a section, the smaller one may take one part in so many."""

LABELS_COST = 40
"""Tokens of the labels between groups of lines."""

_SHARES = {
    STATE: 0.12,
    TASK: 0.4,
    PLAN_SECTION: 0.15,
    FILES: 0.35,
    FLOW: 0.14,
    ERRORS: 0.22,
    DOCS: 0.3,
    LEARNED: 0.35,
    RESULTS: 0.4,
    LOG: 0.3,
    TITLE: 0.05,
}
"""The largest share of the budget for each section, so that none crowds out the others."""

_FLOORS = {RESULTS: 0.14, LOG: 0.13, ERRORS: 0.08, FLOW: 0.07, LEARNED: 0.1, DOCS: 0.07}
"""The share of the budget that a section may fill before the best of all lines are selected."""


class NotesBudget(Struct, frozen=True, kw_only=True):
    """Estimated sizes in tokens (o200k)."""

    total_tokens: int = 2_900
    section_tokens: int = 2_000


def render(ledger: Ledger, budget: NotesBudget | None = None) -> dict[str, str]:
    """Render the notes: section title to text, for all ten sections; empty where there is nothing
    to say.
    """
    budget = budget or NotesBudget()
    root = root_of(ledger.cwd, ledger.work.files.files)
    log, in_log = log_lines(ledger, root)
    state, in_state = state_lines(ledger, root)
    lines = [*state, *task_lines(ledger), *file_lines(ledger, root), *flow_lines(ledger), *error_lines(ledger, root), *log]
    lines += said_lines(ledger, in_log | in_state)
    heading = _heading(ledger, budget.section_tokens)
    names_budget = min(int(budget.total_tokens * NAMES_SHARE), budget.section_tokens // SHARED)
    room = budget.total_tokens - token_cost(heading) - names_budget - LABELS_COST
    caps = {section: min(int(budget.total_tokens * share), budget.section_tokens) for section, share in _SHARES.items()}
    caps[PLAN_SECTION] = min(caps[PLAN_SECTION], budget.section_tokens // SHARED)
    caps[TASK] = min(caps[TASK], budget.section_tokens - caps[PLAN_SECTION])
    caps[FILES] = min(caps[FILES], budget.section_tokens - names_budget)
    floors = {section: int(budget.total_tokens * share) for section, share in _FLOORS.items()}
    chosen = choose(lines, room, caps, floors)
    by_section: dict[str, list[Line]] = {}
    for each in chosen.lines:
        by_section.setdefault(each.section, []).append(each)
    texts = {section: _bullets(by_section.get(section, [])) for section in SECTIONS}
    texts[TITLE] = heading
    texts[DOCS], texts[LEARNED] = grouped_text(by_section.get(DOCS, [])), grouped_text(by_section.get(LEARNED, []))
    texts[RESULTS] = results_text(by_section.get(RESULTS, []))
    texts[TASK] = task_text(ledger, by_section.get(TASK, []))
    plan = _bullets(by_section.get(PLAN_SECTION, []))
    if plan:
        texts[TASK] = f"{texts[TASK]}\nFrom the plan shown to the user:\n{plan}".strip()
    names = _names(ledger, chosen, names_budget, root)
    if names:
        texts[FILES] = f"{texts[FILES]}\n- Names that came up: {names}".strip()
    return texts


def _heading(ledger: Ledger, most: int) -> str:
    """The title within so many tokens: characters of rare scripts cost more than their number
    suggests.
    """
    heading = title(ledger)
    while (cost := token_cost(heading)) > most and heading:
        heading = heading[: len(heading) * most // cost].rstrip()
    return heading


def _bullets(lines: list[Line]) -> str:
    return "\n".join(f"- {each.text}" for each in sorted(lines, key=lambda each: each.order))


def _names(ledger: Ledger, chosen: Chosen, budget: int, root: str) -> str:
    """The identifiers with the highest weights that occur nowhere else in the notes."""
    found: list[str] = []
    weights = ledger.talk.pool.names
    for name in sorted(weights, key=weights.__getitem__, reverse=True)[:400]:
        shown, key, cost = _name(name, root)
        if not cost or key in chosen.keys:
            continue
        if budget < cost:
            break
        budget -= cost
        chosen.keys.add(key)
        found.append(shown)
    return ", ".join(found)


@lru_cache(1_024)
def _name(name: str, root: str) -> tuple[str, str, int]:
    """A name's displayed form, its comparable form, and its tokens: 0 for what is not a name after
    all.
    """
    shown = relative(name, root)
    if not _SHOWN.fullmatch(shown) or _EITHER_OR.fullmatch(shown) or _HASH.fullmatch(shown):
        return shown, "", 0
    return shown, shown.rstrip("/").rsplit("/", 1)[-1].lower(), token_cost(shown) + 1
