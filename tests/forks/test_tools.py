"""Tool calls of the hosts, and what they ask for."""

from __future__ import annotations

from typing import Any

import pytest

from memorist.core.apply_patch import (
    AddFilePatch,
    DeleteFilePatch,
    PatchHunk,
    PatchRejection,
    UpdateFilePatch,
    apply_hunks,
    parse_file_patches,
)
from memorist.core.messages import ToolUse
from memorist.forks.file_tool_calls import (
    ApplyPatchCall,
    EditFileCall,
    ForkToolCall,
    InsertTextCall,
    ListFilesCall,
    MalformedToolCall,
    ReadFileCall,
    SearchCall,
    ShellCall,
    TextReplacement,
    UnknownToolCall,
    WriteFileCall,
    has_partial_edit_tool,
    parse_tool_call,
)

PATCH = """*** Begin Patch
*** Update File: a.md
@@ # Notes
 one
-two
+2
*** Add File: b.md
+new
*** End Patch"""
PATCHED = ApplyPatchCall(
    (
        UpdateFilePatch(
            "a.md", (PatchHunk(("one", "two"), ("one", "2"), "# Notes", sources=(1, 2)),)
        ),
        AddFilePatch("b.md", "new\n"),
    )
)


@pytest.mark.covers("FK-6")
@pytest.mark.parametrize(
    ("name", "given", "call"),
    [
        (
            "Read",
            {"file_path": "/a", "offset": 3, "limit": 2},
            ReadFileCall(path="/a", first_line=3, line_count=2, numbered=True),
        ),
        (
            "read_file",
            {"path": "/a", "start_line": 2, "end_line": 4},
            ReadFileCall(path="/a", first_line=2, line_count=3),
        ),
        (
            "Edit",
            {"file_path": "/a", "old_string": "x", "new_string": "y", "replace_all": True},
            EditFileCall("/a", (TextReplacement("x", "y", replace_all=True),)),
        ),
        (
            "edit",
            {"filePath": "/a", "oldString": "x", "newString": "y"},
            EditFileCall("/a", (TextReplacement("x", "y"),)),
        ),
        (
            "replace",
            {"file_path": "/a", "old_string": "x", "new_string": "y"},
            EditFileCall("/a", (TextReplacement("x", "y"),)),
        ),
        (
            "edit_file",
            {"path": "/a", "old_text": "x", "new_text": "y"},
            EditFileCall("/a", (TextReplacement("x", "y"),)),
        ),
        (
            "MultiEdit",
            {
                "file_path": "/a",
                "edits": [
                    {"old_string": "x", "new_string": "y"},
                    {"old_string": "z", "new_string": ""},
                ],
            },
            EditFileCall("/a", (TextReplacement("x", "y"), TextReplacement("z", ""))),
        ),
        ("Write", {"file_path": "/a", "content": "t"}, WriteFileCall("/a", "t")),
        ("write_file", {"path": "/a", "content": ""}, WriteFileCall("/a", "")),
        (
            "Grep",
            {"pattern": "p", "output_mode": "content", "-i": True},
            SearchCall(pattern="p", show="lines", ignore_case=True),
        ),
        ("Glob", {"pattern": "*.md", "path": "/n"}, ListFilesCall(pattern="*.md", path="/n")),
        ("Bash", {"command": "ls"}, ShellCall("ls")),
        (
            "shell",
            {"command": ["bash", "-lc", "ls -la"], "workdir": "/n"},
            ShellCall("ls -la", "/n"),
        ),
        ("shell", {"command": ["grep", "a b", "f"]}, ShellCall("grep 'a b' f")),
        ("shell", {"command": ["apply_patch", PATCH]}, PATCHED),
        ("local_shell", {"type": "exec", "command": ["ls"]}, ShellCall("ls")),
        ("exec_command", {"cmd": "ls", "yield_time_ms": 10}, ShellCall("ls")),
        ("shell_command", {"command": "ls"}, ShellCall("ls")),
        ("apply_patch", {"input": PATCH}, PATCHED),
        (
            "str_replace_based_edit_tool",
            {"command": "view", "path": "/a", "view_range": [2, -1]},
            ReadFileCall(path="/a", first_line=2, numbered=True),
        ),
        (
            "str_replace_editor",
            {"command": "create", "path": "/a", "file_text": "t"},
            WriteFileCall("/a", "t"),
        ),
        (
            "str_replace_editor",
            {"command": "str_replace", "path": "/a", "old_str": "x"},
            EditFileCall("/a", (TextReplacement("x", ""),)),
        ),
        (
            "str_replace_editor",
            {"command": "insert", "path": "/a", "insert_line": 0, "new_str": "t"},
            InsertTextCall("/a", 0, "t"),
        ),
        ("Task", {"prompt": "x"}, UnknownToolCall("Task")),
        ("mcp__files__read_file", {"path": "/a"}, UnknownToolCall("mcp__files__read_file")),
    ],
)
def test_a_hosts_call_is_recognised(name: str, given: dict[str, Any], call: ForkToolCall) -> None:
    """Names and inputs of the leading hosts mean what they mean there."""
    assert parse_tool_call(ToolUse("1", name, given)) == call


@pytest.mark.covers("FK-6")
def test_a_patch_is_read_from_free_text_too() -> None:
    """`apply_patch` as a custom tool carries the patch as its whole argument."""
    assert parse_tool_call(ToolUse("1", "apply_patch", {}, arguments=PATCH)) == PATCHED


@pytest.mark.covers("FK-3")
def test_a_tool_in_a_namespace_is_not_ours() -> None:
    """A foreign server's `Edit` is not taken for the host's."""
    assert parse_tool_call(
        ToolUse("1", "Edit", {"file_path": "/a"}, namespace="mcp__x")
    ) == UnknownToolCall("Edit")


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
def test_an_input_that_does_not_fit_says_what_is_missing(
    name: str, given: dict[str, Any], why: str
) -> None:
    """The model learns what to write instead."""
    call = parse_tool_call(ToolUse("1", name, given))

    assert isinstance(call, MalformedToolCall)
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
    assert has_partial_edit_tool(names) is can


@pytest.mark.covers("FK-6")
def test_hunks_change_the_lines_they_name() -> None:
    """Context, removed and added lines; a header narrows the place; the end of the file can be
    meant; line ends stay.
    """
    text = "# A\r\none\r\ntwo\r\n# B\r\none\r\ntwo\r\n"
    files = parse_file_patches(
        "*** Begin Patch\n*** Update File: f\n@@ # B\n one\n-two\n+2\n@@\n+last\n*** End Patch"
    )
    assert isinstance(files, tuple)
    assert isinstance(files[0], UpdateFilePatch)

    assert apply_hunks(text, files[0].hunks) == "# A\r\none\r\ntwo\r\n# B\r\none\r\n2\r\nlast\r\n"


@pytest.mark.covers("FK-6")
@pytest.mark.parametrize(
    ("text", "patch", "after"),
    [
        ("a\r\nb\nc\r\n", "@@\n a\n-b\n+B\n c", "a\r\nB\nc\r\n"),
        ("a\nb\r\nc\n", "@@\n b\n+new", "a\nb\r\nnew\r\nc\n"),
        ("a\nb\r\nc", "@@\n-c\n+C\n+D", "a\nb\r\nC\r\nD"),
        ("a\r\nb\n", "@@\n+top\n a", "top\r\na\r\nb\n"),
        ("a\r\nb\r", "@@\n-a\n+A", "A\r\nb\r"),
        ("a\r\nb\n", "@@\n-a\n-b", ""),
        ("a", "@@\n-a\n+b", "b"),
        ("", "@@\n+a", "a\n"),
        ("a\nb\r\n", "@@\n-b", "a\n"),
    ],
)
def test_lines_that_a_hunk_leaves_keep_their_own_ends(text: str, patch: str, after: str) -> None:
    """In a file with line ends of both kinds a patch changes those of its own lines alone: all
    became CRLF.
    """
    files = parse_file_patches(f"*** Begin Patch\n*** Update File: f\n{patch}\n*** End Patch")
    assert isinstance(files, tuple)
    assert isinstance(files[0], UpdateFilePatch)
    assert apply_hunks(text, files[0].hunks) == after


@pytest.mark.covers("FK-6")
@pytest.mark.parametrize(
    ("hunk", "why"),
    [
        (PatchHunk(("x",), ("y",)), "more than one place"),
        (PatchHunk(("nowhere",), ("y",)), "do not stand in the file"),
        (PatchHunk(("x",), ("y",), "no such head"), "No line reads"),
    ],
)
def test_a_hunk_that_does_not_fit_one_place_is_refused(hunk: PatchHunk, why: str) -> None:
    """No hunk is put where it only might belong."""
    found = apply_hunks("x\na\nx\nb\n", (hunk,))

    assert isinstance(found, PatchRejection)
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
    assert isinstance(parse_file_patches(text), PatchRejection)


@pytest.mark.covers("FK-3")
def test_deleting_and_moving_are_read_so_that_they_can_be_denied() -> None:
    """Both are named as what they are."""
    files = parse_file_patches(
        "*** Begin Patch\n*** Delete File: a\n*** Update File: b\n*** Move to: c\n-x\n+y\n*** "
        "End Patch"
    )

    hunk = PatchHunk(("x",), ("y",), sources=(1,))
    assert files == (DeleteFilePatch("a"), UpdateFilePatch("b", (hunk,), "c"))
