"""Mistakes of a program that uses the engine are named where they are made."""

from __future__ import annotations

import asyncio
import copy
import pickle
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import pytest

import memorist
from memorist import BlockingMemorist, HostInfo, Memorist, SessionContext, SessionExtension
from memorist.adapters.engine_thread import EngineThread
from memorist.core.messages import Message
from memorist.engine.tenants import Tenants
from memorist.errors import MemoristError, UsageError, WireFormatError

Call = Callable[[BlockingMemorist], object]
MESSAGES = [{"role": "user", "content": "Hello."}]
REQUEST = {"model": "m", "max_tokens": 9, "messages": MESSAGES}


def _any(value: object) -> Any:
    """A value that a type checker would refuse."""
    return cast("Any", value)


WRONG: dict[str, tuple[Call, str]] = {
    "an id that is a number": (lambda e: e.open(_any(7)), "give str"),
    "an id that is a UUID": (lambda e: e.open(_any(uuid.uuid4())), "not UUID"),
    "no id": (lambda e: e.open(_any(None)), "not NoneType"),
    "an empty id": (lambda e: e.open(""), "needs an id"),
    "an id that is no text of UTF-8": (lambda e: e.open("chat-\ud800"), "UTF-8 can hold"),
    "a project that is no text of UTF-8": (lambda e: e.memory("/a/\ud800"), "no name of a folder"),
    "no project by None": (lambda e: e.open("s", project=_any(None)), "leave it out"),
    "a project with a NUL": (lambda e: e.memory("a\0b"), "no name of a folder"),
    "a text for a project": (lambda e: e.open("s", project="x" * 300), "no name of a folder"),
    "a host by its window": (lambda e: e.open("s", host=_any(8_000)), "HostInfo, not int"),
    "a window in words": (
        lambda e: e.open("s", host=HostInfo(window=_any("8k"))),
        "number of tokens",
    ),
    "a text for a request": (lambda e: e.open("s").prepare(_any("Hello.")), "whole request"),
    "messages for a request": (lambda e: e.open("s").prepare(_any([])), "not list"),
    "a message that is a tuple": (
        lambda e: e.open("s").prepare(REQUEST | {"messages": [("user", "Hello.")]}),
        r"messages\[0\] is an object with a role and content, such as a dict, not tuple",
    ),
    "a message that is a text": (
        lambda e: e.open("s").prepare(REQUEST | {"messages": [*MESSAGES, "Hello."]}),
        r"messages\[1\] .* not str",
    ),
    "a message that holds an object": (
        lambda e: e.open("s").prepare(
            REQUEST | {"messages": [{"role": "user", "content": object()}]}
        ),
        "no JSON: .* object",
    ),
    "a message of Gemini": (
        lambda e: e.open("s").prepare(
            REQUEST | {"messages": [{"role": "user", "parts": [{"text": "Hello."}]}]}
        ),
        r"messages\[0\] has 'parts' .* LiteLLM",
    ),
    "a message of Bedrock's Converse": (
        lambda e: e.open("s").prepare(
            REQUEST | {"messages": [{"role": "user", "content": [{"text": "Hello."}]}]}
        ),
        r"messages\[0\] has content without a 'type'",
    ),
    "a tokenizer for a token counter": (
        lambda e: e.open("s", host=HostInfo(count_tokens=_any(str.split))),
        "number of tokens of a text, not list",
    ),
    "a token counter that counts down": (
        lambda e: e.open("s", host=HostInfo(count_tokens=lambda _: -1)),
        "number of tokens of a text, not -1",
    ),
    "a text for a reply": (lambda e: e.open("s").observe("Hello."), "not str"),
    "settings that are a dictionary": (
        lambda _: Memorist(settings=_any({"model": "structural"})),
        "memorist.Settings, not dict",
    ),
    "no kind of memory": (
        lambda e: e.memory("shop").add("Use pnpm", kind="ticket"),
        "'ticket' is no kind of memory: user, feedback, project, reference",
    ),
    "messages for a memory": (lambda e: e.memory("shop").add(_any([{}])), "text, not list"),
    "a number for a memory's name": (
        lambda e: e.memory("shop").add("Use pnpm", name=_any(5)),
        "text, not int",
    ),
    "nothing to forget": (lambda e: e.memory("shop").forget(_any(None)), "takes paths"),
    "a memory to forget": (lambda e: e.memory("shop").forget(_any([{}])), "path is a text"),
    "nothing for a memory's text": (
        lambda e: e.memory("shop").edit("a.md", _any(None)),
        "text, not NoneType",
    ),
    "the memory of no project": (lambda e: e.memory(_any(None)), "not NoneType"),
    "no query": (lambda e: e.search(_any(None), project="shop"), "query is a text"),
    "a limit as text": (lambda e: e.search("a", project="shop", limit=_any("3")), "not '3'"),
    "no query in a session": (lambda e: e.open("s").search_project(_any(None)), "query is a text"),
    "a number for a folder": (lambda e: e.open("s", folder=_any(5)), "a path, not int"),
    "an empty text for a folder": (lambda e: e.open("s", folder=""), "not an empty text"),
    "a folder with a NUL": (lambda e: e.open("s", folder="a\0b"), "a path, not 'a"),
    "a folder that is no text of UTF-8": (lambda e: e.open("s", folder="/\ud800"), "a path, not"),
    "a number for a pin": (lambda e: e.open("s").pin(_any(4)), "a pin is a text"),
    "no file": (lambda e: e.open("s").on_file_read(_any(None)), "a path is a text"),
    "a call without arguments": (
        lambda e: e.open("s").recall_for_tool_call("Bash", _any(None)),
        "an object of JSON, not NoneType",
    ),
    "no strategy": (lambda e: e.open("s").compact("", _any("best")), "auto, micro"),
    "a dictionary for a context": (
        lambda e: e.open("s").assemble_context(_any({"folder": "/"})),
        "memorist.HostContext, not dict",
    ),
    "a function for a model": (
        lambda _: Memorist(model=_any(lambda prompt: prompt)),
        "memorist.ports.Model.*not function",
    ),
    "a model without its parts": (lambda _: Memorist(model=_any(object())), "close, format, name"),
    "a function for a clock": (lambda _: Memorist(clock=_any(lambda: 0.0)), "memorist.ports.Clock"),
    "a folder for files": (lambda _: Memorist(files=_any("/srv")), "memorist.ports.FileSystem"),
    "a number for a tenant": (lambda _: Tenants("tenants").home(_any(5)), "text, not int"),
    "a function for all tenants' model": (
        lambda _: Tenants("tenants", model=_any(lambda prompt: prompt)),
        "memorist.ports.Model",
    ),
    "a dictionary for all tenants' settings": (
        lambda _: Tenants("tenants", settings=_any({})),
        "memorist.Settings, not dict",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_says_what_is_wanted(tmp_path: Path, name: str) -> None:
    """An error of memorist's own with the argument and what it should be, whatever the type was."""
    call, said = WRONG[name]
    with Memorist(home=tmp_path) as engine, pytest.raises(MemoristError, match=said) as caught:
        call(engine)
    assert isinstance(caught.value, UsageError | WireFormatError)


def test_the_folder_of_a_session_may_be_a_text(tmp_path: Path) -> None:
    """As the home and a project may: it raised a TypeError of Python's own."""
    with Memorist(home=tmp_path / "home") as engine:
        session = engine.open("s", folder=str(tmp_path / "own"))
        session.pin("the port is 9417")
        session.close()
    assert "9417" in (tmp_path / "own" / "pins.json").read_text()


@pytest.mark.parametrize(
    ("guess", "said"),
    [
        (lambda e: e.open("s").add_message("Hello."), "session.prepare"),
        (lambda e: e.create_session("s"), "engine.open"),
        (lambda e: e.memory("/srv/shop").get_all(), "read_memory_files"),
        (lambda _: _any(memorist).MemoryClient, "memorist.Memorist"),
        (lambda _: _any(memorist).Tenants, "memorist.engine.tenants"),
        (lambda _: __import__("memorist", fromlist=["Memory"]), "memorist.Memorist"),
    ],
)
def test_names_of_other_libraries_lead_to_the_right_one(
    tmp_path: Path, guess: Callable[[Any], object], said: str
) -> None:
    """The error says what to write, and a name that nobody could mean is refused as ever."""
    with Memorist(home=tmp_path) as engine:
        with pytest.raises((AttributeError, ImportError), match=said):
            guess(engine)
        assert not hasattr(engine, "frobnicate")
        assert not hasattr(memorist, "frobnicate")
        assert not hasattr(memorist, "Memory")


async def test_a_cancelled_request_loses_nothing(tmp_path: Path) -> None:
    """A timeout in the middle of a long history: the next request records each message once."""
    messages = [{"role": "user", "content": f"Letter {each}."} for each in range(600)]
    async with Memorist(home=tmp_path) as engine:
        session = await engine.open("s1", project=tmp_path)
        for _ in range(2):
            preparing = asyncio.ensure_future(session.prepare(REQUEST | {"messages": messages}))
            await asyncio.sleep(0)
            preparing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await preparing
        await session.prepare(REQUEST | {"messages": messages})
        assert session.tracker.messages == 600


def test_the_same_reply_counts_once(tmp_path: Path) -> None:
    """A loop that tries again after an error of its own hands it over twice."""
    with Memorist(home=tmp_path) as engine, engine.open("s1") as session:
        session.prepare(REQUEST)
        for _ in range(2):
            session.observe({"role": "assistant", "content": [{"type": "text", "text": "Hi."}]})
        session.close()
        (transcript,) = tmp_path.glob("projects/*/*/transcript.jsonl")
        assert transcript.read_text().count("Hi.") == 1


def test_a_relative_project_counts_from_where_the_engine_was_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that changes its folder keeps its memory; a path of Windows is the same from
    everywhere.
    """
    monkeypatch.chdir(tmp_path)
    with Memorist(home=tmp_path / "home") as engine:
        for project in (".", r"C:\Users\Ana\shop"):
            engine.memory(project).add("Use pnpm, never npm.")
        (tmp_path / "other").mkdir()
        monkeypatch.chdir(tmp_path / "other")
        for path in (".", str(tmp_path), r"C:\Users\Ana\shop"):
            assert len(engine.memory(path).headers()) == 1
            assert engine.search("pnpm or npm?", project=path).memories
    assert Memorist(home=tmp_path / "home").memory(".").headers() == []


def test_a_token_counter_decides_when_the_window_is_full(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Until a provider counts; a text that it fails at is estimated, and the log says so once."""

    def count(text: str) -> int:
        if "fail" in text:
            raise ValueError(text)
        return len(text)

    long = {"role": "user", "content": "A long letter. " * 400}
    answer = {"role": "assistant", "content": "Read."}
    messages = [long, answer, long, answer, {"role": "user", "content": "fail"}]
    sizes = []
    for counter in (None, count):
        host = HostInfo(window=12_000, count_tokens=counter)
        with Memorist(home=tmp_path, model="structural") as engine:
            session = engine.open(f"s{counter}", host=host)
            sizes.append(len(str(session.prepare(REQUEST | {"messages": messages}))))
    assert sizes[1] < sizes[0] / 2
    assert [each.message for each in caplog.records if "count_tokens" in each.message] == [
        "HostInfo.count_tokens failed, and the session goes on: fail"
    ]


def test_a_closed_session_takes_nothing_more(tmp_path: Path) -> None:
    """Neither a request nor a reply is lost without a word; closing twice is no mistake."""
    with Memorist(home=tmp_path) as engine:
        session = engine.open("s1")
        session.prepare(REQUEST)
        session.close()
        session.close()
        with pytest.raises(UsageError, match="s1 is closed"):
            session.prepare(REQUEST)
        with pytest.raises(UsageError, match="s1 is closed"):
            session.observe({"role": "assistant", "content": "Hello."})
        with engine.open("s1") as again:
            assert again.prepare(REQUEST)["messages"] == REQUEST["messages"]


def test_what_has_open_files_cannot_be_pickled(tmp_path: Path) -> None:
    """For a pool of processes or a cache; the error says what to pass on instead."""
    tenants, shared = Tenants(tmp_path / "tenants"), EngineThread(home=tmp_path / "shared")
    with Memorist(home=tmp_path) as engine, engine.open("s1") as session, shared:
        for each in (engine, engine.engine, session, engine.memory("shop"), tenants, shared):
            with pytest.raises(TypeError, match="open it there"):
                pickle.dumps(each)
            with pytest.raises(TypeError, match="open it there"):
                copy.copy(each)


def test_a_path_and_a_single_name_are_taken(tmp_path: Path) -> None:
    """A project as a path is the project by its text; one memory can be forgotten by its name."""
    shop = tmp_path / "shop"
    with Memorist(home=tmp_path / "home") as engine:
        with engine.open("s1", project=shop) as session:
            session.prepare(REQUEST)
        memory = engine.memory(shop)
        memory.add("Use tabs")
        assert engine.search("tabs", project=shop).memories[0].path == "use-tabs.md"
        memory.forget("use-tabs.md")
        assert engine.memory(str(shop)).headers() == []


def test_extensions_are_reached_without_an_event_loop(tmp_path: Path) -> None:
    """The same list as of the engine itself."""

    class Count(SessionExtension):
        def __init__(self, context: SessionContext) -> None:
            self.session = context.id
            counts.append(self)
            self.seen = 0

        def on_message(self, message: Message, *, replayed: bool = False) -> None:
            self.seen += message.role == "user" and not replayed

    counts: list[Count] = []
    with Memorist(home=tmp_path) as engine:
        engine.extensions.append(Count)
        with engine.open("s1") as session:
            session.prepare(REQUEST)
    assert [(each.session, each.seen) for each in counts] == [("s1", 1)]


@dataclass
class Said:
    """A message as a program of its own keeps it."""

    role: str
    content: str


def test_messages_of_other_types_are_read(tmp_path: Path) -> None:
    """Dataclasses and read-only mappings in the history say what a dictionary would."""
    said = "From now on use tabs."
    for number, message in enumerate(
        (Said("user", said), MappingProxyType(vars(Said("user", said))))
    ):
        with Memorist(model="structural", home=tmp_path) as engine:
            with engine.open(f"s{number}", project=f"/p{number}", format="openai_chat") as session:
                session.prepare({"model": "m", "messages": [message]})
            (kept,) = engine.memory(f"/p{number}").headers()
        assert kept.description == "use tabs."


@pytest.mark.parametrize("given", ["kept", "~/kept", Path("kept")])
def test_a_sessions_folder_stays_where_it_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str | Path
) -> None:
    """A program that goes to another folder left the session's later files there, and `~` became a
    folder of that name.
    """
    first, other = tmp_path / "first", tmp_path / "other"
    first.mkdir()
    other.mkdir()
    monkeypatch.setenv("HOME", str(first))
    monkeypatch.chdir(first)
    with Memorist(home=tmp_path / "home") as engine, engine.open("s", folder=given) as session:
        monkeypatch.chdir(other)
        session.pin("the port is 9417")
    assert (first / "kept" / "pins.json").exists()
    assert not [*other.iterdir()]
