"""A model server on loopback that answers by script and speaks Messages, Responses and Chat
Completions.

Tests use the real SDKs and real coding agents against it:

    with ScriptedServer([CallTool(name="Bash", input={"command": "ls"}), Say(text="done")]) as
    server:
        client = anthropic.Anthropic(base_url=server.url, api_key="any")       # or
        openai.OpenAI(base_url=server.openai_url, …) ... assert
        server.received[1].body["messages"][-1]["role"] == "user"

It listens on 127.0.0.1 on a free port. It refuses what the providers refuse and counts cache reads
and writes in `usage` as they do. Standard library only.
"""

from __future__ import annotations

import gzip
import math
import select
import socket
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition, Event, Thread
from types import TracebackType
from typing import Literal, Self, cast

import msgspec
import zstandard
from msgspec import Struct, field

from memorist.core.messages import JsonObject
from memorist.errors import ModelRequestRejected
from memorist.ports import Request
from memorist.testing.request_checks import WIRES
from memorist.testing.scripted_model_state import (
    CountedRequest,
    ScriptCursor,
    SimulatedProviderState,
    build_reply_metadata,
    convert_failure_to_http_error,
)
from memorist.testing.steps import (
    AnswerStep,
    DelayReply,
    Fail,
    Garbage,
    GivenReplyBody,
    Hang,
    HttpError,
    InterruptedReply,
    Script,
    Step,
)
from memorist.testing.wire_formats import ScriptedWire, build_reply_body

# What the scripted server sends for a step: status, headers, chunks of the body, and what
# happens after the last one.


class OutgoingReply(Struct, frozen=True, kw_only=True):
    """A response.

    `pieces` of a stream are sent one by one; those of a plain response are one body of `length`
    bytes.
    """

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    pieces: tuple[bytes, ...] = ()
    streamed: bool = False
    length: int | None = None
    """Content length that a plain response claims; None for the true length."""
    delay: float = 0.0
    """Seconds before the response begins."""
    hang: bool = False
    """Send nothing at all."""
    then: Literal["end", "close", "hang"] = "end"
    """After the last piece: end properly, break the connection, or keep it open in silence."""


def build_json_reply(
    status: int, body: JsonObject, headers: dict[str, str] | None = None
) -> OutgoingReply:
    """Build a plain JSON response."""
    return OutgoingReply(
        status=status,
        headers={"content-type": "application/json", **(headers or {})},
        pieces=(msgspec.json.encode(body),),
    )


def build_error_reply(wire: ScriptedWire, status: HttpError) -> OutgoingReply:
    """Build an error in the format's own body."""
    headers = {} if status.retry_after is None else {"retry-after": status.retry_after}
    return build_json_reply(
        status.code, wire.error(status.code, status.message, status.kind), headers
    )


def build_streamed_or_plain_reply(
    wire: ScriptedWire,
    answer: JsonObject,
    request: JsonObject,
    *,
    delay: float = 0.0,
    plain: bool = False,
) -> OutgoingReply:
    """Build the whole reply, streamed if the request asks for it and `plain` is not set."""
    if plain or not request.get("stream"):
        return msgspec.structs.replace(build_json_reply(200, answer), delay=delay)
    pieces = tuple(
        event.encode() for event in wire.events(_drop_unrequested_usage(answer, request))
    )
    return OutgoingReply(headers=_STREAM_HEADERS, pieces=pieces, streamed=True, delay=delay)


def _drop_unrequested_usage(answer: JsonObject, request: JsonObject) -> JsonObject:
    """Drop the usage unless requested: Chat Completions streams it only on request."""
    options = request.get("stream_options")
    if answer.get("object") != "chat.completion" or (
        isinstance(options, dict) and options.get("include_usage")
    ):
        return answer
    return {key: value for key, value in answer.items() if key != "usage"}


def build_broken_reply(
    wire: ScriptedWire, cut: InterruptedReply, answer: JsonObject, request: JsonObject
) -> OutgoingReply:
    """Build the first part of a reply, followed by what `cut` says."""
    whole = build_streamed_or_plain_reply(wire, answer, request)
    if not whole.streamed:
        data = whole.pieces[0]
        claimed = None if cut.then in {"end", "error"} else len(data)
        then = "end" if cut.then == "error" else cut.then
        return msgspec.structs.replace(
            whole, pieces=(data[: int(len(data) * cut.at)],), length=claimed, then=then
        )
    # Always hold back the closing events: a cut that leaves the reply complete would test nothing.
    kept = max(0, min(math.ceil(len(whole.pieces) * cut.at), len(whole.pieces) - _CLOSING_EVENTS))
    pieces = whole.pieces[:kept]
    if cut.then == "error":
        return msgspec.structs.replace(
            whole, pieces=(*pieces, wire.error_event("Overloaded").encode())
        )
    return msgspec.structs.replace(whole, pieces=pieces, then=cut.then)


def build_garbage_reply(text: str, *, streamed: bool) -> OutgoingReply:
    """Build a body that is not JSON, with status 200."""
    if streamed:
        return OutgoingReply(
            headers=_STREAM_HEADERS,
            pieces=(f"event: message_start\ndata: {text}\n\n".encode(),),
            streamed=True,
        )
    return OutgoingReply(headers={"content-type": "application/json"}, pieces=(text.encode(),))


_CLOSING_EVENTS = 3
"""Events at the end of any stream without which the reply is incomplete: finish reason, usage and
`[DONE]` of Chat Completions.
"""

_STREAM_HEADERS = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}


# A request as the scripted server received it.


class ReceivedRequest(Struct, frozen=True, kw_only=True):
    """One request. Header names are in lower case; headers that hold keys are left out."""

    number: int = 0
    """Counted from 1, over all paths."""
    method: str
    path: str
    """With its query."""
    headers: dict[str, str]
    raw: bytes
    """The body's bytes, decompressed."""
    body: JsonObject
    """The body as JSON; empty when it is not a JSON object."""
    format: str | None = None
    """The wire format, for requests to a model."""


# One client's HTTP connection to the scripted server.


MAX_BODY_BYTES = 256 * 1024 * 1024
"""Largest request body in bytes; the server is for tests and keeps all bodies."""

_SECRET_HEADERS = {"authorization", "x-api-key", "api-key", "cookie", "proxy-authorization"}


class ScriptedConnection(BaseHTTPRequestHandler):
    """Reads requests, sends what the server's script says, and notices a client that
    disconnects.
    """

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    @property
    def _owner(self) -> ScriptedServer:
        return cast("ScriptedServer", vars(self.server)["owner"])

    def setup(self) -> None:
        """Register with the server."""
        super().setup()
        self._owner.on_connection_opened(self)

    def finish(self) -> None:
        """Unregister from the server, whatever happened."""
        try:
            super().finish()
        finally:
            self._owner.on_connection_ended(self)

    def sever(self) -> None:
        """Break the connection; called from another thread."""
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            # Already closed.
            return

    def log_message(self, *_: object) -> None:
        """Log nothing: tests read `ScriptedServer.requests`."""

    def serve(self) -> None:
        """Answer one request, whatever its method."""
        try:
            raw = self._read_body()
        except ConnectionError:
            self.close_connection = True
            return
        except (OSError, ValueError, zstandard.ZstdError) as error:
            self.send_error(400, f"the body cannot be read: {error}")
            self.close_connection = True
            return
        headers = {
            name.lower(): value
            for name, value in self.headers.items()
            if name.lower() not in _SECRET_HEADERS
        }
        request = ReceivedRequest(
            method=self.command, path=self.path, headers=headers, raw=raw, body=_decode_object(raw)
        )
        number, outgoing = self._owner.record_and_choose_reply(request)
        try:
            self._send(number, outgoing)
        except ConnectionError:
            self.close_connection = True
            self._owner.on_client_left(number)

    def _read_body(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            raw = self._read_chunks()
        else:
            size = int(self.headers.get("content-length") or 0)
            if size > MAX_BODY_BYTES:
                raise ValueError("the body is too large")
            raw = self.rfile.read(size)
            if len(raw) < size:
                raise ConnectionError("the client went away")
        match self.headers.get("content-encoding", "").lower():
            case "gzip":
                return gzip.decompress(raw)
            case "zstd":
                return zstandard.ZstdDecompressor().decompressobj().decompress(raw)
            case _:
                return raw

    def _read_chunks(self) -> bytes:
        chunks: list[bytes] = []
        total = 0
        while size := int(self.rfile.readline(64).partition(b";")[0], 16):
            total += size
            if total > MAX_BODY_BYTES:
                raise ValueError("the body is too large")
            chunks.append(self.rfile.read(size))
            self.rfile.readline(4)
        while self.rfile.readline(65_536) not in {b"\r\n", b"\n", b""}:
            continue
        return b"".join(chunks)

    def _send(self, number: int, outgoing: OutgoingReply) -> None:
        if outgoing.hang:
            self._hold_open(number, None)
            return
        if outgoing.delay and not self._hold_open(number, outgoing.delay):
            return
        self.send_response(outgoing.status)
        for name, value in outgoing.headers.items():
            self.send_header(name, value)
        self.send_header("request-id", f"req_{number:06d}")
        if outgoing.streamed:
            self.send_header("transfer-encoding", "chunked")
        else:
            length = sum(map(len, outgoing.pieces)) if outgoing.length is None else outgoing.length
            self.send_header("content-length", str(length))
        self.end_headers()
        if self.command == "HEAD":
            return
        for piece in outgoing.pieces:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if outgoing.streamed else piece)
        self._end(number, outgoing)

    def _end(self, number: int, outgoing: OutgoingReply) -> None:
        match outgoing.then:
            case "end":
                if outgoing.streamed:
                    self.wfile.write(b"0\r\n\r\n")
            case "close":
                self.close_connection = True
                self.sever()
            case "hang":
                self._hold_open(number, None)

    def _hold_open(self, number: int, seconds: float | None) -> bool:
        """Keep the connection silent.

        True when the time is over and the client is still connected.
        """
        end = None if seconds is None else time.monotonic() + seconds
        while not self._owner.closing.wait(0.01):
            if end is not None and time.monotonic() >= end:
                return True
            if self._has_client_left():
                self._owner.on_client_left(number)
                break
        self.close_connection = True
        return False

    def _has_client_left(self) -> bool:
        readable, _, _ = select.select([self.connection], [], [], 0)
        if not readable:
            return False
        try:
            return not self.connection.recv(1, socket.MSG_PEEK)
        except OSError:
            return True


# The base class looks methods up by name (`do_GET`, …).
for _method in ("GET", "HEAD", "POST"):
    setattr(ScriptedConnection, f"do_{_method}", ScriptedConnection.serve)


def _decode_object(raw: bytes) -> JsonObject:
    try:
        body = msgspec.json.decode(raw)
    except msgspec.DecodeError:
        return {}
    return body if isinstance(body, dict) else {}


MAX_CALLS = 500
"""Default number of calls that a server answers; an agent that never stops is
refused then.
"""

SELF_DESCRIPTIONS = frozenset({"/props", "/api/v0/models", "/api/ps", "/api/show"})
"""Where servers on a user's machine tell their window; a client may ask for each, and this one has
none.
"""

_FORMATS = {
    "/messages": "anthropic",
    "/responses": "openai_responses",
    "/chat/completions": "openai_chat",
}


class ScriptedServer:
    """A scripted model server; a context manager. `script` is what `ScriptedModel` takes."""

    def __init__(
        self,
        script: Script,
        *,
        window: int = 200_000,
        max_calls: int = MAX_CALLS,
        strict: bool = True,
        cache_minimum: int = 0,
    ) -> None:
        self._tape = ScriptCursor(script)
        self._ledger = SimulatedProviderState(
            window=window, strict=strict, cache_minimum=cache_minimum
        )
        self._max_calls = max_calls
        self._changed = Condition()
        self._connections: set[ScriptedConnection] = set()
        self._thread: Thread | None = None
        self._closing = Event()
        self.requests: list[ReceivedRequest] = []
        """Every request, in order, on any path."""
        self.refusals: list[str] = []
        """Why requests were refused: a provider's check, an unknown path, a script that is used up.
        """
        self.failures: list[BaseException] = []
        """Exceptions that a script function raised; the first is raised again when the context
        ends.
        """
        self.headers: dict[str, str] = {}
        """Sent with every model response, such as what is left of a rate limit."""
        self.descriptions: dict[str, JsonObject | None] = {}
        """What it answers about itself, by path (`/v1/models`, `/props`); None: 404."""
        self.left: set[int] = set()
        """Numbers of the requests whose client disconnected before the response was complete."""
        self._http = _ScriptedHttpServer(("127.0.0.1", 0), ScriptedConnection)
        self._http.owner = self

    @property
    def received(self) -> list[ReceivedRequest]:
        """The requests to a model, in order."""
        return [request for request in self.requests if request.format is not None]

    @property
    def url(self) -> str:
        """The base address for Anthropic clients."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def openai_url(self) -> str:
        """The base address for OpenAI clients."""
        return f"{self.url}/v1"

    def __enter__(self) -> Self:
        self._thread = Thread(
            target=self._http.serve_forever,
            kwargs={"poll_interval": 0.02},
            name="scripted-server",
            daemon=True,
        )
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        if error is None and self.failures:
            raise self.failures[0]

    def close(self) -> None:
        """Stop listening and break every connection. May be called twice."""
        self._closing.set()
        if self._thread is not None:
            self._http.shutdown()
            self._thread.join()
            self._thread = None
        with self._changed:
            for connection in self._connections:
                connection.sever()
            self._changed.wait_for(lambda: not self._connections, timeout=5.0)
        self._http.server_close()

    def forget_cache(self) -> None:
        """Empty the simulated prompt cache, as when its lifetime has passed."""
        self._ledger.forget_cache()

    def wait_left(self, number: int, seconds: float = 60.0) -> bool:
        """Wait until the client of request `number` to a model has disconnected; False when it
        has not after that time.
        """
        with self._changed:
            return self._changed.wait_for(lambda: number in self.left, timeout=seconds)

    def wait_received(self, count: int, seconds: float = 60.0) -> bool:
        """Wait until this many requests to a model have arrived; False when they have not after
        that time.
        """
        with self._changed:
            return self._changed.wait_for(lambda: len(self.received) >= count, timeout=seconds)

    # The methods below are called by the connections, each in its own thread.

    @property
    def closing(self) -> Event:
        """Set when the server stops."""
        return self._closing

    def on_connection_opened(self, connection: ScriptedConnection) -> None:
        """Note that a client connected."""
        with self._changed:
            self._connections.add(connection)

    def on_connection_ended(self, connection: ScriptedConnection) -> None:
        """Note that a connection is over."""
        with self._changed:
            self._connections.discard(connection)
            self._changed.notify_all()

    def on_client_left(self, number: int) -> None:
        """Note that the client of this request disconnected."""
        with self._changed:
            self.left.add(number)
            self._changed.notify_all()

    def record_and_choose_reply(self, request: ReceivedRequest) -> tuple[int, OutgoingReply]:
        """Record a request; return its number and what to send."""
        plain = request.path.partition("?")[0].rstrip("/").removeprefix("/v1")
        spoken = _FORMATS.get(plain) if request.method == "POST" else None
        with self._changed:
            # Requests to a model count from 1, as tests name them; all others from -1 downwards.
            models = len(self.received)
            number = models + 1 if spoken else models - len(self.requests) - 1
            self.requests.append(msgspec.structs.replace(request, number=number, format=spoken))
            self._changed.notify_all()
        if spoken is not None:
            answered = self._answer_model(spoken, request.body)
            return number, msgspec.structs.replace(
                answered, headers={**answered.headers, **self.headers}
            )
        if (path := request.path.partition("?")[0]) in self.descriptions:
            description = self.descriptions[path]
            unknown: JsonObject = {"error": {"message": "not found"}}
            return number, build_json_reply(
                404 if description is None else 200, description or unknown
            )
        return number, self._answer_other(request.method, plain, request.body)

    def _answer_other(self, method: str, plain: str, body: JsonObject) -> OutgoingReply:
        if method == "POST" and plain == "/messages/count_tokens":
            return build_json_reply(
                200, {"input_tokens": self._ledger.count_tokens("anthropic", body)}
            )
        if plain == "/models":
            model = {
                "id": "scripted-model",
                "object": "model",
                "type": "model",
                "display_name": "Scripted",
                "created": 0,
                "owned_by": "memorist",
                "max_model_len": self._ledger.window,
            }
            return build_json_reply(200, {"object": "list", "data": [model], "has_more": False})
        if not plain and method != "POST":
            return build_json_reply(200, {})
        if plain not in SELF_DESCRIPTIONS:
            self.refusals.append(f"{method} {plain}: there is no such path")
        return build_json_reply(
            404,
            {
                "error": {
                    "type": "not_found_error",
                    "message": "there is no such path",
                    "code": None,
                    "param": None,
                }
            },
        )

    def _answer_model(self, spoken: str, body: JsonObject) -> OutgoingReply:
        wire = WIRES[spoken]
        counted = self._ledger.count_request(spoken, body)
        if counted.number > self._max_calls:
            return self._refuse(
                wire,
                400,
                f"the scripted server answers {self._max_calls} calls, and they are used up",
                None,
            )
        if counted.problem is not None:
            return self._refuse(
                wire, counted.problem.status, counted.problem.message, counted.problem.code
            )
        try:
            step = self._tape.next_step(Request(format=spoken, body=body))
        except ModelRequestRejected as error:
            return self._refuse(wire, 400, str(error), None)
        return self._perform(wire, step, counted, body)

    def _refuse(
        self, wire: ScriptedWire, status: int, message: str, code: str | None
    ) -> OutgoingReply:
        self.refusals.append(message)
        return build_error_reply(wire, HttpError(code=status, message=message, kind=code))

    def _perform(
        self, wire: ScriptedWire, step: Step, counted: CountedRequest, body: JsonObject
    ) -> OutgoingReply:
        match step:
            case Fail():
                failure = convert_failure_to_http_error(
                    step, _wire_format(wire), self._ledger.window
                )
                if failure is None:
                    return OutgoingReply(hang=True)
                return build_error_reply(wire, failure)
            case HttpError():
                return build_error_reply(wire, step)
            case Hang():
                return OutgoingReply(hang=True)
            case Garbage(text=text):
                return build_garbage_reply(text, streamed=bool(body.get("stream")))
            case _:
                return _build_reply(wire, step, counted, body)


def _build_reply(
    wire: ScriptedWire,
    step: AnswerStep | DelayReply | InterruptedReply,
    counted: CountedRequest,
    body: JsonObject,
) -> OutgoingReply:
    answer = step.step if isinstance(step, DelayReply | InterruptedReply) else step
    reply = build_reply_body(wire, answer, build_reply_metadata(counted, answer, body))
    if isinstance(step, InterruptedReply):
        return build_broken_reply(wire, step, reply, body)
    plain = isinstance(answer, GivenReplyBody) and answer.plain
    return build_streamed_or_plain_reply(
        wire, reply, body, delay=step.seconds if isinstance(step, DelayReply) else 0.0, plain=plain
    )


def _wire_format(wire: ScriptedWire) -> str:
    return next(name for name, known in WIRES.items() if known is wire)


class _ScriptedHttpServer(ThreadingHTTPServer):
    """The listening socket.

    `owner` answers; exceptions of a script function are kept for the test.
    """

    daemon_threads = True
    request_queue_size = 1_024
    """Connections that wait to be accepted; of the base class's 5 a busy machine lost some."""
    owner: ScriptedServer

    def handle_error(self, *_: object) -> None:
        """Keep what a script function raised; a client that disconnects is no failure."""
        error = sys.exception()
        if error is not None and not isinstance(error, ConnectionError):
            self.owner.failures.append(error)
