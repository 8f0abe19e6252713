"""Common types and functions of the dialects: what was read, what was written, and what was lost.

Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct, field

from memorist.auto_memory.memory_file import (
    MEMORIST_KEY,
    MemoryFile,
    MemoryKind,
    Provenance,
    Trust,
    create_memory_file,
    make_file_name,
)
from memorist.core.markdown import mark_fenced_code
from memorist.core.text_encoding import encode_file_text_as_utf8, replace_surrogates
from memorist.safety.secrets import redact

# Sections and list entries of a Markdown file, parsed by rule and written back without loss.


_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t#]*$")
_CRLF = re.compile(r"\r+\n")
_BULLET = re.compile(r"[-*+][ \t]+(.*)$")
INDENT = "  "


class HeadedSection(Struct, frozen=True):
    """A heading with the lines below it, up to the next heading of any level.

    Level 0 precedes the first.
    """

    level: int
    title: str
    lines: tuple[str, ...]
    heading: str = ""
    """The heading's line, verbatim."""

    @property
    def text(self) -> str:
        """The section, verbatim."""
        return "\n".join([self.heading, *self.lines] if self.level else self.lines)


def split_headed_sections(text: str) -> list[HeadedSection]:
    """Split a text with plain line ends into sections, in order; the first may have no heading."""
    found: list[tuple[int, str, list[str], str]] = [(0, "", [], "")]
    for line, fenced in mark_fenced_code(text.split("\n")):
        match = None if fenced else _HEADING.match(line)
        if match:
            found.append((len(match[1]), match[2].strip(), [], line))
        else:
            found[-1][2].append(line)
    return [
        HeadedSection(level, title, tuple(lines), heading)
        for level, title, lines, heading in found
        if level or any(line.strip() for line in lines)
    ]


def split_bullets_from_other_lines(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the list entries among the lines, and the other non-blank lines.

    An entry continues in indented lines and the blank lines between them.
    """
    entries: list[list[str]] = []
    others: list[str] = []
    inside = False
    for line, fenced in mark_fenced_code(lines):
        match = None if fenced else _BULLET.match(line)
        if match:
            entries.append([match[1]])
            inside = True
        elif inside and (not line or line[0] in " \t"):
            entries[-1].append(
                line.removeprefix(INDENT) if line.startswith(INDENT) else line.lstrip(" \t")
            )
        else:
            inside = inside and not line.strip()
            others += [line] if line.strip() else []
    return [text for text in ("\n".join(each).strip() for each in entries) if text], others


def render_bullet(text: str) -> str:
    """Render a text as a list entry that `split_bullets_from_other_lines` reads back equal, up to
    surrounding white space.
    """
    first, *rest = _CRLF.sub("\n", text.strip()).split("\n")
    return "\n".join([f"- {first.strip()}", *(INDENT + line if line else "" for line in rest)])


def collapse_whitespace(text: str) -> str:
    """Put a text on one line."""
    return " ".join(text.split())


def append_section_entries(text: str, heading: str, entries: Sequence[str]) -> str:
    """Append entries to the section with this heading, which is created at the end where missing.

    All other text stays.
    """
    if not entries:
        return text
    ending = "\r\n" if "\r\n" in text else "\n"
    added = "\n".join(entries).replace("\n", ending) + ending
    start, end = find_section_by_heading(text, heading)
    if start < 0:
        gap = "" if not text else ending if text.endswith("\n") else 2 * ending
        return f"{text}{gap}{heading}{ending}{added}"
    kept = text[:end].rstrip("\r\n")
    gap = text[len(kept) : end].partition("\n")[2]
    return f"{kept}{ending}{added}{gap}{text[end:]}"


def find_section_by_heading(text: str, heading: str) -> tuple[int, int]:
    """Return a section's start (its heading) and end (the next heading of its level or above).

    (-1, -1) where there is no such section.
    """
    level = len(heading) - len(heading.lstrip("#"))
    start = end = -1
    position = 0
    lines = text.split("\n")
    for line, fenced in mark_fenced_code(lines):
        plain = line.rstrip().removeprefix("\ufeff")
        match = None if fenced else _HEADING.match(plain)
        if start < 0 and not fenced and plain == heading:
            start = position
        elif start >= 0 and match and len(match[1]) <= level:
            end = position
            break
        position += len(line) + 1
    return (start, end if end >= 0 else len(text)) if start >= 0 else (-1, -1)


MEMORY_TRAITS = ("kind", "name", "description", "pinned", "origin", "other keys", "links", "lines")
"""What a memory has besides its text, in the order in which losses are reported."""
_LINK = re.compile(r"\[\[[^\[\]\n]+\]\]")
_KNOWN_KEYS = frozenset({"name", "description", "type", "metadata", "pinned", MEMORIST_KEY})
_ENTRY_NAME_CHARS = 60
"""Characters of an entry's start that serve as its name where the dialect has no names."""
_ENTRY_DESCRIPTION_CHARS = 150
"""Characters of an entry's first line that serve as its description (Claude Code: a
hook has under about 150).
"""


class IgnoredImportEntry(Struct, frozen=True):
    """Something that was found and is not imported: its path or heading, and why."""

    where: str
    why: str


class DialectImport(Struct, frozen=True, kw_only=True):
    """What a dialect made of some files.

    The path of each topic is one that a memory folder accepts; all are distinct.
    """

    topics: tuple[MemoryFile, ...]
    ignored: tuple[IgnoredImportEntry, ...] = ()
    folders: Mapping[str, tuple[str, ...]] = {}
    """Full paths of the folders to which a memory applies, by the memory's path; a missing one
    applies everywhere.
    """


class ExportLoss(Struct, frozen=True):
    """What a dialect cannot hold of one memory. `is_nothing_written` when nothing of the memory was
    written.
    """

    path: str
    lost_parts: tuple[str, ...] = field(name="what")
    is_nothing_written: bool = field(default=False, name="whole")


class DialectExport(Struct, frozen=True, kw_only=True):
    """The dialect's files that hold the memories, and what they do not hold."""

    files: Mapping[str, bytes]
    """By path relative to the target folder, with slashes."""
    losses: tuple[ExportLoss, ...] = ()


class MemoryDialect(Struct, frozen=True, kw_only=True):
    """One layout.

    `write` takes the memories, most valuable first, and the target's existing files, whose foreign
    content is kept.
    """

    name: str
    title: str
    supported_traits: frozenset[str]
    """The subset of `MEMORY_TRAITS` that survives a round trip."""
    inspected_paths: tuple[str, ...]
    """Files, or folders ending in a slash, that `write` needs to see; an empty text is the whole
    target folder.
    """
    single_file: str
    """The one file that it writes; empty when there are several."""
    recognise: Callable[[Mapping[str, bytes]], bool]
    read: Callable[[Mapping[str, bytes]], DialectImport]
    write: Callable[[Sequence[MemoryFile], Mapping[str, bytes]], DialectExport]


def add_missing_section_entries(
    existing: bytes, name: str, heading: str, entries: Sequence[str], losses: Sequence[ExportLoss]
) -> DialectExport:
    """Add to the section of the file `name` the entries that it does not contain yet; all else in
    the file stays.
    """
    text = existing.decode("utf-8", "surrogateescape")
    start, end = find_section_by_heading(text, heading)
    section = text[start:end].replace("\r\n", "\n").split("\n")[1:] if start >= 0 else []
    known = {collapse_whitespace(each) for each in split_bullets_from_other_lines(section)[0]}
    added: list[str] = []
    for entry in entries:
        key = collapse_whitespace(entry)
        if key not in known:
            known.add(key)
            added.append(render_bullet(entry))
    changed = append_section_entries(text, heading, added)
    return DialectExport(
        files={name: encode_file_text_as_utf8(changed)} if changed else {}, losses=tuple(losses)
    )


def decode_text(data: bytes) -> str:
    """Decode a file: no byte order mark, plain line ends, invalid UTF-8 as lone surrogates."""
    return data.decode("utf-8", "surrogateescape").removeprefix("\ufeff").replace("\r\n", "\n")


def create_memory_file_from_entry(
    text: str,
    kind: MemoryKind | None,
    used_paths: dict[str, int],
    *,
    name: str = "",
    created: str = "",
) -> MemoryFile:
    """Create a memory from a text without a file of its own; its path is added to `used_paths`."""
    # The file name is made from the text, and the gate does not check names.
    first = _first_header_line(redact(text).text)
    path = reserve_free_path(make_file_name(name or first[:_ENTRY_NAME_CHARS]), used_paths)
    provenance = Provenance(created=created, trust=Trust.IMPORTED)
    title = name or path.removesuffix(".md")
    return create_memory_file(
        path,
        kind=kind,
        name=title,
        description=first[:_ENTRY_DESCRIPTION_CHARS],
        body=text,
        provenance=provenance,
    )


def create_memory_files_from_list(
    lines: Sequence[str], source: str, kind: MemoryKind | None, used_paths: dict[str, int]
) -> tuple[list[MemoryFile], list[IgnoredImportEntry]]:
    """Create a memory for each distinct list entry, and report the other lines as ignored in
    `source`.
    """
    found, others = split_bullets_from_other_lines(lines)
    topics = [
        create_memory_file_from_entry(each, kind, used_paths) for each in dict.fromkeys(found)
    ]
    return topics, [
        IgnoredImportEntry(source, f"{len(others)} lines are no list entries")
    ] if others else []


def _first_header_line(text: str) -> str:
    """Return the first line without Markdown marks, encodable."""
    line = text.strip().partition("\n")[0].replace("**", "").strip("#*- ")
    return " ".join(replace_surrogates(line).split())


def map_next_path_numbers(paths: Iterable[str]) -> dict[str, int]:
    """Map used paths (folded) to the number that the next path of that name gets."""
    return dict.fromkeys(map(normalize_path_for_comparison, paths), 2)


def reserve_free_path(wanted: str, used_paths: dict[str, int]) -> str:
    """Return the path, numbered where it is in use already, and mark it as used."""
    key = normalize_path_for_comparison(wanted)
    path = wanted
    while normalize_path_for_comparison(path) in used_paths:
        path = f"{wanted.removesuffix('.md')}-{used_paths[key]}.md"
        used_paths[key] += 1
    used_paths[normalize_path_for_comparison(path)] = 2
    return path


def normalize_path_for_comparison(path: str) -> str:
    """Fold a path for comparison: some file systems ignore case or Unicode form."""
    return unicodedata.normalize("NFKC", path).casefold()


def find_traits_lost_in_export(
    topic: MemoryFile, supported_traits: frozenset[str]
) -> tuple[str, ...]:
    """Find what a memory loses in a dialect with only these traits."""
    front = topic.document.front
    provenance = topic.provenance
    first = _first_header_line(topic.body)
    origin = (
        provenance.session
        or provenance.quote
        or provenance.trust not in (Trust.UNKNOWN, Trust.IMPORTED)
    )
    there = {
        "kind": topic.kind is not None,
        "name": make_file_name(topic.name)
        not in (make_file_name(first[:_ENTRY_NAME_CHARS]), topic.path.rsplit("/", 1)[-1]),
        "description": bool(front and front.text_value("description"))
        and not first.startswith(topic.description),
        "pinned": topic.pinned,
        "origin": bool(origin),
        "other keys": any(each.key and each.key not in _KNOWN_KEYS for each in front.entries)
        if front
        else False,
        "links": _LINK.search(topic.body) is not None,
        "lines": "\n" in topic.body.strip(),
    }
    return tuple(name for name in MEMORY_TRAITS if there[name] and name not in supported_traits)


def build_memory_export_loss(topic: MemoryFile, what: Sequence[str]) -> tuple[ExportLoss, ...]:
    """Build the loss record of one memory; empty when nothing is lost."""
    return (ExportLoss(topic.path, tuple(what)),) if what else ()


def separate_superseded_memories(
    topics: Sequence[MemoryFile],
) -> tuple[list[MemoryFile], tuple[ExportLoss, ...]]:
    """Split memories into active and superseded: most layouts cannot mark one as superseded."""
    active = [topic for topic in topics if topic.provenance.status == "active"]
    superseded = [topic for topic in topics if topic.provenance.status != "active"]
    return active, tuple(
        ExportLoss(
            topic.path,
            ("it was superseded, and the layout has no word for that",),
            is_nothing_written=True,
        )
        for topic in superseded
    )
