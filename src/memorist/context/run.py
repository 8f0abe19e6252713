"""The first context of a session in a folder, looked up and assembled: instruction files, surroundings, memory, and what the host brings."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from memorist.context.agents_files.run import read_agents_files
from memorist.context.assemble import REMINDER, assemble, date_section, file_native_sections, rollout_sections
from memorist.context.claude_files.run import read_claude_files
from memorist.context.host import Host, around_of, permissions
from memorist.context.instructions import Instructions
from memorist.context.look.run import surroundings
from memorist.context.piece import LeftOut, Piece, Section
from memorist.context.scaffold import row, unwrap
from memorist.context.settings import ContextSettings, Family
from memorist.ports import Clock, Files


class Assembled(Struct, frozen=True, kw_only=True):
    """A first context, and the report of how it came about."""

    family: Family
    pieces: tuple[Piece, ...]
    instructions: Instructions
    left_out: tuple[LeftOut, ...]
    """What was looked at and is not, or not whole, in the context."""

    @property
    def tokens(self) -> int:
        """Tokens of all pieces."""
        return sum(each.tokens for each in self.pieces)


def first_context(
    folder: Path,
    family: Family,
    *,
    files: Files,
    clock: Clock,
    settings: ContextSettings,
    host: Host | None = None,
) -> Assembled:
    """Assemble the first context of a session in the folder, with what the host allows and the sections that it brings, such as skills.

    Reads the instruction files and asks git; a file that cannot be read is reported, and stops nothing. Raises InputError for a section that the
    family does not have.
    """
    brought = host or Host()
    around = around_of(brought, surroundings(folder, clock, git=family == "file-native"))
    if family == "rollout":
        instructions = read_agents_files(folder, files, settings)
        own = [*permissions(brought), *rollout_sections(instructions, around)]
    else:
        instructions = read_claude_files(folder, files, settings)
        own = file_native_sections(instructions, around, status_characters=settings.status_characters)
    dated = [date_section(around.date)] if family == "file-native" and around.date else []
    waiting = [LeftOut(rule.path, f"waits until a file of its scope is read: {', '.join(rule.globs)}") for rule in instructions.waiting]
    damaged = [LeftOut(rule.path, rule.problem) for rule in instructions.waiting if rule.problem]
    return Assembled(
        family=family,
        pieces=assemble(family, [*own, *brought.sections, *dated]),
        instructions=instructions,
        left_out=(*instructions.left_out, *waiting, *damaged),
    )


def memory_section(text: str, source: str, family: Family) -> Section:
    """The index of auto memory as recall frames it, as a section of the family."""
    inner = unwrap(text, row(REMINDER, "file-native")) or text
    tag = "memory" if family == "rollout" else REMINDER
    return Section(tag=tag, text=inner, source=source, why="memories of earlier sessions, one line each")
