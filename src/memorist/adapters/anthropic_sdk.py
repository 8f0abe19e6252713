"""The Anthropic SDK: a middleware for its client.

    client = Anthropic(middleware=[MemoristMiddleware(project=".")])

Every `messages.create`, `messages.stream` and `messages.parse`, plain and beta, with or without the
tool runner, goes through it.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Generic, TypeVar, Unpack

from anthropic import APIRequest, APIResponse, AsyncAPIResponse, AsyncCallNext, CallNext, Middleware
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

from memorist.adapters.host_conversation import HostConversation
from memorist.adapters.memory_tool import MemoryToolCommands, collect_session_evidence
from memorist.adapters.response_tap import atap_response, attach_response_body_callback
from memorist.adapters.wire_adapter import AdapterOptions, WireAdapter, WireCall
from memorist.core.messages import JsonObject
from memorist.errors import MemoristError, UsageError

FORMAT = "anthropic"
MESSAGES_PATH = "/v1/messages"
BETAS_HEADER = "anthropic-beta"
"""The header that lists the betas a request needs, separated by commas."""
PROVIDER_HISTORY_FIELDS = ("thread",)
"""Fields of a request whose history the provider keeps."""

FEATURES = frozenset({"notes", "compaction", "recall", "extraction"})
"""Features of memorist that this adapter provides."""


class MemoristAnthropic(WireAdapter, Middleware):
    """For `Anthropic(middleware=[…])` and `AsyncAnthropic(middleware=[…])`, including clients of
    other clouds.

    Takes `AdapterOptions`. A request that the provider refuses as too long is sent once more,
    smaller, before the host sees the error. Retries by the SDK count as one call. A request of a
    message thread, whose history the provider keeps, passes unchanged: give the tool runner
    `thread=False`.
    """

    formats = (FORMAT,)

    def handle(self, request: APIRequest, call_next: CallNext) -> APIResponse[Any]:
        """One attempt of a blocking client."""
        exchange, body = self._begin_call(request)
        if exchange is None or body is None:
            return call_next(request)
        response = call_next(_replace_body(request, exchange, exchange.prepare(body)))
        if not response.http_response.is_success:
            smaller = exchange.shrink_if_error_says_too_long(
                response.status_code, response.http_response.read()
            )
            if smaller is None:
                return response
            response.close()
            response = call_next(_replace_body(request, exchange, smaller))
        if response.http_response.is_success:
            attach_response_body_callback(response.http_response, exchange.observe_body)
        return response

    async def handle_async(
        self, request: APIRequest, call_next: AsyncCallNext
    ) -> AsyncAPIResponse[Any]:
        """One attempt of an async client."""
        exchange, body = self._begin_call(request)
        if exchange is None or body is None:
            return await call_next(request)
        response = await call_next(_replace_body(request, exchange, await exchange.aprepare(body)))
        if not response.http_response.is_success:
            smaller = await exchange.ashrink_if_error_says_too_long(
                response.status_code, await response.http_response.aread()
            )
            if smaller is None:
                return response
            await response.close()
            response = await call_next(_replace_body(request, exchange, smaller))
        if response.http_response.is_success:
            await atap_response(response.http_response, exchange.aobserve_body)
        return response

    def _begin_call(self, request: APIRequest) -> tuple[WireCall | None, JsonObject | None]:
        """The call and its body; None for a request that is not a model call."""
        body = request.json
        if (
            request.method.lower() != "post"
            or request.url.partition("?")[0] != MESSAGES_PATH
            or not isinstance(body, dict)
        ):
            return None, None
        if self.has_provider_history(body, PROVIDER_HISTORY_FIELDS):
            return (None, None)
        return (self.begin_call(FORMAT, body), body)


def _replace_body(request: APIRequest, call: WireCall, body: JsonObject) -> APIRequest:
    """The request with another body and the betas that it needs; the same object when the body is
    its own.
    """
    if body is request.json:
        return request
    betas = call.betas
    if betas:
        return request.copy(body=body, headers=_add_betas(dict(request.headers), betas))
    return request.copy(body=body)


def _add_betas(headers: dict[str, Any], betas: Sequence[str]) -> dict[str, Any]:
    name = next((name for name in headers if name.lower() == BETAS_HEADER), BETAS_HEADER)
    given = headers.get(name)
    named = [each.strip() for each in given.split(",")] if isinstance(given, str) else []
    return {**headers, name: ",".join(dict.fromkeys(filter(None, (*named, *betas))))}


# Anthropic's memory tool over a project's memory.


_COMMAND_FIELDS = {
    "view": ("path", "view_range"),
    "create": ("path", "file_text"),
    "str_replace": ("path", "old_str", "new_str"),
    "insert": ("path", "insert_line", "insert_text"),
    "delete": ("path",),
    "rename": ("old_path", "new_path"),
    "clear": (),
}
"""Fields of each of the tool's commands, in the order of the method's parameters."""


class _MemoryToolBackend:
    """The memory of an adapter's project, and the conversation that proves the origin of what is
    written.
    """

    def __init__(self, adapter: MemoristAnthropic) -> None:
        if not adapter.project:
            raise UsageError("a memory tool needs a project, whose memory it is")
        self._adapter = adapter

    async def _execute(self, name: str, command: object, conversation: HostConversation) -> str:
        session = conversation.session
        engine = await self._adapter.attached.open_engine(conversation.name.user)
        memory = engine.memory(self._adapter.project)
        files = (
            MemoryToolCommands(memory)
            if session is None
            else MemoryToolCommands(memory, lambda: collect_session_evidence(session))
        )
        # The model may leave a field out; the command then says so.
        values = [getattr(command, field, None) for field in _COMMAND_FIELDS[name]]
        done: str = getattr(files, name)(*values)
        return done

    def run(self, name: str, command: object = None) -> str:
        """Run the command of this name and wait. Raises ToolError, whose text the model sees."""
        talk = self._adapter.conversation()
        try:
            return self._adapter.attached.run(lambda: self._execute(name, command, talk))
        except MemoristError as error:
            raise ToolError(str(error)) from error

    async def arun(self, name: str, command: object = None) -> str:
        """As `run`, async."""
        talk = self._adapter.conversation()
        try:
            return await self._adapter.attached.arun(lambda: self._execute(name, command, talk))
        except MemoristError as error:
            raise ToolError(str(error)) from error


Done = TypeVar("Done")
"""What a command returns: the text that the model sees, or a coroutine that does."""


class _MemoryToolMethods(Generic[Done]):
    """The SDK's methods, one for each command; blocking or async as `_run` is."""

    _run: Callable[..., Done]

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> Done:
        """Show a folder's files, or a file's lines."""
        return self._run("view", command)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> Done:
        """Create a file."""
        return self._run("create", command)

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> Done:
        """Replace one text in a file."""
        return self._run("str_replace", command)

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> Done:
        """Insert lines into a file."""
        return self._run("insert", command)

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> Done:
        """Delete a file or folder; the user is asked first."""
        return self._run("delete", command)

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> Done:
        """Rename a file or folder."""
        return self._run("rename", command)

    def clear_all_memory(self) -> Done:
        """Forget all files; the program's request counts as the user's.

        The history still has them.
        """
        return self._run("clear")


class MemoristMemoryTool(_MemoryToolMethods[str], BetaAbstractMemoryTool):
    """For `Anthropic().beta.messages.tool_runner`, or a loop of one's own through `execute`.

    `adapter` is the client's `MemoristAnthropic`: the tool then belongs to its project and its
    conversation, which proves the origin of a memory. Without it the tool takes `AdapterOptions`,
    and nothing proves the origin of what the model writes. Raises UsageError without a project.
    """

    def __init__(
        self,
        adapter: MemoristAnthropic | None = None,
        *,
        cache_control: BetaCacheControlEphemeralParam | None = None,
        **options: Unpack[AdapterOptions],
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._run = _MemoryToolBackend(adapter or MemoristAnthropic(**options)).run


class AsyncMemoristMemoryTool(
    _MemoryToolMethods[Coroutine[Any, Any, str]], BetaAsyncAbstractMemoryTool
):
    """For `AsyncAnthropic().beta.messages.tool_runner`, or a loop of one's own through `execute`.

    `adapter` is the client's `MemoristAnthropic`: the tool then belongs to its project and its
    conversation, which proves the origin of a memory. Without it the tool takes `AdapterOptions`,
    and nothing proves the origin of what the model writes. Raises UsageError without a project.
    """

    def __init__(
        self,
        adapter: MemoristAnthropic | None = None,
        *,
        cache_control: BetaCacheControlEphemeralParam | None = None,
        **options: Unpack[AdapterOptions],
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._run = _MemoryToolBackend(adapter or MemoristAnthropic(**options)).arun
