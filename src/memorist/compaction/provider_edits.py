"""The edits that a session asks of its provider, where the settings ask for them: compaction and
the clearing of old results (CP-6, CP-13). Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memorist.compaction.cached_microcompact import (
    ConfirmedResultClearing,
    ResultClearingState,
    add_clearing_edit,
    drop_results_no_longer_in_history,
    extend_cleared_results_when_due,
    read_clearing_confirmation,
)
from memorist.compaction.compaction_thresholds import CompactionThresholds
from memorist.compaction.provider_edit_format import (
    ProviderCompactionItem,
    RequestWithBetas,
    add_anthropic_compaction,
    add_openai_compaction,
    read_anthropic_compaction,
    read_openai_compaction,
)
from memorist.compaction.summary_parser import UnusableSummary
from memorist.core.messages import JsonObject, Message
from memorist.settings import CompactionSettings

COMPACTING_FORMATS = frozenset({"anthropic", "openai_responses"})
"""Wire formats whose provider can compact."""


class ProviderEdits:
    """The edits that a session has asked its provider for."""

    def __init__(self, format: str, settings: CompactionSettings, *, is_main: bool) -> None:
        self._format = format
        self._settings = settings
        self._clears = (
            settings.enabled and settings.micro_cached and is_main and format == "anthropic"
        )
        self._pinned = ResultClearingState()
        self.betas: tuple[str, ...] = ()
        """Beta names that the last request needs; for the header `anthropic-beta`."""

    @property
    def is_compaction_enabled(self) -> bool:
        """Whether the provider compacts in this session."""
        return (
            self._settings.provider
            and self._settings.enabled
            and self._format in COMPACTING_FORMATS
        )

    def add_edits(
        self,
        body: JsonObject,
        limits: CompactionThresholds,
        used: int,
        messages: Callable[[], Sequence[Message]],
    ) -> JsonObject:
        """Return the request with the edits that the provider should make; the same object when
        there are none.

        Where the provider compacts, old tool results are named for clearing once `used` tokens
        reach the warning threshold; cached microcompact names them once enough have piled up. They
        stay named in every request after that. `messages` returns the shown messages; it is called
        only when needed.
        """
        if not self.is_compaction_enabled and not self._clears:
            return body
        if self._format == "openai_responses":
            return add_openai_compaction(body, threshold=limits.auto).body
        change = (
            add_anthropic_compaction(body, trigger=limits.auto)
            if self.is_compaction_enabled
            else RequestWithBetas(body)
        )
        self.betas = change.betas
        late = self.is_compaction_enabled and used >= limits.warning
        if not (late or self._clears or self._pinned.ids):
            return change.body
        shown = messages()
        pinned = (
            drop_results_no_longer_in_history(self._pinned, shown)
            if self._pinned.ids
            else self._pinned
        )
        at_once = late or (self.is_compaction_enabled and bool(pinned.ids))
        self._pinned = extend_cleared_results_when_due(
            pinned, shown, self._settings, at_once=at_once
        )
        cleared = add_clearing_edit(change.body, self._pinned, shown)
        self.betas = tuple(dict.fromkeys((*self.betas, *cleared.betas)))
        return cleared.body

    def read_reply(
        self, reply: JsonObject
    ) -> tuple[ConfirmedResultClearing | None, ProviderCompactionItem | UnusableSummary | None]:
        """Return what the reply confirms: cleared tool results, and a compaction."""
        if not self.is_compaction_enabled and not self._clears:
            return None, None
        if self._format == "openai_responses":
            return None, read_openai_compaction(reply)
        self._pinned, cleared = read_clearing_confirmation(self._pinned, reply)
        return cleared, read_anthropic_compaction(reply)
