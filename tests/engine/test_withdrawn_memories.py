"""Two sessions of one project at once: what the user withdraws in one, the other is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.test_memory import Loop, project, text_of
from memorist.auto_memory.memory_move import change_memory_scope
from memorist.engine.engine import Memorist

__all__ = ["project"]

PNPM, NPM = "Never use npm here, always pnpm.", "Always use npm in this repo, never pnpm."
NO_LONGER = "this no longer holds"


async def talk(engine: Memorist, project: Path, *turns: tuple[str, str]) -> dict[str, list[str]]:
    """What is new in the request of each turn, by its session; those stay open to the end."""
    hosts = {id: Loop(project, engine) for id, _ in turns}
    sessions: dict[str, Any] = {id: await host.open(id) for id, host in hosts.items()}
    found: dict[str, list[str]] = {id: [] for id in hosts}
    for id, text in turns:
        await hosts[id].turn(sessions[id], text)
        found[id].append(text_of(hosts[id].sent[-1]).removeprefix("".join(found[id])[:-1]))
    for session in sessions.values():
        await session.close()
    return found


@pytest.mark.covers("RC-1")
@pytest.mark.parametrize(
    ("said", "otherwise", "shown"),
    [
        (PNPM, NPM, f"“{PNPM}”: now “{NPM}”"),
        (PNPM, "Forget that we use pnpm.", f"“{PNPM}”: withdrawn"),
        (
            "In all my projects use tabs.",
            "In all my projects use spaces, never tabs.",
            "“In all my projects use tabs.”: now “In all my projects use spaces, never tabs.”",
        ),
    ],
    ids=["replaced", "forgotten", "everywhere"],
)
async def test_a_session_is_told_once_what_was_withdrawn_in_another(
    tmp_path: Path, project: Path, said: str, otherwise: str, shown: str
) -> None:
    """The window in which a rule was said, and one that was shown it, went on by it after the user
    had said otherwise in a third; the window in which that was said knows it.
    """
    async with Memorist(model="structural", home=tmp_path / "home") as engine:
        found = await talk(
            engine,
            project,
            ("said", said),
            ("shown", "good morning"),
            ("otherwise", otherwise),
            ("said", "add left-pad"),
            ("shown", "ok"),
            ("otherwise", "thank you"),
            ("said", "and left-trim"),
            ("shown", "and left-trim"),
        )

    assert [(NO_LONGER in text, shown in text) for text in found["said"][1:2]] == [(True, True)]
    assert [(NO_LONGER in text, shown in text) for text in found["shown"][1:2]] == [(True, True)]
    assert found["said"][2].count(NO_LONGER) == found["shown"][2].count(NO_LONGER) == 1
    assert not any(NO_LONGER in text for text in found["otherwise"])


@pytest.mark.parametrize("change", ["moved", "taken back"])
async def test_what_still_holds_is_not_withdrawn(
    tmp_path: Path, project: Path, change: str
) -> None:
    """A rule that now holds in every project, and one that an undo brought back."""
    async with Memorist(model="structural", home=tmp_path / "home") as engine:
        host, other = Loop(project, engine), Loop(project, engine)
        session = await host.open("said")
        await host.turn(session, PNPM)
        memory = engine.memory(str(project))
        if change == "moved":
            (head,) = memory.headers()
            change_memory_scope(memory, head.path, everywhere=True)
        else:
            later = await other.open("otherwise")
            await other.turn(later, NPM)
            memory.undo()
            await later.close()
        await host.turn(session, "add left-pad")
        left = [*memory.headers(), *(memory.everywhere.headers() if memory.everywhere else ())]
        await session.close()

    assert [head.description for head in left] == [PNPM]
    assert NO_LONGER not in text_of(host.sent[-1])


@pytest.mark.covers("RC-1")
@pytest.mark.parametrize(
    ("said", "otherwise"),
    [(PNPM, NPM), ("In all my projects use tabs.", "In all my projects use spaces, never tabs.")],
    ids=["here", "everywhere"],
)
async def test_a_session_that_goes_on_later_is_told_as_well(
    tmp_path: Path, project: Path, said: str, otherwise: str
) -> None:
    """It was shown the index, ended, and was opened again after the user had said otherwise: the
    former rule still stood in its context, and nothing said that it holds no longer.
    """
    async with Memorist(model="structural", home=tmp_path / "home") as engine:
        await talk(engine, project, ("said", said))
        host = Loop(project, engine)
        session = await host.open("later")
        await host.turn(session, "good morning")
        await session.close()
        await talk(engine, project, ("otherwise", otherwise))
        history = host.messages
        session = await host.open("later")
        host.messages = history
        await host.turn(session, "add left-pad")
        await host.turn(session, "and right-pad")
        await session.close()

    assert text_of(host.sent[-1]).count(f"“{said}”: now “{otherwise}”") == 1
