"""The files and commands of a project, as far as memories name them.

Nothing is ever raised: what cannot be read counts as not there when a memory is written, and as
unchanged afterwards.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import struct
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from msgspec import Struct

from memorist.auto_memory.anchors import (
    DIGEST_HEX_DIGITS,
    MAX_ANCHORS,
    AnchorChanges,
    AnchoredFileOrCommand,
    find_named_commands,
    find_path_candidates,
    is_generated_file,
)
from memorist.core.json_decoding import decode_json
from memorist.core.lazy import lazy_module
from memorist.platforms.regular_files import read_regular_file

if TYPE_CHECKING:
    from dulwich import errors, repo
    from dulwich.index import Index
else:
    errors, repo = (lazy_module(f"dulwich.{name}") for name in ("errors", "repo"))

MAX_FILE_BYTES = 2_000_000
"""Largest file that is read for its digest; a larger one is no anchor."""
MAX_INDEX_BYTES = 20_000_000
"""Largest index of Git that is read: about 200,000 files."""
RENAMED_SHARE = 0.5
"""Share of the distinct lines of the longer of two files that both have, for one to be the other
under a new name: as in Git.
"""
MIN_COMPARED_LINES = 5
MAX_COMPARED_FILES = 100
"""Files of the same ending that are compared, first those of the same name or folder. Our choice.
"""
SUBMODULE_MODE = 0o160000
UNREADABLE = "?"
"""Stands for the digest of a file that is there and cannot be read, or that Git leaves out here."""


class _PackageScripts(Struct):
    scripts: dict[str, str] = {}


class ProjectAnchorChecker:
    """The project in the folder `project`, or in the repository around it; an empty name is no
    project, in which nothing is found.
    """

    def __init__(self, project: str) -> None:
        self._root = _find_root(project)
        self._digests: dict[str, tuple[int, int, str]] = {}
        """Digests by path, each with the modification time and the size that it was read at."""
        self._tracked: tuple[int, dict[str, str]] = (0, {})
        """Git's index: its modification time, and the blob of each path."""
        self._renamed: dict[tuple[AnchoredFileOrCommand, int], str] = {}
        """Where anchors stand that were renamed and edited, each with the index's time."""
        self._left_out: frozenset[str] = frozenset()
        """Files that a sparse checkout leaves out, and the folders of submodules."""

    def make_relative_to_project(self, path: str) -> str:
        """The path from the project's root of a file that is named from there or from the root of
        the disk; empty for one outside.
        """
        if self._root is None:
            return ""
        try:
            return (self._root / path).resolve().relative_to(self._root.resolve()).as_posix()
        except (OSError, ValueError):
            return ""

    def find_anchors(self, text: str) -> tuple[AnchoredFileOrCommand, ...]:
        """The anchors of a text: files and commands that it names and that are there."""
        if self._root is None:
            return ()
        found: dict[str, AnchoredFileOrCommand] = {}
        for name in find_path_candidates(text):
            path = self._resolve(name)
            digest = self._digest(path) if path and not is_generated_file(path) else ""
            if digest and digest != UNREADABLE:
                found[path] = AnchoredFileOrCommand("file", path, digest)
        for command in find_named_commands(text):
            if digest := self._digest_command(command):
                found[command] = AnchoredFileOrCommand("command", command, digest)
        return tuple(found.values())[:MAX_ANCHORS]

    def compare(self, anchors: Sequence[AnchoredFileOrCommand]) -> AnchorChanges:
        """What became of anchors. Those of a project that is not here count as kept."""
        if self._root is None or not anchors:
            return AnchorChanges(kept=len(anchors))
        changed: list[str] = []
        missing: list[str] = []
        moved: list[tuple[str, str]] = []
        kept = 0
        for anchor in anchors:
            digest = (
                self._digest(anchor.name)
                if anchor.kind == "file"
                else self._digest_command(anchor.name)
            )
            if digest in (anchor.digest, UNREADABLE):
                kept += 1
            elif digest:
                changed.append(anchor.name)
            elif anchor.kind == "file" and (new := self._find_moved(anchor)):
                moved.append((anchor.name, new))
                kept += 1
            elif anchor.kind == "file" and (new := self._find_renamed_and_edited(anchor)):
                changed.append(f"{anchor.name} (now {new})")
            else:
                missing.append(anchor.name)
        return AnchorChanges(
            changed=tuple(changed), missing=tuple(missing), moved=tuple(moved), kept=kept
        )

    def _resolve(self, name: str) -> str:
        """The path of a file by the name that a text gives it: from the root, or the only tracked
        one that ends so; empty for none.
        """
        if self._root is not None and (self._root / name).is_file():
            return name
        if "." not in PurePosixPath(name).name:
            return ""
        fitting = [path for path in self._read_index() if f"/{path}".endswith(f"/{name}")]
        return fitting[0] if len(fitting) == 1 else ""

    def _find_moved(self, anchor: AnchoredFileOrCommand) -> str:
        """Where a file of the same content stands now; empty where there is none, or several."""
        fitting = [
            path
            for path, blob in self._read_index().items()
            if blob.startswith(anchor.digest) and self._digest(path) == anchor.digest
        ]
        return fitting[0] if len(fitting) == 1 else ""

    def _find_renamed_and_edited(self, anchor: AnchoredFileOrCommand) -> str:
        """Where a file stands now that has most of the lines which Git recorded of this one; empty
        where there is none, or several.
        """
        tracked = self._read_index()
        key = anchor, self._tracked[0]
        if key not in self._renamed:
            old = self._read_recorded_lines(anchor.digest)
            name, suffix = PurePosixPath(anchor.name), PurePosixPath(anchor.name).suffix
            alike = [path for path in map(PurePosixPath, tracked) if path.suffix == suffix]
            alike.sort(key=lambda path: (path.name != name.name, path.parent != name.parent))
            fitting = [
                str(path)
                for path in (alike[:MAX_COMPARED_FILES] if old else ())
                if self._has_most_lines(str(path), old)
            ]
            self._renamed[key] = fitting[0] if len(fitting) == 1 else ""
        return self._renamed[key]

    def _has_most_lines(self, path: str, old: frozenset[bytes]) -> bool:
        try:
            new = _distinct_lines(read_regular_file((self._root or Path()) / path))
        except (OSError, ValueError):
            return False
        return len(new & old) >= RENAMED_SHARE * max(len(new), len(old))

    def _read_recorded_lines(self, digest: str) -> frozenset[bytes]:
        """The lines of the file of this digest in Git's objects; empty where it was not committed,
        or has too few to be known again.
        """
        try:
            with repo.Repo(str(self._root)) as repository:
                found = [*repository.object_store.iter_prefix(digest.encode())]
                blob = repository.object_store[found[0]] if len(found) == 1 else None
                lines = _distinct_lines(blob.as_raw_string()) if blob is not None else frozenset()
        except _index_errors():
            return frozenset()
        return lines if len(lines) >= MIN_COMPARED_LINES else frozenset()

    def _digest(self, path: str) -> str:
        """The digest of a file as Git counts it; empty for none."""
        if self._root is None:
            return ""
        try:
            facts = (self._root / path).stat()
            known = self._digests.get(path)
            if known is not None and known[:2] == (facts.st_mtime_ns, facts.st_size):
                return known[2]
            if facts.st_size > MAX_FILE_BYTES:
                return UNREADABLE
            data = read_regular_file(self._root / path)
        except (FileNotFoundError, NotADirectoryError):
            return UNREADABLE if self._is_not_checked_out(path) else ""
        except (OSError, ValueError):
            return UNREADABLE
        digest = _digest_blob(data)
        self._digests[path] = facts.st_mtime_ns, facts.st_size, digest
        return digest

    def _is_not_checked_out(self, path: str) -> bool:
        """Whether Git knows a file that it leaves out here: beyond a sparse checkout, or in a
        submodule that was not fetched.
        """
        self._read_index()
        names = map(str, (PurePosixPath(path), *PurePosixPath(path).parents))
        return self._root is not None and any(
            name in self._left_out and not (self._root / name / ".git").exists() for name in names
        )

    def _digest_command(self, command: str) -> str:
        """The digest of what a command is defined as; empty where it is not defined."""
        program, _, name = command.rpartition(" ")
        if program == "make":
            return self._digest_rule("Makefile", name)
        try:
            raw = read_regular_file((self._root or Path()) / "package.json")
            script = decode_json(raw, as_type=_PackageScripts).scripts.get(name)
        except (OSError, ValueError):
            return ""
        return _digest_blob(script.encode()) if script is not None else ""

    def _digest_rule(self, file: str, target: str) -> str:
        try:
            text = read_regular_file((self._root or Path()) / file).decode("utf-8", "replace")
        except OSError:
            return ""
        rule = re.search(rf"^{re.escape(target)}[ \t]*:(?!=).*(?:\n\t.*)*", text, re.MULTILINE)
        return _digest_blob(rule[0].encode()) if rule else ""

    def _read_index(self) -> dict[str, str]:
        """The blobs of Git's index by path; empty without a repository."""
        if self._root is None or not (self._root / ".git").exists():
            return {}
        try:
            with repo.Repo(str(self._root)) as repository:
                facts = Path(os.fsdecode(repository.index_path())).stat()
                if facts.st_size > MAX_INDEX_BYTES:
                    return {}
                if self._tracked[0] != facts.st_mtime_ns:
                    index = repository.open_index()
                    self._tracked = (facts.st_mtime_ns, _list_blobs(index))
                    self._left_out = _list_left_out(index)
        except _index_errors():
            return {}
        return self._tracked[1]


def _index_errors() -> tuple[type[Exception], ...]:
    """What the library raises for a damaged repository, or for none."""
    plain = OSError, ValueError, LookupError, AssertionError, struct.error
    return (*plain, errors.NotGitRepository, errors.FileFormatException)


def _list_blobs(index: Index) -> dict[str, str]:
    return {
        path.decode("utf-8", "surrogateescape"): entry.sha.decode("ascii")
        for path, entry in index.items()
        if hasattr(entry, "sha")
    }


def _list_left_out(index: Index) -> frozenset[str]:
    return frozenset(
        path.decode("utf-8", "surrogateescape").rstrip("/")
        for path, entry in index.items()
        if (mode := getattr(entry, "mode", 0)) == SUBMODULE_MODE
        or stat.S_ISDIR(mode)
        or getattr(entry, "skip_worktree", False)
    )


def _distinct_lines(data: bytes) -> frozenset[bytes]:
    return frozenset(filter(None, map(bytes.strip, data[:MAX_FILE_BYTES].split(b"\n"))))


def _digest_blob(data: bytes) -> str:
    """The first digits of the digest that Git gives a file of this content."""
    whole = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False)
    return whole.hexdigest()[:DIGEST_HEX_DIGITS]


def _find_root(project: str) -> Path | None:
    if not project:
        return None
    folder = Path(project)
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), folder)
