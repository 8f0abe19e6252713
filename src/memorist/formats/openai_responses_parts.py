"""Content parts of OpenAI Responses messages and tool results, both ways, and blocks of other
formats as parts.

A part whose `type` is not the usual one for its position (`output_text` for the assistant,
`input_text` elsewhere) keeps it in `extra`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from memorist.core.messages import Block, Document, Image, JsonObject, Origin, Role, Text, Unknown
from memorist.formats import media
from memorist.formats.harness import origin_of
from memorist.formats.wire import marked_origin, merged, raw_of, unknown, unknown_text

Part = Text | Image | Document | Unknown

TEXT_KEYS = {"input_text": "text", "output_text": "text", "text": "text", "refusal": "refusal"}
"""Part types that are text, and the key that holds it."""

_PROVENANCE = "internal_chat_message_metadata_passthrough"


def default_type(role: Role) -> str:
    """The usual type of a text part in a message of this role."""
    return "output_text" if role == "assistant" else "input_text"


def read_content(content: str | list[Any], role: Role) -> tuple[Block, ...]:
    """Read a message's content."""
    if isinstance(content, str):
        return (Text(content),)
    usual = default_type(role)
    return tuple([read_part(part, usual) for part in content])


def read_part(raw: object, usual: str) -> Part:
    """Read one part. Never raises: an unexpected shape becomes an `UnknownBlock`. Media keep the
    whole part as their source.
    """
    if not isinstance(raw, dict):
        return unknown(raw)
    kind = raw.get("type")
    if not isinstance(kind, str):
        return unknown(raw)
    key = TEXT_KEYS.get(kind)
    if key is not None:
        return _read_text(raw, kind, key, usual)
    if kind == "input_image":
        return Image(raw)
    return Document(raw) if kind == "input_file" else Unknown(kind, raw)


def _read_text(raw: JsonObject, kind: str, key: str, usual: str) -> Text | Unknown:
    text = raw.get(key)
    if not isinstance(text, str):
        return Unknown(kind, raw)
    if len(raw) == 2 and kind == usual:
        return Text(text)
    extra = {name: value for name, value in raw.items() if name != key and (name != "type" or kind != usual)}
    return Text(text, None, extra)


def write_content(blocks: tuple[Block, ...], role: Role, *, plain: bool) -> object:
    """Write a message's content: a string if it was one and still can be, otherwise parts."""
    if plain and len(blocks) == 1 and isinstance(blocks[0], Text) and blocks[0].extra is None:
        return blocks[0].text
    usual = default_type(role)
    return [write_part(block, usual) for block in blocks if isinstance(block, Text | Image | Document | Unknown)]


def write_part(part: Part, usual: str) -> object:
    """Write a part of this format as it was read."""
    match part:
        case Text():
            kind = usual if part.extra is None else part.extra.get("type", usual)
            return merged({"type": kind, TEXT_KEYS.get(kind, "text"): part.text}, part.extra)
        case Image() | Document():
            return part.source
        case Unknown():
            return raw_of(part)


def translate_parts(blocks: Iterable[Block], usual: str) -> list[JsonObject]:
    """Write blocks of another format as parts. Empty texts and what this format cannot express are
    left out.
    """
    return [written for block in blocks if (written := _translate(block, usual)) is not None]


def _translate(block: Block, usual: str) -> JsonObject | None:
    match block:
        case Text():
            return _text(block.text, usual)
        case Unknown():
            return _text(unknown_text(block), usual)
        case Image():
            link = media.image_link(block)
            if link is None or usual == "output_text":
                return _text("[image]", usual)
            return {"type": "input_image", "detail": "auto", "image_url": link}
        case Document():
            return _document(block, usual)
        case _:
            return None


def _document(block: Document, usual: str) -> JsonObject | None:
    text, link = media.document_text(block), media.document_link(block)
    if text is not None or link is None or usual == "output_text":
        return _text(text or "[document]", usual)
    if link.startswith("data:"):
        return {"type": "input_file", "filename": media.document_name(block), "file_data": link}
    return {"type": "input_file", "file_url": link}


def _text(text: str, usual: str) -> JsonObject | None:
    return {"type": usual, "text": text} if text else None


def typed_origins(item: JsonObject, blocks: tuple[Block, ...]) -> tuple[Origin, tuple[Block, ...]] | None:
    """Origins from Codex's own record of who wrote each part (`content_item_kinds`, clients.md
    1.3); None when the item has none.

    A part that it does not attribute to the user counts as injected, even when no markup rule
    recognises it.
    """
    holder = item.get(_PROVENANCE)
    kinds = holder.get("content_item_kinds") if isinstance(holder, dict) else None
    if not isinstance(kinds, list) or len(kinds) != len(blocks) or not all(isinstance(kind, str) for kind in kinds):
        return None
    origins = [_stated_origin(block, kind) for block, kind in zip(blocks, kinds, strict=True)]
    return marked_origin(blocks, origins)


def _stated_origin(block: Block, kind: str) -> Origin | None:
    if not isinstance(block, Text):
        return None
    if kind.startswith("user."):
        return Origin.USER
    found = origin_of(block.text)
    return Origin.INJECTED if found is Origin.USER else found
