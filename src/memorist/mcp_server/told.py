"""Render results for a client: bounded, labelled as data, with a mark where text was cut.

Pure (SF-3).
"""

from __future__ import annotations

from memorist.auto_memory.run import Written
from memorist.mcp_server.asked import sound
from memorist.safety.data import neutralise
from memorist.safety.hidden import visible
from memorist.safety.secrets import redact

ANSWER = 20_000
"""Characters of the longest answer: about 5,000 tokens in English, half of where Codex cuts a
tool's output (codex.md, 10,000 tokens).
"""
FRAME = 2_000
"""Characters of an answer that are reserved for the text around the data."""


def harmless(text: str) -> str:
    """Sanitize data of a file or transcript for a model: no hidden characters, secrets or host
    markup.
    """
    return neutralise(redact(visible(sound(text))).text)


def page(text: str, start: int = 0, limit: int = ANSWER - FRAME) -> str:
    """Return the part of a text from the character `start` on, at most `limit` characters, with
    marks that say what is missing and how to read on.
    """
    end = min(len(text), start + limit)
    if start >= len(text) > 0:
        return f"(nothing: the text has {len(text):,} characters, and start is {start:,})"
    before = f"(from character {start:,} on)\n" if start else ""
    after = f"\n(cut: characters {start:,} to {end:,} of {len(text):,}; read on with start = {end})" if end < len(text) else ""
    return f"{before}{text[start:end]}{after}"


def bounded(text: str) -> str:
    """Cut a text to the limit of an answer."""
    if len(text) <= ANSWER:
        return text
    mark = f"\n(cut: the answer has {len(text):,} characters)"
    return text[: ANSWER - len(mark)] + mark


def one_line(text: str, limit: int = 200) -> str:
    """Sanitize data and put it on one line of at most `limit` characters."""
    flat = " ".join(harmless(text).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def outcome(written: Written, done: str) -> str:
    """Render the result of a change for the agent: what was written, what waits for the user and
    why, what was refused.
    """
    lines = [f"{done}: {path}" for path in written.paths]
    lines += [f"  {remark}" for remark in written.remarks]
    for waiting in written.waiting:
        lines.append(f"waits for the user: {waiting.path} ({'; '.join(waiting.reasons)})")
        lines.append(f"  Tell the user. They accept it with: memorist memory inbox accept {waiting.id}")
    lines += [f"refused: {refused.path}: {'; '.join(refused.reasons)}" for refused in written.refused]
    return "\n".join(lines) or "nothing changed: memory says so already"
