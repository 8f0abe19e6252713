"""Extract the claims of the selected sessions: from raw memories to handbook entries (RO-5, RO-7).

Pure.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.relative_dates import make_dates_absolute
from memorist.core.utc_time import format_utc_day
from memorist.rollouts.handbook import (
    ENTRY_LISTS,
    EntryList,
    HandbookClaim,
    HandbookSessionReference,
    HandbookTask,
)
from memorist.rollouts.handbook_parser import parse_handbook_entry
from memorist.rollouts.raw_memory import (
    CLAIM_PROOFS,
    MemoryBullet,
    RawMemoryTask,
    TaskOutcome,
    parse_raw_memory,
)
from memorist.rollouts.rollout_summaries import format_clamped_utc_timestamp, parse_utc_timestamp
from memorist.rollouts.session_location import derive_claim_group_title
from memorist.rollouts.superseded_claims import build_claim_comparison_key
from memorist.safety.hidden_characters import strip_hidden_characters
from memorist.safety.markup_sanitizer import neutralize_markup
from memorist.safety.permission_claims import grants_permission
from memorist.safety.prompt_injection import find_injection_rules
from memorist.safety.secrets import redact
from memorist.store.extract_rows import RolloutExtract, StoredExtract

# Which claims are left out for lack of space (RO-5).


MAX_LIST_ENTRIES = 40
"""Entries of one list of a group.

Our choice: three lists of forty lines are what a reader goes through; the ledgers that users
complained about had 133 tasks in 2,450 lines (Codex).
"""
MAX_GROUP_TASKS = 30
"""Tasks of a group with a section of their own; older ones share one."""
OLDER_WORK_TITLE = "older work"
"""Title of that section."""
MAX_MERGED_KEYWORDS = 20


def merge_into_known_entry(known: HandbookClaim, new: HandbookClaim) -> HandbookClaim:
    """Merge two entries of the same claim: the existing wording, all support, the stronger proof,
    the later day.
    """
    proofs = [each for each in (known.proof, new.proof) if each is not None]
    return replace(
        known,
        support=tuple(sorted({*known.support, *new.support})),
        works=tuple(sorted({*known.works, *new.works})),
        proof=min(proofs, key=CLAIM_PROOFS.index, default=None),
        date=max(known.date, new.date),
    )


def rank_handbook_entries(
    entries: Sequence[HandbookClaim], uses: Mapping[str, int]
) -> tuple[HandbookClaim, ...]:
    """Rank entries by usefulness: user-written, then explicitly requested, then by uses, number of
    sessions, proof, day.
    """
    order = {"user": 0, "note": 1, "sessions": 2}

    def rank(entry: HandbookClaim) -> tuple[int, int, int, int, int]:
        used = max((uses.get(thread, 0) for thread in entry.support), default=0)
        return (
            order[entry.by],
            -used,
            -len(entry.support),
            CLAIM_PROOFS.index(entry.proof or "inferred"),
            -_day_number(entry.date),
        )

    return tuple(sorted(entries, key=rank))


def _day_number(date: str) -> int:
    plain = date.replace("-", "")
    return int(plain) if plain.isascii() and plain.isdecimal() else 0


def limit_entries_keeping_user_notes(
    entries: Sequence[HandbookClaim], limit: int = MAX_LIST_ENTRIES
) -> tuple[HandbookClaim, ...]:
    """Return the first entries that fit; the user's own and notes are never left out."""
    own = sum(entry.by != "sessions" for entry in entries)
    room = max(0, limit - own)
    kept = []
    for entry in entries:
        if entry.by == "sessions":
            if room <= 0:
                continue
            room -= 1
        kept.append(entry)
    return tuple(kept)


def get_task_last_update_time(work: HandbookTask) -> str:
    """Return when a task was last worked on, RFC 3339."""
    return max((source.updated for source in work.sources), default="")


def collapse_older_tasks(
    works: Sequence[HandbookTask], uses: Mapping[str, int]
) -> tuple[HandbookTask, ...]:
    """Return the tasks, newest first; beyond the limit they share one section that still lists
    every session with its summary.
    """
    shared = next((work for work in works if work.title == OLDER_WORK_TITLE), None)
    own = sorted(
        (work for work in works if work is not shared),
        key=lambda work: (get_task_last_update_time(work), -work.number),
        reverse=True,
    )
    used = sorted(
        own,
        key=lambda work: max((uses.get(source.thread, 0) for source in work.sources), default=0),
        reverse=True,
    )
    kept = {work.number for work in used[:MAX_GROUP_TASKS]}
    moved = [work for work in own if work.number not in kept and not work.other]
    if not moved and shared is None:
        return tuple(own)
    stays = [work for work in own if work not in moved]
    number = shared.number if shared else max(work.number for work in works) + 1
    sources = {
        source.thread: source
        for work in (*moved, *([shared] if shared else []))
        for source in work.sources
    }
    ordered = tuple(
        sorted(sources.values(), key=lambda source: (source.updated, source.thread), reverse=True)
    )
    older = (
        replace(shared, sources=ordered)
        if shared
        else HandbookTask(number=number, title=OLDER_WORK_TITLE, sources=ordered)
    )
    return (*stays, older) if ordered else tuple(stays)


def compute_claim_digest(title: str, text: str) -> str:
    """Fingerprint a claim in a place: it identifies what the user removed without keeping
    the text.
    """
    return _digest("entry", title, *build_claim_comparison_key(text))


def compute_session_version_digest(title: str, thread: str, updated: str) -> str:
    """Fingerprint a version of a session in a place."""
    return _digest("session", title, thread, updated)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:32]


def is_claim_removed_by_user(dropped: Collection[str], title: str, text: str) -> bool:
    """Tell whether the user removed that claim from that place."""
    return bool(dropped) and compute_claim_digest(title, text) in dropped


MAX_TASK_KEYWORDS = 12
"""Keywords of a task that fit one line."""
_MAX_TITLE_CHARACTERS = 120
_HEADING = re.compile(r"#{1,6}\s+")


class SessionClaim(Struct, frozen=True, kw_only=True):
    """One claim of one session, and where it belongs."""

    group: str
    into: EntryList
    title: str
    """Title of the task that it comes from."""
    entry: HandbookClaim


class SessionTask(Struct, frozen=True, kw_only=True):
    """One task of a session, in one place."""

    group: str
    title: str
    outcome: TaskOutcome | None
    source: HandbookSessionReference
    keywords: tuple[str, ...] = ()


class ClaimsOfOneSession(Struct, frozen=True, kw_only=True):
    """All claims of one session."""

    thread: str
    updated: str
    uses: int
    tasks: tuple[SessionTask, ...] = ()
    claims: tuple[SessionClaim, ...] = ()
    withheld: int = 0
    """Claims left out because they read like orders planted for an agent, or grant permission in
    the user's name without the user's words (SF-2).
    """


def extract_claims_per_session(
    rows: Iterable[StoredExtract], files: Mapping[str, str], known: Collection[tuple[str, str]] = ()
) -> tuple[ClaimsOfOneSession, ...]:
    """Extract the claims of each session; `files` maps session ids to their summaries.

    Of those that are `known`, by id and time, only their presence is recorded.
    """
    return tuple(
        _unchanged_session(row)
        if (row.extracted.thread, format_clamped_utc_timestamp(row.extracted.updated)) in known
        else _read_session(row, files)
        for row in rows
    )


def _unchanged_session(row: StoredExtract) -> ClaimsOfOneSession:
    return ClaimsOfOneSession(
        thread=row.extracted.thread,
        updated=format_clamped_utc_timestamp(row.extracted.updated),
        uses=row.uses,
    )


def _read_session(row: StoredExtract, files: Mapping[str, str]) -> ClaimsOfOneSession:
    extracted = row.extracted
    path = files.get(extracted.thread, "")
    raw = parse_raw_memory(extracted.raw_memory)
    source = HandbookSessionReference(
        path=path,
        thread=extracted.thread,
        updated=format_clamped_utc_timestamp(extracted.updated),
        cwd=extracted.cwd,
        rollout=extracted.path,
    )
    works: dict[tuple[str, str], SessionTask] = {}
    facts: list[SessionClaim] = []
    withheld = 0
    for task in raw.tasks or (
        RawMemoryTask(
            name=raw.description or _first_line(extracted.rollout_summary), keywords=raw.keywords
        ),
    ):
        title = (
            _clean_text(task.name or raw.description or _first_line(extracted.rollout_summary))[
                :_MAX_TITLE_CHARACTERS
            ].rstrip()
            or "A session"
        )
        withheld += _is_planted_order(title)
        title = "A session" if _is_planted_order(title) else title
        found, left = _task_claims(task, extracted, title)
        withheld += left
        home = derive_claim_group_title(extracted, task.scope, task.cwd)
        for where in dict.fromkeys([home, *(fact.group for fact in found)]):
            words = tuple(
                dict.fromkeys(
                    filter(
                        None,
                        (
                            _clean_text(word)
                            for word in task.keywords
                            if not _is_planted_order(word)
                        ),
                    )
                )
            )[:MAX_TASK_KEYWORDS]
            outcome = task.outcome if raw.tasks else None
            works.setdefault(
                (where, title),
                SessionTask(
                    group=where, title=title, outcome=outcome, source=source, keywords=words
                ),
            )
        facts += found
    done = tuple(works.values())
    return ClaimsOfOneSession(
        thread=extracted.thread,
        updated=source.updated,
        uses=row.uses,
        tasks=done,
        claims=tuple(facts),
        withheld=withheld,
    )


def _task_claims(
    task: RawMemoryTask, row: RolloutExtract, title: str
) -> tuple[list[SessionClaim], int]:
    facts, withheld = [], 0
    for name in ENTRY_LISTS:
        for each in _bullets_of(task, name):
            if _is_planted_order(each.text) or (
                each.proof != "said" and grants_permission(each.text)
            ):
                withheld += 1
                continue
            text = _clean_text(make_dates_absolute(each.text, _find_time(each, row)))
            if text:
                entry = HandbookClaim(
                    text=text, proof=each.proof, date=each.date, support=(row.thread,)
                )
                facts.append(
                    SessionClaim(
                        group=derive_claim_group_title(row, each.scope or task.scope, task.cwd),
                        into=name,
                        title=title,
                        entry=entry,
                    )
                )
    return facts, withheld


def _find_time(bullet: MemoryBullet, row: RolloutExtract) -> float:
    """When an entry was said or seen, in seconds since the epoch: on the day that it names, noon
    UTC; that of the session's newest message where this is the same day, or it names none.
    """
    if bullet.date == format_utc_day(row.updated):
        return float(row.updated)
    return float(parse_utc_timestamp(f"{bullet.date}T12:00:00Z") or row.updated)


def _bullets_of(task: RawMemoryTask, name: EntryList) -> Sequence[MemoryBullet]:
    found: tuple[MemoryBullet, ...] = getattr(task, name)
    return found


def _is_planted_order(text: str) -> bool:
    return bool(find_injection_rules(text))


def _clean_text(text: str) -> str:
    """Remove secrets, scaffold, invisible characters, and tags at the end that only memorist may
    set.
    """
    plain = redact(neutralize_markup(strip_hidden_characters(" ".join(text.split())))).text
    return parse_handbook_entry(plain, ()).text


def _first_line(text: str) -> str:
    """Return the first line with content, without heading marks."""
    return next((_HEADING.sub("", line).strip() for line in text.split("\n") if line.strip()), "")
