"""Many users in one process: a home for each tenant, sessions opened on demand and closed when
idle.

    root/
    ├── config.toml         settings that all tenants share
    ├── alice/              the home of the tenant alice, as docs/engine.md shows one
    │   └── config.toml     what is set for alice alone
    └── bob-smith-<hash>/   that of a tenant whose name is no safe folder name

Tenants are isolated: each has its own engine with its own files, database, settings and spending
caps. A model's client is shared on purpose where string, settings and keys are the same: its
connections, and what the provider reports of the key's rate limits.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path, PurePath
from typing import Self

import msgspec

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.config import check_settings_isolate_tenants, load_settings, overlay_tenant_settings
from memorist.core.not_picklable import NotPicklable
from memorist.engine.engine import Memorist
from memorist.engine.project_search import SearchResults
from memorist.engine.session import Session
from memorist.engine.session_arguments import check_ports, check_project, check_settings_type
from memorist.engine.session_pool import WATCH_INTERVAL_SECONDS, PoolLimits, SessionPool
from memorist.engine.shared_session_lease import open_shared_sessions
from memorist.errors import UsageError
from memorist.events import EventListener
from memorist.models.model_choice import create_model_from_string
from memorist.models.shared_model import SharedModel, SharedModelHandle, SharedModelPool
from memorist.ports import Clock, HostInfo, Model
from memorist.runtime import HeavyRunner
from memorist.settings import Settings
from memorist.store.disk_files import raise_os_errors_as_store_errors
from memorist.store.home_layout import make_portable_folder_name
from memorist.system import SystemClock

MAX_OPEN_SESSIONS = 100
"""Sessions kept open.

Each holds at most six files and its tenant three: a hundred, each of another tenant, fit the usual
limit of 1,024 files of a process.
"""

MAX_IDLE_SECONDS = 600.0
"""Seconds after which an idle session is closed: longer than the minute or two between the turns of
a conversation, and reopening takes milliseconds.
"""

UNROOTED_PROJECTS = Path("/tenant-projects")
"""Root of projects that have a name but no folder: a path that is in no repository and need not
exist.
"""

_EXCLUDED_VARIABLES = ("CODEX_HOME", "CLAUDE_CONFIG_DIR", "MEMORIST_HOME")
"""Variables that name folders of the process's own user; a tenant's folders are in its home."""

_SessionOptions = tuple[str, HostInfo]
"""What a session is opened with besides its names: wire format and the host's information."""


class _TenantSession(msgspec.Struct, frozen=True, eq=False):
    """An open session, and what it was opened with."""

    session: Session
    options: _SessionOptions


class _Tenant(msgspec.Struct, frozen=True, eq=False):
    """A tenant's open engine and its share of a model."""

    engine: Memorist
    model: SharedModelHandle | None

    async def close(self) -> None:
        await self.engine.close()
        if self.model is not None:
            await self.model.close()


class Tenants(NotPicklable):
    """The engines and sessions of many users, in one event loop. Open one in a process, and close
    it at the end.

    Args:
        root: folder of all homes.
        settings: what all tenants share; None reads `root/config.toml` and the environment. A
            tenant's own `config.toml` goes before it.
        model: a model string or object for all tenants; None for what each tenant's settings say.
        most_open: sessions kept open; of those that rest, the ones used longest ago are closed
            first. Those in use at one time are all open, whatever their number.
        idle_seconds: how long a session, or an engine that was asked for, may rest before it is
            closed.
        clock: the world's, for tests.

    Raises SettingsError for settings that cannot be used, and for shared ones that would mix
    tenants.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        settings: Settings | None = None,
        model: str | Model | None = None,
        most_open: int = MAX_OPEN_SESSIONS,
        idle_seconds: float = MAX_IDLE_SECONDS,
        clock: Clock | None = None,
    ) -> None:
        check_ports(model, clock)
        self.root = Path(root).expanduser().absolute()
        self.variables: Callable[[str], Mapping[str, str]] = lambda _: {}
        """Returns the variables of a tenant, laid over the process's.

        Set it before the first session to give tenants keys of their own that are not in the
        environment.
        """
        self.run_heavy: HeavyRunner = asyncio.to_thread
        """Runs work of seconds outside the event loop, for all tenants."""
        self._environment = {
            name: value for name, value in os.environ.items() if name not in _EXCLUDED_VARIABLES
        }
        self._settings = check_settings_isolate_tenants(
            check_settings_type(settings)
            or load_settings(self._environment, home=self.root).settings
        )
        self._shared_model = (
            SharedModel(model) if model is not None and not isinstance(model, str) else None
        )
        self._model_name = model if isinstance(model, str) else ""
        self._models = SharedModelPool()
        self._clock = clock or SystemClock()
        limits = PoolLimits(idle_seconds, most_open)
        self._engines = SessionPool[str, _Tenant](
            _Tenant.close,
            clock=self._clock,
            limits=limits,
            is_shared=True,
            is_busy=lambda tenant: tenant.engine.open_sessions > 0,
        )
        self._sessions = SessionPool[tuple[str, str, str], _TenantSession](
            self._close_session, clock=self._clock, limits=limits
        )
        self._sessions.is_takeover_requested = lambda opened: opened.session.is_takeover_requested

    @property
    def open_sessions(self) -> int:
        """Number of open sessions, including those that are being closed."""
        return len(self._sessions)

    @property
    def open_engines(self) -> int:
        """Number of tenants whose engine is open."""
        return len(self._engines)

    def home(self, tenant: str) -> Path:
        """The folder of a tenant's data.

        Names that differ in any way have different homes. Raises UsageError for an empty one.
        """
        return self.root / make_portable_folder_name(tenant)

    async def engine(self, tenant: str) -> Memorist:
        """Return a tenant's engine, for what is not a session: its memory, its status.

        Request it each time: it is closed when it was not requested within `idle_seconds` and has
        no open session. Raises as `Memorist` does.
        """
        async with self._use_tenant(tenant) as found:
            return found.engine

    async def memory(self, tenant: str, *, project: str | PurePath = "") -> AutoMemory:
        """Return the memory of a tenant's project, by the same name or folder as in `session`.

        Request it each time, as `engine`. Raises as `session` does.
        """
        return (await self.engine(tenant)).memory(self._project_root(project))

    async def search(
        self, tenant: str, query: str, *, project: str | PurePath = "", limit: int = 10
    ) -> SearchResults:
        """Search all that is kept of a tenant's project, as `Memorist.search`. Raises as `session`
        does.
        """
        engine = await self.engine(tenant)
        return engine.search(query, project=self._project_root(project), limit=limit)

    async def remove(self, tenant: str) -> None:
        """Delete all data of a tenant, for good, here and on the server of shared sessions: its
        sessions and its engine are closed first, those in use when their task lets go of them. A
        later session begins afresh. Called again it finishes what was interrupted.

        Raises UsageError for an empty name, SettingsError for the tenant's own settings, StoreError
        where the server does not answer, and where the folder cannot be deleted.
        """
        home = self.home(tenant)
        removed = home.with_name(f".{home.name}-removed")
        with raise_os_errors_as_store_errors("remove", home):
            await asyncio.to_thread(_remove_folder, removed)
            await self._close_tenant(tenant)
            shared = open_shared_sessions(
                overlay_tenant_settings(self._settings, home).shared_sessions
            )
            if shared is not None:
                await asyncio.to_thread(shared.remove_sessions, home.name)
                await self._close_tenant(tenant)
            # Nothing is awaited before: no task may begin a session that would lose its folder.
            if home.exists():
                home.rename(removed)
            await asyncio.to_thread(_remove_folder, removed)

    async def _close_tenant(self, tenant: str) -> None:
        """Close the sessions and the engine of a tenant, also those that are opened meanwhile."""
        while True:
            keys = [key for key in self._sessions.list_keys() if key[0] == tenant]
            for key in keys:
                await self._sessions.close_key(key)
            await self._engines.close_key(tenant)
            if not keys and tenant not in self._engines.list_keys():
                return
            await asyncio.sleep(WATCH_INTERVAL_SECONDS)

    async def open(
        self,
        tenant: str,
        id: str,
        *,
        project: str | PurePath = "",
        format: str = "anthropic",
        host: HostInfo | None = None,
        listener: EventListener | None = None,
    ) -> Session:
        """Open a session that the caller closes; its tenant's engine stays open as long.

        The arguments are those of `session` and `Memorist.open`; raises as they do.
        """
        within = self._project_root(project)
        async with self._use_tenant(tenant) as found:
            return await found.engine.open(
                id, project=within, format=format, host=host, listener=listener
            )

    @contextlib.asynccontextmanager
    async def session(
        self,
        tenant: str,
        id: str,
        *,
        project: str | PurePath = "",
        format: str = "anthropic",
        host: HostInfo | None = None,
    ) -> AsyncIterator[Session]:
        """Open a session for one task, or use the open one; other tasks wait in order. It stays
        open afterwards, idle.

        Args:
            tenant: any text that names the user.
            id: any text that names the session; the same text finds it again, within the tenant and
                the project.
            project: an absolute folder, or any name for a project without a folder on this machine;
                separates the tenant's projects.
            format: as for `Memorist.open`. If it differs from before, the session is closed and
                opened again.
            host: what the host says of itself; a difference reopens the session too.

        Raises UsageError for an empty name, for a folder that holds or is part of the tenants'
        homes, and once `close` was called; otherwise as `Memorist.open`.
        """
        within = self._project_root(project)
        options: _SessionOptions = (format, host or HostInfo())

        async def open_session() -> _TenantSession:
            opened = await self.open(tenant, id, project=project, format=format, host=host)
            opened.allow_takeover()
            return _TenantSession(opened, options)

        async with self._sessions.use(
            (tenant, within, id),
            open_session,
            is_current=lambda opened: opened.options == options and not opened.session.is_closed,
        ) as opened:
            yield opened.session

    async def close(self) -> None:
        """Close everything; waits for sessions in use, a little over a minute at most.

        May be called twice. Raises StoreError on a disk error.
        """
        errors = [*await self._sessions.close(), *await self._engines.close()]
        for error in errors:
            raise error

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _close_session(self, opened: _TenantSession) -> None:
        try:
            await opened.session.close()
        finally:
            self._engines.make_room()

    def _use_tenant(self, name: str) -> contextlib.AbstractAsyncContextManager[_Tenant]:
        async def open_tenant() -> _Tenant:
            return self._open_tenant(name)

        return self._engines.use(name, open_tenant)

    def _open_tenant(self, name: str) -> _Tenant:
        home = self.home(name)
        variables = {**self._environment, **(own := self.variables(name)), "HOME": str(home)}
        settings = overlay_tenant_settings(self._settings, home)
        model = self._acquire_model(settings, own, variables)
        engine = Memorist(
            model=model or "structural", home=home, settings=settings, clock=self._clock
        )
        engine.environment, engine.starts_workers = variables, False
        engine.owner = home.name
        engine.run_heavy = self.run_heavy
        return _Tenant(engine, model)

    def _acquire_model(
        self, settings: Settings, own: Mapping[str, str], variables: Mapping[str, str]
    ) -> SharedModelHandle | None:
        """Acquire a tenant's model.

        A client is shared by tenants with the same model string, settings and own variables, and so
        the same key.
        """
        if self._shared_model is not None:
            return self._shared_model.acquire()
        name = self._model_name or settings.model
        key = (name, msgspec.json.encode(settings.models), frozenset(own.items()))
        return self._models.acquire(
            key,
            lambda: create_model_from_string(
                name, settings.models, clock=self._clock, environment=variables
            ),
        )

    def _project_root(self, project: str | PurePath) -> str:
        """Return the root folder by which an engine knows a project.

        A named project gets a path that does not exist, so that no repository is mistaken for it.
        """
        project = check_project(project)
        if not project.startswith("/"):
            return project and str(UNROOTED_PROJECTS / make_portable_folder_name(project))
        try:
            where, root = Path(os.path.realpath(project)), Path(os.path.realpath(self.root))
        except ValueError as error:
            raise UsageError(
                f"{project!r} is no name of a folder; give the project's root folder, or a name"
            ) from error
        if where.is_relative_to(root) or root.is_relative_to(where):
            raise UsageError(
                f"the project {project} and the tenants' homes in {self.root} are part of each "
                f"other; keep them apart"
            )
        return project


def _remove_folder(folder: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(folder)
