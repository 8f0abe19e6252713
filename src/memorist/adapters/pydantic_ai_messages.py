"""Pydantic AI's messages as Chat Completions messages, both ways.

A request of Pydantic AI holds several parts (each tool result, a prompt), and so does a reply. The
pieces that memorist may leave out individually are the parts of a request, and a reply as a whole;
each unchanged piece is returned as it is, and the messages are joined again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import msgspec
from msgspec import Struct
from pydantic_ai.messages import (
    BinaryContent,
    CachePoint,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    TextContent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from memorist.adapters.chat_messages import (
    build_chat_assistant_message,
    build_chat_completion,
    build_chat_content,
    build_chat_text_part,
    build_chat_tool_call,
    build_chat_tool_message,
    build_chat_usage,
    extract_content_text,
)
from memorist.core.messages import JsonObject


class MessagePiece(Struct, frozen=True, eq=False):
    """A part of a request with the request that owns it, or a whole reply.

    One that memorist made has no owner.
    """

    part: ModelRequestPart | ModelResponse | None
    """None for a request without parts."""
    owner: ModelRequest | None = None


def split_and_encode_messages(
    messages: Iterable[ModelMessage],
) -> Iterator[tuple[MessagePiece, Sequence[JsonObject]]]:
    """Encode each piece: one item, or none for what is not part of the conversation."""
    for message in messages:
        if isinstance(message, ModelResponse):
            yield MessagePiece(message), (encode_model_response_as_json(message),)
            continue
        for part in message.parts:
            yield MessagePiece(part, message), _encode_part(part)
        if not message.parts:
            yield MessagePiece(None, message), ()


def _encode_part(of: ModelRequestPart) -> Sequence[JsonObject]:
    """Encode a part of a request by its `part_kind`: which classes exist differs between
    versions.
    """
    part: Any = of
    match part.part_kind:
        case "user-prompt":
            return ({"role": "user", "content": _encode_content(part.content)},)
        case "system-prompt" if getattr(part, "scope", "conversation") == "conversation":
            return ({"role": "system", "content": part.content},)
        case "tool-return":
            return (build_chat_tool_message(part.tool_call_id, _encode_tool_return(part)),)
        case "retry-prompt" if part.tool_name is not None:
            return (build_chat_tool_message(part.tool_call_id, part.model_response()),)
        case "retry-prompt" | "retry-feedback":
            return (
                {"role": "developer", "content": part.model_response()},
            )  # written by the program, not the user
        case _:
            return ()


def _encode_content(content: str | Sequence[Any]) -> str | list[JsonObject]:
    if isinstance(content, str):
        return content
    return [_encode_block(item) for item in content if not isinstance(item, CachePoint)]


def _encode_block(item: object) -> JsonObject:
    match item:
        case str():
            return build_chat_text_part(item)
        case TextContent():
            return build_chat_text_part(item.content)
        case ImageUrl():
            return {"type": "image_url", "image_url": {"url": item.url}}
        case BinaryContent() if item.is_image:
            return {"type": "image_url", "image_url": {"url": item.data_uri}}
        case BinaryContent():
            return {
                "type": "file",
                "file": {"filename": item.identifier, "file_data": item.data_uri},
            }
        case _:
            kind, url = getattr(item, "kind", "file"), getattr(item, "url", "")
            return build_chat_text_part(f"[{kind} {url}]")


def _encode_tool_return(part: ToolReturnPart) -> str | list[JsonObject]:
    """A tool's result: its text, and files besides it."""
    files = [_encode_block(file) for file in part.files]
    return build_chat_content([build_chat_text_part(part.model_response_str()), *files])


def encode_model_response_as_json(message: ModelResponse) -> JsonObject:
    """Encode a reply: its text and calls. Its thinking stays in Pydantic AI's message."""
    text = "".join(part.content for part in message.parts if isinstance(part, TextPart))
    calls = [
        build_chat_tool_call(part.tool_call_id, part.tool_name, part.args_as_json_str())
        for part in message.parts
        if isinstance(part, ToolCallPart)
    ]
    return build_chat_assistant_message([build_chat_text_part(text)], calls)


def decode_wire_items_to_pieces(
    items: Iterable[JsonObject], pieces: Iterable[MessagePiece]
) -> Iterator[MessagePiece]:
    """Decode items that memorist added or changed.

    A changed tool result keeps the fields of the host's.
    """
    answers = {
        piece.part.tool_call_id: piece for piece in pieces if isinstance(piece.part, ToolReturnPart)
    }
    for item in items:
        content = item.get("content") or ""
        match item.get("role"):
            case "assistant":
                yield MessagePiece(_decode_response(item, content))
            case "tool":
                own = answers.get(item["tool_call_id"])
                text = extract_content_text(content)
                yield (
                    MessagePiece(ToolReturnPart("", text, item["tool_call_id"]))
                    if own is None
                    else _replace_content(own, text)
                )
            case _:
                yield MessagePiece(
                    UserPromptPart(
                        content
                        if isinstance(content, str)
                        else [_decode_user_content(part) for part in content]
                    )
                )


def _replace_content(own: MessagePiece, text: str) -> MessagePiece:
    part: Any = own.part
    return MessagePiece(replace(part, content=text), own.owner)


def _decode_response(item: JsonObject, content: str | list[JsonObject]) -> ModelResponse:
    text = extract_content_text(content)
    functions = [(call["id"], call["function"]) for call in item.get("tool_calls") or ()]
    calls = [
        ToolCallPart(function["name"], function["arguments"], id) for id, function in functions
    ]
    return ModelResponse([*([TextPart(text)] if text else []), *calls])


def _decode_user_content(part: JsonObject) -> str | ImageUrl | BinaryContent:
    if part.get("type") == "image_url":
        url = str(part["image_url"]["url"])
        return BinaryContent.from_data_uri(url) if url.startswith("data:") else ImageUrl(url)
    if isinstance(part.get("text"), str):
        return str(part["text"])
    return msgspec.json.encode(part).decode()


def join_message_pieces(pieces: Iterable[MessagePiece]) -> list[ModelMessage]:
    """Join the pieces: the host's own message where all of its parts are unchanged."""
    messages: list[ModelMessage] = []
    for _, group in groupby(
        pieces, key=lambda piece: id(piece.owner)
    ):  # by identity: equal requests are still two
        run = list(group)
        owner = run[0].owner
        if owner is None:
            messages += [
                piece.part if isinstance(piece.part, ModelResponse) else ModelRequest([piece.part])
                for piece in run
                if piece.part
            ]
            continue
        parts = [
            piece.part
            for piece in run
            if piece.part is not None and not isinstance(piece.part, ModelResponse)
        ]
        whole = len(parts) == len(owner.parts) and all(
            mine is theirs for mine, theirs in zip(parts, owner.parts, strict=True)
        )
        messages.append(owner if whole else replace(owner, parts=parts))
    return messages


def encode_reply_as_wire_json(message: ModelResponse) -> JsonObject:
    """Encode a reply, with its usage."""
    used = message.usage
    usage = build_chat_usage(
        prompt=used.input_tokens,
        output=used.output_tokens,
        cached=used.cache_read_tokens,
        cache_written=used.cache_write_tokens,
    )
    return build_chat_completion(
        [encode_model_response_as_json(message)],
        usage,
        message.model_name or "",
        message.finish_reason,
    ) | {"id": message.provider_response_id}
