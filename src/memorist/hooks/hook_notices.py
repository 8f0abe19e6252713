"""The one line that a user sees in the client when memory changed, or waits, or is off. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from memorist.core.sentences import shorten_to_one_line
from memorist.events import Event, MemoryChanged, MemoryNeedsReview, MemoryRefused
from memorist.hooks.hook_event import Client
from memorist.safety.hidden_characters import strip_hidden_characters
from memorist.safety.secrets import redact

NOTICE_EVENTS = ("SessionStart", "UserPromptSubmit", "Stop")
"""Events at which both clients show a hook's `systemMessage` to the user (clients.md sections 1.7
and 2.6).
"""
MAX_NOTICE_CHARS = 240
"""Characters of a notice: two lines of a terminal. Our choice."""
_MAX_QUOTED_CHARS = 90
_FORGETTING = ("forget", "forgets")


def render_memory_notice(events: Sequence[Event]) -> str:
    """Say in one line what became of memory; empty where nothing did."""
    changed = [each for each in events if isinstance(each, MemoryChanged) and each.paths]
    waiting = {each.proposal for each in events if isinstance(each, MemoryNeedsReview)}
    refused = [each.reasons[0] for each in _select_failed_writes(events)]
    parts = list(dict.fromkeys(map(_describe_change, changed)))
    parts += [f"kept nothing: {reason}" for reason in dict.fromkeys(refused)]
    ways = ["memorist memory undo" if len(changed) == 1 else "memorist memory log"]
    if not changed:
        ways = []
    if waiting:
        parts.append("1 waits for you" if len(waiting) == 1 else f"{len(waiting)} wait for you")
        ways.append("memorist memory inbox")
    if not parts:
        return ""
    room = MAX_NOTICE_CHARS - sum(len(way) + 3 for way in ways)
    line = shorten_to_one_line("memorist: " + ", ".join(parts), room)
    return strip_hidden_characters(" · ".join([line, *ways]))


def _select_failed_writes(events: Sequence[Event]) -> list[MemoryRefused]:
    """What the disk refused; what the gate refused names a memory."""
    return [each for each in events if isinstance(each, MemoryRefused) and not each.path]


def render_waiting_notice(count: int) -> str:
    """Say at the start of a session what waits in the inbox; empty where nothing does."""
    if not count:
        return ""
    waits = "1 memory waits" if count == 1 else f"{count:,} memories wait"
    return f"memorist: {waits} for your yes or no · memorist memory inbox"


def render_moved_project_notice(former: str) -> str:
    """Say at the start of a session which memory may be this project's; empty for none."""
    return f"memorist: {former}" if former else ""


def render_unreadable_memory_notice(why: str) -> str:
    """Say at the start of a session why it is shown no memories; empty for nothing."""
    return f"memorist: no memories are shown: {why}" if why else ""


def _describe_change(change: MemoryChanged) -> str:
    verb, _, what = change.what.partition(": ")
    said, _, replaced = what.partition("; in place of ")
    if change.actor == "dream":
        return "put memory in order"
    if change.actor == "team":
        return "took over memories of the team"
    if verb == "for every project":
        return f"holds in every project now: “{shorten_to_one_line(said, _MAX_QUOTED_CHARS)}”"
    if verb.endswith(_FORGETTING):
        return f"forgot “{shorten_to_one_line(said, _MAX_QUOTED_CHARS)}”"
    named = ", ".join(path.removesuffix(".md") for path in change.paths)
    quoted = (
        f"“{shorten_to_one_line(said, _MAX_QUOTED_CHARS)}”" if change.actor == "said" else named
    )
    if replaced:
        return f"changed to {quoted} (was {replaced.replace('.md', '')})"
    return f"remembered {quoted}"


def render_pin_notice(text: str) -> str:
    """Say that a text stays in sight for the session."""
    shown = strip_hidden_characters(shorten_to_one_line(redact(text).text, _MAX_QUOTED_CHARS))
    return f"memorist: keeps “{shown}” in sight for this session"


def render_quoted_off_request_notice(client: Client) -> str:
    """Say that a line of a prompt asks for no memory, and was taken for a quotation."""
    command = "$memorist-off" if client == "codex" else "/memorist:off"
    return f"memorist: memory stays on; if you want none in this session: {command}"


def render_failure_notice(why: str) -> str:
    """Say what failed, where no file could take it; empty for nothing."""
    return f"memorist: {shorten_to_one_line(why, MAX_NOTICE_CHARS)}" if why else ""


def render_off_notice(why: str) -> str:
    """Say that memory is off, and why."""
    return f"memorist: memory is off: {shorten_to_one_line(why, MAX_NOTICE_CHARS)}"
