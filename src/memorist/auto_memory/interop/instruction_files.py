"""Plain instruction files (`AGENTS.md`, `CLAUDE.md` and the like): list entries, in memorist's own
section where it wrote them.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memorist.auto_memory.interop.dialect import (
    Dialect,
    DialectExport,
    DialectImport,
    ExportLoss,
    IgnoredEntry,
    create_list_topics,
    decode_text,
    describe_loss,
    export_to_section,
    find_losses,
    find_section_span,
    split_headed_sections,
    split_superseded,
)
from memorist.auto_memory.memory_file import MemoryKind, Topic

INSTRUCTION_FILE_NAMES = ("AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", "AGENTS.override.md")
INSTRUCTION_FILE = "AGENTS.md"
INSTRUCTION_HEADING = "## Memories"
_INSTRUCTION_TRAITS = frozenset({"lines", "links"})


def is_instruction_memory(files: Mapping[str, bytes]) -> bool:
    """Whether there is a file with one of the known names."""
    return any(path.rsplit("/", 1)[-1] in INSTRUCTION_FILE_NAMES for path in files)


def import_instruction_memory(files: Mapping[str, bytes]) -> DialectImport:
    """Read the entries of the section `Memories`, or every list entry where there is no such
    section.

    They say how to work: kind `feedback`.
    """
    topics: list[Topic] = []
    left: list[IgnoredEntry] = []
    used_names: dict[str, int] = {}
    for path, data in sorted(files.items()):
        text = decode_text(data)
        start, end = find_section_span(text, INSTRUCTION_HEADING)
        if start >= 0:
            found, others = create_list_topics(
                text[start:end].split("\n")[1:],
                f"{path}: {INSTRUCTION_HEADING}",
                MemoryKind.FEEDBACK,
                used_names,
            )
            topics, left = topics + found, left + others
            left += (
                [IgnoredEntry(path, "instructions outside the section of memories")]
                if (text[:start] + text[end:]).strip()
                else []
            )
            continue
        for part in split_headed_sections(text):
            found, others = create_list_topics(
                part.lines,
                f"{path}: {part.title or 'its beginning'}",
                MemoryKind.FEEDBACK,
                used_names,
            )
            topics, left = topics + found, left + others
    return DialectImport(topics=tuple(topics), ignored=tuple(left))


def export_instruction_memory(
    topics: Sequence[Topic], existing_files: Mapping[str, bytes]
) -> DialectExport:
    """Add the memories that the section does not contain yet; all else in the file stays."""
    active, missing = split_superseded(topics)
    losses: list[ExportLoss] = [*missing]
    for topic in active:
        kind = () if topic.kind in (None, MemoryKind.FEEDBACK) else ("kind",)
        others = (each for each in find_losses(topic, _INSTRUCTION_TRAITS) if each != "kind")
        losses += describe_loss(topic, (*kind, *others))
    existing = existing_files.get(INSTRUCTION_FILE, b"")
    entries = [topic.body for topic in active]
    return export_to_section(existing, INSTRUCTION_FILE, INSTRUCTION_HEADING, entries, losses)


INSTRUCTIONS = Dialect(
    name="instructions",
    title="Instruction file",
    supported_traits=_INSTRUCTION_TRAITS,
    inspected_paths=(INSTRUCTION_FILE,),
    single_file=INSTRUCTION_FILE,
    recognise=is_instruction_memory,
    read=import_instruction_memory,
    write=export_instruction_memory,
)
