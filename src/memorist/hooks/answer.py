"""What an agent is answered, in the form that it reads and within what it takes. Pure (clients.md sections 1.7 and 2.6)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from memorist.hooks.event import Client, HookEvent

ROOM: dict[Client, int] = {"claude-code": 9_800, "codex": 9_800}
"""The most that is shown at once: Claude Code takes 10,000 characters of a hook, counted as UTF-16; Codex 2,500 tokens, about 10,000 bytes."""
_UNITS: dict[Client, tuple[str, int]] = {"claude-code": ("utf-16-le", 2), "codex": ("utf-8", 1)}


class Part(Struct, frozen=True):
    """One text that is to be shown, and where the whole can be read when it had to be cut; empty where it stands nowhere."""

    text: str
    whole: str = ""


def size(text: str, client: Client) -> int:
    """How much of an agent's room a text takes."""
    encoding, unit = _UNITS[client]
    return len(text.encode(encoding, "replace")) // unit


def fitted(parts: Sequence[Part], client: Client, room: int | None = None) -> str:
    """The texts below each other, in the order given, each with its fair share of the room: what a short one leaves goes to the others."""
    told = [part for part in parts if part.text.strip()]
    left = (ROOM[client] if room is None else room) - 2 * max(0, len(told) - 1)
    shares: dict[int, int] = {}
    for done, place in enumerate(sorted(range(len(told)), key=lambda place: size(told[place].text, client))):
        shares[place] = min(size(told[place].text, client), left // (len(told) - done))
        left -= shares[place]
    return "\n\n".join(filter(None, (_cut(part, client, shares[place]) for place, part in enumerate(told))))


def _cut(part: Part, client: Client, room: int) -> str:
    """The start of a text, at a line end where one is near, with a remark on where the rest is; empty where there is no room for that."""
    if size(part.text, client) <= room:
        return part.text
    remark = f"\n… cut; the whole is in {part.whole}" if part.whole else "\n… cut"
    encoding, unit = _UNITS[client]
    space = room - size(remark, client)
    if space <= 0:
        return ""
    start = part.text.encode(encoding, "replace")[: space * unit].decode(encoding, "ignore")
    end = start.rfind("\n", len(start) // 2)
    return (start[:end] if end > 0 else start) + remark


def rendered(event: HookEvent, client: Client, text: str) -> bytes:
    """What is printed. Before a compaction Claude Code takes plain text as instructions and refuses JSON; Codex takes nothing there."""
    if not text.strip():
        return b""
    name = event.hook_event_name
    if name == "PreCompact":
        return _plain(text) if client == "claude-code" else b""
    if name not in ("SessionStart", "UserPromptSubmit"):
        return b""
    return msgspec.json.encode({"hookSpecificOutput": {"hookEventName": name, "additionalContext": _sound(text)}})


def _plain(text: str) -> bytes:
    """Plain text that no agent can take for JSON."""
    sound = _sound(text)
    return (f"Note: {sound}" if sound.lstrip()[:1] in ("{", "[") else sound).encode()


def _sound(text: str) -> str:
    """Text that every reader of JSON takes: no halves of surrogate pairs."""
    return text.encode("utf-8", "replace").decode()
