"""What a session depends on, and how its auto memory extension is built."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from msgspec import Struct

from memorist.auto_memory.extraction.run import Extraction, ExtractionMeans
from memorist.auto_memory.run import AutoMemory
from memorist.engine.memories import Memories
from memorist.events import Event, Listener
from memorist.flags.run import Flags
from memorist.forks.governor import Governor
from memorist.forks.spec import Receipt
from memorist.ports import Clock, Files, Model
from memorist.recall.first_look.run import FirstLook
from memorist.recall.run import Recall, RecallMeans
from memorist.recall.search.run import MemorySearch
from memorist.settings import Settings
from memorist.store.layout import SessionLayout
from memorist.store.uses import keep_uses
from memorist.team.watch.run import Watcher


class World(Struct, frozen=True, kw_only=True):
    """The dependencies of one session."""

    clock: Clock
    files: Files
    database: sqlite3.Connection
    model: Model | None
    settings: Settings
    flags: Flags
    """May override some settings while the session runs."""
    memory: AutoMemory | None = None
    """Auto memory of the session's project; None where none is kept."""
    team: Callable[[Listener], Watcher | None] = lambda _: None
    """Opens the watcher that syncs the team's memories, given where to send its events; None where
    the project has no team.
    """
    listener: Listener | None = None


class Named(Struct, frozen=True, kw_only=True):
    """Identity of a session: its id, the root folder of its project, and its wire format."""

    id: str
    project: str
    format: str


class Heard(Struct, frozen=True):
    """Where a session's events and receipts go."""

    tell: Callable[[Event], None]
    record: Callable[[Receipt], None]


def memories_of(session: str, layout: SessionLayout, world: World, governor: Governor, heard: Heard) -> Memories:
    """Build extraction and recall for a session; neither where no memory is kept."""
    memory = world.memory
    if memory is None:
        return Memories()
    look = FirstLook(memory.folder, world.settings.recall)
    extraction = ExtractionMeans(
        session=session,
        cursor=layout.memory_cursor,
        clock=world.clock,
        files=world.files,
        model=world.model,
        limits=world.settings.forks,
        governor=governor,
        tell=heard.tell,
        record=heard.record,
        ready=look.wait,
    )
    recall = RecallMeans(
        session=session,
        clock=world.clock,
        files=world.files,
        model=world.model,
        settings=world.settings.recall,
        limits=world.settings.forks,
        governor=governor,
        searcher=MemorySearch(memory.folder, world.settings.recall),
        tell=heard.tell,
        record=heard.record,
        keep=lambda uses: keep_uses(world.database, str(memory.where.folder), uses),
    )
    recalling = Recall(memory, recall) if world.settings.recall.enabled else None
    return Memories(Extraction(memory, extraction), recalling, look, world.team(heard.tell))
