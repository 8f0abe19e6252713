"""Read the feature flags of the flags file, for commands that show settings."""

from __future__ import annotations

from msgspec import Struct

from memorist.flags.run import Flags, file_source
from memorist.settings import Settings

LOOK_SECONDS = 2.0
"""Longest wait for the file, which may be on a disk that does not answer. Our choice."""


class Looked(Struct, frozen=True):
    """The flags that were read; `trouble` is one sentence if not all are known, else empty."""

    values: dict[str, object]
    trouble: str = ""


def look(settings: Settings) -> Looked:
    """Read the flags of the file. Raises SettingsError for a path that cannot be one."""
    flags = Flags(file_source(settings.flags))
    try:
        if not flags.wait(LOOK_SECONDS):
            return Looked({}, f"the flags file {settings.flags.file} did not answer within {LOOK_SECONDS:g} seconds")
        return Looked(dict(flags.values()), flags.trouble)
    finally:
        flags.close()
