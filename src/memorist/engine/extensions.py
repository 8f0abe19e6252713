"""What memorist adds to a session's requests: memories, rollout memory and, where the host asks for
it, the whole context.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from memorist.auto_memory.index import MemoryUsage
from memorist.auto_memory.location import locate_memory
from memorist.auto_memory.memory import AutoMemory
from memorist.context.environment import HostContext
from memorist.context.pieces import ContextPiece
from memorist.core.messages import JsonObject, Message, Origin
from memorist.dream.dream import Dream, PastSession
from memorist.engine.context_assembly import ContextExtension
from memorist.engine.request_view import RequestView
from memorist.engine.rollout_memory import RolloutMemoryExtension
from memorist.engine.session_log import SessionLog
from memorist.errors import MemoristError
from memorist.forks.spec import ParentCall
from memorist.magic_docs.magic_docs import (
    DocumentRegistry,
    MagicDocs,
)
from memorist.runtime import Runtime, SessionContext
from memorist.store.sessions import list_sessions, total_uses

# Build the dream of a project from the dependencies of a session or of a command.


def open_dream(memory: AutoMemory, context: SessionContext) -> Dream:
    """Build the dream of a memory, either for the end of a session's turns or for a command."""
    runtime, where = context.runtime, memory.layout
    folders: dict[str, Path | None] = {}

    def past() -> list[PastSession]:
        rows = list_sessions(runtime.open_database())
        return [
            PastSession(id, Path(folder))
            for id, project, folder in rows
            if _memory_folder(project, runtime, folders) == where.folder
        ]

    def uses() -> dict[str, MemoryUsage]:
        try:
            found = total_uses(runtime.open_database(), str(where.folder))
        except MemoristError:
            return {}
        return {path: MemoryUsage(total.used, total.last) for path, total in found.items()}

    settings = replace(runtime.settings, auto_memory=memory.settings)
    return Dream(
        replace(context, runtime=replace(runtime, settings=settings)),
        where,
        past_sessions=past,
        uses=uses,
    )


def _memory_folder(project: str, runtime: Runtime, known: dict[str, Path | None]) -> Path | None:
    """Return the memory folder of a project, cached in `known`."""
    if not project:
        return None
    if project not in known:
        settings = runtime.settings.auto_memory
        known[project] = locate_memory(runtime.layout, project, settings).folder
    return known[project]


class SessionExtensions:
    """The extensions of one session.

    `before_request` is called before each request, after its new messages were recorded.
    """

    def __init__(
        self,
        log: SessionLog,
        memory: AutoMemory | None,
        open_context: Callable[[HostContext], ContextExtension],
        rollout_memory: RolloutMemoryExtension | None = None,
    ) -> None:
        self._log = log
        self._rollout_memory = rollout_memory
        self._open_context = open_context
        self._context_extension: ContextExtension | None = None
        self._magic_docs = MagicDocs(
            log.memory_extension.conversation_reader, log.context, _document_registry(log.context)
        )
        context = log.context
        self._dream = None if memory is None else open_dream(memory, context)

    @property
    def context(self) -> tuple[ContextPiece, ...]:
        """The first context as the model sees it; empty where the host assembles its own."""
        return () if self._context_extension is None else self._context_extension.pieces

    def assemble(self, context: HostContext) -> None:
        """Assemble the context for the host, or note that something in it changed."""
        if self._context_extension is None:
            self._context_extension = self._open_context(context)
        else:
            self._context_extension.update_host(context)

    def on_resume(self, view: RequestView) -> None:
        """Restore the state of the extensions at the first request of this process, from the
        messages that are already in the view.
        """
        self._log.memory_extension.on_resume(view)
        if self._rollout_memory is not None:
            self._rollout_memory.on_resume(view)
        for message in view.messages():
            if message.origin is Origin.INJECTED:
                self._log.invoked_skills.on_message(message)

    async def before_request(
        self,
        view: RequestView,
        request: JsonObject,
        messages: Sequence[Message],
        window: int | None,
    ) -> None:
        """Insert what the extensions have to show before a request is sent.

        `messages` are the new ones of this request; `window` is the model's context window in
        tokens, or None when unknown.
        """
        await self._log.memory_extension.wait_for_scan()
        if self._context_extension is not None:
            await self._context_extension.before_request(view, request, messages, window)
        if self._rollout_memory is not None:
            self._rollout_memory.before_request(view)
        self._log.memory_extension.before_request(view, messages)

    def on_history_replaced(self) -> None:
        """Reset the extensions: the conversation was compacted or rewritten by the host, so what
        they had inserted is gone.
        """
        self._log.memory_extension.on_history_replaced()
        if self._rollout_memory is not None:
            self._rollout_memory.on_history_replaced()
        if self._context_extension is not None:
            self._context_extension.on_history_replaced()

    def on_rollback(self, view: RequestView) -> None:
        """Reset the extensions after the user rolled turns back: what they had inserted in those
        turns is gone.
        """
        self._log.memory_extension.on_history_replaced()
        self._log.memory_extension.on_resume(view)
        if self._rollout_memory is not None:
            self._rollout_memory.on_resume(view)
        if self._context_extension is not None:
            self._log.flush()
            self._context_extension.on_rollback(view)

    def add_system_prompt(self, request: JsonObject) -> JsonObject:
        """Return the request with memorist's system prompt added."""
        return (
            request
            if self._context_extension is None
            else self._context_extension.add_system_prompt(request)
        )

    def on_file_read(self, path: str) -> None:
        """Note that a file was read into the conversation."""
        self._magic_docs.on_file_read(path)
        if self._context_extension is not None:
            self._context_extension.on_file_read(path)

    def on_reply(self, messages: Sequence[Message]) -> None:
        """Pass on the model's reply, which may cite the rollout memory that it used."""
        if self._rollout_memory is not None:
            self._rollout_memory.on_reply(messages)

    def on_turn_end(self, parent: ParentCall | None) -> None:
        """Pass on the end of a turn: the host now waits for its user."""
        self._log.memory_extension.on_turn_end(parent)
        if not self._log.tracker.open_calls.calls and self._log.context.host.memory:
            self._magic_docs.on_turn_end(parent)
        if self._dream is not None:
            self._dream.on_turn_end()
        if self._context_extension is not None:
            self._context_extension.on_turn_end()

    async def close(self) -> None:
        """Wait for the background work of the extensions."""
        if self._context_extension is not None:
            await self._context_extension.close()
        await self._magic_docs.drain()
        if self._dream is not None:
            await self._dream.drain()


def _document_registry(context: SessionContext) -> DocumentRegistry:
    return DocumentRegistry(
        context.runtime.files, context.layout.magic_docs if context.project else None
    )
