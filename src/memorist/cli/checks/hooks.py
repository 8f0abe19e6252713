"""Check client hooks: whether the installed programs exist, whether the daemon responds, and why
hooks recently gave no response.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from memorist.cli.checks.finding import Finding, Place, counted
from memorist.errors import InputError
from memorist.hooks import wire
from memorist.hooks.entries import EVENTS, Program, programs
from memorist.hooks.event import CLIENTS, Client
from memorist.hooks.failures import Failure, failures, told
from memorist.hooks.listening.run import works
from memorist.hooks.plugging.run import Plugging, Where, targets
from memorist.store.files import DiskFiles

DAY = 86_400.0
SHOWN = 5
"""Most reasons that are shown."""


def check_hooks(place: Place) -> Iterator[Finding]:
    """Check the clients' settings, the daemon, and the failures log.

    Reports nothing where no hook is installed.
    """
    installed = False
    for client, path in _files(place):
        for finding in _settings(client, path):
            installed = True
            yield finding
    yield from _process(place)
    lately = recent(place.layout.home, place.now)
    if lately:
        yield Finding("note", f"{counted(len(lately), 'hook')} gave no response in the last day; the agents continued without them")
        for reason in told(lately)[:SHOWN]:
            yield Finding("note", reason)
    elif installed:
        yield Finding("good", "no hook failed in the last day")


def recent(home: Path, now: float) -> list[Failure]:
    """Hooks of a home that gave no response in the last day."""
    folder = home / wire.FOLDER
    text = ""
    for name in (f"{wire.FAILURES}.1", wire.FAILURES):
        with contextlib.suppress(OSError):
            text += (folder / name).read_text("utf-8", "replace")
    return failures(text, now - DAY)


def _files(place: Place) -> list[tuple[Client, Path]]:
    """Files that may hold hooks: the user's own settings, and every file memorist installed hooks
    in.
    """
    where = Where(home=Path.home(), environment=os.environ)
    found: dict[Path, Client] = {}
    for client in CLIENTS:
        for target in targets(client, where, Program(words=("memorist",)), {}, mcp=False):
            found[target.path] = client
    for path in map(Path, Plugging(place.layout.home, DiskFiles()).records()):
        if path.name == "hooks.json" or path.name.startswith("settings"):
            found.setdefault(path, "codex" if path.name == "hooks.json" else "claude-code")
    return [(client, path) for path, client in found.items() if path.is_file()]


def _settings(client: Client, path: Path) -> Iterator[Finding]:
    again = f"memorist install {client}"
    try:
        commands = programs(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, InputError) as error:
        yield Finding(
            "note", f"{path} cannot be read, so that no hook can be looked for: {error}", "Mend it; the agent cannot read it either."
        )
        return
    if not commands:
        return
    gone = sorted({program for program in map(_program, commands.values()) if not os.access(program, os.X_OK)})
    for program in gone:
        yield Finding("wrong", f"{path} names {program}, which is not there: no hook of {client} does anything", f"Run {again}.")
    missing = [event for event in EVENTS if event not in commands]
    if missing:
        yield Finding("note", f"{path} has no hook for {', '.join(missing)}", f"Run {again}, if that is not on purpose.")
    if not gone and not missing:
        yield Finding("good", f"hooks of {client} are installed in {path}")


def _program(command: str) -> str:
    with contextlib.suppress(ValueError, IndexError):
        return shlex.split(command)[0]
    return command


def _process(place: Place) -> Iterator[Finding]:
    folder = place.layout.home / wire.FOLDER
    holder = _holder(folder / wire.LOCK)
    if holder and not _answers(folder):
        yield Finding(
            "wrong",
            f"the process behind the hooks, {holder}, does not answer",
            f"End it with: kill -9 {holder}; nothing is lost, and the next hook starts another.",
        )
    elif holder:
        yield Finding("good", f"the process behind the hooks, {holder}, answers")


def _holder(lock: Path) -> str:
    """The process that holds the lock; empty if none does."""
    with contextlib.suppress(OSError), lock.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return file.read(32).decode("ascii", "replace").strip() or "of unknown number"
    return ""


def _answers(folder: Path) -> bool:
    """Whether the daemon responds. Socket paths are short only from within their folder."""
    before = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.chdir(folder)
        return works()
    except OSError:
        return False
    finally:
        os.fchdir(before)
        os.close(before)


def hook_lines(home: Path, now: float) -> Sequence[str]:
    """Recent hook failures for `memorist status`; empty if there are none."""
    lately = recent(home, now)
    return ["", "Hooks that gave no response in the last day", *(f"  {reason}" for reason in told(lately)[:SHOWN])] if lately else []
