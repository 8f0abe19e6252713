"""The memory folder on disk.

Every change goes through `apply_changes`: checked, written, indexed, and recorded in the history
(AM-10, SF-4).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Self

import msgspec
from msgspec.structs import replace

from memorist.auto_memory.current_scan import CurrentScan
from memorist.auto_memory.folder_indexes import FolderIndexes, UsageSource
from memorist.auto_memory.folder_listing import FolderListing
from memorist.auto_memory.folder_mtimes import FolderMtimeChangeDetector
from memorist.auto_memory.git_objects import compute_blob_id
from memorist.auto_memory.history_rewrite import HistoryRewrite
from memorist.auto_memory.memory_changes import (
    HISTORY_WAS_LOST,
    ChangeReason,
    MemoryChange,
    WriteAheadChange,
    build_external_change_reason,
    find_memory_path_problem,
)
from memorist.auto_memory.memory_file import MemoryFile, Trust, parse_memory_file
from memorist.auto_memory.memory_file_scanner import MemoryFileScanner
from memorist.auto_memory.memory_history import FolderHistory
from memorist.auto_memory.memory_manifest import (
    INDEX_NAME,
    MAX_FILE_BYTES,
    MemoryHeader,
    describe_excess_memory_file_size,
    is_index_file,
)
from memorist.auto_memory.memory_scan import (
    ABSENT_FILE,
    FilesChangedSinceScan,
    FolderScan,
    find_files_changed_since_scan,
)
from memorist.auto_memory.team_memory import (
    TEAM_INDEX_PATH,
    TEAM_PREFIX,
    TeamMemoryBody,
    is_team_path,
)
from memorist.core.text_encoding import encode_file_text_as_utf8
from memorist.errors import InputError, StoreError, WriteConflict
from memorist.ports import Clock, FileInfo, FileSystem
from memorist.safety.secrets import redact_bytes
from memorist.settings import AutoMemorySettings
from memorist.store.disk_files import (
    is_write_forbidden,
    read_if_exists,
    read_json_if_valid,
    remove_if_exists,
    replace_content_if_unchanged,
)
from memorist.store.home_layout import MemoryLayout
from memorist.store.process_lock import hold_lock
from memorist.store.sqlite_database import PAUSE_AFTER_BUSY_SECONDS, is_database_or_disk_error

SCAN_BATCH = 1_000
"""Files scanned per batch where many are new: half a second under the lock, for which others wait
up to ten.
"""

FORMER_HISTORY = "history.former"
"""Name of the history of a place whose memory was joined into this one, beside its own."""

# Name prefixes of files beside the history that may hold copies of memories.
_DERIVED_PREFIXES = ("recall.sqlite", "history.damaged", FORMER_HISTORY)


class MemoryFolder:
    """One project's memory folder. Nothing is created on disk before the first memory is written.
    Used from one thread; another one needs `clone_for_thread`.
    """

    def __init__(
        self,
        layout: MemoryLayout,
        *,
        files: FileSystem,
        clock: Clock,
        settings: AutoMemorySettings,
        usage_source: UsageSource = dict,
        check_owner: Callable[[], None] | None = None,
    ) -> None:
        self.layout = layout
        self._files = files
        self._clock = clock
        self._settings = settings
        self._check_owner = check_owner
        """Called before the first write: raises InputError where the memory belongs to another
        project.
        """
        self.history = FolderHistory(layout.history)
        self._current = CurrentScan(files, layout, settings.scan_lines)
        self._scanner = MemoryFileScanner(
            self._current, self.history, layout=layout, files=files, settings=settings
        )
        self.indexes = FolderIndexes(
            self._current,
            layout=layout,
            files=files,
            clock=clock,
            settings=settings,
            usage_source=usage_source,
        )
        self._changes = FolderMtimeChangeDetector(files, layout.folder, clock)
        self._recorded_from = 0.0
        """When changes are recorded again after the disk refused, by the monotonic clock; 0 where
        it did not.
        """
        self._scanned_once: bool | None = None
        """Within `scan_once`: whether the folder was scanned. None outside of it."""
        self._trusts_folder_times = False
        """Within `scan_once` at a prompt: whether the times of folders may replace the scan."""

    @property
    def exists(self) -> bool:
        """Whether there is a memory folder."""
        facts = self._files.lstat(self.layout.folder)
        return facts is not None and (facts.is_folder or facts.is_link)

    def clone_for_thread(self) -> Self:
        """Open the same folder for another thread; the two share only what is on disk."""
        uses = self.indexes.read_usage()
        return type(self)(
            self.layout,
            files=self._files,
            clock=self._clock,
            settings=self._settings,
            usage_source=lambda: uses,
        )

    def headers(self) -> list[MemoryHeader]:
        """Return each memory's header, sorted by path.

        Changes by other programs are recorded first. Raises StoreError.
        """
        return [*self.headers_by_path().values()]

    def headers_by_path(self) -> Mapping[str, MemoryHeader]:
        """Return what `headers` does, by path; the same mapping while nothing changes."""
        self.refresh()
        return self.listing.headers

    def file_fingerprints(self) -> Mapping[str, str]:
        """Return, by path, a mark that changes when the memory's file does."""
        self.refresh()
        return self.listing.marks

    @property
    def listing(self) -> FolderListing:
        """What the last scan says of the memories; nothing is scanned."""
        return self._current.listing

    def refresh(self) -> FilesChangedSinceScan:
        """Scan for changes: stats every file and reads those that changed.

        Where the disk takes no writes, what changed is known to this object alone, and recorded in
        a minute or with the next change.
        """
        if self._scanned_once or (self._trusts_folder_times and self._changes.is_unchanged()):
            return FilesChangedSinceScan((), ())
        found = self.compare_with_last_scan()
        is_paused = self._clock.monotonic() < self._recorded_from
        if is_paused and found:
            self._judge(self._current.scan, found)
        elif not is_paused and (found or self._recorded_from):
            self._record_unscanned()
        if self._scanned_once is not None:
            self._scanned_once = True
        return found

    def _record_unscanned(self) -> None:
        try:
            with self._locked():
                found = self.compare_with_last_scan()
                if found or self._read_pending() is not None:
                    self._apply_difference(self._current.scan, found)
            self._recorded_from = 0.0
        except StoreError as error:
            if not is_database_or_disk_error(error):
                raise
            self._recorded_from = self._clock.monotonic() + PAUSE_AFTER_BUSY_SECONDS
            self._judge(self._current.scan, self.compare_with_last_scan())

    @contextmanager
    def scan_once(self, *, at_prompt: bool = False, in_full: bool = False) -> Iterator[None]:
        """Scan the folder only once within this context, however often it is queried. Within
        another such context, that one's scan counts.

        Where somebody waits `at_prompt`, or the files were listed a moment ago, the times of the
        folders tell whether many files changed, and a thread lists them afterwards: what was
        changed in place meanwhile is known at the next prompt, or when `rescan_if_changed` is
        asked about it. `in_full` lists the files even where they were listed a moment ago.
        """
        if self._scanned_once is not None:
            yield
            return
        at_prompt = at_prompt or (not in_full and self._changes.was_listed_recently)
        self._scanned_once, self._trusts_folder_times = False, at_prompt
        try:
            yield
        finally:
            self._scanned_once, self._trusts_folder_times = None, False
            if at_prompt and self._current.is_loaded:
                known = self._current.files
                self._changes.relist_in_thread(
                    lambda: bool(find_files_changed_since_scan(known, self.list_entries()))
                )

    def rescan_if_changed(self, paths: Iterable[str]) -> bool:
        """Scan the folder where one of these files is not as the last scan saw it; returns whether
        that was so.
        """
        for path in paths:
            if path not in self._current.files or self._differs_from_scan(path):
                self._changes.force_relisting()
                self._scanned_once = None if self._scanned_once is None else False
                self.refresh()
                return True
        return False

    def _differs_from_scan(self, path: str) -> bool:
        facts = self._files.lstat(self.layout.folder / path)
        seen = self._current.files.get(path)
        if facts is None or seen is None:
            return facts is not None or seen is not None
        return (seen.size, seen.modified_ns) != (facts.size, facts.modified_ns)

    def _may_write_unlisted(self, paths: Iterable[str]) -> bool:
        """Whether the scan of this `scan_once` still holds, by the times of the folders, and by
        those of the files to be written, which may have been changed in place.
        """
        return (
            (self._trusts_folder_times or bool(self._scanned_once))
            and self._changes.is_unchanged()
            and not any(map(self._differs_from_scan, paths))
        )

    def compare_with_last_scan(self) -> FilesChangedSinceScan:
        """Compare the folder with the last scan."""
        entries = self._changes.list_files(self.list_entries)
        found = find_files_changed_since_scan(self._current.files, entries)
        if found:
            # Until they are taken in, the times of folders say nothing.
            self._changes.force_relisting()
        return found

    def refresh_in_batches(self, should_stop: Callable[[], bool]) -> bool:
        """Do the same as `refresh` for many new files, in batches.

        Files are judged before the lock is taken, which is held for `SCAN_BATCH` of them at a time.
        Returns False when stopped; finished batches stand.
        """
        while found := self.compare_with_last_scan():
            step = found.changed[:SCAN_BATCH]
            if not self._scanner.judge_ahead(step, should_stop):
                return False
            with self._locked():
                found = self.compare_with_last_scan()
                rest = frozenset(found.changed).difference(step)
                self._apply_difference(
                    self._current.scan,
                    FilesChangedSinceScan(
                        tuple(path for path in found.changed if path not in rest), found.missing
                    ),
                    rest,
                )
            self._scanner.forget_judged_files()
            if not rest:
                break
        return True

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the folder's lock; reload the scan and repair what a killed process left."""
        with hold_lock(self.layout.lock):
            self._current.discard()
            if self.history.repair() or self._has_lost_history():
                # A new history needs every file.
                self._current.force_rescan()
                self._changes.force_relisting()
            done = False
            try:
                yield
                done = True
            finally:
                if not done:
                    self._current.discard()  # may be ahead of what was recorded: reload from disk

    def _has_lost_history(self) -> bool:
        """Whether somebody deleted the history of memories that were recorded."""
        return self._files.lstat(self.history.path) is None and bool(self._current.files)

    def refresh_in_full(self) -> None:
        """Read every file again, record what the history does not have so, and make the index
        anew. Whose origin was believed stays known. Raises StoreError.
        """
        with self._locked():
            self._current.force_rescan()
            self._apply_difference(self._current.scan, self.compare_with_last_scan())

    def has_untrusted_origin(self, path: str) -> bool:
        """Whether its claim of origin is not believed; see `ScannedFile.foreign`."""
        return self._current.get_file(path).is_by_other_program

    def determine_trust(self, topic: MemoryFile) -> Trust:
        """The origin of a memory that was read here, as far as its claim is believed."""
        untrusted = self.has_untrusted_origin(topic.path)
        return Trust.UNKNOWN if untrusted else topic.provenance.trust

    def was_judged_clean(self, topic: MemoryFile) -> bool:
        """Whether the last scan found nothing wrong with these very words, so that they need not be
        judged again.
        """
        seen = self._current.get_file(topic.path)
        return (
            seen.head is not None
            and not seen.head.doubts
            and not seen.redacted_blob
            and seen.blob == compute_blob_id(encode_file_text_as_utf8(topic.text()))
        )

    def list_entries(self) -> list[tuple[str, FileInfo]]:
        """Return path and facts of everything in the folder except hidden files."""
        try:
            return list(self._files.scan(self.layout.folder))
        except FileNotFoundError:
            return []

    def list_links(self) -> list[str]:
        """Paths of links in the folder; none is followed, and no memory behind one is read."""
        return [path for path, facts in self.list_entries() if facts.is_link]

    def _apply_difference(
        self, known: FolderScan, found: FilesChangedSinceScan, rest: Collection[str] = ()
    ) -> None:
        """Read what changed, record it in the history, and update the index. Requires the lock.

        `rest` are files left to a later batch; the index is updated with the last batch only.
        """
        data = self._judge(known, found, is_complete=not rest)
        # The history first, then the scan file: after a kill in between, the next scan sees the
        # same difference again and finds nothing new to record. The pending change last: it is
        # what vouches for the origin of a file that the scan does not know yet.
        self._record_changes(data, rest, known)
        self._current.save()
        if self._files.lstat(self.layout.pending_change) is not None:
            remove_if_exists(self._files, self.layout.pending_change)

    def _judge(
        self, known: FolderScan, found: FilesChangedSinceScan, *, is_complete: bool = True
    ) -> dict[str, bytes]:
        """Take what changed into the scan, in memory; returns the bytes that were read."""
        pending = self._read_pending()
        expected = {} if pending is None else pending.after
        return self._scanner.take_changes(known, found, expected, is_complete=is_complete)

    def _read_pending(self) -> WriteAheadChange | None:
        return read_json_if_valid(self._files, self.layout.pending_change, WriteAheadChange)

    def _record_changes(
        self, data: Mapping[str, bytes], rest: Collection[str], former: FolderScan
    ) -> None:
        """Record what differs from the history's newest state; `former` is the scan before.

        The reason is that of the pending change where one explains it, else a change by another
        program.
        """
        scan = self._current.scan
        known = self.history.map_paths_to_blob_ids()
        blobs = {path: seen.recorded_blob_id for path, seen in scan.files.items() if seen.blob}
        changes: dict[str, bytes | None] = {
            # One that is too large by now is there still: the history keeps what it has of it.
            path: None
            for path in known
            if path not in scan.files and path not in rest
        }
        for path, blob in blobs.items():
            if known.get(path) != blob:
                read = (
                    data[path]
                    if path in data
                    else read_if_exists(self._files, self.layout.folder / path)
                )
                changes[path] = None if read is None else redact_bytes(read)
        pending = self._read_pending()
        mine = {
            path
            for path in changes
            if pending is not None
            and pending.after.get(path) == scan.files.get(path, ABSENT_FILE).blob
        }
        if former.files and not known:
            kept = {path: changes.pop(path) for path in self._find_unchanged_own(former, changes)}
            if kept:
                self.history.record_change(kept, HISTORY_WAS_LOST, self._clock.now())
        if pending is not None and mine:
            self.history.record_change(
                {path: changes.pop(path) for path in mine},
                pending.why,
                self._clock.now(),
                undoes=pending.undoes,
            )
        lost = {
            path
            for path, read in changes.items()
            if read is None and self._went_with_its_folder(path, known, former)
        }
        if lost:
            removed = dict.fromkeys(lost)
            why = build_external_change_reason(removed, known, "missing")
            self.history.record_change(removed, why, self._clock.now())
            changes = {path: read for path, read in changes.items() if path not in lost}
        if not rest and not changes.keys().isdisjoint((INDEX_NAME, TEAM_INDEX_PATH)):
            # The index as another program left it, before it is made anew.
            why = build_external_change_reason(changes, known)
            self.history.record_change(changes, why, self._clock.now())
            changes = {}
        why = (
            build_external_change_reason(changes, known)
            if changes
            else ChangeReason(actor="memorist", what="index")
        )
        if not rest:
            changes |= self._rebuild_indexes_if_writable(former)
        if changes:
            self.history.record_change(changes, why, self._clock.now())

    def _find_unchanged_own(self, former: FolderScan, paths: Iterable[str]) -> list[str]:
        """The memories among these whose origin was believed, and which are as they were then."""
        now = self._current.files
        return [
            path
            for path in paths
            if not is_index_file(path)
            and (before := former.files.get(path)) is not None
            and not before.is_by_other_program
            and before.blob == now.get(path, ABSENT_FILE).blob
        ]

    def _went_with_its_folder(
        self, path: str, recorded: Collection[str], before: FolderScan
    ) -> bool:
        """Whether a file is missing as its folder was removed, is not mounted, or was replaced by
        an older copy: the index, which nobody deletes with a memory, is gone or older, too.
        """
        index = TEAM_INDEX_PATH if is_team_path(path) else INDEX_NAME
        now = self._current.files.get(index)
        if now is None:
            return index in recorded
        return now.modified_ns < before.files.get(index, ABSENT_FILE).modified_ns

    def _rebuild_indexes_if_writable(self, former: FolderScan) -> dict[str, bytes]:
        """Rebuild the indexes; in a read-only folder they are built only where they are shown."""
        try:
            return self._rebuild_indexes(former)
        except StoreError as error:
            if is_write_forbidden(error):
                return {}
            raise

    def _rebuild_indexes(self, former: FolderScan) -> dict[str, bytes]:
        """Rebuild the indexes that changed; returns their bytes for the history."""
        rebuilt: dict[str, bytes] = {}
        for path, data in self.indexes.rebuild(former):
            self._scanner.update_written_file(path, data)
            rebuilt[path] = data
        return rebuilt

    def close(self) -> None:
        """Close the history's files."""
        self._changes.wait_for_relisting()
        self.history.close()

    def read_memory_file(self, path: str) -> MemoryFile:
        """Read one memory. Raises InputError when there is none at this path, or it is too
        large.
        """
        problem = find_memory_path_problem(path)
        if problem:
            raise InputError(
                f"{path!r} names no memory. {problem} `memorist memory list` shows all, "
                "`memorist memory log` what was forgotten or replaced"
            )
        facts = self._files.lstat(self.layout.folder / path)
        if facts is None or not facts.is_file or not self._is_inside(path):
            raise InputError(f"there is no memory {path}; `memorist memory list` shows all")
        if size := describe_excess_memory_file_size(facts.size):
            raise InputError(f"{path} has {size}; split it")
        return parse_memory_file(
            path, read_if_exists(self._files, self.layout.folder / path) or b""
        )

    def read_present_bytes(self, path: str) -> bytes | None:
        """What the folder holds under a path; None for no file. Raises StoreError."""
        return read_if_exists(self._files, self.layout.folder / path)

    def read_team_memories(self) -> tuple[TeamMemoryBody, ...]:
        """Read the team's memories; none where there is no team folder. Raises StoreError."""
        if self._files.lstat(self.layout.folder / TEAM_PREFIX) is None:
            return ()
        paths = (
            head.path
            for head in self.headers()
            if is_team_path(head.path) and head.size <= MAX_FILE_BYTES
        )
        return tuple(TeamMemoryBody(path, self.read_memory_file(path).body) for path in paths)

    def _is_inside(self, path: str) -> bool:
        if "/" not in path:  # the folder's own file: asking for each step takes twenty times longer
            facts = self._files.lstat(self.layout.folder / path)
            return facts is None or not facts.is_link
        real = self._files.resolve(self.layout.folder)
        return self._files.resolve(self.layout.folder / path) == real / path

    def apply_changes(
        self, changes: Sequence[MemoryChange], reason: ChangeReason, *, undoes: str = ""
    ) -> str:
        """Write the changes, update the index, and record everything as one change of the history.

        Returns the change's id, empty when nothing changed. Raises WriteConflict when a file is not
        as its change expects, InputError for a path that cannot be a memory's, StoreError when the
        disk fails. Then either nothing was written, or the next scan records what was written with
        the same reason.
        """
        if self._check_owner is not None and any(
            change.before != change.after for change in changes
        ):
            self._check_owner()
            self._check_owner = None
        with self._locked():
            unlisted = self._may_write_unlisted(change.path for change in changes)
            found = FilesChangedSinceScan((), ()) if unlisted else self.compare_with_last_scan()
            if found:
                self._apply_difference(self._current.scan, found)
            real = [change for change in changes if change.before != change.after]
            if not real:
                return ""
            self._check_changes(real)
            after = {
                change.path: "" if change.after is None else compute_blob_id(change.after)
                for change in real
            }
            # Order matters: the pending file lets the next scan give the reason for whatever was
            # written when the process is killed before the history has the change.
            self._files.write(
                self.layout.pending_change,
                msgspec.json.encode(WriteAheadChange(why=reason, after=after, undoes=undoes)),
            )
            former = self._current.scan
            for change in real:
                replace_content_if_unchanged(
                    self._files, self.layout.folder / change.path, change.before, change.after
                )
                self._scanner.update_written_file(change.path, change.after)
            written = {
                change.path: change.after and redact_bytes(change.after) for change in real
            } | self._rebuild_indexes(former)
            id = self.history.record_change(written, reason, self._clock.now(), undoes=undoes)
            self._current.save()
            remove_if_exists(self._files, self.layout.pending_change)
            if unlisted:
                self._changes.accept_own_change()
            return id

    def _check_changes(self, changes: Sequence[MemoryChange]) -> None:
        """Check every path and every current content before the first write."""
        for change in changes:
            problem = find_memory_path_problem(
                change.path, self.listing.find_same_names(change.path)
            )
            if problem:
                raise InputError(f"{change.path!r} cannot be a memory. {problem}")
            if not self._is_inside(change.path):
                raise InputError(
                    f"{change.path} leads out of the memory folder through a link; remove the link"
                )
            if size := describe_excess_memory_file_size(len(change.after or b"")):
                raise InputError(f"{change.path} would have {size}; split it")
            if read_if_exists(self._files, self.layout.folder / change.path) != change.before:
                raise WriteConflict(
                    f"{change.path} changed since it was read; read it again and repeat the change."
                )

    def purge(self, paths: Sequence[str], clean: Callable[[bytes], bytes] = bytes) -> int:
        """Remove every copy of these files: folder, index, history and derived files. `clean` is
        applied to what the history keeps.

        Returns the number of changes that contained them. The history is rewritten beside the old
        one, which other processes may go on writing to; only what they added meanwhile is copied
        under the lock.
        """
        # Lock order: the purge lock outside, the folder's lock inside.
        with hold_lock(self.layout.purge_lock):
            with self._locked():
                rewrite = HistoryRewrite(
                    self.history, paths, derived=(INDEX_NAME, TEAM_INDEX_PATH), clean=clean
                )
            rewrite.copy_new_changes()
            with self._locked():
                for path in paths:
                    remove_if_exists(self._files, self.layout.folder / path)
                    self.indexes.drop_memory(path)
                rewrite.copy_new_changes()
                rewrite.replace_history()
                indexes = {
                    path: data
                    for path in (INDEX_NAME, TEAM_INDEX_PATH)
                    if (data := read_if_exists(self._files, self.layout.folder / path)) is not None
                }
                if indexes:  # the history keeps no version of them: they are ours all the same
                    why = ChangeReason(actor="memorist", what="index")
                    self.history.record_change(indexes, why, self._clock.now())
                # A history moved aside as damaged may contain them too.
                purged = [
                    path
                    for path in self._files.walk(self.layout.state)
                    if path.relative_to(self.layout.state).parts[0].startswith(_DERIVED_PREFIXES)
                ]
                known = self._current.scan
                self._current.remove_from_disk()
                for derived in (self.layout.pending_change, *purged):
                    remove_if_exists(self._files, derived)
                left = {
                    path: seen
                    for path, seen in known.files.items()
                    if path not in (*paths, INDEX_NAME, TEAM_INDEX_PATH)
                }
                self._apply_difference(
                    replace(known, files=left),
                    find_files_changed_since_scan(left, self.list_entries()),
                )
        return rewrite.touched_changes
