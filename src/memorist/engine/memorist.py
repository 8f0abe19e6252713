"""The engine: what a host calls. `Memorist` is opened once per process, `Session` once per conversation.

    open(session)      reads what is on disk and continues where a former process stopped
    prepare(request)   before a model call; returns the request to send
    observe(reply)     after a model call; may start an update of the notes in the background
    on_file_read(path) a file was read into the conversation
    end_turn()         the reply had no tool calls
    summarise()        update the notes now
    close()            wait for background work, within a bound

`prepare` and `observe` take the host's own wire format. Only `summarise` and `close` keep the host
waiting for a model.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec.structs import replace

from memorist.auto_memory.opening.run import open_memory
from memorist.auto_memory.place.run import memory_layout
from memorist.auto_memory.run import AutoMemory
from memorist.clock import SystemClock
from memorist.configuration import load_settings, with_project
from memorist.context.host import HostContext
from memorist.context.run import Outside
from memorist.core.recent import Recent
from memorist.engine.assembly import Assembly, AssemblyMeans
from memorist.engine.attended import Attended
from memorist.engine.background import ended, start_worker
from memorist.engine.beside import Beside
from memorist.engine.journal import Journal
from memorist.engine.past_shown import PastMeans, PastShown
from memorist.engine.playback import Playback
from memorist.engine.remembering import Named, World
from memorist.engine.session import Session
from memorist.errors import UsageError
from memorist.events import Listener
from memorist.flags.run import Flags, Source, file_source
from memorist.models.choose import open_model
from memorist.models.limits import RateNews, listen_to
from memorist.ports import Clock, Files, Model
from memorist.session_memory.run import load_texts
from memorist.session_memory.trigger import Host
from memorist.settings import Settings
from memorist.skills.run import SkillSearch, places_of
from memorist.spend.run import heard
from memorist.store.database import open_database
from memorist.store.files import DiskFiles
from memorist.store.layout import Layout, MemoryLayout, SessionLayout
from memorist.store.opening import open_state
from memorist.store.state import State
from memorist.team.place.run import open_remote, read_place
from memorist.team.run import TeamSync
from memorist.team.watch.run import Watcher

FIRST_LOOK_SECONDS = 2.0
"""Longest wait of a replay for the feature flags, in seconds, so that its first messages are judged
like its last.

Our choice; a live session never waits.
"""


class Memorist:
    """The engine of one process. Holds no conversation itself; any number of sessions may be open at once.

    Args:
        model: a model string, an object that satisfies `memorist.ports.Model`, or None for the settings' model.
        home: folder of all data; None for the settings' home.
        settings: all settings; None reads the user's file and the environment, and for each session its project's file.
        flags: source of feature flags (`memorist.flags.run.Source`); None for the file that the settings name.
        clock, files: clock and file system, for tests and unusual hosts.

    Raises SettingsError for settings that cannot be used, ModelNameError for a model string that cannot be understood.
    """

    def __init__(
        self,
        *,
        model: str | Model | None = None,
        home: str | os.PathLike[str] | None = None,
        settings: Settings | None = None,
        flags: Source | None = None,
        clock: Clock | None = None,
        files: Files | None = None,
    ) -> None:
        self.environment: Mapping[str, str] = os.environ
        """Where sessions find the folders of a user's skills (`HOME`) and a team's token; each
        tenant has its own.
        """
        self.works_on_past = True
        """Whether opening a session starts a worker process for due work on past sessions;
        `memorist worker` does that work too.
        """
        where = None if home is None else Path(home).expanduser().absolute()
        self._asks_projects = settings is None
        found = settings or load_settings(os.environ, home=where).settings
        self.settings = found if where is None else replace(found, home=str(where))
        self.layout = Layout(Path(self.settings.home).expanduser().absolute())
        self._clock = clock or SystemClock()
        self._files = files or DiskFiles()
        source = file_source(self.settings.flags) if flags is None else flags
        self._model, self._owns_model = self._chosen(model)
        listen_to(self._model, self._provider_said)
        self.flags = Flags(source, refresh_seconds=self.settings.flags.refresh_seconds)
        """Feature flags as last looked up.

        `flags.refresh()` looks them up at once, in the background.
        """
        self._database: sqlite3.Connection | None = None
        self._sessions: set[Session | Playback | Attended] = set()
        self._memory = Recent(AutoMemory.close)
        self._searches: Recent[SkillSearch] = Recent()
        self._state: State | None = None
        self._worker: int | None = None
        """Process id of the last started worker."""

    def _chosen(self, model: str | Model | None) -> tuple[Model | None, bool]:
        if model is None or isinstance(model, str):
            return open_model(model or self.settings.model, self.settings.models, clock=self._clock), True
        return model, False

    def _provider_said(self, news: RateNews) -> None:
        """Store rate limits that a provider reported: all processes of this home hold back
        background work by them.
        """
        if self._database is not None:
            heard(self._database, news, now=self._clock.now(), settings=self.settings.spend)

    @property
    def open_sessions(self) -> int:
        """Number of open sessions."""
        return len(self._sessions)

    async def open(
        self,
        session: str,
        *,
        project: str = "",
        format: str = "anthropic",
        host: Host | None = None,
        folder: Path | None = None,
        listener: Listener | None = None,
    ) -> Session:
        """Open a session by its id, new or known.

        Args:
            session: any text that names it; the same text finds it again.
            project: root folder of the project; separates projects on disk.
            format: wire format of `prepare` and `observe`: `anthropic`, `openai_responses` or `openai_chat`.
            host: what the host says of itself; decides whether notes are kept.
            folder: where to put the session's files instead of in the home folder.
            listener: called with every event.

        Raises StoreError when the folder cannot be written or another process has the session open;
        SettingsError for a project's settings file that cannot be used.
        """
        journal = self._journal(session, project, format, host or Host(), folder, listener)
        beside, _ = self._begun(journal, host or Host())
        self._sessions.add(opened := Session(journal, beside, self._sessions.discard))
        return opened

    def attend(self, session: str, *, project: str = "", format: str = "anthropic", listener: Listener | None = None) -> Attended:
        """Open a live session of an agent that memorist observes through the agent's own records,
        as hooks do.

        Raises as `open` does.
        """
        journal = self._journal(session, project, format, Host(), None, listener)
        self._sessions.add(opened := Attended(journal, *self._begun(journal, Host()), gone=self._sessions.discard))
        return opened

    def _begun(self, journal: Journal, host: Host) -> tuple[Beside, PastShown | None]:
        """Open the extensions of a live session and start their due work."""
        journal.memories.begin()
        past = None
        if self.settings.learns_from_rollouts and not host.remote:
            past = self._past(journal)
            if self.works_on_past and (self._worker is None or ended(self._worker)):
                self._worker = start_worker(self.settings, files=self._files, clock=self._clock, environment=self.environment)
        return Beside(journal, lambda context: self._assembly(journal, context), past), past

    def _past(self, journal: Journal) -> PastShown:
        means = PastMeans(
            session=journal.named.id,
            project=journal.named.project,
            family="rollout" if journal.named.format == "openai_responses" else "file-native",
            layout=self.layout,
            files=self._files,
            clock=self._clock,
            settings=self.settings.rollouts,
            state=self._past_state,
        )
        return PastShown(means)

    def _past_state(self) -> State:
        if self._state is None:
            self._state = open_state(self.settings.state, self.layout.database)
        return self._state

    def _assembly(self, journal: Journal, context: HostContext) -> Assembly:
        means = AssemblyMeans(
            format=journal.named.format,
            outside=Outside(files=self._files, clock=self._clock, settings=self.settings.context, environment=self.environment),
            files=self._files,
            layout=journal.layout,
            skills=self.settings.skills,
            search=self.skills,
            index=journal.memories.opening,
            record=journal.record,
            open_calls=lambda: [call.id for call in journal.following.open_calls.calls],
            called=journal.called.took,
        )
        return Assembly(context, means)

    def skills(self, folder: str) -> SkillSearch:
        """The skill search of a working folder; what it has read is kept for the next session
        there.
        """
        places = places_of(Path(folder), self.environment, self.settings.home)
        return self._searches.get(folder, lambda: SkillSearch(places, self.settings.skills))

    def play(self, session: str, *, project: str = "", folder: Path | None = None, listener: Listener | None = None) -> Playback:
        """Open a session that is fed from a recording, as `memorist replay` does.

        Raises as `open` does.
        """
        self.flags.wait(FIRST_LOOK_SECONDS)
        played = Playback(self._journal(session, project, "anthropic", Host(), folder, listener), self._sessions.discard)
        self._sessions.add(played)
        return played

    def _journal(
        self,
        session: str,
        project: str,
        format: str,
        host: Host,
        folder: Path | None,
        listener: Listener | None,
    ) -> Journal:
        if not session:
            raise UsageError("a session needs an id; any text that is not empty will do")
        where = SessionLayout(folder) if folder is not None else self.layout.session(project, session)
        world = World(
            clock=self._clock,
            files=self._files,
            database=self.database(),
            model=self._model,
            settings=with_project(self.settings, os.environ, project) if self._asks_projects else self.settings,
            flags=self.flags,
            memory=self._memory_of(project, host),
            team=lambda tell: self._team_of(project, host, tell),
            listener=listener,
        )
        named = Named(id=session, project=project, format=format)
        return Journal(named, host, load_texts(self._files, self.layout), layout=where, world=world)

    def database(self) -> sqlite3.Connection:
        """The state database, opened on first use. Raises StoreError."""
        if self._database is None:
            self._database = open_database(self.layout.database)
        return self._database

    def _memory_of(self, project: str, host: Host) -> AutoMemory | None:
        """The memory of a session's project; None without a project, and on a machine whose disk is
        not persistent.
        """
        return self.memory(project) if project and self.settings.remembers and not host.remote else None

    def memory(self, project: str) -> AutoMemory:
        """The memory of a project, by any folder of its repository.

        Raises SettingsError for an unsafe `auto_memory.directory`.
        """
        where = memory_layout(self.layout, project, self.settings.auto_memory)
        return self._memory.get(str(where.folder), lambda: self._opened_memory(where, project))

    def _opened_memory(self, where: MemoryLayout, project: str) -> AutoMemory:
        settings = self.settings.auto_memory
        return open_memory(where, project, files=self._files, clock=self._clock, settings=settings, database=self.database)

    def _team_of(self, project: str, host: Host, tell: Listener) -> Watcher | None:
        """The watcher that syncs the team's memories of a project; None when that is off, or no
        location is configured.
        """
        memory = self._memory_of(project, host) if self.settings.team.enabled else None
        place = None if memory is None else read_place(self._files, memory.where.team, self.settings.team)
        if memory is None or place is None:
            return None

        def opening() -> tuple[TeamSync, Callable[[], None]]:
            remote = open_remote(memory.where.team, place, Path(project), self.settings.team, self.environment)
            own = memory.beside()
            return TeamSync(own, remote, files=self._files, settings=self.settings.team), own.close

        return Watcher(opening, files=self._files, settings=self.settings.team, tell=tell)

    async def close(self) -> None:
        """Close every open session, the flags and the model. May be called twice."""
        for session in list(self._sessions):
            await session.close()
        self._sessions.clear()
        for memory in self._memory:
            memory.close()
        self._memory.clear()
        self.flags.close()
        if self._model is not None and self._owns_model:
            await self._model.close()
        if self._state is not None:
            self._state.close()
            self._state = None
        if self._database is not None:
            self._database.close()
            self._database = None
        if self._worker is not None:
            ended(self._worker)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()
