"""A recorded session read for skillify: its ledger, and the messages of the user since the last
skill.
"""

from __future__ import annotations

import re
from pathlib import Path

from msgspec import Struct

from memorist.core.lazy import lazy_pattern
from memorist.core.messages import Message, Origin
from memorist.errors import NothingToDo
from memorist.formats.format_detection import read_session
from memorist.formats.host_markup import strip_host_markup
from memorist.formats.transcript_format import CompactionBoundary, SessionHead
from memorist.store.transcript_reader import UnpackedUtf8Lines
from memorist.transcript_analysis.transcript_ledger import TranscriptLedger

_CLIENT_COMMAND = lazy_pattern(
    r"/(?:agents|bug|clear|compact|config|context|cost|doctor|exit|export|help|hooks|ide|init|login"
    r"|logout|mcp|memory|model|permissions|plugin|privacy-settings|quit|release-notes|resume|rewind"
    r"|skills|status|statusline|stats|tasks|terminal-setup|todos|upgrade|usage|vim)\b.*",
    re.DOTALL,
)
"""A command to the client itself, which is no step of the work."""


class SkillMaterial(Struct, frozen=True):
    """What a skill is made from."""

    ledger: TranscriptLedger
    user_messages: tuple[str, ...]
    notes: str


def read_skill_material(recorded: Path, notes: str = "") -> SkillMaterial:
    """Read a recorded session. Raises NothingToDo for one without messages, UnreadableSession."""
    ledger, said = TranscriptLedger(), list[str]()
    for entry in read_session(UnpackedUtf8Lines(recorded)):
        match entry:
            case SessionHead(cwd=cwd):
                ledger.cwd = ledger.cwd or cwd or ""
            case CompactionBoundary():
                ledger.on_compaction()
                said.clear()
            case Message():
                ledger.add(entry)
                said += _extract_typed_texts(entry)
            case _:
                pass
    if not ledger.messages:
        raise NothingToDo(f"{recorded} holds no messages, so there is nothing to make a skill of")
    return SkillMaterial(ledger, tuple(said), notes)


def _extract_typed_texts(message: Message) -> list[str]:
    if message.origin is not Origin.USER:
        return []
    text = strip_host_markup(message.text).strip()
    return [text] if text and not _CLIENT_COMMAND.fullmatch(text) else []
