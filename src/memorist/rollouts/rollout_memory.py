"""Rollout memory in a session: shown once at its start and after each compaction, and counted when
the model cites it (RO-7, RO-8).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from memorist.auto_memory.memory_location import read_project_record
from memorist.context.context_tags import require_context_tag_definition, wrap_unescaped_text_in_tag
from memorist.context.first_context_assembly import REMINDER_TAG
from memorist.core.messages import ROLLOUT_MEMORY_ID_PREFIX, Message, Origin, TextBlock
from memorist.core.prompt_templates import load_prompt
from memorist.errors import StoreError
from memorist.extensions import HistoryChange, SessionExtension, SessionReply, SessionView
from memorist.rollouts.citations import split_off_citations
from memorist.rollouts.forgotten_claims import ForgottenClaimsReader, blank_forgotten_claims
from memorist.rollouts.rollout_folder import read_memory_folder
from memorist.rollouts.rollout_memory_view import (
    RolloutMemoryPrompts,
    RolloutMemoryViewOptions,
    render_rollout_memory_view,
)
from memorist.rollouts.rollout_summaries import map_summary_paths
from memorist.rollouts.session_location import SessionLocation
from memorist.rollouts.session_sources import (
    SourceFolder,
    find_repository_root_or_folder,
    scan_for_changed_rollouts,
)
from memorist.rollouts.summary_composition import SUMMARY_FILE
from memorist.rollouts.user_notes import parse_user_notes
from memorist.runtime import Runtime, SessionContext
from memorist.store.extract_rows import list_enabled_extracts
from memorist.store.job_claim_rules import build_lease_policy
from memorist.store.rollout_rows import list_rollouts, record_rollout_citations
from memorist.store.session_memory_mode import save_rollouts_except_memory_off
from memorist.store.state_database import StateDatabase


def load_rollout_memory_view(runtime: Runtime, project: str) -> str:
    """What a session in this folder is shown of the memory of past sessions; empty where there is
    nothing for it. Raises StoreError.
    """
    files = read_memory_folder(runtime.files, runtime.layout.rollouts).files
    if not files:
        return ""
    root = find_repository_root_or_folder(project) if project else ""
    known = read_project_record(runtime.files, runtime.layout.memory_layout(root)) if root else None
    view = RolloutMemoryViewOptions(
        location=SessionLocation(
            cwd=project,
            repository=root,
            former=() if known is None else tuple(each.root for each in known.former),
        ),
        folder=str(runtime.layout.rollouts),
        tokens=runtime.settings.rollouts.summary_tokens,
        lean=runtime.settings.rollouts.form == "lean",
    )
    texts = RolloutMemoryPrompts(
        load_prompt("rollouts/shown"), load_prompt("rollouts/lookup"), load_prompt("rollouts/lean")
    )
    claims = ForgottenClaimsReader(runtime.layout, runtime.settings.auto_memory, root)
    return render_rollout_memory_view(
        blank_forgotten_claims(
            files.get(SUMMARY_FILE, b"").decode("utf-8", "replace"),
            lambda title: claims.read_forgotten_in_group(title).merge_with(
                claims.read_forgotten_in_group(root)
            ),
        ),
        [
            note
            for note in parse_user_notes(files)
            if not claims.read_forgotten_in_group(root).is_any_stated_in(note.text)
        ],
        view,
        texts,
    )


def register_recordings_in_folder(runtime: Runtime, state: StateDatabase, folder: Path) -> None:
    """Register the new recordings of sessions in a folder as rollouts; none where the database was
    lost, which the next sync restores from the files. Raises StoreError.
    """
    known = list_rollouts(state)
    if not known and runtime.layout.rollouts.exists():
        return
    save_rollouts_except_memory_off(
        state,
        scan_for_changed_rollouts([SourceFolder(folder)], known).threads,
        runtime.files,
        runtime.layout,
        build_lease_policy(runtime.settings.rollouts),
    )


class RolloutMemoryExtension(SessionExtension):
    """Shows rollout memory in one session of a home that learns from past sessions."""

    def __init__(
        self, context: SessionContext, open_state_database: Callable[[], StateDatabase]
    ) -> None:
        self._context = context
        self._runtime = context.runtime
        self._open_state = open_state_database
        """Opens the database of past sessions, when something was cited."""
        self._is_due = True
        self._history_replaced = False
        self._count = 0

    def on_resume(self, view: SessionView) -> None:
        """Note whether a former process had shown it: then it is still in the view."""
        self._is_due = not view.injected_texts(ROLLOUT_MEMORY_ID_PREFIX)

    def on_history_replaced(self, reason: HistoryChange) -> None:
        """Show it again unless it is still in the view; after a rollback `on_resume` says so."""
        if reason != "rolled back":
            self._is_due = self._history_replaced = True

    async def before_request(self, view: SessionView, new_messages: Sequence[Message]) -> None:
        """Show it if it is due and there is any.

        Files that cannot be read stop nothing: the next request tries again.
        """
        del new_messages
        first = self._history_replaced or not view.has_model_reply
        if not self._is_due or not (first or view.accepts_messages):
            return
        if self._history_replaced and view.injected_texts(ROLLOUT_MEMORY_ID_PREFIX):
            # A developer message before the history survives a compaction; it stays in the
            # provider's cache.
            self._is_due = self._history_replaced = False
            return
        with contextlib.suppress(StoreError):
            text = self._render_text()
            self._is_due = self._history_replaced = False
            if text:
                view.insert_at_start(self._build_message(text)) if first else view.insert(
                    self._build_message(text)
                )

    def take_due_text(self) -> str:
        """Return the text for a host that shows it by itself; empty when it was shown already or
        there is none.

        Raises StoreError, and stays due.
        """
        text = self._render_text() if self._is_due else ""
        self._is_due = self._history_replaced = False
        return text

    def mark_shown(self) -> None:
        """Note that a former process showed it and it is still in the context."""
        self._is_due = False

    def register_recording(self, file: Path) -> None:
        """Register the recording of this session, and new ones in the same folder, as rollouts.

        Raises StoreError.
        """
        register_recordings_in_folder(self._runtime, self._open_state(), file.parent)

    def _render_text(self) -> str:
        return load_rollout_memory_view(self._runtime, self._context.project)

    def _build_message(self, text: str) -> Message:
        self._count += 1
        native = self._context.format != "openai_responses"
        return Message(
            id=f"{ROLLOUT_MEMORY_ID_PREFIX}{self._context.id[:40]}-{self._count}",
            role="user" if native else "developer",
            blocks=(
                TextBlock(
                    wrap_unescaped_text_in_tag(
                        require_context_tag_definition(REMINDER_TAG, "file-native"), text
                    )
                    if native
                    else text
                ),
            ),
            origin=Origin.INJECTED,
            timestamp=self._runtime.clock.now(),
        )

    def on_reply(self, reply: SessionReply) -> None:
        """Count the citations of a reply as uses. A database error loses a count, nothing else."""
        cited = [
            split_off_citations(text)[1]
            for text in _text_blocks(reply.messages)
            if "<oai-mem-citation>" in text
        ]
        if not cited:
            return
        with contextlib.suppress(StoreError):
            state = self._open_state()
            named = {
                path: thread
                for thread, path in map_summary_paths(
                    [each.extracted for each in list_enabled_extracts(state)]
                ).items()
            }
            record_rollout_citations(
                state,
                tuple(
                    dict.fromkeys(
                        thread for each in cited for thread in each.list_used_session_ids(named)
                    )
                ),
            )


def _text_blocks(messages: Iterable[Message]) -> Iterable[str]:
    return (
        block.text
        for message in messages
        for block in message.blocks
        if isinstance(block, TextBlock)
    )
