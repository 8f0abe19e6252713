"""The server of the page: one person, one browser, this machine alone. Needs the extra `ui`."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memorist.auto_memory.memory_location import list_projects_with_memory, locate_project_root
from memorist.cli.memory.project_memory_access import open_project_memory
from memorist.errors import MemoristError
from memorist.page import (
    health_views,
    inbox_views,
    memory_views,
    now_view,
    past_session_views,
    session_views,
    spend_view,
)
from memorist.page.memory_actions import perform_memory_action
from memorist.page.page_access import SECURITY_HEADERS, PageAccess, restrict_redirect_to_page
from memorist.page.page_context import PageContext, build_project_links, build_view_address
from memorist.platforms.loopback_peers import is_connection_of_other_user
from memorist.store.disk_files import DiskFiles
from memorist.uvicorn_server import BoundedUvicornConfig
from memorist.views.page_rendering import (
    PageFrame,
    read_static_asset,
    render_page,
    render_view_blocks,
)
from memorist.views.page_texts import ENGLISH, choose_language, translate, use_language
from memorist.views.view_blocks import PageView, convert_view_to_safe_values

MAX_BODY_BYTES = 3_100_000
"""Largest form: a memory has at most a million bytes, each of which its form may write as three."""
STREAM_INTERVAL_SECONDS = 2.0
"""How often the view Now is looked at again. Our choice."""
MAX_IDLE_SECONDS = 1800.0
"""A page that nobody looks at ends after half an hour. Our choice."""
ASSETS = {
    "page.css": "text/css; charset=utf-8",
    "keys.js": "text/javascript; charset=utf-8",
    "htmx.min.js": "text/javascript; charset=utf-8",
    "htmx-sse.min.js": "text/javascript; charset=utf-8",
}

Query = Mapping[str, str]


def _build_view(name: str, query: Query) -> PageView:
    """The view of this name. Raises KeyError for one that there is not, ValueError for a number
    that is none, MemoristError.
    """
    page = max(1, int(query.get("page", "1")))
    turn = query.get("turn", "")
    views: dict[str, Callable[[], PageView]] = {
        "sessions": lambda: session_views.build_sessions_view(query.get("q", "").strip(), page),
        "session-notes": lambda: session_views.build_notes_at_turn_view(
            query.get("id", ""), int(turn) if turn else None
        ),
        "message": lambda: session_views.build_message_excerpt_view(
            query.get("id", ""), int(query.get("line", "1"))
        ),
        "past": lambda: past_session_views.build_past_sessions_view(
            query.get("q", "").strip(), page
        ),
        "past-session": lambda: past_session_views.build_past_session_view(query.get("id", "")),
        "health": health_views.build_health_view,
        "team": health_views.build_team_memories_view,
        "machines": health_views.build_machines_view,
    }
    if name in views:
        return views[name]()
    with _open_context(query) as context:
        return _build_memory_view(name, context, query, page)


def _build_memory_view(name: str, context: PageContext, query: Query, page: int) -> PageView:
    turn = query.get("turn", "")
    views: dict[str, Callable[[], PageView]] = {
        "now": lambda: now_view.build_now_view(context),
        "session": lambda: session_views.build_session_view_at_turn(
            context.home, query.get("id", ""), int(turn) if turn else None
        ),
        "memories": lambda: memory_views.build_memories_view(
            context, query.get("q", "").strip(), page
        ),
        "memory": lambda: memory_views.build_memory_view(
            context, query.get("path", ""), int(query.get("at", "0"))
        ),
        "why": lambda: memory_views.build_recall_trial_view(
            context, query.get("message", "").strip()
        ),
        "inbox": lambda: inbox_views.build_inbox_view(context),
        "dreams": lambda: inbox_views.build_dreams_view(context, query.get("change", "")),
        "spend": lambda: spend_view.build_spend_view(context),
    }
    view = views[name]()
    records = list_projects_with_memory(DiskFiles(), context.home.layout)
    projects = [each.root for each in records]
    if name not in {"memory", "spend", "session"} and len(projects) > 1:
        links = build_project_links(name, projects, context.project)
        view = msgspec.structs.replace(view, blocks=[links, *view.blocks])
    return view


def _build_view_or_error(name: str, query: Query) -> PageView:
    """The view, or one that says why it cannot be shown. Raises KeyError, ValueError."""
    try:
        return _build_view(name, query)
    except MemoristError as error:
        title = translate("This cannot be shown")
        return PageView(name=name, title=title, lead=str(error), command="memorist doctor")


def _count_waiting(query: Query) -> int:
    """Changes in the inbox; 0 where the memory cannot be read, which its own view explains."""
    with contextlib.suppress(MemoristError), _open_context(query) as context:
        return len(context.memory.list_proposals())
    return 0


@contextlib.contextmanager
def _open_context(query: Query) -> Iterator[PageContext]:
    project = query.get("project", "") or str(locate_project_root(Path.cwd()))
    with open_project_memory(project=Path(project)) as (home, memory):
        yield PageContext(home, memory, project, time.time())


class PageServer:
    """The page of one run of `memorist ui`."""

    def __init__(self, access: PageAccess, language: str = "") -> None:
        """With `language`, of `LANGUAGES`, the page speaks it whatever the browser prefers."""
        self.access = access
        self._language = language
        self.last_seen = time.monotonic()
        self.closing = False
        self._said = ""

    def build_asgi_app(self) -> ASGIApp:
        """The page as an ASGI application."""
        app = Starlette(
            routes=[
                Route("/", self.exchange_token),
                Route("/static/{name}", self.send_asset),
                Route("/now/stream", self.stream_now),
                Route("/do/{action}", self.perform_form_action, methods=["POST"]),
                Route("/{view}", self.show_view),
            ]
        )
        return PageGuard(app, self)

    async def exchange_token(self, request: Request) -> Response:
        """Exchange the one-time token for a cookie."""
        token = request.query_params.get("token", "")
        if not token and self.access.has_session_cookie(group_header_values(request.headers)):
            return RedirectResponse("/now", 303)
        value = self.access.exchange_token_for_cookie(token)
        if value is None:
            return PlainTextResponse(
                "This address was used already, or is not whole. Run `memorist ui` again.", 401
            )
        answer = RedirectResponse("/now", 303)
        answer.set_cookie(
            self.access.cookie_name, value, httponly=True, samesite="strict", path="/"
        )
        return answer

    async def send_asset(self, request: Request) -> Response:
        """A style sheet or script of the page."""
        name = request.path_params["name"]
        if name not in ASSETS:
            return PlainTextResponse("There is no such file.", 404)
        return Response(read_static_asset(name), headers={"content-type": ASSETS[name]})

    async def show_view(self, request: Request) -> Response:
        """A view: as a page, as JSON, or as one file to keep."""
        name, _, form = request.path_params["view"].partition(".")
        with use_language(ENGLISH if form == "json" else self._choose_language(request)):
            return await self._show(name, form, dict(request.query_params))

    async def _show(self, name: str, form: str, query: dict[str, str]) -> Response:
        saving = query.pop("save", "") == "1"
        try:
            view = await run_in_threadpool(_build_view_or_error, name, query)
        except (KeyError, ValueError):
            return PlainTextResponse("There is no such view.", 404)
        if form == "json":
            data = msgspec.json.format(
                msgspec.json.encode(convert_view_to_safe_values(view)), indent=2
            )
            return Response(data, media_type="application/json")
        headers = (
            {"content-disposition": f'attachment; filename="memorist-{view.name}.html"'}
            if saving
            else {}
        )
        frame = self._frame(name, query, saved=saving)
        if not saving:
            waiting = await run_in_threadpool(_count_waiting, query)
            frame = msgspec.structs.replace(frame, said=self._said, waiting=waiting)
            self._said = ""
        text = render_page(view, frame)
        return Response(text, headers={"content-type": "text/html; charset=utf-8", **headers})

    def _choose_language(self, request: Request) -> str:
        return self._language or choose_language(request.headers.get("accept-language", ""))

    def _frame(self, name: str, query: Query, *, saved: bool = False) -> PageFrame:
        asked = f"?{urlencode(query)}" if query else ""
        return PageFrame(
            csrf=self.access.csrf,
            here=f"/{name}{asked}",
            json_address=f"/{name}.json{asked}",
            save_address=f"/{name}?{urlencode({**query, 'save': '1'})}",
            saved=saved,
        )

    async def perform_form_action(self, request: Request) -> Response:
        """Do what a form of the page asks for, and go back to where it stood."""
        text = (await request.body()).decode("utf-8", "replace")
        fields = dict(parse_qsl(text, keep_blank_values=True))
        if not self.access.is_genuine_form(fields):
            return PlainTextResponse("This form was not made by the page.", 403)
        with use_language(self._choose_language(request)):
            try:
                self._said = await run_in_threadpool(_change, request.path_params["action"], fields)
            except KeyError:
                return PlainTextResponse("The form lacks a field.", 400)
            except MemoristError as error:
                self._said = translate("Not done: {error}", error=error)
        back = restrict_redirect_to_page(fields.get("back", ""))
        if request.path_params["action"].startswith("forget"):
            back = build_view_address("memories", project=fields.get("project", ""))
        return RedirectResponse(back, 303)

    async def stream_now(self, request: Request) -> Response:
        """The view Now, again whenever it changed."""
        query = dict(request.query_params)

        language = self._choose_language(request)

        async def render() -> str:
            with use_language(language):
                view = await run_in_threadpool(_build_view_or_error, "now", query)
                return render_view_blocks(view, self._frame("now", query, saved=False))

        async def send() -> AsyncIterator[str]:
            before = ""
            while not self.closing and not await request.is_disconnected():
                text = await render()
                if text != before:
                    lines = "".join(f"data: {line}\n" for line in text.splitlines())
                    yield f"event: now\n{lines}\n"
                    before = text
                await asyncio.sleep(STREAM_INTERVAL_SECONDS)

        return StreamingResponse(send(), media_type="text/event-stream")


def _change(action: str, fields: dict[str, str]) -> str:
    if action == "fix":
        return health_views.fix_health_problems()
    if action == "sync":
        return health_views.sync_own_machines()
    if action in {"leave-out", "take-in"}:
        return past_session_views.set_past_session_use(fields["id"], take_in=action == "take-in")
    with _open_context(fields) as context:
        return perform_memory_action(context, action, fields)


def group_header_values(headers: Headers) -> dict[str, list[str]]:
    """Every value of each header, by its name in lower case."""
    return {name: headers.getlist(name) for name in headers}


class PageGuard:
    """Refuses what the access does not let in, and bounds and marks the rest."""

    def __init__(self, inner: ASGIApp, page: PageServer) -> None:
        self._inner, self._page = inner, page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return

        async def send_marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *((name, value) for name, value in message["headers"] if name != b"server"),
                    *((name.encode(), value.encode()) for name, value in SECURITY_HEADERS.items()),
                ]
            await send(message)

        refused = self._judge(scope)
        if refused is not None:
            await PlainTextResponse(refused[1], refused[0])(scope, receive, send_marked)
            return
        if scope["path"] != "/now/stream":
            self._page.last_seen = time.monotonic()
        await self._inner(scope, receive, send_marked)

    def _judge(self, scope: Scope) -> tuple[int, str] | None:
        headers = group_header_values(Headers(scope=scope))
        access = self._page.access
        refused = access.find_refusal(headers, scope["method"])
        if is_connection_of_other_user(scope.get("client"), scope.get("server")):
            refused = 403, "This page is for the user who opened it."
        if refused is None and scope["path"] != "/" and not access.has_session_cookie(headers):
            refused = 401, "Open the address that `memorist ui` printed."
        size = headers.get("content-length", ["0"])[-1]
        if refused is None and scope["method"] == "POST" and not _is_small(size, headers):
            refused = 413, "The form is too large."
        return refused


def _is_small(size: str, headers: Mapping[str, list[str]]) -> bool:
    bounded = size.isascii() and size.isdigit() and int(size) <= MAX_BODY_BYTES
    return bounded and "transfer-encoding" not in headers


async def _serve(server: uvicorn.Server, page: PageServer, listening: socket.socket) -> None:
    async def end_when_idle() -> None:
        while not server.should_exit:
            await asyncio.sleep(1)
            if time.monotonic() - page.last_seen > MAX_IDLE_SECONDS:
                server.should_exit = True
        page.closing = True

    watching = asyncio.create_task(end_when_idle())
    await server.serve(sockets=[listening])
    page.closing = True
    watching.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await watching


def serve_page(page: PageServer, listening: socket.socket) -> None:
    """Serve until a signal comes, or nobody looked for `MAX_IDLE_SECONDS`."""
    config = BoundedUvicornConfig(page.build_asgi_app(), lifespan="off")
    asyncio.run(_serve(uvicorn.Server(config), page, listening))
