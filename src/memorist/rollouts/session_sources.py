"""Find session files where the agents keep them, or below folders that the caller names. Read in
place, never changed.

A file unchanged since its last inspection is not opened. What cannot become memory is reported with
its reason, never silently skipped.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import cast

import msgspec
from msgspec import Struct

from memorist.auto_memory.memory_location import (
    locate_root_of_recorded_folder,
    read_remote_identity,
)
from memorist.core.json_decoding import decode_json
from memorist.core.text_encoding import replace_surrogates
from memorist.errors import UnreadableSession
from memorist.formats.format_detection import detect_format
from memorist.formats.transcript_format import FORMAT_TITLES, RawTranscriptLine
from memorist.platforms.regular_files import (
    is_reachable_folder,
    read_regular_file,
    read_regular_text_file,
)
from memorist.platforms.user_home import expand_user
from memorist.ports import FileSystem
from memorist.rollouts.removed_worktrees import (
    assign_repositories_by_remote,
    assign_repositories_seen_before,
    extract_codex_repository_name,
    extract_worktree_repository,
)
from memorist.rollouts.session_metadata import (
    SessionMetadata,
    find_last_memory_mode,
    find_newest_time,
    read_session_metadata,
)
from memorist.store.disk_files import describe_broken_link
from memorist.store.home_layout import REPLAY_FOLDER, Layout
from memorist.store.rollout_rows import Rollout, SessionFormat
from memorist.store.transcript_reader import UnpackedUtf8Lines

MAX_SOURCE_BYTES = 4_000_000_000
"""Largest file that is read, in bytes: four times the largest ever reported by users (Codex).
"""
TAIL_BYTES = 64 * 1024
"""Bytes at the end of a file that are searched for its newest time."""
MAX_FOLDER_DEPTH = 12
"""Deepest folder level searched; the deepest layout of a client has five."""
_PROBE_BYTES = 4096
_MAX_HEAD_LINE_BYTES = 8 * 1024 * 1024
"""Longest line read at a file's beginning, in bytes."""
_SKIPPED_FOLDERS = frozenset({"tool-results", ".git", "node_modules", REPLAY_FOLDER})
"""Folders that hold no sessions and may be large, and a replay's, which holds copies: a session
would count twice.
"""
_COMPRESSED = (b"\x28\xb5\x2f\xfd",)
_TEXT_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", *_COMPRESSED)


class SourceFolder(Struct, frozen=True):
    """A folder to search.

    If `is_named` by the caller, every file below it is inspected; otherwise only files with a
    client's endings.
    """

    folder: Path
    is_named: bool = False
    pattern: str = ""
    """The names of the files, with `*`; empty for every JSONL file that is no log of events."""


class SkippedFile(Struct, frozen=True, kw_only=True):
    """A file that does not become a thread, and why, in one clause.

    Size and time as in `Thread`, to recognise it again.
    """

    path: str
    why: str
    size: int = 0
    modified_ns: int = 0
    is_damaged: bool = False
    """Whether it should be a session by its name and cannot be read as anything."""


class SourceScan(Struct, frozen=True, kw_only=True):
    """The result of a search: new and changed threads, and skipped files."""

    threads: tuple[Rollout, ...] = ()
    skipped: tuple[SkippedFile, ...] = ()


def list_default_source_folders(
    layout: Layout, environment: Mapping[str, str]
) -> list[SourceFolder]:
    """Return where the agents and memorist keep their sessions for this user."""
    found = [
        each for name in AGENTS for each in list_agent_session_folders(name, layout, environment)
    ]
    return [*found, SourceFolder(layout.projects)]


AGENTS = ("claude-code", "codex", "copilot", "cursor", "gemini", "opencode", "pi")
"""The agents whose sessions can be found, by the names that users give."""


def list_agent_session_folders(
    agent: str, layout: Layout, environment: Mapping[str, str]
) -> tuple[SourceFolder, ...]:
    """Where one of `AGENTS` keeps its sessions for this user; for one that keeps them in a
    database, where their copies are.
    """
    home = Path(environment.get("HOME") or expand_user())
    match agent:
        case "claude-code":
            claude = Path(environment.get("CLAUDE_CONFIG_DIR") or home / ".claude")
            return (SourceFolder(claude / "projects"),)
        case "codex":
            codex = Path(environment.get("CODEX_HOME") or home / ".codex")
            return SourceFolder(codex / "sessions"), SourceFolder(codex / "archived_sessions")
        case "copilot":
            copilot = Path(environment.get("COPILOT_HOME") or home / ".copilot")
            return (SourceFolder(copilot / "session-state", pattern="*.jsonl"),)
        case "gemini":
            gemini = Path(environment.get("GEMINI_CLI_HOME") or home) / ".gemini"
            return (SourceFolder(gemini / "tmp", pattern="session-*.json*"),)
        case "pi":
            pi = Path(environment.get("PI_CODING_AGENT_DIR") or home / ".pi" / "agent")
            return (SourceFolder(pi / "sessions"),)
        case _:
            return (SourceFolder(layout.copied_sessions / agent),)


def scan_for_changed_rollouts(
    folders: Sequence[SourceFolder], known: Iterable[Rollout | SkippedFile] = ()
) -> SourceScan:
    """Search the folders.

    `known` are the threads and skipped files of earlier searches; unchanged ones are not opened.

    Of copies of one session the newest counts, of equally new ones the longest; the others are
    reported. Never raises for what it finds.
    """
    before = {each.path: each for each in known}
    remotes: dict[str, str] = {}
    new: list[Rollout | SkippedFile] = []
    unchanged: list[Rollout | SkippedFile] = []
    for path, found, why in _walk_files(folders):
        old = before.get(path)
        if found is None:
            new.append(SkippedFile(path=path, why=why))
        elif old is not None and (old.size, old.modified_ns) == (found.st_size, found.st_mtime_ns):
            unchanged.append(old)
        else:
            new.append(_inspect_file(path, found, remotes))
    same = [each for each in unchanged if isinstance(each, Rollout)]
    kept, copies = split_off_older_copies([each for each in new if isinstance(each, Rollout)], same)
    kept = _find_repositories(kept, same, remotes)
    kept = assign_repositories_seen_before(
        kept,
        [each for each in before.values() if isinstance(each, Rollout)],
        {each.cwd for each in kept if each.cwd and not is_reachable_folder(each.cwd)},
    )
    passed = [each for each in (*unchanged, *new) if isinstance(each, SkippedFile)]
    return SourceScan(threads=tuple(kept), skipped=(*passed, *copies))


def has_other_recorded_sessions(folders: Sequence[SourceFolder], *, excluding: Path) -> bool:
    """Whether there is any recorded session but the one that is kept in the folder `excluding`.

    Stops at the first one it meets.
    """
    own = os.path.realpath(excluding) + os.sep
    return any(
        found is not None and not path.startswith(own) for path, found, _ in _walk_files(folders)
    )


def load_skipped_files(path: Path) -> tuple[SkippedFile, ...]:
    """Load what earlier searches skipped; empty if that is lost, and the files are
    inspected again.
    """
    try:
        return decode_json(read_regular_file(path), as_type=tuple[SkippedFile, ...])
    except (OSError, msgspec.DecodeError):
        return ()


def save_skipped_files(files: FileSystem, path: Path, skipped: Sequence[SkippedFile]) -> None:
    """Save what was skipped, so that subagents' files and the like are not opened again.

    Raises StoreError.
    """
    files.write(path, msgspec.json.encode([each for each in skipped if each.modified_ns]))


def split_off_older_copies(
    threads: Sequence[Rollout], known: Sequence[Rollout]
) -> tuple[list[Rollout], list[SkippedFile]]:
    """Split new threads into the newest, or longest, of their id, and copies; `known` are existing
    threads.
    """
    best: dict[str, Rollout] = {}
    for thread in (*known, *threads):
        other = best.get(thread.id)
        if other is None or _copy_rank(thread) > _copy_rank(other):
            best[thread.id] = thread
    kept = [thread for thread in threads if best[thread.id] is thread]
    copies = [
        SkippedFile(
            path=thread.path,
            why=f"the same session stands newer in {best[thread.id].path}",
            size=thread.size,
            modified_ns=thread.modified_ns,
        )
        for thread in threads
        if best[thread.id] is not thread
    ]
    return kept, copies


def _copy_rank(thread: Rollout) -> tuple[int, int, bool, str]:
    return thread.updated, thread.size, "archived" not in thread.path, thread.path


def _walk_files(
    folders: Sequence[SourceFolder],
) -> Iterator[tuple[str, os.stat_result | None, str]]:
    """Yield path and stat of each regular file; for anything else no stat, and the reason."""
    seen: set[str] = set()
    for source in folders:
        if why := describe_broken_link(source.folder):
            yield str(source.folder), None, why
        root = os.path.realpath(source.folder)
        waiting = [(root, 0)]
        while waiting:
            folder, depth = waiting.pop()
            if folder in seen:
                continue
            seen.add(folder)
            listed, why = _list_folder(folder)
            if why:
                yield folder, None, why
            for entry in listed:
                if entry.is_dir(follow_symlinks=False):
                    waiting += (
                        [(entry.path, depth + 1)]
                        if depth < MAX_FOLDER_DEPTH and entry.name not in _SKIPPED_FOLDERS
                        else []
                    )
                elif entry.path == root or _is_candidate(entry.name, source):
                    yield from _walk_entry(entry, root)


def _list_folder(folder: str) -> tuple[list[os.DirEntry[str]], str]:
    """List a folder by name, or say why it cannot be listed.

    A missing one is empty, one below a file too; a file given as a folder lists itself.
    """
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name), ""
    except FileNotFoundError:
        return [], ""
    except NotADirectoryError:
        if not os.path.lexists(folder):
            return [], ""
        with os.scandir(Path(folder).parent) as entries:
            return [entry for entry in entries if entry.path == folder], ""
    except OSError as error:
        return [], f"the folder cannot be listed ({error.strerror or error})"


def _is_candidate(name: str, folder: SourceFolder) -> bool:
    if folder.is_named:
        return not name.startswith(".")
    if folder.pattern:
        return fnmatchcase(name, folder.pattern)
    return name.endswith((".jsonl", ".jsonl.zst")) and name not in (
        "events.jsonl",
        "inserts.jsonl",
        "history.jsonl",
    )


def _walk_entry(
    entry: os.DirEntry[str], root: str
) -> Iterator[tuple[str, os.stat_result | None, str]]:
    path = entry.path
    try:
        found = entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(found.st_mode):
            target = os.path.realpath(path)
            inside = target.startswith(root + os.sep)
            yield (
                path,
                None,
                "it is a link to a file that is read itself"
                if inside
                else "it is a link that leads out of the folder",
            )
        elif not stat.S_ISREG(found.st_mode):
            yield path, None, "it is no regular file"
        elif replace_surrogates(path) != path:
            yield path, None, "its path is not in UTF-8, and cannot be recorded; rename it"
        else:
            yield path, found, ""
    except FileNotFoundError:
        return  # it went while we looked
    except OSError as error:
        yield path, None, f"it cannot be looked at ({error.strerror or error})"


def _inspect_file(
    path: str, found: os.stat_result, remotes: dict[str, str]
) -> Rollout | SkippedFile:
    """Build the thread of a file from its beginning and its end; add the remote that it names to
    `remotes`.
    """
    why, is_damaged = "", False
    try:
        if found.st_size > MAX_SOURCE_BYTES:
            why = f"it is larger than {MAX_SOURCE_BYTES:,} bytes"
        elif not _may_be_text(path):
            detect_format([RawTranscriptLine(1, _read_probe(path))])
        else:
            metadata = read_session_metadata(UnpackedUtf8Lines(Path(path), _MAX_HEAD_LINE_BYTES))
            why = metadata.why_not
            if not why:
                if metadata.head.remote:
                    remotes[path] = metadata.head.remote
                return _build_thread(path, found, metadata)
    except UnreadableSession as error:
        why, is_damaged = str(error), found.st_size > 0 and not _begins_with_json(path)
    except OSError as error:
        why, is_damaged = f"it cannot be read ({error.strerror or error})", True
    return SkippedFile(
        path=path,
        why=why or "it is no session",
        size=found.st_size,
        modified_ns=found.st_mtime_ns,
        is_damaged=is_damaged,
    )


def _find_repositories(
    threads: list[Rollout], known: Sequence[Rollout], remotes: Mapping[str, str]
) -> list[Rollout]:
    """Give the sessions of Codex's removed worktrees the repository of this machine that has their
    remote, where another session is of it.
    """
    removed = {
        each.path: remotes[each.path]
        for each in threads
        if each.path in remotes
        and extract_codex_repository_name(each.cwd)
        and not is_reachable_folder(each.cwd)
    }
    if not removed:
        return threads
    roots = {each.repository for each in (*threads, *known) if each.repository}
    return assign_repositories_by_remote(
        threads, removed, {root: read_remote_identity(Path(root)) for root in sorted(roots)}
    )


def _read_probe(path: str) -> bytes:
    with Path(path).open("rb") as file:
        return file.read(_PROBE_BYTES)


def _begins_with_json(path: str) -> bool:
    """Whether the first line of a file is whole JSON, as far as it is read."""
    first, end, _ = _read_probe(path).lstrip().partition(b"\n")
    try:
        decode_json(first, as_type=object)
    except msgspec.DecodeError:
        return not end and len(first) >= _PROBE_BYTES
    return True


def _may_be_text(path: str) -> bool:
    """Tell whether a file begins as a session does: with an object, a byte order mark, or
    compressed.
    """
    first = _read_probe(path)
    return first.startswith(_TEXT_MARKS) or first.lstrip(b"\0 \t\r\n")[:1] == b"{" or b"\n" in first


def _build_thread(path: str, found: os.stat_result, metadata: SessionMetadata) -> Rollout:
    head = metadata.head
    tail = _read_tail(path, found.st_size)
    cwd = head.cwd or (find_gemini_project(Path(path)) if head.format == "gemini_cli" else "")
    newest = find_newest_time(tail)
    return Rollout(
        id=head.session or hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:32],
        path=path,
        format=cast("SessionFormat", head.format if head.format in FORMAT_TITLES else "memorist"),
        size=found.st_size,
        modified_ns=found.st_mtime_ns,
        updated=int(newest if newest is not None else found.st_mtime),
        cwd=cwd,
        repository=find_repository_root_or_folder(cwd) if cwd else "",
        branch=head.branch,
        source=metadata.source,
        first_words=metadata.first_words,
        mode=find_last_memory_mode(tail) or metadata.mode,
    )


def find_gemini_project(chat: Path) -> str:
    """The folder of the project that a chat of Gemini CLI belongs to; empty where it is not known.

    It is in a file beside the chats; before there was one, the folder was named by the digest
    of the project's path, and `projects.json` lists the paths.
    """
    for folder in chat.parents[1:4]:
        try:
            return read_regular_text_file(folder / ".project_root").strip()
        except (OSError, UnicodeDecodeError):
            if folder.parent.name == "tmp":
                return _find_listed_project(folder)
    return ""


def _find_listed_project(folder: Path) -> str:
    try:
        listed = decode_json(
            read_regular_file(folder.parent.parent / "projects.json"), as_type=_GeminiProjects
        )
    except (OSError, msgspec.DecodeError):
        return ""
    for path, name in listed.projects.items():
        digest = hashlib.sha256(path.encode("utf-8", "surrogatepass")).hexdigest()
        if folder.name in (name, digest):
            return path
    return ""


class _GeminiProjects(Struct):
    projects: dict[str, str] = {}


@lru_cache(maxsize=4096)
def find_repository_root_or_folder(cwd: str) -> str:
    """Return the root of the repository that a session's folder is part of, also where that is a
    worktree in it that was removed; the folder itself if there is none, or it is not on this
    machine.
    """
    try:
        if is_reachable_folder(cwd):
            return str(locate_root_of_recorded_folder(cwd))
        around = extract_worktree_repository(cwd)
        return find_repository_root_or_folder(around) if around else cwd
    except (OSError, ValueError):
        return cwd


def _read_tail(path: str, size: int) -> bytes:
    """Return the end of a file; of a compressed one the end of its content."""
    with Path(path).open("rb") as file:
        if file.read(4).startswith(_COMPRESSED):
            return _read_compressed_tail(path)
        file.seek(max(0, size - TAIL_BYTES))
        return file.read(TAIL_BYTES)


def _read_compressed_tail(path: str) -> bytes:
    kept: list[bytes] = []
    size = 0
    for line in UnpackedUtf8Lines(Path(path), _MAX_HEAD_LINE_BYTES):
        kept.append(line.data[-TAIL_BYTES:])
        size += len(kept[-1])
        while size > TAIL_BYTES and len(kept) > 1:
            size -= len(kept.pop(0))
    return b"".join(kept)
