"""The pool of open things, under random interleavings."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from memorist.engine import session_pool as module
from memorist.engine.session_pool import PoolLimits, SessionPool
from memorist.errors import UsageError
from memorist.system import SystemClock
from support.sweeps import examples

KEYS = ("a", "b", "c", "d")
MOST_OPEN = 2


class SteppedClock(SystemClock):
    """A time that stands still until a test moves it."""

    def __init__(self) -> None:
        self.at = 0.0

    def monotonic(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        until = self.at + seconds
        for _ in iter(lambda: self.at < until, False):
            await asyncio.sleep(0)


class Step(Struct, frozen=True):
    """One thing that happens: somebody uses a key, is cancelled, discards it, or time goes by."""

    key: str
    what: str
    turns: int
    """Turns of the loop that the use, its opening and its closing take, and until the next step."""


STEPS = st.lists(
    st.builds(
        Step,
        key=st.sampled_from(KEYS),
        what=st.sampled_from(
            ["use"] * 3 + ["fail to open", "fail to close", "cancel", "discard", "close", "wait"]
        ),
        turns=st.integers(0, 4),
    ),
    max_size=40,
)


@dataclass(eq=False)
class Thing:
    """What is opened and closed."""

    key: str
    turns: int
    fails: bool
    users: int = 0
    is_closed: bool = False


@dataclass
class World:
    """All things of one run, with what must hold at each moment checked as it happens."""

    is_shared: bool
    opened: list[Thing] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    errors: list[BaseException] = field(default_factory=list)

    def open_now(self, key: str) -> list[Thing]:
        return [thing for thing in self.opened if thing.key == key and not thing.is_closed]

    async def open(self, step: Step) -> Thing:
        await turns(step.turns)
        if step.what == "fail to open":
            self.faults["open"] += 1
            raise OSError("it cannot be opened")
        assert self.open_now(step.key) == [], "two are open by one key"
        self.opened.append(thing := Thing(step.key, step.turns, step.what == "fail to close"))
        return thing

    async def close(self, thing: Thing) -> None:
        assert not thing.users, "it is closed while somebody uses it"
        assert not thing.is_closed, "it is closed twice"
        await turns(thing.turns)
        assert not thing.users, "it is given out while it is being closed"
        thing.is_closed = True
        if thing.fails:
            raise OSError("it cannot be closed")

    async def use(self, pool: SessionPool[str, Thing], step: Step) -> None:
        async with pool.use(step.key, lambda: self.open(step)) as thing:
            assert not thing.is_closed
            assert self.is_shared or not thing.users, "two use it at one time"
            thing.users += 1
            try:
                await turns(step.turns)
            finally:
                thing.users -= 1


async def turns(count: int) -> None:
    """Let the other tasks run."""
    for _ in range(count):
        await asyncio.sleep(0)


async def play(steps: list[Step], is_shared: bool) -> None:
    """Do the steps at once and one after another, then close, and check what is left."""
    world, clock = World(is_shared), SteppedClock()
    pool = SessionPool[str, Thing](
        world.close,
        clock=clock,
        limits=PoolLimits(10, MOST_OPEN),
        is_shared=is_shared,
        on_error=world.errors.append,
    )
    tasks: list[asyncio.Task[None]] = []
    for step in steps:
        match step.what:
            case "cancel":
                if tasks:
                    tasks[step.turns % len(tasks)].cancel()
            case "discard":
                pool.discard(step.key)
            case "close":
                tasks.append(asyncio.ensure_future(pool.close_key(step.key)))
            case "wait":
                clock.at += 3 * step.turns
            case _:
                tasks.append(asyncio.ensure_future(world.use(pool, step)))
        await turns(step.turns)
    done = await asyncio.gather(*tasks, return_exceptions=True)
    await turns(30)
    assert len(pool) <= MOST_OPEN, "more stay open than may"
    clock.at += 100
    await turns(30)
    assert len(pool) == 0, "what is idle for long stays open"
    world.errors += await pool.close()

    assert all(thing.is_closed for thing in world.opened), "something was never closed"
    assert pool._entries == {}
    assert pool._idle_since == {}
    assert len(world.errors) == sum(thing.fails for thing in world.opened)
    told = [error for error in done if isinstance(error, OSError)]
    assert len(told) == world.faults["open"], "a failed opening is told to the one who asked"
    assert not [error for error in done if isinstance(error, AssertionError)], done


@examples(25, whole=300)
@given(steps=STEPS, is_shared=st.booleans())
def test_no_interleaving_opens_twice_closes_in_use_or_leaves_anything(
    steps: list[Step], is_shared: bool
) -> None:
    """One open item a key, one user at a time unless shared, closed once, by nobody's leave while
    in use; no more idle ones than allowed; nothing left, whoever fails or is cancelled.
    """
    asyncio.run(play(steps, is_shared))


@examples(15, whole=100)
@given(steps=STEPS, at=st.integers(0, 40))
def test_closing_at_any_moment_waits_for_users_and_refuses_new_ones(
    steps: list[Step], at: int
) -> None:
    """Whatever is under way when the pool is closed: all that was opened is closed, and who comes
    later is told.
    """

    async def run() -> None:
        world = World(is_shared=False)
        pool = SessionPool[str, Thing](world.close, clock=SteppedClock(), limits=PoolLimits(10))
        tasks = [asyncio.ensure_future(world.use(pool, step)) for step in steps]
        await turns(at)
        await pool.close()
        done = await asyncio.gather(*tasks, return_exceptions=True)

        assert all(isinstance(error, OSError | UsageError | None) for error in done), done
        assert all(thing.is_closed for thing in world.opened)
        assert len(pool) == 0
        with pytest.raises(UsageError):
            await world.use(pool, Step("a", "use", 0))
        assert await pool.close() == []

    asyncio.run(run())


async def test_who_never_lets_go_does_not_hold_up_the_close_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After the longest wait the close ends; the item is closed by its last user."""
    monkeypatch.setattr(module, "MAX_CLOSE_WAIT_SECONDS", 0.01)
    world = World(is_shared=False)
    pool = SessionPool[str, Thing](world.close, clock=SystemClock(), limits=PoolLimits(10))
    async with pool.use("a", lambda: world.open(Step("a", "use", 0))) as thing:
        await pool.close()
        assert not thing.is_closed
    await turns(5)

    assert thing.is_closed


async def test_a_busy_item_is_neither_expired_nor_closed_for_room() -> None:
    """Items that somebody outside still needs stay open until they are free."""
    world, clock = World(is_shared=True), SteppedClock()
    busy = {"a"}
    pool = SessionPool[str, Thing](
        world.close, clock=clock, limits=PoolLimits(10, 1), is_busy=lambda thing: thing.key in busy
    )
    for key in ("a", "b", "c"):
        await world.use(pool, Step(key, "use", 0))
    clock.at = 25
    await turns(10)
    assert [thing.key for thing in world.opened if not thing.is_closed] == ["a"]
    busy.clear()
    clock.at = 60
    await turns(10)

    assert len(pool) == 0
    await pool.close()
