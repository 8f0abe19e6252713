"""Check team memory: a usable remote, what waits for the user, and the local copy of the remote."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from memorist.auto_memory.inbox import Inbox
from memorist.auto_memory.memory_location import read_project_record
from memorist.auto_memory.team_memory import is_team_path
from memorist.cli.command_environment import read_environment
from memorist.cli.doctor.check_result import (
    FIX_COMMAND,
    CheckResult,
    DoctorContext,
    put_file_aside,
    repair_or_report_fault,
)
from memorist.cli.doctor.memory_check import FILES, find_memory_folders
from memorist.core.json_decoding import decode_json
from memorist.core.plural import pluralize
from memorist.errors import MemoristError, RemoteError, RemoteRefused, SettingsError, StoreError
from memorist.platforms.regular_files import read_regular_file
from memorist.store.home_layout import MemoryLayout, TeamStateLayout
from memorist.store.process_lock import hold_lock
from memorist.team import remote_location
from memorist.team.git_remote import GitRemote
from memorist.team.remote_location import AUTH_VARIABLE
from memorist.team.team_client import ServerRemote
from memorist.team.team_remote import TeamRemote
from memorist.team.team_sync_plan import TeamSyncState

ANSWER_TIMEOUT_SECONDS = 5.0
"""Longest wait for an answer, because the user is waiting. Our choice."""
MAX_CLOCK_DIFFERENCE_SECONDS = 300.0
"""Difference of the clocks from which it is reported.

Synchronisation does not depend on clocks; certificates and times in histories do. Our choice.
"""
STALE_GIT_LOCK_SECONDS = 3_600.0
"""Age from which a lock file of Git belongs to no running process: one ends after
`team.timeout_seconds`. Our choice.
"""
_LOCAL = ("127.0.0.1", "::1", "localhost")


def check_team(context: DoctorContext) -> Iterator[CheckResult]:
    """Check each project of the home that shares memory with a team."""
    shared = 0
    for where in find_memory_folders(context):
        if where.team_layout.folder.exists() or (where.folder / "team").is_dir():
            shared += 1
            found = list(_check_project(context, where))
            yield from found
            if not any(finding.state in ("wrong", "fixed") for finding in found):
                yield CheckResult(
                    "good", f"{where.folder / 'team'}: what is kept of the team is sound"
                )
    if context.settings.team.enabled and not shared:
        yield CheckResult(
            "note",
            "team.enabled is set, and no project of this home shares anything",
            "See memorist team init.",
        )


def _check_project(context: DoctorContext, where: MemoryLayout) -> Iterator[CheckResult]:
    torn = list(_check_torn_files(context, where.team_layout))
    yield from torn
    yield from _check_waiting(where)
    yield from _check_lock(where.team_layout)
    chosen = remote_location.resolve_remote_location(
        FILES, where.team_layout, context.settings.team
    )
    if chosen is None:
        if not torn:
            yield CheckResult(
                "note",
                f"{where.folder / 'team'} is kept alike nowhere",
                "Choose a location for it in the project: memorist team init",
            )
        return
    known = read_project_record(FILES, where)
    project = Path(known.root) if known is not None else where.folder
    patient = replace(context.settings.team, timeout_seconds=ANSWER_TIMEOUT_SECONDS, retries=0)
    try:
        remote = remote_location.open_remote(
            where.team_layout, chosen, project, patient, read_environment()
        )
    except SettingsError as error:
        yield CheckResult(
            "wrong",
            f"{where.folder / 'team'}: {error}",
            "Correct it, or choose another location: memorist team init",
        )
        return
    try:
        yield from _check_mirror(context, where.team_layout, remote)
        yield from _check_token(chosen, context)
        yield from _check_address(chosen.remote)
        if context.may_use_network:
            yield from _check_remote(remote, context.now)
    finally:
        remote.close()


def _check_torn_files(context: DoctorContext, where: TeamStateLayout) -> Iterator[CheckResult]:
    """Report unreadable state files.

    They are written atomically, so a disk or a manual edit damaged them; without them a sync starts
    over.
    """
    kinds: tuple[tuple[Path, type, str], ...] = (
        (
            where.location,
            remote_location.RemoteLocation,
            "which location the team has: choose it again (memorist team init)",
        ),
        (
            where.sync_state,
            TeamSyncState,
            "what both sides had in common: the next sync compares them as if for the first "
            "time, and deletes nothing",
        ),
    )
    for path, kind, lost in kinds:
        if not path.exists():
            continue
        try:
            decode_json(read_regular_file(path), as_type=kind)
        except msgspec.DecodeError:
            yield repair_or_report_fault(
                context,
                f"{path} cannot be understood; it said {lost}",
                FIX_COMMAND,
                partial(put_file_aside, context.layout, path),
            )


def _check_waiting(where: MemoryLayout) -> Iterator[CheckResult]:
    """Report what only the user can settle."""
    try:
        copies = decode_json(
            read_regular_file(where.team_layout.sync_state), as_type=TeamSyncState
        ).conflict_copies
    except (OSError, msgspec.DecodeError):
        copies = {}
    both = [
        key
        for key, other in copies.items()
        if all((where.folder / "team" / name).exists() for name in (key, other))
    ]
    if both:
        many = (
            "1 memory of the team says"
            if len(both) == 1
            else f"{len(both):,} memories of the team say"
        )
        yield CheckResult(
            "note",
            f"{many} otherwise than one beside, such as team/{both[0]}",
            "Bring them together and delete one: memorist team status",
        )
    proposals = [each for each in Inbox(where, FILES).list_proposals() if is_team_path(each.path)]
    if proposals:
        what = (
            f"{pluralize(len(proposals), 'change')} of the team's memories "
            f"{'waits' if len(proposals) == 1 else 'wait'} for you"
        )
        yield CheckResult("note", what, "memorist memory inbox")


def _check_lock(where: TeamStateLayout) -> Iterator[CheckResult]:
    """Report a lock that is held.

    The system releases the locks of dead processes, so its holder is alive.
    """
    if not where.lock.is_file():
        return
    try:
        with hold_lock(where.lock, wait_seconds=0.0):
            return
    except StoreError:
        yield CheckResult(
            "note",
            f"a sync runs, or hangs: {where.lock} is held",
            f"Who holds it is shown by: fuser -v {where.lock}",
        )


def _check_mirror(
    context: DoctorContext, where: TeamStateLayout, remote: TeamRemote
) -> Iterator[CheckResult]:
    """Check the local copy of a Git branch: it holds only what the remote has, so it can always be
    made again.
    """
    if not isinstance(remote, GitRemote):
        return
    left = [
        path
        for path in where.mirror.rglob("*.lock")
        if path.lstat().st_mtime < context.now - STALE_GIT_LOCK_SECONDS
    ]
    if left:

        def act() -> str:
            return "; ".join(put_file_aside(context.layout, path) for path in left)

        yield repair_or_report_fault(
            context,
            f"a killed Git left {pluralize(len(left), 'lock')} in its copy, such as {left[0]}",
            FIX_COMMAND,
            act,
        )
    try:
        damage = remote.find_damage()
    except RemoteError as error:
        damage = str(error)
    if damage:
        what = f"the copy of the team's branch at {where.mirror} is damaged ({damage})"
        yield repair_or_report_fault(
            context,
            what,
            FIX_COMMAND,
            lambda: f"{put_file_aside(context.layout, where.mirror)}; the next sync makes it again",
        )


def _check_token(
    chosen: remote_location.RemoteLocation, context: DoctorContext
) -> Iterator[CheckResult]:
    """Report a missing token; a server beyond this machine always needs one."""
    host = urlsplit(chosen.remote).hostname
    if (
        chosen.remote.startswith("https://")
        and host not in _LOCAL
        and not (read_environment().get(AUTH_VARIABLE) or context.settings.team.token_file)
    ):
        yield CheckResult(
            "wrong",
            f"there is no token for {host}",
            f"Ask its operator; then set {AUTH_VARIABLE}, or team.token_file.",
        )


def _check_address(remote: str) -> Iterator[CheckResult]:
    """Check a remote on a local disk; that is free, so it does not need `reach`."""
    path = Path(remote.removeprefix("git:").removeprefix("file://"))
    if not remote.startswith("git:") or not path.is_absolute():
        return
    if not path.is_dir():
        yield CheckResult(
            "wrong",
            f"the team's location {path} is not there",
            "Mount it, or choose another: memorist team init",
        )
    elif not os.access(path, os.W_OK):
        yield CheckResult(
            "wrong",
            f"the team's location {path} cannot be written",
            "Give yourself write access to it.",
        )


def _check_remote(remote: TeamRemote, now: float) -> Iterator[CheckResult]:
    clock: float | None = None
    writes = True
    try:
        if isinstance(remote, GitRemote):
            writes = remote.check_access()
        elif isinstance(remote, ServerRemote):
            reached = remote.check_access()
            writes, clock = reached.can_write, reached.server_time
    except RemoteRefused as error:
        yield CheckResult("wrong", str(error))
        return
    except MemoristError as error:
        yield CheckResult(
            "wrong",
            str(error),
            "Correct the network or the address; what is to be sent stays here until then.",
        )
        return
    if not writes:
        yield CheckResult(
            "wrong",
            f"{remote.name} answers, and does not let you write",
            "Ask for a token or a key that may.",
        )
    else:
        yield CheckResult("good", f"{remote.name} answers")
    if clock is not None and abs(clock - now) > MAX_CLOCK_DIFFERENCE_SECONDS:
        hours = abs(clock - now) / 3_600
        which = "ahead of" if clock > now else "behind"
        yield CheckResult(
            "note",
            f"the clock of {remote.name} is {hours:,.1f} hours {which} this machine's",
            "Set the one that is wrong.",
        )
