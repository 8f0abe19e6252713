"""A Gemini endpoint on loopback before a scripted server: refuses what Gemini refuses, and passes
the rest on as Chat Completions.
"""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from memorist.core.messages import JsonObject
from memorist.testing.provider_server import (
    OutgoingReply,
    ReceivedRequest,
    ScriptedServer,
    build_json_reply,
)


class GeminiGateway(ScriptedServer):
    """Answers `generateContent` and `streamGenerateContent` by asking the server behind it.
    `bodies` are the requests as Gemini got them.
    """

    def __init__(self, behind: ScriptedServer) -> None:
        super().__init__([])
        self._behind = urlsplit(behind.openai_url)
        self.bodies: list[JsonObject] = []

    def record_and_choose_reply(self, request: ReceivedRequest) -> tuple[int, OutgoingReply]:
        """Record a request and say what to send for it."""
        self.requests.append(replace(request, number=len(self.requests) + 1))
        self.bodies.append(request.body)
        number = len(self.requests)
        wrong = next(problems(request.body), None)
        if wrong:
            self.refusals.append(wrong)
            return number, _error(400, wrong)
        model = request.path.rpartition("/")[2].partition(":")[0]
        status, reply = self._ask({"model": model, **as_chat(request.body)})
        if status != 200:
            return number, _error(status, str(reply.get("error", {}).get("message")))
        parts, counts = _parts(reply["choices"][0]["message"]), _counts(reply["usage"])
        if ":streamGenerateContent" not in request.path:
            return number, build_json_reply(200, _body(parts, counts))
        pieces = list(_pieces(parts))
        bodies = [_body([piece], counts if piece is pieces[-1] else None) for piece in pieces]
        events = tuple(b"data: " + msgspec.json.encode(body) + b"\r\n\r\n" for body in bodies)
        return number, OutgoingReply(
            headers={"content-type": "text/event-stream"}, pieces=events, streamed=True
        )

    def _ask(self, body: JsonObject) -> tuple[int, JsonObject]:
        connection = http.client.HTTPConnection(
            str(self._behind.hostname), self._behind.port, timeout=300
        )
        try:
            connection.request(
                "POST",
                f"{self._behind.path}/chat/completions",
                msgspec.json.encode(body),
                {"content-type": "application/json"},
            )
            answer = connection.getresponse()
            return answer.status, msgspec.json.decode(answer.read())
        finally:
            connection.close()


def _error(status: int, message: str) -> OutgoingReply:
    return build_json_reply(
        status, {"error": {"code": status, "message": message, "status": "INVALID_ARGUMENT"}}
    )


def _body(parts: list[JsonObject], counts: JsonObject | None) -> JsonObject:
    candidate = {
        "content": {"role": "model", "parts": parts},
        "index": 0,
        **({"finishReason": "STOP"} if counts else {}),
    }
    return {
        "candidates": [candidate],
        "modelVersion": "gemini-scripted",
        **({"usageMetadata": counts} if counts else {}),
    }


def _counts(usage: JsonObject) -> JsonObject:
    names = {
        "promptTokenCount": "prompt_tokens",
        "candidatesTokenCount": "completion_tokens",
        "totalTokenCount": "total_tokens",
    }
    return {name: usage[given] for name, given in names.items()}


def _parts(message: JsonObject) -> list[JsonObject]:
    parts: list[JsonObject] = []
    if message.get("reasoning_content"):
        parts.append({"text": message["reasoning_content"], "thought": True})
    if message.get("content"):
        parts.append({"text": message["content"]})
    for call in message.get("tool_calls") or []:
        arguments = msgspec.json.decode(call["function"]["arguments"])
        parts.append(
            {
                "functionCall": {"name": call["function"]["name"], "args": arguments},
                "thoughtSignature": "c2lnbmVk",
            }
        )
    return parts


def _pieces(parts: list[JsonObject]) -> Iterator[JsonObject]:
    """A text comes in two pieces, all else whole."""
    for part in parts:
        text = part.get("text")
        if text and not part.get("thought"):
            yield {**part, "text": text[: len(text) // 2]}
            yield {**part, "text": text[len(text) // 2 :]}
        else:
            yield part


def problems(body: JsonObject) -> Iterator[str]:
    """Why Gemini would refuse it."""
    contents: list[JsonObject] = body.get("contents") or []
    if not contents:
        yield "contents is not specified"
    calls: list[str] = []
    for content in contents:
        parts = content.get("parts") or []
        if content.get("role") not in {"user", "model"} or not parts:
            yield f"a content has no parts, or the role {content.get('role')!r}"
        results = [part["functionResponse"]["name"] for part in parts if "functionResponse" in part]
        if sorted(results) != sorted(calls):
            yield (
                "the number of function response parts must be equal to the number of "
                "function call parts of the function call turn"
            )
        calls = [part["functionCall"]["name"] for part in parts if "functionCall" in part]
        if any("thoughtSignature" not in part for part in parts if "functionCall" in part):
            yield "a function call has lost its thought signature"
    if calls:
        yield "a function call turn must be followed by its responses"


def as_chat(body: JsonObject) -> JsonObject:
    """The request as Chat Completions would say it; calls are numbered in their order."""
    system = "".join(
        part.get("text", "") for part in (body.get("systemInstruction") or {}).get("parts", [])
    )
    messages: list[JsonObject] = [{"role": "system", "content": system}] if system else []
    waiting: list[tuple[str, str]] = []
    count = 0
    for content in body.get("contents") or []:
        said: list[str] = []
        calls: list[JsonObject] = []
        for part in content["parts"]:
            if "functionCall" in part:
                count += 1
                calls.append(_call(f"c{count}", part["functionCall"]))
                waiting.append((part["functionCall"]["name"], f"c{count}"))
            elif "functionResponse" in part:
                messages.append(_result(part["functionResponse"], waiting))
            elif not part.get("thought"):
                said.append(part["text"] if "text" in part else msgspec.json.encode(part).decode())
        if said or calls:
            role = "assistant" if content["role"] == "model" else "user"
            messages.append(
                {
                    "role": role,
                    "content": "".join(said) or None,
                    **({"tool_calls": calls} if calls else {}),
                }
            )
    tools = [
        {"type": "function", "function": declared}
        for tool in body.get("tools") or []
        for declared in tool.get("functionDeclarations", [])
    ]
    return {"messages": messages, **({"tools": tools} if tools else {})}


def _call(id: str, given: JsonObject) -> JsonObject:
    arguments = msgspec.json.encode(given.get("args") or {}).decode()
    return {
        "id": id,
        "type": "function",
        "function": {"name": given["name"], "arguments": arguments},
    }


def _result(given: JsonObject, waiting: list[tuple[str, str]]) -> JsonObject:
    found = next(pair for pair in waiting if pair[0] == given["name"])
    waiting.remove(found)
    response: Any = given.get("response") or {}
    text = (
        response["result"]
        if list(response) == ["result"]
        else msgspec.json.encode(response).decode()
    )
    return {"role": "tool", "tool_call_id": found[1], "content": text}
