"""A home with sessions, memories, an inbox and a dream, for the tests of the page."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.memory_changes import ChangeReason, MemoryChange
from memorist.auto_memory.memory_file import MemoryKind
from memorist.cli.search_command import open_synced_session_index
from memorist.core.messages import Usage
from memorist.engine.engine import Memorist
from memorist.forks.fork_spec import ForkOutcome, Receipt
from memorist.rollouts.raw_memory import (
    MemoryBullet,
    RawMemory,
    RawMemoryTask,
    render_session_raw_memory,
)
from memorist.store.extract_rows import RolloutExtract, save_extract_if_newest
from memorist.store.memory_uses import MemoryUse, record_memory_uses
from memorist.store.receipt_rows import record_receipt
from memorist.store.rollout_rows import Rollout, save_rollouts
from memorist.store.sqlite_database import open_database
from memorist.store.state_database import SqliteStateDatabase
from memorist.system import SystemClock

LONG = "11111111-aaaa-4bbb-8ccc-000000000001"
"""The session of 34 turns that decided on PostgreSQL."""
KEY = "sk-ant-api03-" + "aB3" * 30
HOSTILE = "<img src=https://evil.example/p.png onerror=alert(1)> \u202egnp.exe https://evil.example"


def write_long_session(folder: Path, cwd: str) -> Path:
    """A Claude Code session of 34 turns with usage, in which a decision falls at turn 30."""
    rows: list[dict[str, object]] = []
    for turn in range(34):
        said = f"Please look at module {turn} and tell me what it does."
        answer = f"Module {turn} reads the orders and writes a report."
        if turn == 5:
            said = f"{HOSTILE} {KEY}"
        if turn == 29:
            said = "Which database do we take? I want PostgreSQL, not SQLite, for the orders."
            answer = "Agreed: PostgreSQL it is."
        usage = {
            "input_tokens": 400,
            "cache_read_input_tokens": 0 if turn == 20 else 3_000 + turn * 900,
            "cache_creation_input_tokens": 900,
            "output_tokens": 120 + turn,
        }
        content: object = [{"type": "text", "text": answer}]
        rows.append(_row(rows, cwd, turn, {"role": "user", "content": said}))
        rows.append(_row(rows, cwd, turn, {"role": "assistant", "content": content} | _call(usage)))
    for answer, wrong in (("Exit code 1\nE   assert 2 == 3", True), ("4 passed", False)):
        id = f"call-{len(rows)}"
        use = {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "pytest -q"}}
        result = {"type": "tool_result", "tool_use_id": id, "content": answer, "is_error": wrong}
        rows.append(_row(rows, cwd, 33, {"role": "assistant", "content": [use]}))
        rows.append(_row(rows, cwd, 33, {"role": "user", "content": [result]}))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{LONG}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def _call(usage: dict[str, int]) -> dict[str, object]:
    return {"model": "claude-sonnet-4-5", "usage": usage}


def _row(
    rows: list[dict[str, object]], cwd: str, minute: int, message: dict[str, object]
) -> dict[str, object]:
    return {
        "type": message["role"],
        "uuid": f"{LONG}-{len(rows)}",
        "parentUuid": rows[-1]["uuid"] if rows else None,
        "sessionId": LONG,
        "cwd": cwd,
        "timestamp": f"2026-11-20T10:{minute:02d}:00Z",
        "message": {"id": f"m{len(rows)}", **message},
    }


def make_home(project: Path) -> None:
    """Fill the home of the environment and the project with what each view shows."""
    (project / ".git").mkdir(parents=True, exist_ok=True)
    folder = Path(os.environ["HOME"]) / ".claude" / "projects" / "-p"
    write_long_session(folder, str(project))
    engine = Memorist(model="structural")
    memory = engine.memory(str(project))
    _write_memories(memory)
    _record_work(engine, memory)
    asyncio.run(engine.close())
    open_synced_session_index(everywhere=True).close()


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
    memory.add_proposals(
        [
            _topic(f"codex-{number}.md", "project", f"The service {number} listens on 80{number}")
            for number in range(3)
        ],
        ChangeReason(
            actor="import", what="import from Codex", quote=f"it listens {HOSTILE} with {KEY}"
        ),
        "it comes from another agent",
    )
    memory.folder.apply_changes(
        [_topic("merged.md", "project", "Tests run with make test before each push")],
        ChangeReason(actor="dream", what="dream: brought two together"),
    )


def _record_work(engine: Memorist, memory: AutoMemory) -> None:
    """A fork that kept the notes of the long session, a memory that it was shown, and what was
    extracted of it.
    """
    database = engine.database()
    receipt = Receipt(
        label="session_memory",
        why="the context grew by 5,000 tokens",
        model="anthropic:claude-haiku-4-5",
        started=1_795_170_000.0,
        requests=2,
        usage=Usage(input=900, cache_read=21_000, output=400),
        cost_usd=0.004,
        outcome=ForkOutcome.CHANGED,
        said="The notes are up to date.",
    )
    record_receipt(database, LONG, receipt)
    use = MemoryUse(
        path="use-npm.md", what="shown", session=LONG, at=1_795_170_000.0, why="npm, install"
    )
    record_memory_uses(database, str(memory.layout.folder), [use])
    task = RawMemoryTask(
        name="Choose a database",
        outcome="success",
        knowledge=(MemoryBullet(text="Orders go to PostgreSQL", evidence="line 59"),),
        failures=(MemoryBullet(text="`pytest -q` failed, and passed after a change of `sum`"),),
    )
    extract = RolloutExtract(
        thread=LONG,
        updated=1,
        generated=1,
        raw_memory=render_session_raw_memory(
            RawMemory(description="PostgreSQL for the orders", outcome="success", tasks=(task,))
        ),
        rollout_summary=f"Which database? {HOSTILE}",
    )
    save_extract_if_newest(SqliteStateDatabase(database, SystemClock().now), extract)


def _topic(path: str, kind: str, text: str) -> MemoryChange:
    body = f"---\nname: {path[:-3]}\ndescription: {text}\ntype: {kind}\n---\n\n{text}.\n"
    return MemoryChange(path=path, before=None, after=body.encode())


def add_many_sessions(count: int) -> None:
    """Put this many past sessions into the database of the home."""
    database = open_database(Path(os.environ["MEMORIST_HOME"]) / "state.sqlite")
    save_rollouts(
        SqliteStateDatabase(database, SystemClock().now),
        [
            Rollout(
                id=f"{number:08d}-many",
                path=f"/sessions/{number}.jsonl",
                format="codex",
                size=1,
                modified_ns=1,
                updated=1_700_000_000 + number,
                first_words=f"Question number {number} about the orders",
                cwd=f"/p/{number % 40}",
            )
            for number in range(count)
        ],
    )
    database.close()


def add_many_memories(project: Path, count: int) -> None:
    """Give the project this many memories, in one change."""
    engine = Memorist(model="structural")
    engine.memory(str(project)).folder.apply_changes(
        [
            _topic(f"many-{number}.md", "project", f"Service {number} listens on {number}")
            for number in range(count)
        ],
        ChangeReason(actor="import", what="import many"),
    )
    asyncio.run(engine.close())
