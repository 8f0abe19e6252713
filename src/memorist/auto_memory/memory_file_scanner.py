"""Reading the files of a memory folder: what each says, and whether its claim of whose word it is
can be believed (AM-6, SF-4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from memorist.auto_memory.current_scan import CurrentScan
from memorist.auto_memory.git_objects import compute_blob_id
from memorist.auto_memory.memory_changes import OUTSIDE_ACTORS
from memorist.auto_memory.memory_file import parse_memory_file
from memorist.auto_memory.memory_history import FolderHistory, find_reappeared_own_files
from memorist.auto_memory.memory_manifest import HEADER_READ_BYTES, MAX_FILE_BYTES
from memorist.auto_memory.memory_scan import (
    ABSENT_FILE,
    FilesChangedSinceScan,
    FolderScan,
    ScannedFile,
    build_scan_entry,
    find_paths_with_trusted_origin,
    newly_claims_user_trust,
    update_scan_entry_file_info,
)
from memorist.auto_memory.quotation_proof import adds_nothing_to_former_memory
from memorist.auto_memory.visible_memory import USER_TRUST
from memorist.core.text_encoding import (
    count_undecoded_bytes,
    decode_file_text_losslessly,
    detect_utf16_or_utf32_mark,
    encode_file_text_as_utf8,
)
from memorist.errors import StoreError
from memorist.ports import FileInfo, FileSystem
from memorist.settings import AutoMemorySettings
from memorist.store.home_layout import MemoryLayout


class MemoryFileScanner:
    """Takes files into the folder's current scan. Used from the folder's thread. Raises StoreError
    when the disk refuses.
    """

    def __init__(
        self,
        current: CurrentScan,
        history: FolderHistory,
        *,
        layout: MemoryLayout,
        files: FileSystem,
        settings: AutoMemorySettings,
    ) -> None:
        self._current = current
        self._history = history
        self._layout = layout
        self._files = files
        self._settings = settings
        self._judged_files: dict[str, ScannedFile] = {}
        """Files that were read and judged before the lock was taken."""

    def take_changes(
        self,
        known: FolderScan,
        found: FilesChangedSinceScan,
        expected: Mapping[str, str],
        *,
        is_complete: bool = True,
    ) -> dict[str, bytes]:
        """Take into the scan, in memory, what differs from a known one; returns the bytes that were
        read. `expected` are the blob ids, by path, of a change of ours that is being written.
        """
        files = dict(known.files)
        for path in found.missing:
            files.pop(path, None)
        data: dict[str, bytes] = {}
        trusted = self.find_trusted_paths(known)
        for path in found.changed:
            read = self._scan_changed_file(
                path, files.get(path, ABSENT_FILE), path in trusted, expected.get(path)
            )
            files.pop(path, None)
            if read is not None:
                files[path], data[path] = read
        self._believe_returned_files(files, data)
        self._current.set_files(files, is_complete=is_complete)
        return data

    def judge_ahead(self, paths: Iterable[str], should_stop: Callable[[], bool]) -> bool:
        """Read and judge files before the folder's lock is taken; returns False when stopped."""
        trusted = self.find_trusted_paths(self._current.scan)
        for path in paths:
            if should_stop():
                return False
            read = self.scan_file(path, is_foreign=path not in trusted)
            if read is not None:
                self._judged_files[path] = read[0]
        return True

    def forget_judged_files(self) -> None:
        """Drop what was judged ahead, once the scan has it."""
        self._judged_files.clear()

    def update_written_file(self, path: str, written: bytes | None) -> None:
        """Take a file written by us into the scan, so that the next scan does not read it again.
        Where another program wrote since, the next scan is to find that.
        """
        read = self.scan_file(path)
        if (read and read[0].blob) == (None if written is None else compute_blob_id(written)):
            self._current.set_file(path, None if read is None else read[0])

    def _scan_changed_file(
        self, path: str, before: ScannedFile, is_trusted: bool, expected_blob: str | None
    ) -> tuple[ScannedFile, bytes] | None:
        """Read a file that is otherwise than in the scan. Where it has the `expected_blob` of the
        pending change, it passed the gate; another program's bytes at the same path did not.
        """
        may_be_ours = is_trusted or expected_blob is not None
        read = self.scan_file(path, is_foreign=not may_be_ours)
        if read is None or not may_be_ours or read[0].blob == expected_blob:
            return read
        is_believed = is_trusted and not (
            newly_claims_user_trust(before, read[0])
            or self._puts_words_into_users_mouth(path, *read)
        )
        return read if is_believed else self.scan_file(path, is_foreign=True)

    def _puts_words_into_users_mouth(self, path: str, seen: ScannedFile, data: bytes) -> bool:
        """Whether another program changed what a memory of the user's says, and left its claim: an
        agent's own edit, whose header stayed. What is left of the words is still theirs.
        """
        blob = self._history.map_paths_to_blob_ids().get(path, "")
        if blob == seen.recorded_blob_id or seen.head is None:
            return False
        present = parse_memory_file(path, data)
        if present.provenance.trust not in USER_TRUST:
            return False
        if not blob:  # the history that could tell was lost
            return self._current.files.get(path, seen).blob not in ("", seen.blob)
        former = parse_memory_file(path, self._history.read_blob(blob))
        return not adds_nothing_to_former_memory(present, former)

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
        for path in find_reappeared_own_files(self._history, new_files, present):
            read = self.scan_file(path)
            if read is not None and read[0].recorded_blob_id == new_files[path]:
                files[path] = read[0]

    def find_trusted_paths(self, known: FolderScan) -> frozenset[str]:
        """Return the paths whose claim of origin is believed; after a partial scan, the history is
        used too.
        """
        return find_paths_with_trusted_origin(
            known, *(() if known.files and known.is_complete else self._list_gated_paths())
        )

    def _list_gated_paths(self) -> list[str]:
        """Return, from the history, the paths whose newest version passed the gate, or says only
        what the newest one did that passed it.
        """
        overwritten: dict[str, str] = {}
        gated: dict[str, bool] = {}
        for recorded in self._history.list_changes():
            for path in recorded.paths:
                if path in gated:
                    continue
                if recorded.why.actor in OUTSIDE_ACTORS:
                    overwritten.setdefault(path, recorded.id)
                else:
                    later = overwritten.get(path)
                    gated[path] = later is None or self._says_the_same(path, later, recorded.id)
        return [path for path, is_believed in gated.items() if is_believed]

    def _says_the_same(self, path: str, later: str, earlier: str) -> bool:
        """Whether a memory says after one change only what it said after an earlier one."""
        present, former = (self._history.read_file(path, each) for each in (later, earlier))
        return (
            present is not None
            and former is not None
            and adds_nothing_to_former_memory(
                parse_memory_file(path, present), parse_memory_file(path, former)
            )
        )

    def scan_file(self, path: str, *, is_foreign: bool = False) -> tuple[ScannedFile, bytes] | None:
        """A file as a scan has it, and its bytes; None where there is none."""
        file_path = self._layout.folder / path
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
        if whole and (b"\0" in data or detect_utf16_or_utf32_mark(data)):
            data, facts = self._rewrite_in_utf_8(file_path, data, facts)
        blob = compute_blob_id(data) if whole else ""
        for before in (self._judged_files.get(path), self._current.files.get(path)):
            if (
                before is not None
                and before.is_judged
                and (before.blob, before.is_by_other_program) == (blob, is_foreign)
            ):
                return update_scan_entry_file_info(before, facts), data
        return build_scan_entry(
            path, facts, data, blob=blob, lines=self._settings.scan_lines, foreign=is_foreign
        ), data

    def _rewrite_in_utf_8(self, path: Path, data: bytes, facts: FileInfo) -> tuple[bytes, FileInfo]:
        """Put a file that an editor or a shell of Windows wrote in UTF-16, or a part of it, into
        UTF-8, which all that read it expect; where it cannot be written, it is only read so.
        """
        text = decode_file_text_losslessly(data)
        said = encode_file_text_as_utf8(text)
        if "\ufffd" in text or count_undecoded_bytes(text):
            return said, facts  # what is damaged stays as it is on the disk
        try:
            self._files.write(path, said, expect=data)
        except StoreError:
            return said, facts
        return said, self._files.lstat(path) or facts
