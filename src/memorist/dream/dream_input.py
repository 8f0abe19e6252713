"""One reading of a memory folder for a dream: its memories, their history, and what the user is
asked about already.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.memory_blame import blame_lines
from memorist.auto_memory.memory_changes import Actor, RecordedChange
from memorist.auto_memory.memory_file import MemoryFile, parse_memory_file
from memorist.auto_memory.memory_manifest import INDEX_NAME, MAX_FILE_BYTES
from memorist.dream.memory_conflicts import InstructionSource
from memorist.dream.memory_text_repair import find_proven_line_times, is_date_repair_candidate
from memorist.platforms.background_thread import PROMPT_IN_PROGRESS
from memorist.ports import FileSystem
from memorist.store.disk_files import read_if_exists


class DreamInput(Struct, frozen=True, kw_only=True):
    """The folder as a dream begins with it."""

    topics: tuple[MemoryFile, ...]
    data: Mapping[str, bytes]
    """The bytes of each memory."""
    changed: Mapping[str, float] = {}
    """When each last changed, in seconds since the epoch, UTC."""
    foreign: Collection[str] = ()
    """Paths of files put there by another writer.

    They are left as they are: a file that the dream wrote would be trusted in what it claims.
    """
    restored_paths: Collection[str] = ()
    """Paths that an undo of a dream restored: the user wants them so."""
    ever: Collection[str] = ()
    """Paths that the history knows."""
    times: Mapping[str, Mapping[str, float]] = {}
    """By path, the proven time of each line, for memories with a date to be made absolute."""
    instructions: tuple[InstructionSource, ...] = ()
    asked_question_keys: Collection[str] = ()
    """Marks of questions that were asked before."""
    questioned_paths: Collection[str] = ()
    """Paths that the user is already asked about: the inbox has one question for each, and further
    ones wait until it is settled.
    """


_NON_AUTHORS: frozenset[Actor] = frozenset({"dream", "memorist", "undo"})
"""Actors whose change does not make a memory newer."""


def read_folder_for_dream(
    memory: AutoMemory,
    files: FileSystem,
    *,
    instructions: Sequence[InstructionSource] = (),
    asked: Collection[str] = (),
) -> DreamInput:
    """Return the folder as it is now. Raises StoreError."""
    heads = {head.path: head for head in memory.headers() if head.size <= MAX_FILE_BYTES}
    between_prompts = PROMPT_IN_PROGRESS.iterate_between_prompts
    data = {
        path: read
        for path in between_prompts(heads)
        if (read := read_if_exists(files, memory.layout.folder / path)) is not None
    }
    topics = tuple(parse_memory_file(path, read) for path, read in between_prompts(data.items()))
    log = memory.folder.history.list_changes()
    newest: dict[str, float] = {}
    for each in log:
        for path in each.paths if each.why.actor not in _NON_AUTHORS else ():
            newest.setdefault(path, each.at)
    foreign = frozenset(path for path in data if memory.folder.has_untrusted_origin(path))
    return DreamInput(
        topics=topics,
        data=data,
        changed={path: newest.get(path, heads[path].modified) for path in data},
        foreign=foreign,
        restored_paths=_undone_paths(memory, data, log),
        ever=frozenset(path for each in log for path in each.paths if path != INDEX_NAME),
        times={
            topic.path: _line_times(memory, topic.path, log)
            for topic in between_prompts(topics)
            if is_date_repair_candidate(topic)
        },
        instructions=tuple(instructions),
        asked_question_keys=asked,
        questioned_paths=frozenset(
            each.path for each in memory.inbox.list_proposals() if each.is_removal
        ),
    )


def _undone_paths(
    memory: AutoMemory, data: Mapping[str, bytes], log: Sequence[RecordedChange]
) -> frozenset[str]:
    """Return memories that are as an undo of a dream left them.

    What the user undid is not done again.
    """
    undone = {each.undoes: each.id for each in log if each.undoes}
    pairs = [
        (path, undone[each.id])
        for each in log
        if each.why.actor == "dream" and each.id in undone
        for path in each.paths
    ]
    return frozenset(
        path
        for path, undo in pairs
        if path in data and memory.folder.history.read_file(path, undo) == data[path]
    )


def _line_times(memory: AutoMemory, path: str, log: Sequence[RecordedChange]) -> dict[str, float]:
    """Return when each line of a memory was written, as far as its history proves it."""
    history = memory.folder.history
    changes = [each for each in reversed(log) if path in each.paths]
    versions = [
        (each.id, (history.read_file(path, each.id) or b"").decode("utf-8", "surrogateescape"))
        for each in changes
    ]
    changed_at = {each.id: (each.why.actor, each.at) for each in changes}
    return find_proven_line_times(
        [(line.text, line.change) for line in blame_lines(versions)], changed_at
    )
