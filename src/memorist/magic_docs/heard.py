"""What a session's conversation says about its Magic Docs: which files were read, and who said
what. Pure.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from memorist.context.touched import touched_in
from memorist.core.messages import Message
from memorist.magic_docs.header import is_markdown
from memorist.session_memory.actions import Runs, action_of

MESSAGES_KEPT = 5_000
"""Messages that an update is compared with, as in extraction: whole sessions, and the newest part
of very long ones.
"""

FILES_KEPT = 1_000
"""Files awaiting inspection; a turn that reads more leaves the rest. Our choice."""


class Heard:
    """Follows one conversation from its first message."""

    def __init__(self) -> None:
        self._messages: deque[Message] = deque(maxlen=MESSAGES_KEPT)
        self._read: dict[str, None] = {}
        self.count = 0
        """Messages so far."""

    @property
    def messages(self) -> Sequence[Message]:
        """The newest messages, oldest first, including those a compaction removed from the
        window.
        """
        return tuple(self._messages)

    @property
    def waiting(self) -> bool:
        """Whether files were read that have not been inspected."""
        return bool(self._read)

    def took(self, message: Message) -> None:
        """Process one message."""
        self.count += 1
        self._messages.append(message)
        for path in (*touched_in([message]), *_printed(message)):
            self.read(path)

    def read(self, path: str) -> None:
        """Note that a file was read or changed, by a tool call or by the host itself."""
        if is_markdown(path) and len(self._read) < FILES_KEPT:
            self._read[path] = None

    def taken(self) -> tuple[str, ...]:
        """Return the files read since the last call, each once."""
        found = tuple(self._read)
        self._read.clear()
        return found


def _printed(message: Message) -> Iterator[str]:
    """Yield the files that commands print or patch: agents of the rollout family read by `cat` and
    `sed`.
    """
    for use in message.tool_uses:
        match action_of(use):
            case Runs(reads=reads, changes=changes):
                yield from reads
                yield from (change.path for change in changes)
            case _:
                pass
