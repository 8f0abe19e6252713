"""Read the AGENTS.md family from disk: one file per folder from the project's root to the working
folder, within a byte budget (CX-4).
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from memorist.context.instructions import Instructions, Loaded, Scope, cut_bytes, loaded
from memorist.context.piece import LeftOut
from memorist.context.reading.run import RealPaths, project_root, read_text
from memorist.context.settings import ContextSettings
from memorist.errors import StoreError
from memorist.ports import ReadableFiles


def read_agents_files(folder: Path, files: ReadableFiles, settings: ContextSettings) -> Instructions:
    """Read the user's own file, then those of the project, farthest first.

    What does not fit is cut at its end, and reported.

    Never raises for a missing, damaged or refused file: the report says so.
    """
    reader = _Reader(files, settings)
    reader.take([Path(settings.agents_folder).expanduser()], "user", ())
    root = project_root(files, folder, settings.root_markers)
    with contextlib.suppress(StoreError):  # what is wrong with it is said of the files in it
        reader.real.folder(folder)  # the deepest first: where no link leads to it, none leads to those above
    above = [each for each in reversed((folder, *folder.parents)) if each.is_relative_to(root)]
    reader.take(above, "project", () if settings.outside else (reader.real.folder(root),))
    return Instructions(loaded=tuple(reader.loaded), left_out=tuple(reader.left_out))


class _Reader:
    def __init__(self, files: ReadableFiles, settings: ContextSettings) -> None:
        self._files = files
        self._settings = settings
        self.real = RealPaths(files)
        self._seen: set[Path] = set()
        self.loaded: list[Loaded] = []
        self.left_out: list[LeftOut] = []

    def take(self, folders: Sequence[Path], scope: Scope, inside: Sequence[Path]) -> None:
        """Read one file of each folder, within one budget."""
        room = self._settings.agents_bytes
        for folder in folders:
            for name in self._settings.agents_names:
                size = self._one(folder / name, scope, inside, room)
                if size is not None:
                    room -= size
                    break

    def _one(self, path: Path, scope: Scope, inside: Sequence[Path], room: int) -> int | None:
        """Return the bytes the file uses; None if the folder's next name is to be tried."""
        read = read_text(self._files, self.real, path, limit=self._settings.agents_bytes + 1, inside=inside, whole=False)
        if read.problem:
            self.left_out.append(LeftOut(str(path), read.problem))
            return None
        if read.real is None or read.real in self._seen:
            return None
        data = read.data.strip()
        file = loaded(path, scope, "session_start", data.decode("utf-8", "replace"), read.remarks)
        if not file.text:
            self.left_out.append(LeftOut(str(path), "it says nothing"))
            return None
        self._seen.add(read.real)
        kept = cut_bytes(data, room)
        cut = max(read.size, len(data)) - len(kept) if len(kept) < len(data) else 0
        if cut:
            much = "all of it" if not kept else f"the last {cut:,} of {read.size:,} bytes"
            self.left_out.append(LeftOut(str(path), f"{much}: the budget of {self._settings.agents_bytes:,} bytes is used up"))
        if kept:
            part = loaded(path, scope, "session_start", kept.decode(), read.remarks) if len(kept) < len(data) else file
            self.loaded.append(replace(part, cut=cut))
        # After a cut nothing nearer is squeezed into the few bytes that may be left.
        return room if cut else len(kept)
