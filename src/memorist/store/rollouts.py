"""Threads and what stage one made of them. Runs on either database (`State`); every function that writes is one transaction, and raises StoreError."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from memorist.store.state import State
from memorist.store.thread import Extracted, Kept, Standing, Thread

PRUNED = 200
"""Extracts removed at most in one go (codex.md section 1.8)."""

_DAY = 86_400
_KEEP_THREAD = (
    "insert into threads (id, path, format, size, modified_ns, updated, cwd, repository, branch, source, first_words, mode) values"
    " (:id, :path, :format, :size, :modified_ns, :updated, :cwd, :repository, :branch, :source, :first_words, :mode)"
    " on conflict (id) do update set path = excluded.path, format = excluded.format, size = excluded.size,"
    " modified_ns = excluded.modified_ns, updated = excluded.updated, cwd = excluded.cwd, repository = excluded.repository,"
    " branch = excluded.branch, source = excluded.source, first_words = excluded.first_words,"
    " mode = case when threads.mode = 'enabled' then excluded.mode else threads.mode end"
)
_PUT = (
    "insert into extracts (thread, updated, raw_memory, rollout_summary, slug, way, generated, path, cwd, repository, branch, problem, outside)"
    " values (:thread, :updated, :raw_memory, :rollout_summary, :slug, :way, :generated, :path, :cwd, :repository, :branch, :problem, :outside)"
    " on conflict (thread) do update set updated = excluded.updated, raw_memory = excluded.raw_memory,"
    " rollout_summary = excluded.rollout_summary, slug = excluded.slug, way = excluded.way, generated = excluded.generated,"
    " path = excluded.path, cwd = excluded.cwd, repository = excluded.repository, branch = excluded.branch,"
    " problem = excluded.problem, outside = excluded.outside"
    " where extracts.updated <= excluded.updated"
)
_JOINED = (
    "select threads.*, extracts.updated as extracted, jobs.last_success as reached from threads"
    " left join extracts on extracts.thread = threads.id left join jobs on jobs.kind = 'extract' and jobs.key = threads.id"
)
_NEWEST = " order by threads.updated desc, threads.id limit :limit"
_BEHIND = (
    _JOINED + " where coalesce(extracts.updated, -1) < threads.updated and coalesce(jobs.last_success, -1) < threads.updated" + _NEWEST
)
_STANDINGS = _JOINED + _NEWEST
_ONE = _JOINED + " where threads.id = :id"
_ALL = 2**62
"""More rows than there can be: SQLite's way to say no limit (-1) is not PostgreSQL's."""


class Seen(Struct, frozen=True):
    """What a look at the sessions found: ids that are new, ids that changed, and how many were as before."""

    new: tuple[str, ...]
    changed: tuple[str, ...]
    unchanged: int


def known_files(state: State) -> dict[str, tuple[int, int]]:
    """Size and modification time (nanoseconds) of every file as it was seen last, by its path: a file that still has them need not be opened."""
    return {row["path"]: (row["size"], row["modified_ns"]) for row in state.read("select path, size, modified_ns from threads")}


def keep_threads(state: State, found: Sequence[Thread]) -> Seen:
    """Record threads as they were found. A mode other than `enabled` that stands already stays; nothing is written for what did not change."""
    with state.transaction():
        known = {
            row["id"]: (row["path"], row["size"], row["modified_ns"], row["updated"])
            for row in state.read("select id, path, size, modified_ns, updated from threads")
        }
        new = [each for each in found if each.id not in known]
        changed = [each for each in found if each.id in known and known[each.id] != (each.path, each.size, each.modified_ns, each.updated)]
        state.change_each(_KEEP_THREAD, [msgspec.structs.asdict(each) for each in (*new, *changed)])
    return Seen(tuple(each.id for each in new), tuple(each.id for each in changed), len(found) - len(new) - len(changed))


def threads(state: State) -> list[Thread]:
    """Every thread, newest first."""
    return [_thread(row) for row in state.read("select * from threads order by updated desc, id")]


def standings(state: State, *, limit: int | None = None, behind: bool = False) -> list[Standing]:
    """Threads and how far stage one has got with each, newest first; `behind`: only those that are not up to date, so that these fill the limit."""
    rows = state.read(_BEHIND if behind else _STANDINGS, {"limit": limit if limit is not None else _ALL})
    return [_standing(row) for row in rows]


def standing_of(state: State, thread: str) -> Standing | None:
    """One thread and how far stage one has got with it; None when there is no such thread."""
    rows = state.read(_ONE, {"id": thread})
    return _standing(rows[0]) if rows else None


def put(state: State, extracted: Extracted) -> bool:
    """Keep an extract; its use and selection stay. False when a newer one stands, which it then leaves. To be called within a transaction."""
    return bool(state.change(_PUT, msgspec.structs.asdict(extracted) | {"outside": int(extracted.outside)}))


def take_out(state: State, thread: str) -> bool:
    """Remove the extract of a thread; False when there was none. To be called within a transaction."""
    return bool(state.change("delete from extracts where thread = :thread", {"thread": thread}))


def kept(state: State) -> list[Kept]:
    """The extracts of all sessions that may become memory, in the order of their threads' ids."""
    rows = state.read(
        "select extracts.* from extracts left join threads on threads.id = extracts.thread"
        " where coalesce(threads.mode, 'enabled') = 'enabled' order by extracts.thread"
    )
    return [
        Kept(
            extracted=Extracted(**{name: row[name] for name in Extracted.__struct_fields__} | {"outside": bool(row["outside"])}),
            uses=row["uses"],
            last_use=row["last_use"],
            selected=bool(row["selected"]),
        )
        for row in rows
    ]


def count_uses(state: State, cited: Sequence[str]) -> list[str]:
    """Count one answer that cites these threads, each once; gives the ids that have no extract."""
    now = state.now()
    with state.transaction():
        return [
            thread
            for thread in dict.fromkeys(cited)
            if not state.change(
                "update extracts set uses = uses + 1, last_use = :now where thread = :thread", {"thread": thread, "now": now}
            )
        ]


def prune(state: State, unused_days: int, *, limit: int = PRUNED) -> list[str]:
    """Remove the stalest extracts that are neither consolidated nor were used, changed or made for that long; gives their threads.

    Their jobs stay, so that they are not extracted again until they grow. Failures of that age go too.
    """
    before = state.now() - unused_days * _DAY
    with state.transaction():
        rows = state.read(
            "select thread from extracts where selected = 0 and updated < :before and coalesce(last_use, generated) < :before"
            " order by coalesce(last_use, updated), thread limit :limit",
            {"before": before, "limit": limit},
        )
        for row in rows:
            take_out(state, row["thread"])
        state.change("delete from failures where at < :before", {"before": before})
    return [row["thread"] for row in rows]


def reset(state: State) -> int:
    """Forget every extract, job and failure; threads and their modes stay. Gives the number of extracts."""
    with state.transaction():
        count = state.change("delete from extracts")
        state.change("delete from jobs")
        state.change("delete from failures")
    return count


def restore(state: State, found: Sequence[Kept]) -> int:
    """Put back extracts that were read from files, where the database has none for their thread; gives how many."""
    with state.transaction():
        have = {row["thread"] for row in state.read("select thread from extracts")}
        missing = [each for each in found if each.extracted.thread not in have]
        for each in missing:
            put(state, each.extracted)
            state.change(
                "update extracts set uses = :uses, last_use = :last_use, selected = :selected, selected_updated = updated where thread = :thread",
                {"thread": each.extracted.thread, "uses": each.uses, "last_use": each.last_use, "selected": int(each.selected)},
            )
    return len(missing)


def _thread(row: Mapping[str, Any]) -> Thread:
    return Thread(**{name: row[name] for name in Thread.__struct_fields__})


def _standing(row: Mapping[str, Any]) -> Standing:
    return Standing(thread=_thread(row), done=_later(row["extracted"], row["reached"]))


def _later(first: int | None, second: int | None) -> int | None:
    return max((each for each in (first, second) if each is not None), default=None)
