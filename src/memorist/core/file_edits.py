"""The edits of files that a tool call asks for, whatever the tool: which file, and what replaces
what. Pure.
"""

from __future__ import annotations

import re

from memorist.core.apply_patch import FileEdit, extract_lines_changed_by_diff, find_patch_edits
from memorist.core.messages import JsonObject

MAX_INPUT_VALUE_CHARACTERS = 6_000
"""Characters of one input value that are examined."""


MAX_EDITS = 20
"""Edits of one call that are examined."""


_PATH_KEYS = (
    "file_path", "path", "notebook_path", "filePath", "filepath", "target_file", "file",
    "filename", "relative_path", "absolute_path",
)  # fmt: skip


_OLD_TEXT_KEYS = (
    "old_string", "old_str", "old", "old_text", "oldText", "oldString", "old_content", "search",
    "find", "original", "before",
)  # fmt: skip


_NEW_TEXT_KEYS = (
    "new_string", "new_str", "new", "new_text", "newText", "newString", "new_content", "replace",
    "replacement", "updated", "after", "new_source",
    "insert_text",
)  # fmt: skip


_WHOLE_TEXT_KEYS = ("content", "contents", "file_text", "text", "code_edit")


_EDIT_LIST_KEYS = ("edits", "replacements", "changes")


_DIFF_KEYS = ("diff", "patch")


_MOVE_KEYS = (
    ("source", "destination"),
    ("old_path", "new_path"),
    ("from_path", "to_path"),
    ("source_path", "destination_path"),
)


_DELETE_TOOL = re.compile(r"(?:delete|remove)_?file|^unlink$")


_TEXT_TAKING_TOOL = re.compile(
    r"search|find|grep|query|read|view|open|list|lint|check|comment|message|send|post|ask|say|"
    r"log|review|run|exec|test|valid|parse|format|render|upload"
)
"""Tools with such names take a path and a text without writing the text to the file."""


def cut_string_or_empty(value: object) -> str:
    """The value if it is a string, cut to the limit; else empty."""
    return value[:MAX_INPUT_VALUE_CHARACTERS] if isinstance(value, str) else ""


def find_file_path_in_tool_input(inputs: JsonObject) -> str:
    """The file that an input names; empty for none."""
    return next(
        (
            path
            for key in _PATH_KEYS
            if (path := cut_string_or_empty(inputs.get(key))) and "\n" not in path
        ),
        "",
    )


def find_file_edits(name: str, inputs: JsonObject, path: str) -> tuple[FileEdit, ...]:
    """The edits that a call makes, empty for none. `name` is the tool's, lower case; `path` as
    returned by `find_file_path_in_tool_input`.
    """
    for from_key, to_key in _MOVE_KEYS:
        if (
            ("move" in name or "rename" in name)
            and (source := cut_string_or_empty(inputs.get(from_key)))
            and (target := cut_string_or_empty(inputs.get(to_key)))
        ):
            return (FileEdit(source, new=target, kind="move"),)
    if not path:
        patch = next(
            (
                value
                for value in inputs.values()
                if isinstance(value, str) and value.startswith("*** Begin Patch")
            ),
            "",
        )
        return find_patch_edits(patch) if patch else ()
    if _DELETE_TOOL.search(name):
        return (FileEdit(path, kind="delete"),)
    many = next((inputs[key] for key in _EDIT_LIST_KEYS if isinstance(inputs.get(key), list)), None)
    if isinstance(many, list):
        found = (
            _parse_replacement(path, each) for each in many[:MAX_EDITS] if isinstance(each, dict)
        )
        return tuple(each for each in found if each is not None) or (
            (FileEdit(path),) if "edit" in name else ()
        )
    diff = next((inputs[key] for key in _DIFF_KEYS if isinstance(inputs.get(key), str)), "")
    if diff:
        return (
            find_patch_edits(diff)
            if "*** Begin Patch" in diff
            else (extract_lines_changed_by_diff(path, diff),)
        )
    return _find_single_edit(name, inputs, path)


def _find_single_edit(name: str, inputs: JsonObject, path: str) -> tuple[FileEdit, ...]:
    edit = _parse_replacement(path, inputs)
    if edit is not None:
        return (edit,)
    whole = next(
        (inputs[key] for key in _WHOLE_TEXT_KEYS if isinstance(inputs.get(key), str)), None
    )
    if whole is not None and not _TEXT_TAKING_TOOL.search(name):
        return (FileEdit(path, new=whole[:MAX_INPUT_VALUE_CHARACTERS], kind="write"),)
    return ()


def _parse_replacement(path: str, inputs: JsonObject) -> FileEdit | None:
    """The replacement that an input describes: both sides, or only a new side, which is an
    insertion.
    """
    old = next((inputs[key] for key in _OLD_TEXT_KEYS if isinstance(inputs.get(key), str)), None)
    new = next((inputs[key] for key in _NEW_TEXT_KEYS if isinstance(inputs.get(key), str)), None)
    if new is None or (
        old is None
        and not ({"insert_line", "line", "new_source", "cell_id", "insert_text"} & inputs.keys())
    ):
        return None
    return FileEdit(path, old=cut_string_or_empty(old), new=cut_string_or_empty(new))
