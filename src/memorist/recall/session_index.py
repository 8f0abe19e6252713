"""The index of past sessions: their passages in one file, and for each project the ranker's words
and vectors in another. All can be thrown away at any time.

What the user said, what the agent answered and the work of a turn are entries of their own beside
each other, so that a turn is also found by what was said around it. A session is read again only
when its file changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import partial
from itertools import islice
from pathlib import Path

from memorist.auto_memory.statements.no_memory_and_pin_requests import user_asks_for_no_memory
from memorist.core.bounded_collections import LruCache
from memorist.core.messages import Message
from memorist.errors import DamagedIndex, StoreError, UnreadableSession
from memorist.formats.format_detection import read_session
from memorist.ports import Embedder
from memorist.recall.day_query import find_days_of_query
from memorist.recall.lexical_score import EntryPositionInGroup, SearchEntry
from memorist.recall.ranker import EMBEDDING_BATCH, Ranker
from memorist.recall.score_fusion import EntryRank, merge_rankings_across_conversations
from memorist.recall.search_query import build_search_query_from_text
from memorist.recall.session_passages import (
    ANSWER_PART_CHARS,
    MAX_ANSWER_PARTS,
    MatchedPassage,
    Passage,
    list_search_keys,
    split_answer_into_search_parts,
    split_session_into_turns,
)
from memorist.recall.word_chance import QueryEvidenceMeter
from memorist.safety.secrets import redact
from memorist.store.index_database import get_device_and_inode
from memorist.store.rollout_rows import Rollout
from memorist.store.sqlite_database import (
    PAUSE_AFTER_BUSY_SECONDS,
    UnsavedDatabaseConnection,
    connect_database,
    create_private_file,
    open_or_replace_file,
    transaction,
)
from memorist.store.transcript_reader import UnpackedUtf8Lines
from memorist.transcript_analysis.invocation_log import (
    FixedInvocation,
    InvocationLog,
    InvocationLogBuilder,
    ProgramInvocation,
    list_program_names,
    uses_rejected_argument,
)

SESSION_INDEX_VERSION = 14
"""Version of the tables; a file of another version is rebuilt."""
PARTS = ("said", "answered", "work", *(f"answered{at}" for at in range(1, MAX_ANSWER_PARTS)))
"""Entries of a turn in the ranker, by position. `answered` is the end of the answer, which is all
of most; what comes before it follows, the last part first.
"""
LINE_POSITIONS = 3
"""Positions for each line of a session. A turn of a long answer has more, and more lines."""
CANDIDATES_PER_TURN = 3
"""Entries that are asked of the ranker for each wanted turn: several are of one turn."""
PASSAGES_PER_EMBEDDING_BATCH = 400
"""Passages whose texts are held at once while they are embedded."""
MAX_CALL_CHARS = 400
"""Characters kept of a failed call, its error, and what worked instead."""
MAX_OPEN_PROJECTS = 8
"""Projects whose words are kept in memory, those asked last. A search in all opens one after the
other. Our choice.
"""
MAX_SESSION_BYTES = 400_000_000
"""Largest session file that is read."""

_TABLES = """
create table sessions (
  number integer primary key, id text not null unique, path text not null, size integer not null,
  modified_ns integer not null, project text not null, title text not null,
  updated integer not null);
create table passages (
  number integer primary key, session integer not null, line integer not null,
  mark integer not null, reply_id text not null, is_typed integer not null, at real not null,
  said text not null, question text not null, answered text not null, work text not null,
  keys text not null, length integer not null);
create index passages_by_session on passages (session, line);
create table mended (
  session integer not null, program text not null, word text not null, command text not null,
  error text not null, mended_by text not null, at real not null);
create index mended_by_program on mended (program);
create table worked (
  session integer not null, program text not null, words text not null, at real not null);
create index worked_by_program on worked (program);
create table unranked (project text primary key);
"""


def _prepare_tables(connection: sqlite3.Connection) -> None:
    """Create the tables, in place of those of another version."""
    if _has_current_tables(connection):
        return
    with transaction(connection):
        if _has_current_tables(connection):
            return  # another process made them while this one waited for the lock
        for name in ("sessions", "passages", "words", "mended", "worked", "unranked"):
            connection.execute(f"drop table if exists {name}")
        for table in filter(str.strip, _TABLES.split(";")):
            connection.execute(table)
        connection.execute(f"pragma user_version = {SESSION_INDEX_VERSION:d}")


def _has_current_tables(connection: sqlite3.Connection) -> bool:
    version: int = connection.execute("pragma user_version").fetchone()[0]
    return version == SESSION_INDEX_VERSION


class SessionIndex:
    """Several processes may share it. Every method raises StoreError when the disk refuses."""

    def __init__(self, path: Path, *, embedder: Embedder | None = None) -> None:
        self._path = path
        self._embedder = embedder
        self._rankers = LruCache(Ranker.close, max_size=MAX_OPEN_PROJECTS)
        self._lock = threading.Lock()
        """Held while a ranker is opened: a thread loads those that its sessions will ask."""
        self._database = open_or_replace_file(path, self._connect, _prepare_tables, what="index")
        self._opened_file = get_device_and_inode(path)
        self._passage_counts: tuple[tuple[int, int], dict[str, int]] | None = None
        """Passages of each project, and the state of the file that they were counted in."""
        self._copy_until = time.monotonic() + PAUSE_AFTER_BUSY_SECONDS

    def _connect(self) -> sqlite3.Connection:
        create_private_file(self._path)
        connection = connect_database(self._path)
        try:
            connection.execute("pragma journal_mode = wal")
            connection.execute("pragma synchronous = normal")
            _prepare_tables(connection)
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Close the files. May be called twice."""
        self._database.close()
        with self._lock:
            for ranker in self._rankers:
                ranker.close()
            self._rankers.clear()

    @property
    def is_outdated(self) -> bool:
        """Whether it is to be opened again: the file is another one by now, or was replaced by a
        copy in memory a minute ago.
        """
        if isinstance(self._database, UnsavedDatabaseConnection):
            return time.monotonic() >= self._copy_until
        return get_device_and_inode(self._path) != self._opened_file

    def preload_project(self, project: str) -> None:
        """Read now what the next question about a project would wait for: a third of a second for
        a thousand sessions. Raises StoreError.
        """
        self._open_ranker(project).preload_index()

    def enable_embeddings(self, embedder: Embedder) -> None:
        """Search by words and meaning from now on. Raises ModelError."""
        with self._lock:
            self._embedder = embedder
            rankers = [each for each in self._rankers if not each.ranks_by_meaning]
        for ranker in rankers:
            ranker.enable_embeddings(embedder)

    def preload_multilingual_model(self, project: str) -> None:
        """Load the model for other languages where turns of this project have vectors by it. Raises
        ModelError, StoreError.
        """
        self._open_ranker(project).preload_multilingual_model()

    def _open_ranker(self, project: str) -> Ranker:
        def open_ranker() -> Ranker:
            name = hashlib.sha256(project.encode("utf-8", "surrogatepass")).hexdigest()[:32]
            folder = self._path.with_name(f"{self._path.stem}-words")
            with contextlib.suppress(OSError):  # the index itself says what cannot be written
                folder.mkdir(mode=0o700, exist_ok=True)
            return Ranker(folder / f"{name}.sqlite", embedder=self._embedder, compares_words=False)

        with self._lock:
            return self._rankers.get_or_create(project, open_ranker)

    def sync(
        self,
        sessions: Sequence[Rollout],
        should_stop: Callable[[], bool] = lambda: False,
        *,
        first: str = "",
    ) -> int:
        """Make the index hold exactly these sessions; returns how many were read.

        Sessions that are excluded from memory are left out. Stops between two sessions where
        `should_stop` says so; the next sync goes on. Sessions of the project `first` are read
        first, then the newest.
        """
        wanted = {each.id: each for each in sessions if each.mode == "enabled"}
        with self._translate_errors("update"):
            known = {
                row[0]: row[1:]
                for row in self._database.execute(
                    "select id, path, size, modified_ns, project from sessions"
                )
            }
            for id in known.keys() - wanted.keys():
                with transaction(self._database):
                    self._remove(id)
            changed = [
                each
                for each in wanted.values()
                if known.get(each.id) != (each.path, each.size, each.modified_ns, each.repository)
            ]
            changed.sort(key=lambda each: (each.repository != first, -each.updated))
            read = 0
            for each in changed:
                if should_stop():
                    break
                if read and each.repository != changed[read - 1].repository == first:
                    self._rank(first)
                self._write(each)
                read += 1
            due = {row[0] for row in self._database.execute("select project from unranked")}
            if first and not self._open_ranker(first).read_fingerprints():
                due.add(first)  # its file was damaged, or is of another version
            for project in due:
                self._rank(project)
        return read

    def _rank(self, project: str) -> None:
        """Bring the ranker of a project up to date."""
        ranker = self._open_ranker(project)
        while True:
            turns = self._list_turns(project)
            ranker.sync_missing(partial(self._list_entries, turns))
            with transaction(self._database):
                if self._list_turns(project) == turns:  # else another process wrote meanwhile
                    self._database.execute("delete from unranked where project = ?", (project,))
                    return

    def _list_entries(
        self, turns: Sequence[tuple[str, int, int]], known: Mapping[str, str]
    ) -> list[SearchEntry]:
        """The entries of these turns, without their texts where the ranker has them."""
        entries: list[SearchEntry] = []
        for id, line, mark in turns:
            if known.get(f"{id}#{line}#said") == f"{id}#{line}#{mark}#said":
                entries += (
                    SearchEntry(id=f"{id}#{line}#{part}", fingerprint=f"{id}#{line}#{mark}#{part}")
                    for part in PARTS
                    if f"{id}#{line}#{part}" in known
                )
            else:
                entries += self._read_entries(id, line, mark)
        return entries

    def _list_turns(self, project: str) -> list[tuple[str, int, int]]:
        """Session, line and mark of the turns of a project, the newest first. Of a turn that forked
        or resumed sessions took over, that in the session with the smallest id.
        """
        return self._database.execute(
            "select min(sessions.id), line, mark from passages join sessions on sessions.number = "
            "session where project = ? group by reply_id, mark, case reply_id when '' then "
            "passages.number end order by at desc",
            (project,),
        ).fetchall()

    def _read_entries(self, session: str, line: int, mark: int) -> list[SearchEntry]:
        """The entries of one turn, with their texts; what the user said is the last: where the
        ranker has that, a kill came after all the others.
        """
        texts = self._database.execute(
            "select said, question, answered, work from passages join sessions on "
            "sessions.number = session where sessions.id = ? and passages.line = ?",
            (session, line),
        ).fetchone()
        if texts is None:
            return []
        said, question, answered, work = texts
        asked = f"{question}\n{said}".strip()
        last, *earlier = split_answer_into_search_parts(answered) or [""]
        return [
            SearchEntry(
                id=f"{session}#{line}#{part}",
                body=text,
                position=EntryPositionInGroup(session, LINE_POSITIONS * line + at),
                fingerprint=f"{session}#{line}#{mark}#{part}",
            )
            for at, (part, text) in reversed(
                [*enumerate(zip(PARTS, (asked, last, work, *earlier), strict=False))]
            )
            if text
        ]

    def embed_missing_passages(
        self,
        project: str,
        should_stop: Callable[[], bool] = lambda: False,
        *,
        seconds: float = math.inf,
    ) -> None:
        """Embed what the user and the agent said, the newest first, until `should_stop` says so or
        for `seconds`.

        Takes about a second for a hundred. Without an embedder nothing happens. Raises ModelError.
        """
        deadline = time.monotonic() + seconds
        if self._embedder is None:
            return
        ranker = self._open_ranker(project)
        with self._translate_errors("read"):
            rows = self._list_turns(project)
        embedded = ranker.read_embedded_fingerprints()
        rows = [row for row in rows if "{}#{}#{}#said".format(*row) not in embedded]
        for start in range(0, len(rows), PASSAGES_PER_EMBEDDING_BATCH):
            entries = [
                entry
                for row in rows[start : start + PASSAGES_PER_EMBEDDING_BATCH]
                for entry in self._read_entries(*row)
                if not entry.id.endswith("#work") and entry.fingerprint not in embedded
            ]
            while ranker.embed_missing_vectors(entries, at_most=EMBEDDING_BATCH):
                if should_stop() or time.monotonic() > deadline:
                    return

    def lacks_vectors_for_question(self, project: str) -> bool:
        """Whether a question came in a language for which the turns of this project have no vectors
        yet: the next `embed_missing_passages` makes them.
        """
        return self._open_ranker(project).lacks_vectors_for_question

    def remove_sessions(self, ids: Iterable[str]) -> None:
        """Take sessions whose files were deleted out of the index; the next sync reads none of
        them.
        """
        with self._translate_errors("update"), transaction(self._database):
            for id in ids:
                self._remove(id)

    def _remove(self, id: str) -> None:
        row = self._database.execute(
            "select number, project from sessions where id = ?", (id,)
        ).fetchone()
        if row is None:
            return
        found = row[:1]
        self._database.execute("insert or ignore into unranked values (?)", row[1:])
        self._database.execute("delete from passages where session = ?", found)
        self._database.execute("delete from mended where session = ?", found)
        self._database.execute("delete from worked where session = ?", found)
        self._database.execute("delete from sessions where number = ?", found)

    def _write(self, session: Rollout) -> None:
        calls = InvocationLogBuilder()
        passages = list(read_passages_from_session_file(Path(session.path), calls))
        if any(each.is_typed and user_asks_for_no_memory(each.said) for each in passages):
            passages, calls = [], InvocationLogBuilder()
        with transaction(self._database):
            self._remove(session.id)
            number = self._database.execute(
                "insert into sessions (id, path, size, modified_ns, project, title, updated) "
                "values (?, ?, ?, ?, ?, ?, ?)",
                (
                    session.id,
                    session.path,
                    session.size,
                    session.modified_ns,
                    session.repository,
                    redact(session.first_words).text,
                    session.updated,
                ),
            ).lastrowid
            for each in passages:
                texts = [
                    _storable(redact(text).text)
                    for text in (each.said, each.answered, each.work, each.question)
                ]
                end = texts[1][-ANSWER_PART_CHARS:]
                keys = list_search_keys("\n".join((texts[0], end, *texts[2:])))
                # One break more would change the marks of all turns, and so their vectors.
                mark = zlib.crc32("\n".join(texts[: 4 if texts[3] else 3]).encode())
                self._database.execute(
                    "insert into passages (session, line, mark, at, said, answered, work, "
                    "question, keys, length, reply_id, is_typed) "
                    "values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        number, each.line, mark, each.at, *texts, " ".join(set(keys)), len(keys),
                        _storable(each.reply_id), each.is_typed,
                    ),
                )  # fmt: skip
            self._database.execute(
                "insert or ignore into unranked values (?)", (session.repository,)
            )
            self._write_calls(number, calls.log)

    def _write_calls(self, session: int | None, log: InvocationLog) -> None:
        for each in log.mended:
            texts = (each.command, each.error, each.mended_by)
            # First a wider part: half a secret would be known by no rule.
            clean = [redact(text[: 10 * MAX_CALL_CHARS]).text for text in texts]
            redacted = [_storable(text[:MAX_CALL_CHARS]) for text in clean]
            self._database.execute(
                "insert into mended values (?, ?, ?, ?, ?, ?, ?)",
                (session, *_storable_names(each.program, each.word), *redacted, each.at),
            )
        self._database.executemany(
            "insert into worked values (?, ?, ?, ?)",
            (
                (session, *_storable_names(each.program, "\n".join(each.words)), at)
                for each, at in log.worked.items()
            ),
        )

    def find_fixed_invocation(
        self, invocation: ProgramInvocation, *, project: str, excluding: str = ""
    ) -> FixedInvocation | None:
        """Return what replaced a call like this one in a past session of the project, the newest;
        None where none failed so, or one has worked since.
        """
        with self._translate_errors("read"):
            rows = self._database.execute(
                "select mended.program, word, command, error, mended_by, at from mended "
                "join sessions on sessions.number = session where program in (select value from "
                "json_each(?)) and project = ? and sessions.id != ? order by at desc",
                (json.dumps(list_program_names(invocation)), project, excluding),
            ).fetchall()
            found = [
                FixedInvocation(
                    program=row[0], word=row[1], command=row[2], error=row[3], mended_by=row[4],
                    at=row[5],
                )
                for row in rows
                if uses_rejected_argument(invocation, row[0], row[1])
            ]  # fmt: skip
            if not found:
                return None
            newest = found[0]
            since = self._database.execute(
                "select program, words from worked join sessions on sessions.number = session "
                "where (program = ?1 or substr(program, -length(?1) - 1) = ' ' || ?1) "
                "and project = ?2 and at > ?3",
                (newest.program, project, newest.at),
            ).fetchall()
        worked = (ProgramInvocation(row[0], tuple(row[1].split("\n"))) for row in since)
        if any(uses_rejected_argument(each, newest.program, newest.word) for each in worked):
            return None
        return newest

    def count_passages(self, project: str = "") -> int:
        """Number of passages, of one project or of all."""
        with self._translate_errors("read"):
            (outside,) = self._database.execute("pragma data_version").fetchone()
            version = (outside, self._database.total_changes)
            if self._passage_counts is None or self._passage_counts[0] != version:
                rows = self._database.execute(
                    "select project, count(*) from passages join sessions on sessions.number = "
                    "session group by project"
                )
                self._passage_counts = (version, dict(rows))
        counts = self._passage_counts[1]
        return counts.get(project, 0) if project else sum(counts.values())

    def search(
        self,
        query: str,
        limit: int = 10,
        *,
        project: str = "",
        excluding: str = "",
        by_meaning: bool = True,
    ) -> tuple[MatchedPassage, ...]:
        """Return the best passages, best first; of one project, or of all with an empty name.

        `excluding` is the id of a session that is left out, with what it took over from others as
        a fork. Without an embedder, or `by_meaning`, words alone rank. A query that names days and
        nothing else returns what was said then, in order of time; if nothing was, the newest turns
        that hold it as it is written.
        """
        words = build_search_query_from_text(query).words
        with self._translate_errors("read"):
            left_out = self._list_entries_of(excluding) if excluding else frozenset[str]()
            if not words and query.strip():
                return self._find_literally(query.strip(), limit, project, left_out)
            if days := find_days_of_query(query, time.time()):
                return self._list_of_days(days, limit, project, left_out) or self._find_literally(
                    query.strip(), limit, project, left_out
                )
            projects = [project] if project else self._list_projects()
        found = []
        compared = 0
        for each in projects:
            ranker = self._open_ranker(each)
            try:
                ranked = ranker.rank_without_reasons(
                    query, CANDIDATES_PER_TURN * limit, by_meaning=by_meaning, excluding=left_out
                )
            except DamagedIndex:
                self._discard_ranker(each, ranker)
                continue
            found.append(ranked)
            compared += ranker.entry_count
        best = dict[tuple[str, int], EntryRank]()
        for entry in merge_rankings_across_conversations(found, len(words), compared):
            session, line, _ = entry.id.rsplit("#", 2)
            best.setdefault((session, int(line)), entry)
        evidence = QueryEvidenceMeter(words)
        with self._translate_errors("read"):
            matches = (
                self._read_match(*position, entry, evidence) for position, entry in best.items()
            )
            return tuple(islice(_leave_out_copies(filter(None, matches)), limit))

    def _list_entries_of(self, session: str) -> frozenset[str]:
        """The ids of a session's entries, and of those in other sessions that it took over."""
        own = self._database.execute(
            "select line, reply_id, mark from passages where session = "
            "(select number from sessions where id = ?)",
            (session,),
        ).fetchall()
        turns = [(session, line) for line, _, _ in own]
        if copied := {reply_id for _, reply_id, _ in own if reply_id}:
            marks = {(reply_id, mark) for _, reply_id, mark in own}
            others = self._database.execute(
                "select id, line, reply_id, mark from passages join sessions on sessions.number = "
                "session where reply_id in (select value from json_each(?))",
                (json.dumps([*copied]),),
            )
            turns += [(id, line) for id, line, *turn in others if tuple(turn) in marks]
        return frozenset(f"{id}#{line}#{part}" for id, line in turns for part in PARTS)

    def _discard_ranker(self, project: str, ranker: Ranker) -> None:
        """Empty a damaged ranker, which the next sync fills."""
        ranker.replace_damaged_index()
        with self._translate_errors("update"):
            self._database.execute("insert or ignore into unranked values (?)", (project,))

    def _find_literally(
        self, signs: str, limit: int, project: str, left_out: Collection[str]
    ) -> tuple[MatchedPassage, ...]:
        """The newest passages that hold signs without a word, such as an emoji, which no ranker
        knows.
        """
        rows = self._database.execute(
            "select sessions.id, line from passages join sessions on sessions.number = session "
            "where ?1 in ('', project) and (instr(said, ?2) or instr(question, ?2) or "
            "instr(answered, ?2) or instr(work, ?2)) order by passages.at desc",
            (project, _storable(signs)),
        )
        return self._read_unranked(rows, limit, left_out)

    def search_by_day(
        self, query: str, limit: int, *, project: str, excluding: str
    ) -> tuple[MatchedPassage, ...]:
        """What the user said on the days that a query names, as `search` returns it; empty where
        nothing was, or the query says more.
        """
        days = find_days_of_query(query, time.time())
        if days is None:
            return ()
        with self._translate_errors("read"):
            left_out = self._list_entries_of(excluding) if excluding else frozenset[str]()
            return self._list_of_days(days, limit, project, left_out)

    def _list_of_days(
        self, days: tuple[date, date], limit: int, project: str, left_out: Collection[str]
    ) -> tuple[MatchedPassage, ...]:
        """What the user said from the first to the last of these days of the local calendar, by its
        time: of more than `limit` turns the first ones of each session.
        """
        start, end = (
            datetime.combine(day, datetime.min.time()).timestamp()
            for day in (days[0], days[1] + timedelta(days=1))
        )
        rows = self._database.execute(
            "select sessions.id, line from passages join sessions on sessions.number = session "
            "where ?1 in ('', project) and said != '' and at >= ?2 and at < ?3 "
            "order by row_number() over (partition by session order by at, line), at",
            (project, start, end),
        )
        found = self._read_unranked(rows, limit, left_out)
        return tuple(sorted(found, key=lambda each: (each.passage.at, each.passage.line)))

    def _read_unranked(
        self, rows: Iterable[tuple[str, int]], limit: int, left_out: Collection[str]
    ) -> tuple[MatchedPassage, ...]:
        """The first passages of these rows, each a session's id and a line."""
        entry = EntryRank("", 0.0, 0.0, None)
        evidence = QueryEvidenceMeter(())
        matches = (
            self._read_match(session, line, entry, evidence)
            for session, line in rows
            if f"{session}#{line}#{PARTS[0]}" not in left_out
        )
        return tuple(islice(_leave_out_copies(filter(None, matches)), limit))

    def _list_projects(self) -> list[str]:
        rows = self._database.execute("select distinct project from sessions").fetchall()
        return [project for (project,) in rows]

    def _read_match(
        self, session: str, line: int, entry: EntryRank, evidence: QueryEvidenceMeter
    ) -> MatchedPassage | None:
        row = self._database.execute(
            "select path, title, keys, length, at, said, question, answered, work, reply_id, "
            "is_typed from passages join sessions on sessions.number = session where "
            "sessions.id = ? and line = ?",
            (session, line),
        ).fetchone()
        if row is None:
            return None  # another process has just taken the session out
        path, title, keys, length, at, *texts, reply_id, is_typed = row
        said, question, answered, work = texts
        return MatchedPassage(
            session=session,
            path=path,
            title=title,
            passage=Passage(
                line=line,
                at=at,
                said=said,
                question=question,
                answered=answered,
                work=work,
                reply_id=reply_id,
                is_typed=bool(is_typed),
            ),
            score=entry.score,
            lexical=entry.lexical,
            nearness=entry.nearness,
            evidence=evidence.measure(frozenset(keys.split(" ")), length),
        )

    def read_passages_from(
        self, id_prefix: str, line: int, count: int, *, project: str = ""
    ) -> tuple[str, tuple[Passage, ...]]:
        """Return the id of the session that begins with `id_prefix` (that one itself, else the
        newest), and `count` passages from that
        line on; ("", ()) where there is none.
        """
        with self._translate_errors("read"):
            found = self._database.execute(
                "select number, id from sessions where substr(id, 1, length(?1)) = ?1 and "
                "?2 in ('', project) order by id = ?1 desc, updated desc limit 1",
                (id_prefix, project),
            ).fetchone()
            if found is None:
                return "", ()
            rows = self._database.execute(
                "select line, at, said, question, answered, work from passages where session = ? "
                "and line >= ? order by line limit ?",
                (found[0], line, count),
            ).fetchall()
        return found[1], tuple(
            Passage(
                line=row[0], at=row[1], said=row[2], question=row[3], answered=row[4], work=row[5]
            )
            for row in rows
        )

    @contextlib.contextmanager
    def _translate_errors(self, verb: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(
                f"cannot {verb} the index {self._path.name} ({error}); it can be deleted, and is "
                f"rebuilt"
            ) from error


def _storable_names(program: str, words: str) -> tuple[str, str]:
    """A program and its arguments, of which one may be a secret."""
    return _storable(redact(program).text), _storable(redact(words).text)


def _storable(text: str) -> str:
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _leave_out_copies(matches: Iterable[MatchedPassage]) -> Iterator[MatchedPassage]:
    """The matches, of those that a session in another project took over the first."""
    seen: set[tuple[str, ...]] = set()
    for match in matches:
        turn = match.passage
        copied = (turn.reply_id, turn.said, turn.question, turn.answered, turn.work)
        if not turn.reply_id or copied not in seen:
            seen.add(copied)
            yield match


def read_passages_from_session_file(
    path: Path, calls: InvocationLogBuilder | None = None
) -> Iterator[Passage]:
    """Read the passages of a session's file; none of a file that is gone or no session.

    `calls` takes in the session's calls on the way.
    """
    try:
        if path.stat().st_size <= MAX_SESSION_BYTES:
            messages = (
                entry
                for entry in read_session(UnpackedUtf8Lines(path))
                if isinstance(entry, Message)
            )
            yield from split_session_into_turns(
                messages if calls is None else map(calls.add, messages)
            )
    except (OSError, UnreadableSession):
        return
