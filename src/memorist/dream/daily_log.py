"""Daily logs: short append-only lines, one file a day, as a source for dreams (DR-6)."""

from __future__ import annotations

from memorist.core.text_encoding import replace_surrogates
from memorist.core.utc_time import format_utc_timestamp
from memorist.errors import InputError
from memorist.ports import FileSystem
from memorist.safety.hidden_characters import strip_hidden_characters
from memorist.safety.secrets import redact
from memorist.store.home_layout import MemoryLayout
from memorist.store.process_lock import hold_lock

MAX_LOG_LINE_CHARACTERS = 500
"""Longest line in characters."""
LOG_DAYS = 3
"""Days that a dream reads: today's log and the two most recent before it (Claude Code).
"""
MAX_LOG_CHARACTERS = 60_000
"""Newest characters of a day's log that a dream reads."""


class DailyLogs:
    """The logs of one project, `logs/YYYY/MM/YYYY-MM-DD.md` next to its memory; days are UTC."""

    def __init__(self, where: MemoryLayout, files: FileSystem) -> None:
        self._where = where
        self._folder = where.dream_state / "logs"
        self._files = files

    def add_line(self, text: str, at: float) -> str:
        """Add a line with its time; return it as written: one line, without secrets and invisible
        characters.

        Existing lines are never changed. Raises InputError for a text without any word, StoreError.
        """
        said = redact(strip_hidden_characters(" ".join(replace_surrogates(text).split()))).text
        if not said.strip():
            raise InputError("a line of the log needs some text")
        time = format_utc_timestamp(at)
        if not time:
            raise InputError("the clock shows a time outside the calendar; set it")
        if len(said) > MAX_LOG_LINE_CHARACTERS:
            said = said[: MAX_LOG_LINE_CHARACTERS - 1].rstrip() + "…"
        line = f"- {time[11:16]} {said}"
        with hold_lock(self._where.lock):
            self._files.append(
                self._folder / time[:4] / time[5:7] / f"{time[:10]}.md", (line + "\n").encode()
            )
        return line

    def read_newest_logs(self, days: int = LOG_DAYS) -> tuple[tuple[str, str], ...]:
        """Return day and text of the newest logs, newest first; of a long one its end."""
        try:
            paths = [path for path in self._files.walk(self._folder) if path.suffix == ".md"]
        except FileNotFoundError:
            return ()
        newest = sorted(paths, key=lambda path: path.name, reverse=True)[:days]
        return tuple(
            (path.stem, self._files.read(path).decode("utf-8", "replace")[-MAX_LOG_CHARACTERS:])
            for path in newest
        )
