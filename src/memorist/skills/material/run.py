"""Read a recorded session for skillify: its ledger, the user's messages since the last compaction,
and its notes.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from memorist.core.messages import Message, Origin
from memorist.errors import NothingToDo
from memorist.formats.harness import typed_text
from memorist.formats.recognise import read
from memorist.formats.recorded import Boundary, Head
from memorist.session_memory.ledger import Ledger
from memorist.store.lines import LineFile


class Material(Struct, frozen=True):
    """What a skill is made from."""

    ledger: Ledger
    said: tuple[str, ...]
    notes: str


def material(recorded: Path, notes: str = "") -> Material:
    """Read a recorded session. Raises NothingToDo for one without messages, UnreadableSession."""
    ledger, said = Ledger(), list[str]()
    for entry in read(LineFile(recorded)):
        match entry:
            case Head(cwd=cwd):
                ledger.cwd = ledger.cwd or cwd or ""
            case Boundary():
                ledger.boundary()
                said.clear()
            case Message():
                ledger.add(entry)
                said += _typed(entry)
            case _:
                pass
    if not ledger.messages:
        raise NothingToDo(f"{recorded} holds no messages, so there is nothing to make a skill of")
    return Material(ledger, tuple(said), notes)


def _typed(message: Message) -> list[str]:
    if message.origin is not Origin.USER:
        return []
    text = typed_text(message.text).strip()
    return [text] if text else []
