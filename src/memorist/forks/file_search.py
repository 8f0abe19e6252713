"""Search and listing over the file system port. Matching is left to `grep`: a pattern with
runaway backtracking is stopped by killing the process.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from pathlib import Path

from msgspec import Struct

from memorist.core.glob_patterns import expand_glob_braces, matches_any_glob
from memorist.errors import InputError
from memorist.forks.file_tool_calls import ListFilesCall, SearchCall
from memorist.forks.shell_command import run_limited_program
from memorist.ports import FileSystem

MAX_SEARCHED_FILES = 5_000


MAX_SEARCHED_FILE_BYTES = 1_000_000


MAX_SEARCHED_BYTES = 20_000_000
"""Limits of one search: far above any memory folder, and read within a second."""


MAX_SHOWN_ENTRIES = 200
"""Entries shown when the call names no number: more is no answer to a narrow question."""


MAX_MATCH_CHARACTERS = 500


_MAX_GREP_BYTES = 2_000_000


class ConcatenatedFiles(Struct, frozen=True):
    """Several files as one text, with each file's name and the number of lines before it."""

    data: bytes
    names: tuple[str, ...]
    starts: tuple[int, ...]


async def list_files(files: FileSystem, folder: Path, call: ListFilesCall) -> str:
    """List the paths below the folder that match the pattern. Raises StoreError."""
    names = [
        str(path) for path in await asyncio.to_thread(_find_files, files, folder, call.pattern)
    ]
    return _render_entries(names, None, "No file fits.")


async def render_file_matches(files: FileSystem, root: Path, call: SearchCall) -> str:
    """The files, lines or counts that match. `root` is a file or a folder. Raises StoreError, and
    InputError for an invalid pattern.
    """
    lines = await asyncio.to_thread(_join_files, files, root, call.glob)
    found = await _grep_lines(lines, call)
    named: list[tuple[str, int, str]] = []
    for number, text in found:
        index = bisect_right(lines.starts, number - 1) - 1
        named.append(
            (lines.names[index], number - lines.starts[index], text[:MAX_MATCH_CHARACTERS])
        )
    if call.show == "lines":
        return _render_entries(
            [f"{name}:{number}:{text}" for name, number, text in named],
            call.limit,
            "No line matches.",
        )
    counts: dict[str, int] = {}
    for name, _, _ in named:
        counts[name] = counts.get(name, 0) + 1
    entries = (
        [f"{name}:{count}" for name, count in counts.items()]
        if call.show == "count"
        else list(counts)
    )
    return _render_entries(entries, call.limit, "No file matches.")


def _render_entries(entries: list[str], limit: int | None, none: str) -> str:
    most = limit if limit is not None and limit > 0 else MAX_SHOWN_ENTRIES
    rest = len(entries) - most
    return (
        "\n".join(entries[:most] + ([f"({rest} more: narrow the search.)"] if rest > 0 else []))
        or none
    )


def _find_files(files: FileSystem, folder: Path, pattern: str | None) -> list[Path]:
    """Regular files below the folder, without links and git's own folders."""
    found = []
    patterns = expand_glob_braces([pattern or "**"])
    for path in files.walk(folder, limit=MAX_SEARCHED_FILES):
        relative = path.relative_to(folder)
        if ".git" not in relative.parts and matches_any_glob(relative.as_posix(), patterns):
            facts = files.lstat(path)
            if facts is not None and facts.is_file:
                found.append(path)
    return found


def _join_files(files: FileSystem, root: Path, pattern: str | None) -> ConcatenatedFiles:
    facts = files.lstat(root)
    paths = [root] if facts is not None and facts.is_file else _find_files(files, root, pattern)
    data = bytearray()
    names: list[str] = []
    starts: list[int] = []
    count = 0
    for path in paths:
        facts = files.lstat(path)
        if (
            facts is None
            or facts.size > MAX_SEARCHED_FILE_BYTES
            or len(data) + facts.size > MAX_SEARCHED_BYTES
        ):
            continue
        text = files.read(path, limit=MAX_SEARCHED_FILE_BYTES)
        if b"\0" in text:
            continue
        names.append(str(path))
        starts.append(count)
        text = text if text.endswith(b"\n") else text + b"\n"
        count += text.count(b"\n")
        data += text
    return ConcatenatedFiles(bytes(data), tuple(names), tuple(starts))


async def _grep_lines(lines: ConcatenatedFiles, call: SearchCall) -> list[tuple[int, str]]:
    """Numbers (from 1) and texts of the matching lines. Perl syntax, which models write, or
    extended syntax where grep lacks it.
    """
    said = ""
    for syntax in ("-P", "-E"):
        flags = ["-n", "-a", syntax, *(["-i"] if call.ignore_case else [])]
        ran = await run_limited_program(
            ["grep", *flags, "-e", call.pattern],
            cwd=Path("/"),
            stdin=lines.data,
            limit=_MAX_GREP_BYTES,
        )
        if ran.stop_reason and not ran.output:
            raise InputError(f"The search was {ran.stop_reason}: use a simpler pattern.")
        if ran.stop_reason or ran.status in (0, 1):
            pairs = (line.split(":", 1) for line in ran.output.split("\n") if ":" in line)
            return [(int(number), text) for number, text in pairs if number.isdigit()]
        said = ran.output.strip()
    raise InputError(f"The pattern cannot be used: {said[:200]}")
