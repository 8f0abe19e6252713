"""The tool result budget: results too large for the conversation are stored on disk and replaced by
a preview (CP-4). Pure; the compactor writes the files.

Source: claude-code.md section 5.1. A decision about a result is final: it yields the same text in
every later request, so that the prompt cache keeps its prefix.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.compaction.groups import rounds
from memorist.compaction.result import Cut
from memorist.compaction.settings import CompactionSettings
from memorist.core.messages import Message, Text, ToolResult
from memorist.core.tokens import estimate_text

READERS = frozenset({"read", "read_file", "view", "notebookread"})
"""Tools that limit their own output: their results are stored on disk only when one alone exceeds
the limit of a whole message.
"""

_SAFE = re.compile(r"[A-Za-z0-9_-]{1,100}")


class Decisions(Struct, frozen=True):
    """The decision for each tool use id: shown in full from now on, or replaced by this text from
    now on. Immutable.
    """

    shown: frozenset[str] = frozenset()
    replaced: Mapping[str, str] = {}


class Payload(Struct, frozen=True):
    """A result to store: the id that fetches it back, the file's name, its full text."""

    id: str
    name: str
    text: str


class Budgeted(Struct, frozen=True, kw_only=True):
    """The messages to send, the updated decisions, and the results that must be stored before the
    messages are sent.
    """

    messages: tuple[Message, ...]
    decisions: Decisions
    payloads: tuple[Payload, ...] = ()
    cut: tuple[Cut, ...] = ()


def as_shown(messages: Sequence[Message]) -> Decisions:
    """The decisions for a conversation that began before memorist was attached: everything shown so
    far stays shown.
    """
    return Decisions(frozenset(result.tool_use_id for message in messages for result in message.tool_results))


def apply_budget(messages: Sequence[Message], decisions: Decisions, settings: CompactionSettings, *, folder: str) -> Budgeted:
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
    for start, end in rounds(messages):
        results = [result for message in messages[start:end] for result in message.tool_results]
        undecided = [result for result in results if result.tool_use_id not in seen and result.tool_use_id not in decisions.replaced]
        fresh |= {result.tool_use_id: _empty(names.get(result.tool_use_id, "")) for result in undecided if _is_empty(result)}
        offloaded = _offloaded(results, undecided, names, decisions, settings)
        fresh |= {result.tool_use_id: replacement(result, folder, settings.preview_bytes) for result in offloaded}
        stored += offloaded
        seen |= {result.tool_use_id for result in undecided if result.tool_use_id not in fresh}
    replaced = {**decisions.replaced, **fresh} if fresh else decisions.replaced
    shown = frozenset(seen) if len(seen) > len(decisions.shown) else decisions.shown
    cut = (
        Cut(each.tool_use_id, estimate_text(each.text) - estimate_text(fresh[each.tool_use_id]), "a large result, now on disk")
        for each in stored
    )
    return Budgeted(
        messages=tuple(_changed(message, replaced) for message in messages),
        decisions=Decisions(shown, replaced),
        payloads=tuple(Payload(each.tool_use_id, file_name(each.tool_use_id), each.text) for each in stored),
        cut=tuple(cut),
    )


def _offloaded(
    results: Sequence[ToolResult],
    undecided: Sequence[ToolResult],
    names: Mapping[str, str],
    decisions: Decisions,
    settings: CompactionSettings,
) -> list[ToolResult]:
    chosen = [each for each in undecided if len(each.text) > _limit(names.get(each.tool_use_id, ""), settings)]
    taken = {each.tool_use_id for each in chosen}
    total = sum(len(decisions.replaced.get(each.tool_use_id, each.text)) for each in results if each.tool_use_id not in taken)
    for each in sorted(undecided, key=lambda each: -len(each.text)):
        if total <= settings.message_result_characters:
            break
        # A result that the preview would not make smaller has nothing to give.
        if each.tool_use_id in taken or _reads(names.get(each.tool_use_id, "")) or len(each.text) <= settings.preview_bytes:
            continue
        chosen.append(each)
        total -= len(each.text)
    return chosen


def _limit(tool: str, settings: CompactionSettings) -> int:
    return settings.message_result_characters if _reads(tool) else settings.result_characters


def _reads(tool: str) -> bool:
    return tool.lower() in READERS


def _is_empty(result: ToolResult) -> bool:
    return all(isinstance(part, Text) and not part.text.strip() for part in result.content)


def _empty(tool: str) -> str:
    return f"({tool or 'The tool'} finished and printed nothing.)"


def file_name(tool_use_id: str) -> str:
    """File name of a stored result: the id itself where it is a safe name, else a digest of it, so
    that no id leads out of the folder.
    """
    name = tool_use_id if _SAFE.fullmatch(tool_use_id) else hashlib.sha256(tool_use_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"{name}.txt"


def replacement(result: ToolResult, folder: str, preview_bytes: int) -> str:
    """The text that replaces a stored result: its id, size and path, and its beginning."""
    text = result.text
    return (
        f'<stored_result id="{result.tool_use_id}" characters="{len(text)}" path="{folder.rstrip("/")}/{file_name(result.tool_use_id)}">\n'
        "The result is too long to be shown whole. All of it is in the file; read it there in parts, or fetch it back by its id. It begins:\n"
        f"{preview(text, preview_bytes)}\n"
        "</stored_result>"
    )


def preview(text: str, size: int) -> str:
    """At most the first `size` UTF-8 bytes, on a character boundary, cut at a line end if one lies
    in the second half.
    """
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) <= size:
        return text
    head = raw[:size].decode("utf-8", "ignore")
    line_end = head.rfind("\n", len(head) // 2)
    return head[:line_end] if line_end > 0 else head


def _changed(message: Message, replaced: Mapping[str, str]) -> Message:
    blocks = tuple(
        _with_text(block, replaced[block.tool_use_id]) if isinstance(block, ToolResult) and _belongs(block, replaced) else block
        for block in message.blocks
    )
    return message if blocks == message.blocks else replace(message, blocks=blocks)


def _belongs(result: ToolResult, replaced: Mapping[str, str]) -> bool:
    """Whether the decision stored under this id was made for this result: some models reuse call
    ids in each turn.
    """
    text = replaced.get(result.tool_use_id)
    return text is not None and (_is_empty(result) or f' characters="{len(result.text)}" path=' in text.split("\n", 1)[0])


def _with_text(result: ToolResult, text: str) -> ToolResult:
    # Pictures and documents stay: they are no text, and the file cannot hold them.
    others = tuple(part for part in result.content if not isinstance(part, Text))
    return replace(result, content=(Text(text), *others))
