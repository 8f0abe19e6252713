"""Split a history into extracts: short runs of lines, each with its source. Pure.

Duplicates are not removed here: `ExtractSelector` weighs an extract by the content that is not
covered yet.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from memorist.core.lazy import lazy_pattern
from memorist.core.messages import (
    REINJECTED_ID_PREFIXES,
    JsonObject,
    Message,
    Origin,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolUse,
)
from memorist.transcript_analysis.display_paths import make_display_path
from memorist.transcript_analysis.tool_actions import (
    ChangeAction,
    CommandAction,
    ReadAction,
    TaskListAction,
    TaskUpdateAction,
    ToolAction,
    parse_tool_action,
)

ExtractKind = Literal["said", "thought", "injected", "call", "change", "file", "output", "error"]
"""Kind of an extract: words of the assistant, its reasoning, text a host injected, a call's input,
changed text, a file as read, output of a call, output of a failed call.
"""

MAX_EXTRACT_LINES = 8
"""Lines of one extract: about a paragraph, or a short function."""

MAX_EXTRACT_CHARACTERS = 480
"""Largest number of characters of one extract; longer lines are split."""

MIN_LINES_TO_END_AT_BLANK = 5
"""Lines after which a blank line ends an extract."""

_NUMBER_DIGITS = 9
_CHANGES_LIMIT = 40
_TITLE_COMMAND = 60
_NUMBERED = lazy_pattern(r"^ *(\d+)(?:→|\t)(.*)$", re.MULTILINE)
_REMINDER = lazy_pattern(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL)
_ANSI = lazy_pattern(r"\x1b\[[0-9;?]*[A-Za-z]")
_PATCH_START = "*** Begin Patch"


class ExtractSourceReference(Struct, frozen=True):
    """The source of extracts: one block of the history."""

    id: str
    """The tool use's id for a result, else the message's id."""
    step: int
    """Number of the message, counted from 1."""
    kind: ExtractKind
    title: str
    """Description shown in the heading line above its extracts."""
    path: str = ""


class Extract(Struct, frozen=True):
    """One extract. `first` and `last` are line numbers in a file, 0 where unknown; `part` is its
    index within the source.
    """

    source: ExtractSourceReference
    part: int
    lines: tuple[str, ...]
    first: int = 0
    last: int = 0

    @property
    def text(self) -> str:
        """The lines joined, unchanged."""
        return "\n".join(self.lines)


class SourceBlock(Struct, frozen=True):
    """The text of a block with its source."""

    source: ExtractSourceReference
    text: str


def collect_source_blocks(messages: Sequence[Message], root: str = "") -> list[SourceBlock]:
    """The texts of a history with their sources, in order; titles show paths relative to `root`.
    The user's own texts are collected by `list_typed_utterances_with_counts`.
    """
    calls: dict[str, ToolAction] = {}
    found: list[SourceBlock] = []
    for step, message in enumerate(messages, 1):
        for block in () if message.id.startswith(REINJECTED_ID_PREFIXES) else message.blocks:
            match block:
                case TextBlock(text=text, origin=origin) if (
                    origin or message.origin
                ) is not Origin.USER:
                    kind: ExtractKind = (
                        "said" if (origin or message.origin) is Origin.MODEL else "injected"
                    )
                    found.append(
                        SourceBlock(
                            ExtractSourceReference(message.id, step, kind, _SPEAKER_TITLES[kind]),
                            text,
                        )
                    )
                case ThinkingBlock(text=text):
                    found.append(
                        SourceBlock(
                            ExtractSourceReference(message.id, step, "thought", "reasoning"), text
                        )
                    )
                case ToolUse():
                    action = calls[block.id] = parse_tool_action(block)
                    found.extend(
                        _collect_call_blocks(
                            ExtractSourceReference(message.id, step, "call", ""),
                            block,
                            action,
                            root,
                        )
                    )
                case ToolResult():
                    found.append(
                        _build_result_block(step, block, calls.get(block.tool_use_id), root)
                    )
                case _:
                    pass
    return found


_SPEAKER_TITLES = {"said": "the assistant said", "injected": "put in by the harness"}


def _collect_call_blocks(
    base: ExtractSourceReference, use: ToolUse, action: ToolAction, root: str
) -> Iterator[SourceBlock]:
    match action:
        case ChangeAction(changes=changes) if changes and (patch := _find_patch(use)):
            names = ", ".join(make_display_path(change.path, root) for change in changes[:3])
            yield _build_source_block(base, "change", f"patched {names}", changes[0].path, patch)
        case ChangeAction(changes=changes) if changes:
            for change in changes[:_CHANGES_LIMIT]:
                yield _build_source_block(
                    base,
                    "change",
                    f"changed {make_display_path(change.path, root)}",
                    change.path,
                    change.new,
                )
        case CommandAction(command=command):
            # Of a program that calls the tools, `command` is what it runs put together.
            text = command if use.input else use.arguments or command
            yield _build_source_block(base, "call", "ran", "", text)
        case ReadAction(paths=paths):
            yield _build_source_block(
                base,
                "call",
                "looked at",
                paths[0] if paths else "",
                "\n".join(list_texts_in_tool_input(use.input)),
            )
        case TaskListAction() | TaskUpdateAction():
            pass
        case _:
            yield _build_source_block(
                base,
                "call",
                f"called {use.name}",
                "",
                "\n".join(list_texts_in_tool_input(use.input)) or use.arguments or "",
            )


def _build_source_block(
    base: ExtractSourceReference, kind: ExtractKind, title: str, path: str, text: str
) -> SourceBlock:
    return SourceBlock(ExtractSourceReference(base.id, base.step, kind, title, path), text)


def _find_patch(use: ToolUse) -> str:
    """The text of an `apply_patch` patch that this call carries, if any."""
    texts = [use.arguments or "", *list_texts_in_tool_input(use.input)]
    return next((text for text in reversed(texts) if _PATCH_START in text), "")


def _build_result_block(
    step: int, result: ToolResult, action: ToolAction | None, root: str
) -> SourceBlock:
    text = _ANSI.sub("", _REMINDER.sub("", result.text)).strip("\n")
    kind: ExtractKind = "error" if result.is_error else "output"
    title, path = "answer", ""
    match action:
        case ReadAction(paths=paths) if paths:
            title, path = f"from {make_display_path(paths[0], root)}", paths[0]
            kind = "error" if result.is_error else "file"
        case ChangeAction(changes=changes) if changes:
            title = f"{make_display_path(changes[0].path, root)} after the change"
            path = changes[0].path
        case CommandAction(short_command=short, reads=reads):
            title, path = f"output of `{short[:_TITLE_COMMAND]}`", reads[0] if reads else ""
            kind = "file" if reads and kind == "output" else kind
        case _:
            pass
    return SourceBlock(
        ExtractSourceReference(result.tool_use_id, step, kind, title.replace("\n", " "), path), text
    )


def list_texts_in_tool_input(inputs: JsonObject) -> list[str]:
    """The texts in a tool's input, in order."""
    found: list[str] = []
    stack: list[object] = [inputs]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict):
            stack.extend(reversed(value.values()))
        elif isinstance(value, list):
            stack.extend(reversed(value))
    return found


def split_into_extracts(piece: SourceBlock) -> list[Extract]:
    """The extracts of a block, in order."""
    lines, cut = _wrap_long_lines(piece.text)
    numbered = cut or _NUMBERED.search(piece.text) is not None
    return list(_split_lines(piece.source, lines, numbered=numbered))


def _split_lines(
    source: ExtractSourceReference, lines: Sequence[str], *, numbered: bool
) -> Iterator[Extract]:
    part = start = size = 0
    for at, (line, length) in enumerate(zip(lines, map(len, lines), strict=True)):
        if at > start and (
            at - start >= MAX_EXTRACT_LINES or size + length > MAX_EXTRACT_CHARACTERS
        ):
            yield from _build_extract(source, part, lines[start:at], numbered=numbered)
            start, size, part = at, 0, part + 1
        size += length
        if at - start >= MIN_LINES_TO_END_AT_BLANK - 1 and (not line or line.isspace()):
            yield from _build_extract(source, part, lines[start : at + 1], numbered=numbered)
            start, size, part = at + 1, 0, part + 1
    yield from _build_extract(source, part, lines[start:], numbered=numbered)


def _build_extract(
    source: ExtractSourceReference, part: int, run: Sequence[str], *, numbered: bool
) -> Iterator[Extract]:
    """One extract without the line numbers that a file reader printed (where any line is
    `numbered`); nothing for blank lines only.
    """
    if not "".join(run).strip():
        return
    found = [_NUMBERED.match(line) for line in run] if numbered else []
    numbers = [int(each[1][:_NUMBER_DIGITS]) for each in found if each]
    if not numbers:
        yield Extract(source, part, tuple([line.rstrip() for line in run]))
        return
    lines = tuple(
        [(each[2] if each else line).rstrip() for each, line in zip(found, run, strict=True)]
    )
    yield Extract(source, part, lines, numbers[0], numbers[-1])


def _wrap_long_lines(text: str) -> tuple[list[str], bool]:
    """The lines, with very long ones split at a space or else anywhere; and whether any was
    split.
    """
    lines = text.split("\n")
    if len(text) <= MAX_EXTRACT_CHARACTERS or max(map(len, lines)) <= MAX_EXTRACT_CHARACTERS:
        return lines, False
    found: list[str] = []
    for line in lines:
        start = 0  # an index, as cutting the rest off each time would take quadratic time
        while len(line) - start > MAX_EXTRACT_CHARACTERS:
            middle = start + MAX_EXTRACT_CHARACTERS // 2
            cut = line.rfind(" ", middle, start + MAX_EXTRACT_CHARACTERS)
            cut = cut if cut > 0 else start + MAX_EXTRACT_CHARACTERS
            found.append(line[start:cut])
            start = cut
        found.append(line[start:])
    return found, True
