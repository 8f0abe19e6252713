"""What memorist does on a system without `fcntl`, Unix sockets, `fork` and process groups."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memorist.hooks import hook_protocol
from memorist.platforms import file_locks, sockets


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """For processes that begin without what Windows lacks. The process behind the hooks is ended
    afterwards.
    """
    folder = tmp_path / "python"
    folder.mkdir()
    shutil.copy(Path(__file__).with_name("windows_like.py"), folder / "sitecustomize.py")
    home = tmp_path / "memorist"
    variables = {**os.environ, "PYTHONPATH": str(folder), "MEMORIST_HOME": str(home)}
    yield variables
    lock = home / "hooks" / "lock"
    if lock.exists():
        os.kill(int(lock.read_text("utf-8")), 9)


def memorist(environment: dict[str, str], *words: str, data: object = None) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "memorist", *words],
        env=environment,
        cwd=environment["MEMORIST_HOME"],
        input=None if data is None else json.dumps(data),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.covers("GO-3")
def test_memory_and_hooks_work(environment: dict[str, str], tmp_path: Path) -> None:
    """A memory is written and found, and a hook is answered by a process that listens on a loopback
    port; whoever has no token is not answered.
    """
    home = Path(environment["MEMORIST_HOME"])
    home.mkdir(mode=0o700)
    memorist(environment, "memory", "add", "--kind", "feedback", "Use pnpm, never npm")
    assert "pnpm" in memorist(environment, "memory", "list")

    (home / "config.toml").write_text("[hooks]\nstart_seconds = 40\n", "utf-8")
    (home / "hooks").mkdir(mode=0o700)
    (home / "hooks" / hook_protocol.LIMITS).write_text("SessionStart 40\n", "utf-8")
    event = {"session_id": "one", "cwd": str(home), "hook_event_name": "SessionStart"}
    said = memorist(environment, "hook", "SessionStart", data={**event, "source": "startup"})
    assert "Use pnpm, never npm" in said

    port, token = (home / "hooks" / hook_protocol.SOCKET).read_text("utf-8").split()
    assert (home / "hooks" / hook_protocol.SOCKET).stat().st_mode & 0o077 == 0
    with socket.create_connection(("127.0.0.1", int(port)), timeout=30) as line:
        line.sendall(b"0" * len(token) + hook_protocol.PING)
        assert line.recv(100) == b""
    assert "answers" in memorist(environment, "doctor")


@pytest.mark.covers("GO-3")
def test_a_lock_excludes_others_and_ends_with_its_holder(tmp_path: Path) -> None:
    """Also where it is a locked byte: the holder's note in the file stays readable."""
    path = tmp_path / "lock"
    shutil.copy(Path(__file__).with_name("windows_like.py"), tmp_path / "sitecustomize.py")
    code = (
        "import os, sys; from memorist.platforms import file_descriptors, file_locks\n"
        f"held = os.open({str(path)!r}, os.O_RDWR | os.O_CREAT)\n"
        "assert file_locks.try_lock(held); file_descriptors.overwrite_descriptor_content(held, b'me')\n"
        "print(file_descriptors.read_at_offset(held, 9, 0), flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "b'me'\n"
        mine = os.open(path, os.O_RDWR)
        assert not file_locks.try_lock(mine)
        holder.kill()
    file_locks.block_until_locked(mine)
    os.close(mine)


def test_a_socket_that_nobody_holds_refuses(tmp_path: Path) -> None:
    """A file with nonsense in the place of port and token is as good as none."""
    path = tmp_path / "socket"
    with pytest.raises(FileNotFoundError):
        sockets.connect(str(path), 1.0)
    path.write_text("nonsense", "utf-8")
    with pytest.raises(ConnectionRefusedError):
        sockets.connect(str(path), 1.0)
