"""The ledger of requirements holds in both directions."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

from conftest import KNOWN, LEDGER

TESTS = Path(__file__).parent


def cited() -> dict[str, list[str]]:
    """Requirement ids and the test files that cite them."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "covers"
            ):
                for argument in node.args:
                    assert isinstance(argument, ast.Constant)
                    found[str(argument.value)].append(path.name)
    return found


def test_every_cited_requirement_exists() -> None:
    """A typing error in an id cannot pass for coverage."""
    unknown = set(cited()) - KNOWN

    assert not unknown


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

    assert not sorted(claimed - set(cited()))
