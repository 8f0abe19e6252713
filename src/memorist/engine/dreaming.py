"""Build the dream of a project from the dependencies of a session or of a command."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from memorist.auto_memory.index import Uses
from memorist.auto_memory.place.run import memory_layout
from memorist.auto_memory.run import AutoMemory
from memorist.dream.gates import Host
from memorist.dream.look.run import Past
from memorist.dream.run import Dream, DreamMeans
from memorist.dream.settings import DreamSettings
from memorist.dream.writing.run import Place
from memorist.errors import MemoristError
from memorist.events import Event
from memorist.forks.governor import Governor
from memorist.forks.spec import Receipt
from memorist.ports import Clock, Files, Model
from memorist.session_memory.trigger import Host as SessionHost
from memorist.settings import Settings
from memorist.store.layout import Layout
from memorist.store.sessions import sessions_by_project
from memorist.store.uses import totals


class Beneath(Struct, frozen=True, kw_only=True):
    """The dependencies of a project's dream."""

    project: str
    """Root folder of the project, or any folder of its repository."""
    database: sqlite3.Connection
    files: Files
    clock: Clock
    model: Model | None
    settings: Settings
    dream: Callable[[], DreamSettings]
    """Returns the current dream settings; a flag may change them."""
    governor: Governor
    tell: Callable[[Event], None]
    record: Callable[[Receipt], object]


def dream_of(memory: AutoMemory, beneath: Beneath, *, session: str = "", host: SessionHost | None = None) -> Dream:
    """Build the dream of a memory, either for the end of a session's turns or for a command."""
    settings, where = beneath.settings, memory.where
    said = host or SessionHost()
    place = Place(
        where=where,
        project=beneath.project,
        files=beneath.files,
        clock=beneath.clock,
        memory=memory.settings,
        dream=beneath.dream(),
        context=settings.context,
    )
    folders: dict[str, Path | None] = {}

    def past() -> list[Past]:
        rows = sessions_by_project(beneath.database)
        return [Past(id, Path(folder)) for id, project, folder in rows if _folder(project, settings, folders) == where.folder]

    def uses() -> dict[str, Uses]:
        try:
            found = totals(beneath.database, str(where.folder))
        except MemoristError:
            return {}
        return {path: Uses(total.used, total.last) for path, total in found.items()}

    means = DreamMeans(
        place=place,
        settings=beneath.dream,
        session=session,
        host=Host(remote=said.remote, interactive=said.interactive, main=said.main),
        model=beneath.model,
        limits=settings.forks,
        governor=beneath.governor,
        past=past,
        uses=uses,
        tell=beneath.tell,
        record=beneath.record,
    )
    return Dream(means)


def _folder(project: str, settings: Settings, known: dict[str, Path | None]) -> Path | None:
    """Return the memory folder of a project, cached in `known`."""
    if not project:
        return None
    if project not in known:
        home = Layout(Path(settings.home).expanduser().absolute())
        known[project] = memory_layout(home, project, settings.auto_memory).folder
    return known[project]
