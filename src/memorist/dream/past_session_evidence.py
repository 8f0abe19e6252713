"""Read a dream's inputs from disk: the folder with its history, past sessions, and instruction
files.

Reads by the Files port, in a thread of its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.statements.user_prose import extract_redacted_user_text
from memorist.auto_memory.write_evidence import WriteEvidence, collect_write_evidence
from memorist.context.agents_md_files import read_agents_files
from memorist.context.claude_md_files import read_claude_files
from memorist.core.messages import Message, Origin
from memorist.dream.dream_gates import SessionFileInfo
from memorist.dream.dream_prompt import UserUtterance
from memorist.dream.memory_conflicts import InstructionSource
from memorist.errors import MemoristError, StoreError
from memorist.platforms.regular_files import is_reachable_folder
from memorist.ports import FileSystem
from memorist.settings import ContextSettings
from memorist.store.home_layout import SessionLayout
from memorist.store.transcript_reader import read_transcript
from memorist.transcript_analysis.user_words_in_results import insert_user_words_from_results

MAX_PAST_SESSIONS = 20
"""Newest past sessions that one dream reads."""


MAX_OUTSIDE_CHARACTERS = 500_000
"""Characters of tool results and the like that a model's changes are compared with, as in an
extraction.
"""


MAX_INSTRUCTION_FILE_BYTES = 100_000
"""Bytes read of one instruction file."""


class PastSessionLocation(Struct, frozen=True):
    """A session of the project, and where its files are."""

    id: str
    folder: Path


class PastSessionEvidence(Struct, frozen=True, kw_only=True):
    """What past sessions hold: the user's utterances, and the evidence behind a model's changes."""

    utterances: tuple[UserUtterance, ...] = ()
    evidence: WriteEvidence = WriteEvidence()


def list_session_modification_times(
    past: Iterable[PastSessionLocation], files: FileSystem
) -> list[SessionFileInfo]:
    """Return when each session was last written to; those without a transcript are left out.

    Costs one stat each.
    """
    found = []
    for each in past:
        facts = files.lstat(SessionLayout(each.folder).transcript)
        if facts is not None and facts.is_file:
            found.append(SessionFileInfo(id=each.id, changed=facts.modified_ns / 1e9))
    return found


def read_instruction_sources(
    project: str, files: FileSystem, settings: ContextSettings
) -> tuple[InstructionSource, ...]:
    """Read the instruction files of both families that a session of the project would be given,
    each once.
    """
    if not project or not is_reachable_folder(project):
        return ()
    folder = Path(project)
    loaded = [
        *read_claude_files(folder, files, settings).loaded,
        *read_agents_files(folder, files, settings).loaded,
    ]
    found = []
    for path in dict.fromkeys(Path(each.path) for each in loaded):
        with contextlib.suppress(FileNotFoundError, StoreError):
            facts = files.lstat(files.resolve(path))
            text = files.read(path, limit=MAX_INSTRUCTION_FILE_BYTES).decode("utf-8", "replace")
            shown = path.relative_to(folder) if path.is_relative_to(folder) else path
            found.append(
                InstructionSource(
                    path=str(shown), text=text, at=0.0 if facts is None else facts.modified_ns / 1e9
                )
            )
    return tuple(found)


def read_past_session_evidence(
    past: Sequence[PastSessionLocation], chosen: Collection[str], files: FileSystem
) -> PastSessionEvidence:
    """Read what the user said in the newest of these sessions, and what came from elsewhere.

    Unreadable transcripts are skipped.
    """
    seen = {
        each.id: each.changed
        for each in list_session_modification_times(
            (each for each in past if each.id in chosen), files
        )
    }
    newest = sorted((each for each in past if each.id in seen), key=lambda each: -seen[each.id])[
        :MAX_PAST_SESSIONS
    ]
    evidence = PastSessionEvidence()
    for each in newest:
        with contextlib.suppress(MemoristError, OSError):
            evidence = _add_session_evidence(
                evidence, each.id, seen[each.id], SessionLayout(each.folder).transcript
            )
    return evidence


def _add_session_evidence(
    evidence: PastSessionEvidence, session: str, at: float, transcript: Path
) -> PastSessionEvidence:
    entries = (entry for entry in read_transcript(transcript) if isinstance(entry, Message))
    messages = list(insert_user_words_from_results(entries))
    behind = collect_write_evidence(session, messages)
    own = dict(behind.user_messages)
    sayings = [
        UserUtterance(text=own[message.id], at=message.timestamp or at)
        for message in messages
        if message.origin is Origin.USER
        and message.id in own
        and extract_redacted_user_text(message)
    ]
    outside = list(evidence.evidence.outside_texts)
    room = MAX_OUTSIDE_CHARACTERS - sum(map(len, outside))
    for text in reversed(behind.outside_texts):
        if len(text) <= room:
            outside.append(text)
            room -= len(text)
    return PastSessionEvidence(
        utterances=(*evidence.utterances, *sayings),
        evidence=replace(
            evidence.evidence,
            user_messages=(*evidence.evidence.user_messages, *behind.user_messages),
            outside_texts=tuple(outside),
        ),
    )
