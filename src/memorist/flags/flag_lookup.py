"""Background lookup of flags: reads are answered at once from the last lookup, however old it is
(FG-2).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from memorist.core.error_guard import ErrorGuard
from memorist.flags.flag_overrides import SettingsSection, apply_flags_to_section
from memorist.settings import FlagsSettings

REFRESH_SECONDS = FlagsSettings().refresh_seconds


class FlagProvider(Protocol):
    """A source of flags. `read` may be slow and may raise: it runs in the background only."""

    def read(self) -> Mapping[str, object]:
        """Every flag that is set, by name."""
        ...


class InMemoryFlagSource:
    """Flags in memory; the default, with none set. Change `values` at any time."""

    def __init__(self, values: Mapping[str, object] | None = None) -> None:
        self.values: dict[str, object] = dict(values or {})

    def read(self) -> Mapping[str, object]:
        """The current values."""
        return dict(self.values)


class Flags:
    """The flags as last looked up. No call waits for the source: before its first answer no flag is
    set, and while it hangs the old values stay.

    Without a source no flag is ever set, and nothing runs in the background.
    """

    def __init__(
        self, source: FlagProvider | None = None, *, refresh_seconds: float = REFRESH_SECONDS
    ) -> None:
        self.last_error = ""
        """Why the last lookup failed, in one sentence; empty when it succeeded."""
        self._source = source
        self._refresh_seconds = refresh_seconds
        self._values: Mapping[str, object] = MappingProxyType({})
        self._refresh_requested, self._refresh_done, self._closed = (
            threading.Event(),
            threading.Event(),
            threading.Event(),
        )
        self._request_lock = threading.Lock()
        """Held briefly, never during a lookup: the end of an earlier lookup must not mark a newer
        request as done.
        """
        self._thread: threading.Thread | None = None
        if isinstance(self._source, InMemoryFlagSource):
            self._values = self._source.read()
        self.refresh()

    def values(self) -> Mapping[str, object]:
        """The flags known now; returns at once."""
        return self._values

    def apply_to_section(self, settings: SettingsSection) -> SettingsSection:
        """The settings of one section with the flags applied; returns at once. Raises KeyError for
        a section that has no flags (`values.SECTIONS`).
        """
        return apply_flags_to_section(settings, self._values)

    def refresh(self) -> None:
        """Request a lookup in the background; returns at once."""
        if self._source is None:
            self._refresh_done.set()
            return
        if self._closed.is_set():
            return
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._refresh_loop, args=(self._source,), name="memorist-flags", daemon=True
            )
            self._thread.start()
        # Cleared and set under the lock that `_refresh_loop` holds to mark a lookup as done.
        with self._request_lock:
            self._refresh_done.clear()
            self._refresh_requested.set()

    def wait_for_lookup(self, seconds: float) -> bool:
        """Wait for a requested lookup, at most so long; returns whether it is done. For replays,
        commands and tests; a live session never calls it.
        """
        return self._refresh_done.wait(seconds)

    def close(self) -> None:
        """Stop looking up. A hanging source is not waited for; its thread ends with the program."""
        self._closed.set()
        self._refresh_requested.set()

    def _refresh_loop(self, source: FlagProvider) -> None:
        while True:
            self._refresh_requested.wait(self._refresh_seconds)
            if self._closed.is_set():
                return
            self._refresh_requested.clear()
            self._read_source(source)
            with self._request_lock:
                if not self._refresh_requested.is_set():
                    self._refresh_done.set()

    def _read_source(self, source: FlagProvider) -> None:
        """Look the flags up; where that fails the old values stay and the thread goes on."""
        with ErrorGuard(self._on_error):
            self._values = MappingProxyType(dict(source.read()))
            self.last_error = ""

    def _on_error(self, error: Exception) -> None:
        text = str(error) or type(error).__name__
        self.last_error = f"the flags could not be looked up: {text}"
