"""Read a dream's inputs from disk: the folder with its history, past sessions, and instruction
files. Runs in a thread of its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.blame import blame
from memorist.auto_memory.changes import Actor
from memorist.auto_memory.evidence import Evidence, evidence, typed_words
from memorist.auto_memory.history.run import Recorded
from memorist.auto_memory.manifest import INDEX_NAME, MAX_FILE
from memorist.auto_memory.run import AutoMemory
from memorist.auto_memory.topic import parse
from memorist.context.agents_files.run import read_agents_files
from memorist.context.claude_files.run import read_claude_files
from memorist.context.settings import ContextSettings
from memorist.core.messages import Message, Origin
from memorist.dream.conflicts import Instruction
from memorist.dream.dated import proven_times
from memorist.dream.gates import Seen
from memorist.dream.gather import Saying
from memorist.dream.structural import Held, wanting_times
from memorist.errors import MemoristError, StoreError
from memorist.ports import Files
from memorist.store.files import present
from memorist.store.layout import SessionLayout
from memorist.store.transcript import recorded

SESSIONS = 20
"""Newest past sessions that one dream reads."""
OUTSIDE = 500_000
"""Characters of tool results and the like that a model's changes are compared with, as in an
extraction.
"""
INSTRUCTION_BYTES = 100_000
"""Bytes read of one instruction file."""
_OWN: frozenset[Actor] = frozenset({"dream", "memorist", "undo"})
"""Actors whose change does not make a memory newer."""


class Past(Struct, frozen=True):
    """A session of the project, and where its files are."""

    id: str
    folder: Path


class Heard(Struct, frozen=True, kw_only=True):
    """What past sessions hold: the user's utterances, and the evidence behind a model's changes."""

    sayings: tuple[Saying, ...] = ()
    behind: Evidence = Evidence()


def seen_sessions(past: Iterable[Past], files: Files) -> list[Seen]:
    """Return when each session was last written to; those without a transcript are left out.

    Costs one stat each.
    """
    found = []
    for each in past:
        facts = files.facts(SessionLayout(each.folder).transcript)
        if facts is not None and facts.is_file:
            found.append(Seen(id=each.id, changed=facts.modified_ns / 1e9))
    return found


def held_by(memory: AutoMemory, files: Files, *, instructions: Sequence[Instruction] = (), asked: Collection[str] = ()) -> Held:
    """Return the folder as it is now. Raises StoreError."""
    heads = {head.path: head for head in memory.heads() if head.size <= MAX_FILE}
    data = {path: read for path in heads if (read := present(files, memory.where.folder / path)) is not None}
    topics = tuple(parse(path, read) for path, read in data.items())
    log = memory.folder.history.log()
    newest: dict[str, float] = {}
    for each in log:
        for path in each.paths if each.why.actor not in _OWN else ():
            newest.setdefault(path, each.at)
    foreign = frozenset(path for path in data if memory.folder.foreign(path))
    return Held(
        topics=topics,
        data=data,
        changed={path: newest.get(path, heads[path].modified) for path in data},
        foreign=foreign,
        kept=_kept(memory, data, log),
        ever=frozenset(path for each in log for path in each.paths if path != INDEX_NAME),
        times={path: _times(memory, path, log) for path in wanting_times(topics)},
        instructions=tuple(instructions),
        asked=asked,
        waiting=frozenset(each.path for each in memory.inbox.waiting() if each.after is None),
    )


def _kept(memory: AutoMemory, data: Mapping[str, bytes], log: Sequence[Recorded]) -> frozenset[str]:
    """Return memories that are as an undo of a dream left them.

    What the user undid is not done again.
    """
    undone = {each.undoes: each.id for each in log if each.undoes}
    pairs = [(path, undone[each.id]) for each in log if each.why.actor == "dream" and each.id in undone for path in each.paths]
    return frozenset(path for path, undo in pairs if path in data and memory.folder.history.data(path, undo) == data[path])


def _times(memory: AutoMemory, path: str, log: Sequence[Recorded]) -> dict[str, float]:
    """Return when each line of a memory was written, as far as its history proves it."""
    history = memory.folder.history
    changes = [each for each in reversed(log) if path in each.paths]
    versions = [(each.id, (history.data(path, each.id) or b"").decode("utf-8", "surrogateescape")) for each in changes]
    made = {each.id: (each.why.actor, each.at) for each in changes}
    return proven_times([(line.text, line.change) for line in blame(versions)], made)


def instruction_files(project: str, files: Files, settings: ContextSettings) -> tuple[Instruction, ...]:
    """Read the instruction files of both families that a session of the project would be given,
    each once.
    """
    if not project or not Path(project).is_dir():
        return ()
    folder = Path(project)
    loaded = [*read_claude_files(folder, files, settings).loaded, *read_agents_files(folder, files, settings).loaded]
    found = []
    for path in dict.fromkeys(Path(each.path) for each in loaded):
        with contextlib.suppress(FileNotFoundError, StoreError):
            facts = files.facts(files.resolve(path))
            text = files.read(path, limit=INSTRUCTION_BYTES).decode("utf-8", "replace")
            shown = path.relative_to(folder) if path.is_relative_to(folder) else path
            found.append(Instruction(path=str(shown), text=text, at=0.0 if facts is None else facts.modified_ns / 1e9))
    return tuple(found)


def heard_in(past: Sequence[Past], chosen: Collection[str], files: Files) -> Heard:
    """Read what the user said in the newest of these sessions, and what came from elsewhere.

    Unreadable transcripts are skipped.
    """
    seen = {each.id: each.changed for each in seen_sessions((each for each in past if each.id in chosen), files)}
    newest = sorted((each for each in past if each.id in seen), key=lambda each: -seen[each.id])[:SESSIONS]
    heard = Heard()
    for each in newest:
        with contextlib.suppress(MemoristError, OSError):
            heard = _and(heard, each.id, seen[each.id], SessionLayout(each.folder).transcript)
    return heard


def _and(heard: Heard, session: str, at: float, transcript: Path) -> Heard:
    messages = [entry for entry in recorded(transcript) if isinstance(entry, Message)]
    behind = evidence(session, messages)
    own = dict(behind.user)
    sayings = [
        Saying(session=session, message=message.id, text=own[message.id], at=message.timestamp or at)
        for message in messages
        if message.origin is Origin.USER and message.id in own and typed_words(message)
    ]
    outside = list(heard.behind.outside)
    room = OUTSIDE - sum(map(len, outside))
    for text in reversed(behind.outside):
        if len(text) <= room:
            outside.append(text)
            room -= len(text)
    return Heard(
        sayings=(*heard.sayings, *sayings), behind=replace(heard.behind, user=(*heard.behind.user, *behind.user), outside=tuple(outside))
    )
