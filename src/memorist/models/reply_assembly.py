"""Read a reply from its bytes or from the events of its stream, as the body it would have had
without streaming. Pure.

Each `assemble_*` takes the decoded events in order and returns the body, or the `CallFailure` that
ended the stream. Unknown events are ignored, unknown fields are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from memorist.core.leading_thought import match_leading_thought
from memorist.core.messages import JsonObject
from memorist.models.call_failure import CallFailure, build_failure_from_error_object

_CUT_OFF = CallFailure(kind="cut", message="the stream ended before the reply did")

_DELTA_KEYS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "input_json_delta": "partial_json",
    "compaction_delta": "content",
}
"""Deltas of Messages whose text is appended to the block's, with the block key they append to."""


def assemble_anthropic_reply(events: Iterable[JsonObject]) -> JsonObject | CallFailure:
    """The `message` object of a Messages stream."""
    body: JsonObject | None = None
    blocks: dict[int, JsonObject] = {}
    for event in events:
        kind = event.get("type")
        if kind == "error":
            return build_failure_from_error_object(event.get("error") or {})
        if kind == "message_start":
            body = dict(event["message"])
        elif body is None:
            continue
        elif kind == "content_block_start":
            blocks[event["index"]] = dict(event["content_block"])
        elif kind == "content_block_delta":
            _append_delta(blocks[event["index"]], event["delta"])
        elif kind == "content_block_stop":
            _close_block(blocks[event["index"]])
        elif kind == "message_delta":
            _apply_message_delta(body, event)
        elif kind == "message_stop":
            return body | {"content": [blocks[index] for index in sorted(blocks)]}
    return _CUT_OFF


def _append_delta(block: JsonObject, delta: JsonObject) -> None:
    kind = str(delta.get("type"))
    if kind == "signature_delta":
        block["signature"] = delta["signature"]
    elif kind == "citations_delta":
        block["citations"] = [*(block.get("citations") or []), delta["citation"]]
    elif kind in _DELTA_KEYS:
        key = _DELTA_KEYS[kind]
        block[key] = (block.get(key) or "") + (delta.get(key) or "")


def _close_block(block: JsonObject) -> None:
    text = block.pop("partial_json", None)
    if text:
        block["input"] = msgspec.json.decode(text)


def _apply_message_delta(body: JsonObject, event: JsonObject) -> None:
    body.update(event.get("delta") or {})
    known = {key: value for key, value in (event.get("usage") or {}).items() if value is not None}
    body["usage"] = (body.get("usage") or {}) | known
    if "context_management" in event:
        body["context_management"] = event["context_management"]


def assemble_responses_reply(events: Iterable[JsonObject]) -> JsonObject | CallFailure:
    """The `response` object of a Responses stream; its items are collected from earlier events when
    the closing event omits them.
    """
    items: dict[int, JsonObject] = {}
    for event in events:
        match event.get("type"):
            case "error":
                return build_failure_from_error_object(event.get("error") or event)
            case "response.output_item.done":
                items[event["output_index"]] = event["item"]
            case "response.failed":
                return build_failure_from_error_object(
                    (event.get("response") or {}).get("error") or {}
                )
            case "response.completed" | "response.incomplete":
                body: JsonObject = event["response"]
                if body.get("output"):
                    return body
                return body | {"output": [items[index] for index in sorted(items)]}
            case _:
                continue
    return _CUT_OFF


def assemble_chat_reply(events: Iterable[JsonObject]) -> JsonObject | CallFailure:
    """The `chat.completion` object of a Chat Completions stream. It is complete once every choice
    has its finish reason, or, from a server that sends none, once the counts came by themselves.
    """
    body: JsonObject = {}
    counted = False
    choices: dict[int, JsonObject] = {}
    for event in events:
        if event.get("error"):
            error = event["error"]
            return build_failure_from_error_object(
                error if isinstance(error, dict) else {"message": str(error)}
            )
        counted = bool(event.get("usage")) and not event.get("choices")
        body.update(
            {key: value for key, value in event.items() if key != "choices" and value is not None}
        )
        for choice in event.get("choices") or []:
            _append_choice_delta(
                choices.setdefault(
                    choice.get("index", 0), {"message": {"role": "assistant", "content": None}}
                ),
                choice,
            )
    finished = all(choice.get("finish_reason") is not None for choice in choices.values())
    if not choices or not (finished or counted):
        return _CUT_OFF
    return body | {
        "object": "chat.completion",
        "choices": [_complete_choice(index, choices[index]) for index in sorted(choices)],
    }


def _append_choice_delta(whole: JsonObject, choice: JsonObject) -> None:
    for key, value in (choice.get("delta") or {}).items():
        if key == "tool_calls":
            calls = whole["message"].setdefault("tool_calls", {})
            for call in value or []:
                _append_call_delta(_find_call(calls, call), call)
        elif key == "role":
            whole["message"]["role"] = value or "assistant"
        else:
            whole["message"][key] = _join_values(whole["message"].get(key), value)
    whole.update(
        {
            key: value
            for key, value in choice.items()
            if key not in {"delta", "index"} and value is not None
        }
    )


def _find_call(calls: dict[tuple[int, int], JsonObject], delta: JsonObject) -> JsonObject:
    """The call that a delta belongs to, the newest of its index; some servers give all calls of a
    reply one index, and begin each with an id and a name of its own.
    """
    index = delta.get("index", len(calls))
    number = sum(other == index for other, _ in calls)
    newest = calls.get((index, number - 1))
    named = (delta.get("function") or {}).get("name")
    others = newest is not None and newest.get("id") and delta.get("id")
    if newest is None or (others and named and newest["id"] != delta["id"]):
        return calls.setdefault((index, number), {})
    return newest


def _append_call_delta(whole: JsonObject, call: JsonObject) -> None:
    """Append a tool call delta. Names and ids come whole, once or in every piece; arguments and
    input grow.
    """
    for key, value in call.items():
        if key == "index" or value is None:
            continue
        if isinstance(value, dict):
            _append_call_delta(whole.setdefault(key, {}), value)
        elif key in {"arguments", "input"}:
            whole[key] = whole.get(key, "") + value
        elif value != "":
            whole[key] = value


def _join_values(old: object, new: object) -> object:
    """Texts and lists are concatenated; of anything else the newest value counts."""
    if new is None:
        return old
    if isinstance(old, str) and isinstance(new, str):
        return old + new
    return [*old, *new] if isinstance(old, list) and isinstance(new, list) else new


def _complete_choice(index: int, choice: JsonObject) -> JsonObject:
    message = choice["message"]
    if "tool_calls" in message:
        calls = message["tool_calls"]
        # Some servers give their calls no ids, without which no result can be sent back.
        message = message | {
            "tool_calls": [
                {"type": "function", "id": f"call_{number}", **calls[key]}
                for number, key in enumerate(sorted(calls))
            ]
        }
    return {"index": index, **choice, "message": message}


def split_thoughts_from_answers(body: JsonObject) -> JsonObject:
    """The reply with what its model thought apart from what it says.

    A server that does not know a model's marks passes its thoughts on inside the text, where every
    reader would take them for the answer.
    """
    choices = []
    for choice in body.get("choices") or ():
        message = choice.get("message") or {}
        said = message.get("content")
        found = match_leading_thought(said) if isinstance(said, str) else None
        if found is not None and isinstance(said, str):
            thought = f"{message.get('reasoning_content') or ''}{found['thought']}"
            message = message | {"content": said[found.end() :], "reasoning_content": thought}
        choices.append({**choice, "message": message} if found else choice)
    return {**body, "choices": choices} if choices else body


ReplyAssembler = Callable[[Iterable[JsonObject]], JsonObject | CallFailure]
"""Builds a reply from a stream's events."""

_ASSEMBLERS: Mapping[str, ReplyAssembler] = {
    "anthropic": assemble_anthropic_reply,
    "openai_responses": assemble_responses_reply,
    "openai_chat": assemble_chat_reply,
}


def parse_reply_or_call_failure(
    format: str, content_type: str, data: bytes
) -> JsonObject | CallFailure:
    """The reply in a provider's bytes, streamed or not, or the fault that ended it."""
    try:
        if _is_event_stream(content_type, data):
            return _ASSEMBLERS[format](parse_sse_json_objects(data))
        return parse_plain_reply(data)
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as error:
        return CallFailure(
            kind="invalid", message=f"an answer is not of the format: {type(error).__name__}"
        )


def _is_event_stream(content_type: str, data: bytes) -> bool:
    """Whether the bytes are a stream; compatible servers send one as `text/plain`, or unnamed."""
    if "event-stream" in content_type or "json" in content_type:
        return "event-stream" in content_type
    return not data.lstrip().startswith(b"{")


def parse_sse_json_objects(data: bytes) -> Iterator[JsonObject]:
    """The events of a server-sent event stream that are JSON objects; others are skipped."""
    for block in data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n\n"):
        lines = [
            line[5:].removeprefix(b" ") for line in block.split(b"\n") if line.startswith(b"data:")
        ]
        try:
            found = msgspec.json.decode(b"\n".join(lines)) if lines else None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue  # `[DONE]`, what a server adds of its own, or cut
        if isinstance(found, dict):
            yield found


def parse_plain_reply(data: bytes) -> JsonObject | CallFailure:
    """Parse the reply of a server that answered without streaming although a stream was
    requested.
    """
    try:
        body = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        return CallFailure(kind="invalid", message=str(error))
    if not isinstance(body, dict):
        return CallFailure(kind="invalid", message="the reply is not a JSON object")
    problem = body.get("error")
    return build_failure_from_error_object(problem) if isinstance(problem, dict) else body
