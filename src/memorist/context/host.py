"""What a host that has its context assembled says of a session. Pure."""

from __future__ import annotations

from msgspec import Struct

from memorist.context.allowed import NOTHING_SAID, Allowed
from memorist.context.piece import Section
from memorist.context.settings import Family


class HostContext(Struct, frozen=True, kw_only=True):
    """Passed to `Session.assemble`, and again when something of it changed."""

    folder: str
    """Where the agent works: the working folder, absolute."""
    family: Family | None = None
    """Shape of the context; None for the setting `context.family`. It cannot change within a session."""
    sections: tuple[Section, ...] = ()
    """What the host brings itself: instructions of its own, tools that are not in the schema, a mode … in the places of the scaffold table."""
    allowed: Allowed = NOTHING_SAID
    """What needs approval, the sandbox, network and folders, subagents: told to the rollout family, and again when it changed."""
