"""Which instruction files apply to the files that a session touches: the path globs of rules,
exclusions, and the paths that tool calls name. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePath, PurePosixPath

from msgspec import Struct

from memorist.core.front_matter import split_front_matter
from memorist.core.glob_patterns import expand_glob_braces, matches_any_glob
from memorist.core.messages import Message
from memorist.transcript_analysis.tool_actions import ChangeAction, ReadAction, parse_tool_action


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


class InstructionRule(Struct, frozen=True):
    """A rule's path scope and text."""

    globs: tuple[str, ...]
    body: str
    problem: str = ""


def parse_instruction_rule(text: str) -> InstructionRule:
    """Split a rule file into its path scope (`paths` in its header: a list, or one line with
    commas) and its text.
    """
    document = split_front_matter(text)
    if document.front is None:
        return InstructionRule((), text)
    value = document.front.values.get("paths")
    if document.front.problem:
        raw = "".join(entry.raw for entry in document.front.entries if entry.key == "paths")
        return InstructionRule(_parse_unquoted_paths(raw), document.body, document.front.problem)
    if isinstance(value, str):
        return InstructionRule(_split_globs(value), document.body)
    if isinstance(value, list):
        return InstructionRule(
            tuple(glob.strip() for glob in value if isinstance(glob, str) and glob.strip()),
            document.body,
        )
    return InstructionRule((), document.body, "" if value is None else "its `paths` are no list")


def _parse_unquoted_paths(raw: str) -> tuple[str, ...]:
    """Read the patterns of a header that is not valid YAML: users write `paths: **/*.ts` without
    the quotes that a leading star needs.
    """
    first, *rest = raw.partition(":")[2].splitlines() or [""]
    if first.strip():
        return () if first.strip()[0] in "[{|>&!" else _split_globs(first.strip().strip("\"'"))
    items = (
        line.strip().removeprefix("-").strip().strip("\"'")
        for line in rest
        if line.strip().startswith("-")
    )
    return tuple(item for item in items if item)


def _split_globs(line: str) -> tuple[str, ...]:
    """Split one line of patterns at its commas, except inside braces."""
    found, depth = [""], 0
    for sign in line:
        depth += (sign == "{") - (sign == "}")
        if sign == "," and depth <= 0:
            found.append("")
        else:
            found[-1] += sign
    return tuple(glob for glob in (each.strip() for each in found) if glob)


def is_rule_in_scope(globs: Sequence[str], base: PurePath, touched: Sequence[PurePath]) -> bool:
    """Tell whether one of the files that were read is in the rule's scope."""
    patterns = expand_glob_braces(globs)
    return any(
        path.is_relative_to(base) and matches_any_glob(path.relative_to(base).as_posix(), patterns)
        for path in touched
    )


def is_instruction_file_excluded(path: PurePath, exclude: Sequence[str]) -> bool:
    """Tell whether a setting excludes the file."""
    return bool(exclude) and matches_any_glob(
        PurePosixPath(path.as_posix()).as_posix(), expand_glob_braces(exclude)
    )
