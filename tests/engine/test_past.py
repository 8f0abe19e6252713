"""A session of a home that learns from past sessions: what it is shown, what counts as use, and the
work that it starts beside itself.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memorist.context.first_context_assembly import HostContext
from memorist.context.request_prefix_growth import PrefixChecker
from memorist.engine import engine as engine_module
from memorist.engine.engine import Memorist
from memorist.engine.past_session_recall import PastSessionRecall
from memorist.engine.rollout_pipeline import open_rollout_pipeline
from memorist.engine.session import Session
from memorist.engine.worker_process import (
    START_INTERVAL_SECONDS,
    reap_if_exited,
    start_worker_unless_recently_started,
)
from memorist.platforms.processes import is_running
from memorist.ports import HostInfo as HostFacts
from memorist.settings import ContextSettings, LongTermMemory, RolloutsSettings, Settings
from memorist.store.disk_files import DiskFiles
from memorist.store.extract_rows import list_enabled_extracts
from memorist.store.home_layout import Layout
from memorist.store.state_database import open_sqlite_state
from memorist.testing.frozen_clock import FrozenClock
from rollouts.conftest import claude, codex

FORMATS = ["anthropic", "openai_responses", "openai_chat"]
RULE = "Always run the linter before you commit"
OTHER = "Never round an amount down"


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """The settings with which a worker would have been started; none is."""
    seen: list[Settings] = []
    monkeypatch.setattr(
        engine_module,
        "start_worker_unless_recently_started",
        lambda settings, **_: seen.append(settings),
    )
    return seen


@pytest.fixture
async def home(tmp_path: Path) -> Path:
    """A home that remembers a session in the shop and one in the till."""
    codex(
        tmp_path / "sessions" / "a",
        ["Mend totals.", f"{RULE}.", "Thanks."],
        session="a",
        cwd=str(tmp_path / "shop"),
    )
    codex(
        tmp_path / "sessions" / "b",
        ["Count coins.", f"{OTHER}.", "Thanks."],
        session="b",
        cwd=str(tmp_path / "till"),
    )
    for name in ("shop", "till"):
        (tmp_path / name / ".git").mkdir(parents=True)
    async with open_rollout_pipeline(Settings(home=str(tmp_path / "home"))) as past:
        await past.sync(past.plan_sync([tmp_path / "sessions"]))
    return tmp_path / "home"


class Host:
    """A loop of a host; each request is checked for its prefix."""

    def __init__(
        self,
        home: Path,
        format: str = "anthropic",
        *,
        long_term: LongTermMemory = "rollouts",
        assembled: bool = False,
    ) -> None:
        self.format, self.assembled = format, assembled
        self.history: list[Any] = []
        self.prefix = PrefixChecker()
        none = f"{home}/none"
        context = ContextSettings(managed=none, user_folder=none, agents_folder=none)
        self.settings = Settings(home=str(home), long_term=long_term, context=context)
        self.project = str(home.parent / "shop")

    def engine(self) -> Memorist:
        return Memorist(
            model="structural", settings=self.settings, clock=FrozenClock(1_780_100_000.0)
        )

    async def open(self, engine: Memorist, id: str = "s", **more: Any) -> Session:
        session = await engine.open(id, project=self.project, format=self.format, **more)
        if self.assembled:
            session.assemble_context(HostContext(folder=self.project))
        return session

    async def turn(self, session: Session, text: str, reply: str = "Done.") -> str:
        """One call of the model; gives what was sent, as text."""
        key = "input" if self.format == "openai_responses" else "messages"
        self.history.append({"role": "user", "content": text})
        sent = await session.prepare({"model": "m", "max_tokens": 500, key: list(self.history)})
        self.prefix(sent)
        match self.format:
            case "anthropic":
                content = [{"type": "text", "text": reply}]
                await session.observe(
                    {
                        "role": "assistant",
                        "content": content,
                        "usage": {"input_tokens": 10, "output_tokens": 5},
                    }
                )
                self.history.append({"role": "assistant", "content": content})
            case "openai_responses":
                item = {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": reply}],
                }
                await session.observe({"output": [item]})
                self.history.append(item)
            case _:
                message = {"role": "assistant", "content": reply}
                await session.observe(
                    {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
                )
                self.history.append(message)
        await session.end_turn()
        return msgspec.json.encode(sent).decode()


@pytest.mark.covers("RO-7", "RO-8", "CX-8")
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("assembled", [False, True], ids=["beside the host", "assembled"])
async def test_a_session_is_shown_once_what_holds_where_it_runs(
    home: Path, starts: list[Settings], format: str, assembled: bool
) -> None:
    """In each wire format: its own repository's entry, not that of another; once, and the prefix
    only grows.
    """
    host = Host(home, format, assembled=assembled)
    async with host.engine() as engine:
        session = await host.open(engine)
        first = await host.turn(session, "Hello.")
        third = [await host.turn(session, f"Go on, {number}.") for number in range(2)][-1]

    assert first.count(RULE) == third.count(RULE) == 1
    assert OTHER not in third
    assert first.count("<memory_summary>") == third.count("<memory_summary>") == 1
    assert host.prefix.differences == []
    assert len(starts) == 1


@pytest.mark.covers("RO-8", "CX-8")
@pytest.mark.parametrize("format", FORMATS)
async def test_a_new_process_sends_the_same_bytes(
    home: Path, starts: list[Settings], format: str
) -> None:
    """Opened again, with other memories by then: what was shown stands where it stood, as it was,
    and nothing is shown a second time.
    """
    host = Host(home, format)
    async with host.engine() as engine:
        await host.turn(await host.open(engine), "Hello.")
    summary = home / "memories" / "memory_summary.md"
    summary.write_text(summary.read_text().replace(RULE, "Something else entirely"))
    async with host.engine() as engine:
        again = await host.turn(await host.open(engine), "Go on.")

    assert host.prefix.differences == []
    assert again.count("<memory_summary>") == 1
    assert RULE in again
    assert "Something else entirely" not in again
    assert len(starts) == 2


@pytest.mark.covers("RO-8")
@pytest.mark.parametrize("format", FORMATS)
async def test_after_a_compaction_it_is_shown_once(
    home: Path, starts: list[Settings], format: str
) -> None:
    """The conversation was made anew, and what past sessions taught stands in it once."""
    host = Host(home, format)
    async with host.engine() as engine:
        session = await host.open(engine)
        for number in range(6):
            await host.turn(
                session, f"Request {number}. " + "It says a lot. " * 300, "Answered. " * 300
            )
        done = await session.compact()
        after = await host.turn(session, "And now?")

    assert done.result is not None
    assert after.count("<memory_summary>") == 1
    assert after.count(RULE) == 1
    assert [each.why for each in host.prefix.differences] != []
    assert starts


@pytest.mark.covers("RO-8")
@pytest.mark.parametrize(
    ("long_term", "shown"),
    [("rollouts", True), ("both", True), ("auto_memory", False), ("none", False)],
)
async def test_it_is_shown_where_the_setting_says_so(
    home: Path, starts: list[Settings], long_term: LongTermMemory, shown: bool
) -> None:
    """`long_term` decides over both: what is shown, and whether work is started. A remote session
    has neither.
    """
    host = Host(home, long_term=long_term)
    async with host.engine() as engine:
        sent = await host.turn(await host.open(engine), "Hello.")
    away = Host(home, long_term=long_term)
    async with away.engine() as engine:
        remote = await away.turn(
            await away.open(engine, "r", host=HostFacts(remote=True)), "Hello."
        )

    assert (RULE in sent) is shown
    assert len(starts) == int(shown)
    assert RULE not in remote


@pytest.mark.covers("RO-8")
@pytest.mark.parametrize("format", FORMATS)
async def test_what_a_reply_cites_counts_as_used_once(
    home: Path, starts: list[Settings], format: str
) -> None:
    """By id and by file in one block: one use of that session, none of the other; an unknown id and
    a reply without a block count nothing.
    """
    path = next(
        path
        for path in (home / "memories" / "rollout_summaries").iterdir()
        if "thread_id: a\n" in path.read_text()
    )
    entry = f"rollout_summaries/{path.name}:1-3|note=[the rule]"
    cited = (
        f"Done.\n<oai-mem-citation>\n<citation_entries>\n{entry}\n</citation_entries>\n"
        "<rollout_ids>\na\nnobody\n</rollout_ids>\n</oai-mem-citation>"
    )
    host = Host(home, format)
    async with host.engine() as engine:
        session = await host.open(engine)
        await host.turn(session, "Hello.", cited)
        await host.turn(session, "Go on.")
    state = open_sqlite_state(home / "state.sqlite")
    uses = {each.extracted.thread: each.uses for each in list_enabled_extracts(state)}
    state.close()

    assert uses == {"a": 1, "b": 0}
    assert starts


async def test_files_that_cannot_be_shown_stop_no_session(
    home: Path, starts: list[Settings]
) -> None:
    """A summary that is no text, a folder that is a link elsewhere: the request goes out without
    it.
    """
    (home / "memories" / "memory_summary.md").write_bytes(b"\xff\xfe\x00 no summary")
    host = Host(home)
    async with host.engine() as engine:
        broken = await host.turn(await host.open(engine), "Hello.")
    (home / "memories").rename(home / "elsewhere")
    (home / "memories").symlink_to(home / "elsewhere")
    other = Host(home)
    async with other.engine() as engine:
        linked = await other.turn(await other.open(engine, "t"), "Hello.")

    assert "Hello." in broken
    assert "Hello." in linked
    assert RULE not in broken + linked
    assert starts


def start_sleeper() -> subprocess.Popen[bytes]:
    """A process that stays until it is ended."""
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])


def wait_until_ended(process: int) -> None:
    while not reap_if_exited(process):
        time.sleep(0.05)


@pytest.mark.covers("RO-2", "EN-1")
async def test_due_work_is_done_by_a_process_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening a session starts it, with the settings of this engine and not those of the
    environment; it does what is due and ends.

    A session of another engine right afterwards starts no second one. A file of the working folder
    that is named like memorist is not taken for it.
    """
    monkeypatch.setattr(
        engine_module, "start_worker_unless_recently_started", start_worker_unless_recently_started
    )
    monkeypatch.chdir(tmp_path)
    (tmp_path / "memorist.py").write_text("raise SystemExit", "utf-8")
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("MEMORIST_HOME", str(tmp_path / "not-this-one"))
    claude(tmp_path / "user" / ".claude" / "projects" / "shop" / "c1.jsonl", [f"{RULE}."])
    home = tmp_path / "home"
    settings = Settings(
        home=str(home), long_term="rollouts", rollouts=RolloutsSettings(max_age_days=36_500)
    )
    first = Memorist(settings=settings)
    await first.open("s", project=str(tmp_path))
    process = first._worker_process
    assert process is not None
    assert process != os.getpid()
    async with Memorist(settings=settings) as second:
        await second.open("t", project=str(tmp_path))
        assert second._worker_process is None
    wait_until_ended(process)
    await first.close()

    state = open_sqlite_state(home / "state.sqlite")
    assert [each.extracted.thread for each in list_enabled_extracts(state)] == ["c1"]
    state.close()
    assert RULE in (home / "memories" / "memory_summary.md").read_text()
    assert not (tmp_path / "not-this-one").exists()


@pytest.mark.covers("RO-2", "EN-1")
@pytest.mark.parametrize("is_temporary", [True, False])
async def test_no_worker_writes_to_a_temporary_home_after_the_engine_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_temporary: bool
) -> None:
    """Whoever made the home deletes it then; anywhere else the worker goes on."""
    worker = start_sleeper()
    monkeypatch.setattr(
        engine_module, "start_worker_unless_recently_started", lambda *_, **__: worker.pid
    )
    temporary = tmp_path if is_temporary else tmp_path / "elsewhere"
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(temporary))
    claude(tmp_path / "user" / ".claude" / "projects" / "shop" / "c1.jsonl", [f"{RULE}."])
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    async with Memorist(settings=Settings(home=str(tmp_path / "home"))) as engine:
        await engine.open("s", project=str(tmp_path))
    runs_on = worker.poll() is None and is_running(worker.pid)
    worker.kill()
    worker.wait()

    assert runs_on is not is_temporary


@pytest.mark.covers("RO-2")
async def test_a_first_session_leaves_no_process_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there is no past but this session, nothing can be due and no worker is started: a
    script may delete its home as soon as it has closed the engine. The next session finds a past.
    """
    begun: list[Settings] = []
    monkeypatch.setattr(
        engine_module,
        "start_worker_unless_recently_started",
        lambda settings, **_: begun.append(settings),
    )
    async with Memorist(settings=Settings(home=str(tmp_path / "home"))) as engine:
        await engine.open("s", project=str(tmp_path))
        assert not begun
        await engine.open("t", project=str(tmp_path))
    assert len(begun) == 1


@pytest.mark.covers("RO-2")
def test_a_worker_is_started_at_most_once_in_half_an_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mark in the home tells; a mark from the future or of another kind does not keep one from
    starting; a home that cannot be written starts none.
    """
    begun: list[bytes] = []

    def begin(settings: bytes, environment: Mapping[str, str]) -> int:
        assert environment["HOME"] == os.environ["HOME"]
        begun.append(settings)
        return 1

    monkeypatch.setattr("memorist.engine.worker_process._spawn_worker", begin)
    settings = Settings(home=str(tmp_path), long_term="rollouts")
    mark = Layout(tmp_path).rollouts_state / "started"

    def start(now: float) -> int | None:
        return start_worker_unless_recently_started(
            settings, files=DiskFiles(), clock=FrozenClock(now)
        )

    assert [
        start(1e9),
        start(1e9 + START_INTERVAL_SECONDS - 1),
        start(1e9 + START_INTERVAL_SECONDS),
    ] == [1, None, 1]
    assert start(1e9 - 10.0) == 1

    def refuse(settings: bytes, environment: Mapping[str, str]) -> int:
        raise BlockingIOError("no more processes")

    with monkeypatch.context() as refusing:
        refusing.setattr("memorist.engine.worker_process._spawn_worker", refuse)
        assert start(2e9) is None
    assert start(2e9 + 1) == 1  # the system refused: the next session tries again
    mark.write_bytes(b"\xffnever")
    assert start(1e9) == 1
    assert msgspec.json.decode(begun[0], type=Settings) == settings
    mark.unlink()
    mark.mkdir()
    assert start(2e9) is None


@pytest.mark.covers("RO-9", "SF-5")
async def test_a_damaged_database_costs_the_session_nothing(
    home: Path, starts: list[Settings], tmp_path: Path
) -> None:
    """The engine opens, the session is shown what it was; the next sync takes back what the files
    hold, and says what befell the database.
    """
    for path in home.glob("state.sqlite*"):
        path.write_bytes(b"no database at all " * 400)
    host = Host(home)
    async with host.engine() as engine:
        sent = await host.turn(await host.open(engine), "Hello.")
    async with open_rollout_pipeline(Settings(home=str(home))) as past:
        done = await past.sync(past.plan_sync([tmp_path / "sessions"]))
        back = [each.extracted.thread for each in list_enabled_extracts(past.state)]

    assert RULE in sent
    assert list(home.glob("state.sqlite.damaged*"))
    assert back == ["a", "b"]
    assert done.extracted == 0
    assert any("damaged" in each for each in done.remarks)
    assert any("2 sessions" in each for each in done.remarks)
    assert starts


async def test_a_closed_session_reads_nothing_more(
    home: Path, starts: list[Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is read for a first question by meaning is waited for: it went on behind the end, also
    where the client began the session a second time meanwhile.
    """
    del starts
    begun, may_end = threading.Event(), threading.Event()

    def open_slowly(_: PastSessionRecall, *, by_meaning: bool) -> None:
        if by_meaning and not begun.is_set():
            begun.set()
            may_end.wait(60)

    monkeypatch.setattr(PastSessionRecall, "_open_index", open_slowly)
    async with Memorist(settings=Settings(home=str(home))) as engine:
        session = engine.observe_session("new", project=str(home.parent / "shop"))
        session.preload_in_background()
        assert await asyncio.to_thread(begun.wait, 60)
        session.preload_in_background()
        closing = asyncio.create_task(session.close())
        assert not (await asyncio.wait({closing}, timeout=0.3))[0]
        may_end.set()
        await closing
    running = [each.name for each in threading.enumerate()]
    assert "memorist-session-vectors" not in running
