"""One engine for every kind of host: blocking, on any loop, from any thread; and whatever fails,
the host's own request goes out.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memorist.adapters import host_conversation as module
from memorist.adapters.engine_thread import EngineThread, attach_or_open_engine_thread
from memorist.adapters.host_conversation import HostConversation
from memorist.engine import disk_failure_pauses
from memorist.engine.session import Session
from memorist.errors import NothingToDo, SettingsError, UsageError
from memorist.events import AdapterFailed, Event, SessionClosed, SessionOpened
from memorist.settings import Settings
from support.waiting import count_lock_waits

REQUEST: dict[str, Any] = {
    "model": "m",
    "messages": [{"role": "user", "content": "Fix the importer, please."}],
}


def reply(text: str) -> dict[str, Any]:
    return {
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        ]
    }


def talk(attached: EngineThread, id: str = "s") -> HostConversation:
    return attached.conversation(id, format="openai_chat")


def test_a_blocking_host_needs_no_loop(tmp_path: Path) -> None:
    """The whole round, called from a plain function."""
    with EngineThread(home=tmp_path) as attached:
        conversation = talk(attached)
        assert conversation.prepare(REQUEST)["messages"] == REQUEST["messages"]
        conversation.observe(reply("Done."))
        conversation.end_turn()

        assert "Fix the importer, please." in conversation.update_notes()
        assert "Fix the importer, please." in (conversation.notes or "")
        assert conversation.fetch("nothing") is None
        assert conversation.shrink_refused_request() is None


def test_it_outlives_the_loops_of_its_host(tmp_path: Path) -> None:
    """Two `asyncio.run` after one another, and a thread, speak to the same conversation."""
    with EngineThread(home=tmp_path) as attached:
        conversation = talk(attached)
        history = list(REQUEST["messages"])

        async def say(text: str) -> None:
            history.append({"role": "user", "content": text})
            await conversation.aprepare({**REQUEST, "messages": list(history)})
            await conversation.aobserve(reply(f"Yes: {text}"))
            history.append({"role": "assistant", "content": f"Yes: {text}"})
            await conversation.aend_turn()

        asyncio.run(say("first loop"))
        asyncio.run(say("second loop"))
        thread = threading.Thread(target=lambda: asyncio.run(say("third loop")))
        thread.start()
        thread.join()

        assert conversation.session is not None
        assert all(
            text in conversation.update_notes()
            for text in ("first loop", "second loop", "third loop")
        )


def test_the_same_id_is_the_same_conversation(tmp_path: Path) -> None:
    """Projects are kept apart; an empty id is refused."""
    with EngineThread(home=tmp_path) as attached:
        assert talk(attached) is not None
        held = talk(attached)
        assert talk(attached) is held
        assert attached.conversation("s", project="/srv/shop", format="openai_chat") is not held
        with pytest.raises(UsageError):
            talk(attached, "")


def test_what_memorist_cannot_use_is_sent_as_it_came_and_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A request of another format, twice: one warning, one event, and the very same object each
    time.
    """
    told: list[Event] = []
    with EngineThread(home=tmp_path, listener=told.append) as attached:
        conversation = talk(attached)
        odd: dict[str, Any] = {"model": "m", "messages": "not a list"}
        with caplog.at_level(logging.WARNING, "memorist.adapters"):
            assert conversation.prepare(odd) is odd
            assert conversation.prepare(odd) is odd
            conversation.observe("no reply at all")
        assert conversation.prepare(REQUEST)["messages"] == REQUEST["messages"]

    failed = [event for event in told if isinstance(event, AdapterFailed)]
    assert [(event.session, event.point) for event in failed] == [
        ("s", "prepare"),
        ("s", "observe"),
    ]
    assert len(caplog.records) == 2


@pytest.mark.covers("SF-5")
def test_a_folder_that_cannot_be_written_stops_no_agent(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The home is a file: every point passes through, and what was said is there when the session
    goes on in this process.
    """
    home = tmp_path / "home"
    home.write_text("not a folder")
    with EngineThread(home=home) as attached:
        conversation = talk(attached)

        assert conversation.prepare(REQUEST) is REQUEST
        conversation.observe(reply("Done."))
        conversation.end_turn()
        assert conversation.shrink_refused_request() is None
        conversation.close()
        assert REQUEST["messages"][0]["content"] in str(conversation.update_notes())


def test_what_was_asked_for_says_why_it_is_not_done(tmp_path: Path) -> None:
    """Notes of an empty conversation, a compaction of nothing."""
    with EngineThread(home=tmp_path) as attached:
        with pytest.raises(NothingToDo):
            talk(attached).update_notes()
        with pytest.raises(NothingToDo):
            talk(attached).compact()


def test_settings_that_cannot_be_used_are_refused_when_it_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No agent runs yet, so the person who writes it is told."""
    (tmp_path / "config.toml").write_text("nonsense = 1")
    with pytest.raises(SettingsError):
        EngineThread(home=tmp_path)


def test_after_closing_requests_pass_through(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A middleware that outlives its engine does no harm, and is logged once, however many
    conversations follow; closing twice is once.
    """
    attached = EngineThread(home=tmp_path)
    conversation = talk(attached)
    assert conversation.prepare(REQUEST)
    attached.close()
    attached.close()

    assert conversation.prepare(REQUEST) is REQUEST
    assert asyncio.run(conversation.aprepare(REQUEST)) is REQUEST
    assert all(talk(attached, id).prepare(REQUEST) is REQUEST for id in "abc")
    assert len([each for each in caplog.records if "attach it again" in each.message]) == 1


def test_a_closed_conversation_goes_on_at_its_next_request(tmp_path: Path) -> None:
    """Closing lets go of the files, no more."""
    told: list[Event] = []
    with EngineThread(home=tmp_path, listener=told.append) as attached:
        conversation = talk(attached)
        conversation.prepare(REQUEST)
        conversation.close()
        conversation.prepare(REQUEST)

    opened = [event.resumed for event in told if isinstance(event, SessionOpened)]
    assert opened == [False, True]


def test_a_conversation_whose_session_is_deleted_begins_afresh(tmp_path: Path) -> None:
    """At its next request, with the same object, for a home's own sessions and those of a user."""
    with EngineThread(home=tmp_path) as attached:
        for user in ("", "ada"):
            conversation = attached.conversation("s", user=user, format="openai_chat")
            conversation.prepare(REQUEST)
            engine = attached.run(partial(attached.open_engine, user))
            attached.run(partial(engine.delete_session, "s"))
            assert not list(engine.layout.home.glob("projects/*/s/transcript.jsonl"))

            assert conversation.prepare(REQUEST)["messages"] == REQUEST["messages"]
            conversation.observe(reply("Done."))
            conversation.close()
            (kept,) = engine.layout.home.glob("projects/*/s/transcript.jsonl")
            assert "Fix the importer, please." in kept.read_text()


def test_only_so_many_conversations_stay_open(tmp_path: Path) -> None:
    """What was not used for longest is closed, and opened again when it goes on."""
    told: list[Event] = []
    with EngineThread(home=tmp_path, listener=told.append, most_open=2) as attached:
        held = [talk(attached, f"s{number}") for number in range(4)]
        for conversation in [*held, held[0]]:
            conversation.prepare(REQUEST)
        opened = [event.session for event in told if isinstance(event, SessionOpened)]
        assert opened == ["s0", "s1", "s2", "s3", "s0"]
        held[3].prepare(REQUEST)

        async def closed() -> None:
            for _ in iter(lambda: len(attached._sessions) > 2, False):
                await asyncio.sleep(0)

        attached.run(closed)
        assert sum(isinstance(event, SessionClosed) for event in told) == 3
        assert sum(conversation.session is not None for conversation in held) == 2


async def test_a_cancelled_host_leaves_the_engine_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host's task is cancelled while memorist prepares: the work is done all the same, and the
    next request fits.
    """
    going, done = threading.Event(), threading.Event()
    prepare = Session.prepare

    async def slow(self: Session, request: dict[str, Any]) -> dict[str, Any]:
        going.set()
        await asyncio.to_thread(done.wait)
        return await prepare(self, request)

    with EngineThread(home=tmp_path) as attached:
        conversation = talk(attached)
        monkeypatch.setattr(Session, "prepare", slow)
        task = asyncio.create_task(conversation.aprepare(REQUEST))
        await asyncio.to_thread(going.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        done.set()

        assert "Fix the importer" in await conversation.aupdate_notes()


def test_a_call_that_never_ends_holds_up_one_request_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the time limit the host's requests go out at once, until the call has ended."""
    going, done = threading.Event(), threading.Event()
    calls: list[int] = []
    prepare = Session.prepare

    async def stuck(self: Session, request: dict[str, Any]) -> dict[str, Any]:
        calls.append(1)
        going.set()
        await asyncio.to_thread(done.wait)
        return await prepare(self, request)

    with EngineThread(home=tmp_path) as attached:
        conversation = talk(attached)
        monkeypatch.setattr(Session, "prepare", stuck)
        monkeypatch.setattr(module, "MAX_WAIT_SECONDS", 0.1)
        assert conversation.prepare(REQUEST) is REQUEST
        going.wait()
        assert conversation.prepare(REQUEST) is REQUEST
        assert calls == [1]
        done.set()
        monkeypatch.setattr(module, "MAX_WAIT_SECONDS", 60.0)
        assert "Fix the importer" in conversation.update_notes()
        conversation.prepare(REQUEST)
        assert calls == [1, 1]


def test_a_listener_that_waits_for_the_engine_is_no_deadlock(tmp_path: Path) -> None:
    """It runs in the engine's thread, so its call passes through."""
    heard: list[bool] = []

    def listener(event: Event) -> None:
        if isinstance(event, SessionOpened):
            heard.append(talk(attached).prepare(REQUEST) is REQUEST)

    with EngineThread(home=tmp_path, listener=listener) as attached:
        talk(attached).prepare(REQUEST)

    assert heard == [True]


def test_a_listener_that_fails_stops_no_agent(tmp_path: Path) -> None:
    """It raises at every event, and memorist works on."""

    def listener(event: Event) -> None:
        raise RuntimeError(type(event).__name__)

    with EngineThread(home=tmp_path, listener=listener) as attached:
        talk(attached).prepare(REQUEST)
        assert "Fix the importer" in talk(attached).update_notes()


@pytest.mark.parametrize("is_used_before", [False, True])
def test_a_forked_child_goes_on_with_an_engine_of_its_own(
    tmp_path: Path, is_used_before: bool
) -> None:
    """As the workers of `gunicorn --preload` and of Celery do: what the parent attached works in
    each child, also on a conversation that the parent has open, and the parent goes on afterwards.
    """
    code = f"""
import os
from memorist.adapters.engine_thread import EngineThread
attached = EngineThread(home={str(tmp_path)!r})
def ask(name, text):
    conversation = attached.conversation(name, format="openai_chat")
    messages = [{{"role": "user", "content": text}}]
    conversation.prepare({{"model": "m", "messages": messages}})
    return text in conversation.update_notes()
if {is_used_before}:
    ask("s", "Fix the importer, please.")
children = []
for name in ("s", "t"):
    child = os.fork()
    if child == 0:
        done = ask(name, f"Write the exporter {{name}}, please.")
        attached.close()
        os._exit(0 if done else 1)
    children.append(child)
ended = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
print(ended, ask("s", "Read the manual, please."))
attached.close()
"""
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip

    assert ran.stdout.split("\n")[0] == "[0, 0] True", ran.stderr
    assert not ran.stderr
    assert len([*tmp_path.glob("projects/*/*/transcript.jsonl")]) == 2


def test_a_child_of_a_closed_engine_passes_through(tmp_path: Path) -> None:
    """What was closed before the fork stays closed, and stops no agent."""
    code = f"""
import os
from memorist.adapters.engine_thread import EngineThread
attached = EngineThread(home={str(tmp_path)!r})
conversation = attached.conversation("s", format="openai_chat")
attached.close()
request = {REQUEST!r}
child = os.fork()
if child == 0:
    os._exit(0 if conversation.prepare(request) is request else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    ended = subprocess.run([sys.executable, "-W", "ignore", "-c", code], timeout=120, check=False)

    assert ended.returncode == 0


def test_a_forked_child_keeps_no_session_from_its_parent(tmp_path: Path) -> None:
    """A pool of processes lives on while the parent closes a session, as it does after ten idle
    minutes, and opens it again.
    """
    code = f"""
import os
from memorist.adapters.engine_thread import EngineThread
attached = EngineThread(home={str(tmp_path)!r})
conversation = attached.conversation("s", format="openai_chat")
request = {REQUEST!r}
conversation.prepare(request)
reading, writing = os.pipe()
child = os.fork()
if child == 0:
    os.close(writing)
    os.read(reading, 1)
    os._exit(0)
conversation.close()
conversation.prepare(request)
print(conversation.session is not None)
os.close(writing)
os.waitpid(child, 0)
attached.close()
"""
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )

    assert ran.stdout.split() == ["True"], ran.stderr


def test_the_end_of_the_program_closes_it(tmp_path: Path) -> None:
    """Nobody called close: the log of events ends with it all the same."""
    code = f"""
from memorist.adapters.engine_thread import EngineThread, attach_or_open_engine_thread
conversation = EngineThread(home={str(tmp_path)!r}).conversation("s", format="openai_chat")
conversation.prepare({REQUEST!r})
"""
    subprocess.run([sys.executable, "-c", code], env=dict(os.environ), timeout=300, check=True)

    (log,) = tmp_path.glob("projects/*/*/events.jsonl")
    assert "session_closed" in log.read_text().splitlines()[-1]


def test_a_project_may_be_given_from_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`project="."` is the same project as its whole path."""
    monkeypatch.chdir(tmp_path)
    with EngineThread(home=tmp_path / "home") as attached:
        assert attached.conversation("s", project=".", format="openai_chat").project == str(
            tmp_path
        )


def test_an_engine_is_shared_or_made_not_both(tmp_path: Path) -> None:
    """Arguments beside `attached=` would be lost, so they are refused."""
    with EngineThread(home=tmp_path) as attached:
        assert attach_or_open_engine_thread(attached, {}) is attached
        with pytest.raises(UsageError, match="home"):
            attach_or_open_engine_thread(attached, {"home": tmp_path})


async def test_a_mapping_that_fails_stops_no_agent(tmp_path: Path) -> None:
    """Whatever an adapter cannot turn into the wire format, or back: the host's own goes out."""
    own = object()

    def broken(*_: object) -> Any:
        raise KeyError("content")

    with EngineThread(home=tmp_path) as attached:
        conversation = talk(attached)
        assert conversation.encode_prepare_decode(broken, lambda body: body, own) is own
        assert conversation.encode_prepare_decode(lambda: REQUEST, broken, own) is own
        assert await conversation.aencode_prepare_decode(lambda: REQUEST, broken, own) is own
        assert (
            await conversation.aencode_prepare_decode(lambda: REQUEST, lambda body: "theirs", own)
            == "theirs"
        )
        conversation.encode_and_observe(broken)
        await conversation.aencode_and_observe(lambda: reply("Done."))
        assert conversation.shrink_refused_request_and_decode(broken) is None
        assert await conversation.ashrink_refused_request_and_decode(broken) is None


def test_settings_reach_the_engine(tmp_path: Path) -> None:
    """Arguments are those of `Memorist`."""
    with EngineThread(home=tmp_path, settings=Settings(long_term="none")) as attached:
        assert attached.engine.settings.long_term == "none"
        assert attached.engine.settings.home == str(tmp_path)


def test_a_locked_database_costs_a_second_once_and_is_caught_up(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Locked by another process before the session opens: the first call waits a second, the
    others not at all, one line is logged, and afterwards the transcript holds all that was said.
    """
    home, messages = tmp_path / "home", list(REQUEST["messages"])
    with EngineThread(home=home) as attached:
        talk(attached, "before").prepare(REQUEST)
    with (
        closing(sqlite3.connect(home / "state.sqlite", isolation_level=None)) as other,
        EngineThread(home=home) as attached,
        caplog.at_level(logging.WARNING, "memorist.adapters"),
    ):
        other.execute("begin exclusive")
        conversation = talk(attached)
        waits = count_lock_waits(monkeypatch)
        for number in range(3):
            messages.append({"role": "user", "content": f"locked {number}"})
            request = {**REQUEST, "messages": list(messages)}
            assert conversation.prepare(request) is request
            conversation.observe(reply(f"Yes {number}"))
            conversation.end_turn()
            messages.append({"role": "assistant", "content": f"Yes {number}"})
        other.execute("rollback")
        assert len(caplog.records) == 1
        assert caplog.records[0].exc_info is None
        monkeypatch.setattr(disk_failure_pauses, "PAUSE_AFTER_BUSY_SECONDS", 0.0)
        attached.disk_pause._paused_until.clear()
        messages.append({"role": "user", "content": "free"})
        conversation.prepare({**REQUEST, "messages": list(messages)})
        conversation.observe(reply("Done."))
        conversation.end_turn()
        conversation.close()

    assert len(waits) == 1
    (transcript,) = home.glob("projects/*/s/transcript.jsonl")
    text = transcript.read_text("utf-8")
    assert all(f"locked {number}" in text and f"Yes {number}" in text for number in range(3))


def test_users_and_conversations_without_users_are_told_apart(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A user's sessions stand in the user's own home; a server that names nobody is told once."""
    project = str(tmp_path / "shop")
    with (
        EngineThread(home=tmp_path / "home") as attached,
        caplog.at_level(logging.WARNING, "memorist.adapters"),
    ):
        for user in ("alice", "bob"):
            attached.conversation("s", user=user, project=project, format="openai_chat").prepare(
                REQUEST
            )
        assert not caplog.records
        for id in ("one", "two", "three"):
            attached.conversation(id, project=project, format="openai_chat").prepare(REQUEST)

    assert [record.message for record in caplog.records if "user=" in record.message] == [
        caplog.records[0].message
    ]
    homes = {path.parents[3].name for path in tmp_path.glob("home/users/*/projects/*/*/*.jsonl")}
    assert homes == {"alice", "bob"}
