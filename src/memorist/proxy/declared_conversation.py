"""Identify the conversation of a request as far as its client declares it. Pure.

Claude Code and Codex name session and subagent in headers of every request; Codex also names the
kind of request. opencode names the parent of a subagent's session. Any client can use
`x-memorist-session` and `x-memorist-project`. Requests that declare nothing
are matched by their history (see `ConversationMatcher`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from memorist.core.json_decoding import decode_json
from memorist.engine.host_history import is_instructions
from memorist.proxy.request_body import RequestBody

RequestShape = tuple[str, str]
"""What `hash_instructions_and_tools` returns."""

Certainty = Literal["named", "likely", "grouped", "unknown"]
"""How a request is identified.

`named`: the client names the conversation. `likely`: it does, but older versions give their
subagents the same name. `grouped`: the name may be shared by several conversations. `unknown`:
there is no name.
"""

_UNATTENDED = re.compile(
    r"\(external, (?!(?:cli|claude-(?:desktop|vscode|jetbrains)|local-agent|remote[\w-]*)\b(?!-))"
)
"""What Claude Code calls itself in print mode (`sdk-cli`), in programs with its SDK, as a server
and in a CI job: whatever is not known to be a terminal or an application of its own.
"""
_TYPED_ORIGINATORS = frozenset(
    {"", "codex_atlas", "codex_chatgpt_desktop", "codex_cli_rs", "codex-tui", "codex_vscode"}
)
"""Codex's own programs that a user types into; those whose name begins with `Codex ` are its
applications. Any other may be `codex exec`, an SDK or a server, which pass on what they got.
"""
_COMPACTION_LEADS = ("critical: respond with text only",)
"""First words of the message with which Claude Code requests its summary.
"""


_ASIDE_LEADS = (
    "### task:\ngenerate ", "### task:\nsuggest ", "### task:\nanalyze the chat history",
    "### task:\nyou are an autocompletion system", "given the following... please reply with a",
    "provide a concise, 5-word-or-less title", "please generate a concise, 5-word-or-less title",
    "analyze this conversation and provide:", "generate a concise 3-7 word title",
    "please generate a four to five word title", "使用四到五个字直接返回这句话的简要主题",
    "简要总结一下对话内容",
)  # fmt: skip
"""First words of the message with which Open WebUI, Continue, LibreChat, Zed and NextChat ask for a
title, tags, next questions or a summary of a chat: what follows may be a model's words.
"""
_ASIDE_INSTRUCTIONS = ("you are a title generator", "summarize the conversation into a title")
"""First words of the instructions with which opencode and Cherry Studio do."""


class DeclaredConversation(Struct, frozen=True, kw_only=True):
    """What a client declares about a request."""

    name: str = ""
    """The conversation, or the group it belongs to."""
    certainty: Certainty = "unknown"
    is_main_agent: bool = True
    """Whether this is the main agent, not one of its subagents."""
    has_typing_user: bool = True
    """Whether a user types into it; not in print mode, which may get its prompt through a pipe."""
    unrelated_reason: str = ""
    """Why the request is not part of a conversation; empty if it is."""
    project: str | None = None
    """The project that the client names; None if it does not."""


class _CodexTurnMetadata(Struct, frozen=True):
    """The fields of `x-codex-turn-metadata` that are read."""

    session_id: str = ""
    thread_id: str = ""
    request_kind: str = "turn"


class _ClaudeUserMetadata(Struct, frozen=True):
    """The fields of Claude Code's `metadata.user_id` that are read."""

    session_id: str = ""


def read_declared_conversation(
    headers: Mapping[str, str], body: RequestBody
) -> DeclaredConversation:
    """Identify the sender of a model call. `headers` have lower-case names."""
    headers = {name: escape_header_surrogates(value) for name, value in headers.items()}
    project = headers.get("x-memorist-project")
    if headers.get("x-memorist", "").strip().lower() == "off":
        return DeclaredConversation(unrelated_reason="the client asked for it")
    if _is_aside(body):
        return DeclaredConversation(unrelated_reason="it asks for something beside a conversation")
    own = headers.get("x-memorist-session", "").strip()
    if own:
        return DeclaredConversation(name=own, certainty="named", project=project)
    found = (
        _identify_codex(headers)
        or _identify_claude_code(headers, body)
        or _identify_by_cache_key(body)
    )
    if headers.get("x-parent-session-id"):
        found = msgspec.structs.replace(found, is_main_agent=False)
    return found if project is None else msgspec.structs.replace(found, project=project)


def _is_aside(body: RequestBody) -> bool:
    """Whether a chat client asks for a title, tags and the like, which no user typed."""
    if _newest_text(body)[:100].lower().startswith(_ASIDE_LEADS):
        return True
    first = body.items[0] if body.items else None
    said = first.get("content") if isinstance(first, dict) and is_instructions(first) else None
    return _first_text(body.values.get("system") or said).lower().startswith(_ASIDE_INSTRUCTIONS)


def escape_header_surrogates(value: str) -> str:
    """A header value, which may not be UTF-8, as text that can be stored; distinct values stay
    distinct.
    """
    return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()


def _identify_codex(headers: Mapping[str, str]) -> DeclaredConversation | None:
    given = headers.get("x-codex-turn-metadata", "")
    if not given and not headers.get("originator", "").lower().startswith("codex"):
        return None
    try:
        turn = decode_json(given, as_type=_CodexTurnMetadata) if given else _CodexTurnMetadata()
    except (msgspec.DecodeError, RecursionError):
        turn = _CodexTurnMetadata()
    session = turn.session_id or headers.get("session-id", "") or headers.get("session_id", "")
    thread = turn.thread_id or headers.get("thread-id", "") or session
    if not thread:
        return None
    aside = (
        ""
        if turn.request_kind == "turn"
        else f"Codex says that it is a request of kind {turn.request_kind[:40]}"
    )
    by_agent = headers.get("x-openai-subagent") or headers.get("x-codex-parent-thread-id")
    return DeclaredConversation(
        name=thread,
        certainty="named",
        is_main_agent=thread == session and not by_agent,
        has_typing_user=_is_typed_originator(headers.get("originator", "")),
        unrelated_reason=aside,
    )


def _is_typed_originator(originator: str) -> bool:
    return originator in _TYPED_ORIGINATORS or originator.startswith("Codex ")


def _identify_claude_code(
    headers: Mapping[str, str], body: RequestBody
) -> DeclaredConversation | None:
    session = headers.get("x-claude-code-session-id", "") or _parse_user_session(
        body.values.get("metadata")
    )
    if not session:
        return None
    agent = headers.get("x-claude-code-agent-id", "")
    if not body.values.get("tools"):
        return DeclaredConversation(
            name=session,
            certainty="named",
            is_main_agent=not agent,
            unrelated_reason="a request of Claude Code without tools is no turn",
        )
    if _newest_text(body).lower().startswith(_COMPACTION_LEADS):
        return DeclaredConversation(
            name=session,
            certainty="named",
            is_main_agent=not agent,
            unrelated_reason="Claude Code asks for a summary",
        )
    if agent:
        return DeclaredConversation(
            name=f"{session}/{agent}", certainty="named", is_main_agent=False
        )
    if "cc_is_subagent=true" in _first_text(body.values.get("system")):
        return DeclaredConversation(
            name=f"{session}/agents", certainty="grouped", is_main_agent=False
        )
    return DeclaredConversation(
        name=session,
        certainty="likely",
        has_typing_user=not _UNATTENDED.search(headers.get("user-agent", "")),
    )


def _parse_user_session(metadata: object) -> str:
    """The session id in `metadata.user_id`, in either form that Claude Code has used; empty if
    there is none.
    """
    given = metadata.get("user_id") if isinstance(metadata, dict) else None
    if not isinstance(given, str):
        return ""
    if given.startswith("{"):
        try:
            return decode_json(given, as_type=_ClaudeUserMetadata).session_id
        except (msgspec.DecodeError, RecursionError):
            return ""
    head, mark, session = given.rpartition("_session_")
    return session if mark and head.startswith("user_") else ""


def _identify_by_cache_key(body: RequestBody) -> DeclaredConversation:
    key = body.values.get("prompt_cache_key")
    if isinstance(key, str) and key:
        return DeclaredConversation(name=key, certainty="grouped")
    return DeclaredConversation()


def _newest_text(body: RequestBody) -> str:
    newest = body.items[-1] if body.items else None
    content = newest.get("content") if isinstance(newest, dict) else None
    if isinstance(content, list):
        content = content[-1].get("text") if content and isinstance(content[-1], dict) else None
    return content.lstrip() if isinstance(content, str) else ""


def _first_text(system: object) -> str:
    if isinstance(system, list) and system and isinstance(system[0], dict):
        system = system[0].get("text")
    return system[:500] if isinstance(system, str) else ""


def get_instructions_and_tools(format: str, body: RequestBody) -> tuple[object, object]:
    """The objects in the body that determine its shape: the same objects have the same shape."""
    key = {"anthropic": "system", "openai_responses": "instructions"}.get(format)
    return (
        body.values.get(key) if key else body.items[0] if body.items else None,
        body.values.get("tools"),
    )


def hash_instructions_and_tools(format: str, body: RequestBody) -> RequestShape:
    """Hashes of a request's instructions and of its tool names, stable across processes.

    They tell one kind of request from another. The line that Claude Code writes first into its
    system prompt changes within a session and is left out.
    """
    values = body.values
    system: Any = (
        values.get("instructions") if format == "openai_responses" else values.get("system")
    )
    if format == "openai_chat":
        first = body.items[0] if body.items else None
        system = (
            first.get("content")
            if isinstance(first, dict) and first.get("role") in ("system", "developer")
            else None
        )
    texts = (
        [system]
        if isinstance(system, str)
        else [block.get("text") for block in system or () if isinstance(block, dict)]
    )
    said = [
        text
        for text in texts
        if isinstance(text, str) and not text.startswith("x-anthropic-billing-header:")
    ]
    return _hash_texts(said), _hash_texts(sorted(set(_tool_names(values.get("tools")))))


def _hash_texts(texts: list[str]) -> str:
    found = hashlib.blake2b(digest_size=8)
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        found.update(b"%d:" % len(data))
        found.update(data)
    return found.hexdigest()


def _tool_names(tools: object) -> list[str]:
    found = []
    for tool in tools if isinstance(tools, list) else ():
        inner = tool.get("function") if isinstance(tool, dict) else None
        name = (
            inner.get("name")
            if isinstance(inner, dict)
            else tool.get("name") or tool.get("type")
            if isinstance(tool, dict)
            else None
        )
        found.append(str(name))
    return found
