"""Sessions of a home that cannot be written: kept in a temporary folder, and brought home at their
end where that is possible by then.
"""

from __future__ import annotations

import logging
from pathlib import Path
from tempfile import TemporaryDirectory

from memorist.errors import StoreError
from memorist.store.disk_files import DiskFiles, read_if_exists
from memorist.store.home_layout import SessionLayout

_log = logging.getLogger("memorist")


class FallbackSessionFolders:
    """The sessions of one engine that its home did not take."""

    def __init__(self) -> None:
        self._root: TemporaryDirectory[str] | None = None
        self._homes: dict[Path, Path] = {}
        """Each temporary folder with the folder that it stands for."""

    def make_folder(self, home: Path, error: StoreError) -> Path:
        """A folder for a session whose own is `home`, with what can be read of that. Raises `error`
        where there is no room for it either.
        """
        try:
            self._root = self._root or TemporaryDirectory(prefix="memorist-")
            folder = Path(self._root.name) / f"{len(self._homes)}-{home.name}"
            folder.mkdir()
            _copy_files(home, folder)
        except (OSError, StoreError):
            raise error from None
        _log.warning("the session %s is not saved for now: %s", home.name, error)
        self._homes[folder] = home
        return folder

    def move_to_home(self, folder: Path) -> None:
        """Bring a session home where that can be written again and nobody went on with it there.
        Nothing for a session that was saved all along.
        """
        home = self._homes.pop(folder, None)
        if home is None:
            return
        try:
            if _is_continued(SessionLayout(folder).transcript, SessionLayout(home).transcript):
                _copy_files(folder, home)
            else:
                _log.warning("the session %s went on elsewhere: not brought home", home.name)
        except (OSError, StoreError) as error:
            _log.warning("the session %s is lost, it cannot be brought home: %s", home.name, error)

    def close(self) -> None:
        """Remove the temporary folder."""
        if self._root is not None:
            self._root.cleanup()
            self._root = None


def _copy_files(source: Path, target: Path) -> None:
    """Copy the files of a folder without its locks, each in one step and private to the user."""
    for path in sorted(source.rglob("*")) if source.is_dir() else ():
        if path.is_file() and path.suffix != ".lock":
            DiskFiles().write(target / path.relative_to(source), DiskFiles().read(path))


def _is_continued(ours: Path, theirs: Path) -> bool:
    """Whether our transcript is theirs, or goes on from it."""
    return DiskFiles().read(ours).startswith(read_if_exists(DiskFiles(), theirs) or b"")
