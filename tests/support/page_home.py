"""A home with sessions, memories, an inbox and a dream, for the tests of the page."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from pathlib import Path

from memorist.auto_memory.changes import ChangeReason, MemoryChange
from memorist.auto_memory.memory import AutoMemory
from memorist.auto_memory.topic import MemoryKind
from memorist.cli.search import sync_session_index
from memorist.engine.engine import Memorist

LONG = "11111111-aaaa-4bbb-8ccc-000000000001"
"""The session of 34 turns that decided on PostgreSQL."""
HOSTILE = "<img src=https://evil.example/p.png onerror=alert(1)> \u202egnp.exe https://evil.example"


def write_long_session(folder: Path, cwd: str) -> Path:
    """A Claude Code session of 34 turns with usage, in which a decision falls at turn 30."""
    rows: list[dict[str, object]] = []
    for turn in range(34):
        said = f"Please look at module {turn} and tell me what it does."
        answer = f"Module {turn} reads the orders and writes a report."
        if turn == 5:
            said = HOSTILE
        if turn == 29:
            said = "Which database do we take? I want PostgreSQL, not SQLite, for the orders."
            answer = "Agreed: PostgreSQL it is."
        usage = {
            "input_tokens": 400,
            "cache_read_input_tokens": 0 if turn == 20 else 3_000 + turn * 900,
            "cache_creation_input_tokens": 900,
            "output_tokens": 120 + turn,
        }
        for role, text in (("user", said), ("assistant", answer)):
            message: dict[str, object] = {"id": f"m{turn}", "role": role, "content": text}
            if role == "assistant":
                message |= {
                    "content": [{"type": "text", "text": text}],
                    "model": "claude-sonnet-4-5",
                    "usage": usage,
                }
            rows.append(
                {
                    "type": role,
                    "uuid": f"{LONG}-{turn}-{role}",
                    "parentUuid": rows[-1]["uuid"] if rows else None,
                    "sessionId": LONG,
                    "cwd": cwd,
                    "timestamp": f"2026-11-20T10:{turn:02d}:00Z",
                    "message": message,
                }
            )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{LONG}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def make_home(project: Path) -> None:
    """Fill the home of the environment and the project with what each view shows."""
    (project / ".git").mkdir(parents=True, exist_ok=True)
    folder = Path(os.environ["HOME"]) / ".claude" / "projects" / "-p"
    write_long_session(folder, str(project))
    engine = Memorist(model="structural")
    memory = engine.memory(str(project))
    _write_memories(memory)
    asyncio.run(engine.close())
    sync_session_index(everywhere=True).close()


def _write_memories(memory: AutoMemory) -> None:
    memory.folder.apply_changes(
        [_topic("use-npm.md", "feedback", "Use npm, never yarn, to install packages")],
        ChangeReason(
            actor="said",
            what="remember: use npm",
            session=LONG,
            messages=("m3",),
            quote="always use npm here",
        ),
    )
    memory.add(
        "Deploys go out on Thursdays.\n",
        kind=MemoryKind.PROJECT,
        name="deploys",
        description="Deploys go out on Thursdays",
    )
    memory.add(
        f"{HOSTILE}\n", kind=MemoryKind.REFERENCE, name="hostile", description=f"About {HOSTILE}"
    )
    memory.propose(
        [
            _topic(f"codex-{number}.md", "project", f"The service {number} listens on 80{number}")
            for number in range(3)
        ],
        ChangeReason(actor="import", what="import from Codex", quote=f"it listens {HOSTILE}"),
        "it comes from another agent",
    )
    memory.folder.apply_changes(
        [_topic("merged.md", "project", "Tests run with make test before each push")],
        ChangeReason(actor="dream", what="dream: brought two together"),
    )


def _topic(path: str, kind: str, text: str) -> MemoryChange:
    body = f"---\nname: {path[:-3]}\ndescription: {text}\ntype: {kind}\n---\n\n{text}.\n"
    return MemoryChange(path=path, before=None, after=body.encode())


def add_many_sessions(count: int) -> None:
    """Put this many past sessions into the database of the home."""
    path = Path(os.environ["MEMORIST_HOME"]) / "state.sqlite"
    with sqlite3.connect(path) as database:
        columns = [row[1] for row in database.execute("pragma table_info(rollouts)")]
        sample = database.execute("select * from rollouts limit 1").fetchone()
        row = dict(zip(columns, sample, strict=True))
        marks = ",".join("?" * len(columns))
        database.executemany(
            f"insert into rollouts ({','.join(columns)}) values ({marks})",  # noqa: S608
            [tuple((row | _numbered(row, number)).values()) for number in range(count)],
        )


def _numbered(row: dict[str, object], number: int) -> dict[str, object]:
    known = {"id", "path", "first_words"} & row.keys()
    return {name: f"{row[name]}-{number}" for name in known}
