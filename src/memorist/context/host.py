"""What a host that has its context assembled says of a session. Pure."""

from __future__ import annotations

from pathlib import PurePath
from typing import get_args

from msgspec import Struct

from memorist.context.allowed import NOTHING_SAID, Allowed
from memorist.context.piece import Section
from memorist.context.settings import Family
from memorist.errors import UsageError


class HostContext(Struct, frozen=True, kw_only=True):
    """Passed to `Session.assemble`, and again when something of it changed. Raises UsageError for a family that there is not, and for a folder that is not
    absolute, which another process would take for another one.
    """

    folder: str
    """Where the agent works: the working folder, absolute."""
    family: Family | None = None
    """Shape of the context; None for the setting `context.family`. It cannot change within a session."""
    sections: tuple[Section, ...] = ()
    """What the host brings itself: instructions of its own, tools that are not in the schema, a mode … in the places of the scaffold table."""
    allowed: Allowed = NOTHING_SAID
    """What needs approval, the sandbox, network and folders, subagents: told to the rollout family, and again when it changed."""

    def __post_init__(self) -> None:
        """Said where the host writes it, not in the middle of its next request."""
        if self.family not in (None, *get_args(Family)):
            raise UsageError(f"there is no family {self.family!r} of contexts; give one of {', '.join(get_args(Family))}")
        if not PurePath(self.folder).is_absolute():
            raise UsageError(f"the working folder {self.folder!r} is not absolute; give its whole path")
