"""Kills a consolidation at each of its steps on the disk, one after another, and prints what was
found afterwards; run by test_consolidation_crash.py.

A process of its own: it forks a child for each step, and the child kills itself before that step.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memorist.rollouts.accepted_folder_state import AcceptedFolderState
from memorist.rollouts.rollout_folder import read_memory_folder
from memorist.rollouts.stage_two import ConsolidationResult, update_memory_folder_from_extracts
from memorist.runtime import Runtime
from memorist.settings import Settings
from memorist.store.disk_files import DiskFiles
from memorist.store.extract_rows import StoredExtract
from memorist.testing import FrozenClock
from rollouts.sessions import NOW, TILL, bullet, kept, task

BEFORE = [
    kept("a", task("Mend totals", preferences=[bullet("Use pnpm")])),
    kept("b", task("Round", preferences=[bullet("Round to five cents")]), root=TILL),
]
AFTER = [BEFORE[1], kept("c", task("Ship it", preferences=[bullet("Tag a release")]))]


class Held:
    """A claim that is always held."""

    def __call__(self) -> bool:
        """Alive."""
        return True


def consolidated(home: Path, rows: list[StoredExtract]) -> ConsolidationResult:
    means = Runtime(
        settings=Settings(home=str(home)), files=DiskFiles(durable=False), clock=FrozenClock(NOW)
    )
    return asyncio.run(update_memory_folder_from_extracts(means, rows, Held()))


def kill_before(step: int) -> None:
    """Have this process killed before its so-manieth change of the disk."""
    left = [step]

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*given, **named)

        return call

    for owner, name in (
        (Path, "rename"),
        (Path, "replace"),
        (Path, "unlink"),
        (os, "link"),
        (os, "rename"),
        (os, "rmdir"),
    ):
        setattr(owner, name, counted(getattr(owner, name)))


def state(home: Path) -> dict[str, str]:
    return {
        path: data.decode()
        for path, data in read_memory_folder(DiskFiles(), home / "memories").files.items()
    }


def tried(start: Path, home: Path, step: int) -> dict[str, Any]:
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(start, home)
    child = os.fork()
    if child == 0:
        kill_before(step)
        consolidated(home, AFTER)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    done = consolidated(home, AFTER)
    return {
        "killed": os.WIFSIGNALED(status),
        "files": state(home),
        "accepted": {
            path: data.decode()
            for path, data in AcceptedFolderState(home / "memories-state" / "baseline")
            .read_files()
            .items()
        },
        "remarks": list(done.remarks),
        "again": consolidated(home, AFTER).outcome,
        "beside": sorted(path.name for path in (home / "memories-state").iterdir()),
        "left": sorted(path.name for path in home.rglob("*.tmp")),
    }


def main(home: Path, stride: int) -> None:
    """Print one line of JSON: the state without any kill, and the state after a kill before each
    step, or before one in `stride`.
    """
    start = home / "start"
    consolidated(start, BEFORE)
    clean = home / "clean"
    shutil.copytree(start, clean)
    consolidated(clean, AFTER)
    tries: list[dict[str, Any]] = []
    while not tries or tries[-1]["killed"]:
        tries.append(tried(start, home / "tried", len(tries) * stride))
    sys.stdout.write(json.dumps({"clean": state(clean), "tries": tries}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
