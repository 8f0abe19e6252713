"""A memory's first changes in a real process that is killed (SIGKILL) before each thing it does to
the disk.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.sweeps import sampled

SCRIPT = """
import os, signal, sys
from pathlib import Path
from memorist.auto_memory.memory_changes import MemoryChange, ChangeReason
from memorist.auto_memory.auto_memory import AutoMemory
from memorist.settings import AutoMemorySettings
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout
from memorist.testing import FrozenClock

def memory(home):
    where = Layout(home).memory_layout("/home/dev/shop")
    return AutoMemory(where, files=DiskFiles(durable=False), clock=FrozenClock(1_790_000_000.0), settings=AutoMemorySettings())

def write(own, name, body):
    text = f"---\\nname: {name}\\ndescription: d\\ntype: project\\n---\\n\\n{body}\\n".encode()
    own.write([MemoryChange(path=name, before=None, after=text)], ChangeReason(actor="user", what="x"))

def mortal(left):
    def before(name):
        real = getattr(os, name)
        def counted(*given, **more):
            nonlocal left
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*given, **more)
        setattr(os, name, counted)
    for name in ("replace", "rename", "link", "unlink", "mkdir", "fsync", "write"):
        before(name)

for at in range(0, 1_000, int(sys.argv[2])):
    home = Path(sys.argv[1]) / str(at)
    child = os.fork()
    if not child:
        try:
            own = memory(home)
            mortal(at)
            write(own, "a.md", "We cut releases on Mondays.")
        finally:
            os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    own = memory(home)
    if not own.headers():
        write(own, "a.md", "We cut releases on Mondays.")
    write(own, "b.md", "The port is 8080.")
    assert [head.path for head in sorted(own.headers(), key=lambda head: head.path)] == ["a.md", "b.md"], at
    assert own.folder.history.map_paths_to_blob_ids().keys() >= {"a.md", "b.md"}, at
    assert not list(home.rglob("*.damaged*")), at
    own.close()
    if status == 0:
        break
print(at)
"""


@pytest.mark.covers("AM-10", "SF-4", "SF-5")
@pytest.mark.parametrize("stride", sampled([1, 7], {7}))
def test_a_kill_before_anything_that_a_first_change_does_stops_no_later_one(
    tmp_path: Path, stride: int
) -> None:
    """Killed while the history is made, while a file of it is written, while its branch moves: the
    next change is recorded, whatever was left there.
    """
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path), str(stride)],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )

    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 30
