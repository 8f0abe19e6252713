"""Choose the few things about a project that its past sessions prove, for a reader who wants to see
at a glance what is known. Pure.

Only what structure proves or the user said is taken; what an agent reported or a model inferred is
not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from memorist.core.lazy import lazy_pattern
from memorist.core.sentences import shorten_to_one_line
from memorist.rollouts.raw_memory import SAID_PREFIX, MemoryBullet, RawMemory

MAX_FACT_CHARACTERS = 170
"""About two lines of a terminal. Our choice."""
_COMMAND_RAN = lazy_pattern(
    r"(Checks passed|Tests ran|Linted|Types checked|Built|Formatted) with: (`[^`]+`(?:, `[^`]+`)*)"
)
_MENDED = lazy_pattern(r"(`[^`]+`) failed(.*?) → mended (.*)", re.DOTALL)


class ProjectFact(Struct, frozen=True):
    """One thing that is known, and what proves it."""

    text: str
    proof: str


def select_project_facts(
    memories: Sequence[tuple[str, RawMemory]], limit: int = 3
) -> list[ProjectFact]:
    """The facts of the sessions, each a session's id and raw memory, newest first.

    One of each kind comes first (what the user asked for, what failed and what fixed it, the
    command that works), then more of each.
    """
    kinds = [
        list(_distinct(select(memories)))
        for select in (_find_preferences, _find_fixed_calls, _find_commands)
    ]
    rounds = [
        facts[number]
        for number in range(max(map(len, kinds), default=0))
        for facts in kinds
        if number < len(facts)
    ]
    return rounds[:limit]


def _distinct(facts: Iterable[ProjectFact]) -> Iterator[ProjectFact]:
    seen = set()
    for fact in facts:
        if fact.text.casefold() not in seen:
            seen.add(fact.text.casefold())
            yield fact


def _find_preferences(memories: Sequence[tuple[str, RawMemory]]) -> Iterator[ProjectFact]:
    for session, bullet in _list_bullets(memories, "preferences", "said"):
        if bullet.text.startswith(SAID_PREFIX):
            continue  # only probably meant to last
        yield _make_fact(f"You said: “{shorten_to_one_line(bullet.text, 120)}”", session, bullet)


def _find_fixed_calls(memories: Sequence[tuple[str, RawMemory]]) -> Iterator[ProjectFact]:
    for session, bullet in _list_bullets(memories, "failures", "proved"):
        found = _MENDED.match(bullet.text)
        if found is not None:
            text = f"{found[1]} failed once; mended {shorten_to_one_line(found[3], 100)}"
            yield _make_fact(text, session, bullet)


def _find_commands(memories: Sequence[tuple[str, RawMemory]]) -> Iterator[ProjectFact]:
    for session, bullet in _list_bullets(memories, "knowledge", "proved"):
        found = _COMMAND_RAN.match(bullet.text)
        if found is not None:
            yield _make_fact(f"{found[1]} with {found[2]}", session, bullet)


def _list_bullets(
    memories: Sequence[tuple[str, RawMemory]], field: str, proof: str
) -> Iterator[tuple[str, MemoryBullet]]:
    for session, memory in memories:
        for task in memory.tasks:
            for bullet in getattr(task, field):
                if bullet.proof == proof:
                    yield session, bullet


def _make_fact(text: str, session: str, bullet: MemoryBullet) -> ProjectFact:
    where = ", ".join(filter(None, (bullet.date, f"session {session[:8]}", bullet.evidence)))
    return ProjectFact(shorten_to_one_line(text, MAX_FACT_CHARACTERS), where)
