"""The texts of ours around skills, read from `prompts/skills`."""

from __future__ import annotations

from msgspec import Struct

from memorist.prompts.load import load


class Texts(Struct, frozen=True, kw_only=True):
    """Prompts and wrappers. A name in double braces is filled in where the text is used."""

    rollout: str
    """The catalogue as a section of the rollout family's developer message, around {{roots}}, {{lines}} and {{left_out}}."""
    file_native: str
    """The same as the file-native family's reminder."""
    left_out: str
    """How many skills the catalogue has no room for."""
    body_rollout: str
    """A skill that was called for, around {{name}}, {{path}} and {{contents}}."""
    body_file_native: str
    """The same, around {{folder}} and {{contents}}."""
    cut: str
    """Remark after a body that was cut."""
    ambiguous: str
    """A name that several skills have."""
    interview: str
    """The contract for a model that makes a skill of a session, around {{notes}}, {{messages}}, {{skeleton}} and {{description}}."""


def shipped() -> Texts:
    """The texts that come with memorist, without blank lines at their ends."""
    return Texts(**{name: load(f"skills/{name}").strip("\n") for name in Texts.__struct_fields__})
