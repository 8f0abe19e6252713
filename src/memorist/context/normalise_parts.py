"""Normalize single blocks before a request: unsupported images, long outputs, empty blocks. Pure.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from memorist.core.messages import Block, Document, Image, Message, RedactedThinking, Text, Thinking, ToolResult, Unknown
from memorist.core.tokens import estimate_text
from memorist.core.truncate import cut_middle
from memorist.formats.openai_responses_items import CALLS, OUTPUTS
from memorist.formats.wire import NOT_AN_OBJECT, UNKNOWN_ITEM, unknown_text

TOOL_TOKENS = 10_000
"""Longest tool output in estimated tokens (CX-6; codex.md section 3.6)."""
LEAST_TOKENS = 64
"""Lower bound of the limit: less would not hold the cut marks."""
MARK_TOKENS = 16
"""Tokens reserved for the cut mark within the limit, so that a cut output is not cut again."""
NO_IMAGE = "[A picture stood here; this model takes none.]"
"""Text in place of an image. Constant, so that the bytes of a prefix do not change."""
OWN_FORMATS = {
    "anthropic": ("anthropic", "claude_code"),
    "openai_responses": ("openai_responses", "codex"),
    "openai_chat": ("openai_chat",),
}
"""For each wire format, the message formats whose blocks it takes unchanged."""

Part = Text | Image | Document | Unknown


class Rules(Struct, frozen=True, kw_only=True):
    """The requirements of the request."""

    format: str
    images: bool = True
    """The model takes images."""
    tool_tokens: int = TOOL_TOKENS
    continued: bool = False
    """The provider holds the history before this one (`previous_response_id`), so a result's call
    may be there.
    """


def put_in_order(message: Message, rules: Rules) -> Message | None:
    """Normalize the message's blocks; return the very same object if nothing changed, None if
    nothing is left.

    Content that cannot be sent in this format and pairs with nothing is dropped: half-parsed calls
    and results, entries without a role the format knows.
    """
    if _refused(message, rules):
        return None
    says = _speaking(message, rules)
    blocks = tuple(_part(block, rules) for block in message.blocks if says(block))
    if not blocks and (message.blocks or rules.format == "anthropic" or not _own(message, rules)):
        return None
    return message if _same(blocks, message.blocks) else replace(message, blocks=blocks)


def _same(left: tuple[object, ...], right: tuple[object, ...]) -> bool:
    return len(left) == len(right) and all(one is other for one, other in zip(left, right, strict=True))


def _refused(message: Message, rules: Rules) -> bool:
    """Tell whether the message is a raw entry that the provider would refuse."""
    wire, only = message.wire, message.blocks[0] if len(message.blocks) == 1 else None
    if wire is None or wire.kind != UNKNOWN_ITEM or wire.format != rules.format or not isinstance(only, Unknown):
        return False
    match rules.format:
        case "anthropic":
            return only.raw.get("role") not in ("user", "assistant", "system") or not only.raw.get("content")
        case "openai_chat":
            return only.raw.get("role") not in ("system", "developer", "user", "assistant", "function")
        case _:
            if only.kind == NOT_AN_OBJECT:
                return True
            served = only.kind == "tool_search_call" and only.raw.get("execution") == "server"
            return (only.kind in CALLS and not served) or (only.kind in OUTPUTS and not rules.continued)


def _own(message: Message, rules: Rules) -> bool:
    return message.wire is not None and message.wire.format in OWN_FORMATS[rules.format]


def _speaking(message: Message, rules: Rules) -> Callable[[Block], bool]:
    """Return a predicate: whether a block of the message is written and accepted at all."""
    own = _own(message, rules)
    strict = rules.format == "anthropic"
    if own and not strict:
        return lambda _block: True

    def says(block: Block) -> bool:
        match block:
            case Text():
                return bool(block.text.strip())
            case Thinking() | RedactedThinking():
                return own
            case Unknown() if own:
                return block.kind not in ("tool_use", "tool_result") and (block.kind != "text" or bool(block.raw.get("text")))
            case Unknown():
                return bool(unknown_text(block).strip())
            case _:
                return True

    return says


def _part(block: Block, rules: Rules) -> Block:
    if isinstance(block, Image) and not rules.images:
        return Text(NO_IMAGE)
    return _result(block, rules) if isinstance(block, ToolResult) else block


def _result(block: ToolResult, rules: Rules) -> ToolResult:
    content: tuple[Part, ...] = block.content
    if not rules.images and any(isinstance(part, Image) for part in content):
        content = tuple(Text(NO_IMAGE) if isinstance(part, Image) else part for part in content)
    content = cut(content, rules.tool_tokens)
    return block if content is block.content else replace(block, content=content)


def cut(content: tuple[Part, ...], tokens: int) -> tuple[Part, ...]:
    """Truncate a tool result to at most `tokens` estimated tokens of text: cut in the middle, half
    and half, with a mark (CX-6).

    Of several texts the first ones use up the room; the rest are left out and counted in a mark.
    Other parts are free. Idempotent.
    """
    tokens = max(tokens, LEAST_TOKENS)
    sizes = [estimate_text(part.text) if isinstance(part, Text) else 0 for part in content]
    if sum(sizes) <= tokens:
        return content
    if len(content) == 1 and isinstance(content[0], Text):
        return (replace(content[0], text=cut_middle(content[0].text, tokens - MARK_TOKENS)),)
    room, left_out = tokens - MARK_TOKENS, 0
    kept: list[Part] = []
    for part, size in zip(content, sizes, strict=True):
        if not isinstance(part, Text) or size <= room:
            kept.append(part)
            room -= size
        elif room > MARK_TOKENS * 2:
            kept.append(replace(part, text=cut_middle(part.text, room - MARK_TOKENS)))
            room = 0
        else:
            left_out, room = left_out + size, 0
    return (*kept, Text(f"… {left_out} tokens cut …")) if left_out else tuple(kept)
