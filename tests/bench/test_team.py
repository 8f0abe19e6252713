"""The bench of the team server: a real server, a few clients, and figures that can say that something was lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorist.bench import team
from memorist.bench.team import Heard, missing, rows, serving


@pytest.mark.covers("TM-2")
def test_a_few_clients_lose_nothing_on_a_real_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every write that was answered for is found again; a mark that nobody wrote is missed."""
    monkeypatch.setattr(team, "CLIENTS", 8)
    monkeypatch.setattr(team, "PROCESSES", 2)
    monkeypatch.setattr(team, "REST_SECONDS", 0.02)
    monkeypatch.setattr(team, "WRITES", 0.6)
    with serving(tmp_path) as url:
        heard = team._group((url, 1.0, 0))
        lost = missing(url, heard)
        invented = missing(url, Heard([], [], [("m0.md", "nobody.1")]))

    assert heard.marks
    assert (heard.failed, lost, invented) == (0, 0, 1)


def test_a_loss_is_a_goal_that_was_missed() -> None:
    """The row of lost writes says so."""
    heard = Heard(reads=[0.1, 0.2], writes=[0.1, 0.3], marks=[("m0.md", "a")])
    met = {row.what: row.met for row in rows(heard, lost=1, seconds=1.0)}

    assert met["writes that were answered for and are lost"] is False
    assert met["requests that failed"] is True
