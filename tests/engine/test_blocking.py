"""The engine for programs without an event loop."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import memorist
from memorist import Memorist, Settings
from memorist.errors import InputError, NothingToDo, UsageError, WireFormatError
from memorist.events import Event, FileRead
from memorist.testing import Hang, ScriptedModel

REPLY: dict[str, Any] = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "text", "text": "It rounds up."}],
    "usage": {"input_tokens": 9, "output_tokens": 4},
    "stop_reason": "end_turn",
}


def request(text: str) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": text}]}


def test_a_script_keeps_notes_and_memories_without_a_loop(tmp_path: Path) -> None:
    """The same names as with `async`: open, prepare, observe, end_turn, summarise, close; what was
    said in one program is shown in the next.
    """
    project = tmp_path / "shop"
    project.mkdir()
    events: list[Event] = []
    with Memorist(settings=Settings(home=str(tmp_path / "home"))) as engine:
        with engine.open("a", project=str(project), listener=events.append) as session:
            session.prepare(request("Never use npm, use pnpm here."))
            session.observe(REPLY)
            session.end_turn()
            assert "Never use npm" in session.update_notes()
        assert session.id == "a"

    with Memorist(settings=Settings(home=str(tmp_path / "home"))) as engine:
        session = engine.open("b", project=str(project))
        sent = session.prepare(request("How do I install the dependencies?"))

    assert "pnpm" in str(sent)
    assert events


def test_memory_is_used_without_a_conversation(tmp_path: Path) -> None:
    """Added, searched, taken out and brought back; another project knows nothing of it."""
    shop, other = tmp_path / "shop", tmp_path / "other"
    shop.mkdir()
    other.mkdir()
    with Memorist(settings=Settings(home=str(tmp_path / "home"))) as engine:
        memory = engine.memory(str(shop))
        memory.add("Use pnpm, never npm")
        written = memory.add("The oncall runbook is at https://wiki.example.net/oncall")
        query = "how do we install packages with npm?"

        (found,) = engine.search(query, project=str(shop)).memories
        assert found.path == "use-pnpm-never-npm.md"
        assert not engine.search(query, project=str(other))
        memory.forget([found.path])
        assert not engine.search(query, project=str(shop))
        memory.undo()
        assert engine.search(query, project=str(shop)).memories == (found,)
        with pytest.raises(InputError):
            memory.add("  ")
        assert {each.kind for each in memory.headers()} == {"feedback", "reference"}
        assert written.paths == ("the-oncall-runbook-is-at-https-wiki-example-net-oncall.md",)

    with Memorist(settings=Settings(home=str(tmp_path / "home"))) as engine:
        session = engine.open("b", project=str(shop))
        assert "pnpm" in str(session.prepare(request("How do I install packages with npm?")))


async def test_past_sessions_are_searched_without_one(tmp_path: Path) -> None:
    """What was said in a session, once it is indexed; with `async` by the same name."""
    project = tmp_path / "shop"
    project.mkdir()
    async with Memorist(settings=Settings(home=str(tmp_path / "home"))) as engine:
        async with await engine.open("a", project=str(project)) as session:
            await session.prepare(request("Round half cents up in the invoice, please."))
            await session.observe(REPLY)
            await session.end_turn()
            await session.update_notes()
        found = engine.search("how are half cents rounded in the invoice", project=str(project))

    assert any("half cents" in each.text for each in found.sections)


def test_a_memory_that_is_asked_for_at_each_request_is_not_kept(tmp_path: Path) -> None:
    """A server asks for it a thousand times a day: those that nobody uses any more are gone."""
    with Memorist(home=tmp_path / "home", model="structural") as engine:
        kept = engine.memory("/shop")
        for _ in range(50):
            engine.memory("/shop").headers()
        gc.collect()
        known = list(engine._memories)

    assert known == [kept]


def test_a_thread_that_waits_is_told_when_another_closes_the_engine(tmp_path: Path) -> None:
    """A server that is stopped closes the engine while a worker waits for a model: the worker goes
    on at once, with an error that says why.
    """
    model = ScriptedModel([Hang()])
    engine = Memorist(home=tmp_path / "home", model=model).__enter__()
    session = engine.open("a")
    session.prepare(request("Mend the importer. " * 50))
    ends: list[str] = []

    def update() -> None:
        with pytest.raises(UsageError, match="closed by another thread"):
            session.update_notes()
        ends.append("told")

    worker = threading.Thread(target=update, daemon=True)
    worker.start()
    until = time.monotonic() + 20
    while not model.requests and time.monotonic() < until:
        time.sleep(0.01)
    engine.close()
    worker.join(20)

    assert ends == ["told"]
    with pytest.raises(UsageError, match="open a new one"):
        session.prepare(request("And now?"))


def test_errors_reach_the_caller(tmp_path: Path) -> None:
    """As they are, from the thread in which the engine runs."""
    with Memorist(settings=Settings(home=str(tmp_path))) as engine:
        session = engine.open("a")
        with pytest.raises(NothingToDo):
            session.update_notes()
        with pytest.raises(WireFormatError):
            session.prepare({"model": "m"})
        with pytest.raises(WireFormatError):
            session.observe("no reply")


def test_a_closed_engine_says_so_and_leaves_no_thread(tmp_path: Path) -> None:
    """Also when it is closed twice, and when a listener calls it back."""
    refused: list[str] = []
    before = set(threading.enumerate())
    with Memorist(settings=Settings(home=str(tmp_path))) as engine:

        def on_event(event: Event) -> None:
            if isinstance(event, FileRead):
                try:
                    session.end_turn()
                except UsageError as error:
                    refused.append(str(error))

        session = engine.open("a", listener=on_event)
        session.on_file_read("src/totals.py")
    engine.close()

    assert "listener" in refused[0]
    with pytest.raises(UsageError, match="closed"):
        session.end_turn()
    started = set(threading.enumerate()) - before
    assert not [thread for thread in started if thread.name == "memorist"]


def test_every_call_of_a_session_has_its_blocking_form() -> None:
    """By the same name; what belongs to the engine's loop (its parts, its state and its handing
    over between workers) does not.
    """
    parts = {
        "first_context",
        "is_takeover_requested",
        "allow_takeover",
        "is_closed",
        "offer",
        "session_memory",
        "tracker",
    }
    names = {name for name in dir(memorist.Session) if not name.startswith("_")}

    assert names - parts <= set(dir(memorist.BlockingSession))


def test_help_and_completion_show_the_public_names() -> None:
    """And nothing else."""
    assert dir(memorist) == sorted(memorist.__all__)
    assert {"Memorist", "Session", "Settings"} <= set(dir(memorist))


FORGOTTEN = """
import sys
from memorist import Memorist
engine = Memorist(home=sys.argv[1]).__enter__()
session = engine.open("a", project="/srv/shop")
session.prepare({"model": "m", "max_tokens": 9, "messages": [
    {"role": "user", "content": "We always use pnpm here, never npm."}]})
session.observe({"type": "message", "role": "assistant",
    "content": [{"type": "text", "text": "Noted."}]})
session.end_turn()
"""


def test_an_engine_that_nobody_closes_is_closed_at_the_programs_end(tmp_path: Path) -> None:
    """Its thread was cut off at whatever it did; in the embedding runtime that aborted the
    program.
    """
    done = subprocess.run(
        [sys.executable, "-c", FORGOTTEN, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    (events,) = tmp_path.glob("projects/*/a/events.jsonl")
    assert "session_closed" in events.read_text()
    with Memorist(home=tmp_path) as engine:
        assert len(engine.memory("/srv/shop").headers()) == 1


FORKED = """
import os, signal, sys, threading
from memorist import Memorist
from memorist.models import embedder
signal.alarm(100)
def hold():
    with embedder._SHARED._lock:
        held.set()
        ended.wait()
held, ended = threading.Event(), threading.Event()
threading.Thread(target=hold, daemon=True).start()
held.wait()
child = os.fork()
if child == 0:
    with Memorist(home=sys.argv[1]) as engine:
        engine.memory("/srv/shop").add("Use pnpm, never npm")
        found = engine.search("how do we install packages", project="/srv/shop")
    os._exit(0)
status = os.waitpid(child, 0)[1]
ended.set()
sys.exit(status != 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_loads_an_embedding_model_of_its_own(tmp_path: Path) -> None:
    """Also where the parent was loading its own at that moment: the child waited for ever."""
    done = subprocess.run(
        [sys.executable, "-c", FORKED, str(tmp_path)], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
