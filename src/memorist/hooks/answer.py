"""Format the response to a hook event within the client's size limit.

Pure (clients.md sections 1.7 and 2.6).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from memorist.hooks.event import Client, HookEvent

ROOM: dict[Client, int] = {"claude-code": 9_800, "codex": 9_800}
"""The most that is shown at once, in the client's unit (`_OUTPUT_UNITS`).

Claude Code accepts 10,000 UTF-16 code units from a hook; Codex accepts 2,500 tokens, about 10,000
bytes.
"""
_UNITS: dict[Client, tuple[str, int]] = {"claude-code": ("utf-16-le", 2), "codex": ("utf-8", 1)}


class Part(Struct, frozen=True):
    """A text to show, and the path of its full version for when it is cut; empty where there is
    none.
    """

    text: str
    whole: str = ""


def size(text: str, client: Client) -> int:
    """The size of a text in the client's unit: UTF-16 code units or UTF-8 bytes."""
    encoding, unit = _UNITS[client]
    return len(text.encode(encoding, "replace")) // unit


def fitted(parts: Sequence[Part], client: Client, room: int | None = None) -> str:
    """Join the texts in order, each cut to its fair share of `limit`; what short texts leave goes
    to the longer ones.
    """
    told = [part for part in parts if part.text.strip()]
    left = (ROOM[client] if room is None else room) - 2 * max(0, len(told) - 1)
    shares: dict[int, int] = {}
    for done, place in enumerate(sorted(range(len(told)), key=lambda place: size(told[place].text, client))):
        shares[place] = min(size(told[place].text, client), left // (len(told) - done))
        left -= shares[place]
    return "\n\n".join(filter(None, (_cut(part, client, shares[place]) for place, part in enumerate(told))))


def _cut(part: Part, client: Client, room: int) -> str:
    """The start of a text, cut at a line end if one is near, with a note on where the rest is.

    Empty where even the note does not fit.
    """
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
    """Encode what the hook prints.

    Before a compaction Claude Code takes plain text as instructions and rejects JSON; Codex takes
    nothing at that event.
    """
    if not text.strip():
        return b""
    name = event.hook_event_name
    if name == "PreCompact":
        return _plain(text) if client == "claude-code" else b""
    if name not in ("SessionStart", "UserPromptSubmit"):
        return b""
    return msgspec.json.encode({"hookSpecificOutput": {"hookEventName": name, "additionalContext": _sound(text)}})


def _plain(text: str) -> bytes:
    """Encode plain text that no client can mistake for JSON."""
    sound = _sound(text)
    return (f"Note: {sound}" if sound.lstrip()[:1] in ("{", "[") else sound).encode()


def _sound(text: str) -> str:
    """Replace unpaired surrogates, which JSON readers reject."""
    return text.encode("utf-8", "replace").decode()
