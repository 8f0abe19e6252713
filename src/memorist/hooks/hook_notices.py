"""The one line that a user sees in the client when memory changed, or waits, or is off. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from memorist.auto_memory.statement_changes import (
    asks_to_forget_all_about_user,
    is_about_everything,
)
from memorist.core.sentences import shorten_to_one_line
from memorist.events import (
    Event,
    ForgetTargetNotFound,
    MemoryChanged,
    MemoryNeedsReview,
    MemoryRefused,
    ProposalRejected,
)
from memorist.hooks.hook_event import Client
from memorist.safety.hidden_characters import strip_hidden_characters
from memorist.safety.secrets import redact

NOTICE_EVENTS = ("SessionStart", "UserPromptSubmit", "Stop")
"""Events at which both clients show a hook's `systemMessage` to the user.
"""
MAX_NOTICE_CHARS = 240
"""Characters of a notice: two lines of a terminal. Our choice."""
_MAX_QUOTED_CHARS = 90
_FORGETTING = ("forget", "forgets")
_FORGET_ALL = "memorist memory forget --all"
_INBOX_WAY = "type: memorist memory inbox"
"""A prompt that shows what waits, in the client as in a terminal."""
_DECIDING = "type: memorist memory inbox accept 1 (or reject 1)"
MAX_LISTED_CHANGES = 12
"""Waiting changes that a notice lists. Our choice."""
_MIN_LISTED_CHARS = 60


def render_memory_notice(events: Sequence[Event]) -> str:
    """Say in one line what became of memory; empty where nothing did."""
    changed = [
        _name_accepted(each) for each in events if isinstance(each, MemoryChanged) and each.paths
    ]
    waiting = {each.proposal: each for each in events if isinstance(each, MemoryNeedsReview)}
    refused = [each.reasons[0] for each in _select_failed_writes(events)]
    parts = list(dict.fromkeys(map(_describe_change, changed)))
    parts += [
        f"rejected “{shorten_to_one_line(each.text, _MAX_QUOTED_CHARS)}”"
        for each in events
        if isinstance(each, ProposalRejected)
    ]
    parts += [_describe_missing(each) for each in events if isinstance(each, ForgetTargetNotFound)]
    parts += [f"nothing changed: {reason}" for reason in dict.fromkeys(refused)]
    ways = ["memorist memory undo" if len(changed) == 1 else "memorist memory log"]
    if not changed:
        ways = []
    if waiting:
        parts.append(_describe_waiting(waiting))
        ways.append(_INBOX_WAY)
    if not parts:
        return ""
    room = MAX_NOTICE_CHARS - sum(len(way) + 3 for way in ways)
    line = shorten_to_one_line("memorist: " + ", ".join(parts), room)
    return strip_hidden_characters(" · ".join([line, *ways]))


def _describe_waiting(waiting: Mapping[str, MemoryNeedsReview]) -> str:
    if len(waiting) > 1:
        return f"{len(waiting)} wait for you"
    (one,) = waiting.values()
    if not one.text:
        return "1 waits for you"
    yes = "yes to forget" if one.is_removal else "yes:"
    return f"waits for your {yes} “{shorten_to_one_line(one.text, _MAX_QUOTED_CHARS)}”"


def _describe_missing(missing: ForgetTargetNotFound) -> str:
    """Say that a "forget" found nothing."""
    asked = missing.asked.strip(" .!。！")
    if not asked:
        return "forgot nothing: your message before stated nothing (memorist memory undo)"
    if is_about_everything(asked):
        return f"forgot nothing yet: all memories of this project? Then run: {_FORGET_ALL}"
    if asks_to_forget_all_about_user(asked):
        return "nothing about you is remembered"
    quoted = f"“{shorten_to_one_line(asked, _MAX_QUOTED_CHARS)}”"
    if missing.path:
        path = shlex.quote(missing.path)
        return f"forgot nothing yet: is {path} meant? Then run: memorist memory forget {path}"
    if missing.is_unclear:
        return f"forgot nothing: which memory is meant by {quoted}? (memorist memory list)"
    return f"nothing about {quoted} is remembered"


def render_inbox_notice(texts: Sequence[str]) -> str:
    """List what waits, by number, with the prompt that decides on it."""
    if not texts:
        return "memorist: nothing waits for you"
    room = max(_MIN_LISTED_CHARS, MAX_NOTICE_CHARS // len(texts))
    listed = [
        f"{number} “{shorten_to_one_line(redact(text).text, room)}”"
        for number, text in enumerate(texts[:MAX_LISTED_CHANGES], 1)
    ]
    rest = [f"{len(texts) - MAX_LISTED_CHANGES} more"] if len(texts) > MAX_LISTED_CHANGES else []
    line = " · ".join(["memorist: waiting for you", *listed, *rest, _DECIDING])
    return strip_hidden_characters(line)


def _select_failed_writes(events: Sequence[Event]) -> list[MemoryRefused]:
    """What the disk refused; what the gate refused names a memory."""
    return [each for each in events if isinstance(each, MemoryRefused) and not each.path]


def render_waiting_notice(count: int) -> str:
    """Say at the start of a session what waits in the inbox; empty where nothing does."""
    if not count:
        return ""
    waits = "1 memory waits" if count == 1 else f"{count:,} memories wait"
    return f"memorist: {waits} for your yes or no · {_INBOX_WAY}"


def render_moved_project_notice(former: str) -> str:
    """Say at the start of a session which memory may be this project's; empty for none."""
    return f"memorist: {former}" if former else ""


def render_memories_not_shown_notice(why: str) -> str:
    """Say at the start of a session why it is shown no memories; empty for nothing."""
    return f"memorist: no memories are shown: {why}" if why else ""


def render_unsaved_session_notice(why: str) -> str:
    """Say at the start of a session that nothing of it is kept; empty where it is."""
    return f"memorist: nothing of this session is kept: {why}" if why else ""


def _name_accepted(change: MemoryChanged) -> MemoryChanged:
    """A change that the user accepted as the one that waited, in its words."""
    if change.actor != "inbox":
        return change
    return replace(change, actor="said", what=change.what.partition(": ")[2])


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
