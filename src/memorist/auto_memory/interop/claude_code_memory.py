"""Claude Code: a folder with one file per memory, and the index `MEMORY.md` (Claude Code).

Pure. The layout is memorist's own, so files are copied byte for byte; Claude Code ignores
memorist's header key. Both header forms are read: `type`, and `metadata.type` with a short name and
`[[links]]`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from memorist.auto_memory.interop.dialect import (
    MEMORY_TRAITS,
    DialectExport,
    DialectImport,
    ExportLoss,
    IgnoredImportEntry,
    MemoryDialect,
    decode_text,
    map_next_path_numbers,
    reserve_free_path,
)
from memorist.auto_memory.memory_changes import find_memory_path_problem
from memorist.auto_memory.memory_file import MemoryFile, make_file_name, parse_memory_file
from memorist.auto_memory.memory_index import (
    MemoryIndex,
    RankedHeaders,
    build_memory_index,
    list_pointer_targets,
)
from memorist.auto_memory.memory_manifest import (
    INDEX_NAME,
    MemoryHeader,
    build_memory_header,
    is_memory_file,
)
from memorist.core.text_encoding import encode_file_text_as_utf8, replace_surrogates
from memorist.settings import AutoMemorySettings

_DAILY_LOG = re.compile(r"logs/\d{4}/")
_REMARK = "<!-- memorist:"


def are_claude_code_memory_files(files: Mapping[str, bytes]) -> bool:
    """Whether there is an index that points to files, or a file with a name, description or
    type.
    """
    if list_pointer_targets(decode_text(files.get(INDEX_NAME, b""))):
        return True
    return any(_has_header(path, data) for path, data in files.items() if is_memory_file(path))


def _has_header(path: str, data: bytes) -> bool:
    topic = parse_memory_file(path, data)
    front = topic.document.front
    return front is not None and (
        topic.kind is not None or bool(front.text_value("name") and front.text_value("description"))
    )


def import_claude_code_memory(files: Mapping[str, bytes]) -> DialectImport:
    """Read every Markdown file but the index, bytes unchanged."""
    topics: list[MemoryFile] = []
    left: list[IgnoredImportEntry] = []
    used_paths = map_next_path_numbers(files)
    for path, data in sorted(files.items()):
        why = _why_no_memory(path, data)
        if why:
            left.append(IgnoredImportEntry(path, why))
        else:
            topics.append(parse_memory_file(_find_usable_path(path, used_paths), data))
    own = _count_own_lines(decode_text(files.get(INDEX_NAME, b"")))
    if own:
        left.append(
            IgnoredImportEntry(
                INDEX_NAME,
                f"{own} lines of the index point to no file; a memory has a file of its own",
            )
        )
    return DialectImport(
        topics=tuple(topics), ignored=tuple(each for each in left if each.why.strip())
    )


def _why_no_memory(path: str, data: bytes) -> str:
    checks = (
        (path == INDEX_NAME, " "),
        (path.rsplit("/", 1)[-1] == INDEX_NAME, "an index, made from the files beside it"),
        (not is_memory_file(path), "no Markdown file, or hidden"),
        (
            path.startswith("team/"),
            "shared by a team; import the folder team by itself if it is to be yours",
        ),
        (
            _DAILY_LOG.match(path) is not None,
            "a daily log, from which memories are still to be made",
        ),
        (not parse_memory_file(path, data).body.strip(), "it has no text"),
    )
    return next((why for found, why in checks if found), "")


def _find_usable_path(path: str, used_paths: dict[str, int]) -> str:
    """Return the path, or another one where a memory folder does not accept it."""
    if find_memory_path_problem(path) is None and replace_surrogates(path) == path:
        return path
    return reserve_free_path(
        make_file_name(path.rsplit("/", 1)[-1].removesuffix(".md")), used_paths
    )


def _count_own_lines(index: str) -> int:
    """Count the index's lines of text that are not pointers, headings or remarks."""
    lines = [line.strip() for line in index.split("\n") if line.strip()]
    said = [line for line in lines if not line.startswith(("#", "<!--"))]
    return sum(1 for line in said if not list_pointer_targets(line))


def build_claude_code_export(
    topics: Sequence[MemoryFile], existing_files: Mapping[str, bytes]
) -> DialectExport:
    """Write every memory as its file, and add their lines to the index; foreign files and lines
    stay.
    """
    files = {topic.path: encode_file_text_as_utf8(topic.text()) for topic in topics}
    index = existing_files.get(INDEX_NAME, b"").decode("utf-8", "surrogateescape")
    others = [
        parse_memory_file(path, data)
        for path, data in existing_files.items()
        if is_memory_file(path) and path not in files
    ]
    built = _build_export_index([*topics, *others], index)
    lost = [
        ExportLoss(topic.path, ("its line does not fit into the index; the file is there",))
        for topic in topics
        if topic.path not in built.listed and topic.provenance.status == "active"
    ]
    if built.listed or index:
        files[INDEX_NAME] = (
            existing_files[INDEX_NAME]
            if _is_same_index(index, built)
            else encode_file_text_as_utf8(built.file_text)
        )
    return DialectExport(files=files, losses=tuple(lost))


def _build_export_index(topics: Sequence[MemoryFile], present: str) -> MemoryIndex:
    heads: list[MemoryHeader] = [
        build_memory_header(topic, modified=0.0, size=0) for topic in topics
    ]
    return build_memory_index(
        RankedHeaders(heads, {}), present, now=0.0, settings=AutoMemorySettings()
    )


def _is_same_index(index: str, built: MemoryIndex) -> bool:
    """Whether the existing index names the same files; it is then left as its author wrote it."""
    return (
        bool(index)
        and set(list_pointer_targets(index)) == set(built.listed)
        and _REMARK not in index
        and not built.exceeded_limit
    )


CLAUDE_CODE = MemoryDialect(
    name="claude-code",
    title="Claude Code",
    supported_traits=frozenset(MEMORY_TRAITS),
    inspected_paths=("",),
    single_file="",
    recognise=are_claude_code_memory_files,
    read=import_claude_code_memory,
    write=build_claude_code_export,
)
