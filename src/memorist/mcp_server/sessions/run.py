"""The recorded sessions of one project: their notes, what was removed by compaction, and what their
user typed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from memorist.auto_memory.evidence import evidence, plain, quoted_in
from memorist.auto_memory.place.run import project_root
from memorist.auto_memory.said import Said, said
from memorist.compaction.recorded import found
from memorist.core.messages import Message, Origin
from memorist.errors import InputError, NothingToDo, UnreadableSession
from memorist.ports import Files
from memorist.store.files import present
from memorist.store.layout import SessionLayout
from memorist.store.sessions import newest_sessions
from memorist.store.transcript import recorded

LOOKED_THROUGH = 20
"""Newest sessions that are searched when none is named."""
LONGEST = 64_000_000
"""Bytes of the largest transcript that is searched when no session is named; reading one takes
about a second.

A named session is read whole.
"""


class Known(Struct, frozen=True):
    """One session of the project."""

    id: str
    layout: SessionLayout
    updated: float
    """Seconds since the epoch."""


class Quoted(Struct, frozen=True):
    """Where the user said a quotation: the session, and the messages' own words by id."""

    session: str
    user: tuple[tuple[str, str], ...]
    wishes: tuple[Said, ...]
    """What these messages explicitly ask to remember or forget."""


class Sessions:
    """The sessions of one project. `database` opens the state database."""

    def __init__(self, root: Path, *, files: Files, database: Callable[[], sqlite3.Connection]) -> None:
        self._root = root
        self._files = files
        self._database = database
        self._roots: dict[str, Path] = {}

    def known(self) -> list[Known]:
        """Return all sessions, the newest first. Raises StoreError."""
        return [
            Known(id, SessionLayout(Path(folder)), updated)
            for id, project, folder, updated in newest_sessions(self._database())
            if project and self._of(project) == self._root
        ]

    def _of(self, project: str) -> Path:
        if project not in self._roots:
            self._roots[project] = project_root(Path(project))
        return self._roots[project]

    def named(self, start: str) -> Known:
        """Return the one session of this project whose id starts with `id_prefix`.

        Raises InputError.
        """
        fitting = [each for each in self.known() if each.id.startswith(start)]
        exact = [each for each in fitting if each.id == start] or fitting
        if len(exact) != 1:
            count = len(exact) or "no"
            raise InputError(f"{count} sessions of this project begin with {start!r}; status lists the newest")
        return exact[0]

    def notes(self, start: str) -> tuple[Known, str]:
        """Return the notes of a session, or of the newest one that has any.

        Raises InputError, NothingToDo, StoreError.
        """
        for each in [self.named(start)] if start else self.known():
            text = self.notes_of(each)
            if text:
                return each, text
        raise NothingToDo(f"the session {start!r} has no notes" if start else "no session of this project has notes yet")

    def notes_of(self, session: Known) -> str:
        """Return the notes of a session; empty where it has none. Raises StoreError."""
        return (present(self._files, session.layout.notes) or b"").decode("utf-8", "replace").strip()

    def fetched(self, id: str, start: str) -> tuple[Known, str]:
        """Return the full text of a message or tool result.

        Raises InputError when no searched session has it.
        """
        for each in self._looked_through(start):
            text = found(self._messages(each), id)
            if text is not None:
                return each, text
        where = f"the session {start!r} has" if start else f"the newest sessions of this project (up to {LOOKED_THROUGH}) have"
        raise InputError(f"{where} no message or tool result {id!r}; give the id as it stands in the conversation, or name the session")

    def quoted(self, quote: str, start: str) -> Quoted | None:
        """Return the newest session in which the user typed these words; None when there is none.

        Raises InputError, StoreError.
        """
        wanted = plain(quote)
        if not wanted:
            return None
        for each in self._looked_through(start):
            likely = [message for message in self._messages(each) if message.origin is Origin.USER and wanted in plain(message.text)]
            heard = evidence(each.id, likely)
            ids = set(quoted_in(quote, heard))
            if ids:
                wishes = [wish for message in likely if message.id in ids for wish in said(message)]
                return Quoted(each.id, tuple(pair for pair in heard.user if pair[0] in ids), tuple(wishes))
        return None

    def _looked_through(self, start: str) -> list[Known]:
        if start:
            return [self.named(start)]
        return [each for each in self.known()[:LOOKED_THROUGH] if self._size(each) <= LONGEST]

    def _size(self, session: Known) -> int:
        facts = self._files.facts(session.layout.transcript)
        return facts.size if facts is not None else 0

    def _messages(self, session: Known) -> Iterator[Message]:
        try:
            yield from (entry for entry in recorded(session.layout.transcript) if isinstance(entry, Message))
        except UnreadableSession:
            return  # a foreign file; the other sessions are searched all the same
