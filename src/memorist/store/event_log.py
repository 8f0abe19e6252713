"""The event log of a session: one JSON object per line, appended unbuffered."""

from __future__ import annotations

import os
from pathlib import Path

from memorist.events import Event, EventLogEntry
from memorist.platforms.file_descriptors import NON_INHERITED_BINARY_FLAGS, read_at_offset
from memorist.ports import Clock
from memorist.safety.redacted_json import encode_redacted
from memorist.store.disk_files import make_folders, raise_os_errors_as_store_errors
from memorist.store.transcript_writer import RetryingAppendFile


class EventLog:
    """Appends events to `events.jsonl`. A line torn by a crash is terminated by a newline when the
    log is reopened.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        self._clock = clock
        make_folders(path.parent)
        with raise_os_errors_as_store_errors("write", path):
            descriptor = os.open(
                path, os.O_CREAT | os.O_APPEND | os.O_RDWR | NON_INHERITED_BINARY_FLAGS, 0o600
            )
        self._file = RetryingAppendFile(descriptor, path)
        size = os.fstat(descriptor).st_size
        if size and read_at_offset(descriptor, 1, size - 1) != b"\n":
            self._file.append(b"\n")

    def append(self, event: Event) -> None:
        """Write one event. Raises StoreError when the disk refuses; it is then written with the
        next.
        """
        self._file.append(encode_redacted(EventLogEntry(self._clock.now(), event)) + b"\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file. May be called twice. Raises StoreError where events are lost by it."""
        self._file.close()
