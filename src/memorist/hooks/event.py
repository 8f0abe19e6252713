"""Parse hook events of coding agents.

Claude Code and Codex send the same JSON (clients.md sections 1.7 and 2.6). Pure.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

from memorist.formats.jsonl import mended

Client = Literal["claude-code", "codex"]

CLIENTS: tuple[Client, ...] = ("claude-code", "codex")

NAMES = (
    "SessionStart",
    "UserPromptSubmit",
    "PreCompact",
    "PostCompact",
    "PostToolUse",
    "Stop",
    "SubagentStop",
    "SessionEnd",
)
"""Events that memorist answers or does work for; any other event gets an empty response."""


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
    trigger: str = ""
    reason: str = ""
    turn_id: str | None = None
    model: str | None = None


class _Loose(Struct, frozen=True, kw_only=True):
    """The same fields undecoded, so that one field of an unexpected type does not spoil
    the others.
    """

    session_id: msgspec.Raw = msgspec.Raw()
    transcript_path: msgspec.Raw = msgspec.Raw()
    cwd: msgspec.Raw = msgspec.Raw()
    hook_event_name: msgspec.Raw = msgspec.Raw()
    prompt: msgspec.Raw = msgspec.Raw()
    source: msgspec.Raw = msgspec.Raw()
    trigger: msgspec.Raw = msgspec.Raw()
    reason: msgspec.Raw = msgspec.Raw()
    turn_id: msgspec.Raw = msgspec.Raw()
    model: msgspec.Raw = msgspec.Raw()


class Unknown(Struct, frozen=True):
    """An event that memorist cannot use, and why."""

    why: str


_decode = msgspec.json.Decoder(HookEvent).decode
_loose = msgspec.json.Decoder(_Loose).decode


def read_event(data: bytes, named: str) -> HookEvent | Unknown:
    """Parse the JSON that an agent wrote to the hook.

    `installed_event` is the event that the hook was installed for; it is used where the JSON names
    none. A field of an unexpected type counts as missing, since an agent may change fields that
    memorist does not need. Unpaired surrogates, which JavaScript writes where it cut a text inside
    an emoji, are replaced.
    """
    try:
        event = _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        try:
            event = _by_field(data)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            whole = mended(data)
            if whole is None:
                return Unknown(f"what the agent wrote is not a JSON object: {error}")
            event = _by_field(whole)
    name = event.hook_event_name or named
    if not event.session_id:
        return Unknown(f"the event {name or 'without a name'} names no session; is the agent of a newer version than this memorist knows?")
    if name not in NAMES:
        return Unknown(f"the event {name[:40] or 'without a name'} is not known")
    return msgspec.structs.replace(event, hook_event_name=name)


def _by_field(data: bytes) -> HookEvent:
    loose = _loose(data)
    found: dict[str, str] = {}
    for name in loose.__struct_fields__:
        raw = bytes(getattr(loose, name))
        if raw.startswith(b'"'):
            found[name] = msgspec.json.decode(raw, type=str)
    return HookEvent(**found)


def client_of(said: str, event: HookEvent) -> Client:
    """The client that sent the event: the one the hook was installed for, else guessed from the
    fields.

    Codex sends a model and a turn id, and its session files are called `rollout-…`.
    """
    for client in CLIENTS:
        if said == client:
            return client
    file = (event.transcript_path or "").rpartition("/")[2]
    return "codex" if file.startswith("rollout-") or (event.turn_id and event.model) else "claude-code"
