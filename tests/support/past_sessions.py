"""Recorded sessions of a made-up project, to index and search."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from memorist.store.rollout_rows import Rollout


def write_session(folder: Path, id: str, turns: Sequence[tuple[str, str]], day: int = 1) -> Rollout:
    """A Claude Code session of these exchanges, in the project `/p`."""
    path = folder / f"{id}.jsonl"
    rows: list[dict[str, object]] = []
    for at, (said, answered) in enumerate(turns):
        for role, text in (("user", said), ("assistant", answered)):
            content = text if role == "user" else [{"type": "text", "text": text}]
            rows.append(
                {
                    "type": role,
                    "uuid": f"{id}-{at}-{role}",
                    "parentUuid": rows[-1]["uuid"] if rows else None,
                    "sessionId": id,
                    "cwd": "/p",
                    "timestamp": f"2026-11-{day:02d}T10:{at:02d}:00Z",
                    "message": {"id": f"{id}-m{at}", "role": role, "content": content},
                }
            )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    facts = path.stat()
    return Rollout(
        id=id,
        path=str(path),
        format="claude_code",
        size=facts.st_size,
        modified_ns=facts.st_mtime_ns,
        updated=day,
        repository="/p",
    )


ROUNDING = (
    (
        "Invoice totals are off by a cent. How do we round the VAT of each line?",
        "I would round the sum half up.",
    ),
    ("No: bankers rounding, per line, never on the invoice total.", "Done, per line."),
)
TALK = (("The layout of the settings page is broken on small screens", "I made the grid wrap."),)
