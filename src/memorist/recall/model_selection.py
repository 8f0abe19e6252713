"""Selection of memories by a model: its prompt, and the parsing of its answer (RC-2). Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import msgspec

from memorist.auto_memory.memory_manifest import MemoryHeader, render_manifest
from memorist.core.prompt_templates import render_template
from memorist.core.truncation import truncate_middle
from memorist.safety.markup_sanitizer import neutralize_markup
from memorist.settings import AutoMemorySettings

MAX_ANSWER_TOKENS = 256
"""Longest answer (claude-code.md section 7.6)."""
MAX_QUERY_TOKENS = 2_000
"""Longest part of the user's message that the selection is made from."""
_JSON_OBJECT = re.compile(r"\{[^{}]*\}")


_DATA_TAGS = ("notes", "message")
"""Tags of the data in the prompt, which no text inside may close."""


def render_selection_data(
    template: str,
    headers: Sequence[MemoryHeader],
    *,
    query: str,
    tools: Sequence[str],
    settings: AutoMemorySettings,
) -> str:
    """What the model selects from, for its user message; the rules are in the system message."""
    used = f"The assistant has just used these tools: {', '.join(tools)}.\n\n" if tools else ""
    values = {
        "manifest": neutralize_markup(render_manifest(headers, settings), _DATA_TAGS),
        "query": neutralize_markup(truncate_middle(query, MAX_QUERY_TOKENS), _DATA_TAGS),
        "tools": used,
    }
    return render_template(template, values, strict=True)


def parse_selection(answer: str, allowed: Collection[str], limit: int) -> tuple[str, ...] | None:
    """Parse the selected names that are in `allowed`, each once, at most `limit`; empty where the
    model chose none.

    A mark in front of a name, as the manifest's lines have it, is left out. None for an answer that
    is no choice: without such a JSON object, or with names of which none is known.
    """
    for match in _JSON_OBJECT.finditer(answer):
        try:
            found = msgspec.json.decode(match[0])
        except msgspec.DecodeError:
            continue
        names = found.get("selected_memories") if isinstance(found, dict) else None
        if isinstance(names, list):
            bare = [name.rpartition("] ")[2] for name in names if isinstance(name, str)]
            known = [name for name in bare if name in allowed]
            return tuple(dict.fromkeys(known))[:limit] if known or not names else None
    return None
