"""The memory folder on disk.

Every change goes through `apply_changes`: checked, written, indexed, and recorded in the history
(AM-10, SF-4).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

import msgspec
from msgspec.structs import replace

from memorist.auto_memory.folder_listing import FolderListing
from memorist.auto_memory.folder_mtimes import FolderMtimeChangeDetector
from memorist.auto_memory.git_objects import compute_blob_id
from memorist.auto_memory.history_rewrite import HistoryRewrite
from memorist.auto_memory.memory_changes import (
    HISTORY_WAS_LOST,
    OUTSIDE_ACTORS,
    ChangeReason,
    MemoryChange,
    WriteAheadChange,
    build_external_change_reason,
    find_memory_path_problem,
)
from memorist.auto_memory.memory_file import MemoryFile, Trust, parse_memory_file
from memorist.auto_memory.memory_history import FolderHistory, find_restored_own_files
from memorist.auto_memory.memory_index import (
    MemoryIndex,
    MemoryUsage,
    RankedHeaders,
    build_memory_index,
    drop_index_lines,
    parse_pointer_target,
    render_index_line,
)
from memorist.auto_memory.memory_manifest import (
    HEADER_READ_BYTES,
    INDEX_NAME,
    MAX_FILE_BYTES,
    MemoryHeader,
    describe_excess_size,
    is_index_file,
)
from memorist.auto_memory.memory_scan import (
    ABSENT_FILE,
    FilesChangedSinceScan,
    FolderScan,
    ScannedFile,
    build_scan_entry,
    find_files_changed_since_scan,
    find_paths_with_trusted_origin,
    newly_claims_user_trust,
    update_scan_entry_metadata,
)
from memorist.auto_memory.quotation_proof import says_only_what_it_said
from memorist.auto_memory.scan_cache import ScanCache
from memorist.auto_memory.team_memory import (
    TEAM_INDEX_PATH,
    TEAM_PREFIX,
    TeamMemoryBody,
    is_team_path,
    select_own_or_team_headers,
)
from memorist.auto_memory.visible_memory import USER_TRUST
from memorist.core.json_decoding import decode_json
from memorist.core.text_analysis import (
    count_undecoded_bytes,
    decode_file_text,
    encode_file_text_as_utf8,
    find_wide_encoding,
)
from memorist.errors import InputError, StoreError, WriteConflict
from memorist.ports import Clock, FileInfo, FileSystem
from memorist.safety.secrets import redact_bytes
from memorist.settings import AutoMemorySettings
from memorist.store.disk_files import (
    is_write_forbidden,
    read_if_exists,
    remove_if_exists,
    replace_content_if_unchanged,
)
from memorist.store.home_layout import MemoryLayout
from memorist.store.process_lock import hold_lock
from memorist.store.sqlite_database import PAUSE_AFTER_BUSY_SECONDS, is_storage_failure

# Scan of a memory folder: changes are detected, judged, recorded in the history and shown in the
# index (AM-6, AM-10).


SCAN_BATCH = 1_000
"""Files scanned per batch where many are new: half a second under the lock, for which others wait
up to ten.
"""

MAX_INDEX_TRIES = 3
"""How often an index is made anew that others write meanwhile. Our choice."""

UsageSource = Callable[[], Mapping[str, MemoryUsage]]
"""Returns each memory's usage, by path."""


class MemoryFolderReader:
    """A memory folder as it is read. Used from one thread; another one needs `clone_for_thread`."""

    def __init__(
        self,
        layout: MemoryLayout,
        *,
        files: FileSystem,
        clock: Clock,
        settings: AutoMemorySettings,
        usage_source: UsageSource = dict,
    ) -> None:
        self.layout = layout
        self._files = files
        self._clock = clock
        self._settings = settings
        self._usage_source = usage_source
        self.history = FolderHistory(layout.history)
        self._scan_cache = ScanCache(files, layout)
        self._scan: FolderScan | None = None
        self._recorded_from = 0.0
        """When changes are recorded again after the disk refused, by the monotonic clock; 0 where
        it did not.
        """
        self._judged_files: dict[str, ScannedFile] = {}
        """Files that were read and judged before the lock was taken."""
        self._scanned_once: bool | None = None
        """Within `scan_once`: whether the folder was scanned. None outside of it."""
        self._changes = FolderMtimeChangeDetector(files, layout.folder, clock)
        self._trusts_folder_times = False
        """Within `scan_once` at a prompt: whether the times of folders may replace the scan."""
        self._listing = FolderListing()
        self._edited: set[str] | None = set()
        """Files that the scan has otherwise than the one on disk; None for unknown ones."""
        self._ranked: dict[str, tuple[int, RankedHeaders]] = {}
        """By prefix, the headers of a listing's version sorted by what each is worth."""

    @property
    def exists(self) -> bool:
        """Whether there is a memory folder."""
        facts = self._files.lstat(self.layout.folder)
        return facts is not None and (facts.is_folder or facts.is_link)

    def clone_for_thread(self) -> Self:
        """Open the same folder for another thread; the two share only what is on disk."""
        uses = self.read_usage()
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
        return self._list_scan().headers

    def known_paths(self) -> AbstractSet[str]:
        """The paths of the memories as the last scan saw them; nothing is scanned."""
        return self._list_scan().headers.keys()

    def file_fingerprints(self) -> Mapping[str, str]:
        """Return, by path, a mark that changes when the memory's file does."""
        self.refresh()
        return self._list_scan().marks

    @property
    def listing_version(self) -> int:
        """Changes with what `headers_by_path` and `file_fingerprints` returned last."""
        return self._list_scan().version

    def list_edits_since(self, version: int) -> Collection[str] | None:
        """Paths of the memories that changed since a version of the listing; None where that is
        not known.
        """
        return self._list_scan().list_edits_since(version)

    def find_same_names(self, path: str) -> frozenset[str]:
        """The file at a path, and one that some file systems take for it, as the last scan saw
        them.
        """
        return self._list_scan().find_same_names(path)

    def _list_scan(self) -> FolderListing:
        """The memories of the last scan."""
        self._listing.set_scan(self._loaded_scan())
        return self._listing

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
            self._judge(self._loaded_scan(), found)
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
                    self._apply_difference(self._loaded_scan(), found)
            self._recorded_from = 0.0
        except StoreError as error:
            if not is_storage_failure(error):
                raise
            self._recorded_from = self._clock.monotonic() + PAUSE_AFTER_BUSY_SECONDS
            self._judge(self._loaded_scan(), self.compare_with_last_scan())

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
            if at_prompt and self._scan is not None:
                known = self._scan.files
                self._changes.relist_in_thread(
                    lambda: bool(find_files_changed_since_scan(known, self.list_entries()))
                )

    def rescan_if_changed(self, paths: Iterable[str]) -> bool:
        """Scan the folder where one of these files is not as the last scan saw it; returns whether
        that was so.
        """
        for path in paths:
            if path not in self._loaded_scan().files or self._differs_from_scan(path):
                self._changes.force_relisting()
                self._scanned_once = None if self._scanned_once is None else False
                self.refresh()
                return True
        return False

    def _differs_from_scan(self, path: str) -> bool:
        facts = self._files.lstat(self.layout.folder / path)
        seen = self._loaded_scan().files.get(path)
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
        found = find_files_changed_since_scan(self._loaded_scan().files, entries)
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
            own = self._find_trusted_paths(self._loaded_scan())
            step = found.changed[:SCAN_BATCH]
            for path in step:
                if should_stop():
                    return False
                read = self._scan_path(path, foreign=path not in own)
                if read is not None:
                    self._judged_files[path] = read[0]
            with self._locked():
                found = self.compare_with_last_scan()
                rest = frozenset(found.changed).difference(step)
                self._apply_difference(
                    self._loaded_scan(),
                    FilesChangedSinceScan(
                        tuple(path for path in found.changed if path not in rest), found.missing
                    ),
                    rest,
                )
            self._judged_files.clear()
            if not rest:
                break
        return True

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the folder's lock; reload the scan and repair what a killed process left."""
        with hold_lock(self.layout.lock):
            if self.history.repair() or self._has_lost_history():
                # A new history needs every file.
                self._scan_cache.force_rescan(self._settings.scan_lines)
                self._changes.force_relisting()
            self._scan = None
            done = False
            try:
                yield
                done = True
            finally:
                if not done:
                    self._scan = None  # may be ahead of what was recorded: reload from disk

    def _has_lost_history(self) -> bool:
        """Whether somebody deleted the history of memories that were recorded."""
        return self._files.lstat(self.history.path) is None and bool(
            self._scan_cache.load(self._settings.scan_lines).files
        )

    def refresh_in_full(self) -> None:
        """Read every file again, record what the history does not have so, and make the index
        anew. Whose origin was believed stays known. Raises StoreError.
        """
        with self._locked():
            self._scan_cache.force_rescan(self._settings.scan_lines)
            self._apply_difference(self._loaded_scan(), self.compare_with_last_scan())

    def has_untrusted_origin(self, path: str) -> bool:
        """Whether its claim of origin is not believed; see `ScannedFile.foreign`."""
        return self._loaded_scan().files.get(path, ABSENT_FILE).is_by_other_program

    def determine_trust(self, topic: MemoryFile) -> Trust:
        """The origin of a memory that was read here, as far as its claim is believed."""
        untrusted = self.has_untrusted_origin(topic.path)
        return Trust.UNKNOWN if untrusted else topic.provenance.trust

    def was_judged_clean(self, topic: MemoryFile) -> bool:
        """Whether the last scan found nothing wrong with these very words, so that they need not be
        judged again.
        """
        seen = self._loaded_scan().files.get(topic.path, ABSENT_FILE)
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

    def _loaded_scan(self) -> FolderScan:
        if self._scan is None:
            self._scan, self._edited = self._scan_cache.load(self._settings.scan_lines), set()
        return self._scan

    def _apply_difference(
        self, known: FolderScan, found: FilesChangedSinceScan, rest: Collection[str] = ()
    ) -> None:
        """Read what changed, record it in the history, and update the index. Requires the lock.

        `rest` are files left to a later batch; the index is updated with the last batch only.
        """
        data = self._judge(known, found, rest)
        # The history first, then the scan file: after a kill in between, the next scan sees the
        # same difference again and finds nothing new to record. The pending change last: it is
        # what vouches for the origin of a file that the scan does not know yet.
        self._record_changes(data, rest, known)
        self._save_scan()
        if self._files.lstat(self.layout.pending_change) is not None:
            remove_if_exists(self._files, self.layout.pending_change)

    def _judge(
        self, known: FolderScan, found: FilesChangedSinceScan, rest: Collection[str] = ()
    ) -> dict[str, bytes]:
        """Take what changed into the scan, in memory; returns the bytes that were read."""
        files = dict(known.files)
        for path in found.missing:
            files.pop(path, None)
        data: dict[str, bytes] = {}
        pending = self._read_pending()
        expected = {} if pending is None else pending.after
        own = self._find_trusted_paths(known)
        for path in found.changed:
            read = self._scan_changed_file(
                path, files.get(path, ABSENT_FILE), path in own, expected.get(path)
            )
            files.pop(path, None)
            if read is not None:
                files[path], data[path] = read
        self._believe_returned_files(files, data)
        self._scan, self._edited = FolderScan(known.lines, files=files, is_complete=not rest), None
        return data

    def _scan_changed_file(
        self, path: str, before: ScannedFile, is_trusted: bool, expected_blob: str | None
    ) -> tuple[ScannedFile, bytes] | None:
        """Read a file that is otherwise than in the scan. Where it has the `expected_blob` of the
        pending change, it passed the gate; another program's bytes at the same path did not.
        """
        may_be_ours = is_trusted or expected_blob is not None
        read = self._scan_path(path, foreign=not may_be_ours)
        if read is None or not may_be_ours or read[0].blob == expected_blob:
            return read
        is_believed = is_trusted and not (
            newly_claims_user_trust(before, read[0])
            or self._puts_words_into_users_mouth(path, *read)
        )
        return read if is_believed else self._scan_path(path, foreign=True)

    def _puts_words_into_users_mouth(self, path: str, seen: ScannedFile, data: bytes) -> bool:
        """Whether another program changed what a memory of the user's says, and left its claim: an
        agent's own edit, whose header stayed. What is left of the words is still theirs.
        """
        blob = self.history.map_paths_to_blob_ids().get(path, "")
        if blob == seen.recorded_blob_id or seen.head is None:
            return False
        present = parse_memory_file(path, data)
        if present.provenance.trust not in USER_TRUST:
            return False
        if not blob:  # the history that could tell was lost
            return self._loaded_scan().files.get(path, seen).blob not in ("", seen.blob)
        former = parse_memory_file(path, self.history.read_blob(blob))
        return not says_only_what_it_said(present, former)

    def _believe_returned_files(
        self, files: dict[str, ScannedFile], data: Mapping[str, bytes]
    ) -> None:
        """Judge anew, in the scan's `files`, those of the read ones that only went away and came
        back.
        """
        new_files = {
            path: files[path].recorded_blob_id
            for path, each in data.items()
            if files[path].is_by_other_program
            and parse_memory_file(path, each).provenance.trust in USER_TRUST
        }
        if not new_files:
            return
        present = files.keys() - new_files.keys()
        for path in find_restored_own_files(self.history, new_files, present):
            read = self._scan_path(path)
            if read is not None and read[0].recorded_blob_id == new_files[path]:
                files[path] = read[0]

    def _find_trusted_paths(self, known: FolderScan) -> frozenset[str]:
        """Return the paths whose claim of origin is believed; after a partial scan, the history is
        used too.
        """
        return find_paths_with_trusted_origin(
            known, *(() if known.files and known.is_complete else self._list_gated_paths())
        )

    def _list_gated_paths(self) -> list[str]:
        """Return, from the history, the paths that passed the gate at least once."""
        return [
            path
            for recorded in self.history.list_changes()
            if recorded.why.actor not in OUTSIDE_ACTORS
            for path in recorded.paths
        ]

    def _scan_path(self, path: str, *, foreign: bool = False) -> tuple[ScannedFile, bytes] | None:
        file_path = self.layout.folder / path
        facts = self._files.lstat(file_path)
        if facts is None or not facts.is_file:
            return None
        whole = facts.size <= MAX_FILE_BYTES
        try:
            data = self._files.read(
                file_path, limit=MAX_FILE_BYTES + 1 if whole else HEADER_READ_BYTES
            )
        except FileNotFoundError:
            return None
        if whole and (b"\0" in data or find_wide_encoding(data)):
            data, facts = self._rewrite_in_utf_8(file_path, data, facts)
        blob = compute_blob_id(data) if whole else ""
        for before in (self._judged_files.get(path), self._loaded_scan().files.get(path)):
            if (
                before is not None
                and before.is_judged
                and (before.blob, before.is_by_other_program) == (blob, foreign)
            ):
                return update_scan_entry_metadata(before, facts), data
        return build_scan_entry(
            path, facts, data, blob=blob, lines=self._settings.scan_lines, foreign=foreign
        ), data

    def _rewrite_in_utf_8(self, path: Path, data: bytes, facts: FileInfo) -> tuple[bytes, FileInfo]:
        """Put a file that an editor or a shell of Windows wrote in UTF-16, or a part of it, into
        UTF-8, which all that read it expect; where it cannot be written, it is only read so.
        """
        text = decode_file_text(data)
        said = encode_file_text_as_utf8(text)
        if "\ufffd" in text or count_undecoded_bytes(text):
            return said, facts  # what is damaged stays as it is on the disk
        try:
            self._files.write(path, said, expect=data)
        except StoreError:
            return said, facts
        return said, self._files.lstat(path) or facts

    def _record_changes(
        self, data: Mapping[str, bytes], rest: Collection[str], former: FolderScan
    ) -> None:
        """Record what differs from the history's newest state; `former` is the scan before.

        The reason is that of the pending change where one explains it, else a change by another
        program.
        """
        scan = self._loaded_scan()
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
        now = self._loaded_scan().files
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
        now = self._loaded_scan().files.get(index)
        if now is None:
            return index in recorded
        return now.modified_ns < before.files.get(index, ABSENT_FILE).modified_ns

    def _read_pending(self) -> WriteAheadChange | None:
        try:
            return decode_json(
                self._files.read(self.layout.pending_change), as_type=WriteAheadChange
            )
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def _rebuild_indexes_if_writable(self, former: FolderScan) -> dict[str, bytes]:
        """Rebuild the indexes; in a read-only folder they are built only where they are shown."""
        try:
            return self._rebuild_indexes(former)
        except StoreError as error:
            if is_write_forbidden(error):
                return {}
            raise

    def _rebuild_indexes(self, former: FolderScan) -> dict[str, bytes]:
        """Rebuild the indexes that changed; returns their bytes for the history. A line that was
        made from what a memory said in the former scan is made anew.
        """
        outdated = self._render_outdated_lines(former)
        rebuilt: dict[str, bytes] = {}
        for below in ("", TEAM_PREFIX) if self._has_team_folder() else ("",):
            rebuilt |= self._rebuild_index(below, outdated)
        return rebuilt

    def _rebuild_index(self, below: str, outdated: frozenset[str]) -> dict[str, bytes]:
        """Rebuild one index. It is left to the next scan where others go on writing it, and as it
        is where it is too large to be read.
        """
        path = self.layout.folder / below / INDEX_NAME
        for _ in range(MAX_INDEX_TRIES):
            found = read_if_exists(self._files, path, limit=MAX_FILE_BYTES + 1)
            if found is not None and len(found) > MAX_FILE_BYTES:
                return {}
            present = decode_file_text(found or b"")
            text = self.build_index(drop_index_lines(present, outdated), below).file_text
            if text == present:
                return {}
            data = encode_file_text_as_utf8(text)
            with suppress(WriteConflict):
                self._files.write(path, data, expect=found)
                self._update_scan_entry(below + INDEX_NAME, data)
                return {below + INDEX_NAME: data}
        return {}

    def _render_outdated_lines(self, former: FolderScan) -> frozenset[str]:
        """The lines of the memories whose name or description is another by now, as it was."""
        files = self._loaded_scan().files
        changed = (
            seen.head
            for path in (former.files if self._edited is None else self._edited)
            if (seen := former.files.get(path, ABSENT_FILE)).head is not None
            and (now := files.get(path)) is not seen
            and now is not None
            and now.head is not None
            and (now.head.name, now.head.description) != (seen.head.name, seen.head.description)
        )
        return frozenset(
            render_index_line(
                head.name,
                head.path.removeprefix(TEAM_PREFIX),
                head.description,
                self._settings.index_line,
            )
            for head in changed
        )

    def _has_team_folder(self) -> bool:
        """Whether there is a team folder; a link in its place is not one."""
        facts = self._files.lstat(self.layout.folder / TEAM_PREFIX)
        return facts is not None and facts.is_folder

    def build_index(self, present_text: str | None = None, prefix: str = "") -> MemoryIndex:
        """Build the index, with its report of lines, bytes and what does not fit.

        `prefix` is `team/` for the team's index.
        """
        text = self.read_index_text(prefix) if present_text is None else present_text
        return build_memory_index(
            self._rank_headers(prefix), text, now=self._clock.now(), settings=self._settings
        )

    def list_paths_most_valuable_first(self) -> list[str]:
        """Return the paths of the user's own active memories, most valuable first."""
        return [head.path for head in self._rank_headers("").iter_ranked_at(self._clock.now())]

    def _rank_headers(self, prefix: str) -> RankedHeaders:
        """Rank the memories of an index; only those that changed are sorted in."""
        listing = self._list_scan()
        version, ranked = self._ranked.get(prefix, (-1, RankedHeaders((), {})))
        edits = listing.list_edits_since(version)
        if edits is None:
            ranked.set_headers(select_own_or_team_headers(listing.headers.values(), prefix))
        else:
            for path in edits:
                if is_team_path(path) == bool(prefix):
                    head = listing.headers.get(path)
                    heads = select_own_or_team_headers([] if head is None else [head], prefix)
                    ranked.set_header(path.removeprefix(prefix), next(iter(heads), None))
        self._ranked[prefix] = (listing.version, ranked)
        usage = self.read_usage() if len(ranked) else {}
        ranked.usage = {
            path.removeprefix(prefix): each
            for path, each in usage.items()
            if path.startswith(prefix)
        }
        return ranked

    def read_usage(self) -> Mapping[str, MemoryUsage]:
        """Return each memory's usage; empty when the database fails, as the index works without
        it.
        """
        try:
            return self._usage_source()
        except StoreError:
            return {}

    def read_index_text(self, prefix: str = "") -> str:
        """Return the index on disk; empty when there is none."""
        path = self.layout.folder / prefix / INDEX_NAME
        return decode_file_text(read_if_exists(self._files, path, limit=MAX_FILE_BYTES) or b"")

    def _update_scan_entry(self, path: str, written: bytes | None) -> None:
        """Take a file written by us into the scan, so that the next scan does not read it again.
        Where another program wrote since, the next scan is to find that.
        """
        read, before = self._scan_path(path), self._loaded_scan()
        if (read and read[0].blob) != (None if written is None else compute_blob_id(written)):
            return
        files = dict(before.files)
        if read is None:
            files.pop(path, None)
        else:
            files[path] = read[0]
        self._scan = FolderScan(before.lines, files=files, is_complete=before.is_complete)
        self._listing.take_edit(before, self._scan, path)
        if self._edited is not None:
            self._edited.add(path)

    def _save_scan(self) -> None:
        self._scan_cache.save(self._loaded_scan(), self._edited)
        self._edited = set()

    def close(self) -> None:
        """Close the history's files."""
        self._changes.wait_for_relisting()
        self.history.close()


FORMER_HISTORY = "history.former"
"""Name of the history of a place whose memory was joined into this one, beside its own."""

# Name prefixes of files beside the history that may hold copies of memories.
_DERIVED_PREFIXES = ("recall.sqlite", "history.damaged", FORMER_HISTORY)


class MemoryFolder(MemoryFolderReader):
    """One project's memory folder. Nothing is created on disk before the first memory is
    written.
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
        super().__init__(
            layout, files=files, clock=clock, settings=settings, usage_source=usage_source
        )
        self._check_owner = check_owner
        """Called before the first write: raises InputError where the memory belongs to another
        project.
        """

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
        if size := describe_excess_size(facts.size):
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
                self._apply_difference(self._loaded_scan(), found)
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
            former = self._loaded_scan()
            for change in real:
                replace_content_if_unchanged(
                    self._files, self.layout.folder / change.path, change.before, change.after
                )
                self._update_scan_entry(change.path, change.after)
            written = {
                change.path: change.after and redact_bytes(change.after) for change in real
            } | self._rebuild_indexes(former)
            id = self.history.record_change(written, reason, self._clock.now(), undoes=undoes)
            self._save_scan()
            remove_if_exists(self._files, self.layout.pending_change)
            if unlisted:
                self._changes.accept_own_change()
            return id

    def _check_changes(self, changes: Sequence[MemoryChange]) -> None:
        """Check every path and every current content before the first write."""
        for change in changes:
            problem = find_memory_path_problem(change.path, self.find_same_names(change.path))
            if problem:
                raise InputError(f"{change.path!r} cannot be a memory. {problem}")
            if not self._is_inside(change.path):
                raise InputError(
                    f"{change.path} leads out of the memory folder through a link; remove the link"
                )
            if size := describe_excess_size(len(change.after or b"")):
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
                    self._drop_from_index(path)
                rewrite.copy_new_changes()
                rewrite.replace_history()
                # A history moved aside as damaged may contain them too.
                purged = [
                    path
                    for path in self._files.walk(self.layout.state)
                    if path.relative_to(self.layout.state).parts[0].startswith(_DERIVED_PREFIXES)
                ]
                known = self._loaded_scan()
                self._scan_cache.remove()
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

    def _drop_from_index(self, path: str) -> None:
        """Remove a memory's lines: an index is recorded as it is found before it is made anew."""
        prefix = TEAM_PREFIX if is_team_path(path) else ""
        present = self.read_index_text(prefix)
        lines = {
            line.strip()
            for line in present.splitlines()
            if parse_pointer_target(line) == path.removeprefix(prefix)
        }
        if lines:
            text = drop_index_lines(present, frozenset(lines))
            data = encode_file_text_as_utf8(text)
            self._files.write(self.layout.folder / prefix / INDEX_NAME, data)
