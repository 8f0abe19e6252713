"""The tables of statement patterns: how their rows are read."""

from __future__ import annotations

import pytest

from memorist.auto_memory.statements.statement_patterns import (
    StatementPattern,
    parse_statement_patterns,
)


def test_a_row_is_read_with_its_lines_below_and_what_goes_on() -> None:
    """What a pattern is, its expression over several lines, its exception and the sentence before
    it; a comment is no row, and nothing stands where two lines meet, nor do spaces at the end of one.
    """
    found = parse_statement_patterns(rf"""
    # What is said of habits.
    rule: (?P<text>always .+)
    correction beyond tasks: (?P<text>stop{"  "}
        |quit .+)
      unless: .*\b(?:now
        |today)\b
      after: (?:yes|no)
    correction as question: (?P<text>why do you .+)
    """)

    assert found == (
        StatementPattern("rule", "(?P<text>always .+)"),
        StatementPattern(
            "correction",
            "(?P<text>stop|quit .+)",
            rejects_task_words=True,
            exception_pattern=r".*\b(?:now|today)\b",
            preceding_pattern="(?:yes|no)",
        ),
        StatementPattern("correction", "(?P<text>why do you .+)", may_ask=True),
    )


@pytest.mark.parametrize(
    "row",
    ["    rules: a", "    rule a", "      until: a", "     rule: a", "rule: a"],
    ids=["kind", "no kind", "field", "fifth column", "first column"],
)
def test_a_row_that_is_written_wrong_is_refused(row: str) -> None:
    """A row of an unknown kind, or in another column, is an error when the table is loaded: none is
    passed over in silence.
    """
    with pytest.raises((KeyError, ValueError)):
        parse_statement_patterns(f"\n    rule: b\n{row}\n    ")
