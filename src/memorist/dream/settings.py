"""The settings of consolidation between sessions."""

from __future__ import annotations

from msgspec import Struct


class DreamSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When memories are consolidated. Source of each default: claude-code.md sections 9.1 and 15."""

    enabled: bool = True
    """False never consolidates by itself."""
    hours: float = 24.0
    """Hours since the last consolidation that the next one needs."""
    scan_minutes: float = 10.0
    """Minutes between two looks for sessions: once enough time has passed, every turn would look again."""
    sessions: int = 5
    """Other sessions of the project, changed since the last consolidation, that the next one needs."""
