"""Where the proxy's conversations are kept: in one home, or each in that of its tenant."""

from __future__ import annotations

from pathlib import Path

from memorist.engine.memorist import Memorist
from memorist.engine.session import Session
from memorist.engine.tenants import NAMED, Tenants
from memorist.proxy.lanes import Lane
from memorist.session_memory.trigger import Host
from memorist.store.layout import home_name


class Homes:
    """The engines behind a proxy."""

    def __init__(self, engines: Memorist | Tenants) -> None:
        self._engines = engines

    def home(self, tenant: str) -> Path:
        """The folder of all data of a tenant; of the one home where there are none. Raises UsageError for a tenant without a name."""
        return self._engines.layout.home if isinstance(self._engines, Memorist) else self._engines.home(tenant)

    async def open(self, lane: Lane, project: str) -> Session:
        """Open the session of a conversation; whoever opens it closes it. Raises as `Memorist.open` and `Tenants.engine` do.

        A tenant's folder is on the tenant's machine: here it is a name, and never looked up on the disk, which holds the folders of others.
        """
        if isinstance(self._engines, Memorist):
            engine = self._engines
        else:
            engine = await self._engines.engine(lane.tenant)
            project = project and str(NAMED / home_name(project))
        return await engine.open(lane.id, project=project, format=lane.format, host=Host(main=lane.main))
