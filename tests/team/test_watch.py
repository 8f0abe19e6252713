"""A session keeps a team's memories alike in the background (TM-2)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from memorist.engine.engine import Memorist
from memorist.errors import RemoteRefused, RemoteUnavailable
from memorist.events import Event, TeamFailed, TeamSynced
from memorist.settings import Settings, TeamSettings
from memorist.team.team_remote import LastSeenRemoteState, RemoteChange
from memorist.team.team_watcher import TeamWatcher
from support.waiting import wait_until
from team.conftest import Machine, MemoryRemote, note

QUICK = TeamSettings(pause_seconds=0.05, every_seconds=0.2, flush_seconds=20.0)


def watcher(machine: Machine, told: list[Event], settings: TeamSettings = QUICK) -> TeamWatcher:
    return TeamWatcher(
        lambda: (machine.sync, lambda: None),
        files=machine.files,
        settings=settings,
        tell=told.append,
    )


@pytest.mark.covers("TM-2")
async def test_what_others_changed_comes_and_what_is_written_goes(
    tmp_path: Path, remote: MemoryRemote
) -> None:
    """The first pull at once, a push after a pause, further looks after a while; each is told of."""
    remote.texts = {"first.md": note("First.")}
    a, told = Machine(tmp_path / "a", remote), list[Event]()
    watching = watcher(a, told)
    watching.start()
    await wait_until(lambda: a.team.joinpath("first.md").exists())

    a.write("mine.md", note("Mine."))
    await wait_until(lambda: "mine.md" in remote.texts)
    remote.texts["later.md"] = note("Later.")
    remote.version += 1
    await wait_until(lambda: a.team.joinpath("later.md").exists())
    await watching.close()
    await asyncio.sleep(0)

    synced = [event for event in told if isinstance(event, TeamSynced)]
    assert {key for event in synced for key in event.received} == {"first.md", "later.md"}
    assert {key for event in synced for key in event.sent} == {"mine.md"}


@pytest.mark.covers("TM-2")
async def test_changes_that_follow_each_other_go_together(
    tmp_path: Path, remote: MemoryRemote
) -> None:
    """The pause begins anew with each change, and the end of the session sends what is left at
    once.
    """
    a, told = Machine(tmp_path / "a", remote), list[Event]()
    watching = watcher(
        a, told, TeamSettings(pause_seconds=3_600.0, every_seconds=3_600.0, flush_seconds=60.0)
    )
    watching.start()
    await wait_until(a.where.team_layout.sync_state.exists)
    for number in range(3):
        a.write(f"m{number}.md", note(f"Number {number}."))

    assert remote.puts == []
    await watching.close()

    assert [set(batch) for batch in remote.puts] == [{"m0.md", "m1.md", "m2.md"}]


class Failing(MemoryRemote):
    """A remote whose puts fail."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error: Exception | None = error
        self.tried = 0

    def push_changes(
        self, changes: Mapping[str, RemoteChange], known_state: LastSeenRemoteState
    ) -> LastSeenRemoteState:
        self.tried += 1
        if self.error is not None:
            raise self.error
        return super().push_changes(changes, known_state)


@pytest.mark.covers("TM-2", "SF-5")
async def test_a_remote_that_is_away_is_tried_again_and_one_that_refuses_is_not(
    tmp_path: Path,
) -> None:
    """A failure that may pass is told of and tried again; one that will not ends the trying of this
    session. The files stay either way.
    """
    away, refusing = Failing(RemoteUnavailable("away")), Failing(RemoteRefused("no"))
    a, b = Machine(tmp_path / "a", away), Machine(tmp_path / "b", refusing)
    for each in (a, b):
        each.write("mine.md", note("Mine."))
    told_a, told_b = list[Event](), list[Event]()
    one, two = watcher(a, told_a), watcher(b, told_b)
    one.start()
    two.start()

    await wait_until(lambda: away.tried >= 2 and bool(told_b))
    away.error = None
    await wait_until(lambda: "mine.md" in away.texts)
    await one.close()
    await two.close()

    assert TeamFailed("away", stopped=False) in told_a
    assert told_b == [TeamFailed("no", stopped=True)]
    assert refusing.tried == 1
    assert b.names() == ["mine.md"]


@pytest.mark.covers("TM-2")
async def test_a_place_that_cannot_be_used_stops_no_session(tmp_path: Path) -> None:
    """A session opens, works and closes; the event says what is wrong. Without the setting nothing
    is begun at all.
    """
    told: list[Event] = []
    project = tmp_path / "shop"
    project.mkdir()
    for enabled in (True, False):
        settings = Settings(
            home=str(tmp_path / "home"),
            team=TeamSettings(enabled=enabled, remote="http://team.example", flush_seconds=60.0),
        )
        async with Memorist(settings=settings, model="structural") as engine:
            session = await engine.open(f"s{enabled}", project=str(project), listener=told.append)
            await session.close()

    failed = [event for event in told if isinstance(event, TeamFailed)]
    assert len(failed) == 1
    assert failed[0].stopped
