"""The engines behind a proxy: one home for all, or one for each tenant."""

from __future__ import annotations

from pathlib import Path

from memorist.engine.memorist import Memorist
from memorist.engine.session import Session
from memorist.engine.tenants import NAMED, Tenants
from memorist.proxy.lanes import Lane
from memorist.session_memory.trigger import Host
from memorist.store.layout import home_name


class Homes:
    """Opens sessions in the home of their tenant."""

    def __init__(self, engines: Memorist | Tenants) -> None:
        self._engines = engines

    def home(self, tenant: str) -> Path:
        """The home of a tenant, or the only home. Raises UsageError for a tenant without a name."""
        return self._engines.layout.home if isinstance(self._engines, Memorist) else self._engines.home(tenant)

    async def open(self, lane: Lane, project: str) -> Session:
        """Open the session of a conversation; the caller closes it.

        Raises as `Memorist.open` and `Tenants.engine` do.

        A tenant's project folder is on the tenant's machine: here it is only a name and is never
        looked up on this disk, which holds the folders of others.
        """
        if isinstance(self._engines, Memorist):
            engine = self._engines
        else:
            engine = await self._engines.engine(lane.tenant)
            project = project and str(NAMED / home_name(project))
        return await engine.open(lane.id, project=project, format=lane.format, host=Host(main=lane.main))
