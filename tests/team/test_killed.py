"""A push in a real process that is killed (SIGKILL) before each thing it does to the disk or asks
of a remote, by Git and by the server.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from memorist.team.git_remote import GitRemote, TeamBranchConfiguration
from memorist.team.team_client import ServerAccess, ServerRemote
from memorist.team.team_remote import TeamRemote
from memorist.team.team_store import open_team_store
from support.postgres_server import postgres
from team.conftest import Machine, note
from team.test_server import serving

LONG = "We release on Tuesdays.\n\nWhy: the shop is quiet.\n\nHow to apply: plan for it."

NURSERY = """
import json, os, signal, subprocess, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from team.test_killed import machine
from memorist.team.git_remote import GitRemote
from memorist.team.team_client import ServerRemote

def mortal(at):
    state = {"left": at}
    def step():
        state["left"] -= 1
        if state["left"] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
    def before(owner, name, *, after=False):
        real = getattr(owner, name)
        def counted(*given, **more):
            step()
            found = real(*given, **more)
            if after:
                step()
            return found
        setattr(owner, name, counted)
    for name in ("replace", "rename", "link", "unlink", "mkdir"):
        before(os, name)
    os.fsync = lambda _: step()  # a kill leaves what was written; only a power cut does not
    before(ServerRemote, "_request_once", after=True)
    before(GitRemote, "_run", after=True)
    before(subprocess.Popen, "communicate")

for line in sys.stdin:
    home, address, at = json.loads(line)
    child = os.fork()
    if not child:
        status = 1
        try:
            own = machine(Path(home), address)
            mortal(at)
            own.sync.pull_and_push()
            status = 0
        finally:
            os._exit(status)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Forks one process for each line, so that each begins with everything imported. Statuses: 0 done,
1 failed, -9 killed.
"""


def remote_at(address: str, home: Path) -> TeamRemote:
    if address.startswith("http"):
        url, _, space = address.rpartition("#")
        return ServerRemote(ServerAccess(url=url, space=space, retries=1), sleep=lambda _: None)
    return GitRemote(home / "mirror.git", TeamBranchConfiguration(url=address))


def machine(home: Path, address: str) -> Machine:
    return Machine(home, remote_at(address, home))


@contextmanager
def nursery() -> Iterator[Callable[[Path, str, int], int]]:
    command = [sys.executable, "-c", NURSERY, str(Path(__file__).parents[1])]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        given, told = running.stdin, running.stdout

        def push(home: Path, address: str, at: int) -> int:
            given.write(json.dumps([str(home), address, at]) + "\n")
            given.flush()
            return int(told.readline())

        yield push
        given.close()


@contextmanager
def addresses(kind: str, tmp_path: Path) -> Iterator[Callable[[int], str]]:
    """A remote for each round."""
    if kind == "git":

        def bare(number: int) -> str:
            path = tmp_path / f"bare-{number}.git"
            subprocess.run(["git", "init", "--quiet", "--bare", str(path)], check=True, timeout=60)
            return str(path)

        yield bare
        return
    with (
        postgres() if kind == "postgresql" else nullcontext(str(tmp_path / "team.sqlite")) as place
    ):
        store = open_team_store(place, most=100)
        with serving(store) as port:
            yield lambda number: f"http://127.0.0.1:{port}#round-{number}"
        store.close()


def met(tmp_path: Path, address: str) -> tuple[Machine, Machine]:
    """Two machines that had four memories in common; each then changed, added and deleted some, and
    the first has pushed.
    """
    a, b = machine(tmp_path / "a", address), machine(tmp_path / "b", address)
    for name in ("merge.md", "both.md", "gone-here.md", "gone-there.md"):
        a.write(name, note(LONG))
    a.sync.pull_and_push()
    b.sync.pull()
    a.write("merge.md", note(LONG.replace("Tuesdays", "Mondays")))
    a.write("both.md", note(LONG.replace("Tuesdays", "Wednesdays")))
    a.write("new-there.md", note("New there."))
    (a.team / "gone-there.md").unlink()
    a.sync.pull_and_push()
    b.write("merge.md", note(LONG.replace("plan for it", "plan ahead")))
    b.write("both.md", note(LONG.replace("Tuesdays", "Thursdays")))
    b.write("new-here.md", note("New here."))
    (b.team / "gone-here.md").unlink()
    b.memory.close()
    return a, b


def whole(own: Machine) -> bool:
    """Whether every file is one that somebody wrote, from its header to its last word."""
    ends = ("plan for it.", "plan ahead.", "New here.", "New there.")
    texts = [(own.team / name).read_text("utf-8") for name in own.names()]
    return all(text.startswith("---\n") and text.rstrip().endswith(ends) for text in texts)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.covers("TM-2", "SF-4", "SF-5")
@pytest.mark.parametrize("kind", ["git", "sqlite", "postgresql"])
def test_a_kill_before_anything_that_a_push_does_loses_nothing(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before its n-th step, for each n until it comes to its end: no file is half-written,
    and when both sides have pushed again they are as an undisturbed push leaves them: merged, both
    texts beside each other, what was deleted on either side gone, what was new on either side on
    both.
    """
    quick = tmp_path / "gitconfig"
    quick.write_text("[core]\n\tfsync = none\n", "utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(quick))
    monkeypatch.setattr("os.fsync", lambda _: None)
    killed, wanted = 0, None
    with nursery() as push, addresses(kind, tmp_path) as address_of:
        for at in (10**9, *range(1_000)):
            place, address = tmp_path / f"round-{at}", address_of(at)
            a, _ = met(place, address)
            status = push(place / "b", address, at)
            again = machine(place / "b", address)
            assert whole(again), at
            again.sync.pull_and_push()
            a.sync.pull_and_push()
            found = {key: a.body(key) for key in a.names()}
            assert found == {key: again.body(key) for key in again.names()}, at
            wanted = wanted or found
            assert found == wanted, at
            a.memory.close()
            again.memory.close()
            if at < 10**9:
                if status == 0:
                    break
                assert status == -signal.SIGKILL
                killed += 1
    assert killed > 30
    assert len(wanted or ()) == 5
    assert sum(name.startswith("both") for name in wanted or ()) == 2
