"""Notes without a model: what a reader must find in them."""

from __future__ import annotations

from typing import Any

import pytest

from memorist.core.messages import Message, Origin, TextBlock
from memorist.session_memory.structural_notes import NOTE_SECTIONS

pytestmark = pytest.mark.covers("SM-13")


def test_every_section_of_the_template_is_there_and_empty_for_an_empty_session(
    session: Any,
) -> None:
    """A session in which nothing happened has ten empty sections: nothing is made up to fill them."""
    notes = session.notes()

    assert tuple(notes) == NOTE_SECTIONS
    assert set(notes.values()) == {""}


def test_the_users_words_stand_verbatim_and_first_to_last(session: Any) -> None:
    """Request, limits and later corrections are quoted as typed, in their order."""
    session.user("Add a dark mode to the settings page. Do not touch the login page.").says(
        "I added the dark mode toggle to settings."
    )
    session.user("no, the toggle belongs in the header")

    task = session.notes()["Task specification"]

    assert "Add a dark mode to the settings page. Do not touch the login page." in task
    assert task.index("dark mode") < task.index("no, the toggle belongs in the header")


@pytest.mark.parametrize(
    "command", ["/compact keep the names", "/memorist:sessions ferry", "$memorist-forget tabs"]
)
def test_the_words_of_a_command_are_no_demand(session: Any, command: str) -> None:
    """They are for the command alone."""
    session.user("fix the parser").says("Fixed.").user(command)

    task = session.notes()["Task specification"]

    assert "fix the parser" in task
    assert command.partition(" ")[2] not in task


def test_a_command_that_the_client_did_by_itself_is_no_demand(session: Any) -> None:
    """`/model haiku` has no answer; what a command of one's own asks of the agent has one, or was
    interrupted.
    """
    session.user("fix the parser").says("Fixed.").user("/model haiku").user("/fix-issue 123")
    session.says("Done.").user("add a test for the empty row")

    task = session.notes()["Task specification"]

    assert "haiku" not in task
    assert [word in task for word in ("parser", "/fix-issue 123", "empty row")] == [True] * 3


@pytest.mark.parametrize("takes_back", [False, True])
def test_a_command_that_was_answered_is_a_demand_whatever_follows(
    takes_back: bool, session: Any
) -> None:
    """Also in front of a command that the client did, or of words that were taken back."""
    session.user("/fix-issue 123").says("Fixed.").user("wait" if takes_back else "/compact")
    if takes_back:
        removed = Message(id="m", role="user", blocks=(TextBlock("wait"),), origin=Origin.USER)
        session.ledger.on_rollback([removed])
    session.user("add a test for the empty row")

    assert "/fix-issue 123" in session.notes()["Task specification"]


def test_harness_text_is_not_taken_for_the_users_words(session: Any) -> None:
    """What a harness put into the user's message is cut before it is quoted."""
    session.user(
        "fix the parser\n<system-reminder>\nremember the todo list\n</system-reminder>"
    ).harness("hook said hello to everybody")

    text = "\n".join(session.notes().values())

    assert "fix the parser" in text
    assert "todo list" not in text
    assert "hook said" not in text


def test_what_is_typed_beside_a_paste_stands_before_it(session: Any) -> None:
    """Behind a paste that the client marks, a demand would be beyond what is quoted of a message."""
    log = "\n".join(f"10:00:{number:02} the worker {number} is ready" for number in range(60))
    session.user(
        f'It fails:\n\n<pasted_content id="f336">\n\n{log}\n</pasted_content id="f336">\n\n'
        "Mend the worker. Never push to main."
    )

    notes = session.notes()

    assert "Never push to main." in notes["Task specification"].split("10:00:00")[0]
    assert "Mend the worker." in notes["Current State"]
    assert "pasted_content" not in "\n".join(notes.values())


def test_files_read_and_changed_are_listed_relative_to_the_folder(session: Any) -> None:
    """A reader sees which files changed, how often and how, and which were only looked at."""
    session.user("rename the option").calls(
        "Read", {"file_path": "/home/dev/project/src/app.py"}
    ).answers("     1→import os")
    session.edits("/home/dev/project/src/cli.py", 'mode = "fast"', 'mode = "quick"').edits(
        "/home/dev/project/src/cli.py", "a = 1", "a = 2"
    )
    session.calls(
        "Write", {"file_path": "/home/dev/project/docs/new.md", "content": "# New"}
    ).answers("File created successfully")

    files = session.notes()["Files and Functions"]

    assert '- `src/cli.py`: updated ×2; `mode = "fast"` → `mode = "quick"`' in files
    assert "`docs/new.md`: created" in files
    assert "Read only: `src/app.py`" in files
    assert "/home/dev" not in files


def test_a_failed_edit_changes_nothing(session: Any) -> None:
    """A file whose edit was not applied is no changed file; the failure is told."""
    given = {"file_path": "/home/dev/project/a.py", "old_string": "x", "new_string": "y"}
    session.user("edit it").calls("Edit", given).answers(
        "<tool_use_error>String to replace not found in file.</tool_use_error>", error=True
    )

    notes = session.notes()

    assert "updated" not in notes["Files and Functions"]
    assert (
        "`a.py` edit failed: String to replace not found in file." in notes["Errors & Corrections"]
    )


def test_a_failed_command_is_told_with_its_error_and_what_mended_it(session: Any) -> None:
    """Error line, the assistant's reading of it, the file changed, the command that then passed."""
    session.user("run the tests").runs(
        "pytest -q",
        "Exit code 1\nE   ImportError: cannot import name 'load'\n1 failed in 0.2s",
        error=True,
    )
    session.says("The function was renamed to read, so the import is stale.")
    session.edits(
        "/home/dev/project/tests/test_io.py", "from io import load", "from io import read"
    )
    session.runs("pytest -q", "12 passed in 0.31s")

    notes = session.notes()

    assert (
        "`pytest -q` failed (exit 1): E ImportError: cannot import name 'load'"
        in notes["Errors & Corrections"]
    )
    assert "so the import is stale" in notes["Errors & Corrections"]
    assert (
        "mended after changing `test_io.py`: the same command passed"
        in notes["Errors & Corrections"]
    )
    assert "test: `pytest -q` ×2 → passed: 12 passed in 0.31s" in notes["Workflow"]
    assert "Still failing" not in notes["Current State"]


def test_a_check_that_fails_behind_a_pipe_counts_as_failed(session: Any) -> None:
    """`| tail` hides the exit status; the run's own counts tell the truth."""
    session.user("test").runs(
        "bun test 2>&1 | tail -20", " 40 pass\n 2 fail\nRan 42 tests across 3 files."
    )

    assert "Still failing: `bun test`: 2 fail" in session.notes()["Current State"]


def test_log_lines_with_the_word_error_do_not_make_a_passing_run_fail(session: Any) -> None:
    """Tests print errors on purpose; what counts is the summary of the run."""
    session.user("test").runs(
        "bun run test",
        "error: Item 3 failed\nTask 2 failed: retry\n 1319 pass\n 0 fail\nRan 1319 tests.",
    )

    notes = session.notes()

    assert "passed: 1319 pass; 0 fail" in notes["Workflow"]
    assert notes["Errors & Corrections"] == ""


def test_an_unmended_failure_and_an_unanswered_call_are_in_the_current_state(session: Any) -> None:
    """Where it stands: what is broken and what has not come back."""
    session.user("build it").runs(
        "make build", "Exit code 2\nmain.c:3: error: expected ';'", error=True
    )
    session.calls("Bash", {"command": "make clean"})

    state = session.notes()["Current State"]

    assert "Still failing: `make build`: main.c:3: error: expected ';'" in state
    assert "Without an answer yet: `make clean`" in state


def test_words_typed_into_a_refusal_are_the_users_words(session: Any) -> None:
    """A refused call carries the user's reason; it is quoted as a correction."""
    session.user("merge the branch").calls(
        "Edit", {"file_path": "/home/dev/project/hooks.go", "old_string": "a", "new_string": "b"}
    )
    session.answers(
        "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. "
        "if it was a file edit, the new_string was NOT "
        "written to the file). To tell you how to proceed, the user said:\nkeep the backfill "
        "of the agent type",
        error=True,
    )

    notes = session.notes()

    assert (
        "(refusing an edit of hooks.go) keep the backfill of the agent type"
        in notes["Task specification"]
    )
    assert "keep the backfill of the agent type" in notes["Errors & Corrections"]
    assert "updated" not in notes["Files and Functions"]


@pytest.mark.parametrize(
    "notice",
    [
        "[Request interrupted by user]",
        "<turn_aborted>\nThe user stopped the turn; commands may have run in part.\n</turn_aborted>",
    ],
)
def test_a_message_after_an_interruption_is_marked_as_a_correction(
    session: Any, notice: str
) -> None:
    """Who stops the assistant and then speaks, corrects it: by Claude Code's note and by Codex's."""
    session.user("merge main").says("Let me merge origin/main.").harness(notice).user(
        "the parent is feature/base"
    )

    notes = session.notes()

    assert "- merge main (interrupted)" in notes["Task specification"]
    assert "(after interrupting) the parent is feature/base" in notes["Task specification"]
    assert "the parent is feature/base" in notes["Errors & Corrections"]


def test_a_request_that_is_made_again_after_an_interruption_is_not_marked(session: Any) -> None:
    """What was stopped and then asked for again was answered."""
    session.user("merge main").says("Let me look.").harness("[Request interrupted by user]")
    session.user("merge main").says("Merged.")

    assert "interrupted" not in session.notes()["Task specification"]


def test_answers_to_questions_stand_beside_the_questions(session: Any) -> None:
    """A choice the user made in a question tool is part of the task."""
    session.user("set it up").calls(
        "AskUserQuestion", {"questions": [{"question": "Which store should hold it?"}]}
    )
    session.answers(
        'User has answered your questions: "Which store should hold it?"="SQLite". You can now '
        "continue."
    )

    assert "“Which store should hold it?” → SQLite" in session.notes()["Task specification"]


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        (
            "TodoWrite",
            {
                "todos": [
                    {"content": "Write parser", "status": "completed"},
                    {"content": "Write tests", "status": "in_progress"},
                ]
            },
        ),
        (
            "update_plan",
            {
                "plan": [
                    {"step": "Write parser", "status": "completed"},
                    {"step": "Write tests", "status": "in_progress"},
                ]
            },
        ),
    ],
)
def test_the_task_list_is_shown_as_it_last_stood(
    session: Any, tool: str, given: dict[str, Any]
) -> None:
    """Both families' task lists: how many are done, and which one is in hand."""
    session.user("write a parser").calls(tool, given).answers("ok")

    state = session.notes()["Current State"]

    assert "Task list: 1 of 2 done" in state
    assert "Task list, in progress: Write tests" in state


def test_tasks_made_and_updated_one_by_one_are_counted(session: Any) -> None:
    """TaskCreate and TaskUpdate build the same list."""
    session.user("go").calls("TaskCreate", {"subject": "Design screens"}).answers("Task #1 created")
    session.calls("TaskUpdate", {"taskId": "1", "status": "completed"}).answers("Updated task #1")

    assert "Task list: 1 of 1 done" in session.notes()["Current State"]


def test_the_last_words_of_a_turn_are_key_results(session: Any) -> None:
    """Conclusions the assistant gave the user are kept turn by turn."""
    session.user("why is it slow?").runs("py-spy top", "…").says(
        "The cache is keyed by thread, so every worker misses it.\n\n- Key it by tenant."
    )
    session.user("do that").says("Now the cache is keyed by tenant and the p99 fell to 40 ms.")

    notes = session.notes()

    assert "The cache is keyed by thread, so every worker misses it." in notes["Key results"]
    assert (
        "Last words of the assistant: Now the cache is keyed by tenant and the p99 fell to 40 ms."
        in notes["Current State"]
    )


def test_the_work_log_has_one_line_a_step(session: Any) -> None:
    """What was announced, then what was done and how it ended, in order."""
    session.user("fix lint").says("Let me run the linter.").runs(
        "ruff check .", "Found 1 error.\na.py:1:1: F401 unused import"
    )
    session.says("Now remove the unused import.").edits("/home/dev/project/a.py", "import os\n", "")
    session.runs("ruff check .", "All checks passed!")

    log = session.notes()["Worklog"].splitlines()

    assert log[0].startswith("- Run the linter → `ruff check .` failed")
    assert (
        log[1]
        == "- Remove the unused import → changed a.py; `ruff check .` passed: All checks passed!"
    )


def test_a_commit_is_told_with_its_subject_and_body(session: Any) -> None:
    """The message of a commit is what the assistant made of its work."""
    command = (
        "git commit -m \"$(cat <<'EOF'\nKeep sessions apart\n\nTwo sessions shared one "
        'cache because the key lacked the tenant.\nEOF\n)"'
    )
    session.user("commit").runs(
        command, "[main 1a2b3c4] Keep sessions apart\n 1 file changed, 2 insertions(+)"
    )

    notes = session.notes()

    assert (
        'commit: `git commit -m "Keep sessions apart"` → success: [main 1a2b3c4] Keep sessions '
        "apart" in notes["Workflow"]
    )
    assert (
        "Two sessions shared one cache because the key lacked the tenant." in notes["Key results"]
    )


def test_other_peoples_changes_in_the_working_tree_are_told_apart(session: Any) -> None:
    """Files that git lists but the session did not change are named as such."""
    session.user("commit").edits("/home/dev/project/a.py", "x = 1", "x = 2").runs(
        "git status --short", " M a.py\n M vendor/other.py"
    )

    files = session.notes()["Files and Functions"]

    assert (
        "In the working tree by `git status`, though no call here edited them: `vendor/other.py`"
        in files
    )


def test_a_compaction_of_the_recorded_agent_is_marked(session: Any) -> None:
    """The work log says where the agent lost its context."""
    session.user("port the module to the new interface").says(
        "Ported the reader to the new interface."
    )
    session.ledger.on_compaction()
    session.user("continue").says("Ported the writer as well.")

    assert "context compacted" in session.notes()["Worklog"]


def test_the_title_is_the_first_request_or_what_the_file_says(session: Any) -> None:
    """A stranger can pick the session out; shell lines and slash commands make poor titles."""
    session.user("!git pull").user("Speed up the import of large spreadsheets. It takes minutes.")

    assert session.notes()["Session Title"] == "Speed up the import of large spreadsheets."
    session.ledger.title = "Spreadsheet import"
    assert session.notes()["Session Title"] == "Spreadsheet import"


def test_markdown_is_turned_into_plain_sentences(session: Any) -> None:
    """No fences, rules or lone stars reach the notes."""
    session.user("compare them").says(
        "## Result\n\n| store | speed |\n|---|---|\n| SQLite journal mode | 40 MB/s "
        "|\n\n```python\nx = 1\n```\n\n"
        "**Use SQLite**, it needs no server.\n\n---"
    )

    text = "\n".join(session.notes().values())

    assert "Use SQLite, it needs no server." in text
    assert not any(sign in text for sign in ("```", "**", "\n---", "x = 1"))


def test_a_ledger_that_is_read_late_says_the_same(told: Any) -> None:
    """Messages wait to be looked into until somebody reads; what is found in them does not depend
    on when that is.
    """
    late, at_once = told(), told()
    for session in (late, at_once):
        for number in range(90):
            session.user(f"Please fix the importer, part {number}.").says(
                "I will read the loop in src/importer.py first."
            )
            session.runs(f"pytest tests/test_{number}.py", "1 failed", error=True).edits(
                f"/home/dev/project/src/part_{number}.py", "a", "b"
            )
            if number == 50:
                session.ledger.on_compaction()
            if session is at_once:
                assert session.ledger.turns.count == number + 1

    assert late.ledger.messages == at_once.ledger.messages
    assert late.notes() == at_once.notes()


def test_a_check_that_still_runs_has_not_failed(session: Any) -> None:
    """Tests that were started in the background have no outcome yet when the turn ends."""
    session.user("Run the whole test suite in the background, it is slow.")
    session.calls("Bash", {"command": "npm test", "run_in_background": True})
    session.answers("Command running in background with ID: b1").says("The tests are running.")
    session.user("Now the types, in the background as well.")
    session.calls("Bash", {"command": "npm run typecheck", "run_in_background": True})
    session.answers("Command running in background with ID: b2").says("They are being checked.")
    session.user("Meanwhile write the changelog entry for the release.")

    log = session.notes()["Worklog"]

    assert "running" in log
    assert "failed" not in log
