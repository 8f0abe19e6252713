"""When a model extracts memories, from which messages, and with which prompt (AM-5 to AM-7).
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct

from memorist.auto_memory.memory_file import (
    KIND_GUIDANCE,
    MemoryFile,
    MemoryKind,
    Provenance,
    create_memory_file,
    make_file_name,
    parse_kind,
)
from memorist.auto_memory.memory_manifest import MemoryHeader, render_manifest
from memorist.auto_memory.statement_changes import find_free_name
from memorist.core.messages import JsonObject, Message, Origin, ToolUse
from memorist.core.prompt_templates import render_template
from memorist.forks.answer_form import FormTask, coerce_to_object_list
from memorist.forks.file_tool_calls import (
    ApplyPatchCall,
    EditFileCall,
    InsertTextCall,
    WriteFileCall,
    parse_tool_call,
)
from memorist.forks.fork_spec import BRIEF_HEAD, NEWEST_HEAD
from memorist.forks.text_edits import ParsedAnswerEdits
from memorist.safety.markup_sanitizer import neutralize_markup
from memorist.safety.secrets import redact
from memorist.settings import AutoMemorySettings
from memorist.transcript_analysis.answer_check import AnswerLineChecker

ANTHROPIC_MEMORY_TOOL = "memory"
"""Anthropic's memory tool (Claude Code)."""
MEMORIST_TOOL_NAME = re.compile(r"(?:^|_)memorist_+memory_(?:write|forget)$")
"""The tools of memorist's MCP server as clients name them, such as `mcp__memorist__memory_write`.
"""
_CHANGING_COMMANDS = frozenset({"create", "str_replace", "insert", "delete", "rename"})


class ExtractionCursor(Struct, frozen=True, kw_only=True):
    """How far a session's memories have been extracted; stored beside its transcript."""

    message: str = ""
    """Id of the last message that was examined; empty for none."""
    turns: int = 0
    """Turns since the last extraction."""


class ExtractionPrompts(Struct, frozen=True):
    """The prompt templates of extraction."""

    extract: str
    read_statements: str
    team: str
    form: str


def is_memory_write_call(use: ToolUse, folder: Path) -> bool:
    """Whether a tool call of the host's agent changes memory.

    It may do so with a file tool, with Anthropic's memory tool, or through memorist's MCP server.
    """
    if use.name == ANTHROPIC_MEMORY_TOOL:
        return use.input.get("command") in _CHANGING_COMMANDS
    if MEMORIST_TOOL_NAME.search(f"{use.namespace}__{use.name}" if use.namespace else use.name):
        return True
    match parse_tool_call(use):
        case EditFileCall(path=path) | WriteFileCall(path=path) | InsertTextCall(path=path):
            return _is_inside_folder(path, folder)
        case ApplyPatchCall(files=files):
            return any(_is_inside_folder(file.path, folder) for file in files)
        case _:
            return False


def _is_inside_folder(path: str, folder: Path) -> bool:
    return (
        PurePosixPath(path).is_relative_to(folder)
        or f"/{folder.parent.name}/{folder.name}/" in path
    )


def has_written_memory(messages: Sequence[Message], folder: Path) -> bool:
    """Whether the host's agent wrote memory itself in these messages.

    Extraction is skipped then (Claude Code).
    """
    return any(
        is_memory_write_call(use, folder) for message in messages for use in message.tool_uses
    )


def count_dialogue_messages(messages: Sequence[Message]) -> int:
    """Count the messages that a model sees: the user's and the model's."""
    return sum(message.origin in (Origin.USER, Origin.MODEL) for message in messages)


class ExtractionPromptValues(Struct, frozen=True, kw_only=True):
    """The input of one extraction."""

    folder: Path
    count: int
    """New messages, the user's and the model's."""
    today: str
    """ISO 8601 date."""
    read_statements: tuple[str, ...] = ()
    """Quotes of the statements that rules have read: kept, waiting, or wishes to forget."""
    team_readers: str = ""
    """Who reads the team's memories; empty for a project without a team."""


def render_extraction_prompt(
    task: ExtractionPromptValues,
    headers: Sequence[MemoryHeader],
    prompts: ExtractionPrompts,
    settings: AutoMemorySettings,
) -> str:
    """Render the fork's instruction."""
    kinds = "\n".join(f"- {kind}: {purpose}" for kind, purpose in KIND_GUIDANCE.items())
    values = {
        "count": str(task.count),
        "folder": str(task.folder),
        "today": task.today,
        "manifest": _render_data(headers, settings),
        "kinds": kinds,
        "asked": _render_read_statements(task, prompts),
        "team": render_template(prompts.team, {"readers": task.team_readers}, strict=True)
        if task.team_readers
        else "",
    }
    return render_template(prompts.extract, values, strict=True).strip() + "\n"


def _render_data(headers: Sequence[MemoryHeader], settings: AutoMemorySettings) -> str:
    """The list of memories, which no description in it can end."""
    return neutralize_markup(render_manifest(headers, settings), ("memories",)) or "(none yet)"


def _render_read_statements(task: ExtractionPromptValues, prompts: ExtractionPrompts) -> str:
    if not task.read_statements:
        return ""
    words = "; ".join(f"“{quote}”" for quote in task.read_statements)
    return render_template(prompts.read_statements, {"words": words}, strict=True).strip()


def build_extraction_form(
    task: ExtractionPromptValues,
    headers: Sequence[MemoryHeader],
    prompts: ExtractionPrompts,
    settings: AutoMemorySettings,
) -> FormTask:
    """The same task as a form: a list of new memories, which a program writes as files."""
    known = (
        f"Known already:\n\n<memories>\n{_render_data(headers, settings)}\n</memories>"
        if headers
        else ""
    )
    asked = _render_read_statements(task, prompts)
    about = f"Today is {task.today}. Look at the newest {task.count} messages."
    used_paths = {header.path.casefold() for header in headers}
    text: JsonObject = {"type": "string"}
    fields = {"kind": {"type": "string", "enum": list(MemoryKind)}} | dict.fromkeys(
        ("description", "text", "quote"), text
    )

    task_lines = AnswerLineChecker("", f"{about}\n{BRIEF_HEAD}\n{NEWEST_HEAD}")

    def read(answer: JsonObject) -> ParsedAnswerEdits:
        given = coerce_to_object_list(answer.get("memories"))
        echoes = [each for each in given if _repeats_task(each, task_lines)]
        topics = [
            topic
            for each in given
            if each not in echoes and (topic := _read_memory(each, used_paths)) is not None
        ]
        writes = {str(task.folder / topic.path): topic.text() for topic in topics}
        return ParsedAnswerEdits(
            tuple(WriteFileCall(path, whole) for path, whole in writes.items()),
            dropped=tuple(f"“{_name_memory(each)}” repeats the prompt" for each in echoes),
        )

    return FormTask(
        instruction=prompts.form,
        material="\n\n".join(filter(None, (about, known, asked))),
        schema={
            "type": "object",
            "properties": {
                "memories": {
                    "type": "array",
                    "maxItems": MAX_FORM_MEMORIES,
                    "items": {
                        "type": "object",
                        "properties": fields,
                        "required": list(fields),
                        "additionalProperties": False,
                    },
                }
            },
            "required": ["memories"],
            "additionalProperties": False,
        },
        read=read,
    )


def _repeats_task(given: JsonObject, task_lines: AnswerLineChecker) -> bool:
    """Whether a memory's text is what the task says of itself, or its title or quotation is: a
    small model remembers that it looked at the newest messages, and all of them below it.
    """
    titles = (str(given.get(key) or "") for key in ("description", "quote"))
    return task_lines.is_prompt_echo(str(given.get("text"))) or any(
        task_lines.is_prompt_echo(title)
        for title in titles
        if len(title.split()) >= MIN_TITLE_WORDS
    )


MIN_TITLE_WORDS = 3
"""Words of a title that can be told to be the task's: "today" alone is anybody's."""


def _name_memory(given: JsonObject) -> str:
    """The text of a memory, or its title where the answer was cut off before it."""
    return str(given.get("text") or given.get("description") or given.get("quote"))


def _read_memory(given: JsonObject, used_paths: set[str]) -> MemoryFile | None:
    """A new memory from what a model filled in; None for one without a text."""
    description, text, quote = (
        " ".join(str(given.get(key) or "").split()) if key != "text" else str(given.get(key) or "")
        for key in ("description", "text", "quote")
    )
    if not text.strip():
        return None
    title = " ".join(redact(description or text).text.split()[:MAX_TITLE_WORDS])
    path = find_free_name(make_file_name(title), lambda path: path.casefold() in used_paths)
    return create_memory_file(
        path,
        kind=parse_kind(str(given.get("kind"))),
        name=path.removesuffix(".md"),
        description=description or text.strip().split("\n")[0],
        body=text,
        provenance=Provenance(quote=quote),
    )


MAX_FORM_MEMORIES = 4
"""Memories of one answer: a turn seldom holds two, and a small model lists until it is cut off."""
MAX_TITLE_WORDS = 8
"""Words of a description that name a file. Our choice: more is no name."""
