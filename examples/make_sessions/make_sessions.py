"""Make the sample sessions anew.

    python examples/make_sessions/make_sessions.py --codex PATH --out examples/sessions

Without --codex only the session of the agent loop is made. Nothing leaves this machine: the model
is a script on the loopback.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path

from cleaning import clean_rollout, places, with_places
from codex_session import run_codex
from loop_session import run_loop

LOOP_NAME = "agent-loop-log-rotation.jsonl"
CODEX_NAME = "codex-invoice-rounding.jsonl"


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Make the sample sessions.")
    parser.add_argument(
        "--codex",
        type=Path,
        help="the Codex CLI's program; without it the Codex session is left as it is",
    )
    parser.add_argument("--out", type=Path, default=Path("examples/sessions"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="sessions-") as folder:
        scratch = Path(folder)
        made = {LOOP_NAME: loop_sample(scratch / "loop")}
        if given.codex is not None:
            made[CODEX_NAME] = codex_sample(given.codex, scratch / "codex")
    for name, text in made.items():
        (given.out / name).write_text(text, encoding="utf-8")
        print(
            f"{given.out / name}: {len(text.splitlines())} lines, {len(text.encode()) // 1024} KB"
        )


def loop_sample(scratch: Path) -> str:
    """The agent loop's session, cleaned."""
    scratch.mkdir(parents=True)
    transcript = asyncio.run(run_loop(scratch))
    return with_places(transcript.read_text(encoding="utf-8"), places(scratch))


def codex_sample(program: Path, scratch: Path) -> str:
    """The Codex session, cleaned."""
    scratch.mkdir(parents=True)
    return clean_rollout(run_codex(program, scratch), scratch)


if __name__ == "__main__":
    main()
