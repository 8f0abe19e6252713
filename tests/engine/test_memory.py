"""Memory in a session: learned in one, remembered in the next, with the fork, the ledger, and every
way to take it back.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memorist.auto_memory import extraction
from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.memory_file import Trust
from memorist.auto_memory.statements.statement_parser import Statement
from memorist.auto_memory.statements.unconfirmed_statements import find_unconfirmed_statements
from memorist.core.messages import JsonObject, Message
from memorist.engine.engine import Memorist
from memorist.engine.session import Session
from memorist.events import Event, MemoryNeedsReview
from memorist.extensions import ExtensionList, SessionExtension
from memorist.flags.flag_lookup import InMemoryFlagSource
from memorist.forks.fork_request import FORK_MARK
from memorist.ports import HostInfo, Reply, Request
from memorist.settings import AutoMemorySettings, Settings
from memorist.testing.models import ScriptedModel
from memorist.testing.steps import Say, Step

MODEL = "claude-sonnet-5"


def is_fork(request: Request) -> bool:
    return FORK_MARK in msgspec.json.encode(request.body).decode()


def text_of(body: JsonObject) -> str:
    return msgspec.json.encode(body["messages"]).decode()


class Loop:
    """A host with an Anthropic-shaped loop over a scripted model; `fork` answers to forks."""

    def __init__(self, project: Path, engine: Memorist | None = None) -> None:
        self.engine = engine
        self.project = project
        self.events: list[Event] = []
        self.messages: list[dict[str, Any]] = []
        self.answer: Step = Say(text="Done.")
        self.model = ScriptedModel(self._next, name="scripted:m")
        self.fork: Callable[[Request], Step] = lambda request: Say(text="Nothing to keep.")
        self.sent: list[JsonObject] = []

    def _next(self, request: Request) -> Step:
        return self.fork(request) if is_fork(request) else self.answer

    async def open(self, id: str, **more: Any) -> Session:
        self.messages = []
        assert self.engine is not None
        return await self.engine.open(
            id, project=str(self.project), listener=self.events.append, **more
        )

    async def turn(
        self, session: Session, text: str | list[dict[str, Any]], answer: Step | None = None
    ) -> Reply:
        self.answer = answer or Say(text="Done.")
        self.messages.append({"role": "user", "content": text})
        request = await session.prepare(
            {"model": "m", "max_tokens": 1000, "messages": self.messages}
        )
        self.sent.append(msgspec.json.decode(msgspec.json.encode(request)))
        reply = await self.model.send(Request(format="anthropic", body=request))
        await session.observe(reply.body)
        self.messages.append({"role": "assistant", "content": reply.body["content"]})
        if reply.stop_reason != "tool_use":
            await session.end_turn()
        return reply

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    return folder


def only(memory: AutoMemory) -> str:
    (head,) = memory.headers()
    return head.path


@pytest.mark.covers("AM-8", "RC-1", "RC-4", "AM-10")
async def test_corrected_once_remembered_in_the_next_session_blamed_undone_forgotten(
    tmp_path: Path, project: Path
) -> None:
    """The whole story without a model: the correction is kept at once with its words, shown in the
    next session of a worktree's subfolder, and undone.
    """
    async with Memorist(model="structural", home=tmp_path / "home") as engine:
        host = Loop(project, engine)
        first = await host.open("one")
        await host.turn(first, "Install the dependencies, please")
        await host.turn(first, "No, always use pnpm in this repo, never npm.")
        await first.close()

        memory = engine.memory(str(project / "packages"))
        path = only(memory)
        recorded = memory.folder.history.list_changes(path)[0]
        assert (recorded.why.actor, recorded.why.session) == ("said", "one")
        assert recorded.why.quote in "No, always use pnpm in this repo, never npm."
        assert memory.folder.read_memory_file(path).provenance.trust is Trust.STATED

        second = await host.open("two")
        await host.turn(second, "Add the package left-pad to the shop")
        assert "always use pnpm in this repo, never npm" in text_of(host.sent[-1])
        await second.close()

        memory.undo()
        third = await host.open("three")
        await host.turn(third, "Add the package left-pad to the shop")
        assert "pnpm" not in text_of(host.sent[-1])
        await third.close()

        memory.undo(recorded.id[:0] or memory.folder.history.list_changes()[0].id)
        assert only(memory) == path
        memory.purge([path])
        assert memory.headers() == []
        assert memory.folder.history.list_changes(path) == []


@pytest.mark.covers("AM-8")
@pytest.mark.parametrize(
    "wish",
    [
        "Please delete the memory about",
        "Forget what I said about",
        "Forget everything you know about",
        "Forget everything about",
    ],
)
async def test_forget_takes_effect_at_once(tmp_path: Path, project: Path, wish: str) -> None:
    """What the person wants forgotten is gone before the model answers; where several memories may
    be meant, the person is asked.
    """
    async with Memorist(model="structural", home=tmp_path / "home") as engine:
        host = Loop(project, engine)
        memory = engine.memory(str(project))
        session = await host.open("one")
        await host.turn(session, "Remember that the staging database runs on port 5433.")
        assert len(memory.headers()) == 1

        await host.turn(session, "Forget that the staging database runs on port 5433.")
        assert memory.headers() == []

        await host.turn(session, "Remember that the staging database runs on port 5433.")
        await host.turn(session, "Remember that the staging database is reset every Monday.")
        await host.turn(session, "Please delete the memory about the staging database.")
        await session.close()

    assert len(memory.headers()) == 2
    assert {event.path for event in host.of(MemoryNeedsReview)} == {
        head.path for head in memory.headers()
    }


@pytest.mark.covers("AM-11", "AM-12")
async def test_what_is_known_is_not_written_again(tmp_path: Path, project: Path) -> None:
    """The same rule in other words of the same meaning, a recalled memory, and a quoted page leave
    nothing new.
    """
    async with Memorist(model="structural", home=tmp_path / "home") as engine:
        host = Loop(project, engine)
        memory = engine.memory(str(project))
        session = await host.open("one")
        await host.turn(session, "From now on always run the tests before committing.")
        await session.close()
        again = await host.open("two")
        await host.turn(again, "Please always run the tests before committing!")
        await host.turn(
            again,
            f"<system-reminder>{host.sent[-1]['messages'][0]['content']}</system-reminder>go on",
        )
        await host.turn(again, "The page says:\n> Always deploy on Fridays.\n\nIs that so?")
        await again.close()

    assert len(memory.headers()) == 1


@pytest.mark.covers("AM-11", "RC-2")
async def test_nothing_of_a_message_is_shown_back_after_it(tmp_path: Path, project: Path) -> None:
    """Several wishes in one message are each written, and none comes back as a note of an earlier
    session, neither with this request nor with a later one of the same session; also none that
    holds for all projects, and no line of the index. The next session is shown them.
    """
    reason = " and the auditors compare every single line of it with the ledger of the branch" * 3
    said = (
        f"From now on always round the invoice totals half up, because of the importer{reason}.\n\n"
        "From now on always name branches after the ticket.\n\nI prefer short answers."
    )
    async with Memorist(model="structural", home=tmp_path / "home") as engine:
        host = Loop(project, engine)
        memory = engine.memory(str(project))
        session = await host.open("one")
        await host.turn(session, said)
        await host.turn(session, "Why does the importer round the invoice totals half up?")
        shown = text_of(host.sent[-1])
        await session.close()
        later = Loop(project, engine)
        again = await later.open("two")
        await later.turn(again, "Hello there, and good morning.")
        await again.close()

    assert len(memory.headers()) >= 2
    assert "bear on the last message" not in shown
    assert "earlier sessions" not in shown
    assert "branches after the ticket" in text_of(later.sent[-1])
    assert "I prefer short answers" in text_of(later.sent[-1])


@pytest.mark.covers("AM-10")
async def test_what_waits_for_a_yes_is_put_there_with_the_answer(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No prompt waits until it is looked for and compared with all memories; a rule is kept at
    once.
    """
    looked: list[str] = []

    def find(message: Message, before: str = "") -> tuple[Statement, ...]:
        looked.append(message.text)
        return find_unconfirmed_statements(message, before)

    monkeypatch.setattr(extraction, "find_unconfirmed_statements", find)
    async with Memorist(model="structural", home=tmp_path / "home") as engine:
        session = await engine.open("one", project=str(project))
        said = "squash merge always happens in any case.\n\nNever push to main."
        messages: list[JsonObject] = [{"role": "user", "content": said}]
        await session.prepare({"model": MODEL, "max_tokens": 9, "messages": messages})
        memory = engine.memory(str(project))
        rules, waiting = len(memory.headers()), len(memory.inbox.list_proposals())
        before_answer = tuple(looked)
        await session.observe(
            {
                "id": "m",
                "role": "assistant",
                "content": [{"type": "text", "text": "Noted."}],
                "usage": {"input_tokens": 9, "output_tokens": 2},
            }
        )

        assert (rules, waiting, before_answer) == (1, 0, ())
        assert looked == [said]
        assert len(memory.inbox.list_proposals()) == 1
        await session.close()


@pytest.mark.covers("AM-10")
async def test_what_was_said_in_turns_that_are_taken_back_is_kept_no_more(
    tmp_path: Path, project: Path
) -> None:
    """A host that sends its history without the newest turns and with another message in their
    place: neither a memory of them is left nor what waits for a yes, and what is said again counts.
    """
    rule, doubt = "From now on never push to main.", "Add the page. Never touch the lock file."
    start = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Yes?"}]
    done = {"role": "assistant", "content": "Done."}
    async with Memorist(home=tmp_path, settings=Settings()) as engine:
        memory = engine.memory(project)
        session = await engine.open("s", project=project)

        async def send(*texts: str) -> tuple[int, int]:
            spoken = [each for text in texts for each in ({"role": "user", "content": text}, done)]
            await session.prepare(
                {"model": "m", "max_tokens": 9, "messages": [*start, *spoken[:-1]]}
            )
            return len(memory.headers()), len(memory.list_proposals())

        assert await send(rule, doubt, "Go on.") == (1, 1)
        assert await send("Rename it.") == (0, 0)
        assert await send("Rename it.", doubt, "Go on.") == (0, 1)
        assert await send("Rename it.", rule) == (1, 0)
        assert await send("Move it.") == (0, 0)
        await session.close()
        session = await engine.open("s", project=project)
        assert await send("Move it.", rule) == (1, 0)


@pytest.mark.covers("AM-10")
@pytest.mark.parametrize(
    ("said", "back_to", "everywhere", "kept"),
    [
        (["From now on never push to main.", "Forget that."], 1, 0, 1),
        (["From now on never push to main.", "That goes for all my projects."], 1, 0, 1),
        (["Rename it.", "Never push to main. That goes for all my projects."], 1, 0, 0),
        (["From now on never push to main.", "That goes for all my projects."], 0, 0, 0),
    ],
    ids=["forgotten", "everywhere", "everywhere at once", "both"],
)
async def test_what_a_message_did_to_the_one_before_is_taken_back_with_it(
    tmp_path: Path, project: Path, said: list[str], back_to: int, everywhere: int, kept: int
) -> None:
    """A rule that was forgotten by a message that the user went back behind holds again, and one
    that such a message had hold in every project does so no more.
    """
    done = {"role": "assistant", "content": "Done."}
    async with Memorist(home=tmp_path, settings=Settings()) as engine:
        memory = engine.memory(project)
        session = await engine.open("s", project=project)

        async def send(*texts: str) -> None:
            spoken = [each for text in texts for each in ({"role": "user", "content": text}, done)]
            await session.prepare({"model": "m", "max_tokens": 9, "messages": spoken[:-1]})

        for count in range(1, len(said) + 1):
            await send("Hello.", *said[:count])
        await send("Hello.", *said[:back_to], "Add the page.")

        assert memory.everywhere is not None
        assert (len(memory.everywhere.headers()), len(memory.headers())) == (everywhere, kept)


async def test_what_waits_for_a_yes_outlives_a_process_that_is_killed_before_the_answer(
    tmp_path: Path, project: Path
) -> None:
    """The home as it stands between prompt and answer is opened by another process."""
    said = "squash merge always happens in any case."
    messages: list[JsonObject] = [{"role": "user", "content": said}]
    async with Memorist(model="structural", home=tmp_path / "home") as engine:
        session = await engine.open("one", project=str(project))
        await session.prepare({"model": MODEL, "max_tokens": 9, "messages": messages})
        session._save()  # as a compaction before the request does
        shutil.copytree(tmp_path / "home", tmp_path / "killed")
    messages += [{"role": "assistant", "content": "Noted."}, {"role": "user", "content": "Go on."}]
    for _ in range(2):
        async with Memorist(model="structural", home=tmp_path / "killed") as engine:
            session = await engine.open("one", project=str(project))
            await session.prepare({"model": MODEL, "max_tokens": 9, "messages": messages})
            await session.close()
            assert len(engine.memory(str(project)).inbox.list_proposals()) == 1


@pytest.mark.covers("AM-10")
@pytest.mark.parametrize(
    ("policy", "written", "waiting"), [("auto", 1, 0), ("review", 0, 1), ("off", 0, 0)]
)
async def test_the_policy_decides(
    tmp_path: Path, project: Path, policy: Any, written: int, waiting: int
) -> None:
    """Automatic, by review, or not at all."""
    settings = Settings(home=str(tmp_path / "home"), auto_memory=AutoMemorySettings(policy=policy))
    async with Memorist(model="structural", settings=settings) as engine:
        host = Loop(project, engine)
        session = await host.open("one")
        await host.turn(session, "Remember that releases are cut on Tuesdays.")
        memory = engine.memory(str(project))

        assert len(memory.headers()) == written
        assert len(memory.inbox.list_proposals()) == waiting
        if waiting:
            accepted = memory.accept(memory.inbox.list_proposals()[0].id)
            assert accepted.paths == (only(memory),)
            assert memory.inbox.list_proposals() == []


async def test_without_a_project_or_on_a_remote_host_nothing_is_kept(
    tmp_path: Path, project: Path
) -> None:
    """A session that belongs to no project writes into none, and a disk that will be gone is not
    written to.
    """
    async with Memorist(model="structural", home=tmp_path / "home") as engine:
        host = Loop(project, engine)
        remote = await host.open("one", host=HostInfo(remote=True))
        await host.turn(remote, "Remember that releases are cut on Tuesdays.")
        host.messages = []
        nowhere = await engine.open("two")
        await host.turn(nowhere, "Remember that releases are cut on Tuesdays.")

    assert not list((tmp_path / "home").rglob("*.md"))


def engine_of(tmp_path: Path, model: ScriptedModel, **settings: Any) -> Memorist:
    values = Settings(home=str(tmp_path / "home"), auto_memory=AutoMemorySettings(**settings))
    return Memorist(model=model, settings=values)


async def remembered(engine: Memorist, host: Loop, *texts: str) -> None:
    session = await host.open("before")
    for text in texts:
        await host.turn(session, text)
    await session.close()
    host.events.clear()


LONG = (
    "Remember that the invoice importer rounds each line to cents, because the auditors asked "
    "for it in the review of the second quarter, and that "
    "the totals are checked against the ledger export every night before the batch is released "
    "to the bank."
)


async def test_two_sessions_of_one_project_do_not_overwrite_each_other(
    tmp_path: Path, project: Path
) -> None:
    """Both sessions' wishes are kept, each under its own words."""
    async with (
        Memorist(model="structural", home=tmp_path / "home") as engine,
        Memorist(model="structural", home=tmp_path / "home") as other,
    ):
        one, two = Loop(project, engine), Loop(project, other)
        first, second = await one.open("one"), await two.open("two")
        await asyncio.gather(
            one.turn(first, "Remember that releases are cut on Tuesdays."),
            two.turn(second, "Remember that the parser belongs to the platform team."),
        )
        await first.close()
        await second.close()
        memory = engine.memory(str(project))

    assert len(memory.headers()) == 2
    assert {recorded.why.session for recorded in memory.folder.history.list_changes()} == {
        "one",
        "two",
    }


@pytest.mark.covers("WD-3", "WD-7")
@pytest.mark.parametrize("host", [HostInfo(main=False), HostInfo(memory=False), None])
async def test_subagents_and_sessions_without_memory_leave_and_see_nothing(
    tmp_path: Path, project: Path, host: HostInfo | None
) -> None:
    """A subagent's prompt is a model's; a session without memory, by the host's word or by
    `MEMORIST_OFF`, reads, shows and writes none. No fork is paid for in either.
    """
    loop = Loop(project)
    async with engine_of(tmp_path, loop.model) as engine:
        loop.engine = engine
        await loop.turn(session := await loop.open("before"), "Always use tabs in this project.")
        await session.close()
        engine.environment = {"MEMORIST_OFF": "1"} if host is None else {}
        forks: list[Request] = []

        def fork(request: Request) -> Step:
            forks.append(request)
            return Say(text="Nothing to keep.")

        loop.fork = fork
        session = await loop.open("one", host=host)
        await loop.turn(session, "From now on always run make check before you say done.")
        await session.close()
        heads = engine.memory(str(project)).headers()

    assert forks == []
    assert [head.trust for head in heads] == [Trust.STATED]
    assert "tabs" in heads[0].description
    assert "[memorist]" not in text_of(loop.sent[-1])


@pytest.mark.covers("FG-2", "AM-5", "RC-2")
async def test_a_flag_switches_extraction_and_recall_off_and_on(
    tmp_path: Path, project: Path
) -> None:
    """While the session runs: with the flags off no model is asked at the end of a turn and nothing
    is recalled; with the flags gone both are back.
    """
    flags = InMemoryFlagSource({"auto_memory.enabled": False, "recall.enabled": False})
    host = Loop(project)
    settings = Settings(home=str(tmp_path / "home"))
    async with Memorist(model=host.model, settings=settings, flags=flags) as engine:
        assert engine.flags.wait_for_lookup(5)
        host.engine = engine
        await remembered(engine, host, LONG)
        session = await host.open("two")
        await host.turn(session, "Why does the invoice importer round the totals?")
        for _ in range(1_000):  # what would run, runs: it needs no clock and no thread
            await asyncio.sleep(0)
        off = sum("newest" in text_of(each.body) for each in host.model.requests if is_fork(each))
        shown = text_of(host.sent[-1])
        flags.values.clear()
        engine.flags.refresh()
        assert engine.flags.wait_for_lookup(5)
        await host.turn(session, "And what does the invoice importer do with the totals?")
        await session.close()
        on = sum("newest" in text_of(each.body) for each in host.model.requests if is_fork(each))

    assert (off, "bear on the last message" in shown) == (0, False)
    assert on == 1
    assert "bear on the last message" in text_of(host.sent[-1])


async def test_closing_waits_for_all_parts_at_once() -> None:
    """Two parts of a session that each wait for the other's work: one after the other they would
    wait for ever, so their bounds do not add up.
    """
    first, second = asyncio.Event(), asyncio.Event()

    class Waiting(SessionExtension):
        def __init__(self, mine: asyncio.Event, other: asyncio.Event) -> None:
            self._mine, self._other = mine, other

        async def wait_for_background(self) -> None:
            self._mine.set()
            await self._other.wait()

    parts = ExtensionList([Waiting(first, second), Waiting(second, first)], lambda event: None)
    await asyncio.wait_for(parts.aclose(), 10)

    assert first.is_set()
    assert second.is_set()


@pytest.mark.covers("AM-5", "AM-8")
async def test_a_history_that_goes_on_under_another_id_is_not_learnt_again(
    tmp_path: Path, project: Path
) -> None:
    """A forgotten wish stays forgotten when the host copies its conversation into a new session, for
    the rules and for the model that extracts; what is said after the copy counts.
    """
    wish = "From now on always run make check before you say done."
    asked: list[str] = []

    def fork(request: Request) -> Step:
        asked.append(text_of(request.body))
        return Say(text="Nothing to keep.")

    host = Loop(project)
    host.fork = fork
    async with Memorist(model=host.model, home=tmp_path / "home") as engine:
        host.engine = engine
        first = await host.open("one")
        await host.turn(first, wish)
        await host.turn(first, "Now add the paging, please.")
        copied = list(host.messages)
        await first.close()
        memory = engine.memory(str(project))
        memory.forget([only(memory)])
        asked.clear()

        second = await host.open("two")
        host.messages = copied
        await host.turn(second, "Never touch the schema in this project.")
        await second.close()

        assert "schema" in only(memory)
    assert "of the newest 2 messages" in asked[-1]


READ_MESSAGE = """
text = "Can you look at the importer? It fails on large files, and we never want that to happen."
typed = Message(id="m", role="user", blocks=(TextBlock(text),), origin=Origin.USER)
background_loading.find_statements(typed)
background_loading.find_unconfirmed_statements(typed)
"""
COMPARE_RULES = """
for said, known in combinations(
    ("We dropped Redis for Valkey", "Cache in Redis", "Never cache in Redis", "Redis is on 6380"), 2
):
    background_loading.compare_statements(said, known)
    background_loading.corrects_value(said, known)
"""


@pytest.mark.parametrize(
    ("samples", "work"), [("_read_samples", READ_MESSAGE), ("_compare_samples", COMPARE_RULES)]
)
def test_what_most_messages_need_is_compiled_before_the_rest(samples: str, work: str) -> None:
    """Once the samples are read, an everyday message that is none of them, or rules that are
    compared, compile less than half of the patterns that they would have to.
    """
    code = f"""
import re, sys
from itertools import combinations
from memorist.core.messages import Message, Origin, TextBlock
from memorist.engine import background_loading
compiled, compile = [], re.compile
re.compile = lambda *given: compiled.append(given) or compile(*given)
if sys.argv[1] == "prepared":
    list(background_loading.{samples}())
compiled.clear()
{work}
print(len(compiled))
"""
    plain, prepared = (
        int(
            subprocess.run(
                [sys.executable, "-c", code, way],
                capture_output=True,
                text=True,
                check=True,
                timeout=120,
            ).stdout
        )
        for way in ("plain", "prepared")
    )

    assert prepared < plain / 2
