"""Tool calls of the hosts, and what they ask for."""

from __future__ import annotations

from typing import Any

import pytest

from memorist.core.messages import ToolUse
from memorist.forks.calls import (
    ApplyPatch,
    BadCall,
    Call,
    EditFile,
    InsertText,
    ListFiles,
    ReadFile,
    Replacement,
    Search,
    Shell,
    UnknownCall,
    WriteFile,
)
from memorist.forks.patch import AddText, DeleteText, Hunk, Misfit, UpdateText, apply_hunks, read_patch
from memorist.forks.tools import can_edit, recognise

PATCH = """*** Begin Patch
*** Update File: a.md
@@ # Notes
 one
-two
+2
*** Add File: b.md
+new
*** End Patch"""
PATCHED = ApplyPatch((UpdateText("a.md", (Hunk(("one", "two"), ("one", "2"), "# Notes"),)), AddText("b.md", "new\n")))


@pytest.mark.covers("FK-6")
@pytest.mark.parametrize(
    ("name", "given", "call"),
    [
        ("Read", {"file_path": "/a", "offset": 3, "limit": 2}, ReadFile(path="/a", first=3, lines=2, numbered=True)),
        ("read_file", {"path": "/a", "start_line": 2, "end_line": 4}, ReadFile(path="/a", first=2, lines=3)),
        (
            "Edit",
            {"file_path": "/a", "old_string": "x", "new_string": "y", "replace_all": True},
            EditFile("/a", (Replacement("x", "y", every=True),)),
        ),
        ("edit", {"filePath": "/a", "oldString": "x", "newString": "y"}, EditFile("/a", (Replacement("x", "y"),))),
        ("replace", {"file_path": "/a", "old_string": "x", "new_string": "y"}, EditFile("/a", (Replacement("x", "y"),))),
        ("edit_file", {"path": "/a", "old_text": "x", "new_text": "y"}, EditFile("/a", (Replacement("x", "y"),))),
        (
            "MultiEdit",
            {"file_path": "/a", "edits": [{"old_string": "x", "new_string": "y"}, {"old_string": "z", "new_string": ""}]},
            EditFile("/a", (Replacement("x", "y"), Replacement("z", ""))),
        ),
        ("Write", {"file_path": "/a", "content": "t"}, WriteFile("/a", "t")),
        ("write_file", {"path": "/a", "content": ""}, WriteFile("/a", "")),
        ("Grep", {"pattern": "p", "output_mode": "content", "-i": True}, Search(pattern="p", show="lines", ignore_case=True)),
        ("Glob", {"pattern": "*.md", "path": "/n"}, ListFiles(pattern="*.md", path="/n")),
        ("Bash", {"command": "ls"}, Shell("ls")),
        ("shell", {"command": ["bash", "-lc", "ls -la"], "workdir": "/n"}, Shell("ls -la", "/n")),
        ("shell", {"command": ["grep", "a b", "f"]}, Shell("grep 'a b' f")),
        ("shell", {"command": ["apply_patch", PATCH]}, PATCHED),
        ("local_shell", {"type": "exec", "command": ["ls"]}, Shell("ls")),
        ("exec_command", {"cmd": "ls", "yield_time_ms": 10}, Shell("ls")),
        ("shell_command", {"command": "ls"}, Shell("ls")),
        ("apply_patch", {"input": PATCH}, PATCHED),
        (
            "str_replace_based_edit_tool",
            {"command": "view", "path": "/a", "view_range": [2, -1]},
            ReadFile(path="/a", first=2, numbered=True),
        ),
        ("str_replace_editor", {"command": "create", "path": "/a", "file_text": "t"}, WriteFile("/a", "t")),
        ("str_replace_editor", {"command": "str_replace", "path": "/a", "old_str": "x"}, EditFile("/a", (Replacement("x", ""),))),
        ("str_replace_editor", {"command": "insert", "path": "/a", "insert_line": 0, "new_str": "t"}, InsertText("/a", 0, "t")),
        ("Task", {"prompt": "x"}, UnknownCall("Task")),
        ("mcp__files__read_file", {"path": "/a"}, UnknownCall("mcp__files__read_file")),
    ],
)
def test_a_hosts_call_is_recognised(name: str, given: dict[str, Any], call: Call) -> None:
    """Names and inputs of the leading hosts mean what they mean there."""
    assert recognise(ToolUse("1", name, given)) == call


@pytest.mark.covers("FK-6")
def test_a_patch_is_read_from_free_text_too() -> None:
    """`apply_patch` as a custom tool carries the patch as its whole argument."""
    assert recognise(ToolUse("1", "apply_patch", {}, arguments=PATCH)) == PATCHED


@pytest.mark.covers("FK-3")
def test_a_tool_in_a_namespace_is_not_ours() -> None:
    """A foreign server's `Edit` is not taken for the host's."""
    assert recognise(ToolUse("1", "Edit", {"file_path": "/a"}, namespace="mcp__x")) == UnknownCall("Edit")


@pytest.mark.covers("FK-6")
@pytest.mark.parametrize(
    ("name", "given", "why"),
    [
        ("Edit", {"file_path": "/a", "old_string": "x"}, "new_string"),
        ("Edit", {"file_path": 1}, "file_path"),
        ("MultiEdit", {"file_path": "/a", "edits": []}, "edits"),
        ("Bash", {}, "command"),
        ("shell", {"command": [1]}, "command"),
        ("apply_patch", {"input": "x"}, "Begin Patch"),
        ("str_replace_editor", {"path": "/a", "command": "undo"}, "no command `undo`"),
        ("str_replace_editor", {"path": "/a", "command": "insert"}, "insert_line"),
    ],
)
def test_an_input_that_does_not_fit_says_what_is_missing(name: str, given: dict[str, Any], why: str) -> None:
    """The model learns what to write instead."""
    call = recognise(ToolUse("1", name, given))

    assert isinstance(call, BadCall)
    assert why in call.why


@pytest.mark.covers("FK-6")
@pytest.mark.parametrize(
    ("names", "can"),
    [
        (["Read", "Edit"], True),
        (["apply_patch", "exec_command"], True),
        (["str_replace_based_edit_tool"], True),
        (["Read", "Write", "Bash", "exec_command"], False),
        (["mcp__x__edit"], False),
        ([], False),
    ],
)
def test_a_host_edits_when_it_has_a_tool_for_it(names: list[str], can: bool) -> None:
    """A writing tool or a shell alone does not edit; nor does somebody else's tool."""
    assert can_edit(names) is can


@pytest.mark.covers("FK-6")
def test_hunks_change_the_lines_they_name() -> None:
    """Context, removed and added lines; a header narrows the place; the end of the file can be meant; line ends stay."""
    text = "# A\r\none\r\ntwo\r\n# B\r\none\r\ntwo\r\n"
    files = read_patch("*** Begin Patch\n*** Update File: f\n@@ # B\n one\n-two\n+2\n@@\n+last\n*** End Patch")
    assert isinstance(files, tuple)
    assert isinstance(files[0], UpdateText)

    assert apply_hunks(text, files[0].hunks) == "# A\r\none\r\ntwo\r\n# B\r\none\r\n2\r\nlast\r\n"


@pytest.mark.covers("FK-6")
@pytest.mark.parametrize(
    ("hunk", "why"),
    [
        (Hunk(("x",), ("y",)), "more than one place"),
        (Hunk(("nowhere",), ("y",)), "do not stand in the file"),
        (Hunk(("x",), ("y",), "no such head"), "No line reads"),
    ],
)
def test_a_hunk_that_does_not_fit_one_place_is_refused(hunk: Hunk, why: str) -> None:
    """No hunk is put where it only might belong."""
    found = apply_hunks("x\na\nx\nb\n", (hunk,))

    assert isinstance(found, Misfit)
    assert why in found.why


@pytest.mark.covers("FK-6")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "*** Begin Patch\n*** End Patch",
        "*** Begin Patch\nwords\n*** End Patch",
        "*** Begin Patch\n*** Update File: a\n*** End Patch",
        "*** Begin Patch\n*** Update File: a\n same\n*** End Patch",
        "*** Begin Patch\n*** Update File: a\n?x\n*** End Patch",
        "*** Begin Patch\n*** Add File: a\nx\n*** End Patch",
    ],
)
def test_a_broken_patch_is_refused_whole(text: str) -> None:
    """Nothing of a patch that cannot be read is applied."""
    assert isinstance(read_patch(text), Misfit)


@pytest.mark.covers("FK-3")
def test_deleting_and_moving_are_read_so_that_they_can_be_denied() -> None:
    """Both are named as what they are."""
    files = read_patch("*** Begin Patch\n*** Delete File: a\n*** Update File: b\n*** Move to: c\n-x\n+y\n*** End Patch")

    assert files == (DeleteText("a"), UpdateText("b", (Hunk(("x",), ("y",)),), "c"))
