"""Which paths a glob matches: `*` and `?` within a name, `**` for any folders, `{a,b}` for
alternatives. Pure.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

MAX_EXPANDED_PATTERNS = 1_000
"""Upper bound of patterns after brace expansion of one list (Claude Code)."""


_MAX_PATTERN_CHARACTERS = 1_000
"""Longest pattern in characters; a longer one matches nothing."""


_GROUP = re.compile(r"\{([^{}]*)\}")


def expand_glob_braces(patterns: Iterable[str]) -> tuple[str, ...]:
    """Expand the braces of the patterns.

    Patterns over the budget stay as they are and match nothing; patterns without braces do not
    count.
    """
    room = MAX_EXPANDED_PATTERNS
    done: list[str] = []
    for pattern in patterns:
        if "{" not in pattern or len(pattern) > _MAX_PATTERN_CHARACTERS:
            done.append(pattern)
            continue
        expanded = _expand_pattern(pattern, room)
        room -= len(expanded) if expanded else 0
        done += expanded or [pattern]
    return tuple(done)


def _expand_pattern(pattern: str, room: int) -> list[str]:
    """Return every alternative of one pattern, innermost braces first; nothing if there are more
    than `room`.
    """
    waiting, done = [pattern], list[str]()
    while waiting:
        if len(waiting) + len(done) > room:
            return []
        text = waiting.pop()
        group = next((found for found in _GROUP.finditer(text) if "," in found[1]), None)
        if group is None:
            done.append(text)
        else:
            waiting += [
                text[: group.start()] + choice + text[group.end() :]
                for choice in reversed(group[1].split(","))
            ]
    return done


def matches_any_glob(path: str, patterns: Sequence[str]) -> bool:
    """Tell whether a path with slashes matches one of the expanded patterns.

    A pattern without a slash matches in any folder.
    """
    return any(_matches_glob(path, pattern) for pattern in patterns)


def _matches_glob(path: str, pattern: str) -> bool:
    if not pattern or len(pattern) > _MAX_PATTERN_CHARACTERS or "{" in pattern:
        return False
    pattern = pattern.removeprefix("./")
    if "/" not in pattern:
        pattern = f"**/{pattern}"
    wanted = pattern.strip("/").split("/")
    if pattern.endswith("/"):
        wanted.append("**")
    return _match_folders(path.strip("/").split("/"), wanted)


def _match_folders(names: Sequence[str], wanted: Sequence[str]) -> bool:
    """Match folder by folder; `reached` holds how many path segments each prefix of the pattern can
    have consumed.
    """
    reached = {0}
    for part in wanted:
        if part == "**":
            reached = set(range(min(reached), len(names) + 1))
        else:
            form = _compile_segment(part)
            reached = {
                at + 1
                for at in reached
                if form is not None and at < len(names) and form.match(names[at])
            }
        if not reached:
            return False
    return len(names) in reached


@lru_cache(maxsize=1_024)
def _compile_segment(part: str) -> re.Pattern[str] | None:
    """Compile one folder's pattern; None if it is invalid, which matches nothing."""
    if "[" in part and "]" not in part[part.index("[") + 2 :]:
        return None
    try:
        return re.compile(fnmatch.translate(part))
    except re.error:
        return None
