"""Read a dream's inputs from disk: the folder with its history, past sessions, and instruction
files.

Reads by the Files port, in a thread of its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.memory_changes import (
    Actor,
    RecordedChange,
    blame_lines,
)
from memorist.auto_memory.memory_file import parse_topic
from memorist.auto_memory.memory_manifest import INDEX_NAME, MAX_FILE_BYTES
from memorist.auto_memory.write_evidence import (
    WriteEvidence,
    collect_write_evidence,
    extract_user_text,
)
from memorist.context.agents_instructions import read_agents_files
from memorist.context.claude_instructions import read_claude_files
from memorist.core.messages import Message, Origin
from memorist.dream.date_repair import prove_line_times
from memorist.dream.dream_gates import (
    SessionActivity,
)
from memorist.dream.dream_model_task import (
    UserUtterance,
)
from memorist.dream.memory_conflicts import InstructionSource
from memorist.dream.structural_dream import MemorySnapshot, paths_needing_times
from memorist.errors import MemoristError, StoreError
from memorist.ports import FileSystem
from memorist.settings import ContextSettings
from memorist.store.disk_files import read_if_exists
from memorist.store.home_layout import SessionLayout
from memorist.store.transcript_reader import read_transcript
from memorist.transcript.typed_replies import with_typed_replies

MAX_PAST_SESSIONS = 20
"""Newest past sessions that one dream reads."""


MAX_OUTSIDE_CHARACTERS = 500_000
"""Characters of tool results and the like that a model's changes are compared with, as in an
extraction.
"""


INSTRUCTION_BYTES = 100_000
"""Bytes read of one instruction file."""


_NON_AUTHORS: frozenset[Actor] = frozenset({"dream", "memorist", "undo"})
"""Actors whose change does not make a memory newer."""


class PastSession(Struct, frozen=True):
    """A session of the project, and where its files are."""

    id: str
    folder: Path


class PastEvidence(Struct, frozen=True, kw_only=True):
    """What past sessions hold: the user's utterances, and the evidence behind a model's changes."""

    utterances: tuple[UserUtterance, ...] = ()
    evidence: WriteEvidence = WriteEvidence()


def list_session_activity(past: Iterable[PastSession], files: FileSystem) -> list[SessionActivity]:
    """Return when each session was last written to; those without a transcript are left out.

    Costs one stat each.
    """
    found = []
    for each in past:
        facts = files.facts(SessionLayout(each.folder).transcript)
        if facts is not None and facts.is_file:
            found.append(SessionActivity(id=each.id, changed=facts.modified_ns / 1e9))
    return found


def snapshot_memory(
    memory: AutoMemory,
    files: FileSystem,
    *,
    instructions: Sequence[InstructionSource] = (),
    asked: Collection[str] = (),
) -> MemorySnapshot:
    """Return the folder as it is now. Raises StoreError."""
    heads = {head.path: head for head in memory.headers() if head.size <= MAX_FILE_BYTES}
    data = {
        path: read
        for path in heads
        if (read := read_if_exists(files, memory.layout.folder / path)) is not None
    }
    topics = tuple(parse_topic(path, read) for path, read in data.items())
    log = memory.folder.history.log()
    newest: dict[str, float] = {}
    for each in log:
        for path in each.paths if each.why.actor not in _NON_AUTHORS else ():
            newest.setdefault(path, each.at)
    foreign = frozenset(path for path in data if memory.folder.is_foreign(path))
    return MemorySnapshot(
        topics=topics,
        data=data,
        changed={path: newest.get(path, heads[path].modified) for path in data},
        foreign=foreign,
        kept=_undone_paths(memory, data, log),
        ever=frozenset(path for each in log for path in each.paths if path != INDEX_NAME),
        times={path: _line_times(memory, path, log) for path in paths_needing_times(topics)},
        instructions=tuple(instructions),
        asked=asked,
        waiting=frozenset(
            each.path for each in memory.inbox.list_proposals() if each.after is None
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
    return prove_line_times(
        [(line.text, line.change) for line in blame_lines(versions)], changed_at
    )


def read_instruction_sources(
    project: str, files: FileSystem, settings: ContextSettings
) -> tuple[InstructionSource, ...]:
    """Read the instruction files of both families that a session of the project would be given,
    each once.
    """
    if not project or not Path(project).is_dir():
        return ()
    folder = Path(project)
    loaded = [
        *read_claude_files(folder, files, settings).loaded,
        *read_agents_files(folder, files, settings).loaded,
    ]
    found = []
    for path in dict.fromkeys(Path(each.path) for each in loaded):
        with contextlib.suppress(FileNotFoundError, StoreError):
            facts = files.facts(files.resolve(path))
            text = files.read(path, limit=INSTRUCTION_BYTES).decode("utf-8", "replace")
            shown = path.relative_to(folder) if path.is_relative_to(folder) else path
            found.append(
                InstructionSource(
                    path=str(shown), text=text, at=0.0 if facts is None else facts.modified_ns / 1e9
                )
            )
    return tuple(found)


def read_past_evidence(
    past: Sequence[PastSession], chosen: Collection[str], files: FileSystem
) -> PastEvidence:
    """Read what the user said in the newest of these sessions, and what came from elsewhere.

    Unreadable transcripts are skipped.
    """
    seen = {
        each.id: each.changed
        for each in list_session_activity((each for each in past if each.id in chosen), files)
    }
    newest = sorted((each for each in past if each.id in seen), key=lambda each: -seen[each.id])[
        :MAX_PAST_SESSIONS
    ]
    evidence = PastEvidence()
    for each in newest:
        with contextlib.suppress(MemoristError, OSError):
            evidence = _add_session_evidence(
                evidence, each.id, seen[each.id], SessionLayout(each.folder).transcript
            )
    return evidence


def _add_session_evidence(
    evidence: PastEvidence, session: str, at: float, transcript: Path
) -> PastEvidence:
    entries = (entry for entry in read_transcript(transcript) if isinstance(entry, Message))
    messages = list(with_typed_replies(entries))
    behind = collect_write_evidence(session, messages)
    own = dict(behind.user_messages)
    sayings = [
        UserUtterance(
            session=session, message=message.id, text=own[message.id], at=message.timestamp or at
        )
        for message in messages
        if message.origin is Origin.USER and message.id in own and extract_user_text(message)
    ]
    outside = list(evidence.evidence.outside_texts)
    room = MAX_OUTSIDE_CHARACTERS - sum(map(len, outside))
    for text in reversed(behind.outside_texts):
        if len(text) <= room:
            outside.append(text)
            room -= len(text)
    return PastEvidence(
        utterances=(*evidence.utterances, *sayings),
        evidence=replace(
            evidence.evidence,
            user_messages=(*evidence.evidence.user_messages, *behind.user_messages),
            outside_texts=tuple(outside),
        ),
    )
