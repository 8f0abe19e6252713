"""Check the memories of all projects: files, history, index and recall index must agree."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

from memorist.auto_memory.folder.run import MemoryFolder
from memorist.auto_memory.history.run import blob_id
from memorist.auto_memory.index import pointed_at
from memorist.auto_memory.location import chosen_folder
from memorist.auto_memory.manifest import INDEX_NAME, MAX_FILE
from memorist.auto_memory.place.run import read_project
from memorist.cli.checks.database import read_only
from memorist.cli.checks.finding import FIX, Finding, Place, counted, mended_or
from memorist.clock import SystemClock
from memorist.errors import StoreError
from memorist.recall.search.run import MemorySearch
from memorist.store.files import DiskFiles, discard
from memorist.store.layout import MemoryLayout

FILES = DiskFiles()


def folders(place: Place) -> list[MemoryLayout]:
    """The memory folders of all projects, and the one that the settings name."""
    found = [MemoryLayout(folder / "memory", folder / "memory-state") for folder in sorted(place.layout.projects.glob("*"))]
    chosen = chosen_folder(place.settings.auto_memory.directory)
    if chosen is not None:
        found.append(place.layout.memory_at(chosen))
    return [where for where in found if where.folder.is_dir()]


def check_memories(place: Place) -> Iterator[Finding]:
    """Check each memory folder."""
    for where in folders(place):
        folder = MemoryFolder(where, files=FILES, clock=SystemClock(), settings=place.settings.auto_memory)
        try:
            wrong = list(_one(place, where, folder))
        except StoreError as error:
            wrong = [Finding("wrong", str(error), "Fix what the message names, then run it again.")]
        finally:
            folder.close()
        yield from wrong
        if not wrong:
            yield Finding("good", f"{where.folder}: files, history and index agree")


def _one(place: Place, where: MemoryLayout, folder: MemoryFolder) -> Iterator[Finding]:
    known = read_project(FILES, where)
    if known is not None and not Path(known.root).exists():
        yield Finding(
            "note", f"{where.folder} belongs to {known.root}, which is gone", f"If it moved, run there: memorist memory rebind {known.root}"
        )
    try:
        recorded = folder.history.files()
    except StoreError as error:
        yield mended_or(
            place, f"the history at {where.history} is damaged", str(error), lambda: _again(where, folder, "moved aside; a new one was started")
        )
        if not place.fix:
            return
        recorded = folder.history.files()
    yield from _history(place, where, folder, recorded)
    yield from _index(place, where, folder)
    yield from _recall(place, where, folder)


def _again(where: MemoryLayout, folder: MemoryFolder, done: str) -> str:
    """Rescan every file: differences are recorded, and the index is rebuilt."""
    discard(FILES, where.scan)
    folder.close()
    fresh = folder.beside()
    try:
        fresh.refresh()
    finally:
        fresh.close()
    return done


def _history(place: Place, where: MemoryLayout, folder: MemoryFolder, recorded: dict[str, str]) -> Iterator[Finding]:
    """Report files that differ from the history: changes by the user or another program, or an
    outdated history.
    """
    if folder.unseen():
        changed = f"{where.folder}: files were changed past memorist; the next session looks at them and records it"
        if place.fix:
            yield mended_or(place, changed, FIX, lambda: _again(where, folder, "scanned and recorded"))
        else:
            yield Finding("note", changed, f"Nothing, or {FIX}")
        return
    files = {
        name: blob_id((where.folder / name).read_bytes()) for name, facts in folder.present() if facts.is_file and facts.size <= MAX_FILE
    }
    differ = sorted(name for name in files.keys() | recorded.keys() if _is_kept(name) and files.get(name) != recorded.get(name))
    if differ:
        what = f"{where.folder}: the history does not have {counted(len(differ), 'file')} as it is on disk, such as {differ[0]}"
        yield mended_or(place, what, FIX, lambda: _again(where, folder, "recorded as found"))


def _is_kept(name: str) -> bool:
    return name.endswith(".md")


def _index(place: Place, where: MemoryLayout, folder: MemoryFolder) -> Iterator[Finding]:
    """Report index pointers without a file, and memories missing from the index."""
    if folder.unseen():
        return
    fresh = folder.beside()
    try:
        text = fresh.index_text()
        built = fresh.index(text)
    finally:
        fresh.close()
    named = set(pointed_at(text))
    dead = sorted(name for name in named if not (where.folder / name).exists())
    unnamed = sorted(set(built.listed) - named)
    if dead or unnamed:
        parts = [f"points to {dead[0]}, which is not there" if dead else "", f"does not name {unnamed[0]}" if unnamed else ""]
        what = f"{where.folder / INDEX_NAME} {' and '.join(filter(None, parts))}"
        yield mended_or(place, what, FIX, lambda: _again(where, folder, "made anew from the files"))


def _recall(place: Place, where: MemoryLayout, folder: MemoryFolder) -> Iterator[Finding]:
    """Check the recall index; a damaged one is moved aside and rebuilt from the files."""
    if not where.full_text.exists():
        return
    try:
        with read_only(where.full_text) as index:
            answer = str(index.execute("pragma quick_check").fetchone()[0])
            entries = {str(row["id"]) for row in index.execute("select id from entries")}
    except sqlite3.Error as error:
        answer, entries = str(error), set[str]()
    if answer != "ok":
        what = f"the index of recall {where.full_text} is damaged ({answer})"
        yield mended_or(place, what, FIX, _remade(place, folder))
        return
    gone = sorted(name for name in entries if not (where.folder / name).exists())
    if gone and place.fix:
        yield mended_or(place, f"the index of recall {where.full_text} is behind the folder", FIX, _remade(place, folder))
    elif gone:
        yield Finding("note", f"the index of recall {where.full_text} is behind the folder; the next search brings it in step")


def _remade(place: Place, folder: MemoryFolder) -> Callable[[], str]:
    def act() -> str:
        search = MemorySearch(folder.beside(), place.settings.recall)
        try:
            search.catch_up()
        finally:
            search.close()
        return "made anew from the files"

    return act
