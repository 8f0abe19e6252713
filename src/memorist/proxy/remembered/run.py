"""The file of known conversations in a home, so that they continue after a restart."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterable
from pathlib import Path

from memorist.errors import StoreError
from memorist.ports import Files
from memorist.proxy.known import Beginning, Known, known_in, line_of, salt_of

MOST = 10_000
"""Conversations that are stored: as many as `MAX_CONVERSATIONS`.

Our choice; a line takes about 300 bytes.
"""
SPARE = 10_000
"""Outdated lines that the file may hold; with one more it is rewritten. Our choice."""
SALT = 16
"""Bytes of the salt."""

log = logging.getLogger("memorist.proxy")


class Remembered:
    """The conversation file of one home.

    If the disk refuses, that is logged once, and conversations are known only while the process
    runs.
    """

    def __init__(self, files: Files, path: Path) -> None:
        self._files = files
        self._path = path
        self._refused = False
        data = self._begun()
        self.salt = salt_of(data) or secrets.token_bytes(SALT)
        """What keys are hashed with in this home."""
        self._known = known_in(data, MOST)
        self._lines = data.count(b"\n")
        if not data.endswith(b"\n") or self._lines > len(self._known) + SPARE:
            self._write()

    @property
    def known(self) -> Iterable[Known]:
        """All stored conversations, the one idle longest first."""
        return self._known.values()

    def keep(self, entry: Known | None) -> None:
        """Store what is known of a conversation now."""
        if entry is None or self._known.get(entry.key) == entry:
            return
        self._known[entry.key] = entry
        self._known.move_to_end(entry.key)
        while len(self._known) > MOST:
            self._known.popitem(last=False)
        self._lines += 1
        if self._lines > len(self._known) + SPARE:
            self._write()
        elif not self._refused:
            try:
                self._files.append(self._path, line_of(entry))
            except StoreError as error:
                self._give_up(error)

    def _begun(self) -> bytes:
        """The content of the file, which is created with a salt if missing.

        A file whose salt is unreadable is started over: none of its hashes could be found again.
        """
        beginning = line_of(Beginning(secrets.token_bytes(SALT)))
        try:
            self._files.create(self._path, beginning)
            data = self._files.read(self._path)
            if not salt_of(data):
                self._files.write(self._path, data := beginning)
        except (StoreError, FileNotFoundError) as error:
            self._give_up(error)
            return beginning
        return data

    def _write(self) -> None:
        lines = [line_of(Beginning(self.salt)), *map(line_of, self._known.values())]
        self._lines = len(lines)
        if not self._refused:
            try:
                self._files.write(self._path, b"".join(lines))
            except StoreError as error:
                self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        self._refused = True
        log.warning("conversations without a name will be new ones after a restart: %s", error)
