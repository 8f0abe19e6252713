"""Read and assemble the first context of a session: instruction files, environment, memory and the
host's sections.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memorist.context.agents_files.run import read_agents_files
from memorist.context.allowed import NOTHING_SAID, Allowed, around_of, permissions
from memorist.context.assemble import REMINDER, assemble, date_section, file_native_sections, rollout_sections
from memorist.context.claude_files.run import read_claude_files
from memorist.context.environment import Surroundings
from memorist.context.instructions import Instructions
from memorist.context.look.run import surroundings
from memorist.context.piece import LeftOut, Piece, Section
from memorist.context.scaffold import row, unwrap
from memorist.context.settings import ContextSettings, Family
from memorist.ports import Clock, ReadableFiles


class Assembled(Struct, frozen=True, kw_only=True):
    """A first context, and the report of how it was assembled."""

    family: Family
    pieces: tuple[Piece, ...]
    instructions: Instructions
    left_out: tuple[LeftOut, ...]
    """Sources that are not in the context, or not whole."""

    @property
    def tokens(self) -> int:
        """Tokens of all pieces."""
        return sum(each.tokens for each in self.pieces)


class Outside(Struct, frozen=True, kw_only=True):
    """Dependencies of reading a context."""

    files: ReadableFiles
    clock: Clock
    settings: ContextSettings
    environment: Mapping[str, str] | None = None
    """Environment variables in place of the process's own."""


class Seen(Struct, frozen=True, kw_only=True):
    """What was found in a folder: its instruction files and its environment."""

    family: Family
    instructions: Instructions
    around: Surroundings


def look(folder: Path, family: Family, outside: Outside, *, touched: Sequence[Path] = (), git: bool = True) -> Seen:
    """Read the instruction files of a folder, and what the machine and, with `git`, the repository
    report.

    `touched` are files read in the session: rules and nested files that wait for them are loaded
    too. A file that cannot be read is reported and does not stop anything.
    """
    around = surroundings(folder, outside.clock, git=git and family == "file-native", environment=outside.environment)
    if family == "rollout":
        return Seen(family=family, instructions=read_agents_files(folder, outside.files, outside.settings), around=around)
    instructions = read_claude_files(folder, outside.files, outside.settings, touched=touched)
    return Seen(family=family, instructions=instructions, around=around)


def assembled(seen: Seen, given: Sequence[Section], *, status_characters: int = 2_000) -> Assembled:
    """Build the first context of what was found plus the host's own sections.

    Raises InputError for a section the family does not have.
    """
    family, instructions, around = seen.family, seen.instructions, seen.around
    if family == "rollout":
        own = rollout_sections(instructions, around)
    else:
        own = file_native_sections(instructions, around, status_characters=status_characters)
    dated = [date_section(around.date)] if family == "file-native" and around.date else []
    waiting = [LeftOut(rule.path, f"waits until a file of its scope is read: {', '.join(rule.globs)}") for rule in instructions.waiting]
    damaged = [LeftOut(rule.path, rule.problem) for rule in instructions.waiting if rule.problem]
    return Assembled(
        family=family,
        pieces=assemble(family, [*own, *given, *dated]),
        instructions=instructions,
        left_out=(*instructions.left_out, *waiting, *damaged),
    )


def first_context(
    folder: Path, family: Family, outside: Outside, *, given: Sequence[Section] = (), allowed: Allowed = NOTHING_SAID
) -> Assembled:
    """Assemble the first context of a session in the folder: `read_folder_context`, then
    `build_first_context`.

    `host_sections` are the host's own, such as skills; `permissions` is what the rollout family is
    told about approval, sandbox and the like.
    """
    seen = look(folder, family, outside)
    seen = replace(seen, around=around_of(allowed, seen.around))
    return assembled(seen, [*permissions(allowed, family, given), *given], status_characters=outside.settings.status_characters)


def memory_section(text: str, source: str, family: Family) -> Section:
    """Turn the auto memory index, as recall frames it, into a section of the family."""
    inner = unwrap(text, row(REMINDER, "file-native")) or text
    tag = "memory" if family == "rollout" else REMINDER
    return Section(tag=tag, text=inner, source=source, why="memories of earlier sessions, one line each")
