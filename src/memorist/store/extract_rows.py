"""Rows of what stage one extracted from past sessions. Works on either database (`StateDatabase`);
every writing function is one transaction, and raises StoreError.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from memorist.store.sqlite_database import build_struct_from_row
from memorist.store.state_database import StateDatabase, render_upsert


class RolloutExtract(Struct, frozen=True, kw_only=True):
    """What stage one extracted from a rollout. Raw memory and summary both empty: nothing worth
    keeping, which is recorded too (RO-4).
    """

    thread: str
    updated: int
    """The rollout's watermark when it was read: a later one makes this extract outdated."""
    raw_memory: str = ""
    rollout_summary: str = ""
    slug: str = ""
    way: Literal["model", "structural"] = "structural"
    generated: int
    """Seconds since the epoch."""
    problem: str = ""
    """Why a model that should have been asked did not make it; empty where it did, or none should
    have been.
    """
    outside: bool = False
    """The session took in content from the web or from an MCP server (RO-9)."""
    forked_from: str = ""
    """Id of the session whose messages this one begins with, and which were left to that; empty for
    none. Once chosen it stays, so that of two copies exactly one counts.
    """
    path: str = ""
    cwd: str = ""
    repository: str = ""
    branch: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing worth keeping."""
        return not (self.raw_memory.strip() or self.rollout_summary.strip())


class StoredExtract(Struct, frozen=True, kw_only=True):
    """An extract as stored, with its use."""

    extracted: RolloutExtract
    uses: int = 0
    """How often it was cited."""
    last_use: int | None = None
    selected: bool = False
    """It is part of the last consolidation."""


MAX_PRUNED_EXTRACTS = 200
"""Most extracts removed in one run (Codex)."""


_DAY = 86_400


_SAVE_EXTRACT = (
    render_upsert("extracts", RolloutExtract.__struct_fields__, ("thread",))
    + " where extracts.updated <= excluded.updated"
)


def save_extract_if_newest(state: StateDatabase, extracted: RolloutExtract) -> bool:
    """Store an extract, preserving its use counts and selection. False when a newer one exists,
    which is kept. To be called within a transaction.
    """
    return bool(
        state.execute(
            _SAVE_EXTRACT, msgspec.structs.asdict(extracted) | {"outside": int(extracted.outside)}
        )
    )


def remove_extract(state: StateDatabase, thread: str) -> bool:
    """Remove the extract of a rollout; False when there was none. To be called within a
    transaction.
    """
    return bool(state.execute("delete from extracts where thread = :thread", {"thread": thread}))


def list_enabled_extracts(state: StateDatabase) -> list[StoredExtract]:
    """The extracts of all sessions that may become memory, ordered by rollout id."""
    rows = state.query(
        "select extracts.* from extracts left join threads on threads.id = extracts.thread"
        " where coalesce(threads.mode, 'enabled') = 'enabled' order by extracts.thread"
    )
    return [_extract_from_row(row) for row in rows]


def find_extract(state: StateDatabase, thread: str) -> StoredExtract | None:
    """The extract of one session, whether or not it may become memory; None where it has none."""
    rows = state.query("select * from extracts where thread = :thread", {"thread": thread})
    return _extract_from_row(rows[0]) if rows else None


def prune_unused_unconsolidated_extracts(state: StateDatabase, unused_days: int) -> None:
    """Remove the stalest extracts that are neither consolidated nor were used, changed or made for
    that long.

    Their jobs stay, so that they are not extracted again until they grow. Failures of that age go
    too.
    """
    before = state.now() - unused_days * _DAY
    with state.transaction():
        rows = state.query(
            "select thread from extracts where selected = 0 and updated < :before and "
            "coalesce(last_use, generated) < :before"
            " order by coalesce(last_use, updated), thread limit :limit",
            {"before": before, "limit": MAX_PRUNED_EXTRACTS},
        )
        for row in rows:
            remove_extract(state, row["thread"])
        state.execute("delete from failures where at < :before", {"before": before})


def delete_all_extraction_state(state: StateDatabase) -> int:
    """Remove every extract, job and failure; rollouts and their modes stay. Returns the number of
    extracts.
    """
    with state.transaction():
        count = state.execute("delete from extracts")
        state.execute("delete from jobs")
        state.execute("delete from failures")
    return count


def insert_missing_extracts(state: StateDatabase, found: Sequence[StoredExtract]) -> int:
    """Insert extracts read from files where the database has none for their rollout; returns how
    many.
    """
    with state.transaction():
        have = {row["thread"] for row in state.query("select thread from extracts")}
        missing = [each for each in found if each.extracted.thread not in have]
        for each in missing:
            save_extract_if_newest(state, each.extracted)
            state.execute(
                "update extracts set uses = :uses, last_use = :last_use, selected = :selected, "
                "selected_updated = updated where thread = :thread",
                {
                    "thread": each.extracted.thread,
                    "uses": each.uses,
                    "last_use": each.last_use,
                    "selected": int(each.selected),
                },
            )
    return len(missing)


def _extract_from_row(row: Mapping[str, Any]) -> StoredExtract:
    extracted = build_struct_from_row(RolloutExtract, row, outside=bool(row["outside"]))
    return build_struct_from_row(
        StoredExtract, row, extracted=extracted, selected=bool(row["selected"])
    )
