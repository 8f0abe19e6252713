"""Cached microcompact: the provider clears old results by its own context editing, so that history
and cached prefix stay as they are (CP-6). Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.compaction.microcompact import (
    CLEARED_TEXT,
    FOREIGN_CLEARED_TEXT,
    is_clearable_tool,
    list_clearable_result_ids,
)
from memorist.compaction.provider_edit_format import (
    CLEAR_EDIT,
    EDITING_BETA,
    RequestWithBetas,
    add_context_edit,
    read_applied_context_edits,
)
from memorist.core.messages import JsonObject, Message
from memorist.settings import CompactionSettings


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
    """The provider confirmed that these results were cleared, and how many tokens that frees.
    Written to the transcript.
    """

    ids: tuple[str, ...]
    tokens: int


def add_old_results_to_clear(
    clearing: ResultClearingState, messages: Sequence[Message], keep: int
) -> ResultClearingState:
    """Add the results that are old by now. Returns the same object when there are none."""
    known = set(clearing.ids)
    new = tuple(name for name in list_clearable_result_ids(messages, keep) if name not in known)
    return (
        replace(clearing, ids=clearing.ids + new, unconfirmed_uses=clearing.unconfirmed_uses + new)
        if new
        else clearing
    )


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
    total = sum(
        edit.tokens for edit in read_applied_context_edits(reply) if edit.kind == CLEAR_EDIT
    )
    if total <= clearing.tokens or not clearing.unconfirmed_uses:
        return clearing, None
    return replace(clearing, unconfirmed_uses=(), tokens=total), ConfirmedResultClearing(
        clearing.unconfirmed_uses, total - clearing.tokens
    )


def drop_results_no_longer_in_history(
    clearing: ResultClearingState, messages: Sequence[Message]
) -> ResultClearingState:
    """Keep those that still refer to a result after the history was replaced or cleared by time;
    the provider's total restarts at 0.
    """
    present = {use.id for message in messages for use in message.tool_uses}
    cleared = {
        result.tool_use_id
        for message in messages
        for result in message.tool_results
        if result.text in {CLEARED_TEXT, FOREIGN_CLEARED_TEXT}
    }
    left = tuple(name for name in clearing.ids if name in present and name not in cleared)
    return ResultClearingState(ids=left, unconfirmed_uses=left)
