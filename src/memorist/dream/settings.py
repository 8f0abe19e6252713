"""The settings of consolidation between sessions."""

from __future__ import annotations

from msgspec import Struct


class DreamSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When memories are consolidated, and how much at once.

    Source of the defaults not marked as our choice: claude-code.md sections 9.1 and 15.
    """

    enabled: bool = True
    """False never consolidates automatically."""
    hours: float = 24.0
    """Minimum hours since the last consolidation."""
    scan_minutes: float = 10.0
    """Minutes between two scans for sessions: once enough time has passed, every turn would scan
    again.
    """
    sessions: int = 5
    """Minimum number of other sessions of the project changed since the last consolidation."""
    material: int = 120_000
    """Upper bound in characters of the memories, logs, searches and instruction files that a model
    is shown: about 30,000 tokens. Our choice.
    """
    loss: float = 0.2
    """Share of the folder's words that a model may remove in one dream; beyond it none of its work
    is kept. Our choice.
    """
    retired: int = 10
    """Memories that a model may retire in one dream, never more than a fifth of them. Our
    choice.
    """
    questions: int = 10
    """Upper bound of questions that one dream puts into the inbox. Our choice."""
