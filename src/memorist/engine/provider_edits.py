"""The provider's own compaction and clearing, where the settings ask for them (CP-6, CP-13): what
to add to a request, and what a reply confirms. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memorist.compaction.micro import MicroBoundary, Pinned, cached, confirmed, forget, pin
from memorist.compaction.provider import (
    ProviderSummary,
    anthropic_compaction,
    openai_compaction,
    read_anthropic_compaction,
    read_openai_compaction,
)
from memorist.compaction.settings import CompactionSettings
from memorist.compaction.summary import Unusable
from memorist.compaction.thresholds import Thresholds
from memorist.core.messages import JsonObject, Message

PROVIDERS = frozenset({"anthropic", "openai_responses"})
"""Wire formats whose provider can compact."""


class ProviderEdits:
    """The edits that a session has asked its provider for."""

    def __init__(self, name: str, settings: CompactionSettings) -> None:
        self._name = name
        self._settings = settings
        self._pinned = Pinned()
        self.betas: tuple[str, ...] = ()
        """Beta names that the last request needs; for the header `anthropic-beta`."""

    @property
    def active(self) -> bool:
        """Whether the provider compacts in this session."""
        return self._settings.provider and self._settings.enabled and self._name in PROVIDERS

    def edited(self, body: JsonObject, limits: Thresholds, used: int, messages: Callable[[], Sequence[Message]]) -> JsonObject:
        """Return the request with the edits that the provider should make; the same object when
        there are none.

        Old tool results are named for clearing once `used` tokens reach the warning threshold, and
        in every request after that. `messages` returns the shown messages; it is called only when
        needed.
        """
        if not self.active:
            return body
        if self._name == "openai_responses":
            return openai_compaction(body, threshold=limits.auto).body
        change = anthropic_compaction(body, trigger=limits.auto)
        self.betas = change.betas
        if used >= limits.warning or self._pinned.ids:
            shown = messages()
            self._pinned = pin(forget(self._pinned, shown) if self._pinned.ids else self._pinned, shown, self._settings.micro_keep)
            cleared = cached(change.body, self._pinned, shown)
            self.betas = tuple(dict.fromkeys((*self.betas, *cleared.betas)))
            return cleared.body
        return change.body

    def answered(self, reply: JsonObject) -> tuple[MicroBoundary | None, ProviderSummary | Unusable | None]:
        """Return what the reply confirms: cleared tool results, and a compaction."""
        if not self.active:
            return None, None
        if self._name == "openai_responses":
            return None, read_openai_compaction(reply)
        self._pinned, cleared = confirmed(self._pinned, reply)
        return cleared, read_anthropic_compaction(reply)
