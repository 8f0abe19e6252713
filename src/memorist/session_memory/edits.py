"""Recognize file edits by the shape of a tool's input rather than by the tool's name: a path with
an old and a new text, or a whole text. Pure.
"""

from __future__ import annotations

import re

from memorist.core.messages import JsonObject
from memorist.session_memory.patches import Change, parse_diff, parse_patch

INPUT_LIMIT = 6_000
"""Characters of one input value that are examined."""

MOST_EDITS = 20
"""Edits of one call that are examined."""

_PATHS = ("file_path", "path", "notebook_path", "filePath", "filepath", "target_file", "file", "filename", "relative_path", "absolute_path")
_OLD = ("old_string", "old_str", "old", "old_text", "oldText", "oldString", "old_content", "search", "find", "original", "before")
_NEW = (
    "new_string", "new_str", "new", "new_text", "newText", "newString", "new_content", "replace", "replacement", "updated", "after", "new_source",
    "insert_text",
)  # fmt: skip
_WHOLE = ("content", "contents", "file_text", "text", "code_edit")
_LISTS = ("edits", "replacements", "changes")
_DIFFS = ("diff", "patch")
_MOVES = (("source", "destination"), ("old_path", "new_path"), ("from_path", "to_path"), ("source_path", "destination_path"))

_DELETES = re.compile(r"(?:delete|remove)_?file|^unlink$")
_TAKES_TEXT = re.compile(
    r"search|find|grep|query|read|view|open|list|lint|check|comment|message|send|post|ask|say|log|review|run|exec|test|valid|parse|format|render|upload",
)
"""Tools with such names take a path and a text without writing the text to the file."""


def text_of(value: object) -> str:
    """The value if it is a string, cut to the limit; else empty."""
    return value[:INPUT_LIMIT] if isinstance(value, str) else ""


def path_in(given: JsonObject) -> str:
    """The file that an input names; empty for none."""
    return next((path for key in _PATHS if (path := text_of(given.get(key))) and "\n" not in path), "")


def changes_in(name: str, given: JsonObject, path: str) -> tuple[Change, ...]:
    """The edits that a call makes, empty for none. `name` is the tool's, lower case; `path` as
    returned by `find_edited_path`.
    """
    for from_key, to_key in _MOVES:
        if ("move" in name or "rename" in name) and (source := text_of(given.get(from_key))) and (target := text_of(given.get(to_key))):
            return (Change(source, new=target, kind="move"),)
    if not path:
        patch = next((value for value in given.values() if isinstance(value, str) and value.startswith("*** Begin Patch")), "")
        return parse_patch(patch) if patch else ()
    if _DELETES.search(name):
        return (Change(path, kind="delete"),)
    many = next((given[key] for key in _LISTS if isinstance(given.get(key), list)), None)
    if isinstance(many, list):
        found = (_edit(path, each) for each in many[:MOST_EDITS] if isinstance(each, dict))
        return tuple(each for each in found if each is not None) or ((Change(path),) if "edit" in name else ())
    diff = next((given[key] for key in _DIFFS if isinstance(given.get(key), str)), "")
    if diff:
        return parse_patch(diff) if "*** Begin Patch" in diff else (parse_diff(path, diff),)
    return _one(name, given, path)


def _one(name: str, given: JsonObject, path: str) -> tuple[Change, ...]:
    edit = _edit(path, given)
    if edit is not None:
        return (edit,)
    whole = next((given[key] for key in _WHOLE if isinstance(given.get(key), str)), None)
    if whole is not None and not _TAKES_TEXT.search(name):
        return (Change(path, new=whole[:INPUT_LIMIT], kind="write"),)
    return ()


def _edit(path: str, given: JsonObject) -> Change | None:
    """The replacement that an input describes: both sides, or only a new side, which is an
    insertion.
    """
    old = next((given[key] for key in _OLD if isinstance(given.get(key), str)), None)
    new = next((given[key] for key in _NEW if isinstance(given.get(key), str)), None)
    if new is None or (old is None and not ({"insert_line", "line", "new_source", "cell_id", "insert_text"} & given.keys())):
        return None
    return Change(path, old=text_of(old), new=text_of(new))
