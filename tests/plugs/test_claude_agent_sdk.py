"""The Claude Agent SDK: a story through the Claude Code that it brings, with hooks in this process;
and the store, by the SDK's own suite.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plugs.story import CORRECTION, LATER, LESSON, TASK, words
from support.waiting import count_lock_waits

pytest.importorskip(
    "claude_agent_sdk",
    reason="claude-agent-sdk is not installed; `make test-plugs PLUGS=claude-agent-sdk` brings it",
)

from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    ResultMessage,
    create_sdk_mcp_server,
    query,
    tool,
)
from claude_agent_sdk.testing import run_session_store_conformance

from memorist.adapters.claude_agent_sdk import FEATURES, MemoristHooks
from memorist.adapters.claude_session_store import MemoristSessionStore
from memorist.adapters.engine_thread import EngineThread
from memorist.errors import StoreError
from memorist.events import AdapterFailed, ConversationCompacted, Event
from memorist.hooks.hook_session import MAX_OPEN_SESSIONS
from memorist.ports import Request
from memorist.testing import CallTool, Say, ScriptedServer
from memorist.testing.steps import Step

MODEL = "claude-sonnet-4-5"
PAGE = "On day 3 the ship Marigold-3 came in with timber."
SUMMARY = "<summary>The harbour report is read.</summary>"
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
}


@tool("read_page", "Read one page of the harbour report.", {"number": int})
async def read_page(arguments: dict[str, Any]) -> dict[str, Any]:
    """A tool of the program."""
    return {"content": [{"type": "text", "text": f"Page {arguments['number']}. {PAGE}"}]}


def model(request: Request) -> Step:
    """Reads a page when it is given the task, sums up when Claude Code compacts, and agrees to all
    else.
    """
    said = words(request.body["messages"][-1:])
    if not request.body.get("tools"):
        return Say(text="A title.")
    if "<analysis>" in said:
        return Say(text=SUMMARY)
    if TASK in said:
        return CallTool(name="mcp__book__read_page", input={"number": 3})
    return Say(text="I will.")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = tmp_path / "harbour"
    (made / ".git").mkdir(parents=True)
    return made


def options(server: ScriptedServer, project: Path, **more: Any) -> ClaudeAgentOptions:
    home = project.parent / "claude"
    environment = {
        "ANTHROPIC_BASE_URL": server.url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CONFIG_DIR": str(home),
        "HOME": str(home),
        **QUIET,
    }
    book = create_sdk_mcp_server("book", tools=[read_page])
    return ClaudeAgentOptions(
        model=MODEL,
        cwd=project,
        env=environment,
        mcp_servers={"book": book},
        allowed_tools=["mcp__book__read_page"],
        **more,
    )


async def say(client: ClaudeSDKClient, text: str) -> ResultMessage:
    await client.query(text)
    return [
        message async for message in client.receive_response() if isinstance(message, ResultMessage)
    ][-1]


def shown_in(server: ScriptedServer, text: str) -> list[bool]:
    """For each request of the main agent, whether the text stands in it."""
    return [text in words(request.body) for request in server.received if request.body.get("tools")]


@pytest.mark.covers("IN-1")
async def test_the_story(tmp_path: Path, project: Path) -> None:
    """A task and a correction that waits and is accepted, a compaction by Claude Code after which the
    notes come back, and a second session that is shown what was learnt.
    """
    told: list[Event] = []
    with (
        ScriptedServer(model, strict=False) as server,
        EngineThread(home=tmp_path / "home", listener=told.append) as engine,
    ):
        async with (
            MemoristHooks(attached=engine) as memorist,
            ClaudeSDKClient(memorist.options(options(server, project))) as client,
        ):
            await say(client, TASK)
            await say(client, CORRECTION)
            before = len(shown_in(server, ""))
            await say(client, "/compact")
            await say(client, "Go on.")
            restored = shown_in(server, "never npm")[before:]
        memory = engine.engine.memory(str(project))
        kept, waiting = memory.headers(), memory.list_proposals()
        for proposal in waiting:
            memory.accept(proposal.id)
        lessons = [head.description for head in memory.headers()]
        notes = "\n".join(
            path.read_text("utf-8")
            for path in (tmp_path / "home").glob("projects/*/*/session-memory/summary.md")
        )
    with (
        ScriptedServer(model, strict=False) as server,
        EngineThread(home=tmp_path / "home", listener=told.append) as engine,
    ):
        async with (
            MemoristHooks(attached=engine) as memorist,
            ClaudeSDKClient(memorist.options(options(server, project))) as client,
        ):
            await say(client, LATER)
        second = shown_in(server, LESSON)

    assert frozenset({"notes", "recall", "extraction"}) == FEATURES
    assert not kept, "a program passed the words on, so they wait for the person"
    assert LESSON in " ".join(lessons)
    assert "harbour report" in notes
    assert restored[-1], "the notes did not come back after the compaction"
    assert second[0], "the second session was not shown what the first had learnt"
    assert not [event for event in told if isinstance(event, ConversationCompacted | AdapterFailed)]


@pytest.mark.covers("IN-1", "SF-2")
async def test_users_of_one_server_share_nothing(tmp_path: Path, project: Path) -> None:
    """One engine, one project, hooks for each user: what alice accepted is shown to alice alone,
    also by hooks whose engine had rested and was closed meanwhile.
    """
    shown: dict[str, bool] = {}
    with (
        ScriptedServer(model, strict=False) as server,
        EngineThread(home=tmp_path / "home") as engine,
    ):
        for name, user, text in (
            ("a1", "alice", CORRECTION),
            ("b1", "bob", LATER),
            ("a2", "alice", LATER),
        ):
            begun = len(shown_in(server, ""))
            async with (
                MemoristHooks(user=user, attached=engine) as memorist,
                ClaudeSDKClient(memorist.options(options(server, project))) as client,
            ):
                await say(client, text)
                assert memorist.store.path.is_relative_to(engine.home(user))
            alice = await engine.arun(lambda: engine.open_engine("alice"))
            memory = alice.memory(str(project))
            for proposal in memory.list_proposals():
                memory.accept(proposal.id)
            shown[name] = any(shown_in(server, LESSON)[begun:])

    assert not engine.engine.memory(str(project)).headers()
    assert shown == {"a1": True, "b1": False, "a2": True}


@pytest.mark.covers("IN-1")
async def test_a_session_is_resumed_from_the_store_alone(tmp_path: Path, project: Path) -> None:
    """After Claude Code's own file is gone, the conversation goes on from memorist's."""
    with ScriptedServer(model, strict=False) as server:
        async with MemoristHooks(home=tmp_path / "home") as memorist:
            given = options(server, project, session_store=memorist.store)
            async for message in query(prompt=TASK, options=memorist.options(given)):
                if isinstance(message, ResultMessage):
                    session = message.session_id
            shutil.rmtree(tmp_path / "claude")
            again = options(server, project, session_store=memorist.store, resume=session)
            async for message in query(prompt="Go on.", options=memorist.options(again)):
                assert not isinstance(message, ResultMessage) or not message.is_error

    assert shown_in(server, PAGE)[-1]
    assert TASK in words(server.received[-1].body)


@pytest.mark.covers("IN-1", "SF-5")
async def test_a_locked_database_holds_up_nobody(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process keeps it locked: two parts of the engine wait once each, no turn waits again,
    and what was said is kept.
    """
    home, told = tmp_path / "home", list[Event]()
    with EngineThread(home=home) as engine:
        engine.engine.database()
    with (
        closing(sqlite3.connect(home / "state.sqlite", isolation_level=None)) as other,
        ScriptedServer(model, strict=False) as server,
        EngineThread(home=home, listener=told.append) as engine,
    ):
        other.execute("begin exclusive")
        waits = count_lock_waits(monkeypatch)
        async with (
            MemoristHooks(attached=engine) as memorist,
            ClaudeSDKClient(memorist.options(options(server, project))) as client,
        ):
            for text in (TASK, LATER, LATER):
                assert (await say(client, text)).result == "I will."

    assert len(waits) <= 2
    assert not [event for event in told if isinstance(event, AdapterFailed)]
    assert TASK in "".join(path.read_text("utf-8") for path in home.rglob("transcript.jsonl"))


@pytest.mark.covers("IN-1")
async def test_a_memorist_that_cannot_work_stops_nothing(
    tmp_path: Path, unusable_home: Path, project: Path
) -> None:
    """Its home is a file: the agent answers, and the failure is told."""
    told: list[Event] = []
    with (
        ScriptedServer(model, strict=False) as server,
        EngineThread(home=unusable_home, listener=told.append) as engine,
    ):
        async with (
            MemoristHooks(attached=engine) as memorist,
            ClaudeSDKClient(memorist.options(options(server, project))) as client,
        ):
            result = await say(client, TASK)

    assert result.result == "I will."
    assert {event.point for event in told if isinstance(event, AdapterFailed)} >= {
        "UserPromptSubmit"
    }


@pytest.mark.covers("IN-1")
def test_the_hooks_stand_behind_those_of_the_program(tmp_path: Path) -> None:
    """Nothing of the options is lost, and they are not changed in place."""

    async def own(*_: Any) -> Any:
        return {}

    given = ClaudeAgentOptions(
        model=MODEL,
        hooks={"Stop": [HookMatcher(hooks=[own])], "Notification": [HookMatcher(hooks=[own])]},
    )
    with MemoristHooks(home=tmp_path / "home") as memorist:
        made = memorist.options(given)

    assert made.model == MODEL
    assert made.hooks is not None
    assert [len(made.hooks[name]) for name in ("Stop", "Notification", "UserPromptSubmit")] == [
        2,
        1,
        1,
    ]
    assert given.hooks is not None
    assert [len(matchers) for matchers in given.hooks.values()] == [1, 1]


@pytest.mark.covers("IN-1")
@pytest.mark.parametrize(
    "event",
    [
        {},
        {"session_id": 5},
        {"session_id": "a", "transcript_path": "/nowhere/x.jsonl", "cwd": 7},
        None,
        "text",
        [1],
    ],
)
async def test_an_odd_event_is_answered_with_nothing(tmp_path: Path, event: Any) -> None:
    """What Claude Code of another version may send."""
    with MemoristHooks(home=tmp_path / "home") as memorist:
        for name, (matcher,) in memorist.hooks.items():
            (hook,) = matcher.hooks
            answer = await hook(event, None, {"signal": None})
            assert answer == {} or name in ("UserPromptSubmit", "SessionStart")


def stores(folder: Path) -> Callable[[], MemoristSessionStore]:
    made = iter(range(1_000))
    return lambda: MemoristSessionStore(folder / f"{next(made)}.sqlite")


@pytest.mark.covers("IN-1")
async def test_the_store_keeps_the_sdks_contract(tmp_path: Path) -> None:
    """The suite that the SDK publishes for stores, with nothing skipped."""
    await run_session_store_conformance(stores(tmp_path))


@pytest.mark.covers("SF-4")
async def test_a_line_that_comes_twice_is_kept_once(tmp_path: Path) -> None:
    """The SDK sends a batch again when it does not know whether it arrived; lines without an id are
    kept each time.
    """
    store = MemoristSessionStore(tmp_path / "s.sqlite")
    key: Any = {"project_key": "p", "session_id": "s"}
    batch: list[Any] = [{"type": "user", "uuid": "a"}, {"type": "mode"}]
    await store.append(key, batch)
    await MemoristSessionStore(tmp_path / "s.sqlite").append(key, batch)

    assert await store.load(key) == [*batch, {"type": "mode"}]
    assert (tmp_path / "s.sqlite").stat().st_mode & 0o777 == 0o600


@pytest.mark.covers("SF-4")
async def test_many_writers_lose_nothing(tmp_path: Path) -> None:
    """Each batch stays together, in the order of its writer."""
    key: Any = {"project_key": "p", "session_id": "s"}

    async def write(name: int) -> None:
        store = MemoristSessionStore(tmp_path / "s.sqlite")
        for number in range(10):
            await store.append(
                key, [{"type": "x", "uuid": f"{name}-{number}", "from": name, "number": number}]
            )

    await asyncio.gather(*(write(name) for name in range(4)))
    lines: Any = await MemoristSessionStore(tmp_path / "s.sqlite").load(key)

    for name in range(4):
        assert [line["number"] for line in lines if line["from"] == name] == list(range(10))


@pytest.mark.covers("SF-5")
async def test_a_store_that_is_damaged_says_so(tmp_path: Path) -> None:
    """The SDK reports it and goes on."""
    (tmp_path / "s.sqlite").write_bytes(b"no database" * 500)

    with pytest.raises(StoreError, match="move the file away"):
        await MemoristSessionStore(tmp_path / "s.sqlite").load(
            {"project_key": "p", "session_id": "s"}
        )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.covers("IN-1")
@settings(
    max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(
    names=st.tuples(st.text(), st.text(), st.text()),
    lines=st.lists(st.dictionaries(st.text(), JSON, max_size=4), min_size=1, max_size=4),
)
def test_every_line_goes_back_as_it_came(
    tmp_path: Path, names: tuple[str, str, str], lines: list[dict[str, Any]]
) -> None:
    """Whatever JSON it holds, halves of emoji and huge numbers among it; under names of any text."""
    store = MemoristSessionStore(tmp_path / f"{len(list(tmp_path.iterdir()))}.sqlite")
    key: Any = {"project_key": names[0], "session_id": names[1], "subpath": names[2]}
    batch: Any = [
        {"type": "x", **line, "uuid": f"line-{number}"} for number, line in enumerate(lines)
    ]

    asyncio.run(store.append(key, batch))

    assert json.dumps(asyncio.run(store.load(key))) == json.dumps(batch)


async def test_many_single_questions_leave_a_bounded_number_of_sessions_open(
    tmp_path: Path, project: Path
) -> None:
    """The SDK never says that a session is over: past a hundred the one whose last event is oldest
    is ended.
    """
    with MemoristHooks(home=tmp_path / "home") as memorist:
        (matcher,) = memorist.hooks["UserPromptSubmit"]
        for number in range(MAX_OPEN_SESSIONS + 3):
            path = project / f"{number}.jsonl"
            event: Any = {
                "hook_event_name": "UserPromptSubmit",
                "session_id": f"s{number}",
                "transcript_path": str(path),
                "cwd": str(project),
                "prompt": f"We always deploy invoice {number} with make ship.",
            }
            await matcher.hooks[0](event, None, {"signal": None})
        assert len(memorist._open_sessions) == MAX_OPEN_SESSIONS
        assert "s0" not in memorist._open_sessions
