"""Anthropic's memory tool over a project's memory.

runner = client.beta.messages.tool_runner(tools=[MemoristMemoryTool(project=".")], …)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Unpack

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anthropic.types.beta import (
    BetaCacheControlEphemeralParam,
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)

from memorist.adapters.anthropic_sdk import MemoristMiddleware
from memorist.adapters.conversation import Conversation
from memorist.adapters.memory_files import MemoryFiles, said_in
from memorist.adapters.wire_plug import PlugOptions
from memorist.errors import MemoristError, UsageError

Command = Callable[[MemoryFiles], str]


class _Behind:
    """The memory of an adapter's project, and the conversation that proves the origin of what is
    written.
    """

    def __init__(self, plug: MemoristMiddleware) -> None:
        if not plug.project:
            raise UsageError("a memory tool needs a project, whose memory it is")
        self._plug = plug

    async def _done(self, command: Command, talk: Conversation) -> str:
        session = talk.session
        memory = self._plug.attached.engine.memory(self._plug.project)
        return command(MemoryFiles(memory) if session is None else MemoryFiles(memory, lambda: said_in(session)))

    def wait(self, command: Command) -> str:
        """Run a command and wait. Raises ToolError, whose text the model sees."""
        talk = self._plug.conversation()
        try:
            return self._plug.attached.wait(lambda: self._done(command, talk))
        except MemoristError as error:
            raise ToolError(str(error)) from error

    async def ran(self, command: Command) -> str:
        """As `run`, async."""
        talk = self._plug.conversation()
        try:
            return await self._plug.attached.ran(lambda: self._done(command, talk))
        except MemoristError as error:
            raise ToolError(str(error)) from error


class MemoristMemoryTool(BetaAbstractMemoryTool):
    """For `Anthropic().beta.messages.tool_runner`, or a loop of one's own through `execute`.

    `adapter` is the client's `MemoristAnthropic`: the tool then belongs to its project and its
    conversation, which proves the origin of a memory. Without it the tool takes `AdapterOptions`, and
    nothing proves the origin of what the model writes. Raises UsageError without a project.
    """

    def __init__(
        self,
        plug: MemoristMiddleware | None = None,
        *,
        cache_control: BetaCacheControlEphemeralParam | None = None,
        **options: Unpack[PlugOptions],
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._behind = _Behind(plug or MemoristMiddleware(**options))

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a folder's files, or a file's lines."""
        return self._behind.wait(lambda files: files.view(_given(command, "path"), _given(command, "view_range")))

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Create a file."""
        return self._behind.wait(lambda files: files.create(_given(command, "path"), _given(command, "file_text")))

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace one text in a file."""
        return self._behind.wait(
            lambda files: files.str_replace(_given(command, "path"), _given(command, "old_str"), _given(command, "new_str"))
        )

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert lines into a file."""
        return self._behind.wait(
            lambda files: files.insert(_given(command, "path"), _given(command, "insert_line"), _given(command, "insert_text"))
        )

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file or folder; the user is asked first."""
        return self._behind.wait(lambda files: files.delete(_given(command, "path")))

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Rename a file or folder."""
        return self._behind.wait(lambda files: files.rename(_given(command, "old_path"), _given(command, "new_path")))

    def clear_all_memory(self) -> str:
        """Forget all files; the program's request counts as the user's.

        The history still has them.
        """
        return self._behind.wait(lambda files: files.clear())


class AsyncMemoristMemoryTool(BetaAsyncAbstractMemoryTool):
    """For `AsyncAnthropic().beta.messages.tool_runner`, or a loop of one's own through `execute`.

    `adapter` is the client's `MemoristAnthropic`: the tool then belongs to its project and its
    conversation, which proves the origin of a memory. Without it the tool takes `AdapterOptions`, and
    nothing proves the origin of what the model writes. Raises UsageError without a project.
    """

    def __init__(
        self,
        plug: MemoristMiddleware | None = None,
        *,
        cache_control: BetaCacheControlEphemeralParam | None = None,
        **options: Unpack[PlugOptions],
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._behind = _Behind(plug or MemoristMiddleware(**options))

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a folder's files, or a file's lines."""
        return await self._behind.ran(lambda files: files.view(_given(command, "path"), _given(command, "view_range")))

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Create a file."""
        return await self._behind.ran(lambda files: files.create(_given(command, "path"), _given(command, "file_text")))

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace one text in a file."""
        return await self._behind.ran(
            lambda files: files.str_replace(_given(command, "path"), _given(command, "old_str"), _given(command, "new_str"))
        )

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert lines into a file."""
        return await self._behind.ran(
            lambda files: files.insert(_given(command, "path"), _given(command, "insert_line"), _given(command, "insert_text"))
        )

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file or folder; the user is asked first."""
        return await self._behind.ran(lambda files: files.delete(_given(command, "path")))

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Rename a file or folder."""
        return await self._behind.ran(lambda files: files.rename(_given(command, "old_path"), _given(command, "new_path")))

    async def clear_all_memory(self) -> str:
        """Forget all files; the program's request counts as the user's.

        The history still has them.
        """
        return await self._behind.ran(lambda files: files.clear())


def _given(command: object, name: str) -> object:
    """A field of a command; None when the model left it out."""
    return getattr(command, name, None)
