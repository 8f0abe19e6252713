"""The ledger of requirements holds: what is called done has a test."""

from __future__ import annotations

import re
from pathlib import Path

from conftest import LEDGER

TESTS = Path(__file__).parent


CITING = re.compile(r"mark\.covers\((.*?)\)", re.DOTALL)


def cited() -> set[str]:
    """The requirement ids that tests cite. That each exists is checked when they are collected."""
    return {
        id
        for path in TESTS.rglob("test_*.py")
        for match in CITING.finditer(path.read_text("utf-8"))
        for id in re.findall(r'"([^"]+)"', match[1])
    }


def test_every_requirement_of_a_finished_area_has_a_test() -> None:
    """An area that is called closed has no id without a test, nor has an id that is called
    done.
    """
    claimed = {
        f"{area}-{number}"
        for area, row in LEDGER.items()
        for number in row["requirements"]
        if row.get("closed") or int(number) in row.get("done", [])
    }

    assert not sorted(claimed - cited())
