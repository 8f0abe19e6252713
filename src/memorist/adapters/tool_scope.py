"""Which agents run within a tool of another agent: what they are asked are a model's words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from memorist.ports import HostInfo

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
