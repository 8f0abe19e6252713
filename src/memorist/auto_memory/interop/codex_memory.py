"""Codex: a folder with a summary, a handbook, raw memories, session summaries, and ad-hoc notes
(Codex).
Pure. Codex regenerates its own files at each consolidation, so memories are written the intended
way: one note each in `extensions/ad_hoc/notes/`, which the next consolidation merges.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from memorist.auto_memory.interop.dialect import (
    DialectExport,
    DialectImport,
    ExportLoss,
    HeadedSection,
    IgnoredImportEntry,
    MemoryDialect,
    build_memory_export_loss,
    create_memory_file_from_entry,
    decode_text,
    find_traits_lost_in_export,
    map_next_path_numbers,
    render_bullet,
    reserve_free_path,
    separate_superseded_memories,
    split_bullets_from_other_lines,
    split_headed_sections,
)
from memorist.auto_memory.memory_file import MemoryFile, MemoryKind, make_file_name
from memorist.core.text_encoding import encode_file_text_as_utf8

# Codex: the memories in its `MEMORY.md` (the handbook) and `memory_summary.md`.


SUMMARY_VERSION = "v1"
"""First line of a `memory_summary.md`."""
GROUP_PREFIX = "Task Group:"
PREFERENCES = "user preferences"
KNOWLEDGE = "reusable knowledge"
FAILURES = "failures and how to do differently"
PROFILE = "user profile"
TIPS = "general tips"
CONTENTS = "what's in memory"

_ENTRY_TAGS = re.compile(
    r"(?:\s*\[(?:Tasks? \d+[^\]]*|ad-hoc note[^\]]*|by the user|(?:said|proved|inferred)(?: "
    r"[\d-]{10})?)\])+\s*$"
)
_CWD_LINE = re.compile(r"cwd=([^;\n]+)")
_BACKTICKED = re.compile(r"`([^`\n]+)`")
_LIST_SEPARATOR = re.compile(r"\s*(?:,|\+|\||\band\b)\s*")
_ABSOLUTE_PATH = re.compile(r"/|[A-Za-z]:[\\/]|\\\\")


class CodexTaskGroup(Struct, frozen=True, kw_only=True):
    """One task group of the handbook: its head, and the sections below it."""

    title: str
    scope: str = ""
    """The value of the line `scope:`."""
    applies_to: str = ""
    """The value of the line `applies_to:`."""
    folders: tuple[str, ...] = ()
    """The folders to which it applies; empty when it names none by full path."""
    head: HeadedSection
    sections: tuple[HeadedSection, ...] = ()

    @property
    def text(self) -> str:
        """The group, verbatim."""
        return "\n".join(part.text for part in (self.head, *self.sections))


class CodexFileMemories(Struct, frozen=True):
    """Memories of one file; `folders` maps a memory's path to the folders it is limited to."""

    topics: list[MemoryFile]
    folders: dict[str, tuple[str, ...]]
    ignored: list[IgnoredImportEntry]


def parse_handbook_groups(text: str) -> tuple[list[HeadedSection], list[CodexTaskGroup]]:
    """Parse the task groups of a handbook, and the sections before the first one.

    Plain line ends are expected.
    """
    before: list[HeadedSection] = []
    grouped: list[list[HeadedSection]] = []
    for part in split_headed_sections(text):
        if part.level == 1 and part.title.startswith(GROUP_PREFIX):
            grouped.append([part])
        elif grouped:
            grouped[-1].append(part)
        else:
            before.append(part)
    return before, [_build_group(parts) for parts in grouped]


def _build_group(parts: Sequence[HeadedSection]) -> CodexTaskGroup:
    head = [line.strip() for line in parts[0].lines]
    scope, applies = (
        next((line.partition(":")[2].strip() for line in head if line.startswith(name)), "")
        for name in ("scope:", "applies_to:")
    )
    title = parts[0].title.removeprefix(GROUP_PREFIX).strip()
    return CodexTaskGroup(
        title=title,
        scope=scope,
        applies_to=applies,
        folders=parse_group_folders("\n".join(head)),
        head=parts[0],
        sections=tuple(parts[1:]),
    )


def read_memories_from_codex_summary(
    path: str, text: str, used_paths: dict[str, int]
) -> CodexFileMemories:
    """Read `memory_summary.md`: profile, preferences and tips.

    The rest of it is a table of contents.
    """
    found = CodexFileMemories([], {}, [])
    above = ""
    for part in split_headed_sections(text.removeprefix(SUMMARY_VERSION)):
        above = part.title.casefold().replace("’", "'") if part.level <= 2 else above
        if above == PROFILE:
            profile = "\n".join(part.lines).strip()
            found.topics.extend(
                [
                    create_memory_file_from_entry(
                        _strip_entry_tags(profile), MemoryKind.USER, used_paths, name="user profile"
                    )
                ]
                if profile
                else []
            )
        elif above in (PREFERENCES, TIPS):
            _add_entries(
                path,
                part,
                MemoryKind.FEEDBACK if above == PREFERENCES else MemoryKind.PROJECT,
                used_paths,
                found,
            )
        elif above != CONTENTS:
            found.ignored.append(
                IgnoredImportEntry(
                    f"{path}: {part.title or 'its beginning'}",
                    "a section that the layout does not name",
                )
            )
        elif part.level <= 2:
            found.ignored.append(
                IgnoredImportEntry(f"{path}: {part.title}", "a table of contents of the handbook")
            )
    return found


def _add_entries(
    path: str,
    part: HeadedSection,
    kind: MemoryKind,
    used_paths: dict[str, int],
    found: CodexFileMemories,
) -> None:
    """Add a section's entries; below a heading that names folders they apply to those only."""
    entries, others = split_bullets_from_other_lines(part.lines)
    topics = [
        create_memory_file_from_entry(_strip_entry_tags(each), kind, used_paths) for each in entries
    ]
    folders = parse_absolute_folders(part.title) if part.level > 2 else ()
    found.topics.extend(topics)
    found.folders.update({topic.path: folders for topic in topics if folders})
    found.ignored.extend(_ignored_lines(f"{path}: {part.title}", others))


def read_memories_from_codex_handbook(
    path: str, text: str, used_paths: dict[str, int]
) -> CodexFileMemories:
    """Read the handbook: each preference, and each group's knowledge and lessons from failures."""
    found = CodexFileMemories([], {}, [])
    before, groups = parse_handbook_groups(text)
    found.ignored.extend(
        IgnoredImportEntry(
            f"{path}: {part.title or 'its beginning'}", "it stands before the first task group"
        )
        for part in before
    )
    for group in groups:
        _add_group(path, group, used_paths, found)
    return found


def _add_group(
    path: str, group: CodexTaskGroup, used_paths: dict[str, int], found: CodexFileMemories
) -> None:
    """Add the memories of one task group."""
    tasks = 0
    topics: list[MemoryFile] = []
    for part in group.sections:
        name = part.title.casefold()
        entries, others = split_bullets_from_other_lines(part.lines)
        if part.level == 2 and name == PREFERENCES:
            topics += [
                create_memory_file_from_entry(
                    _strip_entry_tags(each), MemoryKind.FEEDBACK, used_paths
                )
                for each in entries
            ]
            found.ignored.extend(_ignored_lines(f"{path}: {group.title}: {part.title}", others))
        elif part.level == 2 and name in (KNOWLEDGE, FAILURES):
            topics += _build_knowledge_topics(group.title, group.scope, name, entries, used_paths)
            found.ignored.extend(_ignored_lines(f"{path}: {group.title}: {part.title}", others))
        else:
            tasks += 1
    found.topics.extend(topics)
    found.folders.update({topic.path: group.folders for topic in topics if group.folders})
    if tasks:
        found.ignored.append(
            IgnoredImportEntry(
                f"{path}: {group.title}",
                f"{tasks} sections tell of sessions and their files, which are evidence and no "
                f"memory",
            )
        )


def _build_knowledge_topics(
    title: str, scope: str, name: str, entries: Sequence[str], used_paths: dict[str, int]
) -> list[MemoryFile]:
    """Build one topic from a group's knowledge: single lines seldom make sense without the
    group.
    """
    if not entries:
        return []
    heading = f"{title}: what failed, and what to do instead" if name == FAILURES else title
    text = "\n".join(
        [
            *([f"{heading}. {scope}" if scope else heading]),
            "",
            *(render_bullet(_strip_entry_tags(each)) for each in entries),
        ]
    )
    return [
        create_memory_file_from_entry(
            text,
            MemoryKind.PROJECT,
            used_paths,
            name=f"{title} failures" if name == FAILURES else title,
        )
    ]


def parse_group_folders(head: str) -> tuple[str, ...]:
    """Return the folders named in a group's head; empty when none is a full path."""
    match = _CWD_LINE.search(head)
    return parse_absolute_folders(match[1]) if match else ()


def parse_absolute_folders(text: str) -> tuple[str, ...]:
    """Return the full paths in a list of folders, in backticks or separated by commas and the
    like.
    """
    named = _BACKTICKED.findall(text) or [
        each.strip("`'\" ") for each in _LIST_SEPARATOR.split(text.strip())
    ]
    return tuple(each for each in named if _ABSOLUTE_PATH.match(each))


def _strip_entry_tags(text: str) -> str:
    """Strip trailing tags that point into Codex's own files."""
    return _ENTRY_TAGS.sub("", text) or text


def _ignored_lines(where: str, lines: Sequence[str]) -> list[IgnoredImportEntry]:
    return [IgnoredImportEntry(where, f"{len(lines)} lines are no list entries")] if lines else []


SUMMARY_FILE = "memory_summary.md"
HANDBOOK_FILE = "MEMORY.md"
RAW_MEMORIES_FILE = "raw_memories.md"
NOTES_FOLDER = "extensions/ad_hoc/notes/"
_CODEX_TRAITS = frozenset({"name", "lines", "links"})
_MAX_SLUG_CHARS = 80
"""Characters of the readable part of a note's name (Codex)."""
_NOTE_TIME = re.compile(r"(?P<date>\d{4}-\d{2}-\d{2})T(?P<time>\d{2}-\d{2}-\d{2})-")
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")
_NO_TIME = "1970-01-01T00-00-00"
_THREAD_HEADING = re.compile(
    r"^## Thread `(?P<thread>[^`\n]+)`\n(?P<facts>(?:[a-z_]+:[^\n]*\n)*)", re.MULTILINE
)
_FOLDER_DESCRIPTIONS = {
    "rollout_summaries/": "summaries of sessions: evidence, and no memory",
    "skills/": "skills",
    "extensions/": "material for Codex's own consolidation",
}


def are_codex_memory_files(files: Mapping[str, bytes]) -> bool:
    """Whether there is a versioned summary, a handbook with task groups, raw memories, session
    summaries, or notes.
    """
    return (
        decode_text(files.get(SUMMARY_FILE, b"")).partition("\n")[0].strip() == SUMMARY_VERSION
        or re.search(
            rf"^# {GROUP_PREFIX}", decode_text(files.get(HANDBOOK_FILE, b"")), re.MULTILINE
        )
        is not None
        or any(
            path == RAW_MEMORIES_FILE or path.startswith((NOTES_FOLDER, "rollout_summaries/"))
            for path in files
        )
    )


def import_codex_memory(files: Mapping[str, bytes]) -> DialectImport:
    """Read preferences, knowledge, profile and notes; raw memories only where there is no
    handbook.
    """
    used_paths: dict[str, int] = {}
    topics: list[MemoryFile] = []
    left: list[IgnoredImportEntry] = []
    folders: dict[str, tuple[str, ...]] = {}
    counts: dict[str, int] = {}
    for path, data in sorted(files.items()):
        text = decode_text(data)
        if path in (HANDBOOK_FILE, SUMMARY_FILE):
            found = (
                read_memories_from_codex_handbook(path, text, used_paths)
                if path == HANDBOOK_FILE
                else read_memories_from_codex_summary(path, text, used_paths)
            )
            topics += found.topics
            left += found.ignored
            folders |= found.folders
        elif path.startswith(NOTES_FOLDER) and path.endswith(".md"):
            topics += _read_note(path, text, used_paths)
        elif path == RAW_MEMORIES_FILE and HANDBOOK_FILE not in files:
            topics += _read_raw_memories(text, used_paths, folders)
        elif path == RAW_MEMORIES_FILE:
            left.append(
                IgnoredImportEntry(path, "what the handbook is made of; the handbook is read")
            )
        else:
            group = next((each for each in _FOLDER_DESCRIPTIONS if path.startswith(each)), path)
            counts[group] = counts.get(group, 0) + 1
    left += [
        IgnoredImportEntry(
            group, f"{_FOLDER_DESCRIPTIONS.get(group, 'no file of the layout')} ({count} files)"
        )
        for group, count in counts.items()
    ]
    return DialectImport(topics=tuple(topics), ignored=tuple(left), folders=folders)


def _read_note(path: str, text: str, used_paths: dict[str, int]) -> list[MemoryFile]:
    """Read a note, named by its heading or by its file."""
    stem = path.removeprefix(NOTES_FOLDER).removesuffix(".md")
    timed = _NOTE_TIME.match(stem)
    topic = (
        f"{timed['date']}T{timed['time'].replace('-', ':')}Z"
        if timed and not stem.startswith(_NO_TIME)
        else ""
    )
    name = stem[timed.end() :] if timed else stem
    first, _, rest = text.strip().partition("\n")
    if first.startswith("# ") and rest.strip():
        name, text = first[2:].strip(), rest
    if text.strip():
        return [create_memory_file_from_entry(text, None, used_paths, name=name, created=topic)]
    return []


def _read_raw_memories(
    text: str, used_paths: dict[str, int], folders: dict[str, tuple[str, ...]]
) -> list[MemoryFile]:
    """Read one memory per session from the raw memories."""
    found = list(_THREAD_HEADING.finditer(text))
    ends = [match.start() for match in found[1:]] + [len(text)]
    topics = []
    for match, end in zip(found, ends, strict=False):
        body = text[match.end() : end].strip()
        if not body:
            continue
        topic = create_memory_file_from_entry(
            body, MemoryKind.PROJECT, used_paths, name=f"session {match['thread']}"
        )
        topics.append(topic)
        folder = re.search(r"^cwd:\s*(\S.*)$", match["facts"], re.MULTILINE)
        if folder:
            folders[topic.path] = (folder[1].strip(),)
    return topics


def export_memories_as_codex_notes(
    topics: Sequence[MemoryFile], existing_files: Mapping[str, bytes]
) -> DialectExport:
    """Write one note for each memory that no note contains yet."""
    active, missing = separate_superseded_memories(topics)
    known = {
        _stripped_text(data)
        for path, data in existing_files.items()
        if path.startswith(NOTES_FOLDER)
    }
    used_paths = map_next_path_numbers(existing_files)
    files: dict[str, bytes] = {}
    losses: list[ExportLoss] = [*missing]
    for topic in active:
        losses += build_memory_export_loss(topic, find_traits_lost_in_export(topic, _CODEX_TRAITS))
        data = encode_file_text_as_utf8(
            f"# {' '.join(topic.name.split())}\n\n{topic.body.strip()}\n"
        )
        if _stripped_text(data) not in known:
            known.add(_stripped_text(data))
            files[_note_path(topic, used_paths)] = data
    return DialectExport(files=files, losses=tuple(losses))


def _stripped_text(data: bytes) -> str:
    return decode_text(data).strip()


def _note_path(topic: MemoryFile, used_paths: dict[str, int]) -> str:
    """Make a file name in Codex's form: time, then lower-case letters, digits and dashes."""
    created = topic.provenance.created
    time = (
        created.removesuffix("Z").replace(":", "-") if _TIMESTAMP.fullmatch(created) else _NO_TIME
    )
    plain = make_file_name(topic.name).removesuffix(".md").encode("ascii", "ignore").decode()
    slug = "-".join(filter(None, plain.split("-")))[:_MAX_SLUG_CHARS].strip("-") or "memory"
    return reserve_free_path(f"{NOTES_FOLDER}{time}-{slug}.md", used_paths)


CODEX = MemoryDialect(
    name="codex",
    title="Codex",
    supported_traits=_CODEX_TRAITS,
    inspected_paths=(NOTES_FOLDER,),
    single_file="",
    recognise=are_codex_memory_files,
    read=import_codex_memory,
    write=export_memories_as_codex_notes,
)
