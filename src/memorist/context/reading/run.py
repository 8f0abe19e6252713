"""Read one instruction file as text, or report why not. No file makes a session fail."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from memorist.errors import StoreError
from memorist.ports import FileFacts, ReadableFiles

_BINARY = 8_192
"""Bytes in which a NUL marks a binary file (git's own rule)."""
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class Read(Struct, frozen=True):
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


class RealPaths:
    """Cache of real paths for one pass over a file system: each folder is resolved once, however
    many files it holds.
    """

    def __init__(self, files: ReadableFiles) -> None:
        self._files = files
        self._folders: dict[Path, Path] = {}

    def folder(self, path: Path) -> Path:
        """Same as `ReadableFiles.resolve`, for a folder."""
        found = self._folders.get(path)
        if found is None:
            found = self._folders[path] = self._files.resolve(path)
            if found == path:  # no link leads to it, and so none to what it lies in
                for above in path.parents:
                    if self._folders.setdefault(above, above) is not above:
                        break
        return found

    def of(self, path: Path, facts: FileFacts) -> Path:
        """Same as `ReadableFiles.resolve`, for a name with these facts."""
        if facts.is_link or path.name == "..":
            return self._files.resolve(path)
        folder = self.folder(path.parent)
        return path if folder == path.parent else folder / path.name


def read_text(
    files: ReadableFiles, real_paths: RealPaths, path: Path, *, limit: int, inside: Sequence[Path] = (), whole: bool = True
) -> Read:
    """Read a file as text. With `inside`, its real path must lie in one of those real folders.

    With `whole`, a file of more than `limit` bytes is left out; without, its first `limit` bytes
    are read. Only regular files are opened.
    """
    try:
        facts = files.facts(path)
        if facts is None:
            return Read()
        real = real_paths.of(path, facts)
        if real != path and (facts := files.facts(real)) is None:
            return Read(problem="its link leads nowhere")
        problem = _problem(real, facts, limit if whole else 0, inside)
        return Read(real, problem=problem) if problem else _read(files, real, facts, limit)
    except FileNotFoundError:
        return Read()
    except (StoreError, ValueError) as error:
        return Read(problem=str(error))


def _problem(real: Path, facts: FileFacts, limit: int, inside: Sequence[Path]) -> str:
    if inside and not any(real.is_relative_to(folder) for folder in inside):
        return f"it lies outside the project, at {real}; context.outside = true allows that"
    if not facts.is_file:
        return "it is no ordinary file"
    if limit and facts.size > limit:
        return f"it has {facts.size:,} bytes, more than {limit:,}"
    return ""


def _read(files: ReadableFiles, real: Path, facts: FileFacts, limit: int) -> Read:
    data = files.read(real, limit=limit)
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            text = data.decode(encoding, "replace")
            return Read(real, text.encode("utf-8", "replace"), (f"it is {encoding.upper()}, and was read as such",), size=facts.size)
    data = data.removeprefix(codecs.BOM_UTF8)
    if b"\0" in data[:_BINARY]:
        return Read(real, problem="it is a binary file")
    try:
        cut = codecs.getincrementaldecoder("utf-8")().decode(data, final=len(data) >= facts.size)
        return Read(real, cut.encode(), size=facts.size)
    except UnicodeDecodeError as error:
        read = data.decode("utf-8", "replace").encode()
        return Read(real, read, (f"it is no UTF-8 (byte {error.start:,}); what could not be read is marked",), size=facts.size)


def project_root(files: ReadableFiles, folder: Path, markers: Sequence[str]) -> Path:
    """Return the nearest ancestor (or the folder itself) that holds a marker; the folder itself if
    none does.
    """
    for above in (folder, *folder.parents):
        for marker in markers:
            try:
                if files.facts(above / marker) is not None:
                    return above
            except StoreError:
                continue
    return folder
