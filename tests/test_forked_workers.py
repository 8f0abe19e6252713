"""The plugin that runs these tests in forks reports each of them, whatever becomes of a fork."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_TESTS = """
import os, pytest

@pytest.mark.parametrize("n", range(40))
def test_output(n, capfd, tmp_path):
    os.system(f"echo {n}")
    assert capfd.readouterr().out == f"{n}\\n"
    (tmp_path / "a").touch(exist_ok=False)

def test_failure():
    print("what it printed")
    assert False

def test_end_of_the_process():
    os._exit(0)

def test_error(unknown_fixture): pass

def test_skip(): pytest.skip("a reason")
"""


def test_each_test_is_reported_also_where_a_fork_ends(tmp_path: Path) -> None:
    """What a fork had taken and not run is run by another, and its last test failed."""
    (tmp_path / "test_some.py").write_text(_TESTS)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {Path(__file__).parent}\n")
    options = ["-p", "support.forked_workers", "--forks", "3", "-p", "no:cacheprovider"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-p", "no:asyncio", "--tb=short"],
        check=False,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert "2 failed, 40 passed, 1 skipped, 1 error" in run.stdout
    assert "what it printed" in run.stdout
    assert "test_end_of_the_process ended" in run.stdout
    assert run.returncode == 1
