"""The bench of the team server: a real server, a few clients, and figures that can say that
something was lost.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from benchmarks import team
from benchmarks.team import TeamTimings, count_missing, serving, team_rows
from support.postgres_server import postgres


@pytest.mark.slow
@pytest.mark.covers("TM-2")
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_few_clients_lose_nothing_on_real_servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Each a process. Every write that was answered for is found again, also by the other of two
    servers on one PostgreSQL; a mark that nobody wrote is missed.
    """
    monkeypatch.setattr(team, "CLIENTS", 6)
    monkeypatch.setattr(team, "START_SECONDS", 1.0)
    with ExitStack() as opened:
        stores = [""] if kind == "sqlite" else [opened.enter_context(postgres())] * 2
        urls = [opened.enter_context(serving(tmp_path, store)) for store in stores]
        heard = team.run_clients(urls, 3.0)
        lost = [count_missing(url, heard) for url in urls]
        invented = count_missing(urls[0], TeamTimings([], [], [("m0.md", "nobody.1")]))

    assert heard.marks
    assert len({mark.partition(".")[0] for _, mark in heard.marks}) > 1
    assert (heard.failed, set(lost), invented) == (0, {0}, 1)


def test_a_loss_is_a_goal_that_was_missed() -> None:
    """The row of lost writes says so."""
    heard = TeamTimings(reads=[0.1, 0.2], writes=[0.1, 0.3], marks=[("m0.md", "a")])
    met = {row.what: row.met for row in team_rows(heard, lost=1, seconds=1.0)}

    assert met["writes that were answered for and are lost"] is False
    assert met["requests that failed"] is True
