"""A Gemini endpoint on loopback: `ScriptedServer` with one more format. What comes is kept as Chat Completions says it, so that one story can read
what any plug sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from memorist.core.messages import JsonObject
from memorist.ports import Request
from memorist.testing import Call, Say, ScriptedServer, Status, Think
from memorist.testing.ledger import facts_of
from memorist.testing.received import Received
from memorist.testing.server_streams import Outgoing, json_reply
from memorist.testing.steps import Many, parts_of


class GeminiServer(ScriptedServer):
    """Answers `generateContent` and `streamGenerateContent` by script. `bodies` are the requests as Gemini got them."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.bodies: list[JsonObject] = []

    def answer(self, request: Received) -> tuple[int, Outgoing]:
        """Record a request and say what to send for it."""
        if ":generateContent" not in request.path and ":streamGenerateContent" not in request.path:
            return super().answer(request)
        self.bodies.append(request.body)
        wrong = next(problems(request.body), None)
        chat = as_chat(request.body)
        number = len(self.requests) + 1
        self.requests.append(replace(request, number=number, body=chat, format="openai_chat"))
        taken = self._ledger.take("openai_chat", chat)
        wrong = wrong or (taken.problem and taken.problem.message)
        if wrong:
            self.refusals.append(wrong)
            return number, _error(400, wrong)
        step = self._tape.next(Request(format="openai_chat", body=chat))
        if isinstance(step, Status):
            return number, _error(step.code, step.message)
        assert isinstance(step, Say | Think | Call | Many)
        usage = facts_of(taken, step, chat).usage
        counts = {
            "promptTokenCount": usage.input + usage.cache_read,
            "candidatesTokenCount": usage.output,
            "totalTokenCount": usage.input + usage.cache_read + usage.output,
        }
        parts = [_part(part) for part in parts_of(step)]
        if ":streamGenerateContent" in request.path:
            pieces = [*_pieces(parts)]
            bodies = [_body([piece], counts if piece is pieces[-1] else None) for piece in pieces]
            events = tuple(b"data: " + msgspec.json.encode(body) + b"\r\n\r\n" for body in bodies)
            return number, Outgoing(headers={"content-type": "text/event-stream"}, pieces=events, streamed=True)
        return number, json_reply(200, _body(parts, counts))


def _error(status: int, message: str) -> Outgoing:
    return json_reply(status, {"error": {"code": status, "message": message, "status": "INVALID_ARGUMENT"}})


def _body(parts: list[JsonObject], counts: JsonObject | None) -> JsonObject:
    candidate = {"content": {"role": "model", "parts": parts}, "index": 0, **({"finishReason": "STOP"} if counts else {})}
    return {"candidates": [candidate], "modelVersion": "gemini-scripted", **({"usageMetadata": counts} if counts else {})}


def _part(part: Say | Think | Call) -> JsonObject:
    match part:
        case Say(text=text):
            return {"text": text}
        case Think(text=text):
            return {"text": text, "thought": True, "thoughtSignature": "c2lnbmVk"}
        case Call(name=name, input=arguments):
            return {"functionCall": {"name": name, "args": arguments}}


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
    contents = body.get("contents") or []
    if not contents:
        yield "contents is not specified"
    calls: list[str] = []
    for content in contents:
        parts = content.get("parts") or []
        if content.get("role") not in {"user", "model"} or not parts:
            yield f"a content has no parts, or the role {content.get('role')!r}"
        results = [part["functionResponse"]["name"] for part in parts if "functionResponse" in part]
        if sorted(results) != sorted(calls):
            yield "the number of function response parts must be equal to the number of function call parts of the function call turn"
        calls = [part["functionCall"]["name"] for part in parts if "functionCall" in part]
    if calls:
        yield "a function call turn must be followed by its responses"


def as_chat(body: JsonObject) -> JsonObject:
    """The request as Chat Completions would say it; calls are numbered in their order."""
    system = "".join(part.get("text", "") for part in (body.get("systemInstruction") or {}).get("parts", []))
    messages: list[JsonObject] = [{"role": "system", "content": system}] if system else []
    open_calls: list[tuple[str, str]] = []
    count = 0
    for content in body.get("contents") or []:
        texts, calls = [], []
        for part in content.get("parts") or []:
            if "functionCall" in part:
                count += 1
                name = part["functionCall"]["name"]
                open_calls.append((name, f"c{count}"))
                arguments = msgspec.json.encode(part["functionCall"].get("args") or {}).decode()
                calls.append({"id": f"c{count}", "type": "function", "function": {"name": name, "arguments": arguments}})
            elif "functionResponse" in part:
                given = part["functionResponse"]
                found = next((pair for pair in open_calls if pair[0] == given["name"]), ("", "unknown"))
                if found in open_calls:
                    open_calls.remove(found)
                response = given.get("response") or {}
                text = response["result"] if list(response) == ["result"] else msgspec.json.encode(response).decode()
                messages.append({"role": "tool", "tool_call_id": found[1], "content": text})
            elif "text" in part:
                texts += [] if part.get("thought") else [part["text"]]
            else:
                texts.append(msgspec.json.encode(part).decode())
        if texts or calls:
            role = "assistant" if content.get("role") == "model" else "user"
            messages.append({"role": role, "content": "".join(texts) or None, **({"tool_calls": calls} if calls else {})})
    return {"model": "gemini", "messages": messages}
