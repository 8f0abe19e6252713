"""Microcompact: old tool results lose their content, nothing else changes; by memorist, or by the
provider (CP-5, CP-6). Pure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.compaction.measured_history import (
    CompactedHistory,
    CompactionResult,
    RemovedItem,
    UnchangedHistory,
)
from memorist.compaction.provider_compaction import (
    CLEAR_EDIT,
    EDITING_BETA,
    ProviderRequest,
    add_context_edit,
    read_applied_edits,
)
from memorist.core.messages import Block, JsonObject, Message, TextBlock, ToolResult
from memorist.core.token_count import MEDIA_TOKENS, estimate_message_tokens, estimate_text_tokens
from memorist.settings import CompactionSettings

COMPACTABLE_TOOLS = frozenset(
    {
        # Claude Code: file read, shells, grep, glob, web search and fetch, edit, write
        "read", "notebookread", "bash", "bashoutput", "powershell", "grep", "glob", "ls",
        "websearch", "webfetch", "edit", "multiedit", "write",
        "notebookedit",
        # Codex: the same work under its own names
        "shell", "shell_command", "exec_command", "write_stdin", "unified_exec", "local_shell",
        "local_shell_call", "container.exec", "read_file",
        "list_dir", "grep_files", "web_search", "web_fetch", "apply_patch", "view_image",
        # Names of the same tools in other clients
        "view", "create_file", "write_file", "str_replace", "str_replace_based_edit_tool",
    }
)  # fmt: skip
"""Tools whose old results may be cleared, in lower case: their output can be obtained again, or is
in the files. Agents and MCP tools are not among them.
"""

CLEARED_TEXT = "[old tool result cleared; it can be fetched back by its id]"
"""The fixed text that replaces a cleared result; also identifies results cleared before."""

_FOREIGN_CLEARED_TEXT = "[Old tool result content cleared]"
"""The text Claude Code writes there (claude-code.md section 5.3); seen in resumed sessions."""


def is_compactable(tool: str) -> bool:
    """Whether results of a tool of this name may be cleared."""
    return tool.lower() in COMPACTABLE_TOOLS


def find_old_results(messages: Sequence[Message], keep: int) -> tuple[str, ...]:
    """Ids of the compactable uses, oldest first, without the newest `keep` (at least 1). Excludes
    uses that wait for a result and those whose result arrived after the model's last reply, which
    it has not seen yet.
    """
    answered = {result.tool_use_id for message in messages for result in message.tool_results}
    ids = [
        use.id
        for message in messages
        for use in message.tool_uses
        if is_compactable(use.name) and use.id in answered
    ]
    last = next(
        (
            index
            for index in range(len(messages) - 1, -1, -1)
            if messages[index].role == "assistant"
        ),
        len(messages),
    )
    unseen = {result.tool_use_id for message in messages[last:] for result in message.tool_results}
    return tuple(
        name for name in dict.fromkeys(ids[: max(0, len(ids) - max(1, keep))]) if name not in unseen
    )


def clear_when_idle(
    messages: Sequence[Message],
    *,
    now: float,
    last_reply: float | None = None,
    settings: CompactionSettings,
    factor: float = 1.0,
) -> CompactionResult:
    """Clear all but the newest results when the last reply is an hour old. Times are seconds since
    the epoch.

    `last_reply` is its time where the messages carry none. `UnchangedHistory` before the hour,
    without a reply, or when nothing would be saved.
    """
    found = last_reply if last_reply is not None else _last_reply_time(messages)
    if not is_cache_cold(now, found, settings):
        return UnchangedHistory("The provider's cache may still be warm.")
    return clear_results(messages, find_old_results(messages, settings.micro_keep), factor=factor)


def is_cache_cold(now: float, last_reply: float | None, settings: CompactionSettings) -> bool:
    """Whether the last reply is so old that the provider's cache is surely cold; times are seconds
    since the epoch. False where its age is not known.
    """
    return (
        last_reply is not None
        and math.isfinite(last_reply)
        and math.isfinite(now)
        and now - last_reply >= settings.micro_gap_minutes * 60
    )


def _last_reply_time(messages: Sequence[Message]) -> float | None:
    newest = next((message for message in reversed(messages) if message.role == "assistant"), None)
    return None if newest is None else newest.timestamp


def clear_results(
    messages: Sequence[Message],
    ids: Sequence[str],
    *,
    factor: float = 1.0,
    sizes: Sequence[int] | None = None,
) -> CompactionResult:
    """Replace these results by the fixed text. Results already cleared, or no longer than the text,
    stay as they are.

    `sizes` are the messages' estimated tokens, where known.
    """
    wanted = set(ids)
    cut: list[RemovedItem] = []
    cleared = tuple(_clear_message(message, wanted, cut, factor) for message in messages)
    if not cut:
        return UnchangedHistory("There is no old tool result that would save anything.")
    known = (
        [estimate_message_tokens(message, factor) for message in messages]
        if sizes is None
        else sizes
    )
    before = sum(known)
    changed = [
        (size, new)
        for size, new, old in zip(known, cleared, messages, strict=True)
        if new is not old
    ]
    after = before + sum(estimate_message_tokens(new, factor) - size for size, new in changed)
    return CompactedHistory(
        strategy="micro", messages=cleared, tokens_before=before, tokens_after=after, cut=tuple(cut)
    )


def _clear_message(
    message: Message, wanted: set[str], cut: list[RemovedItem], factor: float
) -> Message:
    if not any(
        isinstance(block, ToolResult) and block.tool_use_id in wanted for block in message.blocks
    ):
        return message
    blocks: list[Block] = []
    changed = False
    for block in message.blocks:
        saved = (
            _estimate_saving(block, factor)
            if isinstance(block, ToolResult) and block.tool_use_id in wanted
            else 0
        )
        if isinstance(block, ToolResult) and saved > 0:
            changed = True
            cut.append(RemovedItem(block.tool_use_id, saved, "an old tool result"))
            blocks.append(replace(block, content=(TextBlock(CLEARED_TEXT),)))
        else:
            blocks.append(block)
    return replace(message, blocks=tuple(blocks)) if changed else message


def _estimate_saving(result: ToolResult, factor: float) -> int:
    if result.text in {CLEARED_TEXT, _FOREIGN_CLEARED_TEXT}:
        return 0
    others = sum(1 for part in result.content if not isinstance(part, TextBlock))
    return (
        estimate_text_tokens(result.text, factor)
        + others * MEDIA_TOKENS
        - estimate_text_tokens(CLEARED_TEXT, factor)
    )


class PinnedResults(Struct, frozen=True, kw_only=True):
    """The results the provider was told to clear in this session. Every later request repeats them,
    so that the provider's cache stays valid.
    """

    ids: tuple[str, ...] = ()
    """Uses whose results are cleared, oldest first."""
    waiting: tuple[str, ...] = ()
    """Uses whose clearing no reply has confirmed yet."""
    tokens: int = 0
    """Total tokens cleared by the provider, as last reported."""


class ClearingBoundary(Struct, frozen=True):
    """The provider confirmed that these results were cleared, and how many tokens that frees.
    Written to the transcript.
    """

    ids: tuple[str, ...]
    tokens: int


def pin_old_results(pinned: PinnedResults, messages: Sequence[Message], keep: int) -> PinnedResults:
    """Add the results that are old by now. Returns the same object when there are none."""
    known = set(pinned.ids)
    new = tuple(name for name in find_old_results(messages, keep) if name not in known)
    return replace(pinned, ids=pinned.ids + new, waiting=pinned.waiting + new) if new else pinned


def build_clearing_edit(pinned: PinnedResults, messages: Sequence[Message]) -> JsonObject | None:
    """The edit that makes Anthropic clear the pinned results and no newer one; None when there is
    nothing to clear.

    The API keeps a number of newest uses. That number is recounted for each request, from the use
    after the newest pinned one to the end, including tools that are never cleared: if the API did
    not count those, it would keep more, never clear more.
    """
    uses = [use for message in messages for use in message.tool_uses]
    known = set(pinned.ids)
    newest = max((index for index, use in enumerate(uses) if use.id in known), default=-1)
    if newest < 0:
        return None
    never = sorted({use.name for use in uses if not is_compactable(use.name)})
    edit: JsonObject = {
        "type": CLEAR_EDIT,
        "trigger": {"type": "tool_uses", "value": 1},
        "keep": {"type": "tool_uses", "value": len(uses) - newest - 1},
        "clear_tool_inputs": False,
    }
    return {**edit, "exclude_tools": never} if never else edit


def add_clearing_edit(
    body: JsonObject, pinned: PinnedResults, messages: Sequence[Message]
) -> ProviderRequest:
    """The Anthropic request with the clearing edit; unchanged when there is nothing to clear, or
    when the host clears on its own.
    """
    edit = build_clearing_edit(pinned, messages)
    changed = body if edit is None else add_context_edit(body, edit)
    return ProviderRequest(changed, (EDITING_BETA,) if changed is not body else ())


def confirm_clearing(
    pinned: PinnedResults, reply: JsonObject
) -> tuple[PinnedResults, ClearingBoundary | None]:
    """Process the reply to a request made by `add_clearing_edit`. The boundary is present only when
    the reply reports more cleared tokens than before.
    """
    total = sum(edit.tokens for edit in read_applied_edits(reply) if edit.kind == CLEAR_EDIT)
    if total <= pinned.tokens or not pinned.waiting:
        return pinned, None
    return replace(pinned, waiting=(), tokens=total), ClearingBoundary(
        pinned.waiting, total - pinned.tokens
    )


def drop_stale_pins(pinned: PinnedResults, messages: Sequence[Message]) -> PinnedResults:
    """Keep the pins that still refer to a result after the history was replaced or cleared by time;
    the provider's total restarts at 0.
    """
    present = {use.id for message in messages for use in message.tool_uses}
    cleared = {
        result.tool_use_id
        for message in messages
        for result in message.tool_results
        if result.text in {CLEARED_TEXT, _FOREIGN_CLEARED_TEXT}
    }
    left = tuple(name for name in pinned.ids if name in present and name not in cleared)
    return PinnedResults(ids=left, waiting=left)
