"""`memory forget --hard` in a real process that is killed (SIGKILL) before each thing it does to the
disk, and given again.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.sweeps import sampled

SCRIPT = """
import json, os, shutil, signal, sys, zlib
from pathlib import Path
from click.testing import CliRunner
from memorist.cli.main import memorist_group

WORDS = b"xylophone opens the vault"
root = Path(sys.argv[1])
(root / "shop" / ".git").mkdir(parents=True)
os.chdir(root / "shop")

def memorist(home, *words):
    os.environ["MEMORIST_HOME"] = str(home)
    return CliRunner().invoke(memorist_group, words)

def in_child(work):
    child = os.fork()
    if not child:
        try:
            os._exit(work() or 0)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

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
    for name in ("replace", "rename", "link", "unlink", "rmdir", "mkdir"):
        before(name)

def prepare():
    home = root / "start"
    memorist(home, "memory", "add", "--kind", "feedback", "--name", "vault", f"The {WORDS.decode()}.")
    memorist(home, "memory", "add", "--kind", "project", "--name", "bills", "Invoices are checked.")
    (state,) = home.glob("projects/*/memory-state")
    (state / "inbox").mkdir(exist_ok=True)
    other = state.parent / "other"
    other.mkdir()
    (other / "window.json").write_text(json.dumps({"text": f"The {WORDS.decode()}."}))
    index = state.parent / "memory" / "MEMORY.md"
    index.write_text(index.read_text() + f"- by hand: The {WORDS.decode()}.\\n")
    memorist(home, "recall", WORDS.decode())
    return 0

def copies(home):
    for path in home.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            try:
                data += zlib.decompress(data)
            except zlib.error:
                pass
            if WORDS in data:
                yield path.relative_to(home)

def forget(home, step):
    if step >= 0:
        mortal(step)
    return memorist(home, "memory", "forget", "--hard", "--yes", "vault").exit_code

def look(home):
    left = [*copies(home)]
    rows = json.loads(memorist(home, "memory", "list", "--json").stdout)["memories"]
    wrong = memorist(home, "memory", "check").output if not left else ""
    ok = not left and [row["path"] for row in rows] == ["bills.md"] and "nothing is wrong" in wrong
    if not ok:
        print(left, rows, wrong, file=sys.stderr)
    return 0 if ok else 1

memorist(root / "warm", "memory", "list")
assert in_child(prepare) == 0
first = [*copies(root / "start")]
assert len(first) >= 4, first
for step in range(0, 1_000, int(sys.argv[2])):
    home = root / "home"
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(root / "start", home)
    killed = in_child(lambda: forget(home, step))
    if killed == -signal.SIGKILL:
        assert in_child(lambda: forget(home, -1)) == 0, f"not finished after a kill at step {step}"
    assert in_child(lambda: look(home)) == 0, f"wrong after a kill at step {step}"
    if killed != -signal.SIGKILL:
        assert killed == 0
        break
print(step)
"""


@pytest.mark.covers("AM-10")
@pytest.mark.parametrize("stride", sampled([1, 47], {47}))
def test_forgetting_for_good_killed_at_any_step_is_finished_by_the_same_command(
    stride: int, tmp_path: Path
) -> None:
    """The same command, by the name that it was given, ends well and leaves no copy in any file,
    packed or not; the other memory is there and `memory check` finds nothing wrong.
    """
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)

    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "work"), str(stride)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 20
