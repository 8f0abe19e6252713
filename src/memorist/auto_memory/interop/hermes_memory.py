"""Hermes Agent: `MEMORY.md` (the agent's notes) and `USER.md` (about the user), entries separated
by a section sign on its own line.

Pure. Source of the sign and of the limits in characters of a whole file: NousResearch/hermes-agent,
tools/memory_tool.py, as of 2026.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from memorist.auto_memory.interop.dialect import (
    DialectExport,
    DialectImport,
    ExportLoss,
    IgnoredImportEntry,
    MemoryDialect,
    build_memory_export_loss,
    create_memory_file_from_entry,
    decode_text,
    find_traits_lost_in_export,
    separate_superseded_memories,
)
from memorist.auto_memory.memory_file import USER_KINDS, MemoryFile, MemoryKind
from memorist.auto_memory.memory_index import list_pointer_targets
from memorist.core.text_encoding import encode_file_text_as_utf8

HERMES_SEPARATOR = "\n§\n"
HERMES_LIMITS = {"MEMORY.md": 2_200, "USER.md": 1_375}
"""Characters; beyond them Hermes accepts no further entry and reports the file."""
_HERMES_KINDS = {"MEMORY.md": MemoryKind.PROJECT, "USER.md": MemoryKind.USER}
_HERMES_TRAITS = frozenset({"lines", "links"})
_SEPARATOR_LINE = re.compile(r"^§$", re.MULTILINE)


def _hermes_store(path: str) -> str:
    """Return `MEMORY.md` or `USER.md` for a file of either; empty for any other.

    Files may be in the memory folder or in `memories` below Hermes's home.
    """
    name = path.removeprefix("memories/")
    return name if name in HERMES_LIMITS else ""


def are_hermes_memory_files(files: Mapping[str, bytes]) -> bool:
    """Whether a file has separated entries, or a `USER.md` without header is beside a
    `MEMORY.md` that is no index.
    """
    found = {
        _hermes_store(path): decode_text(data)
        for path, data in files.items()
        if _hermes_store(path)
    }
    if any(HERMES_SEPARATOR in text for text in found.values()):
        return True
    return not found.get("USER.md", "---").startswith("---") and not list_pointer_targets(
        found.get("MEMORY.md", "")
    )


def split_hermes_entries(text: str) -> list[str]:
    """Split a file into entries, each once."""
    return list(
        dict.fromkeys(filter(None, (each.strip() for each in text.split(HERMES_SEPARATOR))))
    )


def import_hermes_memory(files: Mapping[str, bytes]) -> DialectImport:
    """Read every entry: those of `USER.md` are about the user, the others about the project."""
    topics: list[MemoryFile] = []
    left: list[IgnoredImportEntry] = []
    used_names: dict[str, int] = {}
    for path, data in sorted(files.items()):
        store = _hermes_store(path)
        if store:
            topics += [
                create_memory_file_from_entry(each, _HERMES_KINDS[store], used_names)
                for each in split_hermes_entries(decode_text(data))
            ]
        else:
            left.append(IgnoredImportEntry(path, "neither MEMORY.md nor USER.md"))
    return DialectImport(topics=tuple(topics), ignored=tuple(left))


def export_hermes_memory(
    topics: Sequence[MemoryFile], existing_files: Mapping[str, bytes]
) -> DialectExport:
    """Add the memories that the files do not contain yet, as far as the limits allow."""
    active, missing = separate_superseded_memories(topics)
    stores = {
        name: split_hermes_entries(decode_text(existing_files.get(name, b"")))
        for name in HERMES_LIMITS
    }
    known = {name: len(each) for name, each in stores.items()}
    losses: list[ExportLoss] = [*missing]
    for topic in active:
        name = "USER.md" if topic.kind in USER_KINDS else "MEMORY.md"
        text = _SEPARATOR_LINE.sub("", topic.body.replace("\r\n", "\n")).strip()
        if text in stores[name]:
            continue
        why = _why_refused(text, name, stores[name])
        if why:
            losses.append(ExportLoss(topic.path, (why,), is_nothing_written=True))
            continue
        stores[name].append(text)
        kind = () if topic.kind in (None, _HERMES_KINDS[name]) else ("kind",)
        sign = (
            ("a section sign on a line of its own",) if _SEPARATOR_LINE.search(topic.body) else ()
        )
        losses += build_memory_export_loss(
            topic,
            (
                *kind,
                *(
                    each
                    for each in find_traits_lost_in_export(topic, _HERMES_TRAITS)
                    if each != "kind"
                ),
                *sign,
            ),
        )
    added = {name: each for name, each in stores.items() if len(each) > known[name]}
    kept = {
        name: data
        for name, data in existing_files.items()
        if name in HERMES_LIMITS and name not in added
    }
    return DialectExport(
        files={
            **kept,
            **{
                name: encode_file_text_as_utf8(HERMES_SEPARATOR.join(each))
                for name, each in added.items()
            },
        },
        losses=tuple(losses),
    )


def _why_refused(text: str, name: str, there: Sequence[str]) -> str:
    """Explain why a text does not fit into a file; empty when it does."""
    if not text:
        return "nothing of it is left without signs that part entries"
    size = len(HERMES_SEPARATOR.join([*there, text]))
    if size > HERMES_LIMITS[name]:
        return (
            f"{name} has room for {HERMES_LIMITS[name]:,} characters, and with it there would be "
            f"{size:,}"
        )
    return ""


HERMES = MemoryDialect(
    name="hermes",
    title="Hermes Agent",
    supported_traits=_HERMES_TRAITS,
    inspected_paths=tuple(HERMES_LIMITS),
    single_file="",
    recognise=are_hermes_memory_files,
    read=import_hermes_memory,
    write=export_hermes_memory,
)
