"""Compaction done by the provider: the request changes that enable it, and how to read its replies
(CP-6, CP-13). Pure.

Sources: Claude Code and Codex; the shapes are those of the SDKs
anthropic 2 (`BetaCompact20260112EditParam`, `BetaClearToolUses20250919EditParam`,
`BetaCompactionBlock`) and openai 3 (`ResponseCompactParams`, `CompactedResponse`,
`ContextManagement`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from memorist.compaction.summary_parser import UnusableSummary
from memorist.core.messages import JsonObject

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


class AppliedEdit(Struct, frozen=True):
    """An edit that the provider reports as applied."""

    kind: str
    tokens: int


class ProviderCompactionItem(Struct, frozen=True, kw_only=True):
    """The provider's compaction: the item to send back in place of everything before it."""

    item: JsonObject
    """The block or item as received. It is sent back unchanged."""
    summary: str
    """Empty where the provider does not reveal it."""


def add_context_edit(body: JsonObject, edit: JsonObject) -> JsonObject:
    """The Anthropic request with one more context edit. If the host already set an edit of the same
    type, the body is returned unchanged.

    Clearing of thinking comes first, as the API demands; other edits keep their order.
    """
    management = body.get("context_management")
    edits = _context_edits(management)
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


def _context_edits(management: object) -> list[JsonObject]:
    edits = management.get("edits") if isinstance(management, dict) else None
    return [each for each in edits if isinstance(each, dict)] if isinstance(edits, list) else []


def add_anthropic_compaction(body: JsonObject, *, trigger: int) -> RequestWithBetas:
    """Let Anthropic compact when the input reaches `trigger` tokens (at least 50,000)."""
    edit: JsonObject = {
        "type": COMPACT_EDIT,
        "trigger": {"type": "input_tokens", "value": max(MIN_TRIGGER_TOKENS, trigger)},
    }
    return RequestWithBetas(add_context_edit(body, edit), (COMPACT_BETA,))


def read_anthropic_compaction(reply: JsonObject) -> ProviderCompactionItem | UnusableSummary | None:
    """The newest compaction in an Anthropic reply; None when there is none, Unusable when it failed
    (its content is null).
    """
    block = _find_newest_block(reply.get("content"), "compaction")
    if block is None:
        return None
    content = block.get("content")
    if not isinstance(content, str) or not content:
        return UnusableSummary("The provider's compaction failed: it has no content.")
    return ProviderCompactionItem(item=block, summary=content)


def read_applied_context_edits(reply: JsonObject) -> tuple[AppliedEdit, ...]:
    """The context edits that an Anthropic reply confirms."""
    management = reply.get("context_management")
    edits = _list_objects(management.get("applied_edits") if isinstance(management, dict) else None)
    return tuple(
        AppliedEdit(str(each.get("type")), _read_count(each, "cleared_input_tokens"))
        for each in edits
    )


def add_openai_compaction(body: JsonObject, *, threshold: int) -> RequestWithBetas:
    """Let OpenAI compact inside an ordinary Responses request when its input reaches `threshold`
    tokens. A setting of the host's takes precedence.
    """
    entries = body.get("context_management")
    if isinstance(entries, list) and any(
        isinstance(each, dict) and each.get("type") == "compaction" for each in entries
    ):
        return RequestWithBetas(body)
    entry = {"type": "compaction", "compact_threshold": threshold}
    return RequestWithBetas(
        {**body, "context_management": [*(entries if isinstance(entries, list) else []), entry]}
    )


def read_openai_compaction(reply: JsonObject) -> ProviderCompactionItem | UnusableSummary | None:
    """The compaction item in a Responses reply; None when it has none.

    `UnusableSummary` when there is more than one, or it is empty: a history built on it would be
    empty.
    """
    items = [
        each for each in _list_objects(reply.get("output")) if each.get("type") == "compaction"
    ]
    if not items:
        return None
    if len(items) > 1:
        return UnusableSummary("The provider's compaction holds more than one compaction item.")
    if not isinstance(items[0].get("encrypted_content"), str) or not items[0]["encrypted_content"]:
        return UnusableSummary("The provider's compaction item is empty.")
    return ProviderCompactionItem(item=items[0], summary="")


def _find_newest_block(value: object, kind: str) -> JsonObject | None:
    return next((each for each in reversed(_list_objects(value)) if each.get("type") == kind), None)


def _list_objects(value: object) -> list[JsonObject]:
    return list(_iterate_objects(value)) if isinstance(value, list) else []


def _iterate_objects(values: Sequence[object]) -> Iterator[JsonObject]:
    return (each for each in values if isinstance(each, dict))


def _read_count(value: JsonObject, key: str) -> int:
    found = value.get(key)
    return found if isinstance(found, int) and not isinstance(found, bool) else 0
