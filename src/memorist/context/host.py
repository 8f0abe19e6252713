"""What a host states about a session whose context memorist assembles. Pure."""

from __future__ import annotations

from pathlib import PurePath
from typing import get_args

from msgspec import Struct

from memorist.context.allowed import NOTHING_SAID, Allowed
from memorist.context.piece import Section
from memorist.context.settings import Family
from memorist.errors import UsageError


class HostContext(Struct, frozen=True, kw_only=True):
    """Passed to `Session.assemble`, and again whenever part of it changed.

    Raises UsageError for an unknown family and for a relative folder, which another process would
    resolve differently.
    """

    folder: str
    """The agent's working folder, absolute."""
    family: Family | None = None
    """Shape of the context; None uses the setting `context.family`.

    It cannot change within a session.
    """
    sections: tuple[Section, ...] = ()
    """The host's own sections: instructions, tools that are not in the schema, a mode …, placed by
    the scaffold table.
    """
    allowed: Allowed = NOTHING_SAID
    """Approval, sandbox, network, folders and subagents; sent to the rollout family, and again when
    changed.
    """

    def __post_init__(self) -> None:
        """Validate here, where the host constructs it, rather than during its next request."""
        if self.family not in (None, *get_args(Family)):
            raise UsageError(f"there is no family {self.family!r} of contexts; give one of {', '.join(get_args(Family))}")
        if not PurePath(self.folder).is_absolute():
            raise UsageError(f"the working folder {self.folder!r} is not absolute; give its whole path")
