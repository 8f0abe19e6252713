"""The context of a live session whose host has memorist assemble it: a first context before the
conversation, later only the differences, and skills when invoked (CX-1 to CX-3, SK-2).

The first context is saved in `context.json` beside the transcript, so that a new process sends the
very same bytes; what the model was told is in the transcript as world state records.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from msgspec.structs import replace

from memorist.auto_memory.statements.user_prose import extract_redacted_user_text
from memorist.context.context_pieces import ContextPiece
from memorist.context.context_snapshot import (
    CurrentWorldState,
    add_removed_sections,
    build_world_sections,
    load_first_context,
    save_first_context,
)
from memorist.context.dependency_tracking_files import DependencyTrackingFileReader
from memorist.context.environment import SessionEnvironment
from memorist.context.first_context_assembly import (
    FolderContext,
    HostContext,
    build_first_context,
    build_memory_index_section,
    build_piece_messages,
    read_folder_context,
    reject_unknown_context_sections,
)
from memorist.context.git_state import GitState
from memorist.context.history_repair import IncrementalHistoryNormalizer
from memorist.context.host_permissions import (
    add_permissions_to_environment,
    build_permissions_sections,
)
from memorist.context.instruction_scope import TouchedFiles, find_touched_paths
from memorist.context.world_state import (
    EMPTY_WORLD_STATE,
    SentWorldState,
    WorldSection,
    build_sent_world_state,
    build_world_change_messages,
    diff_world_state,
    restore_world_state,
)
from memorist.core.messages import SKILL_ID_PREFIX, JsonObject, Message, find_newest_user_message
from memorist.core.prompt_templates import load_prompt
from memorist.engine.memory_extension import MemoryExtension
from memorist.engine.session_log import SessionLog
from memorist.extensions import HistoryChange, SessionExtension, SessionView
from memorist.forks.fork_spec import ParentCall
from memorist.formats import transcript_format
from memorist.formats.transcript_format import WorldStateRecord
from memorist.settings import Family
from memorist.skills.skill_catalogue import build_catalogue_section
from memorist.skills.skill_discovery import CachingSkillDiscovery, DiscoveredSkills
from memorist.skills.skill_invocation import build_mentioned_skill_messages
from memorist.store.transcript_reader import UnpackedUtf8Lines

MEMORY_INDEX_SOURCE = "auto memory"
"""Source of the piece that holds the project's memory index."""

SKILL_CALL_SIGNS = "$@["
"""A user message without any of these characters cannot invoke a skill."""


class ContextExtension(SessionExtension):
    """Opened for a session whose host asks for it.

    `before_request` is called before each request; `add_system_prompt` adds the system prompt.
    """

    def __init__(
        self,
        host: HostContext,
        log: SessionLog,
        memory: MemoryExtension,
        skill_search: Callable[[str], CachingSkillDiscovery],
    ) -> None:
        self._host = host
        self._log = log
        self._memory = memory
        self._skill_search = skill_search
        """Returns the skill search of a working folder; one is shared by all sessions there."""
        self._runtime = log.runtime
        self._settings = log.runtime.settings.context
        self._family: Family = host.family or self._settings.family
        reject_unknown_context_sections(host.sections, self._family)
        self.pieces: tuple[ContextPiece, ...] = ()
        """The first context as it is shown."""
        self._world_state: SentWorldState = EMPTY_WORLD_STATE
        self._first_state: SentWorldState = EMPTY_WORLD_STATE
        """The world state that the first context told."""
        self._last_snapshot: CurrentWorldState | None = None
        self._sections: tuple[WorldSection, ...] = ()
        self._compared_sections: tuple[WorldSection, ...] | None = None
        """The sections as they were last compared."""
        self._is_shown = self._is_stale = False
        self._is_first_request = True
        """Whether this process has shown nothing yet."""
        self._watched_files = DependencyTrackingFileReader(log.runtime.files)
        self._first_git_state: GitState | None = None
        """The repository as it was first looked up: its text stays, and so its place in the
        provider's cache.
        """
        self._normalizer = IncrementalHistoryNormalizer(log.context.format, self._family)
        self._touched_files = TouchedFiles()
        self._skills_found = DiscoveredSkills()
        self._skill_task: asyncio.Task[DiscoveredSkills] | None = None
        self._shown_skills: set[str] = set()
        """Ids of the skill messages that are in the view."""
        self._model_switch_text = load_prompt("context/model_switch")

    def update_host(self, host: HostContext) -> None:
        """Take new information of the host. The family stays.

        Raises InputError for a section that the family does not have.
        """
        reject_unknown_context_sections(host.sections, self._family)
        self._host = host
        self._is_stale = True

    def on_history_replaced(self, reason: HistoryChange) -> None:
        """Reset: the first context is looked up again, unless it is before turns that were
        rolled back.
        """
        self._normalizer.reset()
        if reason != "rolled back":
            self._is_shown = self._is_first_request = False
            self._sections = ()

    def on_resume(self, view: SessionView) -> None:
        """Restore what the model still knows after a rollback, from the transcript on disk."""
        if self._is_shown:
            self._world_state, self._compared_sections = self._read_world_state(), None
            if not self._world_state.marks and not self._world_state.unknown:
                # The first context was looked up in a turn that is gone; it still stands before the
                # conversation.
                self._world_state = self._first_state
                self._log.add_entry(WorldStateRecord(full=True, state=self._first_state.values))
            self._shown_skills = _shown_skill_ids(view)

    def on_file_read(self, path: str) -> None:
        """Note that a file was read or changed: its path rules and the instructions of its folder
        may apply now.
        """
        if self._family == "file-native":
            folder = Path(self._host.folder)
            bears = self._touched_files.add(
                folder / path, folder, rules_wait=bool(self._snapshot.instructions.pending)
            )
            self._is_stale = self._is_stale or bears

    async def before_request(self, view: SessionView, new_messages: Sequence[Message]) -> None:
        """Show the first context, what changed since, and invoked skills.

        The model's context window limits the size of the skill catalogue.
        """
        await self._memory.wait_for_scan()
        model, window = view.model, view.context_window
        for path in find_touched_paths(new_messages):
            self.on_file_read(path)
        asked = find_newest_user_message(new_messages)
        if not self._is_shown:
            await self._show_first_context(view, model, window)
        elif self._is_stale or (asked is not None and self._has_changes()):
            await self._look_up(model, window)
        if self._normalizer.needs_normalizing(
            new_messages, [call.id for call in self._log.tracker.open_calls.calls]
        ):
            view.apply_repair(self._normalizer.normalize)
        if not view.accepts_messages:
            return
        if asked is not None:
            await self._show_called_skills(view, extract_redacted_user_text(asked))
        self._show_differences(view, model, asked)

    def _has_changes(self) -> bool:
        """Whether a watched file changed, or the background search found other skills."""
        if self._skill_task is not None and self._skill_task.done():
            found, self._skill_task = self._skill_task.result(), None
            if found.skills != self._skills_found.skills:
                self._skills_found = found
                return True
        return self._watched_files.has_changed()

    async def _show_first_context(self, view: SessionView, model: str, window: int | None) -> None:
        """Show the first context: as a former process of this session showed it, or looked up
        now.
        """
        self._shown_skills = _shown_skill_ids(view)
        if not (self._is_first_request and self._resume()):
            await self._look_up(model, window, git=True)
            self._assemble_first()
        else:
            await self._look_up(model, window)
        self._is_first_request = False
        view.set_preamble(self._messages())
        self._is_shown = True

    def _resume(self) -> bool:
        """Restore what a former process showed; False when there is none, or it cannot be read."""
        saved = load_first_context(
            self._runtime.files, self._log.context.layout.context_snapshot, self._family
        )
        if saved is None:
            return False
        state = self._read_world_state()
        if not state.marks and not state.unknown:
            return False
        self.pieces, self._world_state, self._first_state = saved, state, state
        if any(piece.source == MEMORY_INDEX_SOURCE for piece in saved):
            self._memory.index_message()
        return True

    def _read_world_state(self) -> SentWorldState:
        return restore_world_state(
            transcript_format.read_session(UnpackedUtf8Lines(self._log.context.layout.transcript))
        )

    def _assemble_first(self) -> None:
        """Assemble the first context from what was looked up; its sections are then known to the
        model.
        """
        now = self._snapshot
        given = list(now.host_sections)
        if (index := self._memory.index_message()) is not None:
            given.append(build_memory_index_section(index.text, MEMORY_INDEX_SOURCE, self._family))
        seen = FolderContext(
            family=self._family, instructions=now.instructions, environment=now.environment
        )
        context = build_first_context(
            seen, given, status_characters=self._settings.status_characters
        )
        self.pieces = context.pieces
        self._compared_sections = None
        self._world_state = self._first_state = build_sent_world_state(
            {section.id: section.value for section in self._sections}
        )
        save_first_context(
            self._runtime.files,
            self._log.context.layout.context_snapshot,
            self._family,
            self.pieces,
            raw=self._runtime.settings.raw_transcripts,
        )
        self._log.add_entry(WorldStateRecord(full=True, state=self._world_state.values))

    @property
    def _snapshot(self) -> CurrentWorldState:
        return self._last_snapshot or CurrentWorldState(
            family=self._family, environment=SessionEnvironment(environments=())
        )

    async def _look_up(self, model: str, window: int | None, *, git: bool = False) -> None:
        """Look everything up again, in a thread, and build the sections from it."""
        self._skills_found = await self._find_skills()
        watched = DependencyTrackingFileReader(self._runtime.files)
        seen = await asyncio.to_thread(
            read_folder_context,
            Path(self._host.folder),
            self._family,
            self._runtime,
            files=watched,
            touched=self._touched_files.files,
            git=git and self._first_git_state is None,
        )
        self._watched_files = watched
        allowed = self._host.allowed
        given = [
            *build_permissions_sections(allowed, self._family, self._host.sections),
            *self._host.sections,
        ]
        shown = build_catalogue_section(
            self._skills_found.skills,
            self._family,
            self._runtime.settings.skills,
            model=model,
            window=window,
        )
        if shown is not None:
            given.append(shown)
        self._first_git_state = seen.environment.git or self._first_git_state
        around = add_permissions_to_environment(
            allowed, replace(seen.environment, model=model, git=self._first_git_state)
        )
        self._last_snapshot = CurrentWorldState(
            family=self._family,
            environment=around,
            instructions=seen.instructions,
            host_sections=tuple(given),
            model_switch=self._model_switch_text,
        )
        self._update_sections()
        self._is_stale = False

    def _update_sections(self) -> None:
        self._sections = add_removed_sections(build_world_sections(self._snapshot), self._sections)

    def _show_differences(
        self, view: SessionView, model: str, user_message: Message | None
    ) -> None:
        """Show what differs from what the model was told, before the user's new message.

        Date and model are compared each time, everything else only when it may have changed.
        """
        around = self._snapshot.environment
        today = datetime.fromtimestamp(self._runtime.clock.now()).astimezone().date().isoformat()
        if (around.date, around.model) != (today, model):
            self._last_snapshot = replace(
                self._snapshot, environment=replace(around, date=today, model=model)
            )
            self._update_sections()
        if self._sections is self._compared_sections:
            return
        step = diff_world_state(self._world_state, self._sections)
        self._compared_sections = self._sections
        if step.record is None:
            return
        position = user_message or view.last_message
        for message in build_world_change_messages(
            step.changes, self._family, position.id if position is not None else ""
        ):
            view.insert(message, before=user_message)
        self._log.add_entry(step.record)
        self._world_state = step.state

    async def _show_called_skills(self, view: SessionView, words: str) -> None:
        """Show the skills that the user's words invoke, each once while it is in the view."""
        if not any(sign in words for sign in SKILL_CALL_SIGNS):
            return
        before, self._skills_found = self._skills_found, await self._find_skills()
        self._is_stale = self._is_stale or before.skills != self._skills_found.skills
        for message in build_mentioned_skill_messages(
            words,
            self._skills_found.skills,
            family=self._family,
            cwd=self._host.folder,
            settings=self._runtime.settings.skills,
        ):
            if message.id not in self._shown_skills:
                view.insert(message)
                self._shown_skills.add(message.id)
                self._log.invoked_skills.on_message(message)

    def on_turn_end(self, parent: ParentCall | None = None) -> None:
        """Search for new or changed skills in the background while the host waits for its user."""
        del parent
        if self._skill_task is None:
            self._skill_task = asyncio.create_task(
                asyncio.to_thread(self._skill_search(self._host.folder).find_skills)
            )

    async def _find_skills(self) -> DiscoveredSkills:
        if self._skill_task is None:
            self.on_turn_end()
        finding, self._skill_task = self._skill_task, None
        return self._skills_found if finding is None else await finding

    def add_system_prompt(self, request: JsonObject) -> JsonObject:
        """Return the request with memorist's system blocks after the host's own, where the format
        has a place for them.
        """
        ours = [
            {"type": "text", "text": each.text} for each in self.pieces if self._is_system(each)
        ]
        if not ours:
            return request
        own = request.get("system")
        blocks = (
            [{"type": "text", "text": own}]
            if isinstance(own, str) and own
            else list(own)
            if isinstance(own, list)
            else []
        )
        return {**request, "system": [*blocks, *ours]}

    def _is_system(self, piece: ContextPiece) -> bool:
        return self._log.context.format == "anthropic" and piece.role in ("system", "developer")

    def _messages(self) -> tuple[Message, ...]:
        return build_piece_messages(
            [each for each in self.pieces if not self._is_system(each)], self._family
        )

    async def wait_for_background(self) -> None:
        """Wait for a running skill search; it reads a bounded number of files."""
        if self._skill_task is not None:
            await asyncio.wait([self._skill_task])
            self._skill_task = None


def _shown_skill_ids(view: SessionView) -> set[str]:
    return {message.id for message in view.messages() if message.id.startswith(SKILL_ID_PREFIX)}
