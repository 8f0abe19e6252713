"""One story that every plug is put through, with the host's real package against the loopback
server.

A host's test gives a `Plug`: what its hooks reach, and how a conversation is begun with it. The
story then has
1. a long task, with tool results past its window: the task's first words and the latest results
   stay in view, calls and results stay paired, nothing before the end changes but by a compaction,
   and the notes name the task;
2. a correction by the person;
3. a second session in a new process state on the same home, which is shown what was learnt;
4. a memorist that cannot work: what goes out is what the host sends without it.

What a plug does not declare in `reaches` is asserted as not done.
"""

from __future__ import annotations

import gc
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import msgspec
import pytest
from msgspec import Struct, field

from memorist.adapters.engine_thread import EngineThread
from memorist.context.request_prefix_growth import PrefixChecker
from memorist.core.messages import JsonObject, Message, ToolResult, ToolUse
from memorist.events import AdapterFailed, ConversationCompacted, Event
from memorist.formats.codec_registry import find_codec
from memorist.models.model_pricing import ModelPrice
from memorist.models.model_settings import ModelSettings
from memorist.ports import Request
from memorist.settings import CompactionSettings, Settings
from memorist.testing.provider_server import ReceivedRequest, ScriptedServer
from memorist.testing.steps import CallTool, ReplyParts, Say, Step
from plugs.no_disk import no_disk
from support.waiting import count_lock_waits

MODEL = "made-up-model"
WINDOW = 30_000
"""Tokens. Small, so that the story is short; the server refuses a request that is longer."""
MAX_OUTPUT = 1_000
"""Longest reply, for hosts that have to say one."""
TOOL = "read_page"
PAGES = 11
"""Pages of the report: about 3,500 tokens each, more than a window together. Few and long, as an SDK
goes through each message of the history again with every request.
"""
BOTH = 5
"""The model asks for this page and the next at once."""
TASK = (
    "Read every page of the harbour report, from the first to the last, and tell me which "
    "ship came last. Never guess a page."
)
CORRECTION = (
    "No, always use pnpm in this repo, never npm. Our lock file is shared with the design team."
)
LESSON = "always use pnpm in this repo, never npm"
PERSONAL = "Please always answer me in German, in all my projects."
PERSONAL_LESSON = "answer me in German"
LATER = "Add the package left-pad, please."
EVERYTHING = frozenset({"notes", "compaction", "recall", "extraction"})


def settings(*, reaches: frozenset[str] = EVERYTHING, window: int = WINDOW) -> Settings:
    """A small window for memorist too; without a model. A plug that cannot compact gets no window
    to compact for.
    """
    known = ModelSettings(
        prices={
            MODEL: ModelPrice(
                window=window if "compaction" in reaches else None,
                max_output=MAX_OUTPUT,
                input=3.0,
                output=15.0,
            )
        }
    )
    return Settings(models=known, compaction=CompactionSettings(schedule="threshold"))


def read_page(number: int) -> str:
    """Read one page of the harbour report."""
    return (
        f"Page {number}. "
        + f"On day {number} the ship Marigold-{number} came in with timber, and the harbour "
        f"master wrote it down. " * 138
    )


class World(Struct, kw_only=True):
    """What a conversation takes place in."""

    server: ScriptedServer
    project: Path
    attached: EngineThread | None
    """The engine for the plug; None: the host is to run without memorist."""
    tool: Callable[[int], str] = read_page
    """The agent's one tool, by its name and its docstring."""
    user: str = ""
    """Whose conversation it is, named as the host names users; empty for nobody in particular."""


class Talk(Protocol):
    """One conversation with a host's agent."""

    def say(self, text: str) -> str:
        """Say something, let the agent call its tools to the end, and give its last words."""
        ...

    def close(self) -> None:
        """The session is over."""
        ...


class Plug(Protocol):
    """A host with memorist in it."""

    reaches: frozenset[str]
    """Of notes, compaction, recall, extraction."""

    def begin(self, world: World, session: str) -> Talk:
        """Begin a conversation of this id in a new agent. `world.server` speaks the three wire
        formats under `url` and `openai_url`.
        """
        ...


@runtime_checkable
class StreamingTalk(Talk, Protocol):
    """A conversation whose replies are streamed."""

    def leave(self, text: str) -> None:
        """Say something, let the agent call its tool, and leave the last reply when its first words
        are there.
        """
        ...


class Reader:
    """The model of the story: it asks for page after page, two at once somewhere, and says what it
    was asked to.
    """

    def __init__(self, pages: int = PAGES) -> None:
        self.left = list(range(1, pages + 1))
        """Pages that were not asked for yet."""

    def __call__(self, request: Request) -> Step:
        said = words(request.body)
        if LATER in said or (CORRECTION in said and not self.left):
            return Say(text="I will.")
        if not self.left:
            return Say(text=f"The ship Marigold-{PAGES} came last.")
        count = 2 if self.left[0] == BOTH and len(self.left) > 1 else 1
        calls = tuple(CallTool(name=TOOL, input={"number": number}) for number in self.left[:count])
        del self.left[:count]
        return calls[0] if count == 1 else ReplyParts(parts=calls)


def words(body: JsonObject) -> str:
    """A request as text."""
    return msgspec.json.encode(body).decode()


class Told(Struct):
    """What memorist told while it ran."""

    events: list[Event] = field(default_factory=list)

    def compactions(self) -> list[ConversationCompacted]:
        """Each time that it made the conversation smaller."""
        return [event for event in self.events if isinstance(event, ConversationCompacted)]

    def failures(self) -> list[AdapterFailed]:
        """Each time that it failed."""
        return [event for event in self.events if isinstance(event, AdapterFailed)]


@contextmanager
def attached(home: Path, plug: Plug, told: Told, window: int = WINDOW) -> Iterator[EngineThread]:
    """An engine for one process state."""
    with EngineThread(
        home=home,
        settings=settings(reaches=plug.reaches, window=window),
        listener=told.events.append,
    ) as engine:
        yield engine


def run_story(plug: Plug, folder: Path) -> None:
    """The whole story."""
    project = folder / "harbour"
    (project / ".git").mkdir(parents=True)
    home = folder / "home"
    first(plug, home, project)
    second(plug, home, project)
    broken(plug, folder)


def first(plug: Plug, home: Path, project: Path) -> None:
    """The long task and the correction."""
    told = Told()
    window = WINDOW if "compaction" in plug.reaches else 200_000
    with ScriptedServer(Reader(), window=window) as server, attached(home, plug, told) as engine:
        talk = plug.begin(World(server=server, project=project, attached=engine), "first")
        last = talk.say(TASK)
        read = len(server.received)
        talk.say(CORRECTION)
        talk.close()
        lessons = [head.description for head in engine.engine.memory(str(project)).headers()]
    assert f"Marigold-{PAGES}" in last
    assert not server.refusals, server.refusals
    assert not told.failures(), told.failures()
    check_requests(server.received, told, plug)
    check_latest(server.received[:read])
    check_notes(home, plug)
    assert bool(lessons) == ("extraction" in plug.reaches), lessons


def check_requests(received: list[ReceivedRequest], told: Told, plug: Plug) -> None:
    """What holds for every request: the task in view, pairs whole, a prefix that changes by
    compactions alone.
    """
    prefix = PrefixChecker()
    for request in received:
        assert TASK in words(request.body), f"request {request.number} has lost the task"
        check_pairs(request)
        prefix(request.body)
    assert [each for each in prefix.differences if each.part != "messages"] == [], str(prefix)
    assert len(prefix.differences) <= len(told.compactions()), f"{prefix}\n{told.compactions()}"
    assert bool(told.compactions()) == ("compaction" in plug.reaches)


def check_pairs(request: ReceivedRequest) -> None:
    """Every call has its result and every result its call."""
    assert request.format is not None
    prompt = find_codec(request.format).decode_request(request.body)
    calls = [
        block.id
        for message in prompt.messages
        for block in blocks(message)
        if isinstance(block, ToolUse)
    ]
    results = [
        block.tool_use_id
        for message in prompt.messages
        for block in blocks(message)
        if isinstance(block, ToolResult)
    ]
    assert calls == results, f"request {request.number}: {calls} and {results}"


def blocks(message: Message) -> tuple[Any, ...]:
    """What a message holds."""
    return message.blocks


def check_latest(received: list[ReceivedRequest]) -> None:
    """Each request of the task shows the page that was read last, whole."""
    for number, request in enumerate(received[BOTH + 1 :], BOTH + 2):
        assert read_page(number) in words(request.body), (
            f"request {request.number} has lost page {number}, which was read last"
        )


def check_notes(home: Path, plug: Plug) -> None:
    """The notes on disk name the task, where a plug gets as far as that."""
    notes = [
        path.read_text("utf-8") for path in home.glob("projects/*/first*/session-memory/summary.md")
    ]
    assert bool(notes) == ("notes" in plug.reaches), list(home.glob("projects/*/*"))
    assert all("harbour report" in each for each in notes)


def second(plug: Plug, home: Path, project: Path) -> None:
    """Another session, in a new state of the process."""
    told = Told()
    with ScriptedServer(Reader(0)) as server, attached(home, plug, told) as engine:
        talk = plug.begin(World(server=server, project=project, attached=engine), "second")
        assert talk.say(LATER) == "I will."
        talk.close()
    shown = LESSON in words(server.received[0].body)
    assert shown == ("recall" in plug.reaches), words(server.received[0].body)
    assert not told.failures(), told.failures()


LARGE_WINDOW = 60_000
"""Tokens: three large pages take a third of it."""
LARGE_PAGES = 15
AT_ONCE = 3
"""Large pages that the model asks for in one reply."""


def read_large_page(number: int) -> str:
    """Read one page of the harbour report."""
    return f"Page {number} begins. " + "Timber and tar came in. " * 1_040 + f"Page {number} ends."


class LastResultReader:
    """A model that knows how far it has read by the pages that it sees whole, and by nothing
    else.
    """

    def __init__(self) -> None:
        self.asked: list[int] = []

    def __call__(self, request: Request) -> Step:
        said = words(request.body)
        seen = [each for each in range(1, LARGE_PAGES + 1) if read_large_page(each) in said]
        first = max(seen, default=0) + 1
        if first > LARGE_PAGES:
            return Say(text=f"The ship Marigold-{LARGE_PAGES} came last.")
        if len(self.asked) >= 2 * LARGE_PAGES:
            return Say(text="I keep reading the same pages.")
        numbers = range(first, first + AT_ONCE)
        self.asked += numbers
        return ReplyParts(
            parts=tuple(CallTool(name=TOOL, input={"number": number}) for number in numbers)
        )


def read_large_pages(plug: Plug, folder: Path) -> None:
    """Results of 25,000 characters, three calls at once, far more than the window together: a model
    that goes by its last results asks for no page twice.
    """
    model, told = LastResultReader(), Told()
    with (
        ScriptedServer(model, window=LARGE_WINDOW) as server,
        attached(folder / "home", plug, told, LARGE_WINDOW) as engine,
    ):
        world = World(server=server, project=folder, attached=engine, tool=_large_tool())
        talk = plug.begin(world, "large")
        last = talk.say(TASK)
        talk.close()
    assert model.asked == list(range(1, LARGE_PAGES + 1))
    assert f"Marigold-{LARGE_PAGES}" in last
    assert told.compactions()
    assert not server.refusals, server.refusals
    assert not told.failures(), told.failures()


def _large_tool() -> Callable[[int], str]:
    """The large pages as the tool of the story, which hosts know by its name."""

    def read_page(number: int) -> str:
        """Read one page of the harbour report."""
        return read_large_page(number)

    return read_page


def tell_users_apart(plug: Plug, folder: Path) -> None:
    """One server, one project, two users: what alice said is shown to alice alone, in her next
    conversation too; also what she wants in every project.
    """
    project, told = folder / "shared", Told()
    (project / ".git").mkdir(parents=True)
    shown = {}
    with ScriptedServer(Reader(0)) as server, attached(folder / "server", plug, told) as engine:
        for user, session, text in (
            ("alice", "a0", PERSONAL),
            ("alice", "a1", CORRECTION),
            ("bob", "b1", LATER),
            ("alice", "a2", LATER),
        ):
            begun = len(server.received)
            world = World(server=server, project=project, attached=engine, user=user)
            talk = plug.begin(world, session)
            talk.say(text)
            talk.close()
            requests = server.received[begun:]
            shown[session] = tuple(
                any(lesson in words(request.body) for request in requests)
                for lesson in (PERSONAL_LESSON, LESSON)
            )
    assert shown == {
        "a0": (True, False),
        "a1": (True, True),
        "b1": (False, False),
        "a2": (True, True),
    }, shown
    assert not told.failures(), told.failures()


class PageAtATime:
    """A model that answers everything by reading the next page and then saying something."""

    words = "That is what it says, and the next page may say more. " * 3

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, request: Request) -> Step:
        del request
        self.asked += 1
        page, is_read = divmod(self.asked + 1, 2)
        return Say(text=self.words) if is_read else CallTool(name=TOOL, input={"number": page})


IGNORES_GENERATORS = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""For hosts that leave the generators of their HTTP library to the garbage collector, with memorist
and without.
"""


def leave_streams(plug: Plug, folder: Path) -> None:
    """A host that leaves the end of each turn unread, as with a button that stops it: the notes are
    made, the conversation fits its window all the same, calls and results stay paired, and a
    correction is kept.
    """
    model, told, project = PageAtATime(), Told(), folder / "harbour"
    (project / ".git").mkdir(parents=True)
    with (
        ScriptedServer(model, window=WINDOW) as server,
        attached(folder / "home", plug, told) as engine,
    ):
        talk = plug.begin(World(server=server, project=project, attached=engine), "left")
        assert isinstance(talk, StreamingTalk)
        for text in (TASK, CORRECTION, *(f"Now page {each}." for each in range(3, PAGES))):
            talk.leave(text)
        last = talk.say("And the last one.")
        talk.close()
        lessons = engine.engine.memory(str(project)).headers()
    gc.collect()  # what a host complains of in generators that nobody ran to their end
    assert last.strip() == model.words.strip()
    assert not server.refusals, server.refusals
    assert not told.failures(), told.failures()
    assert told.compactions()
    assert len(lessons) == 1
    for request in server.received:
        assert TASK in words(request.body), f"request {request.number} has lost the task"
        check_pairs(request)


def go_on_while_locked(plug: Plug, folder: Path) -> None:
    """Another process keeps the database locked, from before the conversation opens: the host does
    its task after one wait for each database, and afterwards what was said and learnt is kept.
    """
    home, project, told = folder / "home", folder / "harbour", Told()
    (project / ".git").mkdir(parents=True)
    with ScriptedServer(Reader(0)) as server, attached(home, plug, told) as engine:
        talk = plug.begin(World(server=server, project=project, attached=engine), "before")
        talk.say(LATER)
        talk.close()
    with (
        ExitStack() as locks,
        pytest.MonkeyPatch.context() as patched,
        ScriptedServer(Reader(3)) as server,
        attached(home, plug, told) as engine,
    ):
        waits = count_lock_waits(patched)
        locked = list(home.rglob("state.sqlite"))
        for path in locked:
            other = sqlite3.connect(path, isolation_level=None)
            locks.callback(other.close)
            other.execute("begin exclusive")
        talk = plug.begin(World(server=server, project=project, attached=engine), "locked")
        assert f"Marigold-{PAGES}" in talk.say(TASK)
        talk.say(CORRECTION)
        locks.close()
        talk.say(LATER)
        talk.close()
    kept = "".join(path.read_text("utf-8") for path in home.rglob("transcript.jsonl"))
    learnt = "".join(path.read_text("utf-8") for path in home.rglob("memory/*.md"))
    assert len(waits) == len(locked)
    assert all(text in kept for text in (TASK, CORRECTION, LATER))
    assert (LESSON in learnt) == ("extraction" in plug.reaches)
    assert not told.failures(), told.failures()


def broken(plug: Plug, folder: Path) -> None:
    """A memorist that cannot work, as nothing can be written: every request is what the host sends
    without it.
    """
    sent = []
    for name in ("without", "with"):
        told = Told()
        with (
            no_disk(folder) as home,
            ScriptedServer(Reader(3)) as server,
            attached(home, plug, told) as engine,
        ):
            world = World(
                server=server, project=folder, attached=None if name == "without" else engine
            )
            talk = plug.begin(world, "broken")
            assert f"Marigold-{PAGES}" in talk.say(TASK)
            talk.say(CORRECTION)
            talk.close()
        sent.append([request.body for request in server.received])
        assert bool(told.failures()) == (name == "with")
    assert sent[0] == sent[1]
