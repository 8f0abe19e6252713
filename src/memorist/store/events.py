"""The event log of a session: one JSON object a line, appended and handed to the system at once."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from memorist.events import Event, Stamped
from memorist.ports import Clock
from memorist.store.files import make_folders, refusal


class EventLog:
    """Appends events to `events.jsonl`. A line torn by a crash is closed by a newline when the log is opened again."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._clock = clock
        self._path = path
        self._encode = msgspec.json.Encoder().encode
        make_folders(path.parent)
        try:
            self._file = os.fdopen(os.open(path, os.O_CREAT | os.O_APPEND | os.O_RDWR, 0o600), "ab", buffering=0)
            if (
                os.fstat(self._file.fileno()).st_size
                and os.pread(self._file.fileno(), 1, os.fstat(self._file.fileno()).st_size - 1) != b"\n"
            ):
                self._file.write(b"\n")
        except OSError as error:
            raise refusal("write", path, error) from error

    def append(self, event: Event) -> None:
        """Write one event. Raises StoreError when the disk refuses."""
        try:
            self._file.write(self._encode(Stamped(self._clock.now(), event)) + b"\n")
        except OSError as error:
            raise refusal("write", self._path, error) from error

    def close(self) -> None:
        """Close the file. May be called twice."""
        self._file.close()
