"""Edit TOML as text, table by table: whatever does not change keeps its bytes, comments included.

Pure.

Codex rewrites its settings in a layout of its own (`codex mcp add` turns an inline table into one
with a header), so tables are found by the path of their header, and callers must parse the result
again before they trust it.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct

from memorist.errors import InputError

TomlPath = tuple[str, ...]
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


class TomlTable(Struct, frozen=True):
    """A table with a header: the lines from its header to its last value.

    Trailing blank lines and comments belong to what follows.
    """

    path: TomlPath
    start: int
    end: int


def parse_toml(text: str, *, parse_float: Callable[[str], Any] = str) -> dict[str, Any]:
    """Parse the text; floats stay strings (`nan` does not even equal itself).

    Raises InputError for invalid TOML.

    A byte order mark is ignored, as Codex does.
    """
    try:
        return tomllib.loads(text.removeprefix("\ufeff"), parse_float=parse_float)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"it is not valid TOML: {error}") from error


def split_toml_lines(text: str) -> list[str]:
    """The lines, each with its line end."""
    return _LINE.findall(text)


def find_toml_tables(lines: Sequence[str], path: TomlPath) -> list[TomlTable]:
    """The tables of this path and below it, in order.

    A line inside a multi-line string may look like a header; parse the result to be sure.
    """
    headers = [
        (number, found) for number, line in enumerate(lines) if (found := _parse_header(line))
    ]
    starts = [number for number, _ in headers]
    ends = [*starts[1:], len(lines)] if starts else []
    return [
        TomlTable(found, start, _last_value_line(lines, start, end))
        for (start, found), end in zip(headers, ends, strict=True)
        if found[: len(path)] == path
    ]


def _parse_header(line: str) -> TomlPath:
    """The path of a table header; empty for any other line."""
    said = line.removeprefix("\ufeff").strip()
    if not said.startswith("["):
        return ()
    try:
        value: Any = tomllib.loads(said)
    except (tomllib.TOMLDecodeError, RecursionError):
        return ()
    path: list[str] = []
    while value := value[0] if isinstance(value, list) else value:
        ((key, value),) = value.items()
        path.append(key)
    return tuple(path)


def _last_value_line(lines: Sequence[str], start: int, end: int) -> int:
    while end > start + 1 and lines[end - 1].strip()[:1] in ("", "#"):
        end -= 1
    return end


def remove_toml_tables(text: str, path: TomlPath) -> str:
    """Remove the tables of a path and below it, and one blank line before each."""
    lines = split_toml_lines(text)
    removed: set[int] = set()
    for table in find_toml_tables(lines, path):
        removed.update(range(table.start, table.end))
        if table.start and not lines[table.start - 1].strip():
            removed.add(table.start - 1)
    return "".join(line for number, line in enumerate(lines) if number not in removed)


def append_toml_table(text: str, block: str) -> str:
    """Append a table after a blank line, with the line ends of the text."""
    end = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text else end if text.endswith("\n") else end * 2
    return text + gap + block.replace("\n", end)


def replace_toml_assignments(
    text: str, table: TomlTable, assignments: str, keys: Collection[str]
) -> str:
    """Put these assignments under a table's header and remove its old values of `keys`.

    Raises InputError.
    """
    lines = split_toml_lines(text)
    end = "\r\n" if "\r\n" in text else "\n"
    kept = "".join(
        each
        for each in split_toml_statements(lines[table.start + 1 : table.end])
        if not set(parse_toml(each)) & set(keys)
    )
    return "".join(
        [*lines[: table.start + 1], assignments.replace("\n", end), kept, *lines[table.end :]]
    )


def split_toml_statements(lines: Sequence[str]) -> list[str]:
    """Group the lines of a table into statements that parse alone: a list may span several lines.

    Raises InputError.
    """
    found: list[str] = []
    open_ = ""
    for line in lines:
        open_ += line
        try:
            tomllib.loads(open_)
        except tomllib.TOMLDecodeError:
            continue
        found.append(open_)
        open_ = ""
    if open_:
        parse_toml(open_)
    return found


def format_toml_assignment(key: str, value: str | Sequence[str] | Mapping[str, str]) -> str:
    """An assignment of a string, a list of strings, or a table of strings."""
    return f"{key} = {_format_value(value)}\n"


def _format_value(value: str | Sequence[str] | Mapping[str, str]) -> str:
    if isinstance(value, str):
        return quote_toml_string(value)
    if isinstance(value, Mapping):
        pairs = (f"{_format_key(key)} = {quote_toml_string(each)}" for key, each in value.items())
        return f"{{ {', '.join(pairs)} }}"
    return f"[{', '.join(map(quote_toml_string, value))}]"


def _format_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else quote_toml_string(key)


def quote_toml_string(text: str) -> str:
    """A basic string.

    TOML has JSON's escapes, but no surrogate pairs, and DEL must be escaped too.
    """
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
