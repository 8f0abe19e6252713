"""The end of a program meets threads that still work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src" / "memorist"

MAY_BE_CUT_OFF = {
    "cli/ui_command.py": "waits for a browser, in Python's own code",
    "engine/blocking_engine.py": "its loop is closed by the engine at the end",
    "flags/flag_lookup.py": "waits for the network, in Python's own code",
    "hooks/daemon_watchdog.py": "watches a process that ends itself",
    "mcp_server/handshake.py": "relays a stream, in Python's own code",
    "platforms/background_thread.py": "is the part that waits",
    "platforms/processes.py": "waits for another process",
    "team/team_watcher.py": "is stopped by the engine at the end",
    "testing/provider_server.py": "serves a test",
}
"""Modules with threads of their own, and why those may be cut off."""


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=False
    )


def test_the_end_of_a_program_stops_a_thread_and_waits_for_it() -> None:
    """The thread sees its event and runs to its last line, which a daemon thread does not reach."""
    ended = run(
        "import threading\n"
        "from memorist.platforms.background_thread import start_thread_awaited_at_exit\n"
        "stopping = threading.Event()\n"
        "def work():\n"
        "    stopping.wait()\n"
        "    print('ended', flush=True)\n"
        "start_thread_awaited_at_exit(work, name='work', stopping=stopping)\n"
    )
    assert (ended.returncode, ended.stdout) == (0, "ended\n"), ended.stderr


def test_a_program_that_ends_while_texts_are_embedded_does_not_abort(tmp_path: Path) -> None:
    """The embedding runtime aborted the process ("FATAL: exception not rethrown") when Python ended
    a thread within its code.
    """
    for package in ("onnxruntime", "tokenizers"):
        pytest.importorskip(package, reason="the extra `embed` is not installed")
    code = (
        "import sys, threading, time\n"
        "from memorist.models.embedder import get_embedder_if_wanted\n"
        "from memorist.platforms.background_thread import start_thread_awaited_at_exit\n"
        "stopping, begun = threading.Event(), threading.Event()\n"
        "def work():\n"
        "    embedder = get_embedder_if_wanted(wanted=True)\n"
        "    while not stopping.is_set():\n"
        "        embedder.embed(['deploy the shop', 'restart the server'])\n"
        "        begun.set()\n"
        "start_thread_awaited_at_exit(work, name='work', stopping=stopping)\n"
        "begun.wait()\n"
    )
    for _ in range(3):
        ended = run(code)
        assert ended.returncode == 0, ended.stderr


def test_work_in_the_background_is_waited_for_at_the_end() -> None:
    """A thread that Python cuts off is an exception with a reason."""
    found = {
        str(path.relative_to(SOURCES))
        for path in SOURCES.rglob("*.py")
        if "daemon=True" in path.read_text(encoding="utf-8")
    }
    assert found == set(MAY_BE_CUT_OFF)
