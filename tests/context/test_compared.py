"""What memorist assembles in the situations in which the real clients were looked at; needs no
client.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from clients import ours, situations
from support.context_outline import compare_outlines, parse_outline_item

CLIENTS = ("codex", "claude_code")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The folder of a project."""
    made = tmp_path / "project"
    made.mkdir()
    return made


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.covers("CP-8", "CX-1", "CX-2", "CX-3", "SK-2")
async def test_memorist_assembles_what_is_recorded(client: str, project: Path) -> None:
    """In every situation of the record the rows are those of what is assembled now, beside what the
    client was seen to send.
    """
    situations.furnish(project, client)

    found = await ours.situations_of(client, project, project.parent / "home")

    assert set(found) == set(situations.recorded()[client]["situations"])
    for name, mine in found.items():
        pairs = compare_outlines(
            [parse_outline_item(written) for written in situations.theirs(client)[name]], mine
        )
        assert situations.rows_of(pairs) == situations.recorded_rows(client, name), name


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.covers("CX-1", "CX-2")
def test_every_difference_has_its_reason(client: str) -> None:
    """Each row that is not the same names a reason, with one of two verdicts; no reason stands
    without a row.
    """
    record = situations.recorded()
    named = {
        row["why"]
        for each in CLIENTS
        for rows in record[each]["situations"].values()
        for row in rows
        if "why" in row
    }

    assert named == set(record["why"])
    assert {why["verdict"] for why in record["why"].values()} <= {"on purpose", "not applicable"}
    assert all(len(why["text"]) > len("on purpose") for why in record["why"].values())
    assert set(record[client]["without"]).isdisjoint(record[client]["situations"])


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.covers("CX-3")
def test_no_row_is_empty_and_a_row_that_is_the_same_has_both_sides(client: str) -> None:
    """A row without a reason holds what both sides have."""
    for rows in situations.recorded()[client]["situations"].values():
        assert all(row.get("theirs") or row.get("ours") for row in rows)
        assert all(row.get("theirs") and row.get("ours") for row in rows if "why" not in row)
