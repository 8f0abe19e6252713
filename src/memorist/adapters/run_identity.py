"""Whose memory a run of a host's agent uses: its user, project and session, each a value or a
function of the run; and which runs are a tool of another agent. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Generic, TypeVar

from msgspec import Struct

from memorist.errors import UsageError
from memorist.ports import HostInfo

Run = TypeVar("Run")

RunValue = str | Callable[[Run], str | None]
"""A text, or a function that finds it in the host's own object of a run.

What the function raises reaches the host: memory of the wrong user is worse than none.
"""

USER_FIELDS = ("user_id", "langgraph_auth_user_id", "user_api_key_user_id")
"""Fields by which hosts name the user of a run, LangGraph's and LiteLLM's servers among them."""


class UserAndProject(Struct, frozen=True):
    """Whose memory a run uses."""

    user: str
    """Empty for the home's own memory."""
    project: str
    """Root folder or name of the project; empty for no memory across sessions."""


class UserAndProjectResolver(Generic[Run]):
    """Finds user and project of each run.

    Args:
        user: the user, or a function of the run; None for what the run itself names, if anything.
        project: root folder of the project, or a function of the run.
        find_user: reads the user from the host's own fields.
    """

    def __init__(
        self,
        user: RunValue[Run] | None,
        project: RunValue[Run] | Path,
        find_user: Callable[[Run], str] = lambda _: "",
    ) -> None:
        self._user = user
        self._project = project
        self._find_user = find_user

    def resolve(self, run: Run) -> UserAndProject:
        """Return whose memory a run uses.

        Where a user was to be given and the run has none, nothing is remembered across sessions.
        """
        project = self._project(run) if callable(self._project) else str(self._project)
        if self._user is None:
            return UserAndProject(self._find_user(run), project or "")
        user = evaluate_run_value(self._user, run)
        return UserAndProject(user, project or "") if user else UserAndProject("", "")

    def resolve_named(self, user: str, project: str) -> UserAndProject:
        """Return whose memory is meant outside of a run, where the host names it.

        Raises UsageError for a user that only a run can name.
        """
        if not user and callable(self._user):
            raise UsageError("the user of this adapter is a function of the run: name the user")
        constant = "" if callable(self._project) else str(self._project)
        return UserAndProject(user or str(self._user or ""), project or constant)


def evaluate_run_value(value: RunValue[Run], run: Run) -> str:
    """Return the text of a value for a run; empty for None."""
    found = value(run) if callable(value) else value
    return found or ""


def find_user_id(*sources: object) -> str:
    """Return the user that one of the mappings or objects names, the first that does; empty if
    none.
    """
    for source in sources:
        for field in USER_FIELDS:
            found = (
                source.get(field) if isinstance(source, Mapping) else getattr(source, field, None)
            )
            if isinstance(found, str | int) and str(found):
                return str(found)
    return ""


# Which agents run within a tool of another agent: what they are asked are a model's words.

_TOOL_OF: ContextVar[str | None] = ContextVar("memorist_tool_of", default=None)
"""Id of the session whose tool this task or thread runs; None outside of tools."""


def enter_tool(session: str | None) -> None:
    """Note that the rest of this task or thread runs a tool of a session."""
    _TOOL_OF.set(session)


@contextmanager
def tool_scope(session: str) -> Iterator[None]:
    """Run a tool of a session in this block."""
    before = _TOOL_OF.get()
    enter_tool(session)
    try:
        yield
    finally:
        enter_tool(before)  # a token belongs to one context, and a host may close in another


def is_in_tool() -> bool:
    """Whether this task or thread runs a tool of an agent with memorist."""
    return _TOOL_OF.get() is not None


def give_nested_agent_own_session(session: str, name: str) -> tuple[str, HostInfo | None]:
    """The session of an agent's run, and the host's description of it where a tool runs it.

    A nested agent that the host gives the id of the outer session gets one of its own by `name`.
    """
    outer = _TOOL_OF.get()
    if outer is None:
        return session, None
    return (f"{session}/{name}" if session == outer else session), HostInfo(main=False)
