"""Google ADK contents as Chat Completions messages, and back. Pure.

ADK strips the ids of its calls before a request goes out, and Gemini pairs calls and results by
name and order. So calls without an id are numbered here in order, which is the same in every
request as long as the history only grows.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from google.adk.models.llm_response import LlmResponse
from google.genai import types

from memorist.adapters.chat_messages import (
    build_chat_assistant_message,
    build_chat_completion,
    build_chat_content,
    build_chat_media_part,
    build_chat_text_part,
    build_chat_tool_call,
    build_chat_tool_message,
    build_chat_usage,
    build_chat_user_message,
    dump_json_line,
    extract_content_text,
    parse_chat_tool_calls,
)
from memorist.adapters.message_map import MessageMap
from memorist.core.messages import JsonObject

_RESULT_KEYS = ("result", "output")
"""Keys under which ADK puts the result of a tool that gave no object, in this order."""


class AdkToolResult(NamedTuple):
    """A tool result as a wire item, the part it came from, and its id in ADK."""

    item: JsonObject
    part: types.Part
    id: str | None


class AdkContentMap:
    """The contents of one request with their wire items.

    `typed` are the texts of the session's user; what else ADK puts into a user's content (the
    replies of other agents, instructions) is a program's. Without it all counts as the user's.
    """

    def __init__(
        self, contents: Sequence[types.Content], typed: Collection[str] | None = None
    ) -> None:
        self._typed = typed
        self._open_call_ids: defaultdict[str, deque[str]] = defaultdict(deque)
        """Ids of calls without a result, by tool name."""
        self._call_count = 0
        self._tool_names: dict[str, str] = {}
        self._results: dict[str, AdkToolResult] = {}
        self.message_map: MessageMap[types.Content] = MessageMap(
            (content, list(self.encode_content(content))) for content in contents
        )

    def encode_content(self, content: types.Content) -> Iterator[JsonObject]:
        """Encode a content; nothing for one that is empty."""
        if content.role == "model":
            yield from self._encode_model_parts(content.parts or ())
            return
        said: list[JsonObject] = []
        added: list[JsonObject] = []
        for part in content.parts or ():
            if part.function_response is not None:
                yield self._encode_result(part, part.function_response)
            elif (shown := _encode_part(part)) is not None:
                is_added = part.text is not None and not self._is_typed(part.text)
                (added if is_added else said).append(shown)
        if added:
            yield {"role": "developer", "content": build_chat_content(added)}
        if said:
            yield build_chat_user_message(said)

    def _is_typed(self, text: str) -> bool:
        return self._typed is None or text.strip() in self._typed

    def _encode_model_parts(self, content_parts: Iterable[types.Part]) -> Iterator[JsonObject]:
        parts: list[JsonObject] = []
        calls: list[JsonObject] = []
        thoughts: list[str] = []
        for part in content_parts:
            if part.function_call is not None:
                calls.append(self._encode_call(part.function_call))
            elif part.thought:
                thoughts.append(part.text or "")
            elif (shown := _encode_part(part)) is not None:
                parts.append(shown)
        thought = "".join(thoughts)
        if parts or calls or thought:
            yield build_chat_assistant_message(parts, calls, thought)

    def _encode_call(self, call: types.FunctionCall) -> JsonObject:
        self._call_count += 1
        id, name = call.id or f"call_{self._call_count}", call.name or ""
        self._open_call_ids[name].append(id)
        self._tool_names[id] = name
        return build_chat_tool_call(id, name, call.args)

    def _encode_result(self, part: types.Part, response: types.FunctionResponse) -> JsonObject:
        name = response.name or ""
        waiting = self._open_call_ids[name]
        id = response.id or (
            waiting[0] if waiting else f"result_{len(self._results) + 1}_of_{name}"
        )
        if id in waiting:
            waiting.remove(id)
        media = [
            build_chat_media_part(each.inline_data.mime_type or "", each.inline_data.data)
            for each in response.parts or ()
            if each.inline_data
        ]
        said = _response_text(response.response)
        item = build_chat_tool_message(
            id, build_chat_content([build_chat_text_part(said), *media]) if media else said
        )
        self._tool_names.setdefault(id, name)
        self._results[id] = AdkToolResult(item, part, response.id)
        return item

    def decode(self, sent: Sequence[Any]) -> list[types.Content]:
        """Return the contents for these items; the host's own objects wherever memorist changed
        nothing.
        """
        return self.message_map.build_host_messages(
            sent, lambda items: list(self._decode_items(items))
        )

    def _decode_items(self, items: Sequence[Any]) -> Iterator[types.Content]:
        results: list[types.Part] = []
        for item in items:
            if item.get("role") == "tool":
                results.append(self._decode_result(item))
                continue
            if results:
                yield types.Content(role="user", parts=results)
                results = []
            yield _decode_item(item)
        if results:
            yield types.Content(role="user", parts=results)

    def _decode_result(self, item: JsonObject) -> types.Part:
        id = str(item.get("tool_call_id"))
        known = self._results.get(id)
        if known is not None and known.item == item:
            return known.part
        given = None if known is None else known.id
        response = types.FunctionResponse(
            id=given,
            name=self._tool_names.get(id, ""),
            response={"result": extract_content_text(item.get("content"))},
        )
        return types.Part(function_response=response)

    def encode_reply(self, response: LlmResponse) -> JsonObject:
        """Encode the reply to this request."""
        used = response.usage_metadata
        usage = None
        if used is not None:
            output = (used.candidates_token_count or 0) + (used.thoughts_token_count or 0)
            usage = build_chat_usage(
                prompt=used.prompt_token_count,
                output=output,
                cached=used.cached_content_token_count,
            )
        said = [] if response.content is None else self.encode_content(response.content)
        return build_chat_completion(
            [*said, build_chat_assistant_message([])], usage, response.model_version or ""
        )


def _encode_part(part: types.Part) -> JsonObject | None:
    if part.text is not None:
        return build_chat_text_part(part.text) if part.text else None
    if part.inline_data is not None:
        blob = part.inline_data
        return build_chat_media_part(blob.mime_type or "", blob.data, name=blob.display_name or "")
    if part.file_data is not None:
        return build_chat_media_part(
            part.file_data.mime_type or "", link=part.file_data.file_uri or ""
        )
    said = part.model_dump(exclude_none=True, mode="json", exclude={"thought_signature"})
    return build_chat_text_part(dump_json_line(said)) if said else None


def _response_text(response: dict[str, Any] | None) -> str:
    given = response or {}
    for key in _RESULT_KEYS:
        if len(given) == 1 and isinstance(given.get(key), str):
            return str(given[key])
    return dump_json_line(given)


def _decode_item(item: JsonObject) -> types.Content:
    text = extract_content_text(item.get("content"))
    parts = [types.Part(text=text)] if text else []
    if item.get("role") != "assistant":
        return types.Content(role="user", parts=parts)
    parts += [
        types.Part(function_call=types.FunctionCall(name=name, args=arguments))
        for _, name, arguments in parse_chat_tool_calls(item)
    ]
    return types.Content(role="model", parts=parts)
