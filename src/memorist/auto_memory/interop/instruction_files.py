"""Plain instruction files (`AGENTS.md`, `CLAUDE.md`, `.cursorrules` and the like): their rules, or
the entries of memorist's own section where it wrote one.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memorist.auto_memory.interop.dialect import (
    DialectExport,
    DialectImport,
    ExportLoss,
    IgnoredImportEntry,
    MemoryDialect,
    build_export_losses,
    create_entry_topic,
    create_list_topics,
    decode_text,
    export_to_section,
    find_export_losses,
    find_section_span,
    separate_superseded_memories,
    split_headed_sections,
)
from memorist.auto_memory.interop.instruction_rules import (
    separate_rules_from_other_lines,
    strip_front_matter,
)
from memorist.auto_memory.memory_file import MemoryKind, Topic

INSTRUCTION_FILE_NAMES = frozenset(
    {"agents.md", "agents.override.md", "claude.md", "claude.local.md", "conventions.md"}
    | {"copilot-instructions.md", ".cursorrules", ".windsurfrules", ".clinerules", ".roorules"}
    | {".rules", ".goosehints"}
)
"""In lower case, as agents and editors call them."""
INSTRUCTION_FILE_ENDINGS = (".mdc", ".instructions.md")
"""Of the rules of Cursor and of GitHub Copilot, a file for each topic."""
INSTRUCTION_FILE = "AGENTS.md"
INSTRUCTION_HEADING = "## Memories"
_INSTRUCTION_TRAITS = frozenset({"lines", "links"})


def are_instruction_memory_files(files: Mapping[str, bytes]) -> bool:
    """Whether there is a file with one of the known names."""
    names = (path.rsplit("/", 1)[-1].lower() for path in files)
    return any(
        name in INSTRUCTION_FILE_NAMES or name.endswith(INSTRUCTION_FILE_ENDINGS) for name in names
    )


def import_instruction_memory(files: Mapping[str, bytes]) -> DialectImport:
    """Read the entries of the section `Memories`, or every rule where there is no such section.

    They say how to work: kind `feedback`.
    """
    topics: list[Topic] = []
    left: list[IgnoredImportEntry] = []
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
                [IgnoredImportEntry(path, "instructions outside the section of memories")]
                if (text[:start] + text[end:]).strip()
                else []
            )
            continue
        for part in split_headed_sections(strip_front_matter(text)):
            rules, rest = separate_rules_from_other_lines(part.lines)
            topics += [
                create_entry_topic(rule, MemoryKind.FEEDBACK, used_names)
                for rule in dict.fromkeys(rules)
            ]
            where = f"{path}: {part.title or 'its beginning'}"
            left += [IgnoredImportEntry(where, f"{len(rest)} lines are no rules")] if rest else []
    return DialectImport(topics=tuple(topics), ignored=tuple(left))


def export_instruction_memory(
    topics: Sequence[Topic], existing_files: Mapping[str, bytes]
) -> DialectExport:
    """Add the memories that the section does not contain yet; all else in the file stays."""
    active, missing = separate_superseded_memories(topics)
    losses: list[ExportLoss] = [*missing]
    for topic in active:
        kind = () if topic.kind in (None, MemoryKind.FEEDBACK) else ("kind",)
        others = (each for each in find_export_losses(topic, _INSTRUCTION_TRAITS) if each != "kind")
        losses += build_export_losses(topic, (*kind, *others))
    existing = existing_files.get(INSTRUCTION_FILE, b"")
    entries = [topic.body for topic in active]
    return export_to_section(existing, INSTRUCTION_FILE, INSTRUCTION_HEADING, entries, losses)


INSTRUCTIONS = MemoryDialect(
    name="instructions",
    title="Instruction file",
    supported_traits=_INSTRUCTION_TRAITS,
    inspected_paths=(INSTRUCTION_FILE,),
    single_file=INSTRUCTION_FILE,
    recognise=are_instruction_memory_files,
    read=import_instruction_memory,
    write=export_instruction_memory,
)
