"""What a session gives to later ones: which kinds of memory take part in it (`long_term`). Pure."""

from __future__ import annotations

from memorist.runtime import SessionContext


def has_auto_memory(context: SessionContext) -> bool:
    """Whether the memories of the session's project are written and shown; never without a project,
    nor on a machine whose disk is not persistent.
    """
    host = context.host
    is_wanted = context.runtime.settings.uses_auto_memory
    return bool(context.project) and is_wanted and host.memory and not host.remote


def has_past_session_memory(context: SessionContext) -> bool:
    """Whether the memory of past sessions takes part; never in a subagent, nor on a machine whose
    disk is not persistent.
    """
    host = context.host
    return context.runtime.settings.uses_rollouts and host.main and host.memory and not host.remote
