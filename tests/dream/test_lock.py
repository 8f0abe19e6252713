"""The lock: one winner of two, no prisoner of the dead, and the old time back after whatever went
wrong.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.conftest import HOUR, World
from memorist.dream.dream_lock import (
    STALE_LOCK_SECONDS,
    DreamLock,
    DreamLockBusy,
    DreamLockHolder,
    HeldDreamLock,
    encode_lock_holder,
    is_lock_holder_alive,
    parse_lock_holder,
)
from memorist.errors import StoreError
from memorist.platforms import processes

HOLDING = """
import sys, time
from pathlib import Path
from memorist.system import SystemClock
from memorist.dream.dream_lock import DreamLock
from memorist.store.home_layout import Layout
lock = DreamLock(Layout(Path(sys.argv[1])).memory_layout("/home/dev/shop"), SystemClock())
print(type(lock.acquire()).__name__, flush=True)
time.sleep(60)
"""


@pytest.fixture
def lock(world: World) -> DreamLock:
    return DreamLock(world.where, world.clock)


def path_of(world: World) -> Path:
    return world.where.dream_state / "lock"


def take(lock: DreamLock) -> HeldDreamLock:
    taken = lock.acquire()
    assert isinstance(taken, HeldDreamLock)
    return taken


@pytest.mark.covers("DR-2")
def test_the_lock_holds_process_and_time(world: World, lock: DreamLock) -> None:
    """While it is held its first line is the process, its time the time of taking; afterwards it is
    empty and the time stays.
    """
    assert lock.last_dream_time() is None
    taken = take(lock)

    assert path_of(world).read_text().splitlines()[0] == str(os.getpid())
    assert path_of(world).stat().st_mtime == pytest.approx(world.clock.now())
    begun = world.clock.now()
    world.clock.advance(60)
    taken.complete()
    assert path_of(world).read_bytes() == b""
    assert lock.last_dream_time() == pytest.approx(begun)


@pytest.mark.covers("DR-2")
def test_failure_restores_the_time_before(world: World, lock: DreamLock) -> None:
    """After a failure the last consolidation is the one before; where there was none, the lock is
    gone.
    """
    take(lock).abandon()
    assert lock.last_dream_time() is None
    assert not path_of(world).exists()
    take(lock).complete()
    first = lock.last_dream_time()
    world.clock.advance(30 * HOUR)

    take(lock).abandon()

    assert lock.last_dream_time() == first
    assert isinstance(lock.acquire(), HeldDreamLock)


@pytest.mark.covers("DR-2")
def test_a_second_taker_is_told_who_dreams(world: World, lock: DreamLock) -> None:
    """While one holds it, a second taker of the same process or another is blocked, in words; it
    ends nobody else's dream.
    """
    taken = take(lock)
    world.clock.advance(120)

    blocked = DreamLock(world.where, world.clock).acquire()

    assert isinstance(blocked, DreamLockBusy)
    assert str(os.getpid()) in blocked.why
    assert "2 minutes" in blocked.why
    taken.complete()
    taken.abandon()  # a second end of the same dream changes nothing
    assert lock.last_dream_time() is not None


@pytest.mark.covers("DR-2")
def test_of_many_takers_at_once_one_wins(world: World) -> None:
    """Eight threads with locks of their own take it at the same moment: one has it, the others are
    blocked.
    """
    ready = threading.Barrier(8)
    found: list[HeldDreamLock | DreamLockBusy] = []

    def taker() -> None:
        mine = DreamLock(world.where, world.clock)
        ready.wait()
        found.append(mine.acquire())

    threads = [threading.Thread(target=taker) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sum(isinstance(each, HeldDreamLock) for each in found) == 1
    assert len(found) == 8


@pytest.mark.covers("DR-2", "DR-4")
def test_a_killed_dream_holds_nobody_and_its_time_does_not_count(tmp_path: Path) -> None:
    """Another process takes the lock and is killed: while it lives it blocks; dead, the lock can be
    had, and the time before it is the last one.
    """
    from memorist.store.home_layout import Layout
    from memorist.system import SystemClock

    where = Layout(tmp_path / "home").memory_layout("/home/dev/shop")
    lock = DreamLock(where, SystemClock())
    take(lock).complete()
    os.utime(where.dream_state / "lock", (1_000_000_000, 1_000_000_000))
    other = subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(tmp_path / "home")], stdout=subprocess.PIPE, text=True
    )
    assert other.stdout is not None
    assert other.stdout.readline().strip() == "HeldDreamLock"

    blocked, during = lock.acquire(), lock.last_dream_time()
    other.send_signal(signal.SIGKILL)
    other.wait()
    other.stdout.close()

    assert isinstance(blocked, DreamLockBusy)
    assert during is not None
    assert during > 1_000_000_000
    assert lock.last_dream_time() == 1_000_000_000
    assert isinstance(lock.acquire(), HeldDreamLock)


@pytest.mark.covers("DR-2")
def test_a_recycled_process_number_holds_nobody(world: World, lock: DreamLock) -> None:
    """A lock of a process whose number another process has by now, this one, is free: the number
    alone proves nothing.
    """
    mine = processes.read_process_start_id(os.getpid())
    assert mine, "this test needs /proc"
    take(lock)
    path_of(world).write_bytes(
        encode_lock_holder(
            DreamLockHolder(
                pid=os.getpid(),
                started="another-boot-1",
                prior=5.0,
                host=os.uname().nodename,
                mark="m",
            )
        )
    )
    os.utime(path_of(world), (world.clock.now(), world.clock.now()))

    assert lock.last_dream_time() == 5.0
    assert isinstance(lock.acquire(), HeldDreamLock)


@pytest.mark.covers("DR-2")
@pytest.mark.parametrize("prior", ["inf", "nan", "1e300", "-5", "x"])
def test_a_damaged_time_in_the_lock_counts_as_none(
    world: World, lock: DreamLock, prior: str
) -> None:
    """A killed dream's lock with a time that no file can carry counts as never dreamt, and the next
    dream can fail without an error of the lock.
    """
    take(lock)
    path_of(world).write_text(f"1\nanother-boot\n{prior}\n{os.uname().nodename}\nm\n")

    last = lock.last_dream_time()
    take(lock).abandon()

    assert (last or 0.0) <= world.clock.now()
    assert (lock.last_dream_time() or 0.0) <= world.clock.now()


@pytest.mark.covers("DR-2")
@pytest.mark.parametrize("hours", [1.01, 7, -7, 24 * 400, -24 * 400])
def test_a_stale_lock_and_a_clock_that_jumped_hold_nobody(
    world: World, lock: DreamLock, hours: float
) -> None:
    """A lock whose time is more than an hour away, behind or ahead of the clock, can be taken even
    while its process lives.
    """
    take(lock)
    world.clock.advance(hours * HOUR) if hours > 0 else os.utime(
        path_of(world), (world.clock.now() - hours * HOUR,) * 2
    )

    assert abs(hours) * HOUR > STALE_LOCK_SECONDS
    assert isinstance(lock.acquire(), HeldDreamLock)


@pytest.mark.covers("DR-2")
def test_a_lock_of_another_machine_counts_as_held_until_it_is_stale(
    world: World, lock: DreamLock
) -> None:
    """Nobody here can see whether a process of another machine lives: within the hour its lock
    holds.
    """
    take(lock).complete()
    path_of(world).write_bytes(
        encode_lock_holder(DreamLockHolder(pid=2**22 + 1, host="another-machine", mark="m"))
    )
    os.utime(path_of(world), (world.clock.now(), world.clock.now()))

    assert isinstance(lock.acquire(), DreamLockBusy)
    world.clock.advance(1.1 * HOUR)
    assert isinstance(lock.acquire(), HeldDreamLock)


@pytest.mark.covers("DR-2")
@given(st.binary(max_size=200))
def test_any_text_in_the_lock_can_be_read(body: bytes) -> None:
    """Whatever stands in the file, it names a process or none, and asking whether that runs raises
    nothing.
    """
    found = parse_lock_holder(body)
    assert found is None or is_lock_holder_alive(found) in (True, False)


@pytest.mark.covers("DR-2")
@given(st.integers(1, 2**22), st.floats(0, 4e9), st.text("abc-123", max_size=20))
def test_what_is_written_is_read_back(pid: int, prior: float, word: str) -> None:
    """A holder comes back from the file as it was written."""
    holder = DreamLockHolder(pid=pid, started=word, prior=prior, host=word, mark=word)
    assert parse_lock_holder(encode_lock_holder(holder)) == holder


@pytest.mark.covers("DR-2")
def test_a_disk_that_refuses_the_lock_says_so(
    world: World, lock: DreamLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a full disk the lock cannot be taken, which is told as a StoreError; nothing is left
    beside it.
    """

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "utime", full)
    with pytest.raises(StoreError, match="disk is full"):
        lock.acquire()
    assert [path.name for path in world.where.dream_state.iterdir()] == ["lock.guard"]
