"""The Claude Agent SDK: hooks in the process of the program, and a store for its sessions.

    memorist = MemoristHooks()
    async with ClaudeSDKClient(memorist.options(ClaudeAgentOptions(cwd="."))) as client: …

The hooks do what `memorist hook` does for Claude Code, without a program of its own: the SDK calls
them where they are.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Self, TypedDict, TypeVar, Unpack

import msgspec
from claude_agent_sdk import (
    ClaudeAgentOptions,
    HookCallback,
    HookInput,
    HookJSONOutput,
    HookMatcher,
    SessionKey,
    SessionListSubkeysKey,
    SessionStoreEntry,
    SessionStoreListEntry,
    SessionSummaryEntry,
    fold_session_summary,
)

from memorist.adapters.conversation import EngineFailure
from memorist.adapters.engine_thread import EngineArguments, EngineThread, open_engine_thread
from memorist.errors import FormatError, StoreError
from memorist.events import AdapterFailed
from memorist.hooks.hook_event import Client, HookEvent, UnknownHookEvent, parse_hook_event
from memorist.hooks.hook_response import OutputText, fit_texts, render_output
from memorist.hooks.hook_session import HookAnswer
from memorist.hooks.hook_session_pool import HookSessionPool
from memorist.platforms.file_descriptors import PRIVATE
from memorist.ports import Clock, Model
from memorist.settings import HooksSettings, Settings
from memorist.store.database import transaction
from memorist.store.disk_files import make_folders
from memorist.system import SystemClock

# A store for the sessions of the Claude Agent SDK: every line of every session as the SDK gives
# it, in one SQLite file.


Result = TypeVar("Result")

WAIT_SECONDS = 10.0
"""Longest wait for another process that writes, in seconds."""
_SCHEMA = """
create table if not exists line (
  number integer primary key, project text not null, session text not null, subpath text not null, uuid text, line text not null
);
create index if not exists line_of on line (project, session, subpath, number);
create unique index if not exists line_once on line (project, session, subpath, uuid) where uuid is not null;
create table if not exists session (
  project text not null, session text not null, changed integer not null, summary text not null, primary key (project, session)
);
"""
_SELECT_LINES = (
    "select line from line where project = ? and session = ? and subpath = ? order by number"
)


class MemoristSessionStore:
    """For `ClaudeAgentOptions(session_store=…)`.

    Safe for several processes. Its methods are those of the SDK's `SessionStore`, and raise
    StoreError.
    """

    def __init__(self, path: str | os.PathLike[str], clock: Clock | None = None) -> None:
        self.path = Path(path).expanduser().absolute()
        self._clock = clock or SystemClock()

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Append these lines. A line whose `uuid` is already stored is skipped."""
        await self._run(lambda database: self._append(database, key, entries))

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Return all lines in order; None for a session that was never written."""
        columns = _key_columns(key)
        rows = await self._run(lambda database: database.execute(_SELECT_LINES, columns).fetchall())
        return [json.loads(line) for (line,) in rows] or None

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """Id and modification time of each session of a project, in milliseconds since the epoch."""
        return [
            {"session_id": session, "mtime": changed}
            for session, changed, _ in await self._session_rows(project_key)
        ]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """The SDK's own summary of each session, as it gave it."""
        return [
            {"session_id": session, "mtime": changed, "data": json.loads(summary)}
            for session, changed, summary in await self._session_rows(project_key)
        ]

    async def delete(self, key: SessionKey) -> None:
        """Delete a session with everything below it, or what is at one path below it."""
        await self._run(lambda database: _delete(database, key))

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """The paths below a session, such as those of its subagents."""
        at = (key["project_key"], key["session_id"])
        query = (
            "select distinct subpath from line where project = ? and session = ? and "
            "subpath != '' order by subpath"
        )
        return [
            subpath
            for (subpath,) in await self._run(
                lambda database: database.execute(query, at).fetchall()
            )
        ]

    async def _session_rows(self, project: str) -> list[Any]:
        query = "select session, changed, summary from session where project = ? order by session"
        return await self._run(lambda database: database.execute(query, (project,)).fetchall())

    def _append(
        self, database: sqlite3.Connection, key: SessionKey, entries: list[SessionStoreEntry]
    ) -> None:
        fresh = [entry for entry in entries if _insert(database, key, entry)]
        if not fresh or _key_columns(key)[2]:
            return
        project, session, _ = _key_columns(key)
        found = database.execute(
            "select changed, summary from session where project = ? and session = ?",
            (project, session),
        ).fetchone()
        before: SessionSummaryEntry | None = None
        if found is not None:
            before = {"session_id": session, "mtime": found[0], "data": json.loads(found[1])}
        changed = max(int(self._clock.now() * 1_000), 0 if found is None else found[0] + 1)
        summary = json.dumps(fold_session_summary(before, key, fresh)["data"])
        database.execute(
            "insert or replace into session values (?, ?, ?, ?)",
            (project, session, changed, summary),
        )

    async def _run(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        return await asyncio.to_thread(self._run_blocking, work)

    def _run_blocking(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        try:
            with self._open() as database:
                return work(database)
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"the sessions in {self.path} cannot be used: {error}; free space, mend "
                f"permissions, or move the file away"
            ) from error

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        make_folders(self.path.parent)
        os.close(os.open(self.path, os.O_CREAT | os.O_RDWR | PRIVATE, 0o600))
        with closing(
            sqlite3.connect(self.path, timeout=WAIT_SECONDS, isolation_level=None)
        ) as database:
            database.execute(
                "pragma synchronous = normal"
            )  # the SDK keeps its own copy and resends a failed batch
            database.executescript(_SCHEMA)
            with transaction(database):
                yield database


def _key_columns(key: SessionKey) -> tuple[str, str, str]:
    return key["project_key"], key["session_id"], key.get("subpath") or ""


def _insert(database: sqlite3.Connection, key: SessionKey, entry: SessionStoreEntry) -> bool:
    """Insert a line; whether it was new."""
    uuid = entry.get("uuid")
    row = (*_key_columns(key), uuid if isinstance(uuid, str) else None, json.dumps(entry))
    done = database.execute(
        "insert or ignore into line (project, session, subpath, uuid, line) values (?, ?, ?, ?, ?)",
        row,
    )
    return done.rowcount == 1


def _delete(database: sqlite3.Connection, key: SessionKey) -> None:
    project, session, subpath = _key_columns(key)
    if subpath:
        database.execute(
            "delete from line where project = ? and session = ? and subpath = ?",
            (project, session, subpath),
        )
        return
    database.execute("delete from line where project = ? and session = ?", (project, session))
    database.execute("delete from session where project = ? and session = ?", (project, session))


CLIENT: Client = "claude-code"
"""The agent that the SDK brings."""
EVENTS = ("UserPromptSubmit", "PostToolUse", "PreCompact", "SessionStart", "Stop", "SubagentStop")
"""The hook events that are registered.

Of `SessionStart` only those after a compaction reach the SDK (seen with 0.2.187), so what is shown
at a start is shown with the first prompt. `SessionEnd` never does; `close` stands in for it.
"""
NOTES_SHARE = 0.7
"""Share of the wait before a compaction that a notes update may take; our choice, as for the hooks
of coding agents.
"""
STORE_FILE = "agent-sessions.sqlite"
"""File of the session store in the home folder."""

FEATURES = frozenset({"notes", "recall", "extraction"})
"""Features of memorist that this adapter provides.

Claude Code compacts by itself; memorist restores what that loses.
"""

_log = logging.getLogger("memorist.adapters")


class HookOptions(TypedDict, total=False):
    """`home`, `model` and `settings` as for `Memorist`, or `attached`, an engine shared by several
    adapters.
    """

    home: str | os.PathLike[str] | None
    model: str | Model | None
    settings: Settings | None
    attached: EngineThread | None


class MemoristHooks:
    """Hooks for any number of clients and queries. Takes `HookOptions`.

    A memory belongs to the project of the folder that a session began in (`cwd`). The hooks raise
    nothing: an error is logged once for each event and kind, passed to the listener as
    `AdapterFailed`, and the agent goes on without memorist.
    """

    def __init__(self, **options: Unpack[HookOptions]) -> None:
        given = options.pop("attached", None)
        engine = EngineArguments()
        for name in ("home", "model", "settings"):
            if options.get(name) is not None:
                engine[name] = options[name]
        self.attached = open_engine_thread(given, engine)
        self._owns = given is None
        self.session = ""
        """Id of the session of the last event."""
        self._sessions: HookSessionPool | None = None
        self._open_sessions: dict[str, HookEvent] = {}
        """The newest event of each session that has not ended."""
        self._reported_failures: set[tuple[str, str]] = set()

    @property
    def hooks(self) -> dict[Any, list[HookMatcher]]:
        """For `ClaudeAgentOptions(hooks=…)`."""
        return {name: [HookMatcher(hooks=[self._build_hook(name)])] for name in EVENTS}

    @property
    def store(self) -> MemoristSessionStore:
        """For `ClaudeAgentOptions(session_store=…)`: sessions are stored in the home folder and can
        be resumed from it alone.
        """
        return MemoristSessionStore(self.attached.engine.layout.home / STORE_FILE)

    def options(self, options: ClaudeAgentOptions | None = None) -> ClaudeAgentOptions:
        """Return the options with memorist's hooks after those that they already have."""
        given = options or ClaudeAgentOptions()
        hooks: dict[Any, list[HookMatcher]] = dict(given.hooks or {})
        for name, matchers in self.hooks.items():
            hooks[name] = [*hooks.get(name, ()), *matchers]
        return dataclasses.replace(given, hooks=hooks)

    def _build_hook(self, name: str) -> HookCallback:
        async def hook(given: HookInput, *_: object) -> HookJSONOutput:
            return await self._run_hook(name, given)

        return hook

    async def _run_hook(self, name: str, hook_input: HookInput) -> HookJSONOutput:
        """Run one hook: returns what the SDK passes on to Claude Code.

        After any failure the agent goes on without memorist.
        """
        seconds = _event_timeout(self.attached.engine.settings.hooks, name)
        said = await self.attached.atry_run(
            lambda: self._build_output(name, hook_input, seconds), seconds
        )
        if isinstance(said, EngineFailure):
            self._report_failure(name, said.error)
            return {}
        return said

    async def _build_output(
        self, name: str, hook_input: HookInput, seconds: float
    ) -> HookJSONOutput:
        """Build the hook's output. Runs in the engine's thread."""
        event = parse_hook_event(json.dumps(hook_input, default=str).encode(), name)
        if isinstance(event, UnknownHookEvent):
            raise FormatError(event.why)
        self.session = event.session_id
        answer = await self._collect_answer(event, seconds)
        # Before a compaction Claude Code accepts only plain text, which a hook of the SDK cannot
        # return.
        shown = (
            b""
            if name == "PreCompact"
            else render_output(event, CLIENT, answer.text, answer.notice)
        )
        found: HookJSONOutput = msgspec.json.decode(shown) if shown else {}
        return found

    async def _collect_answer(self, event: HookEvent, seconds: float) -> HookAnswer:
        """What to show at an event."""
        if self._sessions is None:
            self._sessions = HookSessionPool(
                self.attached.engine,
                lambda event, _, error: self._report_failure(event.hook_event_name, error),
            )
        first = event.session_id not in self._open_sessions
        self._open_sessions[event.session_id] = event
        parts: list[HookAnswer] = []
        if first and event.hook_event_name == "UserPromptSubmit":
            start = msgspec.structs.replace(event, hook_event_name="SessionStart", source="startup")
            parts.append(await self._sessions.answer(CLIENT, start, event.cwd, seconds))
        parts.append(await self._sessions.answer(CLIENT, event, event.cwd, NOTES_SHARE * seconds))
        text = fit_texts([OutputText(part.text) for part in parts], CLIENT)
        return HookAnswer(text, parts[-1].notice)

    def _report_failure(self, point: str, error: BaseException) -> None:
        mark = (point, type(error).__name__)
        if mark in self._reported_failures:
            return
        self._reported_failures.add(mark)
        _log.warning(
            "memorist failed at %s of session %r, which goes on without it: %s",
            point,
            self.session,
            error,
            exc_info=error,
        )
        if self.attached.listener is not None:
            self.attached.listener(
                AdapterFailed(self.session, point, f"{type(error).__name__}: {error}")
            )

    async def _end_sessions(self) -> None:
        """End all sessions. Runs in the engine's thread."""
        sessions, self._sessions = self._sessions, None
        open_sessions, self._open_sessions = self._open_sessions, {}
        if sessions is None:
            return
        for event in open_sessions.values():
            end = msgspec.structs.replace(event, hook_event_name="SessionEnd")
            await sessions.answer(CLIENT, end, event.cwd, 0.0)
        await sessions.close()

    def close(self) -> None:
        """End all sessions: update notes and memories, and close the engine if it is the adapter's
        own.

        May be called twice.
        """
        if self._sessions is not None:
            ended = self.attached.try_run(self._end_sessions)
            if isinstance(ended, EngineFailure):
                self._report_failure("close", ended.error)
        if self._owns:
            self.attached.close()

    async def aclose(self) -> None:
        """As `close`."""
        await asyncio.to_thread(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _event_timeout(settings: HooksSettings, name: str) -> float:
    """Longest wait at an event, in seconds. The first prompt brings what is shown at a start."""
    match name:
        case "UserPromptSubmit":
            return settings.start_seconds
        case "SessionStart" | "PreCompact":
            return settings.compaction_seconds
        case _:
            return settings.other_seconds
