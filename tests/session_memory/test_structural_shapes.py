"""The tools of both families, and what is hostile about recorded sessions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memorist.core.apply_patch import find_patch_edits
from memorist.core.messages import ToolUse
from memorist.core.text_analysis import estimate_o200k_tokens
from memorist.transcript_analysis.call_outcome import render_user_answers
from memorist.transcript_analysis.command_lines import (
    classify_command_purpose,
    find_commit_or_pr_message,
    find_printed_files,
    strip_command_noise,
)
from memorist.transcript_analysis.tool_actions import (
    ChangeAction,
    CommandAction,
    OtherToolAction,
    ReadAction,
    parse_tool_action,
)

pytestmark = pytest.mark.covers("SM-13")

PATCH = (
    "*** Begin Patch\n*** Update File: src/a.py\n@@\n-old = 1\n+new = 2\n*** Add File: "
    "b.md\n+Hello there\n*** Delete File: c.txt\n*** End Patch"
)


def call(name: str, given: Any = None, arguments: str | None = None) -> Any:
    """The action of a call."""
    return parse_tool_action(ToolUse("id", name, given or {}, arguments))


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("Bash", {"command": "go test ./..."}),
        ("exec_command", {"cmd": "go test ./..."}),
        ("shell", {"command": ["bash", "-lc", "go test ./..."]}),
        ("shell_command", {"command": "go test ./..."}),
        (
            "local_shell_call",
            {"action": {"type": "exec", "command": ["/bin/zsh", "-lc", "go test ./..."]}},
        ),
    ],
)
def test_every_shell_tool_runs_the_same_command(name: str, given: dict[str, Any]) -> None:
    """Whatever the family calls its shell, the command line is found and known to be a test."""
    action = call(name, given)

    assert isinstance(action, CommandAction)
    assert (action.short_command, action.kind) == ("go test ./...", "test")


@pytest.mark.parametrize(
    ("name", "given", "arguments"),
    [
        ("apply_patch", {}, PATCH),
        ("apply_patch", {"input": PATCH}, None),
        ("exec_command", {"cmd": f"apply_patch <<'EOF'\n{PATCH}\nEOF"}, None),
    ],
)
def test_a_patch_is_read_wherever_it_stands(
    name: str, given: dict[str, Any], arguments: str | None
) -> None:
    """As a custom tool's text, as an argument, inside a shell command: the same three changes."""
    action = call(name, given, arguments)

    assert [(change.path, change.kind) for change in action.changes] == [
        ("src/a.py", "edit"),
        ("b.md", "add"),
        ("c.txt", "delete"),
    ]
    assert (action.changes[0].old, action.changes[0].new) == ("old = 1", "new = 2")


def test_an_unknown_tool_gives_its_paths() -> None:
    """A tool nobody told us of is still known by the files it names."""
    action = call(
        "mcp__editor__open", {"filePath": "src/view.ts", "zoom": 2, "note": "show the header"}
    )

    assert action == OtherToolAction("mcp__editor__open", "show the header", ("src/view.ts",))


@pytest.mark.parametrize(
    "name",
    [
        "Bash",
        "Read",
        "Edit",
        "MultiEdit",
        "Write",
        "Grep",
        "TodoWrite",
        "TaskUpdate",
        "AskUserQuestion",
        "Task",
        "apply_patch",
        "x",
    ],
)
@pytest.mark.parametrize(
    "value", [None, 7, [], {}, [None, 3, {"question": 1}], {"a": {"b": []}}, True]
)
def test_wrong_types_in_a_tools_input_are_passed_over(told: Any, name: str, value: Any) -> None:
    """Recorded inputs may hold anything; notes are made all the same."""
    given = dict.fromkeys(
        (
            "command",
            "file_path",
            "path",
            "edits",
            "todos",
            "questions",
            "pattern",
            "taskId",
            "description",
            "input",
        ),
        value,
    )

    session = told().user("do it").calls(name, given).answers("done")

    assert "do it" in session.notes()["Task specification"]


@pytest.mark.parametrize(
    ("output", "code", "ok"),
    [
        (
            "Chunk ID: 1a\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nok all "
            "good",
            None,
            True,
        ),
        (
            "Chunk ID: 1a\nWall time: 0.1 seconds\nProcess exited with code "
            "101\nOutput:\nerror: could not compile",
            101,
            False,
        ),
        ("Exit code: 1\nWall time: 2 seconds\nOutput:\nerror: could not compile", 1, False),
        (
            json.dumps(
                {
                    "output": "error: could not compile\n",
                    "metadata": {"exit_code": 1, "duration_seconds": 0.1},
                }
            ),
            1,
            False,
        ),
    ],
)
def test_codex_exit_status_is_read_from_the_head_of_the_output(
    session: Any, output: str, code: int | None, ok: bool
) -> None:
    """Codex has no error flag: the header or the metadata tells how a command ended."""
    session.user("build").calls("exec_command", {"cmd": "cargo build"}).answers(output)

    errors = session.notes()["Errors & Corrections"]

    assert (errors == "") is ok
    assert ok or f"`cargo build` failed (exit {code}): " in errors
    assert ok or "error: could not compile" in errors


@pytest.mark.parametrize(
    ("command", "output", "passes"),
    [
        ("bundle exec rspec | tail -3", "12 examples, 1 failure", False),
        ("mix test | tail -3", "12 tests, 0 failures", True),
        ("bin/rails test | tail", "5 runs, 9 assertions, 0 failures, 1 errors, 0 skips", False),
        ("vendor/bin/phpunit | tail", "FAILURES!\nTests: 5, Assertions: 9, Failures: 1.", False),
        ("mvn test | tail", "[ERROR] Tests run: 5, Failures: 0, Errors: 2, Skipped: 0", False),
        ("mvn test | tail", "[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 0", True),
        ("gradle build | tail -20", "BUILD FAILED in 3s", False),
        ("gradle build | tail -20", "BUILD SUCCESSFUL in 3s", True),
        ("swift test | tail", "Executed 5 tests, with 1 failure (0 unexpected) in 0.1 s", False),
        ("dotnet test | tail", "Failed!  - Failed:     1, Passed:    10, Skipped:     0", False),
        ("dotnet test | tail", "Passed!  - Failed:     0, Passed:    10, Skipped:     0", True),
        ("deno test | tail", "FAILED | 4 passed | 1 failed (10ms)", False),
        ("ctest | tail", "98% tests passed, 1 tests failed out of 50", False),
        ("cargo nextest run | tail", "  Summary [ 0.1s] 5 tests run: 4 passed, 1 failed", False),
        ("make test | tail -3", "make: *** [Makefile:3: test] Error 1", False),
        ("npm run build | tail", "npm error code ELIFECYCLE", False),
        ("pytest -q | tail -3", "1 error in 0.3s", False),
        ("npm run lint", "✖ 3 problems (0 errors, 3 warnings)", True),
        ("npm run lint | tail", "✖ 3 problems (1 error, 2 warnings)", False),
        ("ruff check . --fix", "Found 3 errors (3 fixed, 0 remaining).", True),
    ],
)
def test_the_counts_of_a_check_tell_its_outcome_where_its_status_is_lost(
    session: Any, command: str, output: str, passes: bool
) -> None:
    """A pipe ends well whatever came before it; a warning or what was put right is no failure."""
    session.user("check").calls("exec_command", {"cmd": command}).answers(output)

    assert (session.notes()["Errors & Corrections"] == "") is passes


def test_a_command_that_still_runs_is_neither_passed_nor_failed(session: Any) -> None:
    """A background start has no outcome yet."""
    session.user("serve").calls("exec_command", {"cmd": "npm start"}).answers(
        "Chunk ID: 1\nProcess running with session ID 7\nOutput:\n"
    )

    notes = session.notes()

    assert "`npm start` running" in notes["Worklog"]
    assert notes["Errors & Corrections"] == ""


def test_no_match_of_a_search_is_not_an_error(session: Any) -> None:
    """`grep` and `diff` answer with status 1."""
    session.user("look").calls("exec_command", {"cmd": "rg todo src"}).answers(
        "Chunk ID: 1\nProcess exited with code 1\nOutput:\n"
    )

    assert session.notes()["Errors & Corrections"] == ""


def test_answers_to_unknown_calls_and_missing_answers_are_passed_over(session: Any) -> None:
    """A cut transcript begins with answers and ends with calls."""
    session.answers("orphan output with error: nothing")
    for number in range(200):
        session.calls("Read", {"file_path": f"/home/dev/project/f{number}.py"})

    notes = session.notes()

    assert "orphan" not in "\n".join(notes.values())
    assert len(session.ledger.work_record.calls) <= 64


def test_a_huge_output_costs_no_more_than_its_ends(session: Any) -> None:
    """Only head and tail of an output are looked at: the error at its end is found, the middle is
    not scanned.
    """
    session.user("build").runs(
        "make all",
        "Exit code 2\n" + "noise error: middle\n" * 2_000_000 + "make: *** [all] Error 2",
        error=True,
    )

    assert "`make all` failed (exit 2)" in session.notes()["Errors & Corrections"]


@pytest.mark.parametrize(
    ("command", "short", "kind"),
    [
        ("cd /x/y && npm run test:unit 2>&1 | tail -20", "npm run test:unit", "test"),
        ("CI=1 go vet ./...", "go vet ./...", "typecheck"),
        ("git status --short | head -5", "git status --short", "look"),
        ("test -f .env && cat .env", "test -f .env && cat .env", "run"),
        ("git worktree list", "git worktree list", "look"),
        ("git push origin main", "git push origin main", "push"),
        ("set -e\nnpm ci", "npm ci", "install"),
        ("bunx biome check --apply", "bunx biome check --apply", "lint"),
        ("", "", "run"),
    ],
)
def test_commands_are_shown_short_and_sorted_by_purpose(
    command: str, short: str, kind: str
) -> None:
    """Folders, variables and pipes to `tail` are noise; what the command is for is told by its
    words.
    """
    assert (
        strip_command_noise(command),
        classify_command_purpose(strip_command_noise(command)),
    ) == (short, kind)


def test_printing_commands_count_as_reading_files() -> None:
    """Codex reads files with the shell."""
    assert find_printed_files("sed -n '1,80p' src/a.ts && nl -ba README.md | head") == (
        "src/a.ts",
        "README.md",
    )
    assert find_printed_files("sed -i 's/a/b/' src/a.ts") == ()
    assert isinstance(call("Read", {"file_path": "a"}), ReadAction)


@pytest.mark.parametrize(
    "command", ["git commit -m 'unbalanced", 'git commit -m "one" -m "two"', "git commit --amend"]
)
def test_commit_messages_are_found_or_left(command: str) -> None:
    """An unbalanced quote is no error."""
    assert find_commit_or_pr_message(command) in ("", "one\n\ntwo")


def test_what_is_no_patch_has_no_changes() -> None:
    """Free text in a patch's place changes nothing."""
    assert find_patch_edits("hello\n+++ b\n") == ()
    assert isinstance(call("apply_patch", {}, "nothing"), ChangeAction)
    assert render_user_answers('no "pairs" here') == ""


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "piece",
    [
        "*a ",
        "[",
        "](",
        "**",
        "`",
        "<<E\n",
        "a.",
        "a/",
        "-",
        " ",
        "\n",
        "=",
        "<a ",
        "((",
        '"a"="',
        "é",
        "\x00",
        "ok, ",
        "0 fail ",
    ],
)
def test_hostile_texts_take_no_longer_than_others(told: Any, piece: str) -> None:
    """No pattern of ours runs away on a text made to be slow to search."""
    text = piece * (60_000 // len(piece))

    session = (
        told()
        .user(text)
        .says(text)
        .thinks(text)
        .runs(text, text, error=True)
        .edits(f"/home/dev/project/{text[:3_000]}", text, text[1:])
    )
    session.calls("Grep", {"pattern": text, "path": text}).answers(text).calls(
        "apply_patch", arguments=text
    ).answers(text)

    assert 0 < sum(estimate_o200k_tokens(body) for body in session.notes().values()) <= 3_000
