"""The indexes of a memory folder, the project's own and the team's: made of the headers of the last
scan and of the lines that somebody wrote into them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

from memorist.auto_memory.current_scan import CurrentScan
from memorist.auto_memory.memory_index import (
    MemoryIndex,
    MemoryUsage,
    RankedHeaders,
    build_memory_index,
    drop_given_index_lines,
    parse_pointer_target,
    render_index_line,
)
from memorist.auto_memory.memory_manifest import INDEX_NAME, MAX_FILE_BYTES
from memorist.auto_memory.memory_scan import ABSENT_FILE, FolderScan
from memorist.auto_memory.team_memory import TEAM_PREFIX, is_team_path, select_own_or_team_headers
from memorist.core.text_encoding import decode_file_text_losslessly, encode_file_text_as_utf8
from memorist.errors import StoreError, WriteConflict
from memorist.ports import Clock, FileSystem
from memorist.settings import AutoMemorySettings
from memorist.store.disk_files import read_if_exists
from memorist.store.home_layout import MemoryLayout

UsageSource = Callable[[], Mapping[str, MemoryUsage]]
"""Returns each memory's usage, by path."""

MAX_INDEX_TRIES = 3
"""How often an index is made anew that others write meanwhile. Our choice."""


class FolderIndexes:
    """Used from the folder's thread. What writes one needs the folder's lock."""

    def __init__(
        self,
        current: CurrentScan,
        *,
        layout: MemoryLayout,
        files: FileSystem,
        clock: Clock,
        settings: AutoMemorySettings,
        usage_source: UsageSource,
    ) -> None:
        self._current = current
        self._layout = layout
        self._files = files
        self._clock = clock
        self._settings = settings
        self._usage_source = usage_source
        self._ranked: dict[str, tuple[int, RankedHeaders]] = {}
        """By prefix, the headers of a listing's version sorted by what each is worth."""

    def rebuild(self, former: FolderScan) -> Iterator[tuple[str, bytes]]:
        """Rebuild the indexes that changed; yields the path and bytes of each that was written. A
        line that was made from what a memory said in the former scan is made anew.
        """
        outdated = self._render_outdated_lines(former)
        for prefix in ("", TEAM_PREFIX) if self._has_team_folder() else ("",):
            data = self._rebuild_index(prefix, outdated)
            if data is not None:
                yield prefix + INDEX_NAME, data

    def _rebuild_index(self, prefix: str, outdated: frozenset[str]) -> bytes | None:
        """Rebuild one index; returns what was written. It is left to the next scan where others go
        on writing it, and as it is where it is too large to be read.
        """
        path = self._layout.folder / prefix / INDEX_NAME
        for _ in range(MAX_INDEX_TRIES):
            found = read_if_exists(self._files, path, limit=MAX_FILE_BYTES + 1)
            if found is not None and len(found) > MAX_FILE_BYTES:
                return None
            present = decode_file_text_losslessly(found or b"")
            text = self.build(drop_given_index_lines(present, outdated), prefix).file_text
            if text == present:
                return None
            data = encode_file_text_as_utf8(text)
            with suppress(WriteConflict):
                self._files.write(path, data, expect=found)
                return data
        return None

    def _render_outdated_lines(self, former: FolderScan) -> frozenset[str]:
        """The lines of the memories whose name or description is another by now, as it was."""
        files = self._current.files
        changed = (
            seen.head
            for path in self._current.list_edited_files(former)
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
        facts = self._files.lstat(self._layout.folder / TEAM_PREFIX)
        return facts is not None and facts.is_folder

    def build(self, present_text: str | None = None, prefix: str = "") -> MemoryIndex:
        """Build the index, with its report of lines, bytes and what does not fit.

        `prefix` is `team/` for the team's index.
        """
        text = self.read_text(prefix) if present_text is None else present_text
        return build_memory_index(
            self._rank_headers(prefix), text, now=self._clock.now(), settings=self._settings
        )

    def list_paths_most_valuable_first(self) -> list[str]:
        """Return the paths of the user's own active memories, most valuable first."""
        return [head.path for head in self._rank_headers("").iter_ranked_at(self._clock.now())]

    def _rank_headers(self, prefix: str) -> RankedHeaders:
        """Rank the memories of an index; only those that changed are sorted in."""
        listing = self._current.listing
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

    def read_text(self, prefix: str = "") -> str:
        """Return the index on disk; empty when there is none."""
        path = self._layout.folder / prefix / INDEX_NAME
        return decode_file_text_losslessly(
            read_if_exists(self._files, path, limit=MAX_FILE_BYTES) or b""
        )

    def drop_memory(self, path: str) -> None:
        """Remove a memory's lines: an index is recorded as it is found before it is made anew."""
        prefix = TEAM_PREFIX if is_team_path(path) else ""
        present = self.read_text(prefix)
        lines = {
            line.strip()
            for line in present.splitlines()
            if parse_pointer_target(line) == path.removeprefix(prefix)
        }
        if lines:
            text = drop_given_index_lines(present, frozenset(lines))
            data = encode_file_text_as_utf8(text)
            self._files.write(self._layout.folder / prefix / INDEX_NAME, data)
