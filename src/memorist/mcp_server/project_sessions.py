"""The recorded sessions of one project: their notes, what was removed by compaction, and what their
user typed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from memorist.auto_memory.memory_location import locate_root_of_recorded_folder
from memorist.auto_memory.quotation_proof import find_statements_in_user_words
from memorist.auto_memory.retractions import takes_back
from memorist.auto_memory.statements.announced_texts import AnnouncedTextTracker
from memorist.auto_memory.statements.statement_parser import Statement
from memorist.auto_memory.statements.user_prose import announces_text_in_next_message
from memorist.auto_memory.write_evidence import (
    collect_write_evidence,
    find_ids_of_quoted_messages,
    normalize_for_comparison,
)
from memorist.compaction.window_at_message import find_text_by_id
from memorist.core.messages import Message, Origin
from memorist.errors import InputError, NothingToDo, UnreadableSession
from memorist.ports import FileSystem
from memorist.store.disk_files import read_if_exists
from memorist.store.home_layout import SessionLayout
from memorist.store.session_rows import list_sessions_newest_first
from memorist.store.sqlite_database import Connection
from memorist.store.transcript_reader import read_transcript
from memorist.transcript_analysis.user_words_in_results import insert_user_words_from_results

MAX_SEARCHED_SESSIONS = 20
"""Newest sessions that are searched when none is named."""
MAX_TRANSCRIPT_BYTES = 64_000_000
"""Bytes of the largest transcript that is searched when no session is named; reading one takes
about a second.

A named session is read whole.
"""


class RecordedProjectSession(Struct, frozen=True):
    """One session of the project."""

    id: str
    layout: SessionLayout
    updated: float
    """Seconds since the epoch."""


class FoundUserQuote(Struct, frozen=True):
    """Where the user said a quotation: the session, and the messages' own words by id."""

    session: str
    user: tuple[tuple[str, str], ...]
    statements: tuple[Statement, ...]
    """What these messages explicitly ask to remember or forget."""


class SaidMessage(Struct, frozen=True):
    """A message of the user in a recorded session, and what it followed."""

    session: str
    message: Message
    reply_before: str
    """The agent's text before it."""
    is_text_announced: bool
    """Whether the user's message before it announced a text of somebody else."""


class RecordedProjectSessions:
    """The sessions of one project. `database` opens the state database."""

    def __init__(
        self, root: Path, *, files: FileSystem, database: Callable[[], Connection]
    ) -> None:
        self._root = root
        self._files = files
        self._database = database
        self._roots: dict[str, Path] = {}

    def list_sessions(self) -> list[RecordedProjectSession]:
        """Return all sessions, the newest first. Raises StoreError."""
        return [
            RecordedProjectSession(id, SessionLayout(Path(folder)), updated)
            for id, project, folder, updated in list_sessions_newest_first(self._database())
            if project and self._root_of(project) == self._root
        ]

    def _root_of(self, project: str) -> Path:
        if project not in self._roots:
            self._roots[project] = locate_root_of_recorded_folder(project)
        return self._roots[project]

    def find_session(self, id_prefix: str) -> RecordedProjectSession:
        """Return the one session of this project whose id starts with `id_prefix`.

        Raises InputError.
        """
        fitting = [each for each in self.list_sessions() if each.id.startswith(id_prefix)]
        exact = [each for each in fitting if each.id == id_prefix] or fitting
        if len(exact) != 1:
            count = len(exact) or "no"
            raise InputError(
                f"{count} sessions of this project begin with {id_prefix!r}; status lists the "
                f"newest"
            )
        return exact[0]

    def find_notes(self, id_prefix: str) -> tuple[RecordedProjectSession, str]:
        """Return the notes of a session, or of the newest one that has any.

        Raises InputError, NothingToDo, StoreError.
        """
        for each in [self.find_session(id_prefix)] if id_prefix else self.list_sessions():
            text = self.read_notes(each)
            if text:
                return each, text
        raise NothingToDo(
            f"the session {id_prefix!r} has no notes"
            if id_prefix
            else "no session of this project has notes yet"
        )

    def read_notes(self, session: RecordedProjectSession) -> str:
        """Return the notes of a session; empty where it has none. Raises StoreError."""
        return (
            (read_if_exists(self._files, session.layout.notes) or b"")
            .decode("utf-8", "replace")
            .strip()
        )

    def fetch_text(self, id: str, id_prefix: str) -> tuple[RecordedProjectSession, str]:
        """Return the full text of a message or tool result.

        Raises InputError when no searched session has it.
        """
        for each in self._searched_sessions(id_prefix):
            text = find_text_by_id(self._messages(each), id)
            if text is not None:
                return each, text
        where = (
            f"the session {id_prefix!r} has"
            if id_prefix
            else f"the newest sessions of this project (up to {MAX_SEARCHED_SESSIONS}) have"
        )
        raise InputError(
            f"{where} no message or tool result {id!r}; give the id as it stands in the "
            f"conversation, or name the session"
        )

    def find_quote(self, quote: str, id_prefix: str) -> FoundUserQuote | None:
        """Return the newest session in which the user typed these words; None when there is none.

        Raises InputError, StoreError.
        """
        wanted = normalize_for_comparison(quote)
        if not wanted:
            return None
        for each in self._searched_sessions(id_prefix):
            likely = _find_standing_messages(quote, wanted, self._messages(each))
            evidence = collect_write_evidence(each.id, likely)
            ids = set(find_ids_of_quoted_messages(quote, evidence))
            if ids:
                statements = [
                    statement
                    for message in likely
                    if message.id in ids
                    for statement in find_statements_in_user_words(message)
                ]
                return FoundUserQuote(
                    each.id,
                    tuple(pair for pair in evidence.user_messages if pair[0] in ids),
                    tuple(statements),
                )
        return None

    def find_said_message(self, words: str) -> SaidMessage | None:
        """The newest message of the user that has these words; None where no searched session has
        one. Raises StoreError.
        """
        wanted = normalize_for_comparison(words)
        for each in self._searched_sessions("") if wanted else ():
            found, reply, announced = None, "", False
            for message in insert_user_words_from_results(self._messages(each)):
                if message.origin is Origin.MODEL:
                    reply = message.text.strip() or reply
                if message.origin is not Origin.USER:
                    continue
                if wanted in normalize_for_comparison(message.text):
                    found = SaidMessage(each.id, message, reply, announced)
                announced = announces_text_in_next_message(message.text)
            if found is not None:
                return found
        return None

    def _searched_sessions(self, id_prefix: str) -> list[RecordedProjectSession]:
        if id_prefix:
            return [self.find_session(id_prefix)]
        return [
            each
            for each in self.list_sessions()[:MAX_SEARCHED_SESSIONS]
            if self._transcript_size(each) <= MAX_TRANSCRIPT_BYTES
        ]

    def _transcript_size(self, session: RecordedProjectSession) -> int:
        facts = self._files.lstat(session.layout.transcript)
        return facts.size if facts is not None else 0

    def _messages(self, session: RecordedProjectSession) -> Iterator[Message]:
        try:
            yield from (
                entry
                for entry in read_transcript(session.layout.transcript)
                if isinstance(entry, Message)
            )
        except UnreadableSession:
            return  # a foreign file; the other sessions are searched all the same


def _find_standing_messages(quote: str, wanted: str, messages: Iterable[Message]) -> list[Message]:
    """The user's messages that hold a quotation, `wanted` in its form for comparison, without those
    after which they took it back.
    """
    found: list[Message] = []
    before = ""
    for message in insert_user_words_from_results(map(AnnouncedTextTracker().mark, messages)):
        if message.origin is not Origin.USER:
            continue
        later = find_statements_in_user_words(message) if found else ()
        if any(takes_back(each, quote, is_next=found[-1].id == before) for each in later):
            found.clear()
        if wanted in normalize_for_comparison(message.text):
            found.append(message)
        before = message.id
    return found
