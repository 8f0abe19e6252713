"""When a model extracts memories, from which messages, and with which prompt (AM-5 to AM-7). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct

from memorist.auto_memory.kinds import SHAPES
from memorist.auto_memory.manifest import Head, manifest
from memorist.auto_memory.settings import AutoMemorySettings
from memorist.core.messages import Message, Origin, ToolUse
from memorist.core.template import render
from memorist.forks.calls import ApplyPatch, EditFile, InsertText, WriteFile
from memorist.forks.tools import recognise

MEMORY_TOOL = "memory"
"""Anthropic's memory tool (claude-code.md section 13.3)."""
OWN_TOOL = re.compile(r"(?:^|_)memorist_+memory_(?:write|forget)$")
"""The tools of memorist's MCP server as clients name them, such as `mcp__memorist__memory_write`.
"""
_CHANGING = frozenset({"create", "str_replace", "insert", "delete", "rename"})


class Cursor(Struct, frozen=True, kw_only=True):
    """How far a session's memories have been extracted; stored beside its transcript."""

    message: str = ""
    """Id of the last message that was examined; empty for none."""
    turns: int = 0
    """Turns since the last extraction."""


class Texts(Struct, frozen=True):
    """The prompt templates of extraction."""

    extract: str
    asked: str


def changes_memory(use: ToolUse, folder: Path) -> bool:
    """Whether a tool call of the host's agent changes memory.

    It may do so with a file tool, with Anthropic's memory tool, or through memorist's MCP server.
    """
    if use.name == MEMORY_TOOL:
        return use.input.get("command") in _CHANGING
    if OWN_TOOL.search(f"{use.namespace}__{use.name}" if use.namespace else use.name):
        return True
    match recognise(use):
        case EditFile(path=path) | WriteFile(path=path) | InsertText(path=path):
            return _inside(path, folder)
        case ApplyPatch(files=files):
            return any(_inside(file.path, folder) for file in files)
        case _:
            return False


def _inside(path: str, folder: Path) -> bool:
    return PurePosixPath(path).is_relative_to(folder) or f"/{folder.parent.name}/{folder.name}/" in path


def wrote_memory(messages: Sequence[Message], folder: Path) -> bool:
    """Whether the host's agent wrote memory itself in these messages.

    Extraction is skipped then (claude-code.md section 8.3).
    """
    return any(changes_memory(use, folder) for message in messages for use in message.tool_uses)


def counted(messages: Sequence[Message]) -> int:
    """Count the messages that a model sees: the user's and the model's."""
    return sum(message.origin in (Origin.USER, Origin.MODEL) for message in messages)


class Task(Struct, frozen=True, kw_only=True):
    """The input of one extraction."""

    folder: Path
    count: int
    """New messages, the user's and the model's."""
    today: str
    """ISO 8601 date."""
    asked: tuple[str, ...] = ()
    """Quotes in which the user explicitly asked to remember or forget something."""


def prompt(task: Task, heads: Sequence[Head], texts: Texts, settings: AutoMemorySettings) -> str:
    """Render the fork's instruction."""
    kinds = "\n".join(f"- {kind}: {shape.purpose}. Save one when {shape.when}. Text: {shape.shape}." for kind, shape in SHAPES.items())
    words = "; ".join(f"“{quote}”" for quote in task.asked)
    values = {
        "count": str(task.count),
        "folder": str(task.folder),
        "today": task.today,
        "manifest": manifest(heads, limit=settings.scan_files) or "(none yet)",
        "kinds": kinds,
        "asked": render(texts.asked, {"words": words}, strict=True).strip() if task.asked else "",
    }
    return render(texts.extract, values, strict=True).strip() + "\n"
