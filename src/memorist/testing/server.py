"""A model server on loopback that answers by script and speaks Messages, Responses and Chat Completions.

Tests use the real SDKs and real coding agents against it:

    with ScriptedServer([CallTool(name="Bash", input={"command": "ls"}), Say(text="done")]) as server:
        client = anthropic.Anthropic(base_url=server.url, api_key="any")       # or openai.OpenAI(base_url=server.openai_url, …)
        ...
        assert server.received[1].body["messages"][-1]["role"] == "user"

It listens on 127.0.0.1 on a free port. It refuses what the providers refuse and counts cache reads and
writes in `usage` as they do. Standard library only.
"""

from __future__ import annotations

import sys
from http.server import ThreadingHTTPServer
from threading import Condition, Event, Thread
from types import TracebackType
from typing import Self

import msgspec

from memorist.core.messages import JsonObject
from memorist.errors import ModelRefused
from memorist.ports import Request
from memorist.testing.ledger import WIRES, Ledger, Taken, facts_of, status_of_failure
from memorist.testing.received import Received
from memorist.testing.server_connection import Connection
from memorist.testing.server_streams import Outgoing, broken_reply, error_reply, garbage_reply, json_reply, whole_reply
from memorist.testing.steps import Answer, Cut, Delay, Fail, Garbage, Hang, Raw, Script, Status, Step, Tape
from memorist.testing.wire import Wire, body_of

MAX_CALLS = 500
"""Default number of calls that a server answers; an agent that never stops (clients.md fact 10) is
refused then.
"""

_MODEL = {"id": "scripted-model", "object": "model", "type": "model", "display_name": "Scripted", "created": 0, "owned_by": "memorist"}
_FORMATS = {"/messages": "anthropic", "/responses": "openai_responses", "/chat/completions": "openai_chat"}


class ScriptedServer:
    """A scripted model server; a context manager. `script` is what `ScriptedModel` takes."""

    def __init__(
        self, script: Script, *, window: int = 200_000, max_calls: int = MAX_CALLS, strict: bool = True, cache_minimum: int = 0
    ) -> None:
        self._tape = Tape(script)
        self._ledger = Ledger(window=window, strict=strict, cache_minimum=cache_minimum)
        self._max_calls = max_calls
        self._changed = Condition()
        self._connections: set[Connection] = set()
        self._thread: Thread | None = None
        self._closing = Event()
        self.requests: list[Received] = []
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
        self.left: set[int] = set()
        """Numbers of the requests whose client disconnected before the response was complete."""
        self._http = _Server(("127.0.0.1", 0), Connection)
        self._http.owner = self

    @property
    def received(self) -> list[Received]:
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
        self._thread = Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, name="scripted-server", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
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

    def wait_left(self, number: int, seconds: float = 5.0) -> bool:
        """Wait until the client of request `number` has disconnected; False when it has not after
        that time.
        """
        with self._changed:
            return self._changed.wait_for(lambda: number in self.left, timeout=seconds)

    def wait_received(self, count: int, seconds: float = 5.0) -> bool:
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

    def opened(self, connection: Connection) -> None:
        """Note that a client connected."""
        with self._changed:
            self._connections.add(connection)

    def ended(self, connection: Connection) -> None:
        """Note that a connection is over."""
        with self._changed:
            self._connections.discard(connection)
            self._changed.notify_all()

    def client_left(self, number: int) -> None:
        """Note that the client of this request disconnected."""
        with self._changed:
            self.left.add(number)
            self._changed.notify_all()

    def answer(self, request: Received) -> tuple[int, Outgoing]:
        """Record a request; return its number and what to send."""
        plain = request.path.partition("?")[0].rstrip("/").removeprefix("/v1")
        spoken = _FORMATS.get(plain) if request.method == "POST" else None
        with self._changed:
            number = len(self.requests) + 1
            self.requests.append(msgspec.structs.replace(request, number=number, format=spoken))
            self._changed.notify_all()
        if spoken is not None:
            made = self._answer_model(spoken, request.body)
            return number, msgspec.structs.replace(made, headers={**made.headers, **self.headers})
        return number, self._answer_other(request.method, plain, request.body)

    def _answer_other(self, method: str, plain: str, body: JsonObject) -> Outgoing:
        if method == "POST" and plain == "/messages/count_tokens":
            return json_reply(200, {"input_tokens": self._ledger.measure("anthropic", body)})
        if plain == "/models":
            model = {
                "id": "scripted-model",
                "object": "model",
                "type": "model",
                "display_name": "Scripted",
                "created": 0,
                "owned_by": "memorist",
            }
            return json_reply(200, {"object": "list", "data": [model], "has_more": False})
        if not plain and method != "POST":
            return json_reply(200, {})
        self.refusals.append(f"{method} {plain}: there is no such path")
        return json_reply(404, {"error": {"type": "not_found_error", "message": "there is no such path", "code": None, "param": None}})

    def _answer_model(self, spoken: str, body: JsonObject) -> Outgoing:
        wire = WIRES[spoken]
        taken = self._ledger.take(spoken, body)
        if taken.number > self._max_calls:
            return self._refuse(wire, 400, f"the scripted server answers {self._max_calls} calls, and they are used up", None)
        if taken.problem is not None:
            return self._refuse(wire, taken.problem.status, taken.problem.message, taken.problem.code)
        try:
            step = self._tape.next(Request(format=spoken, body=body))
        except ModelRefused as error:
            return self._refuse(wire, 400, str(error), None)
        return self._perform(wire, step, taken, body)

    def _refuse(self, wire: Wire, status: int, message: str, code: str | None) -> Outgoing:
        self.refusals.append(message)
        return error_reply(wire, Status(code=status, message=message, kind=code))

    def _perform(self, wire: Wire, step: Step, taken: Taken, body: JsonObject) -> Outgoing:
        match step:
            case Fail():
                failure = status_of_failure(step, _format_of(wire), self._ledger.window)
                return Outgoing(hang=True) if failure is None else error_reply(wire, failure)
            case Status():
                return error_reply(wire, step)
            case Hang():
                return Outgoing(hang=True)
            case Garbage(text=text):
                return garbage_reply(text, streamed=bool(body.get("stream")))
            case _:
                return _reply(wire, step, taken, body)


def _reply(wire: Wire, step: Answer | Delay | Cut, taken: Taken, body: JsonObject) -> Outgoing:
    answer = step.step if isinstance(step, Delay | Cut) else step
    made = body_of(wire, answer, facts_of(taken, answer, body))
    if isinstance(step, Cut):
        return broken_reply(wire, step, made, body)
    plain = isinstance(answer, Raw) and answer.plain
    return whole_reply(wire, made, body, delay=step.seconds if isinstance(step, Delay) else 0.0, plain=plain)


def _format_of(wire: Wire) -> str:
    return next(name for name, known in WIRES.items() if known is wire)


class _Server(ThreadingHTTPServer):
    """The listening socket.

    `owner` answers; exceptions of a script function are kept for the test.
    """

    daemon_threads = True
    owner: ScriptedServer

    def handle_error(self, *_: object) -> None:
        """Keep what a script function raised; a client that disconnects is no failure."""
        error = sys.exception()
        if error is not None and not isinstance(error, ConnectionError):
            self.owner.failures.append(error)
