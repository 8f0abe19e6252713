"""The memory folder of past sessions: read whole, refusing every link (RO-5, SF-4)."""

from __future__ import annotations

import codecs
from pathlib import Path

from msgspec import Struct

from memorist.auto_memory.interop.codex_memory import NOTES_FOLDER
from memorist.errors import StoreError
from memorist.ports import FileSystem
from memorist.rollouts.handbook import HANDBOOK_FILE
from memorist.rollouts.summary_composition import SUMMARY_FILE
from memorist.rollouts.user_notes import build_note_file
from memorist.store.disk_files import read_if_exists

MAX_FOLDER_FILES = 20_000
"""Upper bound of files below the folder: 256 sessions have a summary each, and skills and notes
come to hundreds.
"""
MAX_FILE_BYTES = 16_000_000
"""Largest file that is read. Our choice: all raw memories of a full folder come to 3 MB, and a
handbook of 7 MB is consolidated in half a second.
"""


class MemoryFolderContents(Struct, frozen=True):
    """The Markdown files of the folder by path, and the skipped ones with the reason."""

    files: dict[str, bytes]
    skipped: tuple[str, ...] = ()


def read_memory_folder(files: FileSystem, folder: Path) -> MemoryFolderContents:
    """Read the files of the folder, without hidden ones, and without what the user wrote in another
    encoding than UTF-8; empty if it is missing.

    Raises StoreError if it is a link or contains one.
    """
    if not is_existing_folder(files, folder):
        return MemoryFolderContents({})
    found = files.scan(folder, limit=MAX_FOLDER_FILES)
    links = [name for name, each in found if each.is_link]
    if links:
        shown = ", ".join(links[:3])
        raise StoreError(
            f"there are links in {folder} ({shown}); remove them: memories are not read or "
            f"written through links"
        )
    kept: dict[str, bytes] = {}
    passed = []
    for name, each in found:
        if not name.endswith(".md") or not each.is_file:
            continue
        if each.size > MAX_FILE_BYTES:
            passed.append(
                f"{name}: {each.size:,} bytes, more than are read ({MAX_FILE_BYTES:,}); shorten it"
            )
            continue
        data = read_if_exists(files, folder / name)
        if data is not None and _is_written_by_user(name) and not _is_utf8(data):
            passed.append(f"{name}: it is not UTF-8 text; save it as UTF-8")
        elif data is not None:
            kept[name] = data
    return MemoryFolderContents(kept, tuple(passed))


def _is_written_by_user(name: str) -> bool:
    """Whether a user may have written in it what is nowhere else."""
    return name in (HANDBOOK_FILE, SUMMARY_FILE) or name.startswith(NOTES_FOLDER)


def _is_utf8(data: bytes) -> bool:
    """Whether a file is text in UTF-8, apart from an end that a power cut took or filled with zero
    bytes. In another encoding, as PowerShell and Notepad write, no entry of it would be recognised,
    and each would count as taken out.
    """
    text = data.rstrip(b"\0")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(text)
    except UnicodeDecodeError:
        return False
    return b"\0" not in text


def is_existing_folder(files: FileSystem, folder: Path) -> bool:
    """Tell whether the folder exists. Raises StoreError if it is a link or a file."""
    facts = files.lstat(folder)
    if facts is not None and (facts.is_link or not facts.is_folder):
        raise StoreError(
            f"{folder} is no folder of its own but a link or a file; move it away, so that "
            f"memories are written nowhere else"
        )
    return facts is not None


def write_user_note(
    files: FileSystem, folder: Path, text: str, *, now: str, group_title: str
) -> str:
    """Write a note that the user asked for, shown from now on; return its path.

    `now` is RFC 3339. Raises StoreError.
    """
    path, data = build_note_file(text, now=now, group_title=group_title)
    stem = path.removesuffix(".md")
    number = 1
    while not files.create(folder / path, data):
        number += 1
        path = f"{stem}-{number}.md"
    return path
