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
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from memorist.config import check_shareable, load_home_settings, load_settings
from memorist.engine.engine import Memorist
from memorist.engine.pool import IdlePool
from memorist.engine.session import Session
from memorist.errors import UsageError
from memorist.models.registry import SharedModel, SharedModelHandle, SharedModelPool, open_model
from memorist.ports import Clock, Model
from memorist.session_memory.trigger import HostInfo
from memorist.settings import Settings
from memorist.store.layout import home_name
from memorist.system import SystemClock

MAX_OPEN_SESSIONS = 100
"""Sessions kept open.

Each holds at most six files and its tenant three: a hundred, each of another tenant, fit the usual
limit of 1,024 files of a process.
"""

IDLE_SECONDS = 600.0
"""Seconds after which an idle session is closed: longer than the minute or two between the turns of
a conversation, and reopening takes milliseconds.
"""

CLOSE_SECONDS = 60.0
"""Longest wait at close, in seconds, for tasks that hold sessions (AM-9's bound for every drain).
"""

UNROOTED_PROJECTS = Path("/tenant-projects")
"""Root of projects that have a name but no folder: a path that is in no repository and need not
exist.
"""

_EXCLUDED_VARIABLES = ("CODEX_HOME", "CLAUDE_CONFIG_DIR", "MEMORIST_HOME")
"""Variables that name folders of the process's own user; a tenant's folders are in its home."""

_CLOSED_MESSAGE = "these tenants were closed; open them again"

_SessionOptions = tuple[str, HostInfo]
"""What a session is opened with besides its names: wire format and the host's information."""


class _TenantSession:
    """The entry of one session: open, or being opened or closed."""

    def __init__(self, tenant: _Tenant, key: tuple[str, str]) -> None:
        self.tenant = tenant
        self.key = key
        self.lock = asyncio.Lock()
        """Held by the task that uses, opens or closes the session; others wait in order of arrival.
        """
        self.waiting_tasks = 0
        """Number of tasks that hold the session or wait for it."""
        self.session: Session | None = None
        self.options: _SessionOptions | None = None


class _Tenant:
    """A tenant's engine and the entries of its sessions."""

    def __init__(self, name: str, engine: Memorist, model: SharedModelHandle | None) -> None:
        self.name = name
        self.engine = engine
        self.model = model
        self.sessions: dict[tuple[str, str], _TenantSession] = {}
        self.recently_requested = False
        """Whether its engine was requested by itself within the idle time."""

    async def close(self) -> None:
        await self.engine.close()
        if self.model is not None:
            await self.model.close()


class Tenants:
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
        idle_seconds: float = IDLE_SECONDS,
        clock: Clock | None = None,
    ) -> None:
        self.root = Path(root).expanduser().absolute()
        self.variables: Callable[[str], Mapping[str, str]] = lambda _: {}
        """Returns the variables of a tenant, laid over the process's.

        Set it before the first session to give tenants keys of their own that are not in the
        environment.
        """
        self._environment = {
            name: value for name, value in os.environ.items() if name not in _EXCLUDED_VARIABLES
        }
        self._settings = check_shareable(
            settings or load_settings(self._environment, home=self.root).settings
        )
        self._shared_model = (
            SharedModel(model) if model is not None and not isinstance(model, str) else None
        )
        self._model_name = model if isinstance(model, str) else ""
        self._models = SharedModelPool()
        self._most_open = most_open
        self._clock = clock or SystemClock()
        self._tenants: dict[str, _Tenant] = {}
        self._open_count = 0
        self._idle_sessions = IdlePool(
            self._close_if_unused, idle_seconds=idle_seconds, clock=self._clock
        )
        self._idle_tenants = IdlePool(
            self._expire_request, idle_seconds=idle_seconds, clock=self._clock
        )
        self._closing_tenants = IdlePool(_Tenant.close, idle_seconds=0, clock=self._clock)
        self._closed = False

    @property
    def open_sessions(self) -> int:
        """Number of open sessions, including those that are being closed."""
        return self._open_count

    @property
    def open_engines(self) -> int:
        """Number of tenants whose engine is open."""
        return len(self._tenants)

    def home(self, tenant: str) -> Path:
        """The folder of a tenant's data.

        Names that differ in any way have different homes. Raises UsageError for an empty one.
        """
        return self.root / home_name(tenant)

    async def engine(self, tenant: str) -> Memorist:
        """Return a tenant's engine, for what is not a session: its memory, its status.

        Request it each time: it is closed when it was not requested within `idle_seconds` and has
        no open session. Raises as `Memorist` does.
        """
        found = self._open_tenant(tenant)
        found.recently_requested = True
        self._idle_tenants.add(found)
        return found.engine

    @contextlib.asynccontextmanager
    async def session(
        self,
        tenant: str,
        id: str,
        *,
        project: str = "",
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
        found = self._open_tenant(tenant)
        place = found.sessions.setdefault((within, id), _TenantSession(found, (within, id)))
        place.waiting_tasks += 1
        self._idle_sessions.remove(place)
        try:
            async with place.lock:
                yield await self._open_session(place, (format, host or HostInfo()))
        finally:
            place.waiting_tasks -= 1
            self._release(place)

    async def close(self) -> None:
        """Close everything; waits for sessions in use, at most a minute.

        May be called twice. Raises StoreError on a disk error.
        """
        self._closed = True
        for place in [
            place for tenant in self._tenants.values() for place in tenant.sessions.values()
        ]:
            self._idle_sessions.begin_close(place)
        await self._idle_sessions.close(CLOSE_SECONDS)
        await self._idle_tenants.close(0)
        await self._closing_tenants.close(CLOSE_SECONDS)
        tenants, self._tenants = list(self._tenants.values()), {}
        refusals = await asyncio.gather(
            *(tenant.close() for tenant in tenants), return_exceptions=True
        )
        for refusal in filter(None, refusals):
            raise refusal

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def _open_tenant(self, name: str) -> _Tenant:
        if self._closed:
            raise UsageError(_CLOSED_MESSAGE)
        if name not in self._tenants:
            home = self.home(name)
            variables = {**self._environment, **(own := self.variables(name)), "HOME": str(home)}
            settings = load_home_settings(self._settings, home)
            model = self._acquire_model(settings, own, variables)
            engine = Memorist(
                model=model or "structural", home=home, settings=settings, clock=self._clock
            )
            engine.environment, engine.starts_workers = variables, False
            self._tenants[name] = _Tenant(name, engine, model)
        return self._tenants[name]

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
            key, lambda: open_model(name, settings.models, clock=self._clock, environment=variables)
        )

    def _project_root(self, project: str) -> str:
        """Return the root folder by which an engine knows a project.

        A named project gets a path that does not exist, so that no repository is mistaken for it.
        """
        if not project.startswith("/"):
            return project and str(UNROOTED_PROJECTS / home_name(project))
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

    async def _open_session(self, entry: _TenantSession, options: _SessionOptions) -> Session:
        """Return the session of an entry whose lock the caller holds."""
        if self._closed:
            raise UsageError(_CLOSED_MESSAGE)
        if entry.session is not None and entry.options != options:
            await self._close_session(entry)
        if entry.session is None:
            format, host = options
            entry.session = await entry.tenant.engine.open(
                entry.key[1], project=entry.key[0], format=format, host=host
            )
            entry.options = options
            self._open_count += 1
            self._close_excess()
        return entry.session

    async def _close_session(self, entry: _TenantSession) -> None:
        session, entry.session = entry.session, None
        if session is not None:
            try:
                await session.close()
            finally:
                self._open_count -= 1

    def _release(self, entry: _TenantSession) -> None:
        """Release an entry; when no other task wants it, it becomes idle."""
        if entry.waiting_tasks:
            return
        if entry.session is None:
            self._remove_session(entry)
        elif not self._closed:
            self._idle_sessions.add(entry)
            self._close_excess()

    def _close_excess(self) -> None:
        """Close the longest idle sessions while too many are open."""
        while (
            len(self._idle_sessions)
            and self._open_count - self._idle_sessions.closing_count > self._most_open
        ):
            self._idle_sessions.begin_close_oldest()

    async def _close_if_unused(self, entry: _TenantSession) -> None:
        """Close the session of an entry under its lock, unless a task wants it by then."""
        try:
            async with entry.lock:
                if not entry.waiting_tasks or self._closed:
                    await self._close_session(entry)
        finally:
            if not entry.waiting_tasks and entry.session is None:
                self._remove_session(entry)

    def _remove_session(self, entry: _TenantSession) -> None:
        """Remove an entry that holds nothing."""
        if entry.tenant.sessions.get(entry.key) is entry:
            del entry.tenant.sessions[entry.key]
        self._close_tenant_if_unused(entry.tenant)

    async def _expire_request(self, tenant: _Tenant) -> None:
        lent = sum(place.session is not None for place in tenant.sessions.values())
        tenant.recently_requested = (
            tenant.engine.open_sessions > lent
        )  # the caller opened sessions on it and still holds them
        if tenant.recently_requested:
            self._idle_tenants.add(tenant)
        self._close_tenant_if_unused(tenant)

    def _close_tenant_if_unused(self, tenant: _Tenant) -> None:
        """Close a tenant's engine when it has no session and was not requested recently."""
        if (
            not tenant.sessions
            and not tenant.recently_requested
            and not self._closed
            and self._tenants.get(tenant.name) is tenant
        ):
            del self._tenants[tenant.name]
            self._closing_tenants.begin_close(tenant)
