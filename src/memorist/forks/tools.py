"""Parsing tool calls by the names and inputs that hosts use. Pure.

Sources of the names and inputs: Claude Code's own tools, Anthropic's text editor tool, Codex
(`apply_patch`, `shell`, `shell_command`, `exec_command`, local shell), Gemini CLI (`replace`,
`read_file`, `write_file`) and opencode (camel-case inputs). A tool inside a namespace, or of an MCP
server (`mcp__…`), belongs to someone else, whatever its last name is.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from typing import Final

from memorist.core.messages import JsonObject, ToolUse
from memorist.errors import FormatError
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
from memorist.forks.patch import Misfit, read_patch

_PATH: Final = ("file_path", "path", "filePath", "filename", "absolute_path", "target_file")
_OLD: Final = ("old_string", "old_str", "oldString", "old_text", "old")
_NEW: Final = ("new_string", "new_str", "newString", "new_text", "new")
_TEXT: Final = ("content", "file_text", "text", "contents")
_ALL: Final = ("replace_all", "replaceAll")


def recognise(use: ToolUse) -> Call:
    """Parse a tool call. `InvalidCall` says what is wrong with the input of a known tool."""
    reader = None if use.namespace or use.name.startswith("mcp__") else _READERS.get(_plain(use.name))
    if reader is None:
        return UnknownCall(use.name)
    try:
        return reader(use)
    except FormatError as problem:
        return BadCall(use.name, str(problem))


def can_edit(names: Iterable[str]) -> bool:
    """Whether one of these tools can change part of a file."""
    return any(_plain(name) in _EDITORS for name in names if not name.startswith("mcp__"))


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _text(given: JsonObject, keys: tuple[str, ...], *, default: str | None = None) -> str:
    for key in keys:
        value = given.get(key)
        if isinstance(value, str):
            return value
    if default is None:
        raise FormatError(f"The input needs a text `{keys[0]}`.")
    return default


def _number(given: JsonObject, *keys: str) -> int | None:
    for key in keys:
        value = given.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


def _optional(given: JsonObject, *keys: str) -> str | None:
    return _text(given, keys, default="") or None


def _read(use: ToolUse) -> Call:
    given = use.input
    first, last = _number(given, "offset", "start_line"), _number(given, "end_line")
    start = max(1, first or 1)
    lines = _number(given, "limit") if last is None else max(0, last - start + 1)
    return ReadFile(path=_text(given, _PATH), first=start, lines=lines, numbered=use.name in ("Read", "read", "view"))


def _replacement(given: JsonObject) -> Replacement:
    every = any(given.get(key) is True for key in _ALL)
    return Replacement(_text(given, _OLD), _text(given, _NEW), every)


def _edit(use: ToolUse) -> Call:
    return EditFile(_text(use.input, _PATH), (_replacement(use.input),))


def _multi_edit(use: ToolUse) -> Call:
    edits = use.input.get("edits")
    if not isinstance(edits, list) or not edits or not all(isinstance(edit, dict) for edit in edits):
        raise FormatError("The input needs a list `edits` of objects.")
    return EditFile(_text(use.input, _PATH), tuple(_replacement(edit) for edit in edits))


def _write(use: ToolUse) -> Call:
    return WriteFile(_text(use.input, _PATH), _text(use.input, _TEXT))


def _search(use: ToolUse) -> Call:
    given = use.input
    shows = {"content": "lines", "count": "count", "files_with_matches": "files"}
    return Search(
        pattern=_text(given, ("pattern", "query")),
        path=_optional(given, "path", "dir_path"),
        glob=_optional(given, "glob", "include"),
        show=shows.get(_text(given, ("output_mode",), default="files_with_matches"), "files"),
        ignore_case=given.get("-i") is True,
        limit=_number(given, "head_limit"),
    )


def _list(use: ToolUse) -> Call:
    return ListFiles(pattern=_text(use.input, ("pattern",), default="**/*"), path=_optional(use.input, "path", "dir_path", "folder"))


def _shell(use: ToolUse) -> Call:
    given = use.input
    action = given.get("action")
    if isinstance(action, dict):
        given = action
    command = given.get("command", given.get("cmd"))
    workdir = _optional(given, "workdir", "working_directory")
    if isinstance(command, str):
        return Shell(command, workdir)
    if not isinstance(command, list) or not command or not all(isinstance(word, str) for word in command):
        raise FormatError("The input needs a `command`.")
    if command[0] == "apply_patch" and len(command) == 2:
        return _patch_of(command[1])
    if len(command) == 3 and command[0].rpartition("/")[2] in ("sh", "bash", "zsh") and command[1] in ("-c", "-lc"):
        return Shell(command[2], workdir)
    return Shell(shlex.join(command), workdir)


def _patch(use: ToolUse) -> Call:
    text = _text(use.input, ("input", "patch"), default="") or (use.arguments or "")
    return _patch_of(text)


def _patch_of(text: str) -> Call:
    files = read_patch(text)
    if isinstance(files, Misfit):
        raise FormatError(files.why)
    return ApplyPatch(files)


def _text_editor(use: ToolUse) -> Call:
    """Parse Anthropic's text editor: one tool with a `command`."""
    given = use.input
    path = _text(given, _PATH)
    match given.get("command"):
        case "view":
            return _view(given, path)
        case "create":
            return WriteFile(path, _text(given, _TEXT))
        case "str_replace":
            return EditFile(path, (Replacement(_text(given, _OLD), _text(given, _NEW, default="")),))
        case "insert":
            line = _number(given, "insert_line")
            if line is None:
                raise FormatError("The input needs a number `insert_line`.")
            return InsertText(path, line, _text(given, ("insert_text", "new_str")))
        case other:
            raise FormatError(f"There is no command `{str(other)[:40]}`: it is one of view, create, str_replace, insert.")


def _view(given: JsonObject, path: str) -> Call:
    span = given.get("view_range")
    if not isinstance(span, list) or len(span) != 2 or not all(isinstance(number, int) for number in span):
        return ReadFile(path=path, numbered=True)
    first = max(1, span[0])
    return ReadFile(path=path, first=first, lines=None if span[1] < 0 else max(0, span[1] - first + 1), numbered=True)


_READERS: dict[str, Callable[[ToolUse], Call]] = {
    "read": _read,
    "readfile": _read,
    "view": _read,
    "edit": _edit,
    "editfile": _edit,
    "replace": _edit,
    "multiedit": _multi_edit,
    "write": _write,
    "writefile": _write,
    "createfile": _write,
    "grep": _search,
    "grepsearch": _search,
    "searchfilecontent": _search,
    "glob": _list,
    "ls": _list,
    "listdirectory": _list,
    "bash": _shell,
    "shell": _shell,
    "shellcommand": _shell,
    "execcommand": _shell,
    "localshell": _shell,
    "localshellcall": _shell,
    "runshellcommand": _shell,
    "applypatch": _patch,
    "strreplacebasededittool": _text_editor,
    "strreplaceeditor": _text_editor,
}
_EDITORS = frozenset(("edit", "editfile", "replace", "multiedit", "applypatch", "strreplacebasededittool", "strreplaceeditor"))
