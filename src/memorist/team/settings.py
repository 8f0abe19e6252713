"""The settings of team memory."""

from __future__ import annotations

from msgspec import Struct


class TeamSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a team's memories are stored, and how they are synchronised.

    Source of the figures: claude-code.md sections 10 and 15. A project's file sets none of them.
    """

    enabled: bool = False
    """True synchronises `team/` of each project that has a remote (`memorist team init`, or
    `remote`) while a session is open.
    """
    remote: str = ""
    """Remote of projects without one of their own: `https://HOST` for a server of ours, or
    `git:URL` (`git:origin`: the project's own).
    """
    branch: str = "memorist-team"
    """Branch of a Git remote."""
    folder: str = "team"
    """Folder on that branch; empty for the whole branch."""
    token_file: str = ""
    """File with the server's token, readable by you alone.

    The variable MEMORIST_TEAM_TOKEN takes precedence.
    """
    ca_file: str = ""
    """PEM file with the authorities that may have signed the server's certificate, in place of the
    system's; for a self-made certificate.
    """
    pause_seconds: float = 2.0
    """Delay between the last change and sending."""
    every_seconds: float = 300.0
    """Interval of polling for others' changes while a session is open. Our choice."""
    flush_seconds: float = 2.0
    """Longest wait at the end of a session for what is still to be sent."""
    timeout_seconds: float = 30.0
    """Time limit of one request or one run of Git."""
    retries: int = 3
    """Retries of a request if the server is overloaded or unreachable."""
    entry_bytes: int = 250_000
    """Largest memory in bytes; larger ones are neither sent nor taken."""
    body_bytes: int = 200_000
    """Bytes of the memories in one request; a larger one goes alone."""
