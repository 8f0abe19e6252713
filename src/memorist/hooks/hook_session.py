"""One session of a client, fed by its hook events and its session file."""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from memorist.auto_memory.inbox import Proposal
from memorist.auto_memory.statements.inbox_requests import find_inbox_request
from memorist.auto_memory.statements.no_memory_and_pin_requests import (
    find_text_to_pin,
    text_contains_no_memory_request,
    user_asks_for_no_memory,
)
from memorist.auto_memory.statements.statement_parser import find_statements
from memorist.config import is_in_off_folder, resolve_off_folders
from memorist.core.messages import Message, Origin, TextBlock, ToolUse
from memorist.engine.engine import Memorist
from memorist.engine.observed_session import ObservedSession
from memorist.engine.session_pool import PoolLimits, SessionPool
from memorist.errors import MemoristError, UnreadableSession
from memorist.events import (
    Event,
    ForgetTargetNotFound,
    MemoryChanged,
    MemoryNeedsReview,
    MemoryRefused,
    ProposalRejected,
)
from memorist.hooks.hook_event import Client, HookEvent
from memorist.hooks.hook_notices import (
    NOTICE_EVENTS,
    render_inbox_notice,
    render_memories_not_shown_notice,
    render_memory_notice,
    render_moved_project_notice,
    render_pin_notice,
    render_quoted_off_request_notice,
    render_unsaved_session_notice,
    render_waiting_notice,
)
from memorist.hooks.hook_texts import (
    render_hook_context,
    render_restored_notes,
    render_summary_instructions,
)
from memorist.hooks.session_file_tail import SessionFileTail
from memorist.settings import Family
from memorist.system import SystemClock

CLIENT_FORMATS: dict[Client, str] = {"claude-code": "anthropic", "codex": "openai_responses"}
CLIENT_FAMILIES: dict[Client, Family] = {"claude-code": "file-native", "codex": "rollout"}
"""Which instruction files a client loads by itself."""
LOOK_AGAIN_SECONDS = (0.0, 0.3, 1.0)
"""Pauses before the readings at the end of a turn, until the agent's answer is in the file. Claude
Code was seen to write the first turn about half a second after the hook.
"""
PROMPT_LOOK_SECONDS = (0.3, 1.0)
"""Pauses before the readings after a prompt, which the client writes after the hook: what was typed
is then known while the agent still works, so that a memory it writes can rest on it.
"""
PAUSE_AFTER_ANSWER_SECONDS = 0.01
"""Pause before the work after an answer, in which the answer goes out. Our choice."""
MAX_OPEN_SESSIONS = 100
"""Sessions that stay open at once. Our choice: each has three files open, of which systems give a
program some thousand, and clients that start a session for each question end few of them.
"""
MIN_UNREAD_BYTES = 256 * 1024
"""Unread bytes from which on the session file is read after a tool call; otherwise at the end of
the turn.
"""


TOLD_EVENTS = (
    MemoryChanged,
    MemoryNeedsReview,
    MemoryRefused,
    ForgetTargetNotFound,
    ProposalRejected,
)
"""Events of which the user sees a line."""
INBOX_CONTEXT = (
    "[memorist] This prompt is for memorist, which does it and tells the user what came of it. Run "
    "no command for it and use no tool; answer with one word."
)
WITHIN_SESSION = ("compact", "clear")
"""Sources of a SessionStart at which the client goes on with an empty history."""

OFF_CONTEXT = (
    "[memorist] The user turned memory off for this session: use none of memorist's tools in it."
)
OFF_FOLDER_NOTICE = "memorist: memory is off in this folder (hooks.off_folders)"
OFF_NOTICE = "memorist: memory is off for this session; nothing of it is kept from here on"


class HookOutput(Struct, frozen=True):
    """What a hook prints."""

    text: str
    """For the model."""
    notice: str = ""
    """For the user."""


class HookSession:
    """Events of one session arrive in order; responses that an agent waits for come before
    follow-up work.
    """

    def __init__(self, engine: Memorist, client: Client, event: HookEvent, project: str) -> None:
        self._client = client
        self._tail: SessionFileTail | None = None
        self._reading = asyncio.Lock()
        self._following_up = asyncio.Lock()
        self._track_file(event)
        first = self._read_project()
        cwd = first or project or event.cwd
        self._events: list[Event] = []
        """What became of memory and was not told to the user yet."""
        self._session: ObservedSession = engine.observe_session(
            event.session_id,
            project=cwd,
            format=CLIENT_FORMATS[client],
            listener=self._on_event,
            loads=CLIENT_FAMILIES[client],
        )
        self._unrecorded_prompts: list[Message] = []
        """Prompts of this turn, in case the client records nothing."""
        self._notes: asyncio.Future[None] | None = None
        self._prompt_reading: asyncio.Task[None] | None = None
        self._next_event = asyncio.Event()
        """Set when an event comes, which ends the readings after a prompt."""
        self._awaits_first_call = False
        """Whether no tool was called since the newest prompt."""

    def _track_file(self, event: HookEvent) -> None:
        """Track the session file of the event; it may change, and may not exist yet. A subagent's
        event may name a file of its own, whose words nobody typed.
        """
        path = Path(event.transcript_path) if event.transcript_path else None
        if (
            path is not None
            and not event.agent_id
            and (self._tail is None or self._tail.path != path)
        ):
            self._tail = SessionFileTail(path)

    def _read_project(self) -> str:
        """The folder that the session started in, which stays when the agent changes folders; empty
        if unknown.
        """
        if self._tail is None or not self._tail.exists:
            return ""
        try:
            return self._tail.read_start_folder()
        except UnreadableSession:
            return ""

    async def render_text_for_event(self, event: HookEvent, seconds: float) -> str:
        """The text to show at an event; empty for an event that only causes work.

        `seconds` is the time available for updating the notes.
        """
        self._track_file(event)
        self._next_event.set()
        match event.hook_event_name:
            case "SessionStart":
                return await self._answer_start(event.source, seconds)
            case "UserPromptSubmit":
                if find_inbox_request(event.typed_prompt) is not None:
                    return render_hook_context([INBOX_CONTEXT], self._client)
                return render_hook_context(
                    await self._session.recall_for_prompt(event.typed_prompt), self._client
                )
            case "PreToolUse":
                call = ToolUse("", event.tool_name, event.tool_input)
                return render_hook_context(self._session.recall_for_tool_call(call), self._client)
            case "PreCompact":
                await self.read_new_records()
                await self._update_notes(seconds, "the agent is about to compact")
                return render_summary_instructions(
                    self._session.notes_by_section(), self._session.layout.notes, self._client
                )
            case _:
                return ""

    def _on_event(self, event: Event) -> None:
        if isinstance(event, TOLD_EVENTS):
            self._events.append(event)

    async def take_notice(self, event: HookEvent) -> str:
        """The line that tells the user what became of memory since the last one; empty for
        nothing. At the end of a turn what the client has written is read first.
        """
        if event.hook_event_name not in NOTICE_EVENTS:
            return ""
        if event.hook_event_name == "Stop" and self._tail is not None and self._tail.unread_bytes:
            with contextlib.suppress(MemoristError):  # the work after the answer reports it
                await self.read_new_records()
        events, self._events = self._events, []
        begins = event.hook_event_name == "SessionStart" and event.source not in WITHIN_SESSION
        notices = (
            render_waiting_notice(len(self._session.list_waiting_proposals())) if begins else "",
            render_moved_project_notice(self._session.suggest_former_memory()) if begins else "",
            render_memories_not_shown_notice(self._session.memory_read_failure) if begins else "",
            render_unsaved_session_notice(self._session.why_unsaved) if begins else "",
            render_memory_notice(events),
            *self._list_prompt_notices(event),
        )
        return " · ".join(filter(None, notices))

    def _list_prompt_notices(self, event: HookEvent) -> tuple[str, ...]:
        """The lines that answer what was typed; none where nothing was."""
        typed = event.typed_prompt
        if not typed or event.hook_event_name != "UserPromptSubmit":
            return ()
        asked = find_inbox_request(typed)
        shows_inbox = asked is not None and asked.verb == "show"
        waiting = self._session.list_waiting_proposals(is_for_user=True) if shows_inbox else ()
        pinned = find_text_to_pin(typed)
        return (
            render_inbox_notice(list(map(_name_proposal, waiting))) if shows_inbox else "",
            render_pin_notice(pinned) if pinned else "",
            render_quoted_off_request_notice(self._client)
            if text_contains_no_memory_request(typed)
            else "",
        )

    async def _answer_start(self, source: str, seconds: float) -> str:
        if source in WITHIN_SESSION:
            self._session.on_history_replaced()
        texts = await self._session.take_opening_texts()
        if source != "compact":
            return render_hook_context(texts, self._client)
        if self._session.notes is None:
            await self.read_new_records()
            await self._update_notes(seconds, "the agent compacted")
        return render_restored_notes(
            self._session.notes_by_section(), self._session.layout.notes, texts, self._client
        )

    async def _update_notes(self, seconds: float, why: str) -> None:
        """Update the notes within the time limit; a longer update goes on in the background, and
        the notes are used as they are.
        """
        self._notes = asyncio.ensure_future(self._session.update_notes(why))
        await asyncio.wait([self._notes], timeout=seconds)
        if self._notes.done():
            self._notes.result()

    async def run_follow_up(self, event: HookEvent) -> None:
        """Do the work of an event that the agent does not wait for, after that of earlier events.

        Raises MemoristError.
        """
        self._session.save_shown_texts()
        async with self._following_up:
            await self._follow_up(event)

    async def _follow_up(self, event: HookEvent) -> None:
        self._track_file(event)
        match event.hook_event_name:
            case "PreToolUse":  # what comes of a call is read after it, where that is installed
                # The prompt may follow other records, which were read without it.
                if self._awaits_first_call:
                    self._awaits_first_call = False
                    await self.read_new_records()
            case "PostToolUse":
                if self._tail is not None and self._tail.unread_bytes >= MIN_UNREAD_BYTES:
                    await self.read_new_records()
            case "Stop":
                await self._read_turn()
            case "SessionEnd":
                await self._end_session()
            case "UserPromptSubmit":
                self._unrecorded_prompts += _read_prompt_message(event)
                self._awaits_first_call = True
                self._next_event.clear()
                self._prompt_reading = asyncio.create_task(self._read_prompt())
            case "SessionStart":
                self._session.preload_in_background()
                await self.read_new_records()
            case _:
                await self.read_new_records()

    async def _read_prompt(self) -> None:
        """Process the prompt once the client has written it, unless another event comes first."""
        for pause in PROMPT_LOOK_SECONDS:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._next_event.wait(), pause)
                return
            if self._tail is not None and self._tail.unread_bytes:
                with contextlib.suppress(MemoristError):  # the end of the turn reports it
                    await self.read_new_records()

    async def _read_turn(self) -> None:
        """Process the turn that ended, once the client has written its answer: clients call the
        hook before they have written everything.
        """
        for pause in LOOK_AGAIN_SECONDS:
            await asyncio.sleep(pause)
            if await self.read_new_records():
                break
        await self._keep_unrecorded_prompts()
        self._session.on_turn_end()
        if self._tail is not None:
            self._tail.skip_turns_before_last()

    async def _keep_unrecorded_prompts(self) -> None:
        """Learn from the prompts themselves where the client records nothing. Only those that state
        something for later are kept: the user wanted no recording.
        """
        prompts, self._unrecorded_prompts = self._unrecorded_prompts, []
        if self._tail is None or not self._tail.exists:
            await self._session.add_records(
                None, [each for each in prompts if find_statements(each)]
            )

    async def _end_session(self) -> None:
        await self.read_new_records(from_start=True)
        await self._keep_unrecorded_prompts()
        self._session.on_turn_end()
        await self._session.update_notes("the session ended")
        await self._session.wait_for_background()
        if self._tail is not None and self._tail.exists:
            self._session.register_recording(self._tail.path)

    async def read_new_records(self, *, from_start: bool = False) -> bool:
        """Process what the client wrote since the last reading; whether an answer of the agent is
        among it.

        A missing file is no error. Raises UnreadableSession.
        """
        tail = self._tail
        if tail is None or not tail.exists:
            return False
        async with self._reading:
            found = await asyncio.to_thread(
                tail.read_new_entries, frozenset(self._session.message_ids), from_start=from_start
            )
            may_be_rewound = found.from_start and tail.format == "claude_code"
            # What a compaction removed was not rewound.
            if may_be_rewound and not found.has_compaction:
                self._session.on_rewind(found.message_ids)
            await self._session.add_records(found.head, found.entries)
            if may_be_rewound and found.has_compaction:
                self._session.on_rewind(found.message_ids)
        return found.has_reply

    def turn_memory_off(self) -> None:
        """Let nothing more be read, shown or written in this session."""
        self._tail = None
        self._unrecorded_prompts.clear()
        self._events.clear()
        self._session.turn_memory_off()

    async def close(self) -> None:
        """Close the session, after a last look at its file: a client that was killed sent no last
        event. May be called twice.
        """
        self._next_event.set()
        for work in (self._notes, self._prompt_reading):
            if work is not None:
                await asyncio.wait([work])
        try:
            if self._tail is not None and self._tail.unread_bytes:
                with contextlib.suppress(UnreadableSession):
                    await self.read_new_records()
                    self._session.on_turn_end()
        finally:
            self._tail = None
            await self._session.close()


def _name_proposal(waiting: Proposal) -> str:
    """What the user is asked to say yes to."""
    return f"forget: {waiting.one_line_text}" if waiting.is_removal else waiting.one_line_text


def _read_prompt_message(event: HookEvent) -> list[Message]:
    """The prompt of an event, as print mode is read: it may have come through a pipe."""
    if not event.typed_prompt:
        return []
    prompt = Message(
        id=f"prompt-{uuid.uuid4().hex}",
        role="user",
        blocks=(TextBlock(event.typed_prompt),),
        origin=Origin.USER,
        timestamp=time.time(),
        is_typed=False,
    )
    return [prompt]


class HookSessionPool:
    """All sessions of one engine.

    Args:
        engine: opens the sessions.
        on_failure: called with errors of background work.
    """

    def __init__(
        self, engine: Memorist, on_failure: Callable[[HookEvent, Client, BaseException], None]
    ) -> None:
        self._engine = engine
        self._shows_notices = engine.settings.hooks.notices
        self._on_failure = on_failure
        self._pool = SessionPool[tuple[Client, str], HookSession](
            HookSession.close,
            clock=SystemClock(),
            limits=PoolLimits(engine.settings.hooks.session_idle_seconds, MAX_OPEN_SESSIONS),
            is_shared=True,
        )
        self._off = set(engine.memory_off_sessions())
        """Ids of the sessions whose user turned memory off."""
        self._off_folders = resolve_off_folders(engine.settings)
        self._follow_ups: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._pool)

    async def render_output_for_event(
        self, client: Client, event: HookEvent, project: str, seconds: float
    ) -> HookOutput:
        """What to show at an event; its follow-up work then runs in the background."""

        async def open_session() -> HookSession:
            return HookSession(self._engine, client, event, project)

        key = (client, event.session_id)
        if is_in_off_folder(project or event.cwd, self._off_folders):
            if event.session_id not in self._off:
                self._off.add(event.session_id)
                self._engine.keep_session_out(event.session_id)
            begins = event.hook_event_name == "SessionStart"
            return HookOutput("", OFF_FOLDER_NOTICE if begins else "")
        if event.session_id in self._off:
            return HookOutput("")
        async with contextlib.AsyncExitStack() as hold:
            session = await hold.enter_async_context(self._pool.use(key, open_session))
            if event.hook_event_name == "UserPromptSubmit" and user_asks_for_no_memory(
                event.typed_prompt
            ):
                session.turn_memory_off()
                self._off.add(event.session_id)
                return HookOutput(render_hook_context([OFF_CONTEXT], client), OFF_NOTICE)
            said = await session.render_text_for_event(event, seconds)
            notice = await session.take_notice(event) if self._shows_notices else ""
            work = self._run_follow_up(key, session, event, hold.pop_all())
        task = asyncio.create_task(work)
        self._follow_ups.add(task)
        task.add_done_callback(self._follow_ups.discard)
        return HookOutput(said, notice)

    async def _run_follow_up(
        self,
        key: tuple[Client, str],
        session: HookSession,
        event: HookEvent,
        hold: contextlib.AsyncExitStack,
    ) -> None:
        """Run the follow-up work of one event after that of the events before it."""
        async with hold:
            await asyncio.sleep(PAUSE_AFTER_ANSWER_SECONDS)
            work = asyncio.ensure_future(session.run_follow_up(event))
            await asyncio.wait([work])
            error = work.exception()
            if error is not None:
                self._on_failure(event, key[0], error)
        if event.hook_event_name == "SessionEnd":
            self._pool.close_if_unused(key)  # unless the client resumed it meanwhile

    async def wait_until_idle(self) -> None:
        """Wait until no follow-up work is running."""
        while self._follow_ups:
            await asyncio.wait(self._follow_ups)

    async def close(self) -> None:
        """Wait for follow-up work to end, then close every session."""
        await self.wait_until_idle()
        await self._pool.close()
