"""What a session's model was shown first: saved, so that a new process sends the very same bytes,
and as world state sections, so that later only differences are sent (CX-3).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from memorist.context.agents_md_files import render_agents_files
from memorist.context.claude_md_files import render_claude_file
from memorist.context.context_pieces import ContextPiece, ContextSection
from memorist.context.context_tags import (
    escape_closing_tag,
    require_context_tag_definition,
    wrap_unescaped_text_in_tag,
)
from memorist.context.environment import (
    SessionEnvironment,
    render_claude_env_fields,
    render_codex_environment_fields,
)
from memorist.context.first_context_assembly import (
    ENVIRONMENT_SECTION,
    INSTRUCTIONS_SECTION,
    MODEL_SECTION,
    REMINDER_TAG,
    convert_section_to_piece,
)
from memorist.context.instruction_report import InstructionReport
from memorist.context.world_state import LastSentValue, SectionRenderer, WorldSection, hash_text
from memorist.core.messages import Role
from memorist.core.prompt_templates import render_template
from memorist.errors import StoreError
from memorist.ports import FileSystem
from memorist.safety.redacted_json import encode_redacted
from memorist.settings import Family
from memorist.store.disk_files import read_json_if_valid


class CurrentWorldState(Struct, frozen=True, kw_only=True):
    """The current state of everything that the model is told about its environment."""

    family: Family
    environment: SessionEnvironment
    instructions: InstructionReport = InstructionReport()
    host_sections: tuple[ContextSection, ...] = ()
    """The host's sections, and our own next to them: the catalogue of skills."""
    model_switch: str = ""
    """Template of the text that announces another model, around {{model}}."""


def build_world_sections(snapshot: CurrentWorldState) -> tuple[WorldSection, ...]:
    """Build the sections to compare. Their values are short: of a text only its digest is kept."""
    if snapshot.family == "rollout":
        return tuple(_rollout_world_sections(snapshot))
    return (
        *_file_native_world_sections(snapshot),
        *_host_world_sections(snapshot.host_sections, snapshot.family),
    )


def _rollout_world_sections(snapshot: CurrentWorldState) -> Iterator[WorldSection]:
    """Sections in the order of the first context, which is also the client's: a new folder brings
    its instructions, then the environment.
    """
    yield WorldSection(
        MODEL_SECTION,
        snapshot.environment.model or None,
        _model_renderer(snapshot.model_switch),
        "developer",
    )
    yield from _host_world_sections(snapshot.host_sections, snapshot.family)
    if snapshot.instructions.loaded:
        text = render_agents_files(snapshot.instructions)
        folder = (
            snapshot.environment.environments[0].folder if snapshot.environment.environments else ""
        )
        kind = require_context_tag_definition("AGENTS.md", snapshot.family)
        whole = wrap_unescaped_text_in_tag(kind, escape_closing_tag(text, kind), {"folder": folder})
        yield WorldSection(
            INSTRUCTIONS_SECTION,
            hash_text(whole),
            _text_renderer(
                whole, "[memorist] The AGENTS.md instructions above are no longer in force."
            ),
            "user",
        )
    yield WorldSection(
        ENVIRONMENT_SECTION,
        render_codex_environment_fields(snapshot.environment),
        _environment_renderer("environment_context", snapshot.family),
        "user",
    )


def _file_native_world_sections(snapshot: CurrentWorldState) -> Iterator[WorldSection]:
    fields = render_claude_env_fields(snapshot.environment) | (
        {"Today's date": f"Today's date: {snapshot.environment.date}"}
        if snapshot.environment.date
        else {}
    )
    yield WorldSection(
        ENVIRONMENT_SECTION, fields, _environment_renderer("", snapshot.family), "user"
    )
    for file in snapshot.instructions.loaded:
        text = render_claude_file(file)
        retraction = f"[memorist] No longer in force: the instructions from {file.path}."
        yield WorldSection(
            f"{INSTRUCTIONS_SECTION} {file.path}",
            hash_text(text),
            _text_renderer(text, retraction),
            "user",
        )


def _environment_renderer(tag: str, family: Family) -> SectionRenderer:
    """Render only the fields that changed, in order; removed ones by name."""

    def tell(value: object, before: LastSentValue) -> str:
        now = value if isinstance(value, Mapping) else {}
        known = (
            before.value if before.state == "known" and isinstance(before.value, Mapping) else {}
        )
        lines = [str(line) for name, line in now.items() if known.get(name) != line]
        removed = [str(name) for name in known if name not in now]
        if tag:
            kind = require_context_tag_definition(tag, family)
            lines += [f"  <{name} />" for name in removed]
            return (
                wrap_unescaped_text_in_tag(kind, escape_closing_tag("\n".join(lines), kind))
                if lines
                else ""
            )
        lines += [f"{name}: no longer given" for name in removed]
        return "\n".join(["[memorist] From here on:", *lines]) if lines else ""

    return tell


def _model_renderer(template: str) -> SectionRenderer:
    """Announce that another model answers. The first model of a session is not announced."""

    def tell(value: object, before: LastSentValue) -> str:
        if value is None or before.state != "known" or not template:
            return ""
        kind = require_context_tag_definition("model_switch", "rollout")
        return wrap_unescaped_text_in_tag(
            kind,
            escape_closing_tag(
                render_template(template, {"model": str(value)}, strict=True).strip(), kind
            ),
        )

    return tell


def _text_renderer(text: str, retraction: str) -> SectionRenderer:
    def tell(value: object, before: LastSentValue) -> str:
        del before
        return retraction if value is None else text

    return tell


def _host_world_sections(
    sections: Sequence[ContextSection], family: Family
) -> Iterator[WorldSection]:
    """The host's sections; several with the same tag and source are numbered."""
    counts: dict[str, int] = {}
    for section in sections:
        if not section.text.strip():
            continue
        kind = require_context_tag_definition(section.tag, family)
        name = f"given {kind.tag} {section.source}"
        counts[name] = counts.get(name, 0) + 1
        id = name if counts[name] == 1 else f"{name} {counts[name]}"
        text = (
            escape_closing_tag(section.text.strip("\n"), kind)
            if kind.tag == REMINDER_TAG
            else convert_section_to_piece(section, kind).text
        )
        retraction = f"[memorist] No longer in force: {kind.tag}, from {section.source}."
        role: Role = "developer" if kind.role == "system" else kind.role
        yield WorldSection(id, hash_text(text), _text_renderer(text, retraction), role)


def add_removed_sections(
    sections: Sequence[WorldSection], before: Sequence[WorldSection]
) -> tuple[WorldSection, ...]:
    """Add the sections that existed before and no longer do, so that their removal is announced in
    their own words.
    """
    now = {section.id for section in sections}
    return (
        *sections,
        *(
            WorldSection(each.id, None, each.render, each.role)
            for each in before
            if each.id not in now
        ),
    )


# Saves the first context of a session, so that a new process sends the very same bytes.


class SavedFirstContext(Struct, frozen=True):
    """The content of the file."""

    family: Family
    pieces: tuple[ContextPiece, ...]


def load_first_context(
    files: FileSystem, path: Path, family: Family
) -> tuple[ContextPiece, ...] | None:
    """Load the pieces; None if there are none of this family, or they cannot be read."""
    with contextlib.suppress(StoreError):
        shown = read_json_if_valid(files, path, SavedFirstContext)
        return shown.pieces if shown is not None and shown.family == family else None
    return None


def save_first_context(
    files: FileSystem,
    path: Path,
    family: Family,
    pieces: tuple[ContextPiece, ...],
    *,
    raw: bool = False,
) -> None:
    """Save the pieces; unless `raw`, not where they hold a secret.

    What is not saved, also because the disk refuses, a new process assembles again: it cannot
    resend the same bytes, and nothing else is lost.
    """
    data = msgspec.json.encode(SavedFirstContext(family, pieces))
    if not raw and encode_redacted(SavedFirstContext(family, pieces)) != data:
        with contextlib.suppress(StoreError, FileNotFoundError):
            files.remove(path)
        return
    with contextlib.suppress(StoreError):
        files.write(path, data)
