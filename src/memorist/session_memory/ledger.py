"""The facts a session's transcript proves, collected message by message at constant cost and in
bounded memory (SM-13). Pure.

`TranscriptLedger.add` takes the messages one by one; `structural.render_structural_notes` turns a
ledger into notes on demand. A ledger can be rebuilt from the transcript, so it has no file of its
own (SM-14).
"""

from __future__ import annotations

from memorist.core.messages import Message, Origin, Text, Thinking, ToolResult, ToolUse
from memorist.session_memory.ledger_commands import CommandBook
from memorist.session_memory.ledger_talk import INTERRUPTED, Talk
from memorist.session_memory.ledger_texts import EARLIER, THOUGHT
from memorist.session_memory.ledger_turns import TurnBook
from memorist.session_memory.ledger_work import Work
from memorist.session_memory.sentences import ends

THOUGHT_LIMIT = 3_000
"""Characters of one piece of reasoning that are examined."""

UNREAD_LIMIT = 64
"""Messages that may wait to be processed; the notes are usually updated before there are so many.
"""


class Ledger:
    """The ledger of one session.

    `cwd` is the folder it ran in, if known: paths below it are shown relative to it. `title` and
    `branch` are what the file says of the session.

    Messages are processed lazily, when the ledger is read (mostly the notes update in the
    background), so that adding one on a host's request path is cheap.
    """

    __slots__ = ("_talk", "_turns", "_unread", "_work", "boundaries", "branch", "messages", "title")

    def __init__(self, cwd: str = "", *, title: str = "", branch: str = "") -> None:
        self.title = title
        self.branch = branch
        self.messages = 0
        self.boundaries = 0
        self._unread: list[Message] = []
        self._turns = TurnBook()
        commands = CommandBook()
        self._talk = Talk(self._turns, commands)
        self._work = Work(self._turns, commands, self._talk)
        self._work.cwd = cwd

    @property
    def turns(self) -> TurnBook:
        """The turns and their steps."""
        self._read()
        return self._turns

    @property
    def talk(self) -> Talk:
        """What the user and the assistant said."""
        self._read()
        return self._talk

    @property
    def work(self) -> Work:
        """What was done: files, commands, tasks."""
        self._read()
        return self._work

    @property
    def cwd(self) -> str:
        """The folder that the session ran in; empty if unknown."""
        return self._work.cwd

    @cwd.setter
    def cwd(self, folder: str) -> None:
        self.work.cwd = folder

    def add(self, message: Message) -> None:
        """Add the next message of the conversation."""
        self.messages += 1
        self._unread.append(message)
        if len(self._unread) > UNREAD_LIMIT:
            self._read()

    def look(self) -> None:
        """Process the added messages now, at a time when nobody waits."""
        self._read()

    def _read(self) -> None:
        """Process the messages added since the last time."""
        if self._unread:
            unread, self._unread = self._unread, []
            for message in unread:
                self._look_into(message)

    def _look_into(self, message: Message) -> None:
        for block in message.blocks:
            match block:
                case Text(text=text, origin=origin):
                    self._text(text, origin or message.origin)
                case Thinking(text=text) if text:
                    self._talk.take(THOUGHT, ends(text, THOUGHT_LIMIT))
                case ToolUse():
                    self._work.call(block)
                case ToolResult():
                    self._work.result(block)
                case _:
                    pass

    def boundary(self, tokens_before: int | None = None) -> None:
        """The recorded agent compacted its context here; `tokens_before` is its size before, where
        the file says it.
        """
        self.boundaries += 1
        self.turns.now.compacted = True
        self.turns.now.tokens_before = tokens_before

    def _text(self, text: str, origin: Origin) -> None:
        if origin is Origin.MODEL:
            self._talk.said(text)
        elif origin is Origin.SUMMARY:
            self._talk.take(EARLIER, text)
        else:
            if text[:80].lstrip().startswith(INTERRUPTED):
                self._talk.interrupted()
                self._work.stopped()
            if origin is Origin.USER:
                self._talk.typed(text)
