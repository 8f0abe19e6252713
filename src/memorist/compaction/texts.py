"""The texts of ours that compaction puts into a conversation, read from `prompts/compaction`."""

from __future__ import annotations

from msgspec import Struct

from memorist.prompts.load import load


class Texts(Struct, frozen=True, kw_only=True):
    """Prompts and wrappers. A name in double braces is filled in where the text is used."""

    full: str
    """The request for a summary (CP-7)."""
    full_instructions: str
    """What the user wants of this summary, around {{instructions}}."""
    full_wrapper: str
    """What stands in place of the conversation, around {{summary}}."""
    session_memory_wrapper: str
    """The same for session notes, around {{notes}}."""
    transcript: str
    """Where the full transcript is."""
    notes_file: str
    """Where the notes are in full, when a section was cut."""
    kept: str
    """The newest messages follow as they were."""
    go_on: str
    """Nobody is asked anything: carry on."""
    said: str
    """The user's messages, around {{messages}}."""
    cut_marker: str
    """The user message that stands first where the earliest rounds were dropped."""
    inline: str
    """The request for a hand-over (CP-11)."""
    inline_prefix: str
    """Stands before the hand-over."""
    file: str
    """A file that comes back, around {{path}} and {{content}}."""
    file_reference: str
    """A file that is too large to come back."""
    skill: str
    """A skill that comes back, around {{name}} and {{content}}."""
    skill_cut: str
    """Remark after a skill that was cut."""
    plan: str
    """The plan."""
    tasks: str
    """The task list, and work that runs in the background."""


def shipped() -> Texts:
    """The texts that come with memorist, without blank lines at their ends."""
    return Texts(**{name: load(f"compaction/{name}").strip("\n") for name in Texts.__struct_fields__})
