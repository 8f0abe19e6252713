"""Dispatches a client's calls, one after another in one thread: the tools, resources and prompts of
each project.
"""

from __future__ import annotations

import os
import sqlite3
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

from memorist import __version__
from memorist.auto_memory.opening.run import open_memory
from memorist.auto_memory.place.run import memory_layout
from memorist.clock import SystemClock
from memorist.configuration import load_settings
from memorist.core.template import render
from memorist.errors import UsageError
from memorist.mcp_server.asked import (
    Asked,
    FetchBack,
    MemoryForget,
    MemoryRead,
    MemorySearch,
    MemoryWrite,
    Notes,
    Status,
    Why,
)
from memorist.mcp_server.explained import history, origin, recalled, used
from memorist.mcp_server.memories.run import MemoryMeans, MemoryTools
from memorist.mcp_server.place.run import chosen
from memorist.mcp_server.sessions.run import Known, Sessions
from memorist.mcp_server.told import bounded, harmless, one_line, page
from memorist.prompts.load import load
from memorist.recall.choose import certain
from memorist.recall.search.run import MemorySearch as Searcher
from memorist.store.database import open_database
from memorist.store.files import DiskFiles
from memorist.store.layout import Layout
from memorist.store.uses import keep_uses, uses_of

OPEN = 16
"""Projects that one server keeps open.

A client works in one; a server for many closes the least recently used one.
"""
LISTED = 10
"""Sessions and waiting changes that the status lists."""


class Project:
    """The open memory and sessions of one project."""

    def __init__(self, root: Path, environment: Mapping[str, str]) -> None:
        self.root = root
        self.settings = load_settings(environment, project=root).settings
        self.layout = Layout(Path(self.settings.home).expanduser().absolute())
        self.files, self.clock = DiskFiles(), SystemClock()
        self._database: sqlite3.Connection | None = None
        where = memory_layout(self.layout, str(root), self.settings.auto_memory)
        settings = self.settings.auto_memory
        self.memory = open_memory(where, str(root), files=self.files, clock=self.clock, settings=settings, database=self.database)
        self.sessions = Sessions(root, files=self.files, database=self.database)
        self.search = Searcher(self.memory.folder, self.settings.recall)

    def database(self) -> sqlite3.Connection:
        """The state database. Raises StoreError."""
        if self._database is None:
            self._database = open_database(self.layout.database)
        return self._database

    def tools(self, client: str) -> MemoryTools:
        """The memory tools, for the client of that name."""
        folder = str(self.memory.where.folder)
        means = MemoryMeans(
            client=client,
            clock=self.clock,
            settings=self.settings.recall,
            search=self.search,
            quoted=self.sessions.quoted,
            keep=lambda uses: keep_uses(self.database(), folder, uses),
        )
        return MemoryTools(self.memory, means)

    def close(self) -> None:
        """Close its files."""
        self.search.close()
        self.memory.close()
        if self._database is not None:
            self._database.close()
            self._database = None


class Desk:
    """Answers for any number of projects. All methods are called from one thread."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = os.environ if environment is None else environment
        self._open: OrderedDict[Path, Project] = OrderedDict()

    def project(self, root: Path) -> Project:
        """Return the project of that root, opened on first use.

        Raises SettingsError, StoreError.
        """
        if root not in self._open:
            self._open[root] = Project(root, self._environment)
            if len(self._open) > OPEN:
                self._open.popitem(last=False)[1].close()
        self._open.move_to_end(root)
        return self._open[root]

    @staticmethod
    def root(named: Path | None, roots: Sequence[str], working: Path) -> Path:
        """Return the root of the project that a client works in. Raises InputError."""
        return chosen(named, roots, working)

    def answer(self, root: Path, asked: Asked, client: str) -> str:
        """Return a tool's answer. Raises MemoristError."""
        return bounded(self._answer(self.project(root), asked, client))

    def _answer(self, project: Project, asked: Asked, client: str) -> str:
        match asked:
            case MemorySearch() | MemoryRead() | MemoryWrite() | MemoryForget():
                text = _on_memory(project.tools(client), asked)
            case Notes(session=session, start=start):
                text = _notes(project, session, start)
            case FetchBack():
                text = _fetched(project, asked)
            case Why():
                text = _explained(project, asked)
            case Status():
                text = _status(project)
            case _:
                raise UsageError(f"there is no tool for {type(asked).__name__}")
        return text

    def notes(self, root: Path, session: str) -> str:
        """Return the notes of a session, as the resource of its id.

        Raises InputError, NothingToDo, StoreError.
        """
        return bounded(_notes(self.project(root), session, 0))

    def index(self, root: Path) -> str:
        """Return the memory index, as data. Raises StoreError."""
        text = self.project(root).memory.shown_index().text.strip()
        return render(load("mcp/index"), {"index": page(harmless(text)) if text else "(there are none yet)"}, strict=True).strip()

    def with_notes(self, root: Path) -> list[Known]:
        """Return the newest sessions that have notes. Raises StoreError."""
        return _with_notes(self.project(root))

    def compact(self, root: Path, session: str, instructions: str) -> str:
        """Render the prompt for a record of the conversation.

        Raises InputError, NothingToDo, StoreError.
        """
        told = ""
        if session:
            known, text = self.project(root).sessions.notes(session)
            told = render(load("mcp/compact_notes"), {"session": one_line(known.id), "notes": page(harmless(text))}, strict=True)
        wish = f"The user adds: {one_line(instructions, 2_000)}" if instructions.strip() else ""
        return bounded(render(load("mcp/compact"), {"instructions": wish, "notes": told.strip()}, strict=True).strip())

    def skillify(self, root: Path, session: str, description: str) -> str:
        """Render the prompt for a skill. Raises InputError, NothingToDo, StoreError."""
        text: str = import_module("memorist.mcp_server.skillify.run").request(self.project(root).sessions, session, description)
        return text

    def memory(self, root: Path, path: str, client: str) -> str:
        """Return one memory, as the resource of its path. Raises InputError, StoreError."""
        return bounded(self.project(root).tools(client).read(MemoryRead(path=path)))

    def close(self) -> None:
        """Close all projects."""
        while self._open:
            self._open.popitem()[1].close()


def _on_memory(tools: MemoryTools, asked: MemorySearch | MemoryRead | MemoryWrite | MemoryForget) -> str:
    match asked:
        case MemorySearch():
            return tools.find(asked)
        case MemoryRead():
            return tools.read(asked)
        case MemoryWrite():
            return tools.write(asked)
        case MemoryForget():
            return tools.forget(asked)


def _fetched(project: Project, asked: FetchBack) -> str:
    known, text = project.sessions.fetched(asked.id, asked.session)
    values = {"id": one_line(asked.id), "session": one_line(known.id), "text": page(harmless(text), asked.start)}
    return render(load("mcp/fetched"), values, strict=True).strip()


def _notes(project: Project, session: str, start: int) -> str:
    known, text = project.sessions.notes(session)
    values = {"session": one_line(known.id), "notes": page(harmless(text), start)}
    return render(load("mcp/notes"), values, strict=True).strip()


def _with_notes(project: Project) -> list[Known]:
    found: list[Known] = []
    for each in project.sessions.known():
        if len(found) == LISTED:
            break
        if project.files.facts(each.layout.notes) is not None:
            found.append(each)
    return found


def _explained(project: Project, asked: Why) -> str:
    memory = project.memory
    memory.heads()
    topic, doubts = memory.shown(asked.path)
    name = one_line(topic.path)
    lines = [f"[memorist] {name}, as data: where it comes from.", *origin(topic)]
    lines += [f"withheld from models: {doubt}" for doubt in doubts]
    lines += ["", "changes, newest first:", *history(memory.folder.history.log(topic.path, 10))]
    lines += ["", "shown and used, newest first:", *used(uses_of(project.database(), str(memory.where.folder), topic.path))]
    if asked.query.strip():
        heads = {head.path: head for head in memory.heads()}
        matches = project.search.search(asked.query, 4 * project.settings.recall.limit)
        picks = certain(matches, heads, project.settings.recall)
        lines += ["", f"recalled for “{one_line(asked.query)}”: {recalled(topic.path, matches, picks, doubts)}"]
    return "\n".join(lines)


def _status(project: Project) -> str:
    memory = project.memory
    heads = memory.heads()
    withheld = len(heads) - len(memory.shown_heads())
    kinds = ", ".join(
        f"{count} {kind}" for kind in ("user", "feedback", "project", "reference") if (count := sum(h.kind == kind for h in heads))
    )
    waiting = memory.inbox.waiting()
    lines = [
        f"memorist {__version__}",
        f"project: {project.root}",
        f"memory folder: {memory.where.folder}",
        f"memories: {len(heads)}" + (f" ({kinds})" if kinds else "") + (f", {withheld} of them withheld from models" if withheld else ""),
        f"writing: {memory.settings.policy}",
        f"waiting for the user: {len(waiting)}" + (" (memorist memory inbox)" if waiting else ""),
    ]
    # Not their names: one may hold a prompt injection.
    lines += [f"  {each.id}: {one_line('; '.join(each.reasons))}" for each in waiting[-LISTED:]]
    with_notes = _with_notes(project)
    lines.append("sessions with notes, newest first:" if with_notes else "sessions with notes: none")
    lines += [f"  {one_line(each.id)}" for each in with_notes]
    return "\n".join(lines)
