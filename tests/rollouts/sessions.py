"""Sessions as stage one leaves them, for the tests of stage two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memorist.rollouts.raw_memory import (
    ClaimProof,
    ClaimScope,
    MemoryBullet,
    RawMemory,
    RawMemoryTask,
    TaskOutcome,
    render_session_raw_memory,
)
from memorist.rollouts.structural_folder_draft import (
    FolderDraft,
    FolderDraftInput,
    build_folder_draft,
)
from memorist.settings import RolloutsSettings
from memorist.store.extract_rows import RolloutExtract, StoredExtract

SHOP = "/home/dev/shop"
TILL = "/home/dev/till"
NOW = 1_763_800_000
"""2025-11-22."""
DAY = 86_400


def bullet(
    text: str, date: str = "2025-11-20", proof: ClaimProof = "said", scope: ClaimScope | None = None
) -> MemoryBullet:
    return MemoryBullet(text=text, proof=proof, date=date, scope=scope)


def task(
    name: str,
    *,
    preferences: Sequence[MemoryBullet] = (),
    knowledge: Sequence[MemoryBullet] = (),
    failures: Sequence[MemoryBullet] = (),
    outcome: TaskOutcome = "success",
) -> RawMemoryTask:
    return RawMemoryTask(
        name=name,
        outcome=outcome,
        preferences=tuple(preferences),
        knowledge=tuple(knowledge),
        failures=tuple(failures),
        keywords=("totals",),
    )


def kept(
    thread: str,
    *tasks: RawMemoryTask,
    root: str = SHOP,
    ago: int = 1,
    uses: int = 0,
    summary: str = "# A session",
    slug: str = "",
    cwd: str | None = None,
) -> StoredExtract:
    """A session of a repository, so many days ago."""
    raw = render_session_raw_memory(
        RawMemory(description=tasks[0].name if tasks else thread, cwd=root, tasks=tasks)
    )
    extracted = RolloutExtract(
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
    return StoredExtract(extracted=extracted, uses=uses)


def made(
    rows: Sequence[StoredExtract],
    present: Mapping[str, bytes] | None = None,
    base: Mapping[str, bytes] | None = None,
    *,
    dropped: frozenset[str] = frozenset(),
    lean: bool = False,
) -> FolderDraft:
    """The draft for these sessions; without `base` the folder stands as it was accepted."""
    there = dict(present or {})
    ordered = tuple(sorted(rows, key=lambda row: row.extracted.thread))
    return build_folder_draft(
        FolderDraftInput(
            selected_extracts=ordered,
            present_files=there,
            accepted_files=there if base is None else base,
            removed_digests=dropped,
            today="2025-11-22",
            lean_bytes=RolloutsSettings().lean_bytes if lean else None,
        )
    )


def handbook(draft: FolderDraft) -> str:
    return draft.files["MEMORY.md"].decode()


def summary(draft: FolderDraft) -> str:
    return draft.files["memory_summary.md"].decode()
