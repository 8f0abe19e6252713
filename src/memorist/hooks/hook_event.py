"""Parse hook events of coding agents.

Claude Code and Codex send the same JSON. Pure.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Struct

from memorist.core.json_decoding import build_json_decoder
from memorist.core.messages import JsonObject
from memorist.formats.host_markup import strip_host_markup
from memorist.formats.transcript_format import repair_transcript_line
from memorist.hooks.hook_protocol import KNOWN_EVENTS

Client = Literal["claude-code", "codex"]

CLIENTS: tuple[Client, ...] = ("claude-code", "codex")


class HookEvent(Struct, frozen=True, kw_only=True):
    """The fields of a hook event that memorist reads.

    Missing fields are empty; unknown ones are ignored.
    """

    session_id: str = ""
    transcript_path: str | None = None
    cwd: str = ""
    hook_event_name: str = ""
    prompt: str = ""
    source: str = ""
    """Of a SessionStart: `startup`, `resume`, `clear` or `compact`."""
    reason: str = ""
    tool_name: str = ""
    """Of a PreToolUse: the tool as the client calls it, and its arguments."""
    tool_input: JsonObject = {}
    turn_id: str | None = None
    model: str | None = None
    agent_id: str = ""
    """Of an event within a subagent: which one."""

    @property
    def typed_prompt(self) -> str:
        """What the user typed of the prompt; empty for what another sender wrote."""
        return "" if self.agent_id else strip_host_markup(self.prompt)


class HookEventProblem(Struct, frozen=True):
    """An event that memorist cannot use, and why."""

    why: str


_decode_event = build_json_decoder(HookEvent)
_decode_raw_fields = build_json_decoder(dict[str, msgspec.Raw])
"""The fields undecoded, so that one of an unexpected type does not spoil the others."""


def parse_hook_event(data: bytes, installed_event: str) -> HookEvent | HookEventProblem:
    """Parse the JSON that an agent wrote to the hook.

    `installed_event` is the event that the hook was installed for; it is used where the JSON names
    none. A field of an unexpected type counts as missing, since an agent may change fields that
    memorist does not need. Unpaired surrogates, which JavaScript writes where it cut a text inside
    an emoji, are replaced.
    """
    try:
        event = _decode_repaired(data)
    except RecursionError:
        return HookEventProblem("what the agent wrote is nested too deeply")
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return HookEventProblem(f"what the agent wrote is not a JSON object: {error}")
    name = event.hook_event_name or installed_event
    if not event.session_id:
        return HookEventProblem(
            f"the event {name or 'without a name'} names no session; is the agent of a newer "
            f"version than this memorist knows?"
        )
    if name not in KNOWN_EVENTS:
        return HookEventProblem(f"the event {name[:40] or 'without a name'} is not known")
    return msgspec.structs.replace(event, hook_event_name=name)


def _decode_repaired(data: bytes) -> HookEvent:
    try:
        return _decode_event(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    try:
        return _decode_by_field(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        whole = repair_transcript_line(data)
        if whole is None:
            raise
        return _decode_by_field(whole)


def _decode_by_field(data: bytes) -> HookEvent:
    fields = _decode_raw_fields(data)
    found: dict[str, Any] = {}
    for name in HookEvent.__struct_fields__:
        raw = bytes(fields.get(name, b""))
        if raw.startswith(b"{" if name == "tool_input" else b'"'):
            found[name] = msgspec.json.decode(raw)
    return HookEvent(**found)


def detect_hook_client(configured: str, event: HookEvent) -> Client:
    """The client that sent the event: the one the hook was installed for, else guessed from the
    fields.

    Codex sends a model and a turn id, and its session files are called `rollout-…`.
    """
    for client in CLIENTS:
        if configured == client:
            return client
    file = (event.transcript_path or "").rpartition("/")[2]
    return (
        "codex" if file.startswith("rollout-") or (event.turn_id and event.model) else "claude-code"
    )
