"""The settings of recall."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class RecallSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is shown, and how much of it.

    Source of each default: claude-code.md sections 7.6 and 15.
    """

    enabled: bool = True
    """False shows neither the index nor single memories."""
    selector: Literal["ranker", "model"] = "ranker"
    """`ranker` selects by words and embeddings, at once; `model` asks the model in the background
    (RC-2).
    """
    embeddings: bool = True
    """Use embeddings where the extra `embed` is installed."""
    limit: int = 5
    """Memories per message."""
    file_lines: int = 200
    """Lines shown of one memory."""
    file_bytes: int = 4_096
    """Bytes shown of one memory."""
    turn_bytes: int = 20_480
    """Bytes shown per user message."""
    session_bytes: int = 61_440
    """Bytes shown per session until a compaction."""
    seconds: float = 20.0
    """Longest time that a model may take to select."""
