"""A month of sessions in minutes: the clock is moved, the engine dreams by itself; what is left is
smaller, true, and can be taken back step by step.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dream.conftest import DAY, HOUR, data
from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.memory_changes import ChangeReason, MemoryChange
from memorist.auto_memory.memory_manifest import INDEX_NAME
from memorist.dream.dream import DreamExtension
from memorist.engine.engine import Memorist
from memorist.engine.session import Session
from memorist.errors import NothingToDo
from memorist.events import DreamFinished, Event
from memorist.ports import HostInfo, Request
from memorist.store.disk_files import DiskFiles
from memorist.testing import FrozenClock, Say, ScriptedModel

BODY = {"model": "m", "max_tokens": 1000}


class Month:
    """A host whose sessions say things outright, beside an agent that writes memories of its own."""

    def __init__(self, engine: Memorist, clock: FrozenClock, project: Path) -> None:
        self.engine = engine
        self.clock = clock
        self.project = project
        self.events: list[Event] = []
        self.model = ScriptedModel(lambda _: Say(text="Done."))

    @property
    def memory(self) -> AutoMemory:
        return self.engine.memory(str(self.project))

    async def session(self, id: str, *said: str, host: HostInfo | None = None) -> None:
        """One session; its transcript is as old as the moved clock says."""
        opened = await self.engine.open(
            id, project=str(self.project), listener=self.events.append, host=host
        )
        messages: list[dict[str, Any]] = []
        for text in said:
            messages.append({"role": "user", "content": text})
            await self._turn(opened, messages)
        await _settled(opened)
        await opened.close()
        os.utime(opened.layout.transcript, (self.clock.now(), self.clock.now()))

    async def _turn(self, session: Session, messages: list[dict[str, Any]]) -> None:
        request = await session.prepare({**BODY, "messages": messages})
        reply = await self.model.send(Request(format="anthropic", body=request))
        await session.observe(reply.body)
        messages.append({"role": "assistant", "content": reply.body["content"]})
        await session.end_turn()

    def write(self, path: str, body: str, *, kind: str = "project") -> None:
        """The host's agent writes a memory, as an extraction would."""
        change = MemoryChange(
            path=path, before=None, after=data(body, name=path.removesuffix(".md"), kind=kind)
        )
        self.memory.folder.apply_changes(
            [change], ChangeReason(actor="extraction", what=f"extract: {path}")
        )

    def dreams(self) -> list[DreamFinished]:
        return [event for event in self.events if isinstance(event, DreamFinished)]

    def texts(self) -> dict[str, str]:
        return {
            head.path: self.memory.folder.read_memory_file(head.path).body
            for head in self.memory.headers()
        }


async def _settled(session: Session) -> None:
    """Give a dream that began at the end of a turn the time it takes; with none nothing is waited
    for.
    """
    dream = session._log.extensions.find(DreamExtension)
    for _ in range(6_000):
        if dream is None or not dream._queue.is_busy:
            return
        await asyncio.sleep(0.005)


@pytest.mark.slow
@pytest.mark.covers("DR-1", "DR-4", "DR-5")
async def test_a_month_of_sessions_leaves_a_smaller_truer_folder_that_can_be_taken_back(
    tmp_path: Path,
) -> None:
    """Thirty days of two sessions: doubles, dead links and loose dates come up; dreams keep up with
    them, at most one a day; undo goes back to day one.
    """
    project = tmp_path / "shop"
    (project / ".git").mkdir(parents=True)
    clock = FrozenClock()
    async with Memorist(
        model="structural", home=tmp_path / "home", clock=clock, files=DiskFiles(durable=False)
    ) as engine:
        month = Month(engine, clock, project)
        for day in range(30):
            for half in range(2):
                await month.session(
                    f"d{day}-{half}",
                    "Install the dependencies, please",
                    f"Remember that desk {day * 2 + half} is on floor {day}.",
                )
                clock.advance(6 * HOUR)
            month.write(f"rule-{day}-is-fixed.md", f"Rule {day} is fixed", kind="feedback")
            month.write(f"rule_{day}_is_fixed.md", f"rule {day} is fixed.", kind="feedback")
            month.write(
                f"freeze-{day}.md", f"Freeze {day} begins tomorrow, told in [[draft-{day}]]."
            )
            month.write(f"draft-{day}.md", f"Draft {day}.")
            before = month.memory.folder.history.read_file(
                f"draft-{day}.md", month.memory.folder.history.list_changes(limit=1)[0].id
            )
            month.memory.folder.apply_changes(
                [MemoryChange(path=f"draft-{day}.md", before=before, after=None)],
                ChangeReason(actor="user", what="forget"),
            )
            clock.advance(12 * HOUR)
        for number in range(5):
            await month.session(f"last-{number}", "Thanks, that is all")
            clock.advance(25 * HOUR)
        await month.session("end", "One more thing, please")

        dreams, texts = month.dreams(), month.texts()
        assert 5 <= len(dreams) <= 31
        rules = [text for text in texts.values() if text.casefold().startswith("rule")]
        assert len(rules) == 30
        assert not [text for text in texts.values() if "[[" in text]
        freezes = {text.split()[1]: text for text in texts.values() if text.startswith("Freeze")}
        assert len(freezes) == 30
        assert all("(tomorrow)" in text for text in freezes.values())
        days = sorted(text.split("begins ")[1][:10] for text in freezes.values())
        assert len(set(days)) == 30
        assert len([text for text in texts.values() if "desk" in text.casefold()]) == 60
        assert (
            len(texts) == 120
        )  # of 180 that were written; 30 the person forgot, 30 said what another one says
        index = (month.memory.layout.folder / INDEX_NAME).read_text()
        assert len(index.splitlines()) == len(texts)

        log = month.memory.folder.history.list_changes()
        largest = len(month.memory.folder.history.map_paths_to_blob_ids(log[0].id)) - 1
        assert largest == len(texts)
        undone = 0
        while True:
            try:
                recorded = month.memory.undo()
            except NothingToDo:
                break
            undone += 1
            assert {
                path: month.memory.folder.history.read_file(path, recorded.id)
                for path in recorded.paths
            }
        assert undone == len(
            [each for each in log if any(path != INDEX_NAME for path in each.paths)]
        )
        assert month.texts() == {}


@pytest.mark.covers("DR-1", "SM-1")
@pytest.mark.parametrize(
    "host", [HostInfo(remote=True), HostInfo(interactive=False), HostInfo(main=False), None]
)
async def test_only_an_interactive_main_session_of_a_lasting_disk_dreams(
    tmp_path: Path, host: HostInfo | None
) -> None:
    """With six old sessions and a day gone, the end of a turn begins a dream; a subagent, a
    one-shot program and a remote machine begin none.
    """
    project = tmp_path / "shop"
    (project / ".git").mkdir(parents=True)
    clock = FrozenClock()
    async with Memorist(
        model="structural", home=tmp_path / "home", clock=clock, files=DiskFiles(durable=False)
    ) as engine:
        month = Month(engine, clock, project)
        for number in range(6):
            await month.session(f"s{number}", "hello there", host=HostInfo(main=False))
        month.write("use-x.md", "Use x")
        month.write("use_x.md", "use x.")
        clock.advance(2 * DAY)

        await month.session("now", "hello again", host=host)

        assert len(month.dreams()) == (1 if host is None else 0)
        assert len(month.texts()) == (1 if host is None else 2)


@pytest.mark.covers("DR-3")
async def test_a_dream_of_a_model_runs_beside_the_host_under_the_governor(tmp_path: Path) -> None:
    """The host's next request does not wait for the dream's model; its receipt is among the
    session's.
    """
    project = tmp_path / "shop"
    (project / ".git").mkdir(parents=True)
    clock = FrozenClock()
    asked = asyncio.Event()
    answer = asyncio.Event()

    class Slow(ScriptedModel):
        async def send(self, request: Request) -> Any:
            if request.label == "dream":
                asked.set()
                await answer.wait()
            return await super().send(request)

    slow = Slow(lambda _: Say(text="Nothing to do."), name="scripted:m")
    async with Memorist(model=slow, home=tmp_path / "home", clock=clock) as engine:
        month = Month(engine, clock, project)
        for number in range(6):
            await month.session(f"s{number}", "hello there", host=HostInfo(main=False))
        month.write("desk.md", "Desk one is here")
        clock.advance(2 * DAY)
        session = await engine.open("now", project=str(project), listener=month.events.append)
        messages: list[dict[str, Any]] = [{"role": "user", "content": "hello again"}]
        await month._turn(session, messages)
        await asyncio.wait_for(asked.wait(), 30)

        messages.append({"role": "user", "content": "and now?"})
        await month._turn(session, messages)
        assert not month.dreams()
        answer.set()
        await _settled(session)
        await session.close()

        assert [dream.way for dream in month.dreams()] == ["model"]
        assert "dream" in [receipt.label for receipt in session.receipts()]
        assert b"desk" in msgspec.json.encode(slow.requests[-1].body).lower()
