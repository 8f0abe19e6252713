"""Sessions of a home that cannot be written: kept in a temporary folder, and brought home at their
end or later, where that is possible by then.
"""

from __future__ import annotations

import logging
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

from memorist.errors import StoreError
from memorist.store.disk_files import DiskFiles, read_if_exists
from memorist.store.home_layout import SessionLayout

_log = logging.getLogger("memorist")


class FallbackSessionFolders:
    """The sessions of one engine that its home did not take."""

    def __init__(self) -> None:
        self._root: TemporaryDirectory[str] | None = None
        self._folders: dict[Path, Path] = {}
        """Each folder in the home with the temporary one that stands for it."""
        self._closed: set[Path] = set()
        """Those whose session is closed."""

    def make_folder(self, home: Path, error: StoreError) -> Path:
        """A folder for a session whose own is `home`: the one that was made for it before, or a new
        one with what can be read of its own. Raises `error` where there is no room for it either.
        """
        self._closed.discard(home)
        if home in self._folders:
            return self._folders[home]
        try:
            self._root = self._root or TemporaryDirectory(prefix="memorist-")
            folder = Path(mkdtemp(dir=self._root.name))
            _copy_files(home, folder)
        except (OSError, StoreError):
            raise error from None
        _log.warning("the session %s is not saved for now: %s", home.name, error)
        self._folders[home] = folder
        return folder

    def on_session_closed(self, folder: Path) -> None:
        """Bring the session in this temporary folder home, if it is one of them."""
        home = next((home for home, each in self._folders.items() if each == folder), None)
        if home is not None:
            self._closed.add(home)
            self.move_to_home(home)

    def move_to_home(self, home: Path) -> None:
        """Bring a closed session home where that can be written again and nobody went on with it
        there; else it waits in its temporary folder. Nothing for a session that was saved all
        along.
        """
        folder = self._folders.get(home)
        if folder is None or home not in self._closed:
            return
        try:
            if _is_continued(SessionLayout(folder).transcript, SessionLayout(home).transcript):
                _copy_files(folder, home)
            else:
                _log.warning("the session %s went on elsewhere: not brought home", home.name)
        except (OSError, StoreError) as error:
            _log.debug("the session %s cannot be brought home: %s", home.name, error)
            return
        del self._folders[home]
        shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Bring home what waits, and remove the temporary folder."""
        self._closed.update(self._folders)
        for home in tuple(self._folders):
            self.move_to_home(home)
        for home in self._folders:
            _log.warning("the session %s is lost: it cannot be brought home", home.name)
        self._folders.clear()
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
