"""The settings of auto memory."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Policy = Literal["auto", "review", "off"]


class AutoMemorySettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is remembered, where, and how large the index may be.

    Source of each default: claude-code.md sections 7, 8 and 15.
    """

    enabled: bool = True
    """False neither writes memories nor shows any."""
    policy: Policy = "auto"
    """`auto` writes what passes the checks, `review` puts everything into the inbox, `off` writes
    nothing.
    """
    directory: str = ""
    """The memory folder, absolute or from `~/`; empty for the project's own below the home folder.
    A project's file cannot set it.
    """
    every_turns: int = 1
    """Extraction by a model runs once per so many turns."""
    turns: int = 5
    """Model replies in one extraction at most."""
    reads_anywhere: bool = True
    """False confines extraction by a model to the memory folder, without commands: for one machine
    that serves several users (`Tenants`).
    """
    drain_seconds: float = 60.0
    """Longest wait for a running extraction when a session closes."""
    scan_files: int = 200
    """Files in the manifest shown to a model."""
    scan_lines: int = 30
    """Lines read of each file for the manifest."""
    index_lines: int = 200
    """Lines of the index at most."""
    index_bytes: int = 25_000
    """Bytes of the index at most."""
    index_line: int = 150
    """Approximate characters of one line of the index."""
