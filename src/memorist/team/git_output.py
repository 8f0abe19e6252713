"""What Git prints: its message on a failure, addresses without credentials, and the revisions of a
branch. Pure.
"""

from __future__ import annotations

import re

from memorist.team.team_remote import MAX_NAME_CHARACTERS, ChangeAuthor, TeamRevision

REVISION_LOG_OPTIONS = ("--format=%x01%h%x00%an%x00%at", "--name-status", "--no-renames", "-z")
"""Options of `git log` whose output `parse_revisions` reads."""
_MAX_TIME_DIGITS = 12
"""Longest valid time in digits."""


def last_message(output: str) -> str:
    """Return the line that gives the reason, at most 300 characters of it."""
    lines = [
        line
        for line in output.splitlines()
        if line.strip() and not line.startswith(("Done", "To "))
    ]
    wanted = next(
        (line for line in lines if line.startswith(("fatal:", "error:", "!"))),
        lines[0] if lines else "it says nothing",
    )
    return strip_credentials(" ".join(wanted.split()))[:300]


def parse_revisions(output: bytes, prefix: str) -> tuple[TeamRevision, ...]:
    """Parse the changes of Markdown files below the prefix from the output of `git log` with
    `REVISION_LOG_OPTIONS`; malformed parts are skipped.
    """
    found = []
    for commit in output.decode("utf-8", "replace").split("\1")[1:]:
        version, name, at, *changed = (*commit.split("\0"), "", "")
        by = ChangeAuthor(
            name[:MAX_NAME_CHARACTERS],
            float(at) if at.isdecimal() and len(at) < _MAX_TIME_DIGITS else 0.0,
        )
        for did, path in zip(changed[::2], changed[1::2], strict=False):
            if path.startswith(prefix) and path.endswith(".md"):
                found.append(
                    TeamRevision(
                        key=path.removeprefix(prefix),
                        version=version,
                        by=by,
                        deleted=did.strip() == "D",
                    )
                )
    return tuple(found)


def strip_credentials(url: str) -> str:
    """Remove user name and password from addresses in a text."""
    return re.sub(r"(\w+://)[^/@\s]*@", r"\1", url)
