"""Edits are known by the shape of a call, whatever the tool is called; what was taken back does not
stand.
"""

from __future__ import annotations

from typing import Any

import pytest

from memorist.core.messages import ToolUse
from memorist.transcript_analysis.command_lines import find_restored_files
from memorist.transcript_analysis.tool_actions import (
    ChangeAction,
    OtherToolAction,
    ReadAction,
    parse_tool_action,
)

pytestmark = pytest.mark.covers("SM-13")

HOME = "/home/dev/project"


def call(name: str, given: dict[str, Any]) -> Any:
    """The action of a call."""
    return parse_tool_action(ToolUse("id", name, given))


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("edit_file", {"path": "a.py", "old": "x = 1", "new": "x = 2"}),
        ("replace", {"path": "a.py", "old": "x = 1", "new": "x = 2"}),
        (
            "replace",
            {
                "file_path": "a.py",
                "old_string": "x = 1",
                "new_string": "x = 2",
                "instruction": "raise it",
            },
        ),
        (
            "str_replace_based_edit_tool",
            {"command": "str_replace", "path": "a.py", "old_str": "x = 1", "new_str": "x = 2"},
        ),
        (
            "mcp__files__edit_file",
            {"path": "a.py", "edits": [{"oldText": "x = 1", "newText": "x = 2"}]},
        ),
        (
            "replace_in_file",
            {"path": "a.py", "diff": "<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE"},
        ),
        ("apply_diff", {"path": "a.py", "diff": "--- a.py\n+++ a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2"}),
        ("frobnicate", {"filename": "a.py", "search": "x = 1", "replacement": "x = 2"}),
    ],
)
def test_a_path_beside_an_old_and_a_new_text_is_an_edit(name: str, given: dict[str, Any]) -> None:
    """Tools by any name: the file, what went and what came are the same."""
    action = call(name, given)

    assert isinstance(action, ChangeAction)
    assert [(change.path, change.old, change.new, change.kind) for change in action.changes] == [
        ("a.py", "x = 1", "x = 2", "edit")
    ]


@pytest.mark.parametrize("name", ["write_file", "create_file", "save", "mcp__files__write_file"])
@pytest.mark.parametrize("key", ["content", "text", "file_text", "contents"])
def test_a_path_beside_a_whole_text_is_a_written_file(name: str, key: str) -> None:
    """The text is the file's new content."""
    action = call(name, {"path": "a.py", key: "x = 2"})

    assert [(change.path, change.new, change.kind) for change in action.changes] == [
        ("a.py", "x = 2", "write")
    ]


@pytest.mark.parametrize(
    ("name", "given", "kind"),
    [
        ("delete_file", {"path": "a.py"}, "delete"),
        ("move_file", {"source": "a.py", "destination": "b.py"}, "move"),
    ],
)
def test_files_deleted_and_moved_by_a_tool_are_changes(
    name: str, given: dict[str, Any], kind: str
) -> None:
    """Both are told by the tool's name and its paths."""
    assert [(change.path, change.kind) for change in call(name, given).changes] == [("a.py", kind)]


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("search_in_file", {"path": "a.py", "text": "x = 1"}),
        ("add_comment", {"path": "a.py", "content": "looks good"}),
        ("find_text", {"path": "a.py", "text": "x"}),
        ("open_file", {"path": "a.py", "line": "7"}),
    ],
)
def test_a_text_that_is_sought_or_said_changes_no_file(name: str, given: dict[str, Any]) -> None:
    """A path beside a text is no edit where the tool's name says otherwise."""
    assert isinstance(call(name, given), OtherToolAction)
    assert call("str_replace_based_edit_tool", {"command": "view", "path": "a.py"}) == ReadAction(
        ("a.py",)
    )


def test_files_edited_through_an_unknown_tool_are_changed_files(session: Any) -> None:
    """They are not shown as only read."""
    session.user("raise it").calls("read_file", {"path": "a.py"}).answers("x = 1")
    session.calls("edit_file", {"path": "a.py", "old": "x = 1", "new": "x = 2"}).answers(
        "edited a.py"
    )

    files = session.notes()["Files and Functions"]

    assert "`a.py`: updated; `x = 1` → `x = 2`" in files
    assert "Read only" not in files


def test_a_file_checked_out_again_has_no_changes_left(session: Any) -> None:
    """`git checkout FILE` takes back what was changed since the last commit, and only that."""
    session.user("try it").edits(f"{HOME}/a.py", "x = 1", "x = 2").edits(
        f"{HOME}/b.py", "y = 1", "y = 2"
    )
    session.runs("git commit -am 'b'", "[main 1a2b3c4] b").edits(
        f"{HOME}/b.py", "z = 1", "z = 2"
    ).edits(f"{HOME}/c.py", "w = 1", "w = 2")
    session.runs("git checkout b.py c.py && git status --short", "Updated 2 paths from the index")

    files = session.notes()["Files and Functions"]

    assert "`x = 1` → `x = 2`" in files
    assert "`y = 1` → `y = 2`" in files
    assert "z = 2" not in files
    assert "w = 2" not in files
    assert "Changed, then taken back: `c.py`" in files


def test_an_edit_and_its_reverse_leave_no_pair(session: Any) -> None:
    """What was put back by hand is no change; what was replaced twice stands by its first and its
    last form.
    """
    session.user("try it").edits(f"{HOME}/a.py", "x = 1", "x = 2").edits(
        f"{HOME}/a.py", "x = 2", "x = 1"
    )
    session.edits(f"{HOME}/b.py", "y = 1", "y = 2").edits(f"{HOME}/b.py", "y = 2", "y = 3")

    files = session.notes()["Files and Functions"]

    assert "x = 2" not in files
    assert "`y = 1` → `y = 3`" in files


def test_a_line_that_the_session_wrote_itself_is_not_what_was_there_before(session: Any) -> None:
    """A replacement of a line that came in this session is no change of the former code."""
    session.user("go").edits(f"{HOME}/a.py", "import os", "import os\nimport re\nlimit = 3").edits(
        f"{HOME}/a.py", "limit = 3", "limit = 4"
    )

    assert "→" not in session.notes()["Files and Functions"]


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("git checkout src/a.py && make", ("src/a.py",)),
        ("git checkout -- Makefile", ("Makefile",)),
        ("git restore a.py b.py", ("a.py", "b.py")),
        ("git reset --hard HEAD", (".",)),
        ("git checkout .", (".",)),
        ("git checkout -b release/1.x.y", ()),
        ("git checkout main", ()),
        ("git restore --staged a.py", ()),
        ("git reset HEAD a.py", ()),
        ("echo 'git checkout a.py'", ()),
    ],
)
def test_commands_that_take_changes_back_are_told_from_those_that_switch(
    command: str, paths: tuple[str, ...]
) -> None:
    """Files are restored; branches are switched to."""
    assert find_restored_files(command) == paths
