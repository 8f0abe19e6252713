"""The stored state of rollouts, opened to read or correct it: database, folder and claim terms,
without the two stages.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from memorist.clock import SystemClock
from memorist.ports import Clock
from memorist.rollouts.working import terms_of
from memorist.settings import Settings
from memorist.store.claims import Terms
from memorist.store.layout import Layout
from memorist.store.opening import open_state
from memorist.store.state import State


class PastState:
    """Opened for one command and closed by it.

    Raises StoreError and SettingsError when it cannot be opened.
    """

    def __init__(self, settings: Settings, *, clock: Clock | None = None) -> None:
        self.settings = settings
        self.layout = Layout(Path(settings.home).expanduser().absolute())
        self.clock = clock or SystemClock()
        self.state: State = open_state(settings.state, self.layout.database)

    @property
    def terms(self) -> Terms:
        """The terms on which jobs are claimed."""
        return terms_of(self.settings.rollouts)


@contextlib.contextmanager
def past_state(settings: Settings) -> Iterator[PastState]:
    """Open the store, and close it in any case."""
    opened = PastState(settings)
    try:
        yield opened
    finally:
        opened.state.close()
