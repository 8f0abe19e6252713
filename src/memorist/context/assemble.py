"""Assemble the first context of both families: sections in, pieces and request bodies out.

Pure (CX-1, CX-2).

Pieces follow the order of the scaffold table. Sections that the host does not supply are omitted.
"""

from __future__ import annotations

from collections.abc import Sequence

from memorist.context.environment import Surroundings, env_block, environment_context, git_text
from memorist.context.instructions import Instructions, agents_source, agents_text, claude_text
from memorist.context.piece import Piece, Section, piece
from memorist.context.rows import FILE_NATIVE, ROLLOUT, Row
from memorist.context.scaffold import contained, row, wrap
from memorist.context.settings import Family
from memorist.core.messages import JsonObject, Message, Origin, Prompt, Text, Wire
from memorist.errors import InputError
from memorist.formats.registry import codec

REMINDER = "system-reminder"
DEFERRED = "available-deferred-tools"
_CACHED: JsonObject = {"cache_control": {"type": "ephemeral"}}
_PLACES = {
    "rollout": {kind.tag: number for number, kind in enumerate(ROLLOUT)},
    "file-native": {kind.tag: number for number, kind in enumerate(FILE_NATIVE)},
}


def assemble(family: Family, sections: Sequence[Section], attachments: Sequence[Section] = ()) -> tuple[Piece, ...]:
    """Order the sections as the family does and turn them into pieces, followed by the attachments.

    Sections of one tag keep their given order; empty ones are dropped. Attachments always go to the
    tail, whatever their tag, so that what precedes them never changes. Raises InputError for a tag
    the family does not have, and for one that belongs to the model's own answers.
    """
    order = _PLACES[family]
    kinds = {section.tag: _kind(section.tag, family) for section in (*sections, *attachments)}
    first = sorted((section for section in sections if section.text.strip()), key=lambda section: order[kinds[section.tag].tag])
    last = [section for section in attachments if section.text.strip()]
    if any(kinds[section.tag].role == "system" for section in last):
        raise InputError("a system block is no attachment: it stands before the conversation")
    return tuple(made(section, kinds[section.tag]) for section in (*first, *last))


def _kind(tag: str, family: Family) -> Row:
    found = row(tag, family)
    if found.role == "assistant" or found.tag == "boundary":
        raise InputError(f"{tag!r} is no section of a context: it is read, not assembled")
    return found


def made(section: Section, kind: Row) -> Piece:
    """Render one section as a piece."""
    text = wrap(kind, contained(section.text.strip("\n"), kind), section.values)
    return piece(kind.role, kind.tag, text, source=section.source, why=section.why or kind.when)


def rollout_sections(instructions: Instructions, around: Surroundings) -> list[Section]:
    """Build the rollout family's sections on project and environment."""
    found = [Section(tag="environment_context", text=environment_context(around), source="this machine and folder")]
    if instructions.loaded:
        folder = around.places[0].folder if around.places else ""
        cut = sum(file.cut for file in instructions.loaded)
        count = len(instructions.loaded)
        why = f"{count} instruction file{'s' if count > 1 else ''}, farthest first{f'; {cut:,} bytes did not fit' if cut else ''}"
        found.append(
            Section(tag="AGENTS.md", text=agents_text(instructions), source=agents_source(instructions), why=why, values={"folder": folder})
        )
    return found


def file_native_sections(instructions: Instructions, around: Surroundings, *, status_characters: int = 2_000) -> list[Section]:
    """Build the file-native family's sections: system blocks, and the user context that precedes
    all messages.
    """
    found = [Section(tag="env", text=env_block(around), source="this machine and folder")]
    if around.git is not None:
        found.append(Section(tag="git", text=git_text(around.git, status_characters), source="git"))
    for file in instructions.loaded:
        why = "; ".join((f"{file.scope} instructions, {_REASONS[file.reason]}", *file.remarks))
        found.append(Section(tag=REMINDER, text=claude_text(file), source=file.path, why=why))
    return found


def date_section(date: str) -> Section:
    """Build the section with today's date, at the end of the user context.

    A later change of date is sent as an attachment; this section stays unchanged.
    """
    return Section(tag=REMINDER, text=f"[memorist] Today's date: {date}", source="the clock", why="the date, as the session begins")


_REASONS = {
    "session_start": "read as the session begins",
    "include": "imported",
    "path_glob_match": "a file of its scope was read",
    "nested_traversal": "a file of its folder was read",
}


def deferred_tools(names: Sequence[str], source: str = "the host") -> Section:
    """List the tools that are not in the request's schema, one name a line."""
    return Section(tag=DEFERRED, text="\n".join(names), source=source)


def messages_of(pieces: Sequence[Piece], family: Family) -> tuple[Message, ...]:
    """Turn pieces into messages: neighbours of one role share a message unless their row stands
    apart.
    """
    found: list[list[Piece]] = []
    for each in pieces:
        apart = row(each.tag, family).apart
        if found and not apart and found[-1][0].role == each.role and not row(found[-1][0].tag, family).apart:
            found[-1].append(each)
        else:
            found.append([each])
    return tuple(
        Message(
            id=f"context-{number}",
            role=group[0].role,
            blocks=tuple(Text(each.text) for each in group),
            origin=Origin.INJECTED,
        )
        for number, group in enumerate(found)
    )


def responses_body(pieces: Sequence[Piece], conversation: Sequence[Message] = ()) -> JsonObject:
    """Build `input` of a Responses request: the context's messages, then the conversation."""
    wire = codec("openai_responses")
    history = [*messages_of(pieces, "rollout"), *conversation]
    return wire.encode_request(Prompt(system=(), tools=(), messages=tuple(history), params={}, wire=Wire(wire.name, "request")))


def anthropic_body(pieces: Sequence[Piece], conversation: Sequence[Message] = ()) -> JsonObject:
    """Build `system` and `messages` of a Messages request.

    The static part and the whole of `system` each end with a cache mark. The user context precedes
    all messages and shares one message with the user's first words, as the API merges neighbours of
    one role.
    """
    wire = codec("anthropic")
    blocks = [each for each in pieces if each.role == "system"]
    marked = {len([each for each in blocks if each.tag == "static"]) - 1, len(blocks) - 1}
    system = Message(
        id="system",
        role="system",
        blocks=tuple(Text(each.text, extra=_CACHED if number in marked else None) for number, each in enumerate(blocks)),
        origin=Origin.INJECTED,
        wire=Wire(wire.name),
    )
    history = [*messages_of([each for each in pieces if each.role != "system"], "file-native"), *conversation]
    return wire.encode_request(
        Prompt(system=(system,) if blocks else (), tools=(), messages=tuple(history), params={}, wire=Wire(wire.name, "request"))
    )
