"""`memorist memory import`, killed with signal 9 at any of its steps, and asked again."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from cli.test_memory import Shell, shell
from support.sweeps import sampled

__all__ = ["shell"]

KILLED = textwrap.dedent("""
    import os, signal, sys
    steps = 0
    def counted(plain):
        def wrapped(*given, **named):
            global steps
            steps += 1
            if steps == int(sys.argv[1]):
                os.kill(os.getpid(), signal.SIGKILL)
            return plain(*given, **named)
        return wrapped
    os.link, os.fsync, os.unlink = counted(os.link), counted(os.fsync), counted(os.unlink)
    from memorist.cli.main import memorist_group
    memorist_group(["memory", "import", sys.argv[2], "--yes"])
""")
"""Each durable write is two or three of these steps: the bytes, the name, the end of what was
temporary.
"""


def instructions(folder: Path) -> Path:
    file = folder / "AGENTS.md"
    file.write_text(
        "## Memories\n\n"
        + "".join(f"- Build number {number} uses compiler {number + 40}.\n" for number in range(6)),
        "utf-8",
    )
    return file


@pytest.mark.covers("AM-13", "SF-5", "AM-10")
@pytest.mark.parametrize("step", sampled([1, 4, 6, 10, 16, 22], {4, 16}))
def test_an_import_that_is_killed_is_finished_by_the_next(
    shell: Shell, tmp_path: Path, step: int
) -> None:
    """What stood there stays, every file is whole and recorded as an import, and the second import
    brings the rest, each memory once.
    """
    mine = shell.add("Never deploy on a Friday afternoon")
    source = instructions(tmp_path)

    died = subprocess.run(
        [sys.executable, "-c", KILLED, str(step), str(source)],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert died.returncode == -signal.SIGKILL, died.stderr.decode()

    half = [row["path"] for row in shell.json("memory", "list")["memories"]]
    assert mine in half
    assert all((shell.folder / path).read_bytes().endswith(b"\n") for path in half)
    done = shell("memory", "import", str(source), "--yes")
    assert done.exit_code in (0, 1), done.output

    paths = [row["path"] for row in shell.json("memory", "list")["memories"]]
    texts = [(shell.folder / path).read_text("utf-8") for path in paths]
    for number in range(6):
        assert sum(f"Build number {number} uses" in text for text in texts) == 1
    assert len(paths) == 7
    logged = shell.json("memory", "log")
    actors = {
        change["actor"]
        for change in logged["changes"]
        if any(path not in (mine, "MEMORY.md") for path in change["paths"])
    }
    assert actors == {"import"}
