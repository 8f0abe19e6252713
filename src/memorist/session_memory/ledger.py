"""What a session's transcript proves, gathered message by message at a flat cost and in bounded memory (SM-13). Pure.

`Ledger.add` takes the messages one by one; `structural.render` turns a ledger into notes whenever they are wanted. A ledger can be made again by
feeding it the transcript, so it has no file of its own (SM-14).
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
"""Characters of one piece of reasoning that are looked at."""


class Ledger:
    """The record of one session.

    `cwd` is the folder it ran in, if known: paths below it are shown relative to it. `title` and `branch` are what the file says of the session.
    """

    __slots__ = ("boundaries", "branch", "messages", "talk", "title", "turns", "work")

    def __init__(self, cwd: str = "", *, title: str = "", branch: str = "") -> None:
        self.title = title
        self.branch = branch
        self.messages = 0
        self.boundaries = 0
        self.turns = TurnBook()
        commands = CommandBook()
        self.talk = Talk(self.turns, commands)
        self.work = Work(self.turns, commands, self.talk)
        self.work.cwd = cwd

    @property
    def cwd(self) -> str:
        """The folder that the session ran in; empty if not known."""
        return self.work.cwd

    @cwd.setter
    def cwd(self, folder: str) -> None:
        self.work.cwd = folder

    def add(self, message: Message) -> None:
        """Take the next message of the conversation."""
        self.messages += 1
        for block in message.blocks:
            match block:
                case Text(text=text, origin=origin):
                    self._text(text, origin or message.origin)
                case Thinking(text=text) if text:
                    self.talk.take(THOUGHT, ends(text, THOUGHT_LIMIT))
                case ToolUse():
                    self.work.call(block)
                case ToolResult():
                    self.work.result(block)
                case _:
                    pass

    def boundary(self, tokens_before: int | None = None) -> None:
        """The recorded agent compacted its context here; `tokens_before` is its size before, where the file says it."""
        self.boundaries += 1
        self.turns.now.compacted = True
        self.turns.now.tokens_before = tokens_before

    def _text(self, text: str, origin: Origin) -> None:
        if origin is Origin.MODEL:
            self.talk.said(text)
        elif origin is Origin.SUMMARY:
            self.talk.take(EARLIER, text)
        else:
            if text[:80].lstrip().startswith(INTERRUPTED):
                self.talk.interrupted()
                self.work.stopped()
            if origin is Origin.USER:
                self.talk.typed(text)
