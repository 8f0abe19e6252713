"""Dispatches a client's calls, one after another in one thread: the tools, resources and prompts of
each project.
"""

from __future__ import annotations

import os
import sqlite3
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

from memorist import __version__
from memorist.auto_memory.auto_memory import EVERYWHERE_PREFIX, AutoMemory
from memorist.auto_memory.project_memory import open_memory
from memorist.auto_memory.team_memory import prefix_index_link
from memorist.config import load_settings
from memorist.core.prompt_templates import load_prompt, render_template
from memorist.errors import UsageError
from memorist.mcp_server.client_project import resolve_project
from memorist.mcp_server.memory_tools import MemoryToolDependencies, MemoryTools
from memorist.mcp_server.project_sessions import ProjectSession, ProjectSessions
from memorist.mcp_server.result_rendering import (
    cut_text_page,
    cut_to_answer_limit,
    render_memory_history,
    render_memory_origin,
    render_memory_uses,
    render_recall_explanation,
    sanitize_data,
    to_safe_line,
)
from memorist.mcp_server.session_tools import read_session, search_sessions
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
from memorist.recall.memory_rendering import (
    EVERYWHERE_HEADING,
    SAID_HEADING,
    group_index_by_origin,
)
from memorist.recall.memory_search import open_memory_search
from memorist.recall.memory_selection import select_relevant_memories
from memorist.recall.reachable_memory import ReachableMemory
from memorist.store.database import open_database
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout
from memorist.store.memory_uses import list_uses_of_memory
from memorist.system import SystemClock

MAX_OPEN_PROJECTS = 16
"""Projects that one server keeps open.

A client works in one; a server for many closes the least recently used one.
"""


MAX_LISTED = 10
"""Sessions and waiting changes that the status lists."""


class OpenedProject:
    """The open memory and sessions of one project."""

    def __init__(self, root: Path, environment: Mapping[str, str]) -> None:
        self.root = root
        self.settings = load_settings(environment, project=root).settings
        self.layout = Layout(Path(self.settings.home).expanduser().absolute())
        self.files, self.clock = DiskFiles(), SystemClock()
        self._database: sqlite3.Connection | None = None
        settings = self.settings.auto_memory
        self.memory = open_memory(
            self.layout,
            str(root),
            files=self.files,
            clock=self.clock,
            settings=settings,
            database=self.database,
        )
        self.sessions = ProjectSessions(root, files=self.files, database=self.database)
        self.search = open_memory_search(self.memory, self.settings.recall)

    def database(self) -> sqlite3.Connection:
        """The state database. Raises StoreError."""
        if self._database is None:
            self._database = open_database(self.layout.database, waits_once=True)
        return self._database

    def memory_tools(self, client: str) -> MemoryTools:
        """The memory tools, for the client of that name."""
        reachable = ReachableMemory(self.memory)
        dependencies = MemoryToolDependencies(
            client=client,
            clock=self.clock,
            settings=self.settings.recall,
            search=self.search.search,
            find_quote=self.sessions.find_quote,
            record_uses=lambda uses: reachable.record_uses(self.database(), uses),
        )
        return MemoryTools(self.memory, dependencies)

    def close(self) -> None:
        """Close its files."""
        self.search.close()
        self.memory.close()
        if self._database is not None:
            self._database.close()
            self._database = None


class ToolDispatcher:
    """Answers for any number of projects. All methods are called from one thread."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = os.environ if environment is None else environment
        self._open_projects: OrderedDict[Path, OpenedProject] = OrderedDict()

    def open_project(self, root: Path) -> OpenedProject:
        """Return the project of that root, opened on first use.

        Raises SettingsError, StoreError.
        """
        if root not in self._open_projects:
            self._open_projects[root] = OpenedProject(root, self._environment)
            if len(self._open_projects) > MAX_OPEN_PROJECTS:
                self._open_projects.popitem(last=False)[1].close()
        self._open_projects.move_to_end(root)
        return self._open_projects[root]

    @staticmethod
    def find_root(folder: Path | None, roots: Sequence[str], working_folder: Path) -> Path:
        """Return the root of the project that a client works in. Raises InputError."""
        return resolve_project(folder, roots, working_folder)

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
                text = _render_notes(project, session, start)
            case FetchBackArguments():
                text = _fetch_back(project, arguments)
            case SessionSearchArguments():
                embeds = project.settings.recall.embeddings
                index = project.layout.session_index
                text = search_sessions(index, project.root, arguments, embeds=embeds)
            case SessionReadArguments():
                text = read_session(project.layout.session_index, project.root, arguments)
            case WhyArguments():
                text = _explain_memory(project, arguments)
            case StatusArguments():
                text = _render_status(project)
            case _:
                raise UsageError(f"there is no tool for {type(arguments).__name__}")
        return text

    def read_notes(self, root: Path, session: str) -> str:
        """Return the notes of a session, as the resource of its id.

        Raises InputError, NothingToDo, StoreError.
        """
        return cut_to_answer_limit(_render_notes(self.open_project(root), session, 0))

    def read_index(self, root: Path) -> str:
        """Return the memory index: what the user said apart from all else. Raises StoreError."""
        text = _group_index(self.open_project(root).memory)
        return render_template(
            load_prompt("mcp/index"),
            {"index": cut_text_page(sanitize_data(text)) if text else "(there are none yet)"},
            strict=True,
        ).strip()

    def list_sessions_with_notes(self, root: Path) -> list[ProjectSession]:
        """Return the newest sessions that have notes. Raises StoreError."""
        return _list_sessions_with_notes(self.open_project(root))

    def render_compact_prompt(self, root: Path, session: str, instructions: str) -> str:
        """Render the prompt for a record of the conversation.

        Raises InputError, NothingToDo, StoreError.
        """
        notes = ""
        if session:
            known, text = self.open_project(root).sessions.find_notes(session)
            notes = render_template(
                load_prompt("mcp/compact_notes"),
                {"session": to_safe_line(known.id), "notes": cut_text_page(sanitize_data(text))},
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
            self.open_project(root).memory_tools(client).read(MemoryReadArguments(path=path))
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
            return tools.search(arguments)
        case MemoryReadArguments():
            return tools.read(arguments)
        case MemoryWriteArguments():
            return tools.write(arguments)
        case MemoryForgetArguments():
            return tools.forget(arguments)


def _fetch_back(project: OpenedProject, arguments: FetchBackArguments) -> str:
    known, text = project.sessions.fetch_text(arguments.id, arguments.session)
    values = {
        "id": to_safe_line(arguments.id),
        "session": to_safe_line(known.id),
        "text": cut_text_page(sanitize_data(text), arguments.start),
    }
    return render_template(load_prompt("mcp/fetched"), values, strict=True).strip()


def _render_notes(project: OpenedProject, session: str, start: int) -> str:
    known, text = project.sessions.find_notes(session)
    values = {
        "session": to_safe_line(known.id),
        "notes": cut_text_page(sanitize_data(text), start),
    }
    return render_template(load_prompt("mcp/notes"), values, strict=True).strip()


def _list_sessions_with_notes(project: OpenedProject) -> list[ProjectSession]:
    found: list[ProjectSession] = []
    for each in project.sessions.list_sessions():
        if len(found) == MAX_LISTED:
            break
        if project.files.facts(each.layout.notes) is not None:
            found.append(each)
    return found


def _explain_memory(project: OpenedProject, arguments: WhyArguments) -> str:
    memory = project.memory
    memory.headers()
    topic, doubts = memory.read_with_suspicions(arguments.path)
    name = to_safe_line(topic.path)
    lines = [f"[memorist] {name}, as data: where it comes from.", *render_memory_origin(topic)]
    lines += [f"withheld from models: {doubt}" for doubt in doubts]
    lines += [
        "",
        "changes, newest first:",
        *render_memory_history(memory.folder.history.log(topic.path, 10)),
    ]
    lines += [
        "",
        "shown and used, newest first:",
        *render_memory_uses(
            list_uses_of_memory(project.database(), str(memory.layout.folder), topic.path)
        ),
    ]
    if arguments.query.strip():
        heads = {head.path: head for head in memory.headers()}
        matches = project.search.search(arguments.query, 4 * project.settings.recall.limit)
        picks = select_relevant_memories(arguments.query, matches, heads, project.settings.recall)
        lines += [
            "",
            f"recalled for “{to_safe_line(arguments.query)}”: "
            f"{render_recall_explanation(topic.path, matches, picks, doubts)}",
        ]
    return "\n".join(lines)


def _group_index(memory: AutoMemory) -> str:
    """The index with what the user said on top, then what holds in every project, whose paths begin
    with `everywhere/`; empty where there is neither.
    """
    groups = [
        group_index_by_origin(memory.visible_index().text, memory.headers_by_path(), SAID_HEADING)
    ]
    everywhere = memory.everywhere
    if everywhere is not None and everywhere.folder.exists:
        text = group_index_by_origin(
            everywhere.visible_index().text,
            everywhere.headers_by_path(),
            EVERYWHERE_HEADING.format(folder=EVERYWHERE_PREFIX),
        )
        groups += [prefix_index_link(line, EVERYWHERE_PREFIX) for line in text.splitlines()]
    return "\n".join(filter(None, groups))


def _render_status(project: OpenedProject) -> str:
    memory = project.memory
    heads = memory.headers()
    withheld = len(heads) - len(memory.visible_headers())
    kinds = ", ".join(
        f"{count} {kind}"
        for kind in ("user", "feedback", "project", "reference")
        if (count := sum(h.kind == kind for h in heads))
    )
    waiting = memory.list_proposals()
    lines = [
        f"memorist {__version__}",
        f"project: {project.root}",
        f"memory folder: {memory.layout.folder}",
        f"memories: {len(heads)}"
        + (f" ({kinds})" if kinds else "")
        + (f", {withheld} of them withheld from models" if withheld else ""),
        f"writing: {memory.settings.policy}",
        f"waiting for the user: {len(waiting)}" + (" (memorist memory inbox)" if waiting else ""),
    ]
    # Not their names: one may hold a prompt injection.
    lines += [
        f"  {each.id}: {to_safe_line('; '.join(each.reasons))}" for each in waiting[-MAX_LISTED:]
    ]
    with_notes = _list_sessions_with_notes(project)
    lines.append(
        "sessions with notes, newest first:" if with_notes else "sessions with notes: none"
    )
    lines += [f"  {to_safe_line(each.id)}" for each in with_notes]
    return "\n".join(lines)
