"""Synchronise while a session is open: take others' changes, send local ones shortly after the last
change and at the end (TM-2).

It works in a thread of its own with a memory instance of its own, as another process would: the
host never waits for a network.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.memory_manifest import is_index_file
from memorist.errors import MemoristError, RemoteRefused, UsageError
from memorist.events import Event, TeamFailed, TeamSynced
from memorist.ports import FileSystem
from memorist.runtime import SessionContext
from memorist.settings import TeamSettings
from memorist.team.remote_location import open_remote, resolve_remote_location
from memorist.team.sync_report import TeamSyncReport
from memorist.team.team_sync import TeamSync

POLL_SECONDS = 1.0
"""Interval of polling the folder, one stat per file. Our choice."""
_LOCK_SECONDS = 0.5

FileMarks = tuple[tuple[str, int, int], ...]
SyncOpener = Callable[[], tuple[TeamSync, Callable[[], None]]]
"""Opens the folder and its remote for the thread; also returns the function that closes both."""


def open_team_watcher(
    memory: AutoMemory | None, context: SessionContext, environment: Mapping[str, str]
) -> TeamWatcher | None:
    """The watcher that syncs the team's memories of a session's project; None when that is off
    (`team.enabled`), where no memory is kept, or no location is configured.
    """
    files, settings = context.runtime.files, context.runtime.settings.team
    if memory is None or not settings.enabled:
        return None
    location = resolve_remote_location(files, memory.layout.team_layout, settings)
    if location is None:
        return None

    def opening() -> tuple[TeamSync, Callable[[], None]]:
        remote = open_remote(
            memory.layout.team_layout, location, Path(context.project), settings, environment
        )
        own = memory.clone_for_thread()
        return TeamSync(own, remote, files=files, settings=settings), own.close

    return TeamWatcher(opening, files=files, settings=settings, tell=context.runtime.emit)


class TeamWatcher:
    """The watcher of one session; does nothing before `start`."""

    def __init__(
        self,
        opening: SyncOpener,
        *,
        files: FileSystem,
        settings: TeamSettings,
        tell: Callable[[Event], None],
    ) -> None:
        self._opening = opening
        self._files = files
        self._settings = settings
        self._tell = tell
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()
        self._poll = min(POLL_SECONDS, max(0.01, settings.pause_seconds / 2))

    def start(self) -> None:
        """Start. An unusable location is reported, and stops nothing else."""
        if self._thread is not None:
            return
        self._loop = asyncio.get_running_loop()
        try:
            sync, let_go = self._opening()
        except MemoristError as error:
            self._tell(TeamFailed(str(error), stopped=True))
            return
        self._thread = threading.Thread(
            target=self._watch, args=(sync, let_go), name="memorist-team", daemon=True
        )
        self._thread.start()

    async def close(self) -> None:
        """Have changes sent, and wait for it within the limit; what is not sent by then is sent by
        the next session.
        """
        self._closing.set()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join, self._settings.flush_seconds)

    def _watch(self, sync: TeamSync, let_go: Callable[[], None]) -> None:
        try:
            self._watch_folder(sync)
        finally:
            with suppress(MemoristError):
                let_go()

    def _watch_folder(self, sync: TeamSync) -> None:
        alike: FileMarks = ()
        stopped = False
        seen, moved = self._file_marks(sync), time.monotonic()
        due = moved  # at once: the first pull
        while not stopped:
            closing = self._closing.wait(self._poll)
            now, marks = time.monotonic(), self._file_marks(sync)
            if marks != seen:
                seen, moved = marks, now
            is_quiet = closing or now - moved >= self._settings.pause_seconds
            if now >= due or (seen != alike and is_quiet):
                stopped, wrote = self._sync_once(sync, last=closing)
                seen = self._file_marks(sync)
                # What somebody wrote while it ran is not sent yet; only its own writing is.
                alike = seen if wrote else marks
                due = now + self._settings.every_seconds
            if closing:
                return

    def _sync_once(self, sync: TeamSync, *, last: bool) -> tuple[bool, bool]:
        """Synchronise once. Return whether retrying in this session is pointless, and whether
        anything was written into the folder.
        """
        began = time.monotonic()
        try:
            report = sync.pull_and_push(wait_seconds=_LOCK_SECONDS)
        except (RemoteRefused, UsageError) as error:
            self._emit(TeamFailed(str(error), stopped=True))
            return True, True
        except MemoristError as error:
            self._emit(TeamFailed(str(error), stopped=last))
            return False, True
        if report.changed or report.waiting or report.refused:
            self._emit(_build_event(sync, report, time.monotonic() - began))
        return False, bool(report.changed)

    def _file_marks(self, sync: TeamSync) -> FileMarks:
        try:
            found = self._files.scan(sync.folder)
        except (FileNotFoundError, MemoristError):
            return ()
        return tuple(
            (path, facts.size, facts.modified_ns)
            for path, facts in found
            if not is_index_file(path)
        )

    def _emit(self, event: Event) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # the host's loop has ended
                self._loop.call_soon_threadsafe(self._tell, event)


def _build_event(sync: TeamSync, report: TeamSyncReport, seconds: float) -> TeamSynced:
    return TeamSynced(
        remote=sync.remote.name,
        received=(*report.received, *report.merged, *report.dropped),
        sent=(*report.sent, *report.removed),
        conflict_copies=tuple(other for _, other in report.conflict_copies),
        waiting=tuple(key for key, _ in (*report.waiting, *report.refused)),
        seconds=seconds,
    )
