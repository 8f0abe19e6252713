"""Attributes each line of a memory to the change that introduced it."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from msgspec import Struct

from memorist.auto_memory.memory_changes import RecordedChange
from memorist.auto_memory.memory_folder import MemoryFolder
from memorist.core.text_encoding import replace_surrogates
from memorist.errors import InputError


class BlamedLine(Struct, frozen=True):
    """One current line, and the id of the change that introduced it."""

    text: str
    change: str


def blame_lines(versions: Sequence[tuple[str, str]]) -> tuple[BlamedLine, ...]:
    """Attribute the lines of the newest version.

    `versions` holds (change id, text) pairs, oldest first.
    """
    lines: list[BlamedLine] = []
    for change, text in versions:
        new = text.splitlines()
        matcher = SequenceMatcher(None, [line.text for line in lines], new, autojunk=False)
        merged: list[BlamedLine] = []
        for tag, start, end, first, last in matcher.get_opcodes():
            merged += (
                lines[start:end]
                if tag == "equal"
                else [BlamedLine(each, change) for each in new[first:last]]
            )
        lines = merged
    return tuple(lines)


def blame_memory(
    folder: MemoryFolder, path: str
) -> tuple[list[RecordedChange], tuple[BlamedLine, ...]]:
    """The changes of a memory, oldest first, and the change that each of its lines comes from.

    Raises InputError for a memory that the history does not know, and one too large to be recorded.
    """
    history = folder.history
    log = list(reversed(history.list_changes(path)))
    if not log:
        raise InputError(f"the history knows no memory {path}; `memorist memory list` shows all")
    if path in folder.listing.headers:
        folder.read_memory_file(path)  # refuses what is too large
    data = [history.read_file(path, each.id) or b"" for each in log]
    texts = [replace_surrogates(each.decode("utf-8", "surrogateescape")) for each in data]
    return log, blame_lines([(each.id, text) for each, text in zip(log, texts, strict=True)])
