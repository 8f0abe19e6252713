"""The files that a session touched, and whether one of them may bring in instructions (CX-4). Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from memorist.core.messages import Message
from memorist.session_memory.actions import Changes, Reads, action_of


class Touched:
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
        first = path.parent not in self._folders and path.parent != folder and path.is_relative_to(folder)
        self._files[path] = None
        self._folders.add(path.parent)
        return rules_wait or first


def touched_in(messages: Iterable[Message]) -> Iterator[str]:
    """Yield the paths that the tool calls in these messages read or change, as written."""
    for message in messages:
        for use in message.tool_uses:
            match action_of(use):
                case Reads(paths=paths):
                    yield from paths
                case Changes(changes=changes):
                    yield from (change.path for change in changes)
                case _:
                    pass
