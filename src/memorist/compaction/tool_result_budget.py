"""The tool result budget: results too large for the conversation are stored on disk and replaced by
a preview (CP-4). Pure; the compactor writes the files.

Source: claude-code.md section 5.1. A decision about a result is final: it yields the same text in
every later request, so that the prompt cache keeps its prefix.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.compaction.measured_history import (
    CompactedHistory,
    CompactionResult,
    RemovedItem,
    UnchangedHistory,
    find_rounds,
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
from memorist.safety.secrets import find_secrets
from memorist.settings import CompactionSettings

SELF_LIMITING_TOOLS = frozenset({"read", "read_file", "view", "notebookread"})
"""Tools that limit their own output: their results are stored on disk only when one alone exceeds
the limit of a whole message.
"""

_SAFE_FILE_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")


class OffloadDecisions(Struct, frozen=True):
    """The decision for each tool use id: shown in full from now on, or replaced by this text from
    now on. Immutable.
    """

    shown: frozenset[str] = frozenset()
    replaced: Mapping[str, str] = {}


class StoredResult(Struct, frozen=True):
    """A result to store: the id that fetches it back, the file's name, its full text."""

    id: str
    name: str
    text: str


class BudgetedMessages(Struct, frozen=True, kw_only=True):
    """The messages to send, the updated decisions, and the results that must be stored before the
    messages are sent.
    """

    messages: tuple[Message, ...]
    decisions: OffloadDecisions
    payloads: tuple[StoredResult, ...] = ()
    cut: tuple[RemovedItem, ...] = ()


def keep_all_shown(messages: Sequence[Message]) -> OffloadDecisions:
    """The decisions for a conversation that began before memorist was attached: everything shown so
    far stays shown.
    """
    return OffloadDecisions(
        frozenset(result.tool_use_id for message in messages for result in message.tool_results)
    )


def apply_result_budget(
    messages: Sequence[Message],
    decisions: OffloadDecisions,
    settings: CompactionSettings,
    *,
    folder: str,
) -> BudgetedMessages:
    """Decide about every undecided result and apply all decisions. `folder` is where stored results
    will be written.

    A single result over `result_characters` is stored. Where the results between two replies
    together exceed `message_result_characters`, the largest undecided ones are stored until the
    rest fits. An empty result is replaced by a short remark.
    """
    names = {use.id: use.name for message in messages for use in message.tool_uses}
    fresh: dict[str, str] = {}
    stored: list[ToolResult] = []
    seen = set(decisions.shown)
    for start, end in find_rounds(messages):
        results = [result for message in messages[start:end] for result in message.tool_results]
        undecided = [
            result
            for result in results
            if result.tool_use_id not in seen and result.tool_use_id not in decisions.replaced
        ]
        fresh |= {
            result.tool_use_id: _render_empty_result(names.get(result.tool_use_id, ""))
            for result in undecided
            if _is_empty_result(result)
        }
        offloaded = _choose_offloaded(results, undecided, names, decisions, settings)
        fresh |= {
            result.tool_use_id: render_stored_result(result, folder, settings.preview_bytes)
            for result in offloaded
        }
        stored += offloaded
        seen |= {result.tool_use_id for result in undecided if result.tool_use_id not in fresh}
    # Decisions are only ever added, never changed: a changed one would alter the cached prefix.
    replaced = {**decisions.replaced, **fresh} if fresh else decisions.replaced
    shown = frozenset(seen) if len(seen) > len(decisions.shown) else decisions.shown
    cut = (
        RemovedItem(
            each.tool_use_id,
            estimate_text_tokens(each.text) - estimate_text_tokens(fresh[each.tool_use_id]),
            "a large result, now on disk",
        )
        for each in stored
    )
    return BudgetedMessages(
        messages=tuple(_replace_results(message, replaced) for message in messages),
        decisions=OffloadDecisions(shown, replaced),
        payloads=tuple(
            StoredResult(each.tool_use_id, result_file_name(each.tool_use_id), each.text)
            for each in stored
        ),
        cut=tuple(cut),
    )


def _choose_offloaded(
    results: Sequence[ToolResult],
    undecided: Sequence[ToolResult],
    names: Mapping[str, str],
    decisions: OffloadDecisions,
    settings: CompactionSettings,
) -> list[ToolResult]:
    chosen = [
        each
        for each in undecided
        if len(each.text) > _result_limit(names.get(each.tool_use_id, ""), settings)
    ]
    offloaded = {each.tool_use_id for each in chosen}
    total = sum(
        len(decisions.replaced.get(each.tool_use_id, each.text))
        for each in results
        if each.tool_use_id not in offloaded
    )
    for each in sorted(undecided, key=lambda each: -len(each.text)):
        if total <= settings.message_result_characters:
            break
        # A result that its preview would not shrink saves nothing.
        if (
            each.tool_use_id in offloaded
            or _limits_itself(names.get(each.tool_use_id, ""))
            or len(each.text) <= settings.preview_bytes
        ):
            continue
        chosen.append(each)
        total -= len(each.text)
    return chosen


def _result_limit(tool: str, settings: CompactionSettings) -> int:
    return (
        settings.message_result_characters if _limits_itself(tool) else settings.result_characters
    )


def _limits_itself(tool: str) -> bool:
    return tool.lower() in SELF_LIMITING_TOOLS


def _is_empty_result(result: ToolResult) -> bool:
    return all(isinstance(part, TextBlock) and not part.text.strip() for part in result.content)


def _render_empty_result(tool: str) -> str:
    return f"({tool or 'The tool'} finished and printed nothing.)"


def result_file_name(tool_use_id: str) -> str:
    """File name of a stored result: the id itself where it is a safe name, else a digest of it, so
    that no id leads out of the folder, and no secret is in a name.
    """
    name = (
        tool_use_id
        if _SAFE_FILE_NAME.fullmatch(tool_use_id) and not find_secrets(tool_use_id)
        else hashlib.sha256(tool_use_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    )
    return f"{name}.txt"


def render_stored_result(result: ToolResult, folder: str, preview_bytes: int) -> str:
    """The text that replaces a stored result: its id, size and path, and its beginning."""
    text = result.text
    return (
        f'<stored_result id="{result.tool_use_id}" characters="{len(text)}" '
        f'path="{folder.rstrip("/")}/{result_file_name(result.tool_use_id)}">\n'
        "The result is too long to be shown whole. All of it is in the file; read it there in "
        "parts, or fetch it back by its id. It begins:\n"
        f"{cut_preview(text, preview_bytes)}\n"
        "</stored_result>"
    )


def cut_preview(text: str, size: int) -> str:
    """At most the first `size` UTF-8 bytes, on a character boundary, cut at a line end if one lies
    in the second half.
    """
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) <= size:
        return text
    head = raw[:size].decode("utf-8", "ignore")
    line_end = head.rfind("\n", len(head) // 2)
    return head[:line_end] if line_end > 0 else head


def _replace_results(message: Message, replaced: Mapping[str, str]) -> Message:
    blocks = tuple(
        _replace_result_text(block, replaced[block.tool_use_id])
        if isinstance(block, ToolResult) and _is_decision_for(block, replaced)
        else block
        for block in message.blocks
    )
    return message if blocks == message.blocks else replace(message, blocks=blocks)


def _is_decision_for(result: ToolResult, replaced: Mapping[str, str]) -> bool:
    """Whether the decision stored under this id was made for this result: some models reuse call
    ids in each turn.
    """
    text = replaced.get(result.tool_use_id)
    return text is not None and (
        _is_empty_result(result)
        or f' characters="{len(result.text)}" path=' in text.split("\n", 1)[0]
    )


def _replace_result_text(result: ToolResult, text: str) -> ToolResult:
    # Images and documents stay: they are not text, and the stored file holds only text.
    others = tuple(part for part in result.content if not isinstance(part, TextBlock))
    return replace(result, content=(TextBlock(text), *others))


# Microcompact: old tool results lose their content, nothing else changes (CP-5, CP-6). Pure.


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
