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
from typing import Any, Self, TypedDict, Unpack

import msgspec
from claude_agent_sdk import (
    ClaudeAgentOptions,
    HookCallback,
    HookInput,
    HookJSONOutput,
    HookMatcher,
)

from memorist.adapters.claude_session_store import MemoristSessionStore
from memorist.adapters.engine_thread import (
    EngineArguments,
    EngineThread,
    attach_or_open_engine_thread,
)
from memorist.adapters.host_conversation import EngineFailure
from memorist.engine.engine import Memorist
from memorist.errors import WireFormatError
from memorist.events import AdapterFailed
from memorist.hooks.hook_event import Client, HookEvent, HookEventProblem, parse_hook_event
from memorist.hooks.hook_response import (
    CuttableHookText,
    join_hook_texts_within_limit,
    render_hook_output,
)
from memorist.hooks.hook_session import MAX_OPEN_SESSIONS, HookOutput, HookSessionPool
from memorist.ports import Model
from memorist.settings import HooksSettings, Settings

CLIENT: Client = "claude-code"
"""The agent that the SDK brings."""


EVENTS = ("UserPromptSubmit", "PostToolUse", "PreCompact", "SessionStart", "Stop", "SubagentStop")
"""The hook events that are registered.

Of `SessionStart` only those after a compaction reach the SDK (seen with 0.2.187), so what is shown
at a start is shown with the first prompt. `SessionEnd` never does; `close` stands in for it.
"""


NOTES_UPDATE_WAIT_SHARE = 0.7
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


class MemoristHooksOptions(TypedDict, total=False):
    """`home`, `model` and `settings` as for `Memorist`, or `attached`, an engine shared by several
    adapters. `user` is any text that names whose memory it is; empty for the home's own.
    """

    user: str
    home: str | os.PathLike[str] | None
    model: str | Model | None
    settings: Settings | None
    attached: EngineThread | None


class MemoristHooks:
    """Hooks for any number of clients and queries of one user. Takes `MemoristHooksOptions`.

    A memory belongs to the project of the folder that a session began in (`cwd`). The hooks raise
    nothing: an error is logged once for each event and kind, passed to the listener as
    `AdapterFailed`, and the agent goes on without memorist.
    """

    def __init__(self, **options: Unpack[MemoristHooksOptions]) -> None:
        given = options.pop("attached", None)
        self.user = options.pop("user", "")
        engine = EngineArguments()
        for name in ("home", "model", "settings"):
            if options.get(name) is not None:
                engine[name] = options[name]
        self.attached = attach_or_open_engine_thread(given, engine)
        self._owns = given is None
        self.session = ""
        """Id of the session of the last event."""
        self._sessions: tuple[Memorist, HookSessionPool] | None = None
        """The user's engine, and the sessions that it has open."""
        self._open_sessions: dict[str, HookEvent] = {}
        """The newest event of each session that has not ended, the oldest event first."""
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
        return MemoristSessionStore(self.attached.home(self.user) / STORE_FILE)

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
        said = await self.attached.arun_or_return_failure(
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
        if isinstance(event, HookEventProblem):
            raise WireFormatError(event.why)
        self.session = event.session_id
        answer = await self._collect_answer(event, seconds)
        # Before a compaction Claude Code accepts only plain text, which a hook of the SDK cannot
        # return.
        shown = (
            b""
            if name == "PreCompact"
            else render_hook_output(event, CLIENT, answer.text, answer.notice)
        )
        found: HookJSONOutput = msgspec.json.decode(shown) if shown else {}
        return found

    async def _collect_answer(self, event: HookEvent, seconds: float) -> HookOutput:
        """What to show at an event."""
        sessions = await self._open_session_pool()
        first = self._open_sessions.pop(event.session_id, None) is None
        self._open_sessions[event.session_id] = event
        if len(self._open_sessions) > MAX_OPEN_SESSIONS:  # the SDK never says that one is over
            await _end_session(sessions, self._open_sessions.pop(next(iter(self._open_sessions))))
        parts: list[HookOutput] = []
        if first and event.hook_event_name == "UserPromptSubmit":
            start = msgspec.structs.replace(event, hook_event_name="SessionStart", source="startup")
            parts.append(await sessions.render_output_for_event(CLIENT, start, event.cwd, seconds))
        parts.append(
            await sessions.render_output_for_event(
                CLIENT, event, event.cwd, NOTES_UPDATE_WAIT_SHARE * seconds
            )
        )
        text = join_hook_texts_within_limit([CuttableHookText(part.text) for part in parts], CLIENT)
        return HookOutput(text, parts[-1].notice)

    async def _open_session_pool(self) -> HookSessionPool:
        """The sessions of the user's engine: a new one after it rested and was closed."""
        engine = await self.attached.open_engine(self.user)
        if self._sessions is None or self._sessions[0] is not engine:
            self._sessions = (
                engine,
                HookSessionPool(
                    engine,
                    lambda event, _, error: self._report_failure(event.hook_event_name, error),
                ),
            )
        return self._sessions[1]

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
        known, self._sessions = self._sessions, None
        open_sessions, self._open_sessions = self._open_sessions, {}
        if known is None:
            return
        _, sessions = known
        for event in open_sessions.values():
            await _end_session(sessions, event)
        await sessions.close()

    def close(self) -> None:
        """End all sessions: update notes and memories, and close the engine if it is the adapter's
        own.

        May be called twice.
        """
        if self._sessions is not None:
            ended = self.attached.run_or_return_failure(self._end_sessions)
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


async def _end_session(sessions: HookSessionPool, newest: HookEvent) -> None:
    """End the session of this event; the work at its end goes on in the background."""
    end = msgspec.structs.replace(newest, hook_event_name="SessionEnd")
    await sessions.render_output_for_event(CLIENT, end, newest.cwd, 0.0)


def _event_timeout(settings: HooksSettings, name: str) -> float:
    """Longest wait at an event, in seconds. The first prompt brings what is shown at a start."""
    match name:
        case "UserPromptSubmit":
            return settings.start_seconds
        case "SessionStart" | "PreCompact":
            return settings.compaction_seconds
        case _:
            return settings.other_seconds
