"""Render the texts that hooks add to a session. Pure."""

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
"""Sections of the notes that a summary must not lose: the task, the user's corrections, and the
state of the work.
"""

ASKED_ROOM = 4_000
"""The size limit of the instructions for a summary, in the unit of `OUTPUT_LIMITS`.

Claude Code shows them to the user too, and the full notes are restored after the compaction.
"""

RESTORED = (TASK, STATE, ERRORS, FILES)
"""Sections that come first when notes are restored; the others follow in their own order."""


def bare(text: str) -> str:
    """Remove memorist's reminder tag: the client puts its own tag around the output of a hook."""
    inner = unwrap(text, row(REMINDER, "file-native"))
    return (text if inner is None else inner).strip()


def opened(texts: Sequence[str], client: Client) -> str:
    """Render the context that is shown at a session start or with a prompt."""
    return fitted([Part(bare(text)) for text in texts], client)


def restored(sections: Mapping[str, str], notes: Path, texts: Sequence[str], client: Client) -> str:
    """Render what is shown after a compaction: the notes first, then the session start context."""
    parts = [Part(bare(text)) for text in texts]
    said = _notes(sections, [*RESTORED, *(title for title in sections if title not in RESTORED)])
    if said:
        parts.insert(0, Part(render(load("hooks/notes"), {"notes": said}, strict=True).strip(), whole=str(notes)))
    return fitted(parts, client)


def asked_for(sections: Mapping[str, str], notes: Path, client: Client) -> str:
    """Render instructions for the summary of a compaction; empty where the notes have none of the
    sections.
    """
    said = _notes(sections, ASKED_FOR)
    if not said:
        return ""
    return fitted([Part(render(load("hooks/compaction"), {"notes": said}, strict=True).strip(), whole=str(notes))], client, ASKED_ROOM)


def _notes(sections: Mapping[str, str], titles: Sequence[str]) -> str:
    """Render sections of the notes as data.

    Nothing in them can pass for harness text or close the tag that surrounds them.
    """
    plain = {title: body.replace(STRUCTURAL_MARK, "").strip() for title, body in sections.items()}
    found = [f"# {title}\n{plain[title]}" for title in titles if plain.get(title)]
    return neutralise(visible("\n\n".join(found)))
