"""Check team memory: a usable remote, what waits for the user, and the local copy of the remote."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from memorist.auto_memory.inbox.run import Inbox
from memorist.auto_memory.place.run import read_project
from memorist.auto_memory.shared import is_shared
from memorist.cli.checks.finding import FIX, Finding, Place, counted, mended_or, put_aside
from memorist.cli.checks.memory import FILES, folders
from memorist.errors import MemoristError, RemoteError, RemoteRefused, SettingsError, StoreError
from memorist.store.layout import MemoryLayout, TeamLayout
from memorist.store.locks import held
from memorist.team.delta import State
from memorist.team.git.run import GitRemote
from memorist.team.http.run import ServerRemote
from memorist.team.place import run as places
from memorist.team.remote import Remote

REACH_SECONDS = 5.0
"""Longest wait for an answer, because the user is waiting. Our choice."""
CLOCK_SECONDS = 300.0
"""Difference of the clocks from which it is reported.

Synchronisation does not depend on clocks; certificates and times in histories do. Our choice.
"""
LEFT_SECONDS = 3_600.0
"""Age from which a lock file of Git belongs to no running process: one ends after
`team.timeout_seconds`. Our choice.
"""
_LOCAL = ("127.0.0.1", "::1", "localhost")


def check_team(place: Place) -> Iterator[Finding]:
    """Check each project of the home that shares memory with a team."""
    shared = 0
    for where in folders(place):
        if where.team.folder.exists() or (where.folder / "team").is_dir():
            shared += 1
            found = list(_one(place, where))
            yield from found
            if not any(finding.state in ("wrong", "mended") for finding in found):
                yield Finding("good", f"{where.folder / 'team'}: what is kept of the team is sound")
    if place.settings.team.enabled and not shared:
        yield Finding("note", "team.enabled is set, and no project of this home shares anything", "See memorist team init.")


def _one(place: Place, where: MemoryLayout) -> Iterator[Finding]:
    torn = list(_torn(place, where.team))
    yield from torn
    yield from _waiting(where)
    yield from _busy(where.team)
    chosen = places.read_place(FILES, where.team, place.settings.team)
    if chosen is None:
        if not torn:
            yield Finding("note", f"{where.folder / 'team'} is kept alike nowhere", "Choose a place in the project: memorist team init")
        return
    known = read_project(FILES, where)
    project = Path(known.root) if known is not None else where.folder
    patient = replace(place.settings.team, timeout_seconds=REACH_SECONDS, retries=0)
    try:
        remote = places.open_remote(where.team, chosen, project, patient, os.environ)
    except SettingsError as error:
        yield Finding("wrong", f"{where.folder / 'team'}: {error}", "Correct it, or choose another place: memorist team init")
        return
    try:
        yield from _copy(place, where.team, remote)
        yield from _token(chosen, place)
        yield from _address(chosen.remote)
        if place.reach:
            yield from _reached(remote, place.now)
    finally:
        remote.close()


def _torn(place: Place, where: TeamLayout) -> Iterator[Finding]:
    """Report unreadable state files.

    They are written atomically, so a disk or a manual edit damaged them; without them a sync starts
    over.
    """
    kinds: tuple[tuple[Path, type, str], ...] = (
        (where.place, places.Place, "which place the team has: choose it again (memorist team init)"),
        (where.synced, State, "what both sides had in common: the next sync compares them as if for the first time, and deletes nothing"),
    )
    for path, kind, lost in kinds:
        if not path.exists():
            continue
        try:
            msgspec.json.decode(path.read_bytes(), type=kind)
        except msgspec.DecodeError:
            yield mended_or(place, f"{path} cannot be understood; it said {lost}", FIX, partial(put_aside, place.layout, path))


def _waiting(where: MemoryLayout) -> Iterator[Finding]:
    """Report what only the user can settle."""
    try:
        beside = msgspec.json.decode(where.team.synced.read_bytes(), type=State).beside
    except (OSError, msgspec.DecodeError):
        beside = {}
    both = [key for key, other in beside.items() if all((where.folder / "team" / name).exists() for name in (key, other))]
    if both:
        many = "1 memory of the team says" if len(both) == 1 else f"{len(both):,} memories of the team say"
        yield Finding(
            "note", f"{many} otherwise than one beside, such as team/{both[0]}", "Bring them together and delete one: memorist team status"
        )
    proposals = [each for each in Inbox(where, FILES).waiting() if is_shared(each.path)]
    if proposals:
        what = f"{counted(len(proposals), 'change')} of the team's memories {'waits' if len(proposals) == 1 else 'wait'} for you"
        yield Finding("note", what, "memorist memory inbox")


def _busy(where: TeamLayout) -> Iterator[Finding]:
    """Report a lock that is held.

    The system releases the locks of dead processes, so its holder is alive.
    """
    if not where.lock.is_file():
        return
    try:
        with held(where.lock, wait_seconds=0.0):
            return
    except StoreError:
        yield Finding("note", f"a sync runs, or hangs: {where.lock} is held", f"Who holds it is shown by: fuser -v {where.lock}")


def _copy(place: Place, where: TeamLayout, remote: Remote) -> Iterator[Finding]:
    """Check the local copy of a Git branch: it holds only what the remote has, so it can always be
    made again.
    """
    if not isinstance(remote, GitRemote):
        return
    left = [path for path in where.mirror.rglob("*.lock") if path.lstat().st_mtime < place.now - LEFT_SECONDS]
    if left:

        def act() -> str:
            return "; ".join(put_aside(place.layout, path) for path in left)

        yield mended_or(place, f"a killed Git left {counted(len(left), 'lock')} in its copy, such as {left[0]}", FIX, act)
    try:
        damage = remote.damage()
    except RemoteError as error:
        damage = str(error)
    if damage:
        what = f"the copy of the team's branch at {where.mirror} is damaged ({damage})"
        yield mended_or(place, what, FIX, lambda: f"{put_aside(place.layout, where.mirror)}; the next sync makes it again")


def _token(chosen: places.Place, place: Place) -> Iterator[Finding]:
    """Report a missing token; a server beyond this machine always needs one."""
    host = urlsplit(chosen.remote).hostname
    if (
        chosen.remote.startswith("https://")
        and host not in _LOCAL
        and not (os.environ.get(places.VARIABLE) or place.settings.team.token_file)
    ):
        yield Finding("wrong", f"there is no token for {host}", f"Ask its operator; then set {places.VARIABLE}, or team.token_file.")


def _address(remote: str) -> Iterator[Finding]:
    """Check a remote on a local disk; that is free, so it does not need `reach`."""
    path = Path(remote.removeprefix("git:").removeprefix("file://"))
    if not remote.startswith("git:") or not path.is_absolute():
        return
    if not path.is_dir():
        yield Finding("wrong", f"the team's place {path} is not there", "Mount it, or choose another: memorist team init")
    elif not os.access(path, os.W_OK):
        yield Finding("wrong", f"the team's place {path} cannot be written", "Give yourself write access to it.")


def _reached(remote: Remote, now: float) -> Iterator[Finding]:
    clock: float | None = None
    writes = True
    try:
        if isinstance(remote, GitRemote):
            writes = remote.reach()
        elif isinstance(remote, ServerRemote):
            reached = remote.reach()
            writes, clock = reached.writes, reached.clock
    except RemoteRefused as error:
        yield Finding("wrong", str(error))
        return
    except MemoristError as error:
        yield Finding("wrong", str(error), "Mend the network or the address; what is to be sent stays here until then.")
        return
    if not writes:
        yield Finding("wrong", f"{remote.name} answers, and does not let you write", "Ask for a token or a key that may.")
    else:
        yield Finding("good", f"{remote.name} answers")
    if clock is not None and abs(clock - now) > CLOCK_SECONDS:
        hours = abs(clock - now) / 3_600
        which = "ahead of" if clock > now else "behind"
        yield Finding("note", f"the clock of {remote.name} is {hours:,.1f} hours {which} this machine's", "Set the one that is wrong.")
