"""The rules that an agent has in its own files, as it reads them for a folder. Bounded; pure but
for the file system that is handed in.

Claude Code: the CLAUDE.md family and its auto memory, whose index it loads at every start and whose
other files it may read later. Codex: the AGENTS.md family and its memory summary. Where settings
turn an agent's own memory off, or may do so, it counts as not loaded.
"""

from __future__ import annotations

import contextlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from memorist.auto_memory.client_rules import ClientRule, find_rules_without_stated_condition
from memorist.auto_memory.memory_file import parse_memory_file
from memorist.context.agents_md_files import read_agents_files
from memorist.context.claude_md_files import read_claude_files
from memorist.context.instruction_reading import (
    InstructionFileReadResult,
    RealPathCache,
    find_project_root,
    read_instruction_text,
)
from memorist.context.instruction_report import InstructionReport
from memorist.core.messages import JsonObject
from memorist.errors import StoreError
from memorist.platforms.user_home import expand_user
from memorist.ports import ReadableFileSystem
from memorist.settings import ContextSettings, Family

MAX_FILE_BYTES = 262_144
"""Largest file whose rules are compared; a larger one counts as unread. Our choice."""
MAX_FILES = 50
"""Files of each kind that are read. Our choice."""
INDEX_LINES, INDEX_BYTES = 200, 25_000
"""How much of its memory's index Claude Code loads."""
MAX_SUMMARY_BYTES = 7_500
"""Bytes of Codex's memory summary that surely are within the 2,500 tokens it loads.
Our choice.
"""
_INDEX_ENTRY = re.compile(
    r"^[-*]\s+\[(?P<title>[^\]]+)\]\([^)\s]*\)\s*(?:[—–:-]+\s*(?P<hook>.*))?$"
)
"""A line of Claude Code's index: what the memory is called, its file, and what it says."""


class ClientRuleReader:
    """The files of the agents of one user.

    Args:
        files: reads them.
        settings: names the folders, and what is excluded.
        environment: may define CLAUDE_CONFIG_DIR, CODEX_HOME and CLAUDE_CODE_DISABLE_AUTO_MEMORY,
            as for the agents.
    """

    def __init__(
        self, files: ReadableFileSystem, settings: ContextSettings, environment: Mapping[str, str]
    ) -> None:
        claude = environment.get("CLAUDE_CONFIG_DIR") or settings.user_folder
        codex = environment.get("CODEX_HOME") or settings.agents_folder
        self._files = files
        self._claude, self._codex = (Path(expand_user(each)) for each in (claude, codex))
        self._settings = settings
        self._environment = environment

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
            instruction_files=min(self._settings.instruction_files, MAX_FILES),
        )
        if family == "file-native":
            client_settings = [{"env": dict(self._environment)}, *self._read_claude_settings(root)]
            settings = replace(
                settings, exclude=(*settings.exclude, *_list_excludes(client_settings))
            )
            report = read_claude_files(folder, self._files, settings)
            own = self._read_claude_memory(root, is_loaded=_loads_own_memory(client_settings))
        else:
            config = self._read_codex_config()
            room = _read_room(config, self._settings.agents_bytes)
            settings = replace(settings, agents_bytes=min(settings.agents_bytes, room))
            report = read_agents_files(folder, self._files, settings)
            own = self._read_codex_memory(config)
        return (*_split_report(report, root), *own)

    def _read(self, path: Path) -> bytes:
        read: InstructionFileReadResult = read_instruction_text(
            self._files, RealPathCache(self._files), path, limit=MAX_FILE_BYTES
        )
        return read.data

    def _read_claude_settings(self, root: Path) -> list[JsonObject]:
        """The settings of Claude Code that hold in a project, as far as they can be read."""
        own = root / ".claude"
        found: list[JsonObject] = []
        for path in (
            self._claude / "settings.json",
            own / "settings.json",
            own / "settings.local.json",
        ):
            with contextlib.suppress(ValueError, RecursionError):
                given = json.loads(self._read(path) or b"{}")
                found += [given] if isinstance(given, dict) else []
        return found

    def _read_codex_config(self) -> JsonObject:
        """The settings of Codex; empty where they cannot be read."""
        with contextlib.suppress(ValueError, RecursionError):
            return tomllib.loads(self._read(self._codex / "config.toml").decode())
        return {}

    def _read_claude_memory(self, root: Path, *, is_loaded: bool) -> list[ClientRule]:
        """The rules of Claude Code's own memory; those of its index are loaded unless settings turn
        that off.
        """
        slug = re.sub(r"[^A-Za-z0-9]", "-", str(root))
        folder = self._claude / "projects" / slug / "memory"
        found: list[ClientRule] = []
        with contextlib.suppress(FileNotFoundError, StoreError):
            names = [name for name, _ in self._files.scan(folder, limit=MAX_FILES)]
            for name in sorted(each for each in names if each.endswith(".md")):
                source = f"Claude Code's memory, {name}"
                topic = parse_memory_file(name, self._read(folder / name))
                if name != _INDEX_NAME:
                    found += find_rules_without_stated_condition(
                        source, topic.body, is_loaded=False
                    )
                    continue
                lines = _cut_lines(topic.body, INDEX_BYTES)[:INDEX_LINES]
                text = "\n".join(line for each in lines for line in _split_index_line(each))
                found += find_rules_without_stated_condition(source, text, is_loaded=is_loaded)
        return found

    def _read_codex_memory(self, config: JsonObject) -> list[ClientRule]:
        """The rules of Codex's memory summary; loaded where its settings turn memories on."""
        features, memories = config.get("features"), config.get("memories")
        is_on = isinstance(features, dict) and features.get("memories") is True
        is_used = not isinstance(memories, dict) or memories.get("use_memories", True) is True
        text = self._read(self._codex / "memories" / "memory_summary.md").decode(errors="replace")
        lines = _cut_lines(text, MAX_SUMMARY_BYTES)
        return list(
            find_rules_without_stated_condition(
                "Codex's memory", "\n".join(lines), is_loaded=is_on and is_used
            )
        )


_INDEX_NAME = "MEMORY.md"


def _list_excludes(settings: Sequence[JsonObject]) -> list[str]:
    """The instruction files that the settings of Claude Code exclude (`claudeMdExcludes`)."""
    return [
        each
        for given in settings
        if isinstance(listed := given.get("claudeMdExcludes"), list)
        for each in listed
        if isinstance(each, str)
    ]


def _loads_own_memory(settings: Sequence[JsonObject]) -> bool:
    """Whether Claude Code surely loads the index of its own memory from the usual folder."""
    return not any(
        given.get("autoMemoryEnabled") is False
        or "autoMemoryDirectory" in given
        or (isinstance(env := given.get("env"), dict) and env.get(_NO_AUTO_MEMORY) not in _UNSET)
        for given in settings
    )


_NO_AUTO_MEMORY = "CLAUDE_CODE_DISABLE_AUTO_MEMORY"
_UNSET = (None, "", "0", "false")


def _read_room(config: JsonObject, default: int) -> int:
    """How many bytes of AGENTS.md Codex reads by its settings (`project_doc_max_bytes`)."""
    room = config.get("project_doc_max_bytes")
    return room if isinstance(room, int) and room >= 0 else default


def _cut_lines(text: str, limit: int) -> list[str]:
    """The whole lines at the beginning of a text that fit into so many bytes."""
    data = text.strip().encode()
    lines = data[: limit + 1].decode(errors="ignore").split("\n")
    return lines if len(data) <= limit else lines[:-1]


def _split_index_line(line: str) -> tuple[str, ...]:
    """What a line of the index says, as lines of their own: the name and the text; any other line
    as it is.
    """
    entry = _INDEX_ENTRY.match(line)
    if entry is None:
        return (line,)
    return tuple(f"- {each}" for each in (entry["title"], entry["hook"]) if each)


def _split_report(report: InstructionReport, root: Path) -> Iterator[ClientRule]:
    for file in report.loaded:
        lines = file.text.split("\n")
        text = "\n".join(lines[:-1] if file.cut else lines)  # a cut line may have said more
        yield from find_rules_without_stated_condition(_name_file(Path(file.path), root), text)


def _name_file(path: Path, root: Path) -> str:
    """The file as a reader knows it: from the project's root, or from the home folder."""
    if path.is_relative_to(root):
        return path.relative_to(root).as_posix()
    home = Path(expand_user())
    return f"~/{path.relative_to(home).as_posix()}" if path.is_relative_to(home) else str(path)
