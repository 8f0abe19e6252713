"""Check the memories of all projects: files, history, index and recall index must agree."""

from __future__ import annotations

import shlex
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

from memorist.auto_memory.git_objects import compute_blob_id
from memorist.auto_memory.inbox import Inbox
from memorist.auto_memory.memory_file import parse_memory_file
from memorist.auto_memory.memory_folder import MemoryFolder
from memorist.auto_memory.memory_index import list_pointer_targets
from memorist.auto_memory.memory_location import list_memory_layouts_of_home, read_project_record
from memorist.auto_memory.memory_manifest import (
    INDEX_NAME,
    MAX_FILE_BYTES,
    describe_excess_memory_file_size,
)
from memorist.auto_memory.merge_conflict import has_merge_conflict, is_conflicted_copy
from memorist.auto_memory.purge_journal import PurgeJournal
from memorist.auto_memory.team_memory import is_team_path
from memorist.cli.doctor.check_result import (
    FIX_COMMAND,
    CheckResult,
    DoctorContext,
    repair_or_report_fault,
)
from memorist.cli.doctor.database_check import open_read_only
from memorist.core.plural import pluralize
from memorist.errors import StoreError
from memorist.platforms.regular_files import read_regular_file
from memorist.recall.memory_search import MemoryFolderSearch
from memorist.safety.secrets import redact, redact_bytes
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import MemoryLayout
from memorist.store.sqlite_database import is_database_damage
from memorist.system import SystemClock

FILES = DiskFiles()


def find_memory_folders(context: DoctorContext) -> list[MemoryLayout]:
    """The memory folders of all projects, that of what holds in every project, and the one that the
    settings name.
    """
    return list_memory_layouts_of_home(context.layout, context.settings.auto_memory)


def check_memories(context: DoctorContext) -> Iterator[CheckResult]:
    """Check each memory folder."""
    for where in find_memory_folders(context):
        folder = MemoryFolder(
            where, files=FILES, clock=SystemClock(), settings=context.settings.auto_memory
        )
        try:
            wrong = list(_check_folder(context, where, folder))
        except StoreError as error:
            wrong = [
                CheckResult("wrong", str(error), "Fix what the message names, then run it again.")
            ]
        finally:
            folder.close()
        yield from wrong
        if not wrong:
            yield CheckResult("good", f"{where.folder}: files, history and index agree")
        yield from _check_inbox(where)


def _check_inbox(where: MemoryLayout) -> Iterator[CheckResult]:
    """Report what waits for the user; what waits of a team's is reported with the team."""
    waiting = [each for each in Inbox(where, FILES).list_proposals() if not is_team_path(each.path)]
    if waiting:
        known = read_project_record(FILES, where)
        there = f"in {known.root}: " if known is not None else ""
        one = len(waiting) == 1
        waits = "1 memory waits" if one else f"{len(waiting):,} memories wait"
        yield CheckResult(
            "note",
            f"{where.folder}: {waits} for your yes or no and {'is' if one else 'are'} not shown",
            f"{there}memorist memory inbox",
        )


def _check_folder(
    context: DoctorContext, where: MemoryLayout, folder: MemoryFolder
) -> Iterator[CheckResult]:
    known = read_project_record(FILES, where)
    if known is not None and not Path(known.root).exists():
        yield CheckResult(
            "note",
            f"{where.folder} belongs to {known.root}, which is gone",
            f"If it moved, run there: memorist memory rebind {shlex.quote(known.root)}",
        )
    journal = PurgeJournal(FILES, where)
    if journal.is_damaged():
        yield CheckResult(
            "wrong",
            f"{journal.path} is damaged: it names what was not wholly forgotten for good",
            "Give `memorist memory forget --hard NAME` again for what you had forgotten last, then "
            "delete the file.",
        )
    for entry in journal.load():
        yield CheckResult(
            "note",
            f"{where.folder}: forgetting {entry.path} for good was interrupted",
            f"Finish it in the project: memorist memory forget --hard {shlex.quote(entry.path)}",
        )
    try:
        recorded = folder.history.map_paths_to_blob_ids()
    except StoreError as error:
        yield repair_or_report_fault(
            context,
            str(error),
            f"{FIX_COMMAND} starts a new one: former versions can then be neither shown nor taken "
            f"back. To keep them, first put {where.history} there from a backup.",
            lambda: _rescan(folder, "moved aside; a new one was started"),
        )
        if not context.may_repair:
            return
        recorded = folder.history.map_paths_to_blob_ids()
    yield from _check_texts(where, folder)
    yield from _check_history(context, where, folder, recorded)
    yield from _check_index(context, where, folder)
    yield from _check_recall_index(context, where, folder)


def _check_texts(where: MemoryLayout, folder: MemoryFolder) -> Iterator[CheckResult]:
    """Report what cannot be read: merge conflicts, broken YAML, and what breaks the bounds of
    `parse_yaml_scalars_as_text`.
    """
    for name in folder.list_links():
        yield CheckResult(
            "note",
            f"{where.folder / name} is a link, which is not followed: nothing behind it is shown",
            "Put the file itself there.",
        )
    for name, facts in folder.list_entries():
        if not (facts.is_file and _is_topic_file(name)):
            continue
        if size := describe_excess_memory_file_size(facts.size):
            yield CheckResult(
                "wrong",
                f"{where.folder / name} has {size}: only its beginning is read",
                "Split it, or move it out of the folder.",
            )
            continue
        topic = parse_memory_file(name, read_regular_file(where.folder / name))
        if rules := redact(topic.text()).rules:
            yield CheckResult(
                "wrong",
                f"{where.folder / name} holds what looks like a secret ({', '.join(rules)}); "
                "models are shown a mark in its place",
                "Take it out with your editor, and change it where it is valid.",
            )
        if has_merge_conflict(topic.text()):
            yield CheckResult(
                "wrong",
                f"{where.folder / name} holds a merge conflict of Git: neither version is shown",
                "Edit it, leave one of the two versions, and take out the marks around them.",
            )
        elif is_conflicted_copy(name):
            yield CheckResult(
                "note",
                f"{where.folder / name} is a second version of a memory, left by a sync of files; "
                f"it is not shown",
                "Take over into the other file what is new in it, and delete it.",
            )
        elif topic.encoding_problem:
            yield CheckResult(
                "note",
                f"{where.folder / name}: {topic.encoding_problem}",
                "Save it in UTF-8 with your editor; the rest of it is used.",
            )
        elif topic.header_problem:
            yield CheckResult(
                "note",
                f"{where.folder / name}: {topic.header_problem}",
                "Correct the header by hand, or delete the file if you do not know it.",
            )


def _rescan(folder: MemoryFolder, done: str) -> str:
    """Rescan every file: differences are recorded, and the index is rebuilt."""
    folder.close()
    fresh = folder.clone_for_thread()
    try:
        fresh.refresh_in_full()
    finally:
        fresh.close()
    return done


def _check_history(
    context: DoctorContext, where: MemoryLayout, folder: MemoryFolder, recorded: dict[str, str]
) -> Iterator[CheckResult]:
    """Report files that differ from the history: changes by the user or another program, or an
    outdated history.
    """
    if folder.compare_with_last_scan():
        changed = (
            f"{where.folder}: files were changed past memorist; the next session looks at "
            f"them and records it"
        )
        if context.may_repair:
            yield repair_or_report_fault(
                context, changed, FIX_COMMAND, lambda: _rescan(folder, "scanned and recorded")
            )
        else:
            yield CheckResult("note", changed, f"Nothing, or {FIX_COMMAND}")
        return
    files = {
        name: compute_blob_id(redact_bytes(read_regular_file(where.folder / name)))
        for name, facts in folder.list_entries()
        if facts.is_file and facts.size <= MAX_FILE_BYTES
    }
    differ = sorted(
        name
        for name in files.keys() | recorded.keys()
        if _is_topic_file(name) and files.get(name) != recorded.get(name)
    )
    if differ:
        what = (
            f"{where.folder}: the history does not have {pluralize(len(differ), 'file')} as "
            f"it is on disk, such as {differ[0]}"
        )
        remedy = FIX_COMMAND
        if not where.history.exists():
            what = f"{where.history} is gone, and with it what memories said before"
            remedy += f" records them as they are now. Or put {where.history} there from a backup."
        yield repair_or_report_fault(
            context, what, remedy, lambda: _rescan(folder, "recorded as found")
        )


def _is_topic_file(name: str) -> bool:
    return name.endswith(".md")


def _check_index(
    context: DoctorContext, where: MemoryLayout, folder: MemoryFolder
) -> Iterator[CheckResult]:
    """Report index pointers without a file, and memories missing from the index."""
    if folder.compare_with_last_scan():
        return
    fresh = folder.clone_for_thread()
    try:
        text = fresh.indexes.read_text()
        built = fresh.indexes.build(text)
    finally:
        fresh.close()
    named = set(list_pointer_targets(text))
    dead = sorted(name for name in named if not (where.folder / name).exists())
    unnamed = sorted(set(built.listed) - named)
    if dead or unnamed:
        parts = [
            f"points to {dead[0]}, which is not there" if dead else "",
            f"does not name {unnamed[0]}" if unnamed else "",
        ]
        what = f"{where.folder / INDEX_NAME} {' and '.join(filter(None, parts))}"
        yield repair_or_report_fault(
            context, what, FIX_COMMAND, lambda: _rescan(folder, "rebuilt from the files")
        )


def _check_recall_index(
    context: DoctorContext, where: MemoryLayout, folder: MemoryFolder
) -> Iterator[CheckResult]:
    """Check the recall index; a damaged one is moved aside and rebuilt from the files."""
    if not where.recall_index.exists():
        return
    try:
        with open_read_only(where.recall_index) as index:
            answer = str(index.execute("pragma quick_check").fetchone()[0])
            entries = {str(row["id"]) for row in index.execute("select id from entries")}
    except sqlite3.DatabaseError as error:
        if not is_database_damage(error):  # locked, or none can be: the next search looks again
            return
        answer, entries = str(error), set[str]()
    if answer != "ok":
        what = f"the index of recall {where.recall_index} is damaged ({answer})"
        yield repair_or_report_fault(
            context, what, FIX_COMMAND, _rebuild_recall_index(context, folder)
        )
        return
    missing = sorted(name for name in entries if not (where.folder / name).exists())
    if missing and context.may_repair:
        yield repair_or_report_fault(
            context,
            f"the index of recall {where.recall_index} is behind the folder",
            FIX_COMMAND,
            _rebuild_recall_index(context, folder),
        )
    elif missing:
        yield CheckResult(
            "note",
            f"the index of recall {where.recall_index} is behind the folder; the next search "
            f"brings it in step",
        )


def _rebuild_recall_index(context: DoctorContext, folder: MemoryFolder) -> Callable[[], str]:
    def act() -> str:
        search = MemoryFolderSearch(folder.clone_for_thread(), context.settings.recall)
        try:
            search.sync_index()
        finally:
            search.close()
        return "rebuilt from the files"

    return act
