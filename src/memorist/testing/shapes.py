"""A conversation as one line per block, so that what the model would see can be read and compared
as text.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from memorist.compaction.restore import RESTORED_LEAD
from memorist.core.messages import (
    Block,
    Document,
    Image,
    Message,
    Origin,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Unknown,
)

WORDS = 6
"""Words of a text that its label shows."""


def shape(messages: Iterable[Message]) -> str:
    """One line for each block: role, kind, and a label such as `<SUMMARY>`, `<RESTORED …>`, `<USER "first words">` or `Read call-1`."""
    return "".join(f"{message.role:<10}{_line(block, message)}\n" for message in messages for block in message.blocks)


def _line(block: Block, message: Message) -> str:
    match block:
        case Text(text=text, origin=origin):
            line = f"text         {_label(origin or message.origin, text)}"
        case Thinking(text=text):
            line = f"thinking     <MODEL {_words(text)}>"
        case RedactedThinking():
            line = "thinking     <REDACTED>"
        case ToolUse(id=name, name=tool):
            line = f"tool_use     {tool} {name}"
        case ToolResult(tool_use_id=name, content=content):
            line = " ".join([f"tool_result  {name}", _words(block.text), *(_media(part) for part in content if not isinstance(part, Text))])
        case Image() | Document() | Unknown():
            line = _media(block)
    return line


def _media(block: Block) -> str:
    return f"<{block.kind if isinstance(block, Unknown) else type(block).__name__.lower()}>"


def _label(origin: Origin, text: str) -> str:
    if origin is Origin.SUMMARY:
        return "<SUMMARY>"
    if origin is Origin.INJECTED and text.startswith(RESTORED_LEAD):
        return f"<RESTORED {_words(text.removeprefix(RESTORED_LEAD))}>"
    return f"<{origin.value.upper()} {_words(text)}>"


def _words(text: str) -> str:
    words = text.split()
    return f'"{" ".join(words[:WORDS])}{" …" if len(words) > WORDS else ""}"'
