"""What Git says, for a person: its last word on a failure, and addresses without secrets."""

from __future__ import annotations

import re


def last(said: str) -> str:
    """The line that tells why, at most 300 characters of it."""
    lines = [line for line in said.splitlines() if line.strip() and not line.startswith(("Done", "To "))]
    wanted = next((line for line in lines if line.startswith(("fatal:", "error:", "!"))), lines[0] if lines else "it says nothing")
    return without_user(" ".join(wanted.split()))[:300]


def without_user(url: str) -> str:
    """Addresses in a text without user name and password."""
    return re.sub(r"(\w+://)[^/@\s]*@", r"\1", url)
