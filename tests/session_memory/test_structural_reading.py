"""What a person stumbles over when reading notes: broken tables, missing corrections, wrong kinds,
claims without proof, empty lines.
"""

from __future__ import annotations

from typing import Any

import pytest

from memorist.transcript_analysis.command_lines import classify_command_purpose

pytestmark = pytest.mark.covers("SM-13")

HOME = "/home/dev/project"
TABLE = (
    "| What | Before | Now |\n|---|---|---|\n| Amounts | floats | `Decimal` |\n| Tests | "
    "27, one failing | 30, all passing |"
)


def test_a_table_in_the_last_words_is_kept_whole(session: Any) -> None:
    """Header, rule and rows, in their order."""
    session.user("give me a table").says(
        f"Here is what changed in the module:\n\n{TABLE}\n\nStill open: the script is not "
        f"committed yet."
    )

    notes = session.notes()
    rows = [line.removeprefix("- ").strip() for line in notes["Key results"].splitlines()]

    at = rows.index("| What | Before | Now |")
    assert rows[at : at + 4] == TABLE.splitlines()
    assert "Amounts" not in notes["Current State"]


def test_last_words_that_begin_with_a_table_are_told_by_the_sentence_after_it(session: Any) -> None:
    """Rows are never run together into one line."""
    session.user("give me a table").says(
        f"{TABLE}\n\nStill open: `scripts/recount.py` is written and not committed, say if you "
        f"want to keep it."
    )

    notes = session.notes()

    assert (
        "Last words of the assistant: Still open: `scripts/recount.py` is written"
        in notes["Current State"]
    )
    assert "|\n  |---|---|---|\n" in notes["Key results"]


def test_a_table_beyond_its_size_ends_in_a_row_of_dots(session: Any) -> None:
    """No table crowds out the notes."""
    rows = "\n".join(
        f"| row number {number} | value of the row {number} |" for number in range(400)
    )
    session.user("list them all").says(f"| Row | Value |\n|:--|--:|\n{rows}\n")

    results = session.notes()["Key results"]

    assert "| Row | Value |" in results
    assert "| row number 3 | value of the row 3 |" in results
    assert "| … |" in results
    assert "row number 399" not in results


def test_a_drawn_table_in_a_fence_is_no_table(session: Any) -> None:
    """Fenced text is code."""
    session.user("show it").says(
        f"The parser reads this form of a table and no other:\n\n```\n{TABLE}\n```\n\nIt fails "
        f"on all the others."
    )

    assert "|---|" not in session.notes()["Key results"]


@pytest.mark.parametrize(
    "words",
    [
        "No, don't sort by modification time: the backup job touches old files. Sort by the "
        "number.",
        "No floats anywhere in that module please, also not in parsing.",
        "that's not what I asked for, keep the old name",
        "Please don't touch the lock file.",
        "I said the header, not the footer",
    ],
)
def test_a_correction_by_the_user_stands_verbatim_among_the_corrections(
    session: Any, words: str
) -> None:
    """What the user puts right is found where errors are."""
    session.user("Fix the order of the rotated files.").says(
        "I sorted them by the time of their last change."
    ).user(words)

    assert f"The user: “{words}”" in session.notes()["Errors & Corrections"]


@pytest.mark.parametrize(
    "words",
    [
        "Good. Put it in CHANGES.md and commit.",
        "Not sure if it is obvious, but this is fine",
        "commit and push",
    ],
)
def test_other_messages_are_no_corrections(session: Any, words: str) -> None:
    """Praise and the next task are not; nor is the first request, however it begins."""
    session.user("Do not sort the files by time.").says(
        "The files are sorted by their number now."
    ).user(words)

    assert session.notes()["Errors & Corrections"] == ""


def test_a_refused_command_is_told_with_what_the_assistant_made_of_it(session: Any) -> None:
    """Whoever refuses in other words than the two families' harnesses is heard as well."""
    session.user("rotate the logs").runs(
        "rm -r copy", "The user refused to run this command: rm -r copy", error=True
    )
    session.says("The refusal is right, because there is no copy to clear away yet.")

    notes = session.notes()

    assert (
        "The user refused `rm -r copy` — The refusal is right, because there is no copy"
        in notes["Errors & Corrections"]
    )
    assert "Still failing" not in notes["Current State"]


def test_a_failed_run_names_the_test_and_its_exception(session: Any) -> None:
    """A count of failures alone tells nothing."""
    output = (
        "..E\n======\nERROR: test_total (tests.test_money.Money.test_total)\n------\nTraceback "
        "(most recent call last):\n"
        '  File "m.py", line 3, in total\nTypeError: unsupported operand type(s) for *: '
        "'float' and 'Decimal'\n\n------\nRan 3 tests in 0.1s\n\n"
        "FAILED (errors=1)"
    )
    session.user("test").runs("python -m unittest -v", output, error=True).edits(
        f"{HOME}/m.py", "a = 1.0", "a = Decimal(1)"
    )
    session.runs("python -m unittest -v", "Ran 3 tests in 0.1s\n\nOK")

    errors = session.notes()["Errors & Corrections"]

    assert (
        "ERROR: test_total; TypeError: unsupported operand type(s) for *: 'float' and "
        "'Decimal'; FAILED (errors=1)" in errors
    )
    assert "→ mended after changing `m.py`: the same command passed" in errors


def test_an_error_on_the_way_is_told_with_the_file_changed_after_it(session: Any) -> None:
    """A traceback of a command that never ran again is still decisive; so are the lines of its end,
    not of its start.
    """
    trace = (
        'Traceback (most recent call last):\n  File "rotate.py", line 9, in '
        "main\nValueError: invalid literal for int() with base 10: 'bak'"
    )
    session.user("go").runs("cp -p logs/* copy/ && python rotate.py copy.toml", trace, error=True)
    session.edits(f"{HOME}/rotate.py", "int(ending)", "int(ending) if ending.isdecimal() else 0")

    errors = session.notes()["Errors & Corrections"]

    assert (
        "ValueError: invalid literal for int() with base 10: 'bak' → then changed `rotate.py`"
        in errors
    )


def test_the_licence_at_the_head_of_a_file_is_no_documentation(session: Any) -> None:
    """It stood in the notes of a session that had only read one file."""
    read = (
        "     1\t// Copyright (C) 2024 The Ferry Authors, All rights reserved.\n"
        "     2\t// This file is part of ferry.\n"
        "     3\t// Use of this source code is governed by a MIT-style license, see LICENSE.\n"
        "     4\t// Totals are rounded once, after all items of a ticket are added up.\n"
        "     5\tpackage ferry\n"
    )
    session.user("how are totals rounded?")
    session.calls("Read", {"file_path": f"{HOME}/total.go"}).answers(read)

    text = session.notes()["Codebase and System Documentation"]

    assert "Totals are rounded once" in text
    assert "governed by" not in text
    assert "opyright" not in text
    assert "is part of" not in text


def test_an_announcement_after_a_failure_does_not_pass_for_its_explanation(session: Any) -> None:
    """Only a statement explains."""
    session.user("go").runs(
        "make build", "Exit code 2\nmain.c:3: error: expected ';'", error=True
    ).says("Let me look at the file around line 3.")
    session.says("The order of the headers matters here because the macro is defined late.")

    assert "—" not in session.notes()["Errors & Corrections"]


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("ls -1 . logs tests; git log --oneline; wc -l rotate.py tests/*.py", "look"),
        ("git worktree add -q ../before HEAD~1 && cp -r scripts ../before/", "branch"),
        ("git checkout invoices/invoice.py && git status --short", "branch"),
        ("git stash && bun test && git stash pop", "test"),
        ("git merge origin/main", "merge"),
        ("git add tests", "run"),
        ("rm -r tests build", "run"),
        ("mkdir -p tests && python -m pytest", "test"),
        ("if make test; then echo good; fi", "test"),
        ("sed -n '1,20p' test/a.test.ts && sed -n '3,9p' b.ts", "look"),
        (
            "python -m unittest discover -s tests && git add tests && git commit -m 'Keep; and "
            "test'",
            "commit",
        ),
    ],
)
def test_a_command_is_known_by_what_runs_not_by_the_files_it_names(command: str, kind: str) -> None:
    """Each joined command counts for itself, the weightiest wins."""
    assert classify_command_purpose(command) == kind


def test_declarations_of_several_printed_files_are_not_put_into_the_first(session: Any) -> None:
    """After `cat a b` nobody knows where a line stands."""
    session.user("how does round_cents work?").runs(
        "cat pkg/__init__.py pkg/money.py",
        "import os\n\ndef round_cents(amount):\n    return amount\n",
    )

    assert "def round_cents(amount)" in session.notes()["Codebase and System Documentation"]
    assert "pkg/__init__.py)" not in session.notes()["Codebase and System Documentation"]


def test_only_declarations_that_were_spoken_of_are_quoted(session: Any) -> None:
    """`setUp` says nothing; what a request or a statement names does."""
    session.user("why does `read_rows` lose the last row?").calls(
        "Read", {"file_path": f"{HOME}/a.py"}
    )
    session.answers(
        "class Rows:\n    def setUp(self):\n        pass\n\n    def read_rows(self):\n        "
        "pass\n"
    )

    docs = session.notes()["Codebase and System Documentation"]

    assert "def read_rows(self)" in docs
    assert "setUp" not in docs


def test_a_folder_with_a_file_made_here_is_not_called_unchanged(session: Any) -> None:
    """`git status` names an untracked folder; the session made a file in it. What a command wrote
    is left out as well.
    """
    session.user("count").calls(
        "Write", {"file_path": f"{HOME}/scripts/recount.py", "content": "x = 1"}
    ).answers("File created successfully")
    session.runs("sed 's/logs/copy/' logkeep.toml > copy.toml && python rotate.py", "ok").runs(
        "git status --short", "?? scripts/\n?? copy.toml\n M other.py"
    )

    files = session.notes()["Files and Functions"]

    assert "though no call here edited them: `other.py`" in files


@pytest.mark.parametrize(
    "words",
    [
        "I take one amount apart instead because it is simple.",
        "First two tests that must fail without the fix.",
        "Now the fix: the function must round half a cent up.",
        "To be sure that it works, the same must pass with the old code.",
        "Is each file one whole day, or does it fail to stop?",
    ],
)
def test_announcements_and_questions_are_no_learnings(session: Any, words: str) -> None:
    """Only statements are learned."""
    session.user("find it").says(words).runs("ls", "a").says(
        "The cause is that the loop stops before it reaches the first file."
    ).runs("ls", "a")
    session.says("Let me list the rest.").runs("ls rest", "a")

    notes = session.notes()

    assert "The cause is that the loop stops" in notes["Learnings"]
    assert words not in notes["Learnings"] + notes["Codebase and System Documentation"]


def test_what_a_client_puts_around_its_summaries_is_no_note(session: Any) -> None:
    """What the summary says of the project stays."""
    session.summary(
        "This session is being continued from a previous conversation that ran out of context. "
        "The summary below covers the earlier portion of the conversation.\n\nSummary:\n"
        "The importer in `src/orders.py` reads `orders.csv` row by row, since the file is large.\n\n"
        "Recent messages are preserved verbatim."
    )
    session.user("Now rename the desk in src/desk.py.").says("The desk is renamed.")

    notes = session.notes()["Codebase and System Documentation"]

    assert "`src/orders.py` reads" in notes
    assert not [each for each in ("continued from", "below covers", "verbatim") if each in notes]


def test_a_version_number_is_no_name(session: Any) -> None:
    """`1.4.1` does not make `.4.1`."""
    session.user("note it").edits(
        f"{HOME}/CHANGELOG.md", "", "## 1.4.1\n- `Line` holds `Decimal` values instead of floats."
    )

    files = session.notes()["Files and Functions"]

    assert ".4.1" not in files
    assert "now says: `Line` holds `Decimal` values instead of floats" in files


@pytest.mark.parametrize(
    ("request_", "title"),
    [
        (
            "Since we updated rotate.py the nightly rotation loses logs: this morning the log "
            "of the 19th was gone, the newest one.",
            "Since we updated rotate.py the nightly rotation loses logs",
        ),
        (
            "tests failing on main - why? "
            "https://example.com/actions/runs/21662191208/job/62449194626",
            "tests failing on main - why?",
        ),
    ],
)
def test_a_long_first_request_gives_its_first_clause_as_title(
    session: Any, request_: str, title: str
) -> None:
    """No title is cut in the middle of a thought, or filled with an address."""
    session.user(request_)

    assert session.notes()["Session Title"] == title


def test_a_long_request_without_a_clause_is_titled_by_the_commit(session: Any) -> None:
    """The subject of a commit is what the work came to."""
    session.user(
        " ".join(["please make the very long list of all the many things that we want"] * 3)
    )
    session.runs(
        "git commit -m 'Keep sessions apart'",
        "[main 1a2b3c4] Keep sessions apart\n 1 file changed, 2 insertions(+)",
    )

    assert session.notes()["Session Title"] == "Keep sessions apart"
