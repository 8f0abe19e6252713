"""What Git says: its last word on a failure, addresses without secrets, and who committed what."""

from __future__ import annotations

import re

from memorist.team.remote import MOST_NAME, By, Revision

REVISIONS = ("--format=%x01%h%x00%an%x00%at", "--name-status", "--no-renames", "-z")
"""How `git log` is to tell of its commits, for `revisions`."""
_SECONDS = 12
"""Digits of a time that is none any more."""


def last(said: str) -> str:
    """The line that tells why, at most 300 characters of it."""
    lines = [line for line in said.splitlines() if line.strip() and not line.startswith(("Done", "To "))]
    wanted = next((line for line in lines if line.startswith(("fatal:", "error:", "!"))), lines[0] if lines else "it says nothing")
    return without_user(" ".join(wanted.split()))[:300]


def revisions(told: bytes, prefix: str) -> tuple[Revision, ...]:
    """The changes of Markdown files below the prefix, from what `git log` with `REVISIONS` told; what is not understood is left out."""
    found = []
    for commit in told.decode("utf-8", "replace").split("\1")[1:]:
        version, name, at, *changed = (*commit.split("\0"), "", "")
        by = By(name[:MOST_NAME], float(at) if at.isdecimal() and len(at) < _SECONDS else 0.0)
        for did, path in zip(changed[::2], changed[1::2], strict=False):
            if path.startswith(prefix) and path.endswith(".md"):
                found.append(Revision(key=path.removeprefix(prefix), version=version, by=by, deleted=did.strip() == "D"))
    return tuple(found)


def without_user(url: str) -> str:
    """Addresses in a text without user name and password."""
    return re.sub(r"(\w+://)[^/@\s]*@", r"\1", url)
