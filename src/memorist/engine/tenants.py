"""Many users in one process: a home for each tenant, sessions opened on demand and closed when idle.

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

from memorist.clock import SystemClock
from memorist.configuration import load_settings, own_settings, shareable
from memorist.engine.memorist import Memorist
from memorist.engine.resting import Resting
from memorist.engine.session import Session
from memorist.errors import UsageError
from memorist.models.choose import open_model
from memorist.models.shared import ModelUse, SharedModel, SharedModels
from memorist.ports import Clock, Model
from memorist.session_memory.trigger import Host
from memorist.settings import Settings
from memorist.store.layout import home_name

MOST_OPEN = 100
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

NAMED = Path("/tenant-projects")
"""Root of projects that have a name but no folder: a path that is in no repository and need not
exist.
"""

_FOREIGN = ("CODEX_HOME", "CLAUDE_CONFIG_DIR", "MEMORIST_HOME")
"""Variables that name folders of the process's own user; a tenant's folders are in its home."""

_CLOSED = "these tenants were closed; open them again"

_Terms = tuple[str, Host]
"""What a session is opened with besides its names: wire format and the host's information."""


class _Place:
    """The entry of one session: open, or being opened or closed."""

    def __init__(self, tenant: _Tenant, key: tuple[str, str]) -> None:
        self.tenant = tenant
        self.key = key
        self.turn = asyncio.Lock()
        """Held by the task that uses, opens or closes the session; others wait in order of arrival.
        """
        self.wanted = 0
        """Number of tasks that hold the session or wait for it."""
        self.session: Session | None = None
        self.terms: _Terms | None = None


class _Tenant:
    """A tenant's engine and the entries of its sessions."""

    def __init__(self, name: str, engine: Memorist, model: ModelUse | None) -> None:
        self.name = name
        self.engine = engine
        self.model = model
        self.places: dict[tuple[str, str], _Place] = {}
        self.asked = False
        """Whether its engine was requested by itself within the idle time."""

    async def close(self) -> None:
        await self.engine.close()
        if self.model is not None:
            await self.model.close()


class Tenants:
    """The engines and sessions of many users, in one event loop. Open one in a process, and close it at the end.

    Args:
        root: folder of all homes.
        settings: what all tenants share; None reads `root/config.toml` and the environment. A tenant's own `config.toml` goes before it.
        model: a model string or object for all tenants; None for what each tenant's settings say.
        most_open: sessions kept open; of those that rest, the ones used longest ago are closed first. Those in use at one time are all open, whatever
            their number.
        idle_seconds: how long a session, or an engine that was asked for, may rest before it is closed.
        clock: the world's, for tests.

    Raises SettingsError for settings that cannot be used, and for shared ones that would mix tenants.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        settings: Settings | None = None,
        model: str | Model | None = None,
        most_open: int = MOST_OPEN,
        idle_seconds: float = IDLE_SECONDS,
        clock: Clock | None = None,
    ) -> None:
        self.root = Path(root).expanduser().absolute()
        self.variables: Callable[[str], Mapping[str, str]] = lambda _: {}
        """Returns the variables of a tenant, laid over the process's.

        Set it before the first session to give tenants keys of their own that are not in the
        environment.
        """
        self._environment = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
        self._settings = shareable(settings or load_settings(self._environment, home=self.root).settings)
        self._given = SharedModel(model) if model is not None and not isinstance(model, str) else None
        self._named = model if isinstance(model, str) else ""
        self._models = SharedModels()
        self._most_open = most_open
        self._clock = clock or SystemClock()
        self._tenants: dict[str, _Tenant] = {}
        self._open = 0
        self._resting = Resting(self._shut, idle_seconds=idle_seconds, clock=self._clock)
        self._asked = Resting(self._forget_asking, idle_seconds=idle_seconds, clock=self._clock)
        self._ending = Resting(_Tenant.close, idle_seconds=0, clock=self._clock)
        self._closed = False

    @property
    def open_sessions(self) -> int:
        """Number of open sessions, including those that are being closed."""
        return self._open

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
        found = self._tenant(tenant)
        found.asked = True
        self._asked.add(found)
        return found.engine

    @contextlib.asynccontextmanager
    async def session(
        self, tenant: str, id: str, *, project: str = "", format: str = "anthropic", host: Host | None = None
    ) -> AsyncIterator[Session]:
        """Open a session for one task, or use the open one; other tasks wait in order. It stays open afterwards, idle.

        Args:
            tenant: any text that names the user.
            id: any text that names the session; the same text finds it again, within the tenant and the project.
            project: an absolute folder, or any name for a project without a folder on this machine; separates
                the tenant's projects.
            format: as for `Memorist.open`. If it differs from before, the session is closed and opened again.
            host: what the host says of itself; a difference reopens the session too.

        Raises UsageError for an empty name, for a folder that holds or is part of the tenants' homes, and once
        `close` was called; otherwise as `Memorist.open`.
        """
        within = self._project(project)
        found = self._tenant(tenant)
        place = found.places.setdefault((within, id), _Place(found, (within, id)))
        place.wanted += 1
        self._resting.take(place)
        try:
            async with place.turn:
                yield await self._opened(place, (format, host or Host()))
        finally:
            place.wanted -= 1
            self._let_go(place)

    async def close(self) -> None:
        """Close everything; waits for sessions in use, at most a minute.

        May be called twice. Raises StoreError on a disk error.
        """
        self._closed = True
        for place in [place for tenant in self._tenants.values() for place in tenant.places.values()]:
            self._resting.close_one(place)
        await self._resting.close(CLOSE_SECONDS)
        await self._asked.close(0)
        await self._ending.close(CLOSE_SECONDS)
        tenants, self._tenants = list(self._tenants.values()), {}
        refusals = await asyncio.gather(*(tenant.close() for tenant in tenants), return_exceptions=True)
        for refusal in filter(None, refusals):
            raise refusal

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    def _tenant(self, name: str) -> _Tenant:
        if self._closed:
            raise UsageError(_CLOSED)
        if name not in self._tenants:
            home = self.home(name)
            variables = {**self._environment, **(own := self.variables(name)), "HOME": str(home)}
            settings = own_settings(self._settings, home)
            model = self._use(settings, own, variables)
            engine = Memorist(model=model or "structural", home=home, settings=settings, clock=self._clock)
            engine.environment, engine.works_on_past = variables, False
            self._tenants[name] = _Tenant(name, engine, model)
        return self._tenants[name]

    def _use(self, settings: Settings, own: Mapping[str, str], variables: Mapping[str, str]) -> ModelUse | None:
        """Acquire a tenant's model.

        A client is shared by tenants with the same model string, settings and own variables, and so
        the same key.
        """
        if self._given is not None:
            return self._given.use()
        name = self._named or settings.model
        key = (name, msgspec.json.encode(settings.models), frozenset(own.items()))
        return self._models.use(key, lambda: open_model(name, settings.models, clock=self._clock, environment=variables))

    def _project(self, project: str) -> str:
        """Return the root folder by which an engine knows a project.

        A named project gets a path that does not exist, so that no repository is mistaken for it.
        """
        if not project.startswith("/"):
            return project and str(NAMED / home_name(project))
        try:
            where, root = Path(os.path.realpath(project)), Path(os.path.realpath(self.root))
        except ValueError as error:
            raise UsageError(f"{project!r} is no name of a folder; give the project's root folder, or a name") from error
        if where.is_relative_to(root) or root.is_relative_to(where):
            raise UsageError(f"the project {project} and the tenants' homes in {self.root} are part of each other; keep them apart")
        return project

    async def _opened(self, place: _Place, terms: _Terms) -> Session:
        """Return the session of an entry whose lock the caller holds."""
        if self._closed:
            raise UsageError(_CLOSED)
        if place.session is not None and place.terms != terms:
            await self._close_session(place)
        if place.session is None:
            format, host = terms
            place.session = await place.tenant.engine.open(place.key[1], project=place.key[0], format=format, host=host)
            place.terms = terms
            self._open += 1
            self._make_room()
        return place.session

    async def _close_session(self, place: _Place) -> None:
        session, place.session = place.session, None
        if session is not None:
            try:
                await session.close()
            finally:
                self._open -= 1

    def _let_go(self, place: _Place) -> None:
        """Release an entry; when no other task wants it, it becomes idle."""
        if place.wanted:
            return
        if place.session is None:
            self._forget(place)
        elif not self._closed:
            self._resting.add(place)
            self._make_room()

    def _make_room(self) -> None:
        """Close the longest idle sessions while too many are open."""
        while len(self._resting) and self._open - self._resting.closing > self._most_open:
            self._resting.close_first()

    async def _shut(self, place: _Place) -> None:
        """Close the session of an entry under its lock, unless a task wants it by then."""
        try:
            async with place.turn:
                if not place.wanted or self._closed:
                    await self._close_session(place)
        finally:
            if not place.wanted and place.session is None:
                self._forget(place)

    def _forget(self, place: _Place) -> None:
        """Remove an entry that holds nothing."""
        if place.tenant.places.get(place.key) is place:
            del place.tenant.places[place.key]
        self._end(place.tenant)

    async def _forget_asking(self, tenant: _Tenant) -> None:
        lent = sum(place.session is not None for place in tenant.places.values())
        tenant.asked = tenant.engine.open_sessions > lent  # the caller opened sessions on it and still holds them
        if tenant.asked:
            self._asked.add(tenant)
        self._end(tenant)

    def _end(self, tenant: _Tenant) -> None:
        """Close a tenant's engine when it has no session and was not requested recently."""
        if not tenant.places and not tenant.asked and not self._closed and self._tenants.get(tenant.name) is tenant:
            del self._tenants[tenant.name]
            self._ending.close_one(tenant)
