"""The inbox: changes waiting for the user, one file each, beside the memory folder so that no agent
reads them as memory (AM-10).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from memorist.auto_memory.changes import Change, Why
from memorist.auto_memory.history.run import blob_id
from memorist.auto_memory.kinds import Trust
from memorist.auto_memory.topic import parse
from memorist.errors import InputError
from memorist.ports import Files
from memorist.store.files import discard
from memorist.store.layout import MemoryLayout
from memorist.store.locks import held

KEPT = 500
"""Waiting proposals at most; beyond them the oldest are removed. A flood must not fill the disk,
and nobody reads 500.
"""


class Proposal(Struct, frozen=True, kw_only=True):
    """A waiting change. `before` and `after` are the file's text, None where it does not exist."""

    id: str
    at: float
    """Seconds since the epoch, UTC."""
    path: str
    before: str | None
    after: str | None
    trust: Trust
    reasons: tuple[str, ...]
    why: Why
    made_from: str = ""
    """Blob id of the bytes that the change was made from, since they need not be text; empty where
    there were none.
    """

    def change(self, present: bytes | None) -> Change:
        """Return the change as it would be written over the file's present bytes."""
        same = present is not None and blob_id(present) == self.made_from
        before = present if same else None if self.before is None else self.before.encode("utf-8", "surrogateescape")
        return Change(path=self.path, before=before, after=None if self.after is None else self.after.encode("utf-8", "surrogateescape"))


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")


def proposal(change: Change, *, trust: Trust, reasons: Sequence[str], why: Why, at: float) -> Proposal:
    """Create a proposal. The same change has the same id, so that it waits only once."""
    body = b"\0".join((change.path.encode("utf-8", "replace"), b"-" if change.after is None else b"+" + _without_dates(change.after)))
    id = hashlib.sha256(body).hexdigest()[:8]
    return Proposal(
        id=id,
        at=at,
        path=change.path,
        before=_text(change.before),
        after=_text(change.after),
        trust=trust,
        reasons=tuple(reasons),
        why=why,
        made_from="" if change.before is None else blob_id(change.before),
    )


def _without_dates(data: bytes) -> bytes:
    """Drop lines that differ at every attempt: times, session and message ids under memorist's key.
    """
    kept = [line for line in data.splitlines() if not line.strip().startswith((b"created:", b"verified:", b"session:", b"- "))]
    return b"\n".join(kept)


def carried_out(change: Change, present: bytes | None) -> bool:
    """Whether the file already has the proposed content.

    So it is when the process was killed after accepting, before the proposal was removed.
    """
    if change.after is None or present is None:
        return change.after is present
    return parse(change.path, present).body == parse(change.path, change.after).body and change.before != present


class Inbox:
    """The proposals of one memory folder."""

    def __init__(self, where: MemoryLayout, files: Files) -> None:
        self._where = where
        self._files = files

    def add(self, given: Sequence[Proposal]) -> None:
        """Add proposals; one that already waits stays as it is.

        The limit never evicts a proposal of the same call. Raises StoreError.
        """
        if not given:
            return
        with held(self._where.lock):
            for each in given:
                self._files.create(self._where.inbox / f"{each.id}.json", msgspec.json.encode(each))
            new = {each.id for each in given}
            waiting = self.waiting()
            old = [each for each in waiting if each.id not in new]
            for each in old[: max(0, len(waiting) - KEPT)]:
                self.drop(each)

    def waiting(self) -> list[Proposal]:
        """Return all proposals, oldest first; unreadable files are skipped."""
        found = []
        try:
            paths = self._files.walk(self._where.inbox)
        except FileNotFoundError:
            return []
        for path in paths:
            try:
                found.append(msgspec.json.decode(self._files.read(path), type=Proposal))
            except (FileNotFoundError, msgspec.DecodeError):
                continue
        return sorted(found, key=lambda each: (each.at, each.id))

    def find(self, start: str) -> Proposal:
        """Return the proposal whose id has this prefix.

        Raises InputError for none or more than one.
        """
        found = [each for each in self.waiting() if start and each.id.startswith(start)]
        if len(found) != 1:
            raise InputError(f"{len(found)} proposals begin with {start!r}; `memorist memory inbox` lists them")
        return found[0]

    def drop(self, given: Proposal) -> None:
        """Remove a proposal."""
        discard(self._files, self._where.inbox / f"{given.id}.json")


SEALS = 5_000
"""Content seals that are kept, the newest."""


class Seals:
    """Content seals of the memories that the user accepted: they need no second review."""

    def __init__(self, where: MemoryLayout, files: Files) -> None:
        self._path = where.reviewed
        self._files = files

    def all(self) -> tuple[str, ...]:
        """Return every seal, oldest first; none where the file is damaged."""
        try:
            return msgspec.json.decode(self._files.read(self._path), type=tuple[str, ...])
        except (FileNotFoundError, msgspec.DecodeError):
            return ()

    def keep(self, seal: str) -> None:
        """Add a seal. Raises StoreError."""
        known = [each for each in self.all() if each != seal][-SEALS + 1 :]
        self._files.write(self._path, msgspec.json.encode([*known, seal]))

    def drop(self, seals: set[str]) -> None:
        """Remove these seals. Raises StoreError."""
        known = self.all()
        if seals.intersection(known):
            self._files.write(self._path, msgspec.json.encode([each for each in known if each not in seals]))
