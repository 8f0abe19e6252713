"""The settings of consolidation between sessions."""

from __future__ import annotations

from msgspec import Struct


class DreamSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When memories are consolidated, and how much at once. Source of the defaults that do not say `Ours`: claude-code.md sections 9.1 and 15."""

    enabled: bool = True
    """False never consolidates by itself."""
    hours: float = 24.0
    """Hours since the last consolidation that the next one needs."""
    scan_minutes: float = 10.0
    """Minutes between two looks for sessions: once enough time has passed, every turn would look again."""
    sessions: int = 5
    """Other sessions of the project, changed since the last consolidation, that the next one needs."""
    material: int = 120_000
    """Characters of memories, logs, searches and instruction files that a model is shown at most: about 30,000 tokens. Ours."""
    loss: float = 0.2
    """Part of the folder's words that a model may take out in one dream; beyond it nothing of what it did is kept. Ours."""
    retired: int = 10
    """Memories that a model may take out in one dream, and never more than a fifth of them. Ours."""
    questions: int = 10
    """Questions that one dream puts into the inbox at most. Ours."""
