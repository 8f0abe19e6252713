"""Gemini CLI: `GEMINI.md` with a section of added memories, one line each; a project's own are the
list in its `MEMORY.md`.

Pure. Source of the heading, of the end of the section (the next level-2 heading) and of what a line
may contain (no line ends, no angle brackets, no leading dash): google-gemini/gemini-cli,
packages/core/src/tools/memoryTool.ts, as of 2026.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memorist.auto_memory.interop.dialect import (
    DialectExport,
    DialectImport,
    ExportLoss,
    IgnoredImportEntry,
    MemoryDialect,
    add_missing_section_entries,
    build_memory_export_loss,
    collapse_whitespace,
    create_memory_files_from_list,
    decode_text,
    find_section_by_heading,
    find_traits_lost_in_export,
    separate_superseded_memories,
    split_headed_sections,
)
from memorist.auto_memory.memory_file import MemoryFile, MemoryKind
from memorist.auto_memory.memory_manifest import INDEX_NAME

GEMINI_FILE = "GEMINI.md"
GEMINI_HEADING = "## Gemini Added Memories"
_GEMINI_TRAITS: frozenset[str] = frozenset({"links"})
_BRACKETS = str.maketrans("<>", "  ")


def has_gemini_memory_file(files: Mapping[str, bytes]) -> bool:
    """Whether there is a `GEMINI.md`, or the heading in any file."""
    return any(
        path.rsplit("/", 1)[-1] == GEMINI_FILE
        or find_section_by_heading(decode_text(data), GEMINI_HEADING)[0] >= 0
        for path, data in files.items()
    )


def import_gemini_memory(files: Mapping[str, bytes]) -> DialectImport:
    """Read each line of the section.

    The layout does not say the kind; a list in a project's `MEMORY.md` is about the project.
    """
    topics: list[MemoryFile] = []
    left: list[IgnoredImportEntry] = []
    used_names: dict[str, int] = {}
    for path, data in sorted(files.items()):
        text = decode_text(data)
        start, end = find_section_by_heading(text, GEMINI_HEADING)
        if start >= 0:
            found, others = create_memory_files_from_list(
                text[start:end].split("\n")[1:], f"{path}: {GEMINI_HEADING}", None, used_names
            )
            topics, left = topics + found, left + others
            text = text[:start] + text[end:]
        if path.rsplit("/", 1)[-1] == INDEX_NAME:
            found, others = create_memory_files_from_list(
                [line for each in split_headed_sections(text) for line in each.lines],
                path,
                MemoryKind.PROJECT,
                used_names,
            )
            topics, left = topics + found, left + others
        elif text.strip():
            own = path.rsplit("/", 1)[-1] == GEMINI_FILE or start >= 0
            left.append(
                IgnoredImportEntry(
                    path,
                    "instructions outside the section of added memories"
                    if own
                    else "no file that Gemini CLI adds memories to",
                )
            )
    return DialectImport(topics=tuple(topics), ignored=tuple(left))


def render_gemini_line(text: str) -> str:
    """Render a text as the single line that Gemini CLI would make of it."""
    return collapse_whitespace(text.translate(_BRACKETS)).lstrip("- ")


def export_gemini_memory(
    topics: Sequence[MemoryFile], existing_files: Mapping[str, bytes]
) -> DialectExport:
    """Add the memories that the section does not contain yet; all else in the file stays."""
    active, missing = separate_superseded_memories(topics)
    losses: list[ExportLoss] = [*missing]
    lines: list[str] = []
    for topic in active:
        line = render_gemini_line(topic.body)
        if not line:
            why = "nothing of it is left on one line without signs"
            losses.append(ExportLoss(topic.path, (why,), is_nothing_written=True))
            continue
        brackets = ("angle brackets",) if "<" in topic.body or ">" in topic.body else ()
        losses += build_memory_export_loss(
            topic, (*find_traits_lost_in_export(topic, _GEMINI_TRAITS), *brackets)
        )
        lines.append(line)
    existing = existing_files.get(GEMINI_FILE, b"")
    return add_missing_section_entries(existing, GEMINI_FILE, GEMINI_HEADING, lines, losses)


GEMINI = MemoryDialect(
    name="gemini",
    title="Gemini CLI",
    supported_traits=_GEMINI_TRAITS,
    inspected_paths=(GEMINI_FILE,),
    single_file=GEMINI_FILE,
    recognise=has_gemini_memory_file,
    read=import_gemini_memory,
    write=export_gemini_memory,
)
