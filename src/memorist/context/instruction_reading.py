"""Read one instruction file as text, or report why not. No file makes a session fail."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from memorist.core.text_analysis import find_wide_encoding
from memorist.errors import StoreError
from memorist.ports import FileInfo, ReadableFileSystem

_BINARY_PROBE_BYTES = 8_192
"""Bytes in which a NUL marks a binary file (git's own rule)."""


class InstructionReadResult(Struct, frozen=True):
    """The result of reading.

    If the file was refused only `problem` is set; if it does not exist everything is empty.
    """

    real: Path | None = None
    """Its path with all links followed."""
    data: bytes = b""
    """UTF-8."""
    remarks: tuple[str, ...] = ()
    problem: str = ""
    size: int = 0
    """Size of the file in bytes."""


class RealPathCache:
    """Cache of real paths for one pass over a file system: each folder is resolved once, however
    many files it holds.
    """

    def __init__(self, files: ReadableFileSystem) -> None:
        self._files = files
        self._folders: dict[Path, Path] = {}

    def resolve_folder(self, path: Path) -> Path:
        """Same as `ReadableFileSystem.resolve`, for a folder."""
        found = self._folders.get(path)
        if found is None:
            found = self._folders[path] = self._files.resolve(path)
            if found == path:  # no link leads to it, and so none to what it lies in
                for above in path.parents:
                    if self._folders.setdefault(above, above) is not above:
                        break
        return found

    def resolve_file(self, path: Path, facts: FileInfo) -> Path:
        """Same as `ReadableFileSystem.resolve`, for a name with these facts."""
        if facts.is_link or path.name == "..":
            return self._files.resolve(path)
        folder = self.resolve_folder(path.parent)
        return path if folder == path.parent else folder / path.name


def read_instruction_text(
    files: ReadableFileSystem,
    real_paths: RealPathCache,
    path: Path,
    *,
    limit: int,
    inside: Sequence[Path] = (),
    whole: bool = True,
) -> InstructionReadResult:
    """Read a file as text. With `inside`, its real path must lie in one of those real folders.

    With `whole`, a file of more than `limit` bytes is left out; without, its first `limit` bytes
    are read. Only regular files are opened.
    """
    try:
        facts = files.lstat(path)
        if facts is None:
            return InstructionReadResult()
        real = real_paths.resolve_file(path, facts)
        if real != path and (facts := files.lstat(real)) is None:
            return InstructionReadResult(problem="its link leads nowhere")
        problem = _find_problem(real, facts, limit if whole else 0, inside)
        return (
            InstructionReadResult(real, problem=problem)
            if problem
            else _read_file(files, real, facts, limit)
        )
    except FileNotFoundError:
        return InstructionReadResult()
    except (StoreError, ValueError) as error:
        return InstructionReadResult(problem=str(error))


def _find_problem(real: Path, facts: FileInfo, limit: int, inside: Sequence[Path]) -> str:
    if inside and not any(real.is_relative_to(folder) for folder in inside):
        return f"it lies outside the project, at {real}; context.outside = true allows that"
    if not facts.is_file:
        return "it is no ordinary file"
    if limit and facts.size > limit:
        return f"it has {facts.size:,} bytes, more than {limit:,}"
    return ""


def _read_file(
    files: ReadableFileSystem, real: Path, facts: FileInfo, limit: int
) -> InstructionReadResult:
    data = files.read(real, limit=limit)
    if encoding := find_wide_encoding(data):
        return InstructionReadResult(
            real,
            data.decode(encoding, "replace").encode("utf-8", "replace"),
            (f"it is {encoding.upper()}, and was read as such",),
            size=facts.size,
        )
    data = data.removeprefix(codecs.BOM_UTF8)
    if b"\0" in data[:_BINARY_PROBE_BYTES]:
        return InstructionReadResult(real, problem="it is a binary file")
    try:
        cut = codecs.getincrementaldecoder("utf-8")().decode(data, final=len(data) >= facts.size)
        return InstructionReadResult(real, cut.encode(), size=facts.size)
    except UnicodeDecodeError as error:
        read = data.decode("utf-8", "replace").encode()
        return InstructionReadResult(
            real,
            read,
            (f"it is no UTF-8 (byte {error.start:,}); what could not be read is marked",),
            size=facts.size,
        )


def find_project_root(files: ReadableFileSystem, folder: Path, markers: Sequence[str]) -> Path:
    """Return the nearest ancestor (or the folder itself) that holds a marker; the folder itself if
    none does.
    """
    for above in (folder, *folder.parents):
        for marker in markers:
            try:
                if files.lstat(above / marker) is not None:
                    return above
            except StoreError:
                continue
    return folder
