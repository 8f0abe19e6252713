"""The flags that the settings' file holds, for the commands that show settings."""

from __future__ import annotations

from msgspec import Struct

from memorist.flags.run import Flags, file_source
from memorist.settings import Settings

LOOK_SECONDS = 2.0
"""Longest wait for the file, which may lie on a disk that does not answer. Ours."""


class Looked(Struct, frozen=True):
    """What was found, and why not all is known: one sentence, empty where it is."""

    values: dict[str, object]
    trouble: str = ""


def look(settings: Settings) -> Looked:
    """Look the file's flags up. Raises SettingsError for a path that cannot be one."""
    flags = Flags(file_source(settings.flags))
    try:
        if not flags.wait(LOOK_SECONDS):
            return Looked({}, f"the flags file {settings.flags.file} did not answer within {LOOK_SECONDS:g} seconds")
        return Looked(dict(flags.values()), flags.trouble)
    finally:
        flags.close()
