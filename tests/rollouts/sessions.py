"""Sessions as stage one leaves them, for the tests of stage two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memorist.rollouts.drafting import Draft, Given, draft_of
from memorist.rollouts.raw_memory import Bullet, Outcome, Proof, RawMemory, Scope, Task, render
from memorist.store.thread import Extracted, Kept

SHOP = "/home/dev/shop"
TILL = "/home/dev/till"
NOW = 1_763_800_000
"""2025-11-22."""
DAY = 86_400


def bullet(text: str, date: str = "2025-11-20", proof: Proof = "said", scope: Scope | None = None) -> Bullet:
    return Bullet(text=text, proof=proof, date=date, scope=scope)


def task(
    name: str,
    *,
    preferences: Sequence[Bullet] = (),
    knowledge: Sequence[Bullet] = (),
    failures: Sequence[Bullet] = (),
    outcome: Outcome = "success",
) -> Task:
    return Task(
        name=name,
        outcome=outcome,
        preferences=tuple(preferences),
        knowledge=tuple(knowledge),
        failures=tuple(failures),
        keywords=("totals",),
    )


def kept(
    thread: str,
    *tasks: Task,
    root: str = SHOP,
    ago: int = 1,
    uses: int = 0,
    summary: str = "# A session",
    slug: str = "",
    cwd: str | None = None,
) -> Kept:
    """A session of a repository, so many days ago."""
    raw = render(RawMemory(description=tasks[0].name if tasks else thread, cwd=root, tasks=tasks))
    extracted = Extracted(
        thread=thread,
        updated=NOW - ago * DAY,
        raw_memory=raw,
        rollout_summary=summary,
        slug=slug,
        generated=NOW - ago * DAY + 60,
        path=f"/home/dev/.sessions/{thread}.jsonl",
        cwd=root if cwd is None else cwd,
        repository=root,
    )
    return Kept(extracted=extracted, uses=uses)


def made(
    rows: Sequence[Kept],
    present: Mapping[str, bytes] | None = None,
    base: Mapping[str, bytes] | None = None,
    *,
    dropped: frozenset[str] = frozenset(),
    lean: bool = False,
) -> Draft:
    """The draft for these sessions; without `base` the folder stands as it was accepted."""
    there = dict(present or {})
    ordered = tuple(sorted(rows, key=lambda row: row.extracted.thread))
    return draft_of(
        Given(rows=ordered, present=there, base=there if base is None else base, dropped=dropped, today="2025-11-22", lean=lean)
    )


def handbook(draft: Draft) -> str:
    return draft.files["MEMORY.md"].decode()


def summary(draft: Draft) -> str:
    return draft.files["memory_summary.md"].decode()
