"""Finding a codec by name, and detecting the format of a request body."""

from __future__ import annotations

from typing import Any

from memorist.errors import FormatError
from memorist.formats import anthropic, openai_chat, openai_responses
from memorist.formats.codec import Codec

_CODECS: dict[str, Codec] = {
    "anthropic": anthropic.CODEC,
    "openai_chat": openai_chat.CODEC,
    "openai_responses": openai_responses.CODEC,
}

_ANTHROPIC_KEYS = frozenset(
    {
        "system",
        "anthropic_version",
        "anthropic_beta",
        "context_management",
        "mcp_servers",
        "output_config",
        "top_k",
    }
)
_ANTHROPIC_BLOCKS = frozenset(
    {
        "tool_use",
        "tool_result",
        "thinking",
        "redacted_thinking",
        "image",
        "document",
        "server_tool_use",
        "compaction",
    }
)
_CHAT_KEYS = frozenset(
    {
        "max_completion_tokens",
        "response_format",
        "stream_options",
        "n",
        "stop",
        "logprobs",
        "frequency_penalty",
        "functions",
    }
)
_CHAT_ROLES = frozenset({"system", "developer", "tool", "function"})
_CHAT_PARTS = frozenset({"image_url", "input_audio", "file", "refusal"})


def find_codec(name: str) -> Codec:
    """The codec of that name. Raises FormatError, which lists the known names."""
    found = _CODECS.get(name)
    if found is None:
        raise FormatError(f"{name!r} is no wire format; use one of {', '.join(sorted(_CODECS))}.")
    return found


def detect_request_format(body: object) -> str:
    """Name of the format of a request body.

    1. With `input`: `openai_responses`.
    2. With `messages` and a key, tool or content block that only Anthropic has (`system`,
    `anthropic_version`, a tool with `input_schema`, a `tool_use` block …): `anthropic`.
    3. Else with a key, tool, role or part that only Chat Completions has (`max_completion_tokens`,
    a tool with `function`, a `system` message, `tool_calls`, an `image_url` part …): `openai_chat`.
    4. Else, with `max_tokens`, which Anthropic demands: `anthropic`. Else `openai_chat`.

    Raises FormatError when there is neither `input` nor a list of messages.
    """
    if isinstance(body, dict) and "input" in body:
        return "openai_responses"
    messages = body.get("messages") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(messages, list):
        raise FormatError(
            "This is no request that memorist knows: it has neither `input` nor a list of "
            "`messages`."
        )
    if (
        not _ANTHROPIC_KEYS.isdisjoint(body)
        or _has_tool_key(body, "input_schema")
        or _has_block(messages, _ANTHROPIC_BLOCKS)
    ):
        return "anthropic"
    if (
        not _CHAT_KEYS.isdisjoint(body)
        or _has_tool_key(body, "function")
        or _has_chat_message(messages)
    ):
        return "openai_chat"
    return "anthropic" if "max_tokens" in body else "openai_chat"


def _has_tool_key(body: dict[str, Any], key: str) -> bool:
    tools = body.get("tools")
    return isinstance(tools, list) and any(isinstance(tool, dict) and key in tool for tool in tools)


def _has_block(messages: list[Any], kinds: frozenset[str]) -> bool:
    """Whether any content block is of one of the kinds."""
    for message in messages:
        content = message.get("content") if isinstance(message, dict) else None
        for block in content if isinstance(content, list) else ():
            kind = block.get("type") if isinstance(block, dict) else None
            if isinstance(kind, str) and kind in kinds:
                return True
    return False


def _has_chat_message(messages: list[Any]) -> bool:
    for message in messages:
        role = message.get("role") if isinstance(message, dict) else None
        if isinstance(role, str) and role in _CHAT_ROLES:
            return True
        if isinstance(message, dict) and "tool_calls" in message:
            return True
    return _has_block(messages, _CHAT_PARTS)
