"""Read one instruction file as text, with the files that it imports, or report why not. No file
makes a session fail.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from msgspec import Struct

from memorist.core.markdown import blank_code_spans, mark_fenced_code, split_lines_at_line_feeds
from memorist.core.text_encoding import detect_utf16_or_utf32_mark
from memorist.errors import StoreError
from memorist.platforms.user_home import expand_user
from memorist.ports import FileInfo, ReadableFileSystem

# Imports (`@path`) and comments of an instruction file.

_IMPORT = re.compile(r"@(?<![^\s(\[]@)((?:[^\s\\]|\\ ){1,1000})")
"""Matches at the start, or after a space or an opening bracket.

The `@` comes first in the pattern so that a search jumps from one `@` to the next.
"""
_TRAILING_PUNCTUATION = ".,;:!?)]}\"'*_"


def find_instruction_imports(text: str) -> tuple[str, ...]:
    """Return the imported paths, in order and without duplicates.

    Code spans and fenced blocks are ignored.
    """
    if "@" not in text:
        return ()
    found: dict[str, None] = {}
    for prose in _prose(text):
        for match in _IMPORT.finditer(blank_code_spans(prose)):
            path = match[1].partition("#")[0].replace("\\ ", " ").rstrip(_TRAILING_PUNCTUATION)
            if path and path[0] not in "@#":
                found[path] = None
    return tuple(found)


def is_path_like(name: str) -> bool:
    """Tell whether the name is meant as a file rather than a user or a package: only then is a
    missing one reported.
    """
    last = name.rpartition("/")[2]
    return name.startswith(("/", "~/", "./", "../")) or "." in last[1:]


def resolve_instruction_import(name: str, importer: Path) -> Path:
    """The file that an import names: from the home folder, or from the importing file's folder."""
    wanted = Path(name)
    return Path(expand_user(name)) if name.startswith("~/") else importer.parent / wanted


def find_instruction_import_problem(name: str, depth: int, hops: int, *, exists: bool) -> str:
    """Why an import at this `depth` is not followed; empty where it is, or is no path at all.
    `hops` is the longest chain of imports (`context.import_depth`).
    """
    if depth >= hops:
        return f"it is more than {hops} imports away" if exists else ""
    return "it is not there" if not exists and is_path_like(name) else ""


def _fenced_blocks(text: str) -> Iterator[tuple[bool, str]]:
    """Split the text into stretches, each with whether it is fenced code."""
    for fenced, lines in groupby(
        mark_fenced_code(split_lines_at_line_feeds(text)), key=itemgetter(1)
    ):
        yield fenced, "".join(line for line, _ in lines)


def _prose(text: str) -> Iterator[str]:
    return (block for fenced, block in _fenced_blocks(text) if not fenced)


def strip_html_comments(text: str) -> str:
    """Remove HTML comments that begin a line; those in fenced code, within a line, and unclosed
    ones stay.
    """
    if "<!--" not in text:
        return text
    return "".join(
        block if fenced else _strip_prose_comments(block) for fenced, block in _fenced_blocks(text)
    )


def _strip_prose_comments(text: str) -> str:
    kept: list[str] = []
    done = 0
    for at in (match.start() for match in re.finditer(r"^ {0,3}<!--", text, re.MULTILINE)):
        if at < done:
            continue
        end = text.find("-->", at)
        if end < 0:
            break
        kept.append(text[done:at])
        done = end + 3
        if text[done : done + 1] == "\n":
            done += 1
    return "".join([*kept, text[done:]])


_BINARY_PROBE_BYTES = 8_192
"""Bytes in which a NUL marks a binary file (git's own rule)."""


class InstructionFileReadResult(Struct, frozen=True):
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
) -> InstructionFileReadResult:
    """Read a file as text. With `inside`, its real path must lie in one of those real folders.

    With `whole`, a file of more than `limit` bytes is left out; without, its first `limit` bytes
    are read. Only regular files are opened.
    """
    try:
        facts = files.lstat(path)
        if facts is None:
            return InstructionFileReadResult()
        real = real_paths.resolve_file(path, facts)
        if real != path and (facts := files.lstat(real)) is None:
            return InstructionFileReadResult(problem="its link leads nowhere")
        problem = _find_problem(real, facts, limit if whole else 0, inside)
        if problem:
            return InstructionFileReadResult(real, problem=problem)
        return _read_file(files, real, facts, limit)
    except FileNotFoundError:
        return InstructionFileReadResult()
    except (StoreError, ValueError) as error:
        return InstructionFileReadResult(problem=str(error))


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
) -> InstructionFileReadResult:
    data = files.read(real, limit=limit)
    if encoding := detect_utf16_or_utf32_mark(data):
        return InstructionFileReadResult(
            real,
            data.decode(encoding, "replace").encode("utf-8", "replace"),
            (f"it is {encoding.upper()}, and was read as such",),
            size=facts.size,
        )
    data = data.removeprefix(codecs.BOM_UTF8)
    if b"\0" in data[:_BINARY_PROBE_BYTES]:
        return InstructionFileReadResult(real, problem="it is a binary file")
    try:
        cut = codecs.getincrementaldecoder("utf-8")().decode(data, final=len(data) >= facts.size)
        return InstructionFileReadResult(real, cut.encode(), size=facts.size)
    except UnicodeDecodeError as error:
        read = data.decode("utf-8", "replace").encode()
        return InstructionFileReadResult(
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
