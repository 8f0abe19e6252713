"""Read a session file incrementally while its client writes it.

Each reading starts where the last turn but one ended, so that its cost does not depend on the
file's length.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path

from memorist.errors import UnreadableSession
from memorist.formats import claude_code_jsonl, codex_rollout_jsonl, memorist_jsonl
from memorist.formats.recognise import recognise
from memorist.formats.recorded import Head, Line
from memorist.hooks.news import News, news
from memorist.store.lines import LINE_LIMIT

WHOLE_BYTES = 4 * 1024 * 1024
"""A file up to this size is read in full each time: it takes a few hundredths of a second, and no
rewind is missed. Our choice.
"""
FIRST_LINES = 200
"""Lines that are searched for the session's header."""
NOTHING = News(head=None, fresh=(), live=(), skipped=0, whole=False)
READERS = {"claude_code": claude_code_jsonl.read, "codex": codex_rollout_jsonl.read, "memorist": memorist_jsonl.read}
_BACK = b'"thread_rolled_back"'
"""A rollback of turns concerns lines that were read before."""


class _Stretch:
    """Lines from an offset on; earlier lines are yielded empty, so that every line keeps its
    number.
    """

    def __init__(self, path: Path, lines: int, start: int) -> None:
        self._path = path
        self._lines = lines
        self._start = start
        self.count = lines
        self.end = start
        self.back = False

    def __iter__(self) -> Iterator[Line]:
        self.count, self.end = self._lines, self._start
        for number in range(1, self._lines + 1):
            yield Line(number, b"")
        try:
            with self._path.open("rb") as file:
                file.seek(self._start)
                while (data := file.readline(LINE_LIMIT)).endswith(b"\n"):
                    self.count += 1
                    self.end += len(data)
                    self.back = self.back or _BACK in data
                    yield Line(self.count, data)
        except OSError as error:
            raise UnreadableSession(f"{self._path} cannot be read: {error.strerror or error}") from error


class Tail:
    """One session file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._format = ""
        self._from = self._turn = self._read = (0, 0)
        """Line and byte offsets: where the next reading begins, where the newest turn began, and
        how far the file was read.
        """

    @property
    def is_there(self) -> bool:
        """Whether there is a regular file.

        A pipe or terminal does not count: opening it would block all sessions.
        """
        try:
            return self.path.is_file()
        except OSError:  # such as a name that is too long
            return False

    @property
    def grown(self) -> int:
        """Bytes since the last reading."""
        return max(0, self._size - self._read[1])

    @property
    def _size(self) -> int:
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    def read(self, known: Collection[str], *, whole: bool = False) -> News:
        """Return the new records.

        `from_start` reads the whole file. Raises UnreadableSession if it is no session file.
        """
        start = self._from if not whole and WHOLE_BYTES < self._read[1] <= self._size else (0, 0)
        stretch = _Stretch(self.path, *start)
        if next(iter(stretch), None) is None:
            return NOTHING
        self._format = self._format or recognise(stretch)
        found = news(READERS[self._format](stretch), known, whole=start == (0, 0))
        if stretch.back and start != (0, 0):
            return self.read(known, whole=True)
        self._read = stretch.count, stretch.end
        return found

    def beginning(self) -> str:
        """The folder that the session started in; empty if the file does not say.

        Raises UnreadableSession.
        """
        stretch = _Stretch(self.path, 0, 0)
        self._format = recognise(stretch)
        head = next(READERS[self._format](list(islice(stretch, FIRST_LINES))))
        return head.cwd if isinstance(head, Head) else ""

    @property
    def format(self) -> str:
        """The format of the file; empty before the first reading."""
        return self._format

    def turn_ended(self) -> None:
        """Let later readings begin at the start of the turn that just ended."""
        self._from, self._turn = self._turn, self._read
