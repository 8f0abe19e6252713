"""What a tool call asks of the file system, independent of the host's tool names. Values only;
paths are as the model wrote them.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from typing import Final

from msgspec import Struct

from memorist.core.apply_patch import FilePatch, PatchRejection, parse_file_patches
from memorist.core.messages import JsonObject, ToolUse
from memorist.core.text_analysis import parse_word_list
from memorist.errors import WireFormatError


class TextReplacement(Struct, frozen=True):
    """Replace `old` by `new`. `old` must occur exactly once unless `replace_all` is set; empty
    `old` means that the file must not exist yet.
    """

    old: str
    new: str
    replace_all: bool = False


class ReadFileCall(Struct, frozen=True, kw_only=True, tag="read"):
    """Read a file. `first_line` counts from 1; `line_count` None means the default."""

    path: str
    first_line: int = 1
    line_count: int | None = None
    numbered: bool = False


class EditFileCall(Struct, frozen=True, tag="edit"):
    """Apply replacements to a file, in order, all or none."""

    path: str
    replacements: tuple[TextReplacement, ...]


class InsertTextCall(Struct, frozen=True, tag="insert"):
    """Insert `text` after line `line` (0 is the top of the file)."""

    path: str
    line: int
    text: str


class WriteFileCall(Struct, frozen=True, tag="write"):
    """Create the file, or replace its whole content."""

    path: str
    text: str


class SearchCall(Struct, frozen=True, kw_only=True, tag="search"):
    """Find lines that match a regular expression. `show` is `files`, `lines` or `count`."""

    pattern: str
    path: str | None = None
    glob: str | None = None
    show: str = "files"
    ignore_case: bool = False
    limit: int | None = None


class ListFilesCall(Struct, frozen=True, kw_only=True, tag="list"):
    """List the files below a folder that match a glob."""

    pattern: str = "**/*"
    path: str | None = None


class ShellCall(Struct, frozen=True, tag="shell"):
    """Run a command line. `workdir` is the folder that the model named for it."""

    command: str
    workdir: str | None = None


class ApplyPatchCall(Struct, frozen=True, tag="apply_patch"):
    """Change several files, all or none."""

    files: tuple[FilePatch, ...]


class MalformedToolCall(Struct, frozen=True, tag="bad"):
    """A known tool with invalid input: `why` goes back to the model."""

    name: str
    why: str


class UnknownToolCall(Struct, frozen=True, tag="unknown"):
    """A tool that a fork does not have."""

    name: str


FileToolCall = (
    ReadFileCall
    | EditFileCall
    | InsertTextCall
    | WriteFileCall
    | SearchCall
    | ListFilesCall
    | ShellCall
    | ApplyPatchCall
)
ForkToolCall = FileToolCall | MalformedToolCall | UnknownToolCall


# Parsing tool calls by the names and inputs that hosts use.


_PATH_KEYS: Final = ("file_path", "path", "filePath", "filename", "absolute_path", "target_file")
_OLD_TEXT_KEYS: Final = ("old_string", "old_str", "oldString", "old_text", "old")
_NEW_TEXT_KEYS: Final = ("new_string", "new_str", "newString", "new_text", "new")
_CONTENT_KEYS: Final = ("content", "file_text", "text", "contents")
_REPLACE_ALL_KEYS: Final = ("replace_all", "replaceAll")


def parse_tool_call(use: ToolUse) -> ForkToolCall:
    """Parse a tool call. `MalformedToolCall` says what is wrong with the input of a known tool."""
    reader = (
        None
        if use.namespace or use.name.startswith("mcp__")
        else _CALL_PARSERS.get(_normalize_tool_name(use.name))
    )
    if reader is None:
        return UnknownToolCall(use.name)
    try:
        return reader(use)
    except WireFormatError as problem:
        return MalformedToolCall(use.name, str(problem))


def has_partial_edit_tool(names: Iterable[str]) -> bool:
    """Whether one of these tools can change part of a file."""
    return any(
        _normalize_tool_name(name) in _EDIT_TOOLS for name in names if not name.startswith("mcp__")
    )


def _normalize_tool_name(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _text_argument(given: JsonObject, keys: tuple[str, ...], *, default: str | None = None) -> str:
    for key in keys:
        value = given.get(key)
        if isinstance(value, str):
            return value
    if default is None:
        raise WireFormatError(f"The input needs a text `{keys[0]}`.")
    return default


def _number_argument(given: JsonObject, *keys: str) -> int | None:
    for key in keys:
        value = given.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


def _optional_argument(given: JsonObject, *keys: str) -> str | None:
    return _text_argument(given, keys, default="") or None


def _parse_read(use: ToolUse) -> ForkToolCall:
    given = use.input
    first = _number_argument(given, "offset", "start_line")
    last = _number_argument(given, "end_line")
    start = max(1, first or 1)
    lines = _number_argument(given, "limit") if last is None else max(0, last - start + 1)
    return ReadFileCall(
        path=_text_argument(given, _PATH_KEYS),
        first_line=start,
        line_count=lines,
        numbered=use.name in ("Read", "read", "view"),
    )


def _parse_replacement(given: JsonObject) -> TextReplacement:
    every = any(given.get(key) is True for key in _REPLACE_ALL_KEYS)
    return TextReplacement(
        _text_argument(given, _OLD_TEXT_KEYS), _text_argument(given, _NEW_TEXT_KEYS), every
    )


def _parse_edit(use: ToolUse) -> ForkToolCall:
    return EditFileCall(_text_argument(use.input, _PATH_KEYS), (_parse_replacement(use.input),))


def _parse_multi_edit(use: ToolUse) -> ForkToolCall:
    edits = use.input.get("edits")
    if (
        not isinstance(edits, list)
        or not edits
        or not all(isinstance(edit, dict) for edit in edits)
    ):
        raise WireFormatError("The input needs a list `edits` of objects.")
    return EditFileCall(
        _text_argument(use.input, _PATH_KEYS), tuple(_parse_replacement(edit) for edit in edits)
    )


def _parse_write(use: ToolUse) -> ForkToolCall:
    return WriteFileCall(
        _text_argument(use.input, _PATH_KEYS), _text_argument(use.input, _CONTENT_KEYS)
    )


def _parse_search(use: ToolUse) -> ForkToolCall:
    given = use.input
    shows = {"content": "lines", "count": "count", "files_with_matches": "files"}
    return SearchCall(
        pattern=_text_argument(given, ("pattern", "query")),
        path=_optional_argument(given, "path", "dir_path"),
        glob=_optional_argument(given, "glob", "include"),
        show=shows.get(
            _text_argument(given, ("output_mode",), default="files_with_matches"), "files"
        ),
        ignore_case=given.get("-i") is True,
        limit=_number_argument(given, "head_limit"),
    )


def _parse_list(use: ToolUse) -> ForkToolCall:
    return ListFilesCall(
        pattern=_text_argument(use.input, ("pattern",), default="**/*"),
        path=_optional_argument(use.input, "path", "dir_path", "folder"),
    )


def _parse_shell(use: ToolUse) -> ForkToolCall:
    given = use.input
    action = given.get("action")
    if isinstance(action, dict):
        given = action
    command = given.get("command", given.get("cmd"))
    workdir = _optional_argument(given, "workdir", "working_directory")
    if isinstance(command, str):
        return ShellCall(command, workdir)
    if (
        not isinstance(command, list)
        or not command
        or not all(isinstance(word, str) for word in command)
    ):
        raise WireFormatError("The input needs a `command`.")
    if command[0] == "apply_patch" and len(command) == 2:
        return _parse_patch_text(command[1])
    if (
        len(command) == 3
        and command[0].rpartition("/")[2] in ("sh", "bash", "zsh")
        and command[1] in ("-c", "-lc")
    ):
        return ShellCall(command[2], workdir)
    return ShellCall(shlex.join(command), workdir)


def _parse_patch_call(use: ToolUse) -> ForkToolCall:
    text = _text_argument(use.input, ("input", "patch"), default="") or (use.arguments or "")
    return _parse_patch_text(text)


def _parse_patch_text(text: str) -> ForkToolCall:
    files = parse_file_patches(text)
    if isinstance(files, PatchRejection):
        raise WireFormatError(files.why)
    return ApplyPatchCall(files)


def _parse_text_editor(use: ToolUse) -> ForkToolCall:
    """Parse Anthropic's text editor: one tool with a `command`."""
    given = use.input
    path = _text_argument(given, _PATH_KEYS)
    match given.get("command"):
        case "view":
            return _parse_view(given, path)
        case "create":
            return WriteFileCall(path, _text_argument(given, _CONTENT_KEYS))
        case "str_replace":
            return EditFileCall(
                path,
                (
                    TextReplacement(
                        _text_argument(given, _OLD_TEXT_KEYS),
                        _text_argument(given, _NEW_TEXT_KEYS, default=""),
                    ),
                ),
            )
        case "insert":
            line = _number_argument(given, "insert_line")
            if line is None:
                raise WireFormatError("The input needs a number `insert_line`.")
            return InsertTextCall(path, line, _text_argument(given, ("insert_text", "new_str")))
        case other:
            raise WireFormatError(
                f"There is no command `{str(other)[:40]}`: it is one of view, create, "
                f"str_replace, insert."
            )


def _parse_view(given: JsonObject, path: str) -> ForkToolCall:
    span = given.get("view_range")
    if (
        not isinstance(span, list)
        or len(span) != 2
        or not all(isinstance(number, int) for number in span)
    ):
        return ReadFileCall(path=path, numbered=True)
    first = max(1, span[0])
    return ReadFileCall(
        path=path,
        first_line=first,
        line_count=None if span[1] < 0 else max(0, span[1] - first + 1),
        numbered=True,
    )


_CALL_PARSERS: dict[str, Callable[[ToolUse], ForkToolCall]] = {
    name: parse
    for parse, names in (
        (_parse_read, "read readfile view"),
        (_parse_edit, "edit editfile replace"),
        (_parse_multi_edit, "multiedit"),
        (_parse_write, "write writefile createfile"),
        (_parse_search, "grep grepsearch searchfilecontent"),
        (_parse_list, "glob ls listdirectory"),
        (
            _parse_shell,
            "bash shell shellcommand execcommand localshell localshellcall runshellcommand",
        ),
        (_parse_patch_call, "applypatch"),
        (_parse_text_editor, "strreplacebasededittool strreplaceeditor"),
    )
    for name in names.split()
}
_EDIT_TOOLS = parse_word_list(
    """
         edit editfile replace multiedit applypatch strreplacebasededittool strreplaceeditor
    """
)
