"""What `memorist status` says, for a program of one's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorist import Memorist
from memorist.engine.background_status import read_background_budget_status
from memorist.engine.memory_effect import measure_memory_effect
from memorist.engine.memory_status import read_memory_status


@pytest.mark.covers("SG-1", "OP-1")
async def test_a_program_reads_what_is_remembered_spent_and_whether_memory_helped(
    tmp_path: Path,
) -> None:
    """Memories by their origin, what background work used, and the sessions with and without
    memory, which are none as long as `recall.holdout` draws none.
    """
    async with Memorist(home=tmp_path / "home", model="structural") as engine:
        memory = engine.memory(str(tmp_path))
        memory.add("Always use pnpm.")
        database = engine.database()
        status = read_memory_status(engine.layout, memory, database, joined=("Codex",))
        spent = read_background_budget_status(database, engine.settings, engine.runtime.clock.now())
        effect = measure_memory_effect(engine.layout, database, memory.layout.folder)

    assert (sum(status.origins.values()), status.joined, status.waiting) == (1, ("Codex",), 0)
    assert spent.total.requests == 0
    assert (effect.with_memory, effect.without) == (0, 0)
