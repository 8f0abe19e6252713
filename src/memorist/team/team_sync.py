"""Synchronise a folder `team/` with its remote: pull, then push (TM-2).

Incoming changes pass auto memory's gate like any write.

The steps are ordered so that the next run repairs a kill between any two of them: common texts are
saved before files are written, files before the sync state. Nothing is lost: what would be
overwritten is in the folder's history, in a conflict copy, or on the remote.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.memory_changes import ChangeReason, MemoryChange, render_change_headline
from memorist.auto_memory.removed_memories import find_deliberately_deleted_paths
from memorist.auto_memory.team_memory import TEAM_PREFIX
from memorist.auto_memory.write_gate import RefusedChange
from memorist.auto_memory.write_result import WriteResult
from memorist.core.plural import join_first
from memorist.errors import (
    InputError,
    RemoteChanged,
    RemoteError,
    RemoteRolledBack,
    RemoteUnavailable,
    StoreError,
)
from memorist.ports import FileSystem
from memorist.settings import TeamSettings
from memorist.store.disk_files import read_if_exists, read_json_if_valid, remove_if_exists
from memorist.store.home_layout import TeamStateLayout
from memorist.store.process_lock import hold_lock
from memorist.team.local_team_folder import (
    IncomingTeamChanges,
    LocalSharedMemory,
    LocalTeamSnapshot,
    ProjectTeamFolderReader,
    add_local_copy_to_changes,
    add_received_or_merged_text,
)
from memorist.team.memory_merge import merge_memory_texts, name_conflict_copy
from memorist.team.shared_memory_form import (
    UnshareableMemory,
    compute_text_checksum,
    to_shared_text,
)
from memorist.team.shared_names import SharedNames
from memorist.team.sync_report import TeamSyncReport
from memorist.team.team_remote import (
    MAX_KEYS,
    LastSeenRemoteState,
    MemoryRevision,
    RemoteChange,
    RemoteListing,
    TeamMemoryAuthorsFile,
    TeamRemote,
    split_changes_into_batches,
)
from memorist.team.team_sync_plan import (
    SyncedMemory,
    TeamSyncSides,
    TeamSyncState,
    TeamSyncSteps,
    drop_names_lost_by_remote,
    is_mass_deletion,
    plan_team_sync,
    reset_remotely_deleted_names,
)

MAX_PUSH_ATTEMPTS = 3
"""One push and at most two retries if others were faster (Claude Code)."""


class TeamSync:
    """One project's `team/` and its remote. Used from one thread."""

    def __init__(
        self, memory: AutoMemory, remote: TeamRemote, *, files: FileSystem, settings: TeamSettings
    ) -> None:
        self.remote = remote
        self._memory = memory
        self._files = files
        self._settings = settings
        self._layout = memory.layout.team_layout
        self._local = ProjectTeamFolderReader(memory, files, settings.entry_bytes)
        self._base_texts = BaseTextStore(self._layout, files)
        self._authors = TeamMemoryAuthorsFile(self._layout, files)

    @property
    def folder(self) -> Path:
        """The folder `team/`."""
        return self._memory.layout.folder / TEAM_PREFIX

    def load_state(self) -> TeamSyncState:
        """Load the last state of both sides; empty if it is damaged, of another remote, or of a
        folder that is not there any more or a link, which deletes nothing elsewhere.

        Both sides are then compared as if for the first time, and so is what went missing here with
        the folder: nobody deleted it.
        """
        facts = self._files.lstat(self.folder)
        if facts is None or not facts.is_folder:
            return TeamSyncState(remote=self.remote.name)
        found = read_json_if_valid(self._files, self._layout.sync_state, TeamSyncState)
        found = found or TeamSyncState()
        if found.remote != self.remote.name:
            return TeamSyncState(remote=self.remote.name)
        present = self._memory.folder.headers_by_path().keys()
        absent = {TEAM_PREFIX + key for key, each in found.keys.items() if each.here} - present
        missing = absent - find_deliberately_deleted_paths(self._memory.folder.history, absent)
        keys = {key: each for key, each in found.keys.items() if TEAM_PREFIX + key not in missing}
        return replace(found, keys=keys, seen=LastSeenRemoteState() if missing else found.seen)

    def plan_pending_sends(self) -> TeamSyncSteps:
        """Plan what would be sent now, by what the last run knew of the remote."""
        state, local = self.load_state(), self._local.read_texts()
        return plan_team_sync(self._build_sides(local, _remote_checksums(state), state))

    def list_unshareable_memories(self) -> tuple[UnshareableMemory, ...]:
        """Return what is not sent, and why."""
        return self._local.read_texts().unshareable

    def pull(self, *, deletions: bool = False, from_scratch: bool = False) -> TeamSyncReport:
        """Take what others changed. Raises RemoteError, StoreError.

        Args:
            deletions: delete even if it is many at once.
            from_scratch: trust the remote though it is older than before: both sides are compared
                as if for the first time, and nothing is deleted.
        """
        with hold_lock(self._layout.lock):
            return self._pull(deletions=deletions, from_scratch=from_scratch)

    def pull_and_push(
        self, *, deletions: bool = False, wait_seconds: float = 10.0
    ) -> TeamSyncReport:
        """Take what others changed, then send what was changed here.

        Raises RemoteError (also if others kept being faster), StoreError.
        """
        report = TeamSyncReport()
        with hold_lock(self._layout.lock, wait_seconds=wait_seconds):
            for _ in range(MAX_PUSH_ATTEMPTS):
                report += self._pull(deletions=deletions)
                try:
                    return report + self._send(deletions=deletions)
                except RemoteChanged:
                    continue
        raise RemoteUnavailable(
            f"others kept changing the same memories at {self.remote.name}; push again"
        )

    def _pull(self, *, deletions: bool = False, from_scratch: bool = False) -> TeamSyncReport:
        local = self._local.read_texts()
        report = TeamSyncReport(staying=local.unshareable)
        if self._memory.settings.policy == "off":
            return replace(report, remarks=("auto_memory.policy is off: nothing is taken",))
        state = self.load_state()
        found = self._fetch_listing(LastSeenRemoteState() if from_scratch else state.seen)
        look = found or RemoteListing(state=state.seen, checksums=_remote_checksums(state))
        if found is not None:
            self._authors.record_listing(found, self._list_revisions())
        if from_scratch or (state.seen.id and look.state.id != state.seen.id):
            state = TeamSyncState(remote=state.remote, conflict_copies=state.conflict_copies)
        usable, refused = self._usable_texts(look, local)
        state = replace(
            state,
            keys=drop_names_lost_by_remote(
                state.keys, {*look.checksums, *look.deleted, *look.problems}
            ),
        )
        steps = plan_team_sync(
            self._build_sides(local, usable | self._unusable_checksums(state, look, usable), state)
        )
        state = replace(
            state,
            keys=reset_remotely_deleted_names(
                state.keys, steps.send, {*look.checksums, *look.problems}
            ),
        )
        drop = steps.drop if deletions or not is_mass_deletion(steps.drop, state.keys) else ()
        arriving = self._collect_incoming(steps, local, state, replace(look, checksums=usable))
        drops = [
            MemoryChange(path=TEAM_PREFIX + key, before=local.data[key], after=None) for key in drop
        ]
        written, texts = self._write([*arriving.changes, *drops])
        # What somebody writes while this runs is no common text, and is sent the next time.
        here = local.hashes | {key: compute_text_checksum(text) for key, text in texts.items()}
        steps_done = replace(steps, drop=drop)
        state = self._update_state(state, arriving, steps_done, usable, here, written)
        self._base_texts.save(texts[key] for key in texts if key not in arriving.merged)
        # What waits for a user, and what could not be read, is still to come: the next look must
        # not be answered by "nothing changed".
        whole = drop == steps.drop and not arriving.bad
        # It goes on from the same version, so that a remote which tells deletions by comparing two
        # of them tells them again.
        state = replace(
            state,
            seen=look.state if whole else replace(look.state, tag="", version=state.seen.version),
        )
        self._base_texts.prune(known.here for known in state.keys.values())
        self._save(state)
        return self._extend_report(
            report,
            arriving,
            written,
            drop,
            (*refused, *look.problems.items(), *arriving.bad),
            steps,
        )

    def _fetch_listing(self, seen: LastSeenRemoteState) -> RemoteListing | None:
        look = self.remote.fetch_listing(seen)
        if look is not None and len(look.checksums) > MAX_KEYS:
            raise RemoteRolledBack(
                f"{self.remote.name} tells of more than {MAX_KEYS:,} memories; look into it"
            )
        return look

    def _list_revisions(self) -> tuple[MemoryRevision, ...]:
        """Return who changed what; a remote that does not tell is no reason to take nothing."""
        try:
            return self.remote.list_revisions()
        except RemoteError:
            return ()

    def _usable_texts(
        self, look: RemoteListing, local: LocalTeamSnapshot
    ) -> tuple[dict[str, str], list[tuple[str, str]]]:
        """Return what the remote holds under names that can be files here; the others with the
        reason.
        """
        fit: dict[str, str] = {}
        refused = []
        names = SharedNames(local.hashes)
        for key in sorted(look.checksums):
            problem = self._local.find_shared_name_problem(key, names)
            if not problem and look.sizes.get(key, 0) > self._settings.entry_bytes:
                problem = f"It has more than {self._settings.entry_bytes:,} bytes."
            if problem:
                refused.append((key, problem))
            else:
                fit[key] = look.checksums[key]
                names.add(key)
        return fit, refused

    @staticmethod
    def _unusable_checksums(
        state: TeamSyncState, look: RemoteListing, usable: Mapping[str, str]
    ) -> dict[str, str]:
        """Unusable remote texts count as unchanged: they are neither taken nor deleted here."""
        names = (key for key in (*look.checksums, *look.problems) if key not in usable)
        return {key: state.keys[key].there for key in names if key in state.keys}

    @staticmethod
    def _build_sides(
        local: LocalTeamSnapshot, there: Mapping[str, str], state: TeamSyncState
    ) -> TeamSyncSides:
        return TeamSyncSides(
            here=local.hashes,
            there=there,
            last_synced=state.keys,
            staying={each.key for each in local.unshareable}
            | local.find_names_behind_links(state.keys),
        )

    def _collect_incoming(
        self,
        steps: TeamSyncSteps,
        local: LocalTeamSnapshot,
        state: TeamSyncState,
        look: RemoteListing,
    ) -> IncomingTeamChanges:
        wanted = (*steps.take, *steps.meet)
        texts, bad = self._check_texts(
            self.remote.read_texts(wanted, look.sizes) if wanted else {}, wanted, look.checksums
        )
        found = IncomingTeamChanges(texts=texts, bad=bad)
        for key in steps.aside:
            found = self._add_local_copy(found, key, local)
        for key, text in texts.items():
            known, mine = state.keys.get(key), local.texts.get(key)
            both = (
                merge_memory_texts(self._base_texts.load(known.here) if known else None, mine, text)
                if key in steps.meet and mine is not None
                else text
            )
            found = add_received_or_merged_text(
                found if both is not None else self._add_local_copy(found, key, local),
                key,
                text,
                both,
                local.data.get(key),
            )
        self._base_texts.save(
            text
            for each in (texts, local.texts)
            for key, text in each.items()
            if key in (*wanted, *steps.alike)
        )
        return found

    @staticmethod
    def _add_local_copy(
        found: IncomingTeamChanges, key: str, local: LocalTeamSnapshot
    ) -> IncomingTeamChanges:
        return add_local_copy_to_changes(
            found,
            key,
            LocalSharedMemory(local.data[key], local.texts[key]),
            local.find_memory(name_conflict_copy(key, local.texts[key])),
        )

    def _check_texts(
        self, texts: Mapping[str, str], wanted: tuple[str, ...], there: Mapping[str, str]
    ) -> tuple[dict[str, str], tuple[tuple[str, str], ...]]:
        fit, bad = {}, []
        for key in wanted:
            text = texts.get(key)
            if text is None:
                bad.append((key, "The remote did not give it."))
            elif compute_text_checksum(text) != there[key]:
                bad.append((key, "Its text does not have the checksum that the remote named."))
            elif len(text.encode("utf-8", "surrogatepass")) > self._settings.entry_bytes:
                bad.append((key, f"It has more than {self._settings.entry_bytes:,} bytes."))
            else:
                fit[key] = text
        return fit, tuple(bad)

    def _write(self, changes: list[MemoryChange]) -> tuple[WriteResult, dict[str, str]]:
        """Write all in one change of the history; one by one if one of them cannot be a file here.
        Returns the shared texts of what was written, too, by name, as the gate left them.
        """
        real = [
            change
            for change in changes
            if read_if_exists(self._files, self._memory.layout.folder / change.path) != change.after
        ]
        texts = {change.path: change.after for change in changes if change not in real}
        if not real:
            return WriteResult(), _name_shared_texts(texts)
        what = join_first([change.path.removeprefix(TEAM_PREFIX) for change in real], 3)
        why = ChangeReason(actor="team", what=render_change_headline("team", what))
        try:
            parts = [self._memory.write(real, why)]
        except InputError:
            parts = [self._write_one(change, why) for change in real]
        history = self._memory.folder.history
        for part in parts:
            texts |= {path: history.read_file(path, part.change_id) for path in part.paths}
        written = WriteResult(
            paths=tuple(path for part in parts for path in part.paths),
            proposals=tuple(each for part in parts for each in part.proposals),
            refused=tuple(each for part in parts for each in part.refused),
            remarks=tuple(remark for part in parts for remark in part.remarks),
        )
        return written, _name_shared_texts(texts)

    def _write_one(self, change: MemoryChange, why: ChangeReason) -> WriteResult:
        try:
            return self._memory.write([change], why)
        except InputError as error:
            return WriteResult(refused=(RefusedChange(change.path, (str(error),)),))

    def _update_state(
        self,
        state: TeamSyncState,
        arriving: IncomingTeamChanges,
        steps: TeamSyncSteps,
        there: Mapping[str, str],
        here: Mapping[str, str],
        written: WriteResult,
    ) -> TeamSyncState:
        """The state after a pull; `here` are the checksums of what was read and written."""
        keys = dict(state.keys)
        away = {each.path for each in written.proposals} | {each.path for each in written.refused}
        for key in (*steps.alike, *steps.drop):
            if there.get(key) or TEAM_PREFIX + key in away:
                keys[key] = SyncedMemory(
                    there.get(key, ""), here.get(key, ""), waits=TEAM_PREFIX + key in away
                )
            else:
                keys.pop(key, None)
        for key in steps.aside:
            keys[key] = replace(keys[key], here=here.get(key, ""))
        for key, text in arriving.texts.items():
            if TEAM_PREFIX + key in away:
                keys[key] = SyncedMemory(there[key], here.get(key, ""), waits=True)
            elif key in arriving.merged:
                keys[key] = SyncedMemory(there[key], compute_text_checksum(text))
            else:
                keys[key] = SyncedMemory(there[key], here.get(key, ""))
        present = self._local.read_texts().hashes
        there_still = {
            other: key
            for other, key in state.conflict_copies.items()
            if other in present and key in present
        }
        return replace(
            state,
            keys=keys,
            conflict_copies=there_still | {other: key for key, other in arriving.conflict_copies},
        )

    @staticmethod
    def _extend_report(
        report: TeamSyncReport,
        arriving: IncomingTeamChanges,
        written: WriteResult,
        drop: tuple[str, ...],
        refused: tuple[tuple[str, str], ...],
        steps: TeamSyncSteps,
    ) -> TeamSyncReport:
        gate = {
            each.path.removeprefix(TEAM_PREFIX): "; ".join(each.reasons) for each in written.refused
        }
        waits = {
            each.path.removeprefix(TEAM_PREFIX): "; ".join(each.reasons)
            for each in written.proposals
        }
        away = {*gate, *waits}
        return replace(
            report,
            received=tuple(key for key in arriving.received if key not in away),
            merged=tuple(key for key in arriving.merged if key not in away),
            conflict_copies=arriving.conflict_copies,
            dropped=drop,
            waiting=tuple(waits.items()),
            refused=(*refused, *gate.items()),
            deletions=() if drop == steps.drop else steps.drop,
            remarks=written.remarks,
        )

    def _send(self, *, deletions: bool) -> TeamSyncReport:
        state, local = self.load_state(), self._local.read_texts()
        steps = plan_team_sync(self._build_sides(local, _remote_checksums(state), state))
        waits = not deletions and is_mass_deletion(steps.remove, state.keys)
        puts = {
            key: RemoteChange(local.texts[key], self._known_checksum(state, key))
            for key in steps.send
        }
        puts |= (
            {}
            if waits
            else {key: RemoteChange(None, state.keys[key].there) for key in steps.remove}
        )
        self._base_texts.save(put.text for put in puts.values() if put.text is not None)
        for batch in split_changes_into_batches(puts, self._settings.body_bytes):
            state = replace(
                self._state_after_push(state, batch),
                seen=self.remote.push_changes(batch, state.seen),
            )
            self._save(state)
            self._authors.record_sent(batch)
        if puts and (log := self._list_revisions()):
            self._authors.record_listing(
                RemoteListing(state=state.seen, checksums=_remote_checksums(state)), log
            )
        return TeamSyncReport(
            sent=tuple(key for key, put in puts.items() if put.text is not None),
            removed=tuple(key for key, put in puts.items() if put.text is None),
            staying=local.unshareable,
            deletions=steps.remove if waits else (),
        )

    @staticmethod
    def _known_checksum(state: TeamSyncState, key: str) -> str:
        return state.keys[key].there if key in state.keys else ""

    @staticmethod
    def _state_after_push(state: TeamSyncState, batch: Mapping[str, RemoteChange]) -> TeamSyncState:
        keys = {
            key: known
            for key, known in state.keys.items()
            if key not in batch or batch[key].text is not None
        }
        sent = {
            key: SyncedMemory(compute_text_checksum(put.text), compute_text_checksum(put.text))
            for key, put in batch.items()
            if put.text is not None
        }
        return replace(state, keys=keys | sent)

    def _save(self, state: TeamSyncState) -> None:
        if state != self.load_state():
            self._files.write(self._layout.sync_state, msgspec.json.encode(state))


class BaseTextStore:
    """The base texts of one project.

    A lost or damaged text counts as missing: two changes then end in a conflict copy.
    """

    def __init__(self, where: TeamStateLayout, files: FileSystem) -> None:
        self._folder = where.base_texts
        self._files = files

    def save(self, texts: Iterable[str]) -> None:
        """Save texts. Raises StoreError."""
        for text in texts:
            self._files.create(
                self._folder / _file_name(compute_text_checksum(text)),
                text.encode("utf-8", "surrogatepass"),
            )

    def load(self, checksum: str) -> str | None:
        """Return the text with this checksum; None if there is none."""
        if not checksum:
            return None
        try:
            found = read_if_exists(self._files, self._folder / _file_name(checksum))
        except StoreError:
            return None
        text = None if found is None else found.decode("utf-8", "surrogatepass")
        return text if text is not None and compute_text_checksum(text) == checksum else None

    def prune(self, wanted: Iterable[str]) -> None:
        """Delete all but these."""
        names = {_file_name(checksum) for checksum in wanted if checksum}
        try:
            paths = self._files.walk(self._folder)
        except FileNotFoundError:
            return
        for path in paths:
            if path.name not in names:
                remove_if_exists(self._files, path)


def _name_shared_texts(files: Mapping[str, bytes | None]) -> dict[str, str]:
    """The shared texts of files, by name; those that are gone are left out."""
    return {
        path.removeprefix(TEAM_PREFIX): to_shared_text(data)
        for path, data in files.items()
        if data is not None
    }


def _file_name(checksum: str) -> str:
    return checksum.removeprefix("sha256:")


def _remote_checksums(state: TeamSyncState) -> dict[str, str]:
    """Return what the remote holds, as far as is known."""
    return {key: known.there for key, known in state.keys.items() if known.there}
