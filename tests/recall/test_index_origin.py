"""What the user said stands apart from everything else in the index, with date and origin."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorist.auto_memory.memory_file import MemoryKind
from memorist.engine.engine import Memorist
from memorist.recall.memory_rendering import NOTED_HEADING, SAID_HEADING
from memorist.settings import Settings

FOREIGN = """---
name: deploys
description: Deploys run on Thursdays
type: project
---
Deploys run on Thursdays.
"""


@pytest.mark.covers("RC-1", "SF-3")
async def test_the_index_tells_the_users_word_from_notes(tmp_path: Path) -> None:
    """A stated rule is a standing instruction with its date, worded by its own file even where
    another program reworded its line; a file of unknown origin says so.
    """
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    project = str(tmp_path / "shop")
    async with Memorist(model="structural", settings=Settings(home=str(tmp_path / "h"))) as engine:
        memory = engine.memory(project)
        memory.add("Never use npm.", kind=MemoryKind.FEEDBACK, name="npm", description="No npm")
        (memory.layout.folder / "deploys.md").write_text(FOREIGN, "utf-8")
        memory.headers()
        index = memory.layout.index
        index.write_text(index.read_text("utf-8").replace("— No npm", "— Always push"), "utf-8")
        session = await engine.open("s1", project=project)
        body = {
            "model": "claude-sonnet-4-5",
            "max_tokens": 10,
            "messages": [{"role": "user", "content": "Look at the parser."}],
        }
        shown = str(await session.prepare(body))

    said, noted = shown.index(SAID_HEADING), shown.index(NOTED_HEADING)
    assert said < shown.index("- [npm](npm.md) — No npm (20") < noted
    assert "Always push" not in shown
    assert noted < shown.index("Deploys run on Thursdays (20")
    assert ", origin unknown)" in shown
