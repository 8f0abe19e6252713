"""The measurement of the notes as a table (see `memorist.bench.notes` for how it is made)."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from memorist.bench import notes
from memorist.bench.result import Result, Row

LIMIT = 3_000
"""Tokens that the notes may have at most."""


def measure(data: Path) -> Result:
    """How much of the reference summaries the structural notes hold, beside plain baselines."""
    if not (data / "references" / "summaries.jsonl").exists():
        return Result("notes", absent=f"no reference summaries below {data}")
    if importlib.util.find_spec("quicktok") is None:
        return Result("notes", absent="the tokenizer quicktok-v1 is not installed (make bench installs it)")
    found = notes.measure(data)
    rows = []
    for name, recall in found.means.items():
        ours = name == "notes"
        rows += [
            Row(
                f"{name}: identifiers",
                recall.identifiers,
                "",
                _goal(notes.IDENTIFIER_GOAL, ours),
                _met(recall.identifiers >= notes.IDENTIFIER_GOAL, ours),
            ),
            Row(f"{name}: content words", recall.words, "", _goal(notes.WORD_GOAL, ours), _met(recall.words >= notes.WORD_GOAL, ours)),
            Row(f"{name}: size", recall.tokens, "tokens (o200k), mean"),
        ]
    largest = max(session.by_method["notes"].tokens for session in found.sessions)
    rows.append(Row("notes: largest", largest, "tokens", f"at most {LIMIT:,}", largest <= LIMIT))
    return Result("notes", tuple(rows))


def _goal(value: float, ours: bool) -> str:
    return f"at least {value}" if ours else ""


def _met(is_met: bool, ours: bool) -> bool | None:
    return is_met if ours else None
