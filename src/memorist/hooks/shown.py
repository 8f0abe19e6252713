"""The texts that hooks show. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from memorist.context.assemble import REMINDER
from memorist.context.scaffold import row, unwrap
from memorist.core.template import render
from memorist.hooks.answer import Part, fitted
from memorist.hooks.event import Client
from memorist.prompts.load import load
from memorist.safety.data import neutralise
from memorist.safety.hidden import visible
from memorist.session_memory.sections import STRUCTURAL_MARK
from memorist.session_memory.sections_talk import STATE, TASK
from memorist.session_memory.sections_work import ERRORS, FILES

ASKED_FOR = (TASK, ERRORS, STATE)
"""Sections that a summary must not lose: what the user wants, what the user put right, and where the work stands."""

ASKED_ROOM = 4_000
"""The most that a summary is asked to keep, as `ROOM` counts: Claude Code shows it to the user too, and the notes come back whole afterwards."""

RESTORED = (TASK, STATE, ERRORS, FILES)
"""Sections that come first when notes come back; the others follow in their order."""


def bare(text: str) -> str:
    """A text without the tag that memorist puts around it elsewhere: an agent puts its own around what a hook says."""
    inner = unwrap(text, row(REMINDER, "file-native"))
    return (text if inner is None else inner).strip()


def opened(texts: Sequence[str], client: Client) -> str:
    """What is shown at a start or beside a prompt."""
    return fitted([Part(bare(text)) for text in texts], client)


def restored(sections: Mapping[str, str], notes: Path, texts: Sequence[str], client: Client) -> str:
    """What is shown after a compaction: the notes first, then what is shown at a start."""
    parts = [Part(bare(text)) for text in texts]
    said = _notes(sections, [*RESTORED, *(title for title in sections if title not in RESTORED)])
    if said:
        parts.insert(0, Part(render(load("hooks/notes"), {"notes": said}, strict=True).strip(), whole=str(notes)))
    return fitted(parts, client)


def asked_for(sections: Mapping[str, str], notes: Path, client: Client) -> str:
    """What a summary is asked to keep; empty where the notes say nothing of it."""
    said = _notes(sections, ASKED_FOR)
    if not said:
        return ""
    return fitted([Part(render(load("hooks/compaction"), {"notes": said}, strict=True).strip(), whole=str(notes))], client, ASKED_ROOM)


def _notes(sections: Mapping[str, str], titles: Sequence[str]) -> str:
    """These sections of the notes, as data: nothing in them can pass for a harness's words, or end the tag they are put into."""
    plain = {title: body.replace(STRUCTURAL_MARK, "").strip() for title, body in sections.items()}
    found = [f"# {title}\n{plain[title]}" for title in titles if plain.get(title)]
    return neutralise(visible("\n\n".join(found)))
