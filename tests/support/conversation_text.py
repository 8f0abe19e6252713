"""A conversation as one line per block, so that what the model would see can be read
and compared.
"""

from __future__ import annotations

from collections.abc import Iterable

from memorist.compaction.restored_content import RESTORED_PREFIX
from memorist.core.messages import (
    Block,
    DocumentBlock,
    ImageBlock,
    Message,
    Origin,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolUse,
    UnknownBlock,
)

LABEL_WORDS = 6
"""Words of a text that its label shows."""


def render_shape(messages: Iterable[Message]) -> str:
    """One line for each block: role, kind, and a label such as `<SUMMARY>`, `<RESTORED …>`, `<USER
    "first words">` or `Read call-1`.
    """
    return "".join(
        f"{message.role:<10}{_line(block, message)}\n"
        for message in messages
        for block in message.blocks
    )


def _line(block: Block, message: Message) -> str:
    match block:
        case TextBlock(text=text, origin=origin):
            line = f"text         {_label(origin or message.origin, text)}"
        case ThinkingBlock(text=text):
            line = f"thinking     <MODEL {_first_words(text)}>"
        case RedactedThinkingBlock():
            line = "thinking     <REDACTED>"
        case ToolUse(id=name, name=tool):
            line = f"tool_use     {tool} {name}"
        case ToolResult(tool_use_id=name, content=content):
            line = " ".join(
                [
                    f"tool_result  {name}",
                    _first_words(block.text),
                    *(_media(part) for part in content if not isinstance(part, TextBlock)),
                ]
            )
        case ImageBlock() | DocumentBlock() | UnknownBlock():
            line = _media(block)
    return line


def _media(block: Block) -> str:
    kind = block.kind if isinstance(block, UnknownBlock) else block.__struct_config__.tag
    return f"<{kind}>"


def _label(origin: Origin, text: str) -> str:
    if origin is Origin.SUMMARY:
        return "<SUMMARY>"
    if origin is Origin.INJECTED and text.startswith(RESTORED_PREFIX):
        return f"<RESTORED {_first_words(text.removeprefix(RESTORED_PREFIX))}>"
    return f"<{origin.value.upper()} {_first_words(text)}>"


def _first_words(text: str) -> str:
    words = text.split()
    return f'"{" ".join(words[:LABEL_WORDS])}{" …" if len(words) > LABEL_WORDS else ""}"'
