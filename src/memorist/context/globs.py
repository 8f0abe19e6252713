"""Globs of rules and exclusions: `**` over folders, `*`, `?`, `[…]` and `{a,b}`. Pure.

Matching is linear in the path even for hostile patterns.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

EXPANDED = 1_000
"""Upper bound of patterns after brace expansion of one list (claude-code.md section 2.3)."""
_LONGEST = 1_000
"""Longest pattern in characters; a longer one matches nothing."""
_GROUP = re.compile(r"\{([^{}]*)\}")


def expand(patterns: Iterable[str]) -> tuple[str, ...]:
    """Expand the braces of the patterns.

    Patterns over the budget stay as they are and match nothing; patterns without braces do not
    count.
    """
    room = EXPANDED
    done: list[str] = []
    for pattern in patterns:
        if "{" not in pattern or len(pattern) > _LONGEST:
            done.append(pattern)
            continue
        made = _written_out(pattern, room)
        room -= len(made) if made else 0
        done += made or [pattern]
    return tuple(done)


def _written_out(pattern: str, room: int) -> list[str]:
    """Return every alternative of one pattern, innermost braces first; nothing if there are more
    than `room`.
    """
    waiting, done = [pattern], dict[str, None]()
    while waiting:
        if len(waiting) + len(done) > room:
            return []
        text = waiting.pop()
        group = next((found for found in _GROUP.finditer(text) if "," in found[1]), None)
        if group is None:
            done[text] = None
        else:
            waiting += [text[: group.start()] + choice + text[group.end() :] for choice in reversed(group[1].split(","))]
    return list(done)


def matches(path: str, patterns: Sequence[str]) -> bool:
    """Tell whether a path with slashes matches one of the expanded patterns.

    A pattern without a slash matches in any folder.
    """
    return any(_matches(path, pattern) for pattern in patterns)


def _matches(path: str, pattern: str) -> bool:
    if not pattern or len(pattern) > _LONGEST or "{" in pattern:
        return False
    pattern = pattern.removeprefix("./")
    if "/" not in pattern:
        pattern = f"**/{pattern}"
    wanted = pattern.strip("/").split("/")
    if pattern.endswith("/"):
        wanted.append("**")
    return _folders(path.strip("/").split("/"), wanted)


def _folders(names: Sequence[str], wanted: Sequence[str]) -> bool:
    """Match folder by folder; `reached` holds how many path segments each prefix of the pattern can
    have consumed.
    """
    reached = {0}
    for part in wanted:
        if part == "**":
            reached = set(range(min(reached), len(names) + 1))
        else:
            form = _form(part)
            reached = {at + 1 for at in reached if form is not None and at < len(names) and form.match(names[at])}
        if not reached:
            return False
    return len(names) in reached


@lru_cache(maxsize=1_024)
def _form(part: str) -> re.Pattern[str] | None:
    """Compile one folder's pattern; None if it is invalid, which matches nothing."""
    if "[" in part and "]" not in part[part.index("[") + 2 :]:
        return None
    try:
        return re.compile(fnmatch.translate(part))
    except re.error:
        return None
