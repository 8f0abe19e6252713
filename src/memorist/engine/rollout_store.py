"""The stored state of rollouts, opened to read or correct it: database, folder and claim terms,
without the two stages.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from memorist.errors import StoreError
from memorist.ports import Clock
from memorist.settings import Settings
from memorist.store.home_layout import Layout
from memorist.store.job_claim_rules import JobClaimPolicy, build_lease_policy
from memorist.store.state_database import SqliteStateDatabase, StateDatabase, open_state_database
from memorist.system import SystemClock


class RolloutStore:
    """Opened for one command and closed by it.

    Raises StoreError and SettingsError when it cannot be opened.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.layout = Layout.from_setting(settings.home)
        self.clock: Clock = SystemClock()
        self.state: StateDatabase = open_state_database(settings.state, self.layout.database)

    @property
    def claim_terms(self) -> JobClaimPolicy:
        """The terms on which jobs are claimed."""
        return build_lease_policy(self.settings.rollouts)

    def require_saved_state(self) -> None:
        """Raises StoreError where a correction that the user asks for would be lost."""
        if isinstance(self.state, SqliteStateDatabase) and (why := self.state.unsaved_reason):
            raise StoreError(
                f"what is known of past sessions cannot be kept in {self.layout.home}: {why}"
            )


@contextlib.contextmanager
def open_rollout_store(settings: Settings) -> Iterator[RolloutStore]:
    """Open the store, and close it in any case."""
    opened = RolloutStore(settings)
    try:
        yield opened
    finally:
        opened.state.close()
