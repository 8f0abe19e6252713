"""Rows of rollouts (recorded sessions). Works on either database (`StateDatabase`); every writing
function is one transaction, and raises StoreError.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from memorist.store.sqlite_database import build_struct_from_row
from memorist.store.state_database import StateDatabase

# Values exchanged by the two stages of rollout memory: a recorded session as found, and what
# stage one extracted from it.


MemoryMode = Literal["enabled", "disabled", "polluted"]
"""Whether a session may become memory: `disabled` by the user, `polluted` by external content
(RO-9); neither is lifted automatically.
"""


SessionFormat = Literal[
    "claude_code", "codex", "copilot_cli", "cursor", "gemini_cli", "memorist", "opencode", "pi"
]
"""Which program recorded a session: the keys of `FORMAT_TITLES` in `formats.transcript_format`."""


OTHERS_SOURCE = "not-mine"
"""The source of a session that is not shown to be the user's own."""


class Rollout(Struct, frozen=True, kw_only=True):
    """One recorded session (rollout), read in place."""

    id: str
    """The session's own id; where the file contains none, one derived from its path."""
    path: str
    format: SessionFormat
    size: int
    """Bytes of the file when last read."""
    modified_ns: int
    """Modification time of the file at that time: an unchanged file is not reopened."""
    updated: int
    """Time of its newest content, in seconds since the epoch: the watermark by which stage one is
    claimed (Codex).
    """
    cwd: str = ""
    repository: str = ""
    """Root of the canonical repository of `cwd`, or `cwd` itself: the project the session belongs
    to.
    """
    branch: str = ""
    source: str = ""
    """How it was run, according to the file: `cli`, `vscode`, `exec`, `subagent` …; empty where
    unknown, `OTHERS_SOURCE` where nothing in it counts as the user's word.
    """
    first_words: str = ""
    """Beginning of the user's first message; empty where there is none."""
    mode: MemoryMode = "enabled"


class ExtractionProgress(Struct, frozen=True, kw_only=True):
    """A rollout and how far stage one has got with it."""

    rollout: Rollout
    done_watermark: int | None = None
    """The newest watermark that stage one has finished; None when it never did."""
    is_started: bool = False
    """Whether it was worked on and put off, or failed and is to be tried again."""

    @property
    def is_up_to_date(self) -> bool:
        """Whether stage one has seen everything in the rollout."""
        return self.done_watermark is not None and self.done_watermark >= self.rollout.updated


_SAVE_ROLLOUT = (
    "insert into threads (id, path, format, size, modified_ns, updated, cwd, repository, branch, "
    "source, first_words, mode) values (:id, :path, :format, :size, :modified_ns, :updated, :cwd, "
    ":repository, :branch, :source, :first_words, :mode) on conflict (id) do update set path = "
    "excluded.path, format = excluded.format, size = excluded.size, modified_ns = "
    "excluded.modified_ns, updated = excluded.updated, cwd = excluded.cwd, repository = "
    "excluded.repository, branch = excluded.branch, source = excluded.source, first_words = "
    "case when threads.mode = 'enabled' then excluded.first_words else threads.first_words end, "
    "mode = case when threads.mode = 'enabled' then excluded.mode else threads.mode end"
)
_SELECT_PROGRESS = (
    "select threads.*, extracts.updated as extracted, jobs.last_success as reached,"
    " (jobs.status in ('pending', 'error') and jobs.retries_left > 0) as begun from threads"
    " left join extracts on extracts.thread = threads.id left join jobs on jobs.kind = "
    "'extract' and jobs.key = threads.id"
)
_NEWEST_FIRST = " order by threads.updated desc, threads.id limit :limit"
_SELECT_BEHIND = (
    _SELECT_PROGRESS
    + " where coalesce(extracts.updated, -1) < threads.updated and coalesce(jobs.last_success, "
    "-1) < threads.updated" + _NEWEST_FIRST
)
_SELECT_ALL_PROGRESS = _SELECT_PROGRESS + _NEWEST_FIRST
_SELECT_ONE_PROGRESS = _SELECT_PROGRESS + " where threads.id = :id"
_NO_LIMIT = 2**62
"""More rows than can exist: SQLite's notation for no limit (-1) is not PostgreSQL's."""


_RECOGNISED_BY = ("path", "size", "modified_ns", "updated")
_READ_AGAIN = (
    "update extracts set updated = -1 where thread = :id",
    "delete from jobs where kind = 'extract' and key = :id",
)
"""What was extracted of a session stays until the same words are read as another person's."""


def save_rollouts(state: StateDatabase, found: Sequence[Rollout]) -> None:
    """Record the rollouts found. A stored mode other than `enabled` is kept; nothing is written for
    unchanged ones. One whose words are now another person's is to be extracted again.
    """
    with state.transaction():
        known = {
            row["id"]: (*(row[name] for name in _RECOGNISED_BY), row["source"] == OTHERS_SOURCE)
            for row in state.query("select * from threads")
        }
        changed = [
            msgspec.structs.asdict(each)
            for each in found
            if known.get(each.id)
            != (*(getattr(each, name) for name in _RECOGNISED_BY), each.source == OTHERS_SOURCE)
        ]
        state.execute_many(_SAVE_ROLLOUT, changed)
        request_new_extraction(
            state,
            [
                each["id"]
                for each in changed
                if each["id"] in known
                and known[each["id"]][-1] != (each["source"] == OTHERS_SOURCE)
            ],
        )


def request_new_extraction(state: StateDatabase, rollouts: Sequence[str]) -> None:
    """Have these rollouts, by their ids, extracted again. To be called within a transaction."""
    for statement in _READ_AGAIN:
        state.execute_many(statement, [{"id": each} for each in rollouts])


def list_rollouts(state: StateDatabase) -> list[Rollout]:
    """Every rollout, newest first."""
    return [
        _rollout_from_row(row)
        for row in state.query("select * from threads order by updated desc, id")
    ]


_FIND_OF_PROJECT = (
    "select id from threads where repository = :root or substr(repository, 1, :length) = :below"
    " limit 1"
)
_REASSIGN_EXTRACTS = (
    "update extracts set repository = :new where repository = :root"
    " or substr(repository, 1, :length) = :below"
)
_REASSIGN_ROLLOUTS = _REASSIGN_EXTRACTS.replace("extracts", "threads")


def _project_values(root: str) -> dict[str, str | int]:
    return {"root": root, "below": f"{root}/", "length": len(root) + 1}


def has_project_rollouts(state: StateDatabase, root: str) -> bool:
    """Whether there is a rollout of a project, by its root. Raises StoreError."""
    return bool(state.query(_FIND_OF_PROJECT, _project_values(root)))


def reassign_rollouts(state: StateDatabase, old_root: str, new_root: str) -> int:
    """Give the rollouts of one project, and what was extracted of them, to another, by their roots;
    returns how many there are. Raises StoreError.
    """
    values = _project_values(old_root) | {"new": new_root}
    with state.transaction():
        state.execute(_REASSIGN_EXTRACTS, values)
        return state.execute(_REASSIGN_ROLLOUTS, values)


def list_rollouts_with_same_beginning(state: StateDatabase, session: Rollout) -> list[Rollout]:
    """The other rollouts of its format and project that begin with the same words of the user."""
    rows = state.query(
        "select * from threads where format = :format and repository = :repository"
        " and first_words = :first_words and id <> :id order by id",
        {name: getattr(session, name) for name in ("format", "repository", "first_words", "id")},
    )
    return [_rollout_from_row(row) for row in rows]


def list_extraction_progress(
    state: StateDatabase, *, limit: int | None = None, only_behind: bool = False
) -> list[ExtractionProgress]:
    """Rollouts with their stage-one progress, newest first; `only_behind` selects those not up to
    date, so that these fill the limit.
    """
    rows = state.query(
        _SELECT_BEHIND if only_behind else _SELECT_ALL_PROGRESS,
        {"limit": limit if limit is not None else _NO_LIMIT},
    )
    return [_progress_from_row(row) for row in rows]


def find_extraction_progress(state: StateDatabase, thread: str) -> ExtractionProgress | None:
    """One rollout with its stage-one progress; None when there is no such rollout."""
    rows = state.query(_SELECT_ONE_PROGRESS, {"id": thread})
    return _progress_from_row(rows[0]) if rows else None


def record_rollout_citations(state: StateDatabase, cited: Sequence[str]) -> None:
    """Count one answer that cites these rollouts, each once; nothing for one without an extract."""
    now = state.now()
    with state.transaction():
        state.execute_many(
            "update extracts set uses = uses + 1, last_use = :now where thread = :thread",
            [{"thread": thread, "now": now} for thread in dict.fromkeys(cited)],
        )


def _rollout_from_row(row: Mapping[str, Any]) -> Rollout:
    return build_struct_from_row(Rollout, row)


def _progress_from_row(row: Mapping[str, Any]) -> ExtractionProgress:
    return ExtractionProgress(
        rollout=_rollout_from_row(row),
        done_watermark=_latest(row["extracted"], row["reached"]),
        is_started=bool(row["begun"]),
    )


def _latest(first: int | None, second: int | None) -> int | None:
    return max((each for each in (first, second) if each is not None), default=None)
