"""The settings of team memory."""

from __future__ import annotations

from msgspec import Struct


class TeamSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a team's memories are kept alike, and how. Source of the figures: claude-code.md sections 10 and 15. A project's file sets none of them."""

    enabled: bool = False
    """True keeps `team/` of each project that has a place to keep it (`memorist team init`, or `remote`) alike while a session is open."""
    remote: str = ""
    """Where projects without a place of their own keep it: `https://HOST` for a server of ours, or `git:URL` (`git:origin`: the project's own)."""
    branch: str = "memorist-team"
    """Branch of a Git remote."""
    folder: str = "team"
    """Folder on that branch; empty for the whole branch."""
    token_file: str = ""
    """File with the token of the server, readable by you alone. The variable MEMORIST_TEAM_TOKEN goes before it."""
    ca_file: str = ""
    """File (PEM) with the authorities that may have signed the server's certificate, in place of the machine's own; for a certificate made by yourself."""
    pause_seconds: float = 2.0
    """What was changed is sent so long after the last change."""
    every_seconds: float = 300.0
    """What others changed is looked for so often while a session is open. Ours."""
    flush_seconds: float = 2.0
    """Longest wait at the end of a session for what is still to be sent."""
    timeout_seconds: float = 30.0
    """Time limit of one request or one run of Git."""
    retries: int = 3
    """Times a request is repeated when the server is overloaded or cannot be reached."""
    entry_bytes: int = 250_000
    """Bytes of one memory; larger ones are neither sent nor taken."""
    body_bytes: int = 200_000
    """Bytes of the memories in one request; a larger one goes alone."""
