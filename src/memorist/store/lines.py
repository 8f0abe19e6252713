"""Lines of a recorded session file, streamed in bounded memory."""

from __future__ import annotations

import codecs
import io
import os
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from itertools import count, repeat
from pathlib import Path
from typing import Protocol, cast

import zstandard

from memorist.errors import UnreadableSession
from memorist.formats.recorded import Line

LINE_LIMIT = 64 * 1024 * 1024
"""Bytes of the longest line that is taken; Claude Code's own readers stop at 50 to 100 MB of a file (claude-code.md section 12.7)."""

_BUFFER = 256 * 1024
"""Large enough to hold most lines whole; a larger one costs more page faults than it saves reads."""
_UNPACKED_BUFFER = 16 * 1024
"""Small: what a damaged file still gives is lost by this much at most."""
_ZSTANDARD = b"\x28\xb5\x2f\xfd"
_WIDE = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""Byte order marks, the longer first, since one begins with another."""


class _Source(Protocol):
    def readline(self, size: int = -1, /) -> bytes: ...

    def __iter__(self) -> Iterator[bytes]: ...


class LineFile:
    """The lines of a file, as `memorist.formats.recorded.Lines`: every `iter()` opens it again at its start.

    A line comes with its end of line, as it stands; cutting it off would copy every line once more. Zstandard files are unpacked, a
    UTF-8 byte order mark is dropped, UTF-16 and UTF-32 with a mark become UTF-8. A line over `limit` bytes comes with `problem` set,
    and is not held in memory.
    """

    def __init__(self, path: Path, limit: int = LINE_LIMIT) -> None:
        self.path = path
        self.limit = limit

    def __iter__(self) -> Iterator[Line]:
        """Raises UnreadableSession, at the first line, when the file cannot be opened, and later when the disk fails."""
        with ExitStack() as stack:
            try:
                source, bounded = _open(self.path, self.limit, stack)
            except (OSError, zstandard.ZstdError) as error:
                raise UnreadableSession(_unopened(self.path, error)) from error
            try:
                yield from _lines(source) if bounded else _bounded_lines(source, self.limit)
            except OSError as error:
                raise UnreadableSession(f"{self.path} could not be read to its end: {error.strerror or error}.") from error


def _open(path: Path, limit: int, stack: ExitStack) -> tuple[_Source, bool]:
    """Where lines come from, and whether the source is too small for a line over the limit."""
    raw = stack.enter_context(io.FileIO(path))
    stream = stack.enter_context(io.BufferedReader(raw, _BUFFER))
    start = raw.read(4) or b""  # a look through the buffer would copy all of it
    raw.seek(0)
    bounded = os.fstat(raw.fileno()).st_size <= limit
    if start == _ZSTANDARD:
        unpacked = cast("io.FileIO", zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True, closefd=False))
        stream = stack.enter_context(io.BufferedReader(unpacked, _UNPACKED_BUFFER))
        start, bounded = stream.peek(4)[:4], False
    for mark, encoding in _WIDE:
        if start.startswith(mark):
            return _Recoded(stack.enter_context(io.TextIOWrapper(stream, encoding, errors="replace", newline="\n"))), False
    return stream, bounded


class _Recoded:
    """Lines of a text stream, as UTF-8."""

    def __init__(self, text: io.TextIOWrapper) -> None:
        self._text = text

    def readline(self, size: int = -1, /) -> bytes:
        return self._text.readline(size).encode("utf-8", "replace")

    def __iter__(self) -> Iterator[bytes]:
        return (line.encode("utf-8", "replace") for line in self._text)


def _lines(source: _Source) -> Iterator[Line]:
    """The lines of a source that is known to be small; nothing runs in Python for each of them."""
    first = source.readline()
    if first:
        yield Line(1, first.removeprefix(codecs.BOM_UTF8))
    yield from map(partial(tuple.__new__, Line), zip(count(2), source, repeat(""), strict=False))


def _bounded_lines(source: _Source, limit: int) -> Iterator[Line]:
    number = 0
    read, line = source.readline, partial(tuple.__new__, Line)
    try:
        while data := read(limit + 2):
            number += 1
            if len(data) > limit and len(data.rstrip(b"\r\n")) > limit:
                _discard(source, data)
                yield Line(number, b"", f"it is longer than {limit:,} bytes")
            else:
                yield line((number, data if number > 1 else data.removeprefix(codecs.BOM_UTF8), ""))
    except zstandard.ZstdError:
        yield Line(number + 1, b"", "the compressed data is damaged from here on")


def _discard(source: _Source, data: bytes) -> None:
    while data and not data.endswith(b"\n"):
        data = source.readline(_BUFFER)


def _unopened(path: Path, error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return f"There is no file {path}; check the path."
    if isinstance(error, IsADirectoryError):
        return f"{path} is a folder; give a session file inside it."
    if isinstance(error, PermissionError):
        return f"{path} may not be read: permission is denied; give yourself access to it."
    if isinstance(error, zstandard.ZstdError):
        return f"{path} is a damaged compressed file; give a sound copy."
    return f"{path} cannot be read: {getattr(error, 'strerror', None) or error}."
