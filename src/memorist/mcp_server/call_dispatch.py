"""Dispatches a client's calls, one after another in one thread: the tools, resources and prompts of
each project.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

from memorist.auto_memory.memory_location import locate_project_root
from memorist.config import (
    OFF_VARIABLE,
    is_disabled_by_environment,
    is_in_off_folder,
    load_settings,
    resolve_off_folders,
)
from memorist.core.prompt_templates import load_prompt, render_template
from memorist.errors import InputError, UsageError
from memorist.mcp_server.memory_explanation import explain_memory, render_index_grouped_by_origin
from memorist.mcp_server.memory_tools import MemoryTools
from memorist.mcp_server.opened_project import OpenedProject, list_named_folders, resolve_project
from memorist.mcp_server.project_sessions import RecordedProjectSession
from memorist.mcp_server.project_status import list_sessions_with_notes, render_project_status
from memorist.mcp_server.result_rendering import (
    cut_text_page,
    cut_to_answer_limit,
    sanitize_for_model,
    to_safe_line,
)
from memorist.mcp_server.session_tools import (
    fetch_back_removed_text,
    read_session,
    render_session_notes,
    search_sessions,
)
from memorist.mcp_server.tool_arguments import (
    FetchBackArguments,
    MemoryForgetArguments,
    MemoryReadArguments,
    MemorySearchArguments,
    MemoryWriteArguments,
    NotesArguments,
    SessionReadArguments,
    SessionSearchArguments,
    StatusArguments,
    ToolArguments,
    WhyArguments,
)

MAX_OPEN_PROJECTS = 16
"""Projects that one server keeps open.

A client works in one; a server for many closes the least recently used one.
"""


OFF_REFUSAL = "the user turned memory off {}: go on without it, and do not ask again"


class ToolDispatcher:
    """Answers for any number of projects. All methods are called from one thread."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = os.environ if environment is None else environment
        self._open_projects: OrderedDict[Path, OpenedProject] = OrderedDict()

    def open_project(self, root: Path) -> OpenedProject:
        """Return the project of that root, opened on first use and where its settings changed.

        Raises SettingsError, StoreError.
        """
        settings = load_settings(self._environment, project=root).settings
        if root in self._open_projects and not self._open_projects[root].has_settings(settings):
            self._open_projects.pop(root).close()
        if root not in self._open_projects:
            self._open_projects[root] = OpenedProject(root, settings)
            if len(self._open_projects) > MAX_OPEN_PROJECTS:
                self._open_projects.popitem(last=False)[1].close()
        self._open_projects.move_to_end(root)
        return self._open_projects[root]

    def find_root(self, folder: Path | None, roots: Sequence[str], working_folder: Path) -> Path:
        """Return the root of the project that a client works in.

        Raises InputError, also where the user turned memory off there; SettingsError.
        """
        if is_disabled_by_environment(self._environment):
            raise InputError(OFF_REFUSAL.format(f"here ({OFF_VARIABLE})"))
        root = resolve_project(folder, roots, working_folder)
        off = resolve_off_folders(load_settings(self._environment).settings)
        named = list_named_folders(folder, roots, working_folder)
        if any(locate_project_root(each) == root and is_in_off_folder(each, off) for each in named):
            raise InputError(OFF_REFUSAL.format("in this folder (hooks.off_folders)"))
        return root

    def call_tool(self, root: Path, arguments: ToolArguments, client: str) -> str:
        """Return a tool's answer. Raises MemoristError."""
        return cut_to_answer_limit(self._call_tool(self.open_project(root), arguments, client))

    def _call_tool(self, project: OpenedProject, arguments: ToolArguments, client: str) -> str:
        match arguments:
            case (
                MemorySearchArguments()
                | MemoryReadArguments()
                | MemoryWriteArguments()
                | MemoryForgetArguments()
            ):
                text = _call_memory_tool(project.memory_tools(client), arguments)
            case NotesArguments(session=session, start=start):
                text = render_session_notes(project.sessions, session, start)
            case FetchBackArguments():
                text = fetch_back_removed_text(project.sessions, arguments)
            case SessionSearchArguments():
                embeds = project.settings.recall.embeddings
                index = project.layout.session_index
                text = search_sessions(index, project.root, arguments, embeds=embeds)
            case SessionReadArguments():
                text = read_session(project.layout.session_index, project.root, arguments)
            case WhyArguments():
                text = explain_memory(project, arguments)
            case StatusArguments():
                text = render_project_status(project)
            case _:
                raise UsageError(f"there is no tool for {type(arguments).__name__}")
        return text

    def read_notes(self, root: Path, session: str) -> str:
        """Return the notes of a session, as the resource of its id.

        Raises InputError, NothingToDo, StoreError.
        """
        sessions = self.open_project(root).sessions
        return cut_to_answer_limit(render_session_notes(sessions, session, 0))

    def read_index(self, root: Path) -> str:
        """Return the memory index: what the user said apart from all else. Raises StoreError."""
        text = render_index_grouped_by_origin(self.open_project(root).memory)
        return render_template(
            load_prompt("mcp/index"),
            {"index": cut_text_page(sanitize_for_model(text)) if text else "(there are none yet)"},
            strict=True,
        ).strip()

    def list_sessions_with_notes(self, root: Path) -> list[RecordedProjectSession]:
        """Return the newest sessions that have notes. Raises StoreError."""
        return list_sessions_with_notes(self.open_project(root))

    def render_compact_prompt(self, root: Path, session: str, instructions: str) -> str:
        """Render the prompt for a record of the conversation.

        Raises InputError, NothingToDo, StoreError.
        """
        notes = ""
        if session:
            known, text = self.open_project(root).sessions.find_notes(session)
            notes = render_template(
                load_prompt("mcp/compact_notes"),
                {
                    "session": to_safe_line(known.id),
                    "notes": cut_text_page(sanitize_for_model(text)),
                },
                strict=True,
            )
        request = (
            f"The user adds: {to_safe_line(instructions, 2_000)}" if instructions.strip() else ""
        )
        return cut_to_answer_limit(
            render_template(
                load_prompt("mcp/compact"),
                {"instructions": request, "notes": notes.strip()},
                strict=True,
            ).strip()
        )

    def render_skillify_prompt(self, root: Path, session: str, description: str) -> str:
        """Render the prompt for a skill. Raises InputError, NothingToDo, StoreError."""
        text: str = import_module(
            "memorist.mcp_server.skill_interview_prompt"
        ).build_skill_interview_prompt(self.open_project(root).sessions, session, description)
        return text

    def read_memory(self, root: Path, path: str, client: str) -> str:
        """Return one memory, as the resource of its path. Raises InputError, StoreError."""
        return cut_to_answer_limit(
            self.open_project(root)
            .memory_tools(client)
            .read_memory_as_text(MemoryReadArguments(path=path))
        )

    def close(self) -> None:
        """Close all projects."""
        while self._open_projects:
            self._open_projects.popitem()[1].close()


def _call_memory_tool(
    tools: MemoryTools,
    arguments: MemorySearchArguments
    | MemoryReadArguments
    | MemoryWriteArguments
    | MemoryForgetArguments,
) -> str:
    match arguments:
        case MemorySearchArguments():
            return tools.search_as_text(arguments)
        case MemoryReadArguments():
            return tools.read_memory_as_text(arguments)
        case MemoryWriteArguments():
            return tools.write_memory(arguments)
        case MemoryForgetArguments():
            return tools.forget_memory(arguments)
