"""Prompt templates for skills, read from `prompts/skills`."""

from __future__ import annotations

from msgspec import Struct

from memorist.prompts.load import load


class Texts(Struct, frozen=True, kw_only=True):
    """Prompts and wrappers. A name in double braces is filled in where the template is used."""

    rollout: str
    """The catalogue as a section of the rollout family's developer message, around {{roots}},
    {{lines}} and {{left_out}}.
    """
    file_native: str
    """The same as a reminder of the file-native family."""
    left_out: str
    """Number of skills that did not fit into the catalogue."""
    body_rollout: str
    """An invoked skill, around {{name}}, {{path}} and {{contents}}."""
    body_file_native: str
    """The same, around {{folder}} and {{contents}}."""
    cut: str
    """Remark after a body that was cut."""
    ambiguous: str
    """Remark on a name shared by several skills."""
    interview: str
    """The prompt that makes a skill from a session, around {{notes}}, {{messages}}, {{skeleton}}
    and {{description}}.
    """


def shipped() -> Texts:
    """Load the templates that come with memorist, without blank lines at their ends."""
    return Texts(**{name: load(f"skills/{name}").strip("\n") for name in Texts.__struct_fields__})
