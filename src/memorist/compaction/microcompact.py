"""Microcompact: old tool results lose their content, nothing else changes; by memorist, or by the
provider (CP-5, CP-6). Pure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec.structs import replace

from memorist.compaction.compaction_result import (
    CompactedHistory,
    CompactionResult,
    RemovedItem,
    UnchangedHistory,
)
from memorist.core.messages import Block, Message, TextBlock, ToolResult
from memorist.core.token_count import (
    estimate_block_tokens,
    estimate_message_tokens,
    estimate_text_tokens,
)
from memorist.settings import CompactionSettings

COMPACTABLE_TOOLS = frozenset(
    {
        # Claude Code: file read, shells, grep, glob, web search and fetch, edit, write
        "read", "notebookread", "bash", "bashoutput", "powershell", "grep", "glob", "ls",
        "websearch", "webfetch", "edit", "multiedit", "write",
        "notebookedit",
        # Codex: the same work under its own names
        "exec", "shell", "shell_command", "exec_command", "write_stdin", "unified_exec",
        "local_shell",
        "local_shell_call", "container.exec", "read_file",
        "list_dir", "grep_files", "web_search", "web_fetch", "apply_patch", "view_image",
        # Names of the same tools in other clients
        "view", "create_file", "write_file", "str_replace", "str_replace_based_edit_tool",
        "str_replace_editor", "replace", "run_shell_command", "run_terminal_cmd", "read_many_files",
        "list_directory", "search_file_content", "grep_search", "file_search", "codebase_search",
    }
)  # fmt: skip
"""Tools whose old results may be cleared, in lower case: their output can be obtained again, or is
in the files. Agents and MCP tools are not among them.
"""

CLEARED_TEXT = "[old tool result cleared; it can be fetched back by its id]"
"""The fixed text that replaces a cleared result; also identifies results cleared before."""

FOREIGN_CLEARED_TEXT = "[Old tool result content cleared]"
"""The text Claude Code writes there; seen in resumed sessions."""


def is_clearable_tool(tool: str) -> bool:
    """Whether results of a tool of this name may be cleared."""
    return tool.lower() in COMPACTABLE_TOOLS


def list_clearable_result_ids(messages: Sequence[Message], keep: int) -> tuple[str, ...]:
    """Ids of the compactable uses, oldest first, without the newest `keep` (at least 1). Excludes
    uses that wait for a result and those whose result arrived after the model's last reply, which
    it has not seen yet; also an id that a model gave to one of those and to an older call.
    """
    answered = {result.tool_use_id for message in messages for result in message.tool_results}
    ids = [
        use.id
        for message in messages
        for use in message.tool_uses
        if is_clearable_tool(use.name) and use.id in answered
    ]
    last = next(
        (
            index
            for index in range(len(messages) - 1, -1, -1)
            if messages[index].role == "assistant"
        ),
        len(messages),
    )
    shown = {result.tool_use_id for message in messages[last:] for result in message.tool_results}
    old = ids[: max(0, len(ids) - max(1, keep))]
    shown.update(ids[len(old) :])
    return tuple(name for name in dict.fromkeys(old) if name not in shown)


def list_result_ids_to_fit(
    messages: Sequence[Message], keep: int, excess: int, factor: float
) -> tuple[str, ...]:
    """Of the clearable results so many as free `excess` tokens, the oldest first; of those the
    newest stay that can, so that no more goes than has to.
    """
    ids = list_clearable_result_ids(messages, keep)
    saved = dict.fromkeys(ids, 0)
    for message in messages:
        for result in message.tool_results:
            if result.tool_use_id in saved:
                saved[result.tool_use_id] += max(0, _estimate_saving(result, factor))
    chosen: list[str] = []
    for id in ids:
        if excess <= 0:
            break
        chosen.append(id)
        excess -= saved[id]
    for id in reversed(chosen):
        if excess + saved[id] <= 0:
            chosen.remove(id)
            excess += saved[id]
    return tuple(chosen)


def clear_old_results_when_idle(
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
    return clear_tool_results(
        messages, list_clearable_result_ids(messages, settings.micro_keep), factor=factor
    )


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


def clear_tool_results(
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
        strategy="micro",
        messages=cleared,
        tokens_before=before,
        tokens_after=after,
        removed_items=tuple(cut),
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
    if result.text in {CLEARED_TEXT, FOREIGN_CLEARED_TEXT}:
        return 0
    size = math.ceil(estimate_block_tokens(result) * factor)
    return size - estimate_text_tokens(CLEARED_TEXT, factor)
