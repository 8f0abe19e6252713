"""A sync of two homes in a real process that is killed (SIGKILL) before each thing it does to the
disk or asks of Git.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from machines.test_machines import SECRET, Machine

WHY = "Why: the lock file is pnpm's."


def sync_and_kill(own: Machine, at: int) -> int:
    """Sync in a process of its own that is killed before its n-th step: 0 when it came to its end
    first, -9 when it was killed.
    """
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 1
    try:
        left = at

        def before(owner: Any, name: str) -> None:
            real = getattr(owner, name)

            def counted(*given: Any, **named: Any) -> Any:
                nonlocal left
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(*given, **named)

            setattr(owner, name, counted)

        for name in ("replace", "rename", "link", "unlink", "mkdir", "fsync"):
            before(os, name)
        before(subprocess.Popen, "communicate")
        own.run("machines", "sync")
        status = 0
    finally:
        os._exit(status)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.covers("GO-4")
@pytest.mark.parametrize("kind", ["folder", "git"])
def test_a_kill_before_anything_that_a_sync_does_loses_nothing(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before its n-th step, for each n until it comes to its end: after the next runs both
    machines have what an undisturbed run gives them: merged, new on either side on both, forgotten
    on either side gone.
    """
    place = str(tmp_path / "all" / "place")
    if kind == "folder":
        Path(place).mkdir(parents=True)
    else:
        subprocess.run(["git", "init", "-q", "--bare", place], check=True)
        place = f"git:{place}"
    one = Machine(tmp_path / "all", monkeypatch, "one")
    other = Machine(tmp_path / "all", monkeypatch, "other")
    one.run("memory", "add", "--kind", "project", "--name", "use-pnpm", SECRET)
    one.run("memory", "add", "--kind", "project", "--name", "gone-here", "Deploys go out by hand")
    one.run("memory", "add", "--kind", "project", "--name", "gone-there", "Tests need Docker")
    key = one.run("machines", "init", place).split()[1]
    one.run("machines", "sync")
    other.run("machines", "join", place, "--key", key)
    one.edit("use-pnpm.md", SECRET, f"{SECRET}\n\n{WHY}")
    one.run("memory", "forget", "gone-there.md", "--yes")
    one.run("machines", "sync")
    other.run("memory", "forget", "gone-here.md", "--yes")
    other.run("memory", "add", "--kind", "project", "--name", "release", "Releases on Tuesdays")
    shutil.copytree(tmp_path / "all", tmp_path / "begun", symlinks=True)
    killed, wanted = 0, None
    for at in (10**9, *range(1_000)):
        shutil.rmtree(tmp_path / "all")
        shutil.copytree(tmp_path / "begun", tmp_path / "all", symlinks=True)
        status = sync_and_kill(other, at)
        for machine in (other, one, other):
            machine.run("machines", "sync")
        wanted = wanted or one.texts()
        assert (one.texts(), other.texts()) == (wanted, wanted), at
        if at == 10**9:
            assert status == 0
        elif status == 0:
            break
        else:
            assert status == -signal.SIGKILL
            killed += 1

    assert killed > 10
    assert set(wanted or ()) == {"use-pnpm.md", "release.md"}
    assert WHY in (wanted or {})["use-pnpm.md"]
