"""An order for later behind a task, in the same sentence or after it."""

from __future__ import annotations

import pytest

from memorist.auto_memory.statements.statement_parser import find_statements
from memorist.core.messages import Message, Origin, TextBlock

pytestmark = pytest.mark.covers("WD-1")

LASTING = {
    "fix it pls, and from now on always run ruff before you commit": (
        "always run ruff before you commit"
    ),
    "fix the typo and from now on, run the tests before saying done": (
        "run the tests before saying done"
    ),
    "Add a --json flag; in future always update the changelog as well": (
        "always update the changelog as well"
    ),
    "mach das, und ab jetzt immer erst die Tests laufen lassen": (
        "immer erst die Tests laufen lassen"
    ),
    "behebe den Fehler und nutze künftig immer pnpm statt npm": "nutze künftig immer pnpm statt npm",
    "corrige le bug et désormais utilise toujours pnpm": "utilise toujours pnpm",
    "arregla el bug y a partir de ahora usa siempre pnpm": "usa siempre pnpm",
    "corrija o bug e a partir de agora use sempre pnpm": "a partir de agora use sempre pnpm",
    "исправь баг и впредь всегда используй pnpm": "всегда используй pnpm",
    "修一下这个bug，以后都用pnpm，不要用npm": "都用pnpm，不要用npm",
    "Fix the importer. In this repo always use pnpm, never npm.": (
        "In this repo always use pnpm, never npm."
    ),
}
TASKS = """
    Write a script that from now on always logs its errors
    Change the code so that from now on it always retries
    implement the migration and from now on the table has three columns
    corrige le bug, et désormais il retourne toujours du JSON
    does it work, and from now on will it always retry?
    Write a poem about autumn, and never use the letter e
    Write a function that sorts the list, and never use recursion
    Write the parser. Always close the file.
"""


def _kept(text: str) -> list[str]:
    message = Message(
        id="1", role="user", origin=Origin.USER, is_typed=True, blocks=(TextBlock(text),)
    )
    return [each.text for each in find_statements(message)]


@pytest.mark.parametrize("typed", LASTING)
def test_an_order_for_later_behind_a_task_is_kept_without_the_task(typed: str) -> None:
    """What says that it lasts is a rule, in eight languages; the task before it is no part of it."""
    assert _kept(typed) == [LASTING[typed]]


@pytest.mark.parametrize(
    "typed",
    [
        "Never push directly to main; open a pull request.",
        "always open a merge request, never commit to trunk",
    ],
)
def test_a_pull_request_is_no_request_of_a_program(typed: str) -> None:
    """How work is handed in is a rule, whatever a program's requests are."""
    assert _kept(typed) == [typed]


def test_an_order_that_points_back_keeps_what_it_points_to() -> None:
    """`it` alone would say nothing later, so that the whole sentence is kept."""
    typed = "update the README - and going forward please keep it under 100 lines"

    assert _kept(typed) == [typed]


@pytest.mark.parametrize("typed", [each.strip() for each in TASKS.strip().splitlines()])
def test_what_a_program_does_from_now_on_is_no_rule(typed: str) -> None:
    """A behaviour that is ordered of the code, and how one text is to be written, end with it."""
    assert _kept(typed) == []
