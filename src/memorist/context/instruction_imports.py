"""Imports (`@path`) and comments of an instruction file.

Pure, and linear in the text (claude-code.md sections 2.1 and 2.2).
"""

from __future__ import annotations

import fnmatch
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from memorist.core.messages import Message
from memorist.transcript.tool_actions import ChangeAction, ReadAction, parse_tool_action

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_BACKTICK_RUN = re.compile(r"`+")
_IMPORT = re.compile(r"@(?<![^\s(\[]@)((?:[^\s\\]|\\ ){1,1000})")
"""Matches at the start, or after a space or an opening bracket.

The `@` comes first in the pattern so that a search jumps from one `@` to the next.
"""
_TRAILING_PUNCTUATION = ".,;:!?)]}\"'*_"


def find_imports(text: str) -> tuple[str, ...]:
    """Return the imported paths, in order and without duplicates.

    Code spans and fenced blocks are ignored.
    """
    if "@" not in text:
        return ()
    found: dict[str, None] = {}
    for prose in _prose(text):
        for match in _IMPORT.finditer(_blank_code_spans(prose)):
            path = match[1].partition("#")[0].replace("\\ ", " ").rstrip(_TRAILING_PUNCTUATION)
            if path and path[0] not in "@#":
                found[path] = None
    return tuple(found)


def is_path_like(name: str) -> bool:
    """Tell whether the name is meant as a file rather than a user or a package: only then is a
    missing one reported.
    """
    last = name.rpartition("/")[2]
    return name.startswith(("/", "~/", "./", "../")) or "." in last[1:]


def _fenced_blocks(text: str) -> Iterator[tuple[bool, str]]:
    """Split the text into stretches, each with whether it is fenced code."""
    if "```" not in text and "~~~" not in text:
        yield False, text
        return
    lines: list[str] = []
    fence = ""
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if not fence and mark:
            yield False, "".join(lines)
            lines, fence = [line], mark[1]
        elif fence and mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
            yield True, "".join([*lines, line])
            lines, fence = [], ""
        else:
            lines.append(line)
    yield bool(fence), "".join(lines)


def _prose(text: str) -> Iterator[str]:
    return (block for fenced, block in _fenced_blocks(text) if block and not fenced)


def _blank_code_spans(text: str) -> str:
    """Blank out code spans: a run of backticks up to the next run of the same length."""
    if "`" not in text:
        return text
    runs = [match.span() for match in _BACKTICK_RUN.finditer(text)]
    positions: dict[int, list[int]] = defaultdict(list)
    for number, (start, end) in reversed(list(enumerate(runs))):
        positions[end - start].append(number)
    kept: list[str] = []
    done = number = 0
    while number < len(runs):
        start, end = runs[number]
        later = positions[end - start]
        while later and later[-1] <= number:
            later.pop()
        if later:
            kept += [text[done:start], " ` "]
            number = later[-1]
            done = runs[number][1]
        number += 1
    return "".join([*kept, text[done:]])


def strip_comments(text: str) -> str:
    """Remove HTML comments that begin a line; those in fenced code, within a line, and unclosed
    ones stay.
    """
    if "<!--" not in text:
        return text
    return "".join(
        block if fenced else _strip_prose_comments(block) for fenced, block in _fenced_blocks(text)
    )


def _strip_prose_comments(text: str) -> str:
    kept: list[str] = []
    done = 0
    for at in (match.start() for match in re.finditer(r"^ {0,3}<!--", text, re.MULTILINE)):
        if at < done:
            continue
        end = text.find("-->", at)
        if end < 0:
            break
        kept.append(text[done:at])
        done = end + 3
        if text[done : done + 1] == "\n":
            done += 1
    return "".join([*kept, text[done:]])


# Globs of rules and exclusions: `**` over folders, `*`, `?`, `[…]` and `{a,b}`. Pure.


MAX_EXPANDED_PATTERNS = 1_000
"""Upper bound of patterns after brace expansion of one list (claude-code.md section 2.3)."""
_MAX_PATTERN_CHARACTERS = 1_000
"""Longest pattern in characters; a longer one matches nothing."""
_GROUP = re.compile(r"\{([^{}]*)\}")


def expand_braces(patterns: Iterable[str]) -> tuple[str, ...]:
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
    waiting, done = [pattern], dict[str, None]()
    while waiting:
        if len(waiting) + len(done) > room:
            return []
        text = waiting.pop()
        group = next((found for found in _GROUP.finditer(text) if "," in found[1]), None)
        if group is None:
            done[text] = None
        else:
            waiting += [
                text[: group.start()] + choice + text[group.end() :]
                for choice in reversed(group[1].split(","))
            ]
    return list(done)


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


# The files that a session touched, and whether one of them may bring in instructions (CX-4).
# Pure.


class TouchedFiles:
    """Files touched under one working folder, each once."""

    def __init__(self) -> None:
        self._files: dict[Path, None] = {}
        self._folders: set[Path] = set()

    @property
    def files(self) -> tuple[Path, ...]:
        """The files in the order in which they were first touched."""
        return tuple(self._files)

    def add(self, path: Path, folder: Path, *, rules_wait: bool) -> bool:
        """Record a file; return whether it may bring in instructions: it is the first of a folder
        below the working folder, or a rule is pending.
        """
        if path in self._files:
            return False
        first = (
            path.parent not in self._folders
            and path.parent != folder
            and path.is_relative_to(folder)
        )
        self._files[path] = None
        self._folders.add(path.parent)
        return rules_wait or first


def find_touched_paths(messages: Iterable[Message]) -> Iterator[str]:
    """Yield the paths that the tool calls in these messages read or change, as written."""
    for message in messages:
        for use in message.tool_uses:
            match parse_tool_action(use):
                case ReadAction(paths=paths):
                    yield from paths
                case ChangeAction(changes=changes):
                    yield from (change.path for change in changes)
                case _:
                    pass
