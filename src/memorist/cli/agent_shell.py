"""Whether a coding agent runs this command: what it runs is not the user's word, whatever a page or
a tool told it to accept.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from memorist.cli.command_environment import read_environment
from memorist.errors import InputError

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


def find_running_agent() -> str:
    """The agent that runs this command; empty where a person does. Somebody at a terminal is a
    person: the variables stay set in a shell that was once started by an agent.
    """
    if sys.stdin is not None and sys.stdin.isatty():
        return ""
    marks = read_environment()
    return next((name for mark, name in AGENT_MARKS.items() if marks.get(mark)), "")


def require_person(what: str) -> None:
    """Raises InputError where an agent runs this command: `what` is for the user alone to do."""
    agent = find_running_agent()
    if agent:
        raise InputError(
            f"{agent} runs this command, and {what} is your word, not an agent's: do it in a "
            f"terminal of yours, or on the page (`memorist ui`)"
        )
