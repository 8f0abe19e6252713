"""Reading a recorded session line by line: plain, compressed, or in another encoding."""

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

from memorist.core.text_encoding import detect_utf16_or_utf32_mark
from memorist.errors import UnreadableSession
from memorist.formats.transcript_format import RawTranscriptLine, TranscriptEntry, read_session

MAX_LINE_BYTES = 64 * 1024 * 1024
"""Bytes of the longest accepted line; Claude Code's own readers stop at 50 to 100 MB of a file
(Claude Code).
"""


_READ_BUFFER = 256 * 1024
"""Large enough to hold most lines whole; a larger buffer costs more page faults than it saves
reads.
"""


_UNPACKED_BUFFER = 16 * 1024
"""Small: at most this much of a damaged file's readable data is lost."""


_ZSTANDARD = b"\x28\xb5\x2f\xfd"


class _LineSource(Protocol):
    def readline(self, size: int = -1, /) -> bytes: ...

    def __iter__(self) -> Iterator[bytes]: ...


class UnpackedUtf8Lines:
    """The lines of a file, as `memorist.formats.transcript_format.Lines`: every `iter()` opens it
    again at its start.

    A line comes with its end of line, as it stands; cutting it off would copy every line once more.
    Zstandard files are unpacked, a UTF-8 byte order mark is dropped, UTF-16 and UTF-32 with a mark
    become UTF-8. A line over `limit` bytes comes with `problem` set, and is not held in memory.
    """

    def __init__(self, path: Path, limit: int = MAX_LINE_BYTES) -> None:
        self.path = path
        self.limit = limit

    def __iter__(self) -> Iterator[RawTranscriptLine]:
        """Raises UnreadableSession, at the first line, when the file cannot be opened, and later
        when the disk fails.
        """
        with ExitStack() as stack:
            try:
                source, bounded = _open_source(self.path, self.limit, stack)
            except (OSError, zstandard.ZstdError) as error:
                raise UnreadableSession(_explain_open_error(self.path, error)) from error
            try:
                yield from (
                    _iterate_lines(source)
                    if bounded
                    else _iterate_bounded_lines(source, self.limit)
                )
            except OSError as error:
                raise UnreadableSession(
                    f"{self.path} could not be read to its end: {error.strerror or error}."
                ) from error


def _open_source(path: Path, limit: int, stack: ExitStack) -> tuple[_LineSource, bool]:
    """The source of the lines, and whether it is too small for a line over the limit."""
    raw = stack.enter_context(io.FileIO(path))
    stream = stack.enter_context(io.BufferedReader(raw, _READ_BUFFER))
    start = raw.read(4) or b""  # a peek at the buffered reader would copy its whole buffer
    raw.seek(0)
    bounded = os.fstat(raw.fileno()).st_size <= limit
    if start == _ZSTANDARD:
        unpacked = cast(
            "io.FileIO",
            zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True, closefd=False),
        )
        stream = stack.enter_context(io.BufferedReader(unpacked, _UNPACKED_BUFFER))
        start, bounded = stream.peek(4)[:4], False
    if encoding := detect_utf16_or_utf32_mark(start):
        text = io.TextIOWrapper(stream, encoding, errors="replace", newline="\n")
        return _RecodedLines(stack.enter_context(text)), False
    return stream, bounded


class _RecodedLines:
    """Lines of a text stream, as UTF-8."""

    def __init__(self, text: io.TextIOWrapper) -> None:
        self._text = text

    def readline(self, size: int = -1, /) -> bytes:
        return self._text.readline(size).encode("utf-8", "replace")

    def __iter__(self) -> Iterator[bytes]:
        return (line.encode("utf-8", "replace") for line in self._text)


def _iterate_lines(source: _LineSource) -> Iterator[RawTranscriptLine]:
    """The lines of a source known to be small; no Python code runs per line."""
    first = source.readline()
    if first:
        yield RawTranscriptLine(1, first.removeprefix(codecs.BOM_UTF8))
    yield from map(
        partial(tuple.__new__, RawTranscriptLine), zip(count(2), source, repeat(""), strict=False)
    )


def _iterate_bounded_lines(source: _LineSource, limit: int) -> Iterator[RawTranscriptLine]:
    number = 0
    read, line = source.readline, partial(tuple.__new__, RawTranscriptLine)
    try:
        while data := read(limit + 2):
            number += 1
            if len(data) > limit and len(data.rstrip(b"\r\n")) > limit:
                _skip_line(source, data)
                yield RawTranscriptLine(number, b"", f"it is longer than {limit:,} bytes")
            else:
                yield line((number, data if number > 1 else data.removeprefix(codecs.BOM_UTF8), ""))
    except zstandard.ZstdError:
        yield RawTranscriptLine(number + 1, b"", "the compressed data is damaged from here on")


def _skip_line(source: _LineSource, data: bytes) -> None:
    while data and not data.endswith(b"\n"):
        data = source.readline(_READ_BUFFER)


def _explain_open_error(path: Path, error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return f"There is no file {path}; check the path."
    if isinstance(error, IsADirectoryError):
        return f"{path} is a folder; give a session file inside it."
    if isinstance(error, PermissionError):
        return f"{path} may not be read: permission is denied; give yourself access to it."
    if isinstance(error, zstandard.ZstdError):
        return f"{path} is a damaged compressed file; give a sound copy."
    return f"{path} cannot be read: {getattr(error, 'strerror', None) or error}."


def read_transcript(path: Path) -> Iterator[TranscriptEntry]:
    """The entries of a transcript, in order; nothing where the file is missing or empty. Raises
    UnreadableSession.
    """
    if path.exists() and path.stat().st_size:
        yield from read_session(UnpackedUtf8Lines(path))
