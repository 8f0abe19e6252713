"""The edits that a session asks of its provider, where the settings ask for them: compaction and
the clearing of old results (CP-6, CP-13). Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.compaction.compaction_thresholds import CompactionThresholds
from memorist.compaction.microcompact import (
    CLEARED_TEXT,
    FOREIGN_CLEARED_TEXT,
    is_clearable_tool,
    list_clearable_result_ids,
)
from memorist.compaction.summary_parser import UnusableSummary
from memorist.core.messages import JsonObject, Message
from memorist.settings import CompactionSettings

# Compaction done by the provider: the request changes that enable it, and how to read its replies
# (CP-6, CP-13).

COMPACT_EDIT = "compact_20260112"
COMPACT_BETA = "compact-2026-01-12"
CLEAR_EDIT = "clear_tool_uses_20250919"
EDITING_BETA = "context-management-2025-06-27"
_THINKING_EDIT = "clear_thinking_20251015"

MIN_TRIGGER_TOKENS = 50_000
"""Anthropic accepts no smaller trigger for its compaction (Claude Code)."""


class RequestWithBetas(Struct, frozen=True):
    """A request as it is to be sent: its body, and the beta names for its header."""

    body: JsonObject
    betas: tuple[str, ...] = ()


def add_context_edit(body: JsonObject, edit: JsonObject) -> JsonObject:
    """The Anthropic request with one more context edit. If the host already set an edit of the same
    type, the body is returned unchanged.

    Clearing of thinking comes first, as the API demands; other edits keep their order.
    """
    management = body.get("context_management")
    edits = _list_objects(management.get("edits") if isinstance(management, dict) else None)
    if any(each.get("type") == edit["type"] for each in edits):
        return body
    ordered = [edit, *edits] if edit["type"] == _THINKING_EDIT else [*edits, edit]
    return {
        **body,
        "context_management": {
            **(management if isinstance(management, dict) else {}),
            "edits": ordered,
        },
    }


def add_anthropic_compaction(body: JsonObject, *, trigger: int) -> RequestWithBetas:
    """Let Anthropic compact when the input reaches `trigger` tokens (at least 50,000)."""
    edit: JsonObject = {
        "type": COMPACT_EDIT,
        "trigger": {"type": "input_tokens", "value": max(MIN_TRIGGER_TOKENS, trigger)},
    }
    return RequestWithBetas(add_context_edit(body, edit), (COMPACT_BETA,))


def find_compaction_in_anthropic_reply(reply: JsonObject) -> bool | UnusableSummary:
    """Whether an Anthropic reply holds a compaction; why not, where its newest one failed (its
    content is null).
    """
    blocks = [
        each for each in _list_objects(reply.get("content")) if each.get("type") == "compaction"
    ]
    if not blocks:
        return False
    content = blocks[-1].get("content")
    if not isinstance(content, str) or not content:
        return UnusableSummary("The provider's compaction failed: it has no content.")
    return True


def count_cleared_tokens(reply: JsonObject) -> int:
    """Tokens of tool results that an Anthropic reply says were cleared in this conversation."""
    management = reply.get("context_management")
    edits = _list_objects(management.get("applied_edits") if isinstance(management, dict) else None)
    counts = [each.get("cleared_input_tokens") for each in edits if each.get("type") == CLEAR_EDIT]
    return sum(each for each in counts if isinstance(each, int) and not isinstance(each, bool))


def add_openai_compaction(body: JsonObject, *, threshold: int) -> JsonObject:
    """Let OpenAI compact inside an ordinary Responses request when its input reaches `threshold`
    tokens. A setting of the host's takes precedence.
    """
    given = body.get("context_management")
    entries = given if isinstance(given, list) else []
    if any(each.get("type") == "compaction" for each in _list_objects(entries)):
        return body
    entry = {"type": "compaction", "compact_threshold": threshold}
    return {**body, "context_management": [*entries, entry]}


def find_compaction_in_openai_reply(reply: JsonObject) -> bool | UnusableSummary:
    """Whether a Responses reply holds a compaction item; why not, where it holds more than one or
    an empty one: a history built on it would be empty.
    """
    items = [
        each for each in _list_objects(reply.get("output")) if each.get("type") == "compaction"
    ]
    if not items:
        return False
    if len(items) > 1:
        return UnusableSummary("The provider's compaction holds more than one compaction item.")
    if not isinstance(items[0].get("encrypted_content"), str) or not items[0]["encrypted_content"]:
        return UnusableSummary("The provider's compaction item is empty.")
    return True


def _list_objects(value: object) -> list[JsonObject]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


# Cached microcompact: the provider clears old results by its own context editing, so that history
# and cached prefix stay as they are (CP-6).


class ResultClearingState(Struct, frozen=True, kw_only=True):
    """The results the provider was told to clear in this session. Every later request repeats them,
    so that the provider's cache stays valid.
    """

    ids: tuple[str, ...] = ()
    """Uses whose results are cleared, oldest first."""
    unconfirmed_uses: tuple[str, ...] = ()
    """Uses whose clearing no reply has confirmed yet."""
    tokens: int = 0
    """Total tokens cleared by the provider, as last reported."""


class ConfirmedResultClearing(Struct, frozen=True):
    """The provider confirmed that these results were cleared, and how many tokens that frees."""

    ids: tuple[str, ...]
    tokens: int


def add_old_results_to_clear(
    clearing: ResultClearingState, messages: Sequence[Message], keep: int
) -> ResultClearingState:
    """Add the results that are old by now. Returns the same object when there are none."""
    known = set(clearing.ids)
    new = tuple(name for name in list_clearable_result_ids(messages, keep) if name not in known)
    if new:
        return replace(
            clearing, ids=clearing.ids + new, unconfirmed_uses=clearing.unconfirmed_uses + new
        )
    return clearing


def extend_cleared_results_when_due(
    clearing: ResultClearingState,
    messages: Sequence[Message],
    settings: CompactionSettings,
    *,
    at_once: bool,
) -> ResultClearingState:
    """The results that the next request asks to clear: those that have grown old join at once, or
    as soon as `compaction.micro_cached_results` of them wait, since each change costs the cache
    behind it.
    """
    more = add_old_results_to_clear(clearing, messages, settings.micro_keep)
    waiting = len(more.ids) - len(clearing.ids)
    return more if at_once or waiting >= settings.micro_cached_results else clearing


def build_clearing_edit(
    clearing: ResultClearingState, messages: Sequence[Message]
) -> JsonObject | None:
    """The edit that makes Anthropic clear these results and no newer one; None when there is none
    to clear.

    The API keeps a number of newest uses. That number is recounted for each request, from the use
    after the newest of these to the end, including tools that are never cleared: if the API did
    not count those, it would keep more, never clear more.
    """
    uses = [use for message in messages for use in message.tool_uses]
    known = set(clearing.ids)
    newest = max((index for index, use in enumerate(uses) if use.id in known), default=-1)
    if newest < 0:
        return None
    never = sorted({use.name for use in uses if not is_clearable_tool(use.name)})
    edit: JsonObject = {
        "type": CLEAR_EDIT,
        "trigger": {"type": "tool_uses", "value": 1},
        "keep": {"type": "tool_uses", "value": len(uses) - newest - 1},
        "clear_tool_inputs": False,
    }
    return {**edit, "exclude_tools": never} if never else edit


def add_clearing_edit(
    body: JsonObject, clearing: ResultClearingState, messages: Sequence[Message]
) -> RequestWithBetas:
    """The Anthropic request with the clearing edit; unchanged when there is nothing to clear, or
    when the host clears on its own.
    """
    edit = build_clearing_edit(clearing, messages)
    changed = body if edit is None else add_context_edit(body, edit)
    return RequestWithBetas(changed, (EDITING_BETA,) if changed is not body else ())


def read_clearing_confirmation(
    clearing: ResultClearingState, reply: JsonObject
) -> tuple[ResultClearingState, ConfirmedResultClearing | None]:
    """Process the reply to a request made by `add_clearing_edit`. The boundary is present only when
    the reply reports more cleared tokens than before.
    """
    total = count_cleared_tokens(reply)
    if total <= clearing.tokens or not clearing.unconfirmed_uses:
        return clearing, None
    return replace(clearing, unconfirmed_uses=(), tokens=total), ConfirmedResultClearing(
        clearing.unconfirmed_uses, total - clearing.tokens
    )


def drop_results_no_longer_in_history(
    clearing: ResultClearingState, messages: Sequence[Message]
) -> ResultClearingState:
    """Keep those that still refer to a result. Where some no longer do, after the history was
    replaced or cleared by time, the provider's total restarts at 0.
    """
    present = {use.id for message in messages for use in message.tool_uses}
    cleared = {
        result.tool_use_id
        for message in messages
        for result in message.tool_results
        if result.text in {CLEARED_TEXT, FOREIGN_CLEARED_TEXT}
    }
    left = tuple(name for name in clearing.ids if name in present and name not in cleared)
    if left == clearing.ids:
        return clearing
    return ResultClearingState(ids=left, unconfirmed_uses=left)


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
            return add_openai_compaction(body, threshold=limits.auto)
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
    ) -> tuple[ConfirmedResultClearing | None, bool | UnusableSummary]:
        """Return what the reply confirms: cleared tool results, and a compaction."""
        if not self.is_compaction_enabled and not self._clears:
            return None, False
        if self._format == "openai_responses":
            return None, find_compaction_in_openai_reply(reply)
        self._pinned, cleared = read_clearing_confirmation(self._pinned, reply)
        return cleared, find_compaction_in_anthropic_reply(reply)
