"""Edits of a file's text, and how a file is shown to the model. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from memorist.core.apply_patch import (
    AddFilePatch,
    FilePatch,
    PatchRejection,
    UpdateFilePatch,
    apply_hunks,
)
from memorist.forks.file_tool_calls import (
    EditFileCall,
    InsertTextCall,
    TextReplacement,
    WriteFileCall,
)

TextTransform = Callable[[str | None], str | PatchRejection]
"""From a file's text (None when there is no file) to its new text."""

DEFAULT_LINE_COUNT = 2_000
"""Lines shown of a file when the call names no number, as in the hosts' own read tools."""


MAX_LINE_CHARACTERS = 2_000
"""Longer lines are cut when shown; an edit sees them whole."""


def apply_text_replacements(
    text: str, replacements: Iterable[TextReplacement]
) -> str | PatchRejection:
    """Apply all replacements in order, or return why one of them does not apply.

    In a file with CRLF line ends, plain LF in the old and new text stands for CRLF.
    """
    windows = "\r\n" in text
    for change in replacements:
        old, new = change.old, change.new
        if windows and "\r" not in old:
            old, new = old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")
        if not old:
            return PatchRejection("The file exists: name the text that is to be replaced.")
        if old == new:
            return PatchRejection("The old and the new text are the same.")
        count = text.count(old)
        if count == 0:
            return PatchRejection(
                f"The text does not stand in the file exactly so: {_first_line(old)}"
            )
        if count > 1 and not change.replace_all:
            return PatchRejection(
                f"The text stands in the file {count} times (lines "
                f"{_line_numbers(text, old)}): give more of what is around it."
            )
        text = text.replace(old, new)
    return text


def insert_text_after_line(text: str, change: InsertTextCall) -> str | PatchRejection:
    """Insert a piece after a line; the piece becomes whole lines."""
    lines = [f"{line}\n" for line in text.split("\n")]  # as they are numbered when shown
    lines[-1] = lines[-1][:-1]
    lines = lines if lines[-1] else lines[:-1]
    if not 0 <= change.line <= len(lines):
        return PatchRejection(
            f"The file has {len(lines)} lines: insert_line is between 0 and {len(lines)}."
        )
    if change.line and not lines[change.line - 1].endswith("\n"):
        lines[change.line - 1] += "\n"
    piece = (
        change.text
        if change.text.endswith("\n") or change.line == len(lines)
        else change.text + "\n"
    )
    return "".join([*lines[: change.line], piece, *lines[change.line :]])


def _first_line(text: str) -> str:
    line = next((line for line in text.splitlines() if line.strip()), "")
    return line[:120]


def _line_numbers(text: str, piece: str) -> str:
    numbers: list[str] = []
    at = text.find(piece)
    while at >= 0 and len(numbers) < 10:
        numbers.append(str(text.count("\n", 0, at) + 1))
        at = text.find(piece, at + len(piece))
    return ", ".join(numbers)


def render_file_lines(text: str, *, first: int, lines: int | None, numbered: bool) -> str:
    """Render the requested lines, with line numbers (width 6, then a tab) if `numbered`, and a
    remark when the file continues.
    """
    every = text.split("\n")
    if every and not every[-1]:
        every.pop()
    if not every:
        return "(The file is empty.)"
    last = min(len(every), first - 1 + (DEFAULT_LINE_COUNT if lines is None else lines))
    shown = [
        line if len(line) <= MAX_LINE_CHARACTERS else line[:MAX_LINE_CHARACTERS] + " … (line cut)"
        for line in every[first - 1 : last]
    ]
    if numbered:
        shown = [f"{number:>6}\t{line}" for number, line in enumerate(shown, start=first)]
    if last < len(every) or not shown:
        shown.append(f"(The file has {len(every)} lines.)")
    return "\n".join(shown)


def build_edit_transform(call: EditFileCall | InsertTextCall | WriteFileCall) -> TextTransform:
    """The change of a file's text that a call asks for."""

    def make(text: str | None) -> str | PatchRejection:
        match call:
            case WriteFileCall():
                return call.text
            case EditFileCall() if text is None:
                only = call.replacements[0]
                if not only.old and len(call.replacements) == 1:
                    return only.new
                return PatchRejection("There is no such file.")
            case InsertTextCall() if text is None:
                return PatchRejection("There is no such file.")
            case EditFileCall():
                return apply_text_replacements(text or "", call.replacements)
            case InsertTextCall():
                return insert_text_after_line(text or "", call)

    return make


def build_patch_transform(file: FilePatch) -> TextTransform:
    """The change of one file that a patch asks for."""

    def make(text: str | None) -> str | PatchRejection:
        match file:
            case AddFilePatch():
                return file.text
            case UpdateFilePatch() if text is not None:
                return apply_hunks(text, file.hunks)
            case _:
                return PatchRejection("There is no such file.")

    return make
