"""What the user and the assistant said in a session: requests, statements, and which words were a turn's last. Pure."""

from __future__ import annotations

import re
from itertools import islice

from msgspec import Struct, field

from memorist.formats.harness import typed_text
from memorist.session_memory.ledger_commands import CommandBook
from memorist.session_memory.ledger_texts import BASE_WEIGHT, FINAL, INTENT, SAID, Candidate, Pool, kind_of_sentence
from memorist.session_memory.ledger_turns import TurnBook
from memorist.session_memory.rank import Line
from memorist.session_memory.sentences import Sentence, ends, phrases, sentence, shorten, weighed

ASK_LIMIT = 60
"""Messages of the user kept with their sentences; at twice the number the middle ones go."""

FIRST_ASKS = 5
"""Messages at the start of the session that are kept always."""

ANSWERING = "answering"
INTERRUPTING = "after interrupting"

PLAN_NOTICE = "If you need specific details from before"
"""Begins what Claude Code puts at the end of an approved plan, inside the user's message, and of a summary."""

INTERRUPTED = "[Request interrupted by user"
"""Begins the note that both families' harnesses leave in the conversation."""

ASK_LENGTH = 400
"""Characters of a message of the user that are kept on one line beside its sentences."""

_BARE_COMMAND = re.compile(r"/[\w:-]+")
"""A slash command without arguments (`/clear`) asks for nothing that lasts."""

_FEW = 3
_ASK_SENTENCES = 80
_ANSWER_LENGTH = 320
_REPEATS_WITHIN = 8
_TAIL_LIMIT = 80
_REQUEST_LENGTH = 120
_USER_NAME_WEIGHT = 3.0


class Ask(Struct):
    """A message of the user, in sentences; `how` tells where it was typed if not at the prompt."""

    turn: int
    how: str
    text: str
    """Its start, on one line."""
    sentences: list[Sentence]
    times: int = 1
    """How often these words came among the last messages."""
    price: int = -1
    """Tokens of the part that must stand; below 0 until it is known."""
    told: list[Line] = field(default_factory=list)
    """Its lines in the notes, made for `told_for`: its place among the messages, and whether it must stand."""
    told_for: tuple[int, bool] | None = None
    correction: str | None = None
    """The words by which it puts something right; None until it is known."""


class Talk:
    """The words of a session."""

    __slots__ = ("_commands", "_interrupted", "_turns", "asks", "pool", "tail")

    def __init__(self, turns: TurnBook, commands: CommandBook) -> None:
        self._turns = turns
        self._commands = commands
        self._interrupted = False
        self.pool = Pool()
        self.asks: list[Ask] = []
        self.tail: list[Candidate] = []
        """What the assistant said since its last tool call: its final words where the turn has ended."""

    def take(self, source: str, text: str) -> None:
        """Take a text that is neither the user's nor said to the user: reasoning, a plan, a commit message, a summary."""
        self.pool.add(source, self._turns.now.number, text)

    def interrupted(self) -> None:
        """The user stopped the assistant."""
        self._interrupted = True
        self._turns.now.interrupted = True

    def typed(self, text: str) -> None:
        """The user spoke: a new turn begins."""
        typed = typed_text(text).strip()
        if not typed:
            return
        self._end_turn()
        how = INTERRUPTING if self._interrupted else ""
        self._interrupted = False
        self._turns.begin(shorten(typed, _REQUEST_LENGTH), how)
        if not _BARE_COMMAND.fullmatch(typed):
            self.asked(typed, how)

    def asked(self, typed: str, how: str) -> None:
        """Keep words of the user; the same words again are only counted."""
        start = shorten(typed, ASK_LENGTH)
        same = next((ask for ask in self.asks[-_REPEATS_WITHIN:] if ask.text == start), None)
        if same is not None:
            same.times += 1
            return
        if how == ANSWERING:
            found = [sentence(shorten(line, _ANSWER_LENGTH), bullet=True) for line in ends(typed).split("\n")]
        else:
            found = [weighed(each) for each in islice(phrases(typed, short=True), _ASK_SENTENCES) if not each.text.startswith(PLAN_NOTICE)]
        self.asks.append(Ask(self._turns.now.number, how, start, found))
        for each in found:
            self.pool.count(each.names, _USER_NAME_WEIGHT)
        if len(self.asks) > 2 * ASK_LIMIT:
            self.asks = self.asks[:FIRST_ASKS] + self.asks[FIRST_ASKS - ASK_LIMIT :]

    def said(self, text: str) -> None:
        """The assistant spoke to the user."""
        made = self.pool.add(SAID, self._turns.now.number, text)
        if not made:
            self._commands.explained(_brief(text))
            return
        self.tail.extend(made)
        del self.tail[:-_TAIL_LIMIT]
        spoken = [each for each in made if not each.sentence.table]
        self._commands.explained(next((each.sentence.text for each in spoken if each.source == SAID), ""))
        intents = [each for each in spoken if each.source == INTENT]
        self._turns.step(next(iter([*reversed(intents), *spoken]), None))

    def called(self) -> None:
        """The assistant called a tool: what it said before was not the end of the turn."""
        self.tail = []

    def _end_turn(self) -> None:
        for candidate in self.tail:
            if candidate.source == SAID:
                candidate.weight *= BASE_WEIGHT[FINAL] / BASE_WEIGHT[SAID]
            if candidate.source in (SAID, INTENT):
                candidate.source = FINAL
        self.tail = []


def _brief(text: str) -> str:
    """A text too short to be kept as a sentence of its own; empty where it is an announcement or a word or two."""
    words = shorten(text, _ANSWER_LENGTH)
    return words if words.count(" ") >= _FEW and kind_of_sentence(SAID, words) == SAID else ""
