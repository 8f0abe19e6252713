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
