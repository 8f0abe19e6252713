"""Classify tool calls by name and input: one closed union for the tools of both client families and
for unknown ones. Pure.
"""

from __future__ import annotations

import json
import re

import msgspec
from msgspec import Struct

from memorist.core.apply_patch import FileEdit, find_patch_edits, find_patch_edits_in_command
from memorist.core.file_edits import (
    MAX_INPUT_VALUE_CHARACTERS,
    cut_string_or_empty,
    find_file_edits,
    find_file_path_in_tool_input,
)
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import JsonObject, ToolUse
from memorist.core.text_analysis import parse_word_list
from memorist.transcript_analysis.command_lines import (
    classify_command_purpose,
    filters_check_output,
    find_printed_files,
    strip_command_noise,
    truncate_command,
    unwrap_command_line,
)

SCRIPT_TOOL = "exec"
"""Name of the tool."""
MAX_SCRIPT_COMMANDS = 8
"""Commands of one script that are read."""
_COMMAND = lazy_pattern(
    r"tools\.exec_command\(\s*\{(?:[^{}\"]|\"(?:[^\"\\]|\\.)*\"\s*:(?!\s*\{))*?"
    r"[\"']?cmd[\"']?\s*:\s*(\"(?:[^\"\\]|\\.)*\")"
)
_ESCALATED = ("with_escalated_permissions", "require_escalated")
_PATCH = lazy_pattern(r"\"\*\*\* Begin Patch(?:[^\"\\]|\\.)*\"|`(\*\*\* Begin Patch[^`]*)`")


def find_script_commands(script: str) -> list[str]:
    """Return the commands that a script runs, in order."""
    found = _COMMAND.findall(script)[:MAX_SCRIPT_COMMANDS]
    return [text for literal in found if (text := _decode_literal(literal))]


def find_script_patch(script: str) -> str:
    """Return the patch that a script applies; empty if it applies none."""
    found = _PATCH.search(script) if "apply_patch" in script else None
    if found is None:
        return ""
    return found[1] if found[1] is not None else _decode_literal(found[0])


def asks_for_sandbox_escape(arguments: str) -> bool:
    """Tell whether a call, script or not, asks to run outside the sandbox."""
    return any(word in arguments for word in _ESCALATED)


def _decode_literal(literal: str) -> str:
    try:
        text = json.loads(literal)
    except ValueError:
        return ""
    return text if isinstance(text, str) else ""


MAX_SHORT_COMMAND_CHARACTERS = 160
"""Longest shown form of a command, in characters."""


ACTION_CACHE_SIZE = 512
"""Size of the action cache: notes, a summary's action list and its extracts each ask for the same
calls.
"""


class ReadAction(Struct, frozen=True):
    """Reads files, folders or pages; `what` is the search pattern of a search."""

    paths: tuple[str, ...]
    what: str = ""


class ChangeAction(Struct, frozen=True):
    """A call that creates, edits, moves or deletes files, one change for each."""

    changes: tuple[FileEdit, ...]


class CommandAction(Struct, frozen=True):
    """Runs a command line; `short_command` is its shown form, `reads` are files it only prints,
    `changes` those of an embedded patch.
    """

    command: str
    short_command: str
    kind: str
    """As returned by `command_lines.classify_command_purpose`."""
    reads: tuple[str, ...] = ()
    changes: tuple[FileEdit, ...] = ()
    description: str = ""
    escalated: bool = False
    """It asks to run outside the client's sandbox."""
    is_output_filtered: bool = False
    """As returned by `command_lines.filters_check_output`."""


class TaskItem(Struct, frozen=True):
    """One item of a task list; `status` is the tool's own value."""

    text: str
    status: str


class TaskListAction(Struct, frozen=True):
    """Replaces the task list."""

    tasks: tuple[TaskItem, ...]
    explanation: str = ""


class TaskUpdateAction(Struct, frozen=True):
    """Adds one task, or changes the one with this id."""

    text: str
    status: str
    id: str = ""


class AskUserAction(Struct, frozen=True):
    """Asks the user."""

    questions: tuple[str, ...]
    ids: tuple[str, ...] = ()
    """Codex's id of each question, by which its result names the answers; empty for others."""


class ProposePlanAction(Struct, frozen=True):
    """Shows the user a plan for approval."""

    plan: str


class DelegateAction(Struct, frozen=True):
    """Delegates work to another agent or a skill."""

    what: str


class OtherToolAction(Struct, frozen=True):
    """A call of any other tool: its name, its first text, and the paths among its arguments."""

    name: str
    detail: str = ""
    paths: tuple[str, ...] = ()


ToolAction = (
    ReadAction
    | ChangeAction
    | CommandAction
    | TaskListAction
    | TaskUpdateAction
    | AskUserAction
    | ProposePlanAction
    | DelegateAction
    | OtherToolAction
)

_SHELL_TOOLS = parse_word_list(
    """
         bash shell shell_command exec_command local_shell local_shell_call container.exec
    powershell     run_shell_command run_terminal_cmd run_terminal_command_v2
    """
)
_READ_TOOLS = parse_word_list(
    """
         read notebookread view_image read_file view ls list_dir list_directory read_mcp_resource
    """
)
_SEARCH_TOOLS = parse_word_list(
    """
         grep glob find rg multi_grep grep_files grep_search file_search codebase_search search
    websearch web_search google_web_search webfetch web_fetch toolsearch
    """
)
_AGENT_TOOLS = frozenset({"task", "agent", "skill", "spawn_agent"})
_IGNORED_TOOLS = parse_word_list(
    """
         write_stdin taskoutput bashoutput tasklist taskget wait sleep killshell killbash taskstop
    read_bash stop_bash report_intent
    """
)
_PATH_KEY = re.compile(
    r"(?:^|_)(?:path|file|filename|filepath|notebook|dir|directory|folder)s?$|(?:Path|File)s?$"
)
_PATH_VALUE = re.compile(r"(?:~|\.{1,2})?/?[\w.@+-]+(?:/[\w.@+-]+)+/?|[\w-]+\.\w{1,5}")


_ACTION_CACHE: dict[int, tuple[ToolUse, ToolAction]] = {}
"""Keyed by object id, since inputs are not hashable; the call is stored beside its action so that
its id cannot be reused.
"""


def parse_tool_action(call: ToolUse) -> ToolAction:
    """Classify a call. Never raises: an unexpected input shape counts as an unknown tool."""
    known = _ACTION_CACHE.get(id(call))
    if known is not None and known[0] is call:
        return known[1]
    if len(_ACTION_CACHE) >= ACTION_CACHE_SIZE:
        _ACTION_CACHE.clear()
    found = _parse_action(call)
    _ACTION_CACHE[id(call)] = call, found
    return found


def _parse_action(call: ToolUse) -> ToolAction:
    name = call.name.rsplit("__", 1)[-1] if call.name.startswith("mcp__") else call.name
    lower = name.lower()
    given = call.input
    if lower in _SHELL_TOOLS:
        return _parse_command(given, call.arguments)
    if lower == SCRIPT_TOOL and call.arguments and "tools." in call.arguments:
        return _parse_script(call.arguments[:MAX_INPUT_VALUE_CHARACTERS])
    if lower == "apply_patch":
        patch = (
            cut_string_or_empty(given.get("input"))
            or cut_string_or_empty(given.get("patch"))
            or cut_string_or_empty(given.get("patchText"))
            or cut_string_or_empty(given.get("command"))  # as Codex tells its hooks
            or cut_string_or_empty(call.arguments)
        )
        return ChangeAction(find_patch_edits(patch))
    if lower in _IGNORED_TOOLS:
        return OtherToolAction("")
    return (
        _parse_file_action(lower, given)
        or _parse_dialogue_action(lower, given)
        or _parse_unknown_tool(call.name, given)
    )


def _parse_command(inputs: JsonObject, arguments: str | None) -> ToolAction:
    inner = inputs.get("action")
    source = inner if isinstance(inner, dict) else inputs
    command = unwrap_command_line(source.get("command", source.get("cmd", arguments or "")))[
        :MAX_INPUT_VALUE_CHARACTERS
    ]
    changes = find_patch_edits_in_command(command)
    short = strip_command_noise(command)
    if len(short) > MAX_SHORT_COMMAND_CHARACTERS:
        short = truncate_command(short, MAX_SHORT_COMMAND_CHARACTERS)
    return CommandAction(
        command,
        short,
        classify_command_purpose(short),
        () if changes else find_printed_files(command),
        changes,
        cut_string_or_empty(source.get("description"))[:120],
        asks_for_sandbox_escape((arguments or "")[:MAX_INPUT_VALUE_CHARACTERS]),
        filters_check_output(command),
    )


def _parse_script(script: str) -> ToolAction:
    """The action of a script in which the tools are functions: its patch, otherwise its
    commands.
    """
    patch = find_script_patch(script)
    if patch:
        return ChangeAction(find_patch_edits(patch))
    commands = find_script_commands(script)
    if not commands:
        return OtherToolAction("")
    return _parse_command({"command": " && ".join(commands)}, script)


def _parse_file_action(name: str, inputs: JsonObject) -> ToolAction | None:
    path = find_file_path_in_tool_input(inputs)
    if name in _READ_TOOLS or inputs.get("command") == "view":
        return ReadAction((path,) if path else ())
    if name in _SEARCH_TOOLS:
        what = next(
            (
                cut_string_or_empty(inputs[key])
                for key in ("pattern", "query", "url", "include")
                if inputs.get(key)
            ),
            "",
        )
        return ReadAction((path,) if path else (), what[:120])
    changes = find_file_edits(name, inputs, path)
    return ChangeAction(changes) if changes else None


def _parse_dialogue_action(name: str, inputs: JsonObject) -> ToolAction | None:
    if name in ("todowrite", "update_plan"):
        return TaskListAction(
            _parse_tasks(inputs.get("todos", inputs.get("plan"))),
            cut_string_or_empty(inputs.get("explanation"))[:400],
        )
    if name in ("taskcreate", "taskupdate"):
        return TaskUpdateAction(
            cut_string_or_empty(inputs.get("subject")),
            cut_string_or_empty(inputs.get("status")),
            cut_string_or_empty(inputs.get("taskId")),
        )
    if name in ("askuserquestion", "request_user_input", "question"):
        return _parse_questions(inputs.get("questions"))
    if name in ("exitplanmode", "exit_plan_mode"):
        return ProposePlanAction(
            cut_string_or_empty(inputs.get("plan")) or cut_string_or_empty(inputs.get("summary"))
        )
    if name in _AGENT_TOOLS:
        first = cut_string_or_empty(inputs.get("description")) or cut_string_or_empty(
            inputs.get("skill")
        )
        second = cut_string_or_empty(inputs.get("args"))
        return DelegateAction(
            (
                f"{first} {second}".strip()
                or cut_string_or_empty(inputs.get("prompt"))
                or cut_string_or_empty(inputs.get("message"))
            )[:200]
        )
    return None


def _parse_tasks(value: object) -> tuple[TaskItem, ...]:
    if not isinstance(value, list):
        return ()
    items = [item for item in value[:40] if isinstance(item, dict)]
    pairs = [
        (
            cut_string_or_empty(item.get("content")) or cut_string_or_empty(item.get("step")),
            cut_string_or_empty(item.get("status")),
        )
        for item in items
    ]
    return tuple(TaskItem(text[:200], status) for text, status in pairs if text)


def _parse_questions(value: object) -> AskUserAction:
    items = (
        [item for item in value[:8] if isinstance(item, dict)] if isinstance(value, list) else []
    )
    asked = [
        (text, cut_string_or_empty(item.get("id")))
        for item in items
        if (text := cut_string_or_empty(item.get("question"))[:300])
    ]
    return AskUserAction(tuple(text for text, _ in asked), tuple(id for _, id in asked))


def find_call_kind(action: ToolAction | None) -> str:
    """The kind of a call: that of its command, `ask` for questions and plans, else `file`."""
    match action:
        case CommandAction(kind=kind):
            return kind
        case AskUserAction() | ProposePlanAction():
            return "ask"
        case _:
            return "file"


def list_question_ids_and_texts(action: ToolAction | None) -> tuple[tuple[str, str], ...]:
    """The questions that a call asks the user, each behind its id."""
    if not isinstance(action, AskUserAction):
        return ()
    return tuple(zip(action.ids, action.questions, strict=False))


def _parse_unknown_tool(name: str, inputs: JsonObject) -> ToolAction:
    """An unknown tool: its path-like values, and its first short text."""
    paths: list[str] = []
    detail = ""
    for key, value in list(inputs.items())[:20]:
        if not isinstance(value, str):
            continue
        if _PATH_KEY.search(key) and _PATH_VALUE.fullmatch(value[:400]):
            paths.append(value)
        elif not detail and 2 < len(value) <= 200:
            detail = value
    if not detail and not paths and inputs:
        detail = msgspec.json.encode(next(iter(inputs))).decode().strip('"')[:40]
    return OtherToolAction(name, detail, tuple(paths))
