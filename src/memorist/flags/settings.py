"""Where feature flags come from."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Struct

LONGEST_REFRESH_SECONDS = 86_400.0
"""A day. Ours: a look that is rarer than that is no look."""


class FlagsSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file of flags. A project's own file cannot set it: whoever sets the flags may change settings while memorist runs."""

    file: str = ""
    """A TOML or JSON file of flags, absolute or from `~/`; empty for none."""
    refresh_seconds: Annotated[float, msgspec.Meta(ge=1, le=LONGEST_REFRESH_SECONDS)] = 60.0
    """Time between two looks, 1 to 86,400. Ours: a flag is for days, not for seconds."""
