"""What a session's conversation says about its Magic Docs: which files were read, and who said
what. Pure.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from memorist.context.instruction_scope import find_touched_paths
from memorist.core.messages import Message
from memorist.magic_docs.document_header import is_markdown
from memorist.transcript_analysis.tool_actions import CommandAction, parse_tool_action

MAX_MESSAGES_KEPT = 5_000
"""Messages that an update is compared with, as in extraction: whole sessions, and the newest part
of very long ones.
"""

MAX_FILES_KEPT = 1_000
"""Files awaiting inspection; a turn that reads more leaves the rest. Our choice."""


class ReadMarkdownTracker:
    """Follows one conversation from its first message."""

    def __init__(self) -> None:
        self._messages: deque[Message] = deque(maxlen=MAX_MESSAGES_KEPT)
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
    def uninspected_files(self) -> tuple[str, ...]:
        """The files read since `take_read_files`, each once."""
        return tuple(self._read)

    def on_message(self, message: Message) -> None:
        """Process one message."""
        self.count += 1
        self._messages.append(message)
        for path in (*find_touched_paths([message]), *_printed_paths(message)):
            self.on_file_read(path)

    def on_file_read(self, path: str) -> None:
        """Note that a file was read or changed, by a tool call or by the host itself."""
        if is_markdown(path) and len(self._read) < MAX_FILES_KEPT:
            self._read[path] = None

    def take_read_files(self) -> tuple[str, ...]:
        """Return the files read since the last call, each once."""
        found = tuple(self._read)
        self._read.clear()
        return found


def _printed_paths(message: Message) -> Iterator[str]:
    """Yield the files that commands print or patch: agents of the rollout family read by `cat` and
    `sed`.
    """
    for use in message.tool_uses:
        match parse_tool_action(use):
            case CommandAction(reads=reads, changes=changes):
                yield from reads
                yield from (change.path for change in changes)
            case _:
                pass
