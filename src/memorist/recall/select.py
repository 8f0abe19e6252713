"""Selection of memories by a model: its prompt, and the parsing of its answer (RC-2). Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import msgspec

from memorist.auto_memory.manifest import Head, manifest
from memorist.core.template import render
from memorist.core.truncate import cut_middle

OUTPUT_TOKENS = 256
"""Longest answer (claude-code.md section 7.6)."""
QUERY_TOKENS = 2_000
"""Longest part of the user's message that the selection is made from."""
_OBJECT = re.compile(r"\{[^{}]*\}")


def question(text: str, heads: Sequence[Head], *, query: str, tools: Sequence[str], limit: int, scan_files: int) -> str:
    """Render the prompt from its template."""
    used = f"The assistant has just used these tools: {', '.join(tools)}.\n" if tools else ""
    values = {
        "limit": str(limit),
        "manifest": manifest(heads, limit=scan_files),
        "query": cut_middle(query, QUERY_TOKENS),
        "tools": used,
    }
    return render(text, values, strict=True)


def chosen(answer: str, allowed: Collection[str], limit: int) -> tuple[str, ...]:
    """Parse the selected names that are in `allowed`, each once, at most `limit`.

    None where the answer contains no such JSON object.
    """
    for match in _OBJECT.finditer(answer):
        try:
            found = msgspec.json.decode(match[0])
        except msgspec.DecodeError:
            continue
        names = found.get("selected_memories") if isinstance(found, dict) else None
        if isinstance(names, list):
            known = [name for name in names if isinstance(name, str) and name in allowed]
            return tuple(dict.fromkeys(known))[:limit]
    return ()
