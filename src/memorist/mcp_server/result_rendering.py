"""Render results for a client: bounded, labelled as data, with a mark where text was cut.

Pure (SF-3).
"""

from __future__ import annotations

from collections.abc import Sequence

from memorist.auto_memory.memory_changes import RecordedChange
from memorist.auto_memory.memory_file import MemoryFile
from memorist.auto_memory.write_result import WriteResult
from memorist.core.text_encoding import replace_surrogates
from memorist.core.utc_time import format_utc_minute
from memorist.recall.memory_selection import MemoryMatch, SelectedMemory
from memorist.safety.hidden_characters import strip_hidden_characters
from memorist.safety.markup_sanitizer import neutralize_markup
from memorist.safety.secrets import redact
from memorist.store.memory_uses import MemoryUse

MAX_ANSWER_CHARS = 20_000
"""Characters of the longest answer: about 5,000 tokens in English, half of where Codex cuts a
tool's output (Codex, 10,000 tokens).
"""
RESERVED_FRAME_CHARS = 2_000
"""Characters of an answer that are reserved for the text around the data."""


def sanitize_for_model(text: str) -> str:
    """Sanitize data of a file or transcript for a model: no hidden characters, secrets or host
    markup.
    """
    return neutralize_markup(redact(strip_hidden_characters(replace_surrogates(text))).text)


def cut_text_page(
    text: str, start: int = 0, limit: int = MAX_ANSWER_CHARS - RESERVED_FRAME_CHARS
) -> str:
    """Return the part of a text from the character `start` on, at most `limit` characters, with
    marks that say what is missing and how to read on.
    """
    end = min(len(text), start + limit)
    if start >= len(text) > 0:
        return f"(nothing: the text has {len(text):,} characters, and start is {start:,})"
    before = f"(from character {start:,} on)\n" if start else ""
    after = (
        f"\n(cut: characters {start:,} to {end:,} of {len(text):,}; read on with start = {end})"
        if end < len(text)
        else ""
    )
    return f"{before}{text[start:end]}{after}"


def cut_to_answer_limit(text: str) -> str:
    """Cut a text to the limit of an answer."""
    if len(text) <= MAX_ANSWER_CHARS:
        return text
    mark = f"\n(cut: the answer has {len(text):,} characters)"
    return text[: MAX_ANSWER_CHARS - len(mark)] + mark


def to_safe_line(text: str, limit: int = 200) -> str:
    """Sanitize data and put it on one line of at most `limit` characters."""
    flat = " ".join(sanitize_for_model(text).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


FORGOTTEN = "forgotten"
"""How a removal is named."""


def render_write_result(written: WriteResult, done: str) -> str:
    """Render the result of a change for the agent: what was written, what waits for the user and
    why, what was refused.
    """
    lines = [f"{done}: {path}" for path in written.paths]
    lines += [f"  {remark}" for remark in written.remarks]
    if done == FORGOTTEN and written.change_id:
        lines.append(
            f"  The user takes it back with: memorist memory undo {written.change_id[:12]}"
        )
    for waiting in written.proposals:
        lines.append(f"waits for the user: {waiting.path} ({'; '.join(waiting.reasons)})")
        lines.append(
            f"  Tell the user. They accept it with: memorist memory inbox accept {waiting.id}"
        )
    lines += [
        f"refused: {refused.path}: {'; '.join(refused.reasons)}" for refused in written.refused
    ]
    return "\n".join(lines) or "nothing changed: memory says so already"


# Explain a memory to a client: its origin, its changes, when and why it was shown, and whether a
# message would recall it. Pure (RC-5).


MAX_LISTED_EVENTS = 10
"""Newest changes and uses that are listed."""


def render_memory_origin(topic: MemoryFile) -> list[str]:
    """Render a memory's provenance."""
    found = topic.provenance
    facts = {
        "origin": str(found.trust),
        "session": found.session,
        "messages": ", ".join(found.messages[:5]),
        "words of the user": found.quote,
        "made": found.created,
        "last checked": found.verified,
        "status": found.status,
    }
    return [f"{name}: {to_safe_line(value)}" for name, value in facts.items() if value]


def render_memory_history(changes: Sequence[RecordedChange]) -> list[str]:
    """Render the newest changes of a memory."""
    lines = [
        f"{format_utc_minute(each.at)}  {each.why.actor}: {to_safe_line(each.why.what)}  "
        f"({each.id[:8]})"
        for each in changes[:MAX_LISTED_EVENTS]
    ]
    return lines or ["(the history knows no change of it)"]


def render_memory_uses(uses: Sequence[MemoryUse]) -> list[str]:
    """Render the newest uses of a memory."""
    lines = []
    for use in list(reversed(uses))[:MAX_LISTED_EVENTS]:
        why = f"  {to_safe_line(use.why)}" if use.why else ""
        lines.append(
            f"{format_utc_minute(use.at)}  {use.what}, session {to_safe_line(use.session, 80)}{why}"
        )
    return lines or ["(never)"]


def render_memory_recall_explanation(
    path: str,
    matches: Sequence[MemoryMatch],
    picks: Sequence[SelectedMemory],
    doubts: Sequence[str],
) -> str:
    """Explain whether a message would recall the memory, and why."""
    pick = next((each for each in picks if each.path == path), None)
    match = next((each for each in matches if each.path == path), None)
    if doubts:
        return f"no: it is withheld ({'; '.join(doubts)})"
    if pick is not None:
        return f"yes, {picks.index(pick) + 1} of {len(picks)}: {to_safe_line(pick.why)}"
    if match is None:
        return "no: no word of the message stands in it"
    return (
        f"no: too little in common, or others come before it "
        f"({to_safe_line(match.why) or 'no word'})"
    )
