"""The MCP server: tools, resources and prompts with the official SDK, over standard input and
output. Needs the extra `mcp`.

The SDK speaks the protocol. Answers come from the dispatcher, which runs in one thread of its own,
so that the connection stays responsive while a file is locked. Its modules are loaded in that
thread once the client has listed the tools, so that the first answer is fast.
"""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, unquote

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from pydantic import ValidationError

from memorist import __version__
from memorist.core.prompt_templates import load_prompt
from memorist.core.text_encoding import replace_surrogates
from memorist.errors import InputError, MemoristError, UsageError
from memorist.mcp_server.handshake import describe_tools
from memorist.mcp_server.tool_arguments import (
    MAX_NAME_CHARS,
    MAX_QUERY_CHARS,
    MEMORY_URI,
    parse_mcp_tool_arguments,
)

if TYPE_CHECKING:
    from memorist.mcp_server.call_dispatch import ToolDispatcher

McpContext = ServerRequestContext[Any]
RootsAwareParams = (
    types.CallToolRequestParams | types.ReadResourceRequestParams | types.GetPromptRequestParams
)
DispatchResult = TypeVar("DispatchResult")

ROOTS_KEY = "roots"
ROOTS_TIMEOUT_SECONDS = 5.0
"""Longest wait for a client's roots, which it knows without asking its user."""
NOTES_URI = "memorist://notes"
MARKDOWN = "text/markdown"
_CLIENT = re.compile(r"[^A-Za-z0-9._-]+")

PROMPTS = (
    types.Prompt(
        name="compact",
        title="Record of this conversation",
        description="Have the agent write down all that is needed to go on with the work in a new "
        "session.",
        arguments=[
            types.PromptArgument(
                name="instructions", description="What the record should hold besides."
            ),
            types.PromptArgument(
                name="session",
                description="A session whose notes to add, by its id or the start of it.",
            ),
        ],
    ),
    types.Prompt(
        name="skillify",
        title="Make a skill of a session",
        description="Have the agent interview you and write a SKILL.md of what was done.",
        arguments=[
            types.PromptArgument(
                name="session",
                description="The session, by its id or the start of it. Left out: the newest.",
            ),
            types.PromptArgument(
                name="description", description="What the skill is for, in your words."
            ),
        ],
    ),
)
_ARGUMENTS = {
    prompt.name: {argument.name for argument in prompt.arguments or ()} for prompt in PROMPTS
}


class RootsRequired(Exception):
    """The client has roots, and its protocol version asks for them in the response to its own
    request.
    """


class McpServer:
    """The server's handlers.

    `folder` is the project that the user configured; None leaves it to the client's roots or the
    working folder.
    """

    def __init__(self, folder: Path | None, working_folder: Path) -> None:
        self._folder = folder
        self._working_folder = working_folder
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="memorist-mcp")
        self._dispatcher: ToolDispatcher | None = None

    def build_server(self) -> Server[Any]:
        """Build the SDK's server with all handlers."""
        return Server(
            "memorist",
            version=__version__,
            title="memorist",
            instructions=load_prompt("mcp/instructions").strip(),
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
        )

    def _load_dispatcher(self) -> ToolDispatcher:
        dispatcher = self._dispatcher
        if dispatcher is None:
            dispatcher = self._dispatcher = import_module(
                "memorist.mcp_server.call_dispatch"
            ).ToolDispatcher()
        return dispatcher

    async def _dispatch(self, work: Callable[[ToolDispatcher], DispatchResult]) -> DispatchResult:
        """Run a call of the dispatcher in its thread.

        A started call is finished even if the client disconnects.
        """
        return await asyncio.get_running_loop().run_in_executor(
            self._thread, lambda: work(self._load_dispatcher())
        )

    async def _find_root(self, context: McpContext, params: RootsAwareParams | None) -> Path:
        """Return the root of the project that the client works in.

        Raises InputError, RootsRequired.
        """
        roots = [] if self._folder is not None else await _client_roots(context, params)
        return await self._dispatch(
            lambda dispatcher: dispatcher.find_root(self._folder, roots, self._working_folder)
        )

    async def _list_tools(
        self, _context: McpContext, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        self._thread.submit(self._load_dispatcher)
        return types.ListToolsResult.model_validate({"tools": describe_tools()})

    async def _call_tool(
        self, context: McpContext, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        try:
            wanted = parse_mcp_tool_arguments(params.name, params.arguments or {})
            root = await self._find_root(context, params)
            text = await self._dispatch(
                lambda dispatcher: dispatcher.call_tool(root, wanted, get_client_name(context))
            )
        except RootsRequired:
            return _request_roots()
        except MemoristError as error:
            return types.CallToolResult(
                content=[types.TextContent(type="text", text=replace_surrogates(str(error)))],
                is_error=True,
            )
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    async def _list_resources(
        self, context: McpContext, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        found = [
            types.Resource(
                uri=MEMORY_URI, name="index", title="Memories of this project", mime_type=MARKDOWN
            )
        ]
        try:
            root = await self._find_root(context, None)
            sessions = await self._dispatch(
                lambda dispatcher: dispatcher.list_sessions_with_notes(root)
            )
        except (MemoristError, RootsRequired):
            sessions = []  # reading the index reports the error; a list cannot
        for each in sessions:
            uri = f"{NOTES_URI}/{quote(each.id, safe='')}"
            found.append(
                types.Resource(
                    uri=uri,
                    name=f"notes {replace_surrogates(each.id)[:MAX_NAME_CHARS]}",
                    title="Notes of a session",
                    mime_type=MARKDOWN,
                )
            )
        return types.ListResourcesResult(resources=found)

    async def _list_templates(
        self, _context: McpContext, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(
            resource_templates=[
                types.ResourceTemplate(
                    uri_template=f"{MEMORY_URI}/{{+path}}",
                    name="memory",
                    title="A memory",
                    mime_type=MARKDOWN,
                ),
                types.ResourceTemplate(
                    uri_template=f"{NOTES_URI}/{{session}}",
                    name="notes",
                    title="Notes of a session",
                    mime_type=MARKDOWN,
                ),
            ]
        )

    async def _read_resource(
        self, context: McpContext, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult | types.InputRequiredResult:
        uri = str(params.uri)
        try:
            root = await self._find_root(context, params)
            text = await self._dispatch(
                lambda dispatcher: _read_uri(dispatcher, root, uri, get_client_name(context))
            )
        except RootsRequired:
            return _request_roots()
        except MemoristError as error:
            raise _to_mcp_error(error) from error
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=params.uri, text=text, mime_type=MARKDOWN)]
        )

    async def _list_prompts(
        self, _context: McpContext, _params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=list(PROMPTS))

    async def _get_prompt(
        self, context: McpContext, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        given = {
            name: replace_surrogates(value)[:MAX_QUERY_CHARS]
            for name, value in (params.arguments or {}).items()
        }
        try:
            if params.name not in _ARGUMENTS or not set(given) <= _ARGUMENTS[params.name]:
                raise InputError(
                    "there is no such prompt, or it has no such argument; prompts/list names them"
                )
            root = await self._find_root(context, params)
            session = given.get("session", "")
            if params.name == "compact":
                text = await self._dispatch(
                    lambda dispatcher: dispatcher.render_compact_prompt(
                        root, session, given.get("instructions", "")
                    )
                )
            else:
                text = await self._dispatch(
                    lambda dispatcher: dispatcher.render_skillify_prompt(
                        root, session, given.get("description", "")
                    )
                )
        except RootsRequired:
            return _request_roots()
        except MemoristError as error:
            raise _to_mcp_error(error) from error
        return types.GetPromptResult(
            messages=[
                types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
            ]
        )

    def close(self) -> None:
        """Finish started calls and close the files."""
        if self._dispatcher is not None:
            self._thread.submit(self._dispatcher.close)
        self._thread.shutdown(wait=True)


def _read_uri(dispatcher: ToolDispatcher, root: Path, uri: str, client: str) -> str:
    if uri.rstrip("/") == MEMORY_URI:
        return dispatcher.read_index(root)
    for start, read in (
        (f"{MEMORY_URI}/", partial(dispatcher.read_memory, client=client)),
        (f"{NOTES_URI}/", dispatcher.read_notes),
    ):
        if uri.startswith(start):
            return read(root, replace_surrogates(unquote(uri.removeprefix(start)))[:MAX_NAME_CHARS])
    raise InputError(
        f"there is no resource {replace_surrogates(uri)[:MAX_NAME_CHARS]!r}; {MEMORY_URI} names "
        f"the memories"
    )


def _to_mcp_error(error: MemoristError) -> MCPError:
    wrong = isinstance(error, InputError | UsageError)
    return MCPError(
        code=types.INVALID_PARAMS if wrong else types.INTERNAL_ERROR,
        message=replace_surrogates(str(error)),
    )


def get_client_name(context: McpContext) -> str:
    """Name of the client in history and ledger: what it calls itself, reduced to plain
    characters.
    """
    given = context.session.client_params
    name = _CLIENT.sub("-", given.client_info.name).strip("-.") if given is not None else ""
    return name[:40] or "agent"


async def _client_roots(context: McpContext, params: RootsAwareParams | None) -> list[str]:
    """Return the client's roots; none where it has none.

    Raises InputError when it has some and does not report them, RootsRequired.
    """
    has = context.session.client_capabilities
    if has is None or has.roots is None:
        return []
    given = (params.input_responses or {}).get(ROOTS_KEY) if params is not None else None
    if isinstance(given, types.ListRootsResult):
        return [str(root.uri) for root in given.roots]
    if not context.session.can_send_request:
        raise RootsRequired
    related = ServerMessageMetadata(related_request_id=context.request_id)
    try:
        said = await context.session.send_request(
            types.ListRootsRequest(), types.ListRootsResult, ROOTS_TIMEOUT_SECONDS, related
        )
    except (
        MCPError,
        ValueError,
    ) as error:  # it refuses, does not answer in time, or answers something else
        raise InputError(
            "the client does not say where it works; start the server with --project FOLDER"
        ) from error
    return [str(root.uri) for root in said.roots]


def _request_roots() -> types.InputRequiredResult:
    return types.InputRequiredResult(input_requests={ROOTS_KEY: types.ListRootsRequest()})


def _build_refusal(error: Exception) -> types.JSONRPCError | None:
    """The answer to what the SDK could not read; None where none is waited for."""
    if not isinstance(error, ValidationError):
        return None
    # What lacks a field that it must have is the message, and not a part of it.
    found = error.errors()
    whole = next((each for each in found if each["type"] == "missing"), found[-1])
    given = whole["input"]
    if whole["type"] == "json_invalid":
        if not given.strip():
            return None
        code, why = types.PARSE_ERROR, "the line is no JSON, or nested too deep"
    else:
        code, why = types.INVALID_REQUEST, "the message is no request of JSON-RPC 2.0"
    if isinstance(given, dict) and ("id" not in given or given.keys() & {"result", "error"}):
        return None
    id = given.get("id") if isinstance(given, dict) else None
    return types.JSONRPCError(
        jsonrpc="2.0",
        id=id if isinstance(id, int | str) else None,
        error=types.ErrorData(code=code, message=why),
    )


def serve_stdio(folder: Path | None, working_folder: Path) -> None:
    """Serve one client on standard input and output, until it disconnects."""
    # The reader waits in a thread that no KeyboardInterrupt reaches; being killed loses nothing.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    memory_server = McpServer(folder, working_folder)
    server = memory_server.build_server()

    async def serve() -> None:
        async with stdio_server() as (reading, writing):

            async def answer_refused_messages() -> AsyncIterator[SessionMessage]:
                """What the client sends, but for what the SDK refuses to read: it would drop that,
                and who sent it would wait for an answer.
                """
                async with reading:
                    async for message in reading:
                        if not isinstance(message, Exception):
                            yield message
                        elif (refusal := _build_refusal(message)) is not None:
                            await writing.send(SessionMessage(refusal))

            readable: Any = answer_refused_messages()
            await server.run(readable, writing, server.create_initialization_options())

    try:
        anyio.run(serve)
    finally:
        memory_server.close()
