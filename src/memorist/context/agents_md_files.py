"""AGENTS.md files from the root of the project down, or their fallback names: found, read within a
budget of bytes, and rendered (Codex).
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from memorist.context.context_pieces import OmittedSource
from memorist.context.instruction_reading import (
    RealPathCache,
    find_project_root,
    read_instruction_text,
)
from memorist.context.instruction_report import (
    InstructionFile,
    InstructionReport,
    InstructionScope,
    build_instruction_file,
)
from memorist.errors import StoreError
from memorist.platforms.user_home import expand_user
from memorist.ports import ReadableFileSystem
from memorist.settings import ContextSettings


def render_agents_files(report: InstructionReport) -> str:
    """Join the files of the AGENTS.md family, farthest first, without the wrapper."""
    return "\n\n".join(file.text for file in report.loaded)


def describe_agents_file_sizes(report: InstructionReport) -> str:
    """Describe each file's part of the joined text."""
    return "; ".join(f"{file.path} ({file.size:,} bytes)" for file in report.loaded)


def truncate_utf8_bytes(data: bytes, room: int) -> bytes:
    """Return the start of the data, at most `room` bytes, cut on a character boundary."""
    return data if len(data) <= room else data[: max(0, room)].decode("utf-8", "ignore").encode()


def read_agents_files(
    folder: Path, files: ReadableFileSystem, settings: ContextSettings
) -> InstructionReport:
    """Read the user's own file, then those of the project, farthest first.

    What does not fit is cut at its end, and reported.

    Never raises for a missing, damaged or refused file: the report says so.
    """
    reader = _AgentsFilesReader(files, settings)
    reader.read_folders([Path(expand_user(settings.agents_folder))], "user", ())
    root = find_project_root(files, folder, settings.root_markers)
    with contextlib.suppress(StoreError):  # what is wrong with it is said of the files in it
        reader.real.resolve_folder(
            folder
        )  # the deepest first: where no link leads to it, none leads to those above
    above = [each for each in reversed((folder, *folder.parents)) if each.is_relative_to(root)]
    reader.read_folders(
        above, "project", () if settings.outside else (reader.real.resolve_folder(root),)
    )
    return InstructionReport(loaded=tuple(reader.loaded), left_out=tuple(reader.left_out))


class _AgentsFilesReader:
    def __init__(self, files: ReadableFileSystem, settings: ContextSettings) -> None:
        self._files = files
        self._settings = settings
        self.real = RealPathCache(files)
        self._seen: set[Path] = set()
        self.loaded: list[InstructionFile] = []
        self.left_out: list[OmittedSource] = []

    def read_folders(
        self, folders: Sequence[Path], scope: InstructionScope, inside: Sequence[Path]
    ) -> None:
        """Read one file of each folder, within one budget."""
        room = self._settings.agents_bytes
        for folder in folders:
            for name in self._settings.agents_names:
                size = self._read_one(folder / name, scope, inside, room)
                if size is not None:
                    room -= size
                    break

    def _read_one(
        self, path: Path, scope: InstructionScope, inside: Sequence[Path], room: int
    ) -> int | None:
        """Return the bytes the file uses; None if the folder's next name is to be tried."""
        read = read_instruction_text(
            self._files,
            self.real,
            path,
            limit=self._settings.agents_bytes + 1,
            inside=inside,
            whole=False,
        )
        if read.problem:
            self.left_out.append(OmittedSource(str(path), read.problem))
            return None
        if read.real is None or read.real in self._seen:
            return None
        data = read.data.strip()
        file = build_instruction_file(
            path, scope, "session_start", data.decode("utf-8", "replace"), read.remarks
        )
        if not file.text:
            self.left_out.append(OmittedSource(str(path), "it says nothing"))
            return None
        self._seen.add(read.real)
        kept = truncate_utf8_bytes(data, room)
        cut = max(read.size, len(data)) - len(kept) if len(kept) < len(data) else 0
        if cut:
            much = "all of it" if not kept else f"the last {cut:,} of {read.size:,} bytes"
            self.left_out.append(
                OmittedSource(
                    str(path),
                    f"{much}: the budget of {self._settings.agents_bytes:,} bytes is used up",
                )
            )
        if kept:
            part = (
                build_instruction_file(path, scope, "session_start", kept.decode(), read.remarks)
                if len(kept) < len(data)
                else file
            )
            self.loaded.append(replace(part, cut=cut))
        # After a cut nothing nearer is squeezed into the few bytes that may be left.
        return room if cut else len(kept)
