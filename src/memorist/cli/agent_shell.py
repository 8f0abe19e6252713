"""Whether a coding agent runs this command: what it runs is not the user's word, whatever a page or
a tool told it to accept.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from memorist.auto_memory.home_memories import ProjectMemoryOpener
from memorist.auto_memory.memory_location import locate_project_root
from memorist.auto_memory.write_evidence import normalize_for_comparison
from memorist.cli.command_environment import read_environment
from memorist.core.lazy import lazy_module
from memorist.errors import InputError
from memorist.store.disk_files import DiskFiles
from memorist.system import SystemClock

if TYPE_CHECKING:
    from memorist.mcp_server import project_sessions
else:  # read where an agent runs the command
    project_sessions = lazy_module("memorist.mcp_server.project_sessions")

AGENT_MARKS: Mapping[str, str] = {
    "CLAUDECODE": "Claude Code",
    "CODEX_SANDBOX": "Codex",
    "CODEX_SANDBOX_NETWORK_DISABLED": "Codex",
    "CODEX_THREAD_ID": "Codex",
    "CODEX_CI": "Codex",
    "GEMINI_CLI": "Gemini CLI",
    "CURSOR_AGENT": "Cursor",
    "OPENCODE": "opencode",
    "CLINE_ACTIVE": "Cline",
    "GOOSE_TERMINAL": "Goose",
    "AUGMENT_AGENT": "Augment",
    "AI_AGENT": "an agent",
}
"""Variables that agents set for the commands they run, and whose they are; `AI_AGENT` is the one
that any agent may set.
"""
TERMINAL_MARKS = frozenset({"GEMINI_CLI"})
"""Marks of agents that run commands in a terminal of their own making: that one is there says
nothing of a person.
"""
RECENT_SESSION_SECONDS = 86_400
"""Age of the newest session of a project in which an agent is taken to be at work. Our choice."""


def find_running_agent(home: ProjectMemoryOpener) -> str:
    """The agent that runs this command and works with this project's memory; empty where a person
    does. Somebody at a terminal is a person: the variables stay set in a shell that was once
    started by an agent, unless that gives its commands a terminal. Where memorist took part in no
    session here for a day, no agent was shown anything of it, and who tries it out by an agent's
    shell sees what a person sees. Raises StoreError.
    """
    is_terminal = sys.stdin is not None and sys.stdin.isatty()
    marks = read_environment()
    agent = next(
        (
            name
            for mark, name in AGENT_MARKS.items()
            if marks.get(mark) and (mark in TERMINAL_MARKS or not is_terminal)
        ),
        "",
    )
    return agent if agent and _has_recent_session(home) else ""


def _has_recent_session(home: ProjectMemoryOpener) -> bool:
    newest = next(iter(open_project_sessions(home).list_sessions()), None)
    return newest is not None and SystemClock().now() - newest.updated < RECENT_SESSION_SECONDS


def open_project_sessions(home: ProjectMemoryOpener) -> project_sessions.RecordedProjectSessions:
    """The sessions of the working folder's project that memorist took part in."""
    return project_sessions.RecordedProjectSessions(
        locate_project_root(Path.cwd()), files=DiskFiles(), database=home.database
    )


def find_author(home: ProjectMemoryOpener, words: str) -> str:
    """The agent whose words a command adds; empty where a person runs it, and for a whole statement
    of the user in one of the newest sessions: a part of one may say the opposite, and a question
    states nothing. Raises StoreError.
    """
    agent = find_running_agent(home)
    found = open_project_sessions(home).find_quote(words, "") if agent else None
    wanted = normalize_for_comparison(words)
    stated = () if found is None else found.statements
    is_stated = any(
        each.act != "forget" and normalize_for_comparison(each.quote) == wanted for each in stated
    )
    return "" if is_stated else agent


def require_person(home: ProjectMemoryOpener, what: str) -> None:
    """Raises InputError where an agent runs this command: `what` is for the user alone to do."""
    agent = find_running_agent(home)
    if agent:
        raise InputError(
            f"{agent} runs this command, and {what} is your word, not an agent's: do it in a "
            f"terminal of yours, or on the page (`memorist ui`)"
        )
