"""The rules that an agent has in its own files, as it reads them for a folder. Bounded; pure but
for the file system that is handed in.

Claude Code: the CLAUDE.md family and its auto memory. Codex: the AGENTS.md family and its memory
summary. What the agent itself remembered counts as perhaps not loaded: settings turn it off.
"""

from __future__ import annotations

import contextlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec.structs import replace

from memorist.auto_memory.client_rules import ClientRule, split_rules
from memorist.auto_memory.topic import parse_topic
from memorist.context.discovery import (
    InstructionRead,
    RealPathCache,
    find_project_root,
    read_instruction_text,
)
from memorist.context.instructions import (
    InstructionReport,
    read_agents_files,
    read_claude_files,
)
from memorist.errors import StoreError
from memorist.ports import ReadableFileSystem
from memorist.settings import ContextSettings, Family

MAX_FILE_BYTES = 262_144
"""Largest file whose rules are compared; a larger one counts as unread. Our choice."""
MAX_FILES = 50
"""Files of each kind that are read. Our choice."""


class ClientFiles:
    """The files of the agents of one user.

    Args:
        files: reads them.
        settings: names the folders, and what is excluded.
        environment: may define CLAUDE_CONFIG_DIR and CODEX_HOME, as for the agents.
    """

    def __init__(
        self, files: ReadableFileSystem, settings: ContextSettings, environment: Mapping[str, str]
    ) -> None:
        claude = environment.get("CLAUDE_CONFIG_DIR") or settings.user_folder
        codex = environment.get("CODEX_HOME") or settings.agents_folder
        self._files = files
        self._claude, self._codex = Path(claude).expanduser(), Path(codex).expanduser()
        self._settings = settings

    def read_rules(self, family: Family, folder: Path) -> tuple[ClientRule, ...]:
        """Read the rules that an agent of the family has for a session in the folder. Never raises
        for a missing, damaged or refused file.
        """
        root = find_project_root(self._files, folder, self._settings.root_markers)
        settings = replace(
            self._settings,
            user_folder=str(self._claude),
            agents_folder=str(self._codex),
            file_bytes=min(self._settings.file_bytes, MAX_FILE_BYTES),
            files=min(self._settings.files, MAX_FILES),
        )
        if family == "file-native":
            settings = replace(settings, exclude=(*settings.exclude, *self._read_excludes(root)))
            report = read_claude_files(folder, self._files, settings)
            own = self._read_claude_memory(root)
        else:
            room = self._read_codex_room()
            settings = replace(settings, agents_bytes=min(settings.agents_bytes, room))
            report = read_agents_files(folder, self._files, settings)
            own = self._read_own(self._codex / "memories" / "memory_summary.md", "Codex's memory")
        return (*_split_report(report, root), *own)

    def _read(self, path: Path) -> bytes:
        read: InstructionRead = read_instruction_text(
            self._files, RealPathCache(self._files), path, limit=MAX_FILE_BYTES
        )
        return read.data

    def _read_excludes(self, root: Path) -> list[str]:
        """The instruction files that the settings of Claude Code exclude (`claudeMdExcludes`)."""
        found: list[str] = []
        own = root / ".claude"
        for path in (
            self._claude / "settings.json",
            own / "settings.json",
            own / "settings.local.json",
        ):
            with contextlib.suppress(ValueError, RecursionError):
                given = json.loads(self._read(path) or b"{}")
                listed = given.get("claudeMdExcludes") if isinstance(given, dict) else None
                found += [each for each in listed or () if isinstance(each, str)]
        return found

    def _read_codex_room(self) -> int:
        """How many bytes of AGENTS.md Codex reads by its settings (`project_doc_max_bytes`)."""
        with contextlib.suppress(ValueError, RecursionError):
            given = tomllib.loads(self._read(self._codex / "config.toml").decode())
            room = given.get("project_doc_max_bytes")
            return room if isinstance(room, int) and room >= 0 else self._settings.agents_bytes
        return self._settings.agents_bytes

    def _read_claude_memory(self, root: Path) -> list[ClientRule]:
        slug = re.sub(r"[^A-Za-z0-9]", "-", str(root))
        folder = self._claude / "projects" / slug / "memory"
        found: list[ClientRule] = []
        with contextlib.suppress(FileNotFoundError, StoreError):
            names = [name for name, _ in self._files.scan(folder, limit=MAX_FILES)]
            for name in sorted(each for each in names if each.endswith(".md")):
                found += self._read_own(folder / name, f"Claude Code's memory, {name}")
        return found

    def _read_own(self, path: Path, source: str) -> list[ClientRule]:
        topic = parse_topic(path.name, self._read(path))
        return list(split_rules(source, topic.body, is_loaded=False))


def _split_report(report: InstructionReport, root: Path) -> Iterator[ClientRule]:
    for file in report.loaded:
        lines = file.text.split("\n")
        text = "\n".join(lines[:-1] if file.cut else lines)  # a cut line may have said more
        yield from split_rules(_name_file(Path(file.path), root), text)


def _name_file(path: Path, root: Path) -> str:
    """The file as a reader knows it: from the project's root, or from the home folder."""
    if path.is_relative_to(root):
        return path.relative_to(root).as_posix()
    home = Path("~").expanduser()
    return f"~/{path.relative_to(home).as_posix()}" if path.is_relative_to(home) else str(path)
