"""Format the response to a hook event within the client's size limit.

Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from memorist.core.text_encoding import replace_surrogates
from memorist.hooks.hook_event import Client, HookEvent
from memorist.hooks.hook_notices import NOTICE_EVENTS

OUTPUT_LIMITS: dict[Client, int] = {"claude-code": 9_800, "codex": 9_800}
"""The most that is shown at once, in the client's unit (`_OUTPUT_UNITS`).

Claude Code accepts 10,000 UTF-16 code units from a hook; Codex accepts 2,500 tokens, about 10,000
bytes.
"""
CONTEXT_EVENTS = ("SessionStart", "UserPromptSubmit", "PreToolUse")
"""Events at which a client takes context for its model."""
_OUTPUT_UNITS: dict[Client, tuple[str, int]] = {
    "claude-code": ("utf-16-le", 2),
    "codex": ("utf-8", 1),
}


class CuttableHookText(Struct, frozen=True):
    """A text to show, and the path of its full version for when it is cut; empty where there is
    none.
    """

    text: str
    full_text_path: str = ""


def measure_output_size(text: str, client: Client) -> int:
    """The size of a text in the client's unit: UTF-16 code units or UTF-8 bytes."""
    encoding, unit = _OUTPUT_UNITS[client]
    return len(text.encode(encoding, "replace")) // unit


def join_hook_texts_within_limit(
    texts: Sequence[CuttableHookText], client: Client, limit: int | None = None
) -> str:
    """Join the texts in order, each cut to its fair share of `limit`; what short texts leave goes
    to the longer ones.
    """
    filled = [part for part in texts if part.text.strip()]
    left = (OUTPUT_LIMITS[client] if limit is None else limit) - 2 * max(0, len(filled) - 1)
    shares: dict[int, int] = {}
    for done, index in enumerate(
        sorted(
            range(len(filled)), key=lambda index: measure_output_size(filled[index].text, client)
        )
    ):
        shares[index] = min(
            measure_output_size(filled[index].text, client), left // (len(filled) - done)
        )
        left -= shares[index]
    return "\n\n".join(
        filter(None, (_truncate(part, client, shares[index]) for index, part in enumerate(filled)))
    )


def _truncate(part: CuttableHookText, client: Client, room: int) -> str:
    """The start of a text, cut at a line end if one is near, with a note on where the rest is.

    Empty where even the note does not fit.
    """
    if measure_output_size(part.text, client) <= room:
        return part.text
    remark = f"\n… cut; the whole is in {part.full_text_path}" if part.full_text_path else "\n… cut"
    encoding, unit = _OUTPUT_UNITS[client]
    space = room - measure_output_size(remark, client)
    if space <= 0:
        return ""
    start = part.text.encode(encoding, "replace")[: space * unit].decode(encoding, "ignore")
    end = start.rfind("\n", len(start) // 2)
    return (start[:end] if end > 0 else start) + remark


def render_hook_output(event: HookEvent, client: Client, text: str, notice: str = "") -> bytes:
    """Encode what the hook prints: `text` for the model, `notice` for the user.

    Before a compaction Claude Code takes plain text as instructions and rejects JSON; Codex takes
    nothing at that event.
    """
    name = event.hook_event_name
    if name == "PreCompact":
        given = client == "claude-code" and text.strip()
        return _encode_plain_text(text) if given else b""
    said: dict[str, object] = {}
    if notice and name in NOTICE_EVENTS:
        said["systemMessage"] = replace_surrogates(notice)
    if text.strip() and name in CONTEXT_EVENTS:
        said["hookSpecificOutput"] = {
            "hookEventName": name,
            "additionalContext": replace_surrogates(text),
        }
    return msgspec.json.encode(said) if said else b""


def _encode_plain_text(text: str) -> bytes:
    """Encode plain text that no client can mistake for JSON."""
    sound = replace_surrogates(text)
    return (f"Note: {sound}" if sound.lstrip()[:1] in ("{", "[") else sound).encode()
