"""What is known of a folder after each change is what reading all of it anew gives."""

from __future__ import annotations

from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from memorist.auto_memory import scan_cache
from memorist.auto_memory.folder_listing import FolderListing
from memorist.auto_memory.memory_file import MemoryKind, Provenance, create_memory_file
from memorist.auto_memory.memory_manifest import build_memory_header
from memorist.auto_memory.memory_scan import FolderScan, ScannedFile
from memorist.auto_memory.scan_cache import ScanCache
from memorist.engine.engine import Memorist
from memorist.recall.memory_search import MemoryFolderSearch
from memorist.settings import RecallSettings
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout

BY_WORDS = RecallSettings(embeddings=False)
PATHS = ("a.md", "B.md", "b.md", "MEMORY.md", "team/a.md", "team/MEMORY.md")
EDITS = st.lists(st.tuples(st.sampled_from(PATHS), st.none() | st.integers(1, 3)), max_size=8)


def scanned(path: str, size: int) -> ScannedFile:
    """A file of a scan, which is an index or a memory."""
    topic = create_memory_file(
        path, kind=MemoryKind.PROJECT, name="x", description="y", body="z", provenance=Provenance()
    )
    head = None if path.endswith("MEMORY.md") else build_memory_header(topic, modified=1, size=size)
    return ScannedFile(size, 1, str(size), head)


@given(EDITS, EDITS)
def test_edits_are_listed_and_saved_as_the_scan_that_they_lead_to(
    tmp_path_factory: pytest.TempPathFactory,
    first: list[tuple[str, int | None]],
    then: list[tuple[str, int | None]],
) -> None:
    """By the listing, since any version of it, and by the file of changes, which another process
    reads.
    """
    scan, listing = FolderScan(30, files={"0.md": scanned("0.md", 9)}), FolderListing()
    listing.set_scan(scan)
    layout = Layout(tmp_path_factory.mktemp("scan")).memory_layout("/p")
    layout.state.mkdir(parents=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan_cache, "MIN_SPLIT_FILES", 1)
        cache = ScanCache(DiskFiles(durable=False), layout)
        cache.save(scan)
        for edits in (first, then):
            version, marks = listing.version, dict(listing.marks)
            for path, size in edits:
                files = {each: seen for each, seen in scan.files.items() if each != path}
                if size is not None:
                    files[path] = scanned(path, size)
                before, scan = scan, replace(scan, files=files)
                listing.take_edit(before, scan, path)
            cache.save(scan, {path for path, _ in edits})

            anew = FolderListing()
            anew.set_scan(scan)
            assert [*listing.headers.items()] == [*anew.headers.items()]
            assert listing.marks == anew.marks
            for path in (*PATHS, "A.md", "c.md"):
                same = listing.find_same_names(path)
                assert (path in same) == (path in scan.files)
                assert bool(same) == bool(anew.find_same_names(path))
            found = listing.list_edits_since(version)
            assert found is not None
            changed = {
                each for each in {*marks, *anew.marks} if marks.get(each) != anew.marks.get(each)
            }
            assert changed <= {*found}
            assert ScanCache(DiskFiles(), layout).load(30) == scan


RULES = ("Never push to main.", "Use tabs.", "Use spaces.", "We deploy on Mondays.")
ACTS = st.lists(
    st.tuples(st.sampled_from(("add", "forget", "edit")), st.integers(0, 3)), max_size=6
)


@given(ACTS)
def test_after_any_writes_a_folder_is_known_as_to_another_process(
    tmp_path_factory: pytest.TempPathFactory, acts: list[tuple[str, int]]
) -> None:
    """Also after another program's: order of the index, related memories and search."""
    place = tmp_path_factory.mktemp("folder")
    with Memorist(home=place / "home") as engine, Memorist(home=place / "home") as other:
        memory, anew = engine.memory(str(place)), other.memory(str(place))
        for act, number in acts:
            paths = [*memory.headers_by_path()]
            if act == "add":
                memory.add(RULES[number])
            elif paths and act == "forget":
                memory.forget([paths[number % len(paths)]])
            elif paths:
                file = memory.layout.folder / paths[number % len(paths)]
                file.write_text(f"{file.read_text()}More {number}.\n")
            memory.known_memories.get_search()
            memory.folder.indexes.build()

        for each in (memory, anew):
            each.folder.refresh()
        assert [*memory.headers_by_path().items()] == [*anew.headers_by_path().items()]
        ranked = memory.folder.indexes.list_paths_most_valuable_first()
        assert ranked == anew.folder.indexes.list_paths_most_valuable_first()
        for said in (*RULES, "Push to main."):
            found = [
                each.known_memories.get_search().find_related_memories(said)
                for each in (memory, anew)
            ]
            assert found[0] == found[1]
        with closing(MemoryFolderSearch(memory.folder, BY_WORDS)) as search:
            assert search.sync_index().read_fingerprints() == memory.folder.file_fingerprints()
