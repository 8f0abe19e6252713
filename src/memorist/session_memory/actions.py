"""Classify tool calls by name and input: one closed union for the tools of both client families and
for unknown ones. Pure.
"""

from __future__ import annotations

import re

import msgspec
from msgspec import Struct

from memorist.core.messages import JsonObject, ToolUse
from memorist.session_memory.edits import INPUT_LIMIT, changes_in, path_in, text_of
from memorist.session_memory.patches import Change, parse_patch, patch_in_command
from memorist.session_memory.shell import command_text, files_read, kind_of, short_command

SHORT_LIMIT = 160
"""Longest shown form of a command, in characters."""


KNOWN_CALLS = 512
"""Size of the action cache: notes, a summary's action list and its extracts each ask for the same
calls.
"""


class Reads(Struct, frozen=True):
    """Reads files, folders or pages; `what` is the search pattern of a search."""

    paths: tuple[str, ...]
    what: str = ""


class Changes(Struct, frozen=True):
    """Changes files."""

    changes: tuple[Change, ...]


class Runs(Struct, frozen=True):
    """Runs a command line; `short` is its shown form, `reads` are files it only prints, `changes`
    those of an embedded patch.
    """

    command: str
    short: str
    kind: str
    """As returned by `shell.classify_command`."""
    reads: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    about: str = ""


class Task(Struct, frozen=True):
    """One item of a task list; `status` is the tool's own value."""

    text: str
    status: str


class Plans(Struct, frozen=True):
    """Replaces the task list."""

    tasks: tuple[Task, ...]
    why: str = ""


class PlansOne(Struct, frozen=True):
    """Adds one task, or changes the one with this id."""

    text: str
    status: str
    id: str = ""


class Asks(Struct, frozen=True):
    """Asks the user."""

    questions: tuple[str, ...]


class Proposes(Struct, frozen=True):
    """Shows the user a plan for approval."""

    plan: str


class Delegates(Struct, frozen=True):
    """Delegates work to another agent or a skill."""

    what: str


class Uses(Struct, frozen=True):
    """Any other tool."""

    name: str
    detail: str = ""
    paths: tuple[str, ...] = ()


Action = Reads | Changes | Runs | Plans | PlansOne | Asks | Proposes | Delegates | Uses

_SHELLS = frozenset({"bash", "shell", "shell_command", "exec_command", "local_shell", "local_shell_call", "container.exec", "powershell"})
_READS = frozenset({"read", "notebookread", "view_image", "read_file", "view", "ls", "list_dir", "read_mcp_resource"})
_SEARCHES = frozenset({"grep", "glob", "grep_files", "search", "websearch", "web_search", "webfetch", "toolsearch"})
_AGENTS = frozenset({"task", "agent", "skill", "spawn_agent"})
_SILENT = frozenset(
    {"write_stdin", "taskoutput", "bashoutput", "tasklist", "taskget", "wait", "sleep", "killshell", "killbash", "taskstop"}
)
_PATH_KEY = re.compile(r"(?:^|_)(?:path|file|filename|filepath|notebook|dir|directory|folder)s?$|(?:Path|File)s?$")
_PATH_VALUE = re.compile(r"(?:~|\.{1,2})?/?[\w.@+-]+(?:/[\w.@+-]+)+/?|[\w-]+\.\w{1,5}")


_KNOWN: dict[int, tuple[ToolUse, Action]] = {}
"""Keyed by object id, since inputs are not hashable; the call is stored beside its action so that
its id cannot be reused.
"""


def action_of(call: ToolUse) -> Action:
    """Classify a call. Never raises: an unexpected input shape counts as an unknown tool."""
    known = _KNOWN.get(id(call))
    if known is not None and known[0] is call:
        return known[1]
    if len(_KNOWN) >= KNOWN_CALLS:
        _KNOWN.clear()
    found = _read(call)
    _KNOWN[id(call)] = call, found
    return found


def _read(call: ToolUse) -> Action:
    name = call.name.rsplit("__", 1)[-1] if call.name.startswith("mcp__") else call.name
    lower = name.lower()
    given = call.input
    if lower in _SHELLS:
        return _runs(given, call.arguments)
    if lower == "apply_patch":
        patch = text_of(given.get("input")) or text_of(given.get("patch")) or text_of(call.arguments)
        return Changes(parse_patch(patch))
    if lower in _SILENT:
        return Uses("")
    return _file_action(lower, given) or _talk_action(lower, given) or _unknown(call.name, given)


def _runs(given: JsonObject, arguments: str | None) -> Action:
    inner = given.get("action")
    source = inner if isinstance(inner, dict) else given
    command = command_text(source.get("command", source.get("cmd", arguments or "")))[:INPUT_LIMIT]
    changes = patch_in_command(command)
    short = short_command(command)[:SHORT_LIMIT]
    return Runs(command, short, kind_of(short), () if changes else files_read(command), changes, text_of(source.get("description"))[:120])


def _file_action(name: str, given: JsonObject) -> Action | None:
    path = path_in(given)
    if name in _READS or given.get("command") == "view":
        return Reads((path,) if path else ())
    if name in _SEARCHES:
        what = next((text_of(given[key]) for key in ("pattern", "query", "url", "include") if given.get(key)), "")
        return Reads((path,) if path else (), what[:120])
    changes = changes_in(name, given, path)
    return Changes(changes) if changes else None


def _talk_action(name: str, given: JsonObject) -> Action | None:
    if name in ("todowrite", "update_plan"):
        return Plans(_tasks(given.get("todos", given.get("plan"))), text_of(given.get("explanation"))[:400])
    if name in ("taskcreate", "taskupdate"):
        return PlansOne(text_of(given.get("subject")), text_of(given.get("status")), text_of(given.get("taskId")))
    if name in ("askuserquestion", "request_user_input"):
        return Asks(_questions(given.get("questions")))
    if name == "exitplanmode":
        return Proposes(text_of(given.get("plan")))
    if name in _AGENTS:
        first, second = text_of(given.get("description")) or text_of(given.get("skill")), text_of(given.get("args"))
        return Delegates((f"{first} {second}".strip() or text_of(given.get("prompt")) or text_of(given.get("message")))[:200])
    return None


def _tasks(value: object) -> tuple[Task, ...]:
    if not isinstance(value, list):
        return ()
    items = [item for item in value[:40] if isinstance(item, dict)]
    pairs = [(text_of(item.get("content")) or text_of(item.get("step")), text_of(item.get("status"))) for item in items]
    return tuple(Task(text[:200], status) for text, status in pairs if text)


def _questions(value: object) -> tuple[str, ...]:
    items = [item for item in value[:8] if isinstance(item, dict)] if isinstance(value, list) else []
    return tuple(text for item in items if (text := text_of(item.get("question"))[:300]))


def _unknown(name: str, given: JsonObject) -> Action:
    """An unknown tool: its path-like values, and its first short text."""
    paths: list[str] = []
    detail = ""
    for key, value in list(given.items())[:20]:
        if not isinstance(value, str):
            continue
        if _PATH_KEY.search(key) and _PATH_VALUE.fullmatch(value[:400]):
            paths.append(value)
        elif not detail and 2 < len(value) <= 200:
            detail = value
    if not detail and not paths and given:
        detail = msgspec.json.encode(next(iter(given))).decode().strip('"')[:40]
    return Uses(name, detail, tuple(paths))
