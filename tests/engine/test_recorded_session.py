"""A recorded session that a program names as its user would: its notes, and its hand-over."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from memorist import Memorist
from memorist.core.messages import Message, Origin, TextBlock
from memorist.engine.recorded_session import (
    build_structural_session_notes,
    find_newest_session_preferring_notes,
    find_recorded_session,
    read_session_notes,
)
from memorist.engine.session_handoff import render_session_handoff, write_handoff_session
from memorist.errors import InputError, NothingToDo
from memorist.formats.transcript_format import TurnRollback
from memorist.session_memory.structural_notes import NotesBudget


@pytest.mark.covers("SM-1")
async def test_a_program_finds_a_session_reads_its_notes_and_hands_it_over(tmp_path: Path) -> None:
    """By the start of its id, or as the newest of its project; the kept notes and those made of the
    recording hold what was asked, and so does the file that another client resumes.
    """
    said = {"role": "user", "content": "Mend the rounding of the totals in the till."}
    async with Memorist(home=tmp_path / "home", model="structural") as engine:
        home = engine.layout
        with pytest.raises(NothingToDo, match="no session is known yet"):
            find_newest_session_preferring_notes(home, tmp_path)
        session = await engine.open("till-1", project=str(tmp_path))
        await session.prepare({"model": "m", "max_tokens": 10, "messages": [said]})
        await session.update_notes()

    found, newest = (
        find_recorded_session(home, "till"),
        find_newest_session_preferring_notes(home, tmp_path),
    )
    kept, made = read_session_notes(found), build_structural_session_notes(found, NotesBudget())
    text = render_session_handoff(found, 2_000)
    written = write_handoff_session(
        text,
        "codex",
        folder=tmp_path,
        environment={"CODEX_HOME": str(tmp_path / "codex")},
        at=datetime(2026, 11, 26, tzinfo=UTC),
    )
    with pytest.raises(InputError, match="no session's id begins so"):
        find_recorded_session(home, "shop")

    assert (
        (found.id, found.path) == (newest.id, newest.path) == ("till-1", session.layout.transcript)
    )
    for each in (kept, made, text, written.path.read_text("utf-8")):
        assert "rounding of the totals" in each


@pytest.mark.parametrize("id", ["chat.1", "user/42", "2026-11-28.log", "a b"])
async def test_a_session_is_found_by_an_id_that_looks_like_a_file(tmp_path: Path, id: str) -> None:
    """Any text is an id; a file that is not there is named as a file."""
    async with Memorist(home=tmp_path / "home", model="structural") as engine:
        session = await engine.open(id, project=str(tmp_path))
        await session.prepare({"model": "m", "max_tokens": 10, "messages": []})

    found = find_recorded_session(engine.layout, id)
    missing = find_recorded_session(engine.layout, "shop/rollout.jsonl")

    assert (found.id, found.path) == (id, session.layout.transcript)
    assert (missing.layout, missing.path.is_file()) == (None, False)


@pytest.mark.covers("CX-7")
@pytest.mark.parametrize(("turns", "left"), [(0, 2), (1, 1), (9, 0)])
async def test_a_rollback_takes_back_as_many_turns_as_it_says(
    tmp_path: Path, turns: int, left: int
) -> None:
    """None where a marker of the agent names none: the window still holds all."""
    async with Memorist(home=tmp_path / "home", model="structural") as engine:
        session = engine.observe_session("till-1", project=str(tmp_path))
        for number in ("1", "2"):
            session._add_record(
                Message(
                    id=number,
                    role="user",
                    blocks=(TextBlock("Go."),),
                    origin=Origin.USER,
                    is_typed=True,
                ),
                is_copy=False,
            )
        session._add_record(TurnRollback(turns, 0, 3), is_copy=False)

        assert len(session._log.window_messages) == left
        await session.close()
