"""Looking flags up in the background: what is asked for is answered at once from what was found last, however old that is (FG-2)."""

from __future__ import annotations

import json
import threading
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Protocol, Self

from memorist.errors import SettingsError
from memorist.flags.settings import FlagsSettings
from memorist.flags.values import Section, overridden

REFRESH_SECONDS = FlagsSettings().refresh_seconds


class Source(Protocol):
    """Where flags come from. `read` may take as long as it likes and may raise: it runs in the background only."""

    def read(self) -> Mapping[str, object]:
        """Every flag that is set, by name."""
        ...


class MemorySource:
    """Flags in memory; the default, with none set. Change `values` at any time."""

    def __init__(self, values: Mapping[str, object] | None = None) -> None:
        self.values: dict[str, object] = dict(values or {})

    def read(self) -> Mapping[str, object]:
        """The values as they are now."""
        return dict(self.values)


class FileSource:
    """Flags in a TOML or JSON file (`.json`), read anew when it changed: names with dots or tables of them. No file sets no flag."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._values: dict[str, object] = {}

    def read(self) -> Mapping[str, object]:
        """The flags. Raises SettingsError where the file cannot be read or is neither; the flags found before then stay in force."""
        try:
            about = self._path.stat()
        except (FileNotFoundError, NotADirectoryError):
            self._seen, self._values = None, {}
            return {}
        except OSError as error:
            raise SettingsError(f"the flags file {self._path} cannot be read: {error}") from error
        now = (about.st_mtime_ns, about.st_size, about.st_ino)
        if now != self._seen:
            self._values = _flat(_parsed(self._path))
            self._seen = now
        return dict(self._values)


def _parsed(path: Path) -> dict[str, object]:
    try:
        text = path.read_text("utf-8")
        parsed = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise SettingsError(f"the flags file {path} cannot be read: {error}") from error
    if not isinstance(parsed, dict):
        raise SettingsError(f"the flags file {path} holds no object of names and values")
    return parsed


def _flat(tree: Mapping[str, object], lead: str = "") -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{lead}{key}.")
        else:
            found[f"{lead}{key}"] = value
    return found


def file_source(settings: FlagsSettings) -> FileSource | None:
    """The file that the settings name; None where they name none. Raises SettingsError for a relative path: it would mean another file in each folder."""
    if not settings.file:
        return None
    try:
        path = Path(settings.file).expanduser()
    except RuntimeError as error:
        raise SettingsError(f"flags.file is {settings.file!r}, whose home folder is not known; give an absolute path") from error
    if not path.is_absolute():
        raise SettingsError(f"flags.file is {settings.file!r}; give a path that is absolute or begins with ~/")
    return FileSource(path)


class Flags:
    """The flags as last found. No call waits for the source: before its first answer no flag is set, and while it hangs the old values stay.

    Without a source no flag is ever set, and nothing runs in the background.
    """

    def __init__(self, source: Source | None = None, *, refresh_seconds: float = REFRESH_SECONDS) -> None:
        self.trouble = ""
        """Why the last look failed, in one sentence; empty when it did not."""
        self._source = source
        self._refresh_seconds = refresh_seconds
        self._values: Mapping[str, object] = MappingProxyType({})
        self._wanted, self._looked, self._closed = threading.Event(), threading.Event(), threading.Event()
        self._asking = threading.Lock()
        """Held for a moment, never during a look: a look that was asked for is not taken for done by the end of the one before it."""
        self._thread: threading.Thread | None = None
        if isinstance(self._source, MemorySource):
            self._values = self._source.read()
        self.refresh()

    def values(self) -> Mapping[str, object]:
        """What is known now, at once."""
        return self._values

    def over(self, settings: Section) -> Section:
        """The settings of one section with what the flags say, at once. Raises KeyError for a section that has no flags (`values.SECTIONS`)."""
        return overridden(settings, self._values)

    def refresh(self) -> None:
        """Have the source looked at soon, in the background; at once returned from."""
        if self._source is None:
            self._looked.set()
            return
        if self._closed.is_set():
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._follow, args=(self._source,), name="memorist-flags", daemon=True)
            self._thread.start()
        with self._asking:
            self._looked.clear()
            self._wanted.set()

    def wait(self, seconds: float) -> bool:
        """Wait for a look that was asked for, at most so long; whether it is done. For replays, commands and tests; a live session never calls it."""
        return self._looked.wait(seconds)

    def close(self) -> None:
        """Stop looking. A source that hangs is not waited for; its thread ends with the program."""
        self._closed.set()
        self._wanted.set()

    def _follow(self, source: Source) -> None:
        while True:
            self._wanted.wait(self._refresh_seconds)
            if self._closed.is_set():
                return
            self._wanted.clear()
            self._look(source)
            with self._asking:
                if not self._wanted.is_set():
                    self._looked.set()

    def _look(self, source: Source) -> None:
        with _Caught() as caught:
            self._values = MappingProxyType(dict(source.read()))
        error = caught.error
        self.trouble = "" if error is None else f"the flags could not be looked up: {str(error) or type(error).__name__}"


class _Caught:
    """Keeps what a provider raises, whatever it is: the old values stay and the thread goes on."""

    def __init__(self) -> None:
        self.error: Exception | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        if isinstance(error, Exception):
            self.error = error
        return self.error is not None
