"""Dreams that fail, are cancelled or killed: nothing is lost, and the next one goes on."""

from __future__ import annotations

import asyncio
import errno
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from dream.conftest import DAY, HOUR, World, data
from dream.test_dream import messy, model, named, rewrite
from memorist.dream import dream_workspace
from memorist.dream.dream_journal import get_journal_path
from memorist.dream.dream_lock import DreamLock, HeldDreamLock
from memorist.errors import ModelUnavailable, StoreError
from memorist.events import DreamFailed, DreamFinished
from memorist.forks.fork_spec import ForkLimits
from memorist.store.disk_files import DiskFiles, convert_os_error_to_store_error
from memorist.testing import Fail, Hang, Say, ScriptedModel
from memorist.testing.steps import Step
from support.waiting import wait_until


@pytest.mark.covers("DR-2", "DR-4")
@pytest.mark.parametrize(
    "step", [Fail(error=ModelUnavailable("down")), Hang(), Say(text="<edit path=")]
)
async def test_a_model_that_fails_leaves_the_rules_work_and_the_old_time(
    world: World, step: Step
) -> None:
    """An error or a hang: what rules prove is done, the lock has the time before, and the failure
    is told; an answer without a change is no failure.
    """
    messy(world)
    lock = DreamLock(world.where, world.clock)
    taken = lock.acquire()
    assert isinstance(taken, HeldDreamLock)
    taken.complete()
    before = lock.last_dream_time()
    world.clock.advance(25 * HOUR)

    world.limits = ForkLimits(seconds=0.3)
    done = await world.dream(ScriptedModel(lambda _: step)).dream_now("asked for", ())

    assert "use_pnpm.md" not in world.paths()
    failed = not isinstance(step, Say)
    assert bool(done.failed) is failed
    assert (lock.last_dream_time() == before) is failed
    assert any(isinstance(event, DreamFailed) for event in world.told) is failed


@pytest.mark.covers("DR-2", "DR-4")
async def test_a_dream_that_is_cancelled_writes_nothing_and_restores_the_time(world: World) -> None:
    """The host closes while the model thinks: nothing was written, the lock is free, and its time
    is the one before.
    """
    messy(world)
    before = world.state()
    hanging = ScriptedModel(lambda _: Hang())
    dream = asyncio.create_task(world.dream(hanging).dream_now("asked for", ()))
    await wait_until(lambda: bool(hanging.requests))

    dream.cancel()
    with pytest.raises(asyncio.CancelledError):
        await dream

    assert world.state() == before
    assert DreamLock(world.where, world.clock).last_dream_time() is None
    assert (await world.dream().dream_now("asked for", ())).change


@pytest.mark.covers("DR-2", "DR-4")
async def test_a_dream_that_is_cancelled_while_it_writes_is_recorded(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host closes in that moment: what was written is in the journal, and the next dream does
    not pay for it again.
    """
    messy(world)
    writing, may_go_on = threading.Event(), threading.Event()

    def apply(*arguments: Any, **options: Any) -> Any:
        writing.set()
        may_go_on.wait(10)
        return dream_workspace.apply_dream(*arguments, **options)

    monkeypatch.setattr("memorist.dream.dream.apply_dream", apply)
    dream = asyncio.create_task(world.dream().dream_now("asked for", ()))
    await wait_until(writing.is_set)

    dream.cancel()
    await asyncio.sleep(0)
    may_go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await dream

    assert "use_pnpm.md" not in world.paths()
    assert "use_pnpm.md" in get_journal_path(world.where).read_text("utf-8")
    assert any(isinstance(event, DreamFinished) for event in world.told)
    assert DreamLock(world.where, world.clock).last_dream_time() is not None


@pytest.mark.covers("DR-2")
async def test_of_two_dreams_at_once_one_runs(world: World) -> None:
    """The second is told who dreams, and leaves no trace."""
    messy(world)

    first, second = await asyncio.gather(
        world.dream().dream_now("one", ()), world.dream().dream_now("two", ())
    )

    assert sorted((first.ran, second.ran)) == [False, True]
    assert (
        len(
            [
                each
                for each in world.memory.folder.history.list_changes()
                if each.why.actor == "dream"
            ]
        )
        == 1
    )


@pytest.mark.covers("DR-4")
async def test_who_writes_meanwhile_is_not_overwritten(world: World) -> None:
    """While the model works the person edits one memory and forgets the half of a pair that was
    kept: its twin stays, and the model's edit is let go.
    """
    messy(world)

    def answer(text: str) -> str:
        world.put("fine-0.md", data("The person's new words.", name="fine-0"), actor="user")
        world.put("use-pnpm.md", None, actor="user")
        path = next(path for path in named(text) if path.endswith("fine-0.md"))
        return rewrite(path, "Desk 0 answers for part 0 and is closed.")

    done = await world.dream(model(answer)).dream_now("asked for", ())

    assert world.body("fine-0.md") == "The person's new words."
    assert world.body("use_pnpm.md") == "use pnpm"
    assert ("fine-0.md", "it changed meanwhile") in done.refused


@pytest.mark.covers("DR-4", "AM-10")
@pytest.mark.parametrize("at", range(3))
async def test_a_full_disk_loses_nothing_and_the_next_dream_goes_on(
    world: World, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full at the n-th write of the folder: the error is told, each text is there, the
    time is not counted; with room again it is done.
    """
    messy(world)
    writes = 0
    write = DiskFiles.write

    def full(self: DiskFiles, path: Path, data: bytes, *, expect: bytes | None = None) -> None:
        nonlocal writes
        if path.is_relative_to(world.where.folder) and path.suffix == ".md":
            writes += 1
            if writes > at:
                raise convert_os_error_to_store_error("write", path, OSError(errno.ENOSPC, ""))
        write(self, path, data, expect=expect)

    monkeypatch.setattr(DiskFiles, "write", full)
    with pytest.raises(StoreError, match="disk is full"):
        await world.dream().dream_now("asked for", ())
    assert DreamLock(world.where, world.clock).last_dream_time() is None
    monkeypatch.undo()

    assert "use pnpm" in "".join(map(world.body, world.paths())).casefold()
    await world.dream().dream_now("asked for", ())
    assert world.body("plan.md") == "The plan stands in gone."
    assert "use_pnpm.md" not in world.paths()


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from dream.conftest import World
from dream.test_interrupted_dreams import two_changes
from memorist.store.disk_files import DiskFiles
import memorist.dream.dream_lock as locks
at, count = int(sys.argv[2]), 0
def counted(real):
    def step(*given, **more):
        global count
        count += 1
        if count > at:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*given, **more)
    return step
for name in ("write", "create", "remove", "append"):
    setattr(DiskFiles, name, counted(getattr(DiskFiles, name)))
locks.DreamLock._write = counted(locks.DreamLock._write)
def mortal(text):
    counted(lambda: None)()
    return two_changes(text)
from dream.test_dream import model
asyncio.run(World(Path(sys.argv[1])).dream(model(mortal) if sys.argv[4] == "model" else None).dream_now("asked for", ()))
"""


BOTH_DESKS = "Desk 0 answers for part 0, desk 1 answers for part 1."


def two_changes(text: str) -> str:
    """A model's answer that rewrites one memory and takes out another."""
    folder = named(text)[0].rpartition("/")[0]
    gone = f'<write path="{folder}/fine-1.md">\nretired: fine-0 says it\n</write>'
    return rewrite(f"{folder}/fine-0.md", BOTH_DESKS) + "\n\n" + gone


async def killed(home: Path, at: int, way: str) -> int | None:
    """A dream in a process that is killed before its n-th step; gives its status."""
    command = [
        sys.executable,
        "-c",
        KILLED,
        str(home),
        str(at),
        str(Path(__file__).parents[1]),
        way,
    ]
    return await (await asyncio.create_subprocess_exec(*command)).wait()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.covers("DR-2", "DR-3", "DR-4")
async def test_a_kill_at_every_step_of_a_dream_with_a_model_loses_nothing(tmp_path: Path) -> None:
    """While the model thinks and at each write after it: a memory is as it was, as the model made
    it, or whole in the history; the time before counts.
    """
    steps = 0
    for at in range(80):
        home = tmp_path / f"home-{at}"
        world = World(home)
        messy(world)
        before = {path: world.body(path) for path in world.paths() if path.startswith("fine")}
        world.memory.close()
        status = await killed(home, at, "model")
        fresh = World(home)
        history = fresh.memory.folder.history
        now = {path: fresh.body(path) for path in fresh.paths()}
        whole = {
            history.read_file("fine-1.md", each.id) for each in history.list_changes("fine-1.md")
        }
        assert all(
            now.get(path) == text
            for path, text in before.items()
            if path not in ("fine-0.md", "fine-1.md")
        )
        assert now["fine-0.md"] in (before["fine-0.md"], BOTH_DESKS)
        assert now.get("fine-1.md", before["fine-1.md"]) == before["fine-1.md"]
        assert any(before["fine-1.md"].encode() in (each or b"") for each in whole)
        if status == 0:
            assert "fine-1.md" not in now
            break
        assert status == -signal.SIGKILL
        steps += 1
        assert DreamLock(fresh.where, fresh.clock).last_dream_time() is None
        fresh.clock.advance(3 * DAY)
        again = await fresh.dream(model(two_changes)).dream_now("asked for", ())
        assert again.ran
        assert not again.failed
        assert "fine-1.md" not in fresh.paths()
        assert fresh.body("fine-0.md") == BOTH_DESKS
        fresh.memory.close()
    assert steps >= 6


@pytest.mark.slow
@pytest.mark.covers("DR-2", "DR-4")
async def test_a_kill_at_every_write_loses_nothing(tmp_path: Path) -> None:
    """Killed before its n-th write, for each n until it comes to its end: each memory's text is
    there, and the next dream ends as one alone would.
    """
    steps = 0
    for at in range(60):
        home = tmp_path / f"home-{at}"
        world = World(home)
        messy(world)
        world.memory.close()
        status = await killed(home, at, "rules")
        fresh = World(home)
        fresh.clock.advance(3 * DAY)
        texts = {fresh.body(path).casefold().rstrip(".") for path in fresh.paths()}
        assert "use pnpm" in texts
        assert len([text for text in texts if text.startswith("desk")]) == 6
        if status == 0:
            break
        assert status == -signal.SIGKILL
        steps += 1
        await fresh.dream().dream_now("asked for", ())
        assert sorted(fresh.paths()) == sorted(
            [*(f"fine-{number}.md" for number in range(6)), "freeze.md", "plan.md", "use-pnpm.md"]
        )
        assert fresh.body("plan.md") == "The plan stands in gone."
        fresh.memory.close()
    assert steps >= 5
