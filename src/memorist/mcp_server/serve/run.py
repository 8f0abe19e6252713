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
from collections.abc import Callable
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
from mcp.shared.message import ServerMessageMetadata

from memorist import __version__
from memorist.errors import InputError, MemoristError, UsageError
from memorist.mcp_server.asked import NAME, QUERY, TOOLS, sound, taken
from memorist.prompts.load import load

if TYPE_CHECKING:
    from memorist.mcp_server.desk.run import Desk

Context = ServerRequestContext[Any]
Asking = types.CallToolRequestParams | types.ReadResourceRequestParams | types.GetPromptRequestParams
Answer = TypeVar("Answer")

ROOTS = "roots"
ROOTS_SECONDS = 5.0
"""Longest wait for a client's roots, which it knows without asking its user."""
INDEX_URI = "memorist://memory"
NOTES_URI = "memorist://notes"
MARKDOWN = "text/markdown"
_CLIENT = re.compile(r"[^A-Za-z0-9._-]+")

PROMPTS = (
    types.Prompt(
        name="compact",
        title="Record of this conversation",
        description="Have the agent write down all that is needed to go on with the work in a new session.",
        arguments=[
            types.PromptArgument(name="instructions", description="What the record should hold besides."),
            types.PromptArgument(name="session", description="A session whose notes to add, by its id or the start of it."),
        ],
    ),
    types.Prompt(
        name="skillify",
        title="Make a skill of a session",
        description="Have the agent interview you and write a SKILL.md of what was done.",
        arguments=[
            types.PromptArgument(name="session", description="The session, by its id or the start of it. Left out: the newest."),
            types.PromptArgument(name="description", description="What the skill is for, in your words."),
        ],
    ),
)
_ARGUMENTS = {prompt.name: {argument.name for argument in prompt.arguments or ()} for prompt in PROMPTS}


class NeedsRoots(Exception):
    """The client has roots, and its protocol version asks for them in the response to its own
    request.
    """


class Reception:
    """The server's handlers.

    `folder` is the project that the user configured; None leaves it to the client's roots or the
    working folder.
    """

    def __init__(self, named: Path | None, working: Path) -> None:
        self._named = named
        self._working = working
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="memorist-mcp")
        self._desk: Desk | None = None

    def server(self) -> Server[Any]:
        """Build the SDK's server with all handlers."""
        return Server(
            "memorist",
            version=__version__,
            title="memorist",
            instructions=load("mcp/instructions").strip(),
            on_list_tools=self._tools,
            on_call_tool=self._call,
            on_list_resources=self._resources,
            on_list_resource_templates=self._templates,
            on_read_resource=self._read,
            on_list_prompts=self._prompts,
            on_get_prompt=self._prompt,
        )

    def _loaded(self) -> Desk:
        desk = self._desk
        if desk is None:
            desk = self._desk = import_module("memorist.mcp_server.desk.run").Desk()
        return desk

    async def _work(self, work: Callable[[Desk], Answer]) -> Answer:
        """Run a call of the dispatcher in its thread.

        A started call is finished even if the client disconnects.
        """
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: work(self._loaded()))

    async def _root(self, context: Context, asking: Asking | None) -> Path:
        """Return the root of the project that the client works in.

        Raises InputError, RootsRequired.
        """
        roots = [] if self._named is not None else await _roots(context, asking)
        return await self._work(lambda desk: desk.root(self._named, roots, self._working))

    async def _tools(self, _context: Context, _asked: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        offered = [
            types.Tool(
                name=tool.name,
                title=tool.title,
                description=tool.description,
                input_schema=tool.schema,
                annotations=types.ToolAnnotations(
                    title=tool.title, read_only_hint=tool.reads, destructive_hint=False, idempotent_hint=tool.reads, open_world_hint=False
                ),
            )
            for tool in TOOLS
        ]
        self._thread.submit(self._loaded)
        return types.ListToolsResult(tools=offered)

    async def _call(self, context: Context, asked: types.CallToolRequestParams) -> types.CallToolResult | types.InputRequiredResult:
        try:
            wanted = taken(asked.name, asked.arguments or {})
            root = await self._root(context, asked)
            text = await self._work(lambda desk: desk.answer(root, wanted, client_name(context)))
        except NeedsRoots:
            return _ask_for_roots()
        except MemoristError as error:
            return types.CallToolResult(content=[types.TextContent(type="text", text=sound(str(error)))], is_error=True)
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    async def _resources(self, context: Context, _asked: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        found = [types.Resource(uri=INDEX_URI, name="index", title="Memories of this project", mime_type=MARKDOWN)]
        try:
            root = await self._root(context, None)
            sessions = await self._work(lambda desk: desk.with_notes(root))
        except (MemoristError, NeedsRoots):
            sessions = []  # reading the index reports the error; a list cannot
        for each in sessions:
            uri = f"{NOTES_URI}/{quote(each.id, safe='')}"
            found.append(types.Resource(uri=uri, name=f"notes {sound(each.id)[:NAME]}", title="Notes of a session", mime_type=MARKDOWN))
        return types.ListResourcesResult(resources=found)

    async def _templates(self, _context: Context, _asked: types.PaginatedRequestParams | None) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(
            resource_templates=[
                types.ResourceTemplate(uri_template=f"{INDEX_URI}/{{+path}}", name="memory", title="A memory", mime_type=MARKDOWN),
                types.ResourceTemplate(
                    uri_template=f"{NOTES_URI}/{{session}}", name="notes", title="Notes of a session", mime_type=MARKDOWN
                ),
            ]
        )

    async def _read(self, context: Context, asked: types.ReadResourceRequestParams) -> types.ReadResourceResult | types.InputRequiredResult:
        uri = str(asked.uri)
        try:
            root = await self._root(context, asked)
            text = await self._work(lambda desk: _resource(desk, root, uri, client_name(context)))
        except NeedsRoots:
            return _ask_for_roots()
        except MemoristError as error:
            raise _refused(error) from error
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=asked.uri, text=text, mime_type=MARKDOWN)])

    async def _prompts(self, _context: Context, _asked: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=list(PROMPTS))

    async def _prompt(self, context: Context, asked: types.GetPromptRequestParams) -> types.GetPromptResult | types.InputRequiredResult:
        given = {name: sound(value)[:QUERY] for name, value in (asked.arguments or {}).items()}
        try:
            if asked.name not in _ARGUMENTS or not set(given) <= _ARGUMENTS[asked.name]:
                raise InputError("there is no such prompt, or it has no such argument; prompts/list names them")
            root = await self._root(context, asked)
            session = given.get("session", "")
            if asked.name == "compact":
                text = await self._work(lambda desk: desk.compact(root, session, given.get("instructions", "")))
            else:
                text = await self._work(lambda desk: desk.skillify(root, session, given.get("description", "")))
        except NeedsRoots:
            return _ask_for_roots()
        except MemoristError as error:
            raise _refused(error) from error
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))])

    def close(self) -> None:
        """Finish started calls and close the files."""
        if self._desk is not None:
            self._thread.submit(self._desk.close)
        self._thread.shutdown(wait=True)


def _resource(desk: Desk, root: Path, uri: str, client: str) -> str:
    if uri.rstrip("/") == INDEX_URI:
        return desk.index(root)
    for start, read in ((f"{INDEX_URI}/", partial(desk.memory, client=client)), (f"{NOTES_URI}/", desk.notes)):
        if uri.startswith(start):
            return read(root, sound(unquote(uri.removeprefix(start)))[:NAME])
    raise InputError(f"there is no resource {sound(uri)[:NAME]!r}; {INDEX_URI} names the memories")


def _refused(error: MemoristError) -> MCPError:
    wrong = isinstance(error, InputError | UsageError)
    return MCPError(code=types.INVALID_PARAMS if wrong else types.INTERNAL_ERROR, message=sound(str(error)))


def client_name(context: Context) -> str:
    """Name of the client in history and ledger: what it calls itself, reduced to plain characters.
    """
    given = context.session.client_params
    name = _CLIENT.sub("-", given.client_info.name).strip("-.") if given is not None else ""
    return name[:40] or "agent"


async def _roots(context: Context, asking: Asking | None) -> list[str]:
    """Return the client's roots; none where it has none.

    Raises InputError when it has some and does not report them, RootsRequired.
    """
    has = context.session.client_capabilities
    if has is None or has.roots is None:
        return []
    given = (asking.input_responses or {}).get(ROOTS) if asking is not None else None
    if isinstance(given, types.ListRootsResult):
        return [str(root.uri) for root in given.roots]
    if not context.session.can_send_request:
        raise NeedsRoots
    related = ServerMessageMetadata(related_request_id=context.request_id)
    try:
        said = await context.session.send_request(types.ListRootsRequest(), types.ListRootsResult, ROOTS_SECONDS, related)
    except (MCPError, ValueError) as error:  # it refuses, does not answer in time, or answers something else
        raise InputError("the client does not say where it works; start the server with --project FOLDER") from error
    return [str(root.uri) for root in said.roots]


def _ask_for_roots() -> types.InputRequiredResult:
    return types.InputRequiredResult(input_requests={ROOTS: types.ListRootsRequest()})


def serve_stdio(named: Path | None, working: Path) -> None:
    """Serve one client on standard input and output, until it disconnects."""
    # The reader waits in a thread that no KeyboardInterrupt reaches; being killed loses nothing.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    reception = Reception(named, working)
    server = reception.server()

    async def serve() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    try:
        anyio.run(serve)
    finally:
        reception.close()
