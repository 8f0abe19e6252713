"""Flags from a file (`flags.file`)."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path

from memorist.errors import SettingsError
from memorist.platforms.regular_files import read_regular_text_file
from memorist.platforms.storage_errors import describe_storage_error
from memorist.settings import FlagsSettings


class FileFlagSource:
    """Flags in a TOML or JSON file (`.json`), re-read when it changes: names with dots, or tables
    of them. A missing file sets no flag.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._values: dict[str, object] = {}

    def read(self) -> Mapping[str, object]:
        """The flags. Raises SettingsError where the file cannot be read or parsed; the flags read
        before stay in force.
        """
        try:
            about = self._path.stat()
        except (FileNotFoundError, NotADirectoryError):
            self._seen, self._values = None, {}
            return {}
        except OSError as error:
            raise _explain_unreadable(self._path, error) from error
        now = (about.st_mtime_ns, about.st_size, about.st_ino)
        if now != self._seen:
            self._values = _flatten_names(_parse_flags_file(self._path))
            self._seen = now
        return dict(self._values)


def _parse_flags_file(path: Path) -> dict[str, object]:
    try:
        text = read_regular_text_file(path)
        parsed = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise _explain_unreadable(path, error) from error
    if not isinstance(parsed, dict):
        raise SettingsError(f"the flags file {path} must hold an object of names and values")
    return parsed


def _explain_unreadable(path: Path, error: Exception) -> SettingsError:
    why = describe_storage_error(error) if isinstance(error, OSError) else error
    return SettingsError(f"the flags file {path} cannot be read: {why}")


def _flatten_names(tree: Mapping[str, object], lead: str = "") -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            found |= _flatten_names(value, f"{lead}{key}.")
        else:
            found[f"{lead}{key}"] = value
    return found


def create_flag_source_from_settings(settings: FlagsSettings) -> FileFlagSource | None:
    """The source for the file named in the settings; None where there is none. Raises SettingsError
    for a relative path, which would mean a different file in each folder.
    """
    if not settings.file:
        return None
    try:
        path = Path(settings.file).expanduser()
    except RuntimeError as error:
        raise SettingsError(
            f"flags.file is {settings.file!r}, whose home folder is not known; give an "
            f"absolute path"
        ) from error
    if not path.is_absolute():
        raise SettingsError(
            f"flags.file is {settings.file!r}; give a path that is absolute or begins with ~/"
        )
    return FileFlagSource(path)
