"""A memory folder that cannot be written: on a file system mounted read-only, since permissions do
not stop root.
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from auto_memory.conftest import memory
from engine.test_memory import project
from memorist.auto_memory.memory_changes import ChangeReason
from memorist.auto_memory.memory_file import MemoryKind
from memorist.engine.engine import Memorist
from support.sweeps import sampled

__all__ = ["project"]

PROGRAM = textwrap.dedent("""
    import asyncio, json, sys
    from memorist.engine.engine import Memorist
    from memorist.errors import StoreError
    from memorist.auto_memory.memory_file import MemoryKind

    home, project = sys.argv[1:]

    async def main():
        told, events = {}, []
        async with Memorist(model="structural", home=home) as engine:
            memory = engine.memory(project)
            told["heads"] = [head.path for head in memory.headers()]
            session = await engine.open("one", project=project, listener=events.append)
            messages = [{"role": "user", "content": "How do we oil the frobnicator of the mill?"}]
            sent = await session.prepare({"model": "m", "max_tokens": 1000, "messages": messages})
            told["sent"] = json.dumps(sent["messages"])
            messages += [{"role": "assistant", "content": "Done."}]
            messages += [{"role": "user", "content": "Remember that the staging database runs on port 5433."}]
            await session.prepare({"model": "m", "max_tokens": 1000, "messages": messages})
            await session.close()
            told["refused"] = [reason for event in events if type(event).__name__ == "MemoryRefused" for reason in event.reasons]
            try:
                memory.add("Use pnpm", kind=MemoryKind.FEEDBACK, name="pnpm", description="pnpm")
            except StoreError as error:
                told["error"] = str(error)
        print(json.dumps(told))

    asyncio.run(main())
""")


def run_read_only(folder: Path, *words: str) -> str:
    """What a Python program printed, with the folder mounted read-only for it alone."""
    mount = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"'
    command = ["unshare", "-rm", "sh", "-c", mount, "sh", str(folder), sys.executable, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert not done.stderr, done.stderr
    return done.stdout


def mounts_here(tmp_path: Path) -> bool:
    """Whether this machine lets a program mount something in a namespace of its own."""
    (tmp_path / "try").mkdir()
    command = ["unshare", "-rm", "mount", "--bind", str(tmp_path / "try"), str(tmp_path / "try")]
    try:
        return subprocess.run(command, capture_output=True, timeout=30, check=False).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.covers("SF-5", "RC-1", "AM-10")
@pytest.mark.parametrize("known", sampled([True, False], {False}))
async def test_a_read_only_folder_is_read_and_recalled_and_says_why_nothing_is_written(
    tmp_path: Path, project: Path, *, known: bool
) -> None:
    """Index and recall as ever, also where nobody looked at the folder before; a write gives one
    clear error, and no file is other than it was.
    """
    if not mounts_here(tmp_path):
        pytest.skip(
            "this machine allows no mounts in a user namespace (unshare -rm), and root heeds "
            "no permissions"
        )
    async with Memorist(model="structural", home=tmp_path / "home") as engine:
        where = engine.memory(str(project)).layout
        where.folder.mkdir(parents=True)
        (where.folder / "frobnicator.md").write_bytes(
            memory("frobnicator", "The frobnicator of the mill takes linseed oil.")
        )
        (where.folder / "other.md").write_bytes(memory("other", "The loom is blue."))
        if known:
            engine.memory(str(project)).headers()
    before = {path.name: path.read_bytes() for path in where.folder.iterdir()}

    printed = run_read_only(where.folder, "-c", PROGRAM, str(tmp_path / "home"), str(project))

    told: dict[str, Any] = json.loads(printed)

    assert told["heads"] == ["frobnicator.md", "other.md"]
    assert "What earlier sessions" in told["sent"]
    assert "linseed" in told["sent"]
    assert "read-only" in told["error"]
    assert len(told["refused"]) == 1
    assert "read-only" in told["refused"][0]
    assert {path.name: path.read_bytes() for path in where.folder.iterdir()} == before
    async with Memorist(model="structural", home=tmp_path / "home") as engine:
        again = engine.memory(str(project))
        assert [head.path for head in again.headers()] == ["frobnicator.md", "other.md"]
        again.forget(["other.md"], ChangeReason(actor="user", what="forget"))
        assert (
            where.folder / "MEMORY.md"
        ).read_text() == "- [frobnicator](frobnicator.md) — about frobnicator\n"


@pytest.mark.covers("SF-5")
async def test_doctor_says_once_that_a_home_is_read_only(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Databases and locks that nobody can write are no damage, and nobody holds them."""
    if not mounts_here(tmp_path):
        pytest.skip(
            "this machine allows no mounts in a user namespace (unshare -rm), and root heeds "
            "no permissions"
        )
    home = tmp_path / "home"
    async with Memorist(model="structural", home=home) as engine:
        memory = engine.memory(str(project))
        memory.add("Use pnpm", kind=MemoryKind.FEEDBACK, name="pnpm", description="pnpm")
        session = await engine.open("one", project=str(project))
        messages = [{"role": "user", "content": "What do we use to install packages?"}]
        await session.prepare({"model": "m", "max_tokens": 1000, "messages": messages})
    monkeypatch.setenv("MEMORIST_HOME", str(home))
    monkeypatch.chdir(project)

    wrong = [
        line
        for line in run_read_only(home, "-m", "memorist", "doctor").splitlines()
        if line.startswith("WRONG")
    ]

    assert wrong == [f"WRONG  {home} cannot be written"]
