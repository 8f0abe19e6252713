"""What a session's conversation says to its Magic Docs: which files it read, and who said what. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from memorist.context.touched import touched_in
from memorist.core.messages import Message
from memorist.magic_docs.header import is_markdown
from memorist.session_memory.actions import Runs, action_of

MESSAGES_KEPT = 5_000
"""Messages that an update is compared with, as extraction holds them: whole sessions, and the newest part of endless ones."""

FILES_KEPT = 1_000
"""Files that wait to be looked into; a turn that reads more leaves the rest. Ours."""


class Heard:
    """Follows one conversation from its first message."""

    def __init__(self) -> None:
        self._messages: deque[Message] = deque(maxlen=MESSAGES_KEPT)
        self._read: dict[str, None] = {}
        self.count = 0
        """Messages so far."""

    @property
    def messages(self) -> Sequence[Message]:
        """The newest messages, oldest first; what a compaction took out of the window is among them."""
        return tuple(self._messages)

    @property
    def waiting(self) -> bool:
        """Whether files were read that nobody has looked into."""
        return bool(self._read)

    def took(self, message: Message) -> None:
        """Follow one message."""
        self.count += 1
        self._messages.append(message)
        for path in (*touched_in([message]), *_printed(message)):
            self.read(path)

    def read(self, path: str) -> None:
        """A file was read or changed, by a tool call or by the host's own means."""
        if is_markdown(path) and len(self._read) < FILES_KEPT:
            self._read[path] = None

    def taken(self) -> tuple[str, ...]:
        """The files that were read since the last call, each once."""
        found = tuple(self._read)
        self._read.clear()
        return found


def _printed(message: Message) -> Iterator[str]:
    """The files that commands print or patch: agents of the rollout family read by `cat` and `sed`."""
    for use in message.tool_uses:
        match action_of(use):
            case Runs(reads=reads, changes=changes):
                yield from reads
                yield from (change.path for change in changes)
            case _:
                pass
