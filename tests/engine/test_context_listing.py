"""What a host is told of a context, piece by piece, without the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorist import HostContext, Memorist
from memorist.engine.context_listing import list_first_context, list_recorded_context_at_turn


@pytest.mark.covers("CX-9")
async def test_a_host_lists_what_a_session_would_be_shown_first_and_what_one_was(
    tmp_path: Path,
) -> None:
    """Before a session, the first context of its folder; of a session that ran, the same pieces and
    what was said, compared with the turn before.
    """
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "CLAUDE.md").write_text("Use tabs.", "utf-8")
    async with Memorist(home=tmp_path / "home", model="structural") as engine:
        first = list_first_context(engine, folder, family="file-native")
        session = await engine.open("s1", project=str(folder))
        session.assemble_context(HostContext(folder=str(folder), family="file-native"))
        said = {"role": "user", "content": "Fix the importer."}
        await session.prepare({"model": "m", "max_tokens": 10, "messages": [said]})
    recorded = list_recorded_context_at_turn(
        session.layout.transcript, default_family="file-native", turn=1, compares=True
    )

    assert "Use tabs." in " ".join(each.text for each in first.pieces)
    assert [each.tag for each in first.pieces] == [
        each.tag for each in recorded.pieces if each.tag != "prompt"
    ]
    assert recorded.count_tokens_by_status("added") == recorded.tokens


@pytest.mark.covers("SK-2", "CX-9")
async def test_a_session_shows_the_skills_that_fit_the_models_own_tokens(tmp_path: Path) -> None:
    """As many as are listed for the model: the share of the window is counted in its tokens."""
    folder = tmp_path / "shop"
    for number in range(120):
        skill = folder / ".claude" / "skills" / f"s{number:03}" / "SKILL.md"
        skill.parent.mkdir(parents=True)
        skill.write_text(f"---\nname: s{number:03}\ndescription: {'ships it ' * 30}\n---\nShip.\n")
    model = "claude-opus-4-7"
    async with Memorist(home=tmp_path / "home", model="structural") as engine:
        listed = list_first_context(engine, folder, family="file-native", model=model)
        session = await engine.open("s1", project=str(folder))
        session.assemble_context(HostContext(folder=str(folder), family="file-native"))
        said = {"role": "user", "content": "Fix the importer."}
        await session.prepare({"model": model, "max_tokens": 10, "messages": [said]})
    recorded = list_recorded_context_at_turn(
        session.layout.transcript, default_family="file-native", turn=1
    )
    (first,) = (each.text for each in listed.pieces if "s000" in each.text)
    (shown,) = (each.text for each in recorded.pieces if "s000" in each.text)

    assert "s119" in shown
    assert shown == first
