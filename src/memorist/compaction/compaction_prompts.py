"""The prompt texts that compaction inserts into a conversation: `prompts/compaction`."""

from __future__ import annotations

from msgspec import Struct

from memorist.core.prompt_templates import load_prompt


class CompactionPrompts(Struct, frozen=True, kw_only=True):
    """Prompts and wrappers. A name in double braces is filled in where the text is used."""

    full: str
    """The request for a summary (CP-7)."""
    full_instructions: str
    """The user's wishes for this summary, around {{instructions}}."""
    full_wrapper: str
    """The message that replaces the conversation, around {{summary}}."""
    session_memory_wrapper: str
    """The same for session notes, around {{notes}}."""
    transcript: str
    """Names the path of the full transcript."""
    notes_file: str
    """Names the path of the full notes, when a section was cut."""
    kept: str
    """Says that the newest messages follow unchanged."""
    go_on: str
    """Tells the model to carry on without asking."""
    said: str
    """The user's messages, around {{messages}}."""
    cut_marker: str
    """The user message put first where the earliest rounds were dropped."""
    inline: str
    """The request for a hand-over (CP-11)."""
    inline_prefix: str
    """Precedes the hand-over."""
    file: str
    """A restored file, around {{path}} and {{content}}."""
    file_reference: str
    """A file too large to restore."""
    skill: str
    """A restored skill, around {{name}} and {{content}}."""
    skill_cut: str
    """Remark after a skill that was cut."""
    plan: str
    """The plan."""
    tasks: str
    """The task list, and work that runs in the background."""


def load_shipped_compaction_prompts() -> CompactionPrompts:
    """The texts shipped with memorist, without blank lines at their ends."""
    return CompactionPrompts(
        **{
            name: load_prompt(f"compaction/{name}").strip("\n")
            for name in CompactionPrompts.__struct_fields__
        }
    )
