"""Split a history into extracts: short runs of lines, each with its source. Pure.

Duplicates are not removed here: `ExtractSelection` weighs an extract by the content that is not
covered yet.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from memorist.core.later import late_pattern
from memorist.core.messages import SHOWN_ANEW, JsonObject, Message, Origin, Text, Thinking, ToolResult, ToolUse
from memorist.session_memory.actions import Action, Changes, Plans, PlansOne, Reads, Runs, action_of
from memorist.session_memory.paths import relative

Kind = Literal["said", "thought", "injected", "call", "change", "file", "output", "error"]
"""Kind of an extract: words of the assistant, its reasoning, text a host injected, a call's input,
changed text, a file as read, output of a call, output of a failed call.
"""

CHUNK_LINES = 8
"""Lines of one extract: about a paragraph, or a short function."""

CHUNK_CHARACTERS = 480
"""Largest number of characters of one extract; longer lines are split."""

PARAGRAPH_LINES = 5
"""Lines after which a blank line ends an extract."""

_NUMBER_DIGITS = 9
_CHANGES_LIMIT = 40
_TITLE_COMMAND = 60
_NUMBERED = late_pattern(r"^ *(\d+)(?:→|\t)(.*)$", re.MULTILINE)
_LONG_NUMBER = late_pattern(r"^ *\d{5}", re.MULTILINE)
_REMINDER = late_pattern(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL)
_ANSI = late_pattern(r"\x1b\[[0-9;?]*[A-Za-z]")
_PATCH_START = "*** Begin Patch"


class Source(Struct, frozen=True):
    """The source of extracts: one block of the history."""

    id: str
    """The tool use's id for a result, else the message's id."""
    step: int
    """Number of the message, counted from 1."""
    kind: Kind
    title: str
    """Description shown in the heading line above its extracts."""
    path: str = ""


class Unit(Struct, frozen=True):
    """One extract. `first` and `last` are line numbers in a file, 0 where unknown; `part` is its
    index within the source.
    """

    source: Source
    part: int
    lines: tuple[str, ...]
    first: int = 0
    last: int = 0

    @property
    def text(self) -> str:
        """The lines joined, unchanged."""
        return "\n".join(self.lines)


class Piece(Struct, frozen=True):
    """The text of a block with its source."""

    source: Source
    text: str


class Parts(Struct, frozen=True):
    """A block and its extracts. `is_whole` means that the extracts hold exactly the names of the
    block: no line was cut within a word, and no line number is long enough to count as a name.
    """

    piece: Piece
    units: list[Unit]
    whole: bool


def pieces(messages: Sequence[Message], root: str = "") -> list[Piece]:
    """The texts of a history with their sources, in order; titles show paths relative to `root`.
    The user's own texts are collected by `collect_utterances`.
    """
    calls: dict[str, Action] = {}
    found: list[Piece] = []
    for step, message in enumerate(messages, 1):
        for block in () if message.id.startswith(SHOWN_ANEW) else message.blocks:
            match block:
                case Text(text=text, origin=origin) if (origin or message.origin) is not Origin.USER:
                    kind: Kind = "said" if (origin or message.origin) is Origin.MODEL else "injected"
                    found.append(Piece(Source(message.id, step, kind, _SPEAKER[kind]), text))
                case Thinking(text=text):
                    found.append(Piece(Source(message.id, step, "thought", "reasoning"), text))
                case ToolUse():
                    action = calls[block.id] = action_of(block)
                    found.extend(_call(Source(message.id, step, "call", ""), block, action, root))
                case ToolResult():
                    found.append(_result(step, block, calls.get(block.tool_use_id), root))
                case _:
                    pass
    return found


_SPEAKER = {"said": "the assistant said", "injected": "put in by the harness"}


def _call(base: Source, use: ToolUse, action: Action, root: str) -> Iterator[Piece]:
    match action:
        case Changes(changes=changes) if changes and (patch := _patch_of(use)):
            names = ", ".join(relative(change.path, root) for change in changes[:3])
            yield _piece(base, "change", f"patched {names}", changes[0].path, patch)
        case Changes(changes=changes) if changes:
            for change in changes[:_CHANGES_LIMIT]:
                yield _piece(base, "change", f"changed {relative(change.path, root)}", change.path, change.new)
        case Runs(command=command):
            yield _piece(base, "call", "ran", "", command)
        case Reads(paths=paths):
            yield _piece(base, "call", "looked at", paths[0] if paths else "", "\n".join(values(use.input)))
        case Plans() | PlansOne():
            pass
        case _:
            yield _piece(base, "call", f"called {use.name}", "", "\n".join(values(use.input)) or use.arguments or "")


def _piece(base: Source, kind: Kind, title: str, path: str, text: str) -> Piece:
    return Piece(Source(base.id, base.step, kind, title, path), text)


def _patch_of(use: ToolUse) -> str:
    """The text of an `apply_patch` patch that this call carries, if any."""
    texts = [use.arguments or "", *values(use.input)]
    return next((text for text in reversed(texts) if _PATCH_START in text), "")


def _result(step: int, result: ToolResult, action: Action | None, root: str) -> Piece:
    text = _ANSI.sub("", _REMINDER.sub("", result.text)).strip("\n")
    kind: Kind = "error" if result.is_error else "output"
    title, path = "answer", ""
    match action:
        case Reads(paths=paths) if paths:
            title, path = f"from {relative(paths[0], root)}", paths[0]
            kind = "error" if result.is_error else "file"
        case Changes(changes=changes) if changes:
            title, path = f"{relative(changes[0].path, root)} after the change", changes[0].path
        case Runs(short=short, reads=reads):
            title, path = f"output of `{short[:_TITLE_COMMAND]}`", reads[0] if reads else ""
            kind = "file" if reads and kind == "output" else kind
        case _:
            pass
    return Piece(Source(result.tool_use_id, step, kind, title.replace("\n", " "), path), text)


def values(given: JsonObject) -> list[str]:
    """The texts in a tool's input, in order."""
    found: list[str] = []
    stack: list[object] = [given]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict):
            stack.extend(reversed(value.values()))
        elif isinstance(value, list):
            stack.extend(reversed(value))
    return found


def taken_apart(piece: Piece) -> Parts:
    """The extracts of a block, in order."""
    lines, cut = _short_lines(piece.text)
    numbered = cut or _NUMBERED.search(piece.text) is not None
    whole = not cut and not (numbered and _LONG_NUMBER.search(piece.text))
    return Parts(piece, list(_units(piece.source, lines, numbered=numbered)), whole)


def _units(source: Source, lines: Sequence[str], *, numbered: bool) -> Iterator[Unit]:
    part = start = size = 0
    for at, (line, length) in enumerate(zip(lines, map(len, lines), strict=True)):
        if at > start and (at - start >= CHUNK_LINES or size + length > CHUNK_CHARACTERS):
            yield from _unit(source, part, lines[start:at], numbered=numbered)
            start, size, part = at, 0, part + 1
        size += length
        if at - start >= PARAGRAPH_LINES - 1 and (not line or line.isspace()):
            yield from _unit(source, part, lines[start : at + 1], numbered=numbered)
            start, size, part = at + 1, 0, part + 1
    yield from _unit(source, part, lines[start:], numbered=numbered)


def _unit(source: Source, part: int, run: Sequence[str], *, numbered: bool) -> Iterator[Unit]:
    """One extract without the line numbers that a file reader printed (where any line is
    `numbered`); nothing for blank lines only.
    """
    if not "".join(run).strip():
        return
    found = [_NUMBERED.match(line) for line in run] if numbered else []
    numbers = [int(each[1][:_NUMBER_DIGITS]) for each in found if each]
    if not numbers:
        yield Unit(source, part, tuple([line.rstrip() for line in run]))
        return
    lines = tuple([(each[2] if each else line).rstrip() for each, line in zip(found, run, strict=True)])
    yield Unit(source, part, lines, numbers[0], numbers[-1])


def _short_lines(text: str) -> tuple[list[str], bool]:
    """The lines, with very long ones split at a space or else anywhere; and whether any was split.
    """
    lines = text.split("\n")
    if len(text) <= CHUNK_CHARACTERS or max(map(len, lines)) <= CHUNK_CHARACTERS:
        return lines, False
    found: list[str] = []
    for line in lines:
        rest = line
        while len(rest) > CHUNK_CHARACTERS:
            cut = rest.rfind(" ", CHUNK_CHARACTERS // 2, CHUNK_CHARACTERS)
            cut = cut if cut > 0 else CHUNK_CHARACTERS
            found.append(rest[:cut])
            rest = rest[cut:]
        found.append(rest)
    return found, True
