"""The tool result budget: results too large for the conversation are stored on disk and replaced by
a preview (CP-4). Pure; the compactor writes the files.

Source: Claude Code. A decision about a result is final: it yields the same text in
every later request, so that the prompt cache keeps its prefix.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.compaction.compaction_result import RemovedItem
from memorist.compaction.oldest_rounds import find_conversation_rounds
from memorist.core.messages import Message, TextBlock, ToolResult
from memorist.core.token_count import BYTES_PER_TOKEN, estimate_text_tokens
from memorist.core.truncation import truncate_middle
from memorist.safety.secrets import find_secrets
from memorist.settings import CompactionSettings

SELF_LIMITING_TOOLS = frozenset({"read", "read_file", "view", "notebookread"})
"""Tools that limit their own output: their results are stored on disk only when one alone exceeds
the limit of a whole message.
"""

_SAFE_FILE_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")


ResultKey = tuple[str, str]
"""A tool use's id and a digest of its result's text: some models number their calls anew in each
turn.
"""


class OffloadDecisions(Struct, frozen=True):
    """The decision for each result: shown in full from now on, or replaced by this text from now
    on. Immutable.
    """

    shown_keys: frozenset[ResultKey] = frozenset()
    replacement_texts: Mapping[ResultKey, str] = {}


class ResultToStore(Struct, frozen=True):
    """A result to store: the id that fetches it back, the file's name, its full text."""

    id: str
    name: str
    text: str


class MessagesWithOffloadedResults(Struct, frozen=True, kw_only=True):
    """The messages to send, the updated decisions, and the results that must be stored before the
    messages are sent.
    """

    messages: tuple[Message, ...]
    decisions: OffloadDecisions
    payloads: tuple[ResultToStore, ...] = ()
    removed_items: tuple[RemovedItem, ...] = ()


def build_keep_all_decisions(messages: Sequence[Message]) -> OffloadDecisions:
    """The decisions for a conversation that began before memorist was attached: everything shown so
    far stays shown.
    """
    return OffloadDecisions(
        frozenset(
            _identify(block.tool_use_id, block.text)
            for message in messages
            for block in message.tool_results
        )
    )


def _identify(id: str, text: str) -> ResultKey:
    return id, hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def apply_result_budget(
    messages: Sequence[Message],
    decisions: OffloadDecisions,
    settings: CompactionSettings,
    *,
    folder: str,
) -> MessagesWithOffloadedResults:
    """Decide about every undecided result and apply all decisions. `folder` is where stored results
    will be written.

    A single result over `result_characters` is stored. Where the results between two replies
    together exceed `message_result_characters`, the largest undecided ones are stored until the
    rest fits. Of those that are stored, beginning and end stay in view, in equal parts of what one
    result may have and the others leave. An empty result is replaced by a short remark.
    """
    names = {use.id: use.name for message in messages for use in message.tool_uses}
    fresh: dict[ResultKey, str] = {}
    stored: list[tuple[ToolResult, ResultKey]] = []
    seen = set(decisions.shown_keys)
    for start, end in find_conversation_rounds(messages):
        results = {
            _identify(result.tool_use_id, result.text): result
            for message in messages[start:end]
            for result in message.tool_results
        }
        undecided = {
            key: result
            for key, result in results.items()
            if key not in seen and key not in decisions.replacement_texts and key not in fresh
        }
        fresh |= {
            key: _render_empty_result(names.get(result.tool_use_id, ""))
            for key, result in undecided.items()
            if _is_empty_result(result)
        }
        offloaded, shown_bytes = _choose_offloaded(results, undecided, names, decisions, settings)
        fresh |= {
            key: render_stored_result(undecided[key], folder, shown_bytes) for key in offloaded
        }
        stored += [(undecided[key], key) for key in offloaded]
        seen |= undecided.keys() - fresh.keys()
    # What takes a result's place is shown as it is, should a host send that.
    seen |= {_identify(id, text) for (id, _), text in fresh.items()}
    # Decisions are only ever added, never changed: a changed one would alter the cached prefix.
    replaced = {**decisions.replacement_texts, **fresh} if fresh else decisions.replacement_texts
    shown = frozenset(seen) if len(seen) > len(decisions.shown_keys) else decisions.shown_keys
    cut = (
        RemovedItem(
            each.tool_use_id,
            estimate_text_tokens(each.text) - estimate_text_tokens(fresh[key]),
            "a large result, now on disk",
        )
        for each, key in stored
    )
    return MessagesWithOffloadedResults(
        messages=tuple(_replace_results(message, replaced) for message in messages),
        decisions=OffloadDecisions(shown, replaced),
        payloads=tuple(
            ResultToStore(each.tool_use_id, make_result_file_name(*key), each.text)
            for each, key in stored
        ),
        removed_items=tuple(cut),
    )


def _choose_offloaded(
    results: Mapping[ResultKey, ToolResult],
    undecided: Mapping[ResultKey, ToolResult],
    names: Mapping[str, str],
    decisions: OffloadDecisions,
    settings: CompactionSettings,
) -> tuple[list[ResultKey], int]:
    """The results to store, and the bytes of each that stay in view."""
    chosen = [
        key
        for key, each in undecided.items()
        if len(each.text) > _result_limit(names.get(each.tool_use_id, ""), settings)
    ]
    total = sum(
        len(decisions.replacement_texts.get(key, each.text))
        for key, each in results.items()
        if key not in chosen
    )
    for key, each in sorted(undecided.items(), key=lambda pair: -len(pair[1].text)):
        if total <= settings.message_result_characters:
            break
        # A result that its preview would not shrink saves nothing.
        if (
            key in chosen
            or _limits_itself(names.get(each.tool_use_id, ""))
            or len(each.text) <= settings.preview_bytes
        ):
            continue
        chosen.append(key)
        total -= len(each.text)
    room = min(settings.result_characters, settings.message_result_characters - total)
    return chosen, max(settings.preview_bytes, room // max(1, len(chosen)))


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


def make_result_file_name(tool_use_id: str, digest: str) -> str:
    """File name of a stored result: the id where it is a safe name, else a digest of it, so that no
    id leads out of the folder, and no secret is in a name; and the digest of the text, so that no
    two results have one file.
    """
    name = (
        tool_use_id
        if _SAFE_FILE_NAME.fullmatch(tool_use_id) and not find_secrets(tool_use_id)
        else hashlib.sha256(tool_use_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    )
    return f"{name}-{digest}.txt"


def render_stored_result(result: ToolResult, folder: str, shown_bytes: int) -> str:
    """The text that replaces a stored result: its id, size and path, its beginning and end."""
    text = result.text
    name = make_result_file_name(*_identify(result.tool_use_id, text))
    return (
        f'<stored_result id="{result.tool_use_id}" characters="{len(text)}" '
        f'path="{folder.rstrip("/")}/{name}">\n'
        "The result is too long to be shown whole. All of it is in the file; read it there in "
        "parts, or fetch it back by its id. Its beginning and end:\n"
        f"{truncate_middle(text, shown_bytes // BYTES_PER_TOKEN)}\n"
        "</stored_result>"
    )


def _replace_results(message: Message, replaced: Mapping[ResultKey, str]) -> Message:
    if not replaced or not message.tool_results:
        return message
    blocks = tuple(
        _replace_result_text(block, text)
        if isinstance(block, ToolResult)
        and (text := replaced.get(_identify(block.tool_use_id, block.text))) is not None
        else block
        for block in message.blocks
    )
    return message if blocks == message.blocks else replace(message, blocks=blocks)


def _replace_result_text(result: ToolResult, text: str) -> ToolResult:
    # Images and documents stay: they are not text, and the stored file holds only text.
    others = tuple(part for part in result.content if not isinstance(part, TextBlock))
    return replace(result, content=(TextBlock(text), *others))
