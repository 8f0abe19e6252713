"""A session that workers on several machines share: its lease, and the copy of its folder on a
server.

A server that cannot be reached stops no session: it goes on with what is on this machine's disk.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from memorist.errors import SessionInUse, SettingsError, StoreError
from memorist.platforms.extra_installation import build_extra_install_command
from memorist.store.state_database import is_postgres_address

if TYPE_CHECKING:
    from memorist.store.shared_sessions import SharedSessions

_log = logging.getLogger("memorist")


class SharedSessionLease:
    """The part of one session in the setting `shared_sessions`."""

    def __init__(self, server: SharedSessions, name: str) -> None:
        self._server = server
        self._name = name
        self._folder = Path()
        self._is_leased = False
        self._saving: asyncio.Task[None] | None = None
        self._is_changed = False
        """Whether something is to be saved once what is being saved is."""
        self._is_offered = False
        self._has_warned = False

    async def acquire(self, folder: Path) -> None:
        """Take the lease, and bring the session's folder here. Raises SessionInUse where another
        process has it; a server that cannot be reached is a warning in the log.
        """
        self._folder = folder
        taking = asyncio.ensure_future(asyncio.to_thread(self._server.acquire, self._name, folder))
        try:
            await asyncio.shield(taking)
            self._is_leased = True
        except SessionInUse:
            raise
        except StoreError as error:
            self._warn(error)
        except asyncio.CancelledError:
            taking.add_done_callback(self._release_unused)
            raise

    def _release_unused(self, taking: asyncio.Future[None]) -> None:
        """Give back a lease that came after nobody wanted it any more."""
        if not taking.cancelled() and taking.exception() is None:
            self._is_leased = True
            self._saving = asyncio.ensure_future(self.release_without_saving())

    def allow_takeover(self) -> None:
        """Let another process have the session when it asks for it."""
        self._is_offered = True
        self.save_in_background()

    @property
    def is_takeover_requested(self) -> bool:
        """Whether another process asked for the session."""
        return self._is_leased and self._server.is_takeover_requested(self._name)

    def save_in_background(self) -> None:
        """Save what changed, beside the session's work."""
        self._is_changed = self._is_leased
        if self._is_leased and (self._saving is None or self._saving.done()):
            self._saving = asyncio.get_running_loop().create_task(self._save_changes())

    async def close(self) -> None:
        """Save what changed and give the lease back."""
        self.save_in_background()
        if self._saving is not None:
            await asyncio.wait([self._saving])
        await self.release_without_saving()

    async def release_without_saving(self) -> None:
        """Give the lease back, without what changed."""
        if self._is_leased:
            self._is_leased = False
            await asyncio.to_thread(self._try, self._release)

    async def _save_changes(self) -> None:
        while self._is_changed:
            self._is_changed = False
            await asyncio.to_thread(self._try, self._save)

    def _save(self) -> None:
        if not self._server.save(self._name, self._folder, offered=self._is_offered):
            raise StoreError("another process went on with it meanwhile")

    def _release(self) -> None:
        self._server.release(self._name)

    def _try(self, step: Callable[[], None]) -> None:
        try:
            step()
        except StoreError as error:
            self._warn(error)

    def _warn(self, error: StoreError) -> None:
        if not self._has_warned:
            self._has_warned = True
            _log.warning("the session %s is of this machine alone: %s", self._name, error)


def open_shared_sessions(setting: str) -> SharedSessions | None:
    """The server that the setting `shared_sessions` names; None where it is empty. Nothing is sent
    to it yet. Raises SettingsError.
    """
    if not setting:
        return None
    if not is_postgres_address(setting):
        raise SettingsError("the setting `shared_sessions` is postgresql://host/name")
    try:
        module = import_module("memorist.store.shared_sessions")
    except ImportError as error:
        raise SettingsError(
            "the setting `shared_sessions` needs the extra: "
            f"{build_extra_install_command('postgres')}"
        ) from error
    server: SharedSessions = module.get_postgres_shared_session_store(setting)
    return server
