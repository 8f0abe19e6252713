"""Assemble the first context of both families: sections in, pieces and request bodies out.

Pure (CX-1, CX-2).

Pieces follow the order of the scaffold table. Sections that the host does not supply are omitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import get_args

from msgspec import Struct
from msgspec.structs import replace

from memorist.context.agents_md_files import (
    describe_agents_file_sizes,
    read_agents_files,
    render_agents_files,
)
from memorist.context.claude_md_files import read_claude_files, render_claude_file
from memorist.context.context_pieces import (
    ContextPiece,
    ContextSection,
    OmittedSource,
    build_context_piece,
)
from memorist.context.context_tags import (
    FILE_NATIVE_ROWS,
    ROLLOUT_ROWS,
    ContextTag,
    escape_closing_tag,
    require_context_tag_definition,
    unwrap_tag,
    wrap_unescaped_text_in_tag,
)
from memorist.context.environment import (
    SessionEnvironment,
    detect_environment,
    render_claude_env_block,
    render_codex_environment_body,
)
from memorist.context.git_state import render_git_state
from memorist.context.host_permissions import (
    UNSPECIFIED_PERMISSIONS,
    HostPermissions,
    add_permissions_to_environment,
    build_permissions_sections,
)
from memorist.context.instruction_report import InstructionReport
from memorist.core.messages import Message, Origin, TextBlock
from memorist.errors import InputError, UsageError
from memorist.ports import ReadableFileSystem
from memorist.runtime import Runtime
from memorist.settings import Family

REMINDER_TAG = "system-reminder"
_ROW_ORDER = {
    "rollout": {kind.tag: number for number, kind in enumerate(ROLLOUT_ROWS)},
    "file-native": {kind.tag: number for number, kind in enumerate(FILE_NATIVE_ROWS)},
}


class HostContext(Struct, frozen=True, kw_only=True):
    """What a host states about a session whose context memorist assembles.

    Passed to `Session.assemble_context`, and again whenever part of it changed.

    Raises UsageError for an unknown family and for a relative folder, which another process would
    resolve differently.
    """

    folder: str
    """The agent's working folder, absolute."""
    family: Family | None = None
    """Shape of the context; None uses the setting `context.family`.

    It cannot change within a session.
    """
    sections: tuple[ContextSection, ...] = ()
    """The host's own sections: instructions, tools that are not in the schema, a mode …, placed by
    the scaffold table.
    """
    allowed: HostPermissions = UNSPECIFIED_PERMISSIONS
    """Approval, sandbox, network, folders and subagents; sent to the rollout family, and again when
    changed.
    """

    def __post_init__(self) -> None:
        """Validate here, where the host constructs it, rather than during its next request."""
        if self.family not in (None, *get_args(Family)):
            raise UsageError(
                f"there is no family {self.family!r} of contexts; give one of "
                f"{', '.join(get_args(Family))}"
            )
        if not PurePath(self.folder).is_absolute():
            raise UsageError(
                f"the working folder {self.folder!r} is not absolute; give its whole path"
            )


def order_sections_as_pieces(
    family: Family, sections: Sequence[ContextSection]
) -> tuple[ContextPiece, ...]:
    """Order the sections as the family does and turn them into pieces.

    Sections of one tag keep their given order; empty ones are dropped. Raises InputError for a tag
    the family does not have, and for one that belongs to the model's own answers.
    """
    order = _ROW_ORDER[family]
    kinds = {section.tag: _row_of(section.tag, family) for section in sections}
    shown = sorted(
        (section for section in sections if section.text.strip()),
        key=lambda section: order[kinds[section.tag].tag],
    )
    return tuple(convert_section_to_piece(section, kinds[section.tag]) for section in shown)


def reject_unknown_context_sections(sections: Sequence[ContextSection], family: Family) -> None:
    """Raise InputError for a section that the family does not have, or that no context holds."""
    for section in sections:
        _row_of(section.tag, family)


def _row_of(tag: str, family: Family) -> ContextTag:
    found = require_context_tag_definition(tag, family)
    if found.role == "assistant" or found.tag == "boundary":
        raise InputError(f"{tag!r} is no section of a context: it is read, not assembled")
    return found


def convert_section_to_piece(section: ContextSection, kind: ContextTag) -> ContextPiece:
    """Render one section as a piece."""
    text = wrap_unescaped_text_in_tag(
        kind, escape_closing_tag(section.text.strip("\n"), kind), section.values
    )
    return build_context_piece(
        kind.role, kind.tag, text, source=section.source, why=section.why or kind.when
    )


def build_rollout_family_sections(
    instructions: InstructionReport, environment: SessionEnvironment
) -> list[ContextSection]:
    """Build the rollout family's sections on project and environment."""
    found = [
        ContextSection(
            tag="environment_context",
            text=render_codex_environment_body(environment),
            source="this machine and folder",
        )
    ]
    if instructions.loaded:
        folder = environment.environments[0].folder if environment.environments else ""
        cut = sum(file.cut for file in instructions.loaded)
        count = len(instructions.loaded)
        why = (
            f"{count} instruction file{'s' if count > 1 else ''}, farthest "
            f"first{f'; {cut:,} bytes did not fit' if cut else ''}"
        )
        found.append(
            ContextSection(
                tag="AGENTS.md",
                text=render_agents_files(instructions),
                source=describe_agents_file_sizes(instructions),
                why=why,
                values={"folder": folder},
            )
        )
    return found


def build_file_native_family_sections(
    instructions: InstructionReport,
    environment: SessionEnvironment,
    *,
    status_characters: int = 2_000,
) -> list[ContextSection]:
    """Build the file-native family's sections: system blocks, and the user context that precedes
    all messages.
    """
    found = [
        ContextSection(
            tag="env", text=render_claude_env_block(environment), source="this machine and folder"
        )
    ]
    if environment.git is not None:
        found.append(
            ContextSection(
                tag="git", text=render_git_state(environment.git, status_characters), source="git"
            )
        )
    for file in instructions.loaded:
        why = "; ".join((f"{file.scope} instructions, {_LOAD_REASONS[file.reason]}", *file.remarks))
        found.append(
            ContextSection(
                tag=REMINDER_TAG, text=render_claude_file(file), source=file.path, why=why
            )
        )
    return found


def build_date_section(date: str) -> ContextSection:
    """Build the section with today's date, at the end of the user context.

    A later change of date is sent as an attachment; this section stays unchanged.
    """
    return ContextSection(
        tag=REMINDER_TAG,
        text=f"[memorist] Today's date: {date}",
        source="the clock",
        why="the date, as the session begins",
    )


_LOAD_REASONS = {
    "session_start": "read as the session begins",
    "include": "imported",
    "path_glob_match": "a file of its scope was read",
    "nested_traversal": "a file of its folder was read",
}


def build_piece_messages(pieces: Sequence[ContextPiece], family: Family) -> tuple[Message, ...]:
    """Turn pieces into messages: neighbours of one role share a message unless their row is
    apart.
    """
    found: list[list[ContextPiece]] = []
    for each in pieces:
        apart = require_context_tag_definition(each.tag, family).apart
        if (
            found
            and not apart
            and found[-1][0].role == each.role
            and not require_context_tag_definition(found[-1][0].tag, family).apart
        ):
            found[-1].append(each)
        else:
            found.append([each])
    return tuple(
        Message(
            id=f"context-{number}",
            role=group[0].role,
            blocks=tuple(TextBlock(each.text) for each in group),
            origin=Origin.INJECTED,
        )
        for number, group in enumerate(found)
    )


# Read and assemble the first context of a session: instruction files, environment, memory and
# the host's sections.


class FirstContext(Struct, frozen=True, kw_only=True):
    """A first context, and the report of how it was assembled."""

    pieces: tuple[ContextPiece, ...]
    left_out: tuple[OmittedSource, ...]
    """Sources that are not in the context, or not whole."""


class FolderContext(Struct, frozen=True, kw_only=True):
    """What was found in a folder: its instruction files and its environment."""

    family: Family
    instructions: InstructionReport
    environment: SessionEnvironment


def read_folder_context(
    folder: Path,
    family: Family,
    runtime: Runtime,
    *,
    files: ReadableFileSystem | None = None,
    touched: Sequence[Path] = (),
    git: bool = True,
) -> FolderContext:
    """Read the instruction files of a folder, and what the machine and, with `git`, the repository
    report.

    `touched` are files read in the session: rules and nested files that wait for them are loaded
    too. `files` takes the place of the runtime's. A file that cannot be read is reported and does
    not stop anything.
    """
    files, settings = files or runtime.files, runtime.settings.context
    around = detect_environment(
        folder, runtime.clock, git=git and family == "file-native", environment=runtime.environment
    )
    if family == "rollout":
        return FolderContext(
            family=family,
            instructions=read_agents_files(folder, files, settings),
            environment=around,
        )
    instructions = read_claude_files(folder, files, settings, touched=touched)
    return FolderContext(family=family, instructions=instructions, environment=around)


def build_first_context(
    folder_context: FolderContext,
    host_sections: Sequence[ContextSection],
    *,
    status_characters: int = 2_000,
) -> FirstContext:
    """Build the first context of what was found plus the host's own sections.

    Raises InputError for a section the family does not have.
    """
    family = folder_context.family
    instructions = folder_context.instructions
    around = folder_context.environment
    if family == "rollout":
        own = build_rollout_family_sections(instructions, around)
    else:
        own = build_file_native_family_sections(
            instructions, around, status_characters=status_characters
        )
    dated = [build_date_section(around.date)] if family == "file-native" and around.date else []
    waiting = [
        OmittedSource(
            rule.path, f"waits until a file of its scope is read: {', '.join(rule.globs)}"
        )
        for rule in instructions.pending
    ]
    damaged = [
        OmittedSource(rule.path, rule.problem) for rule in instructions.pending if rule.problem
    ]
    return FirstContext(
        pieces=order_sections_as_pieces(family, [*own, *host_sections, *dated]),
        left_out=(*instructions.left_out, *waiting, *damaged),
    )


def assemble_first_context(
    folder: Path,
    family: Family,
    runtime: Runtime,
    *,
    host_sections: Sequence[ContextSection] = (),
    permissions: HostPermissions = UNSPECIFIED_PERMISSIONS,
) -> FirstContext:
    """Assemble the first context of a session in the folder: `read_folder_context`, then
    `build_first_context`.

    `host_sections` are the host's own, such as skills; `permissions` is what the rollout family is
    told about approval, sandbox and the like.
    """
    seen = read_folder_context(folder, family, runtime)
    seen = replace(seen, environment=add_permissions_to_environment(permissions, seen.environment))
    return build_first_context(
        seen,
        [*build_permissions_sections(permissions, family, host_sections), *host_sections],
        status_characters=runtime.settings.context.status_characters,
    )


def build_memory_index_section(text: str, source: str, family: Family) -> ContextSection:
    """Turn the auto memory index, as recall frames it, into a section of the family."""
    inner = unwrap_tag(text, require_context_tag_definition(REMINDER_TAG, "file-native")) or text
    tag = "memory" if family == "rollout" else REMINDER_TAG
    return ContextSection(
        tag=tag, text=inner, source=source, why="memories of earlier sessions, one line each"
    )


# What a session's model was first told, as world state sections, so that later only differences
# are sent (CX-3).


ENVIRONMENT_SECTION, MODEL_SECTION, INSTRUCTIONS_SECTION = "environment", "model", "instructions"
"""Section ids. Those of the host's own sections begin with `given`."""
