"""What the user and the assistant said in a session: requests, statements, and the final words of
each turn. Pure.
"""

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
"""User messages kept with their sentences; at twice the number the middle ones are dropped."""

FIRST_ASKS = 5
"""Messages at the start of the session that are always kept."""

ANSWERING = "answering"
INTERRUPTING = "after interrupting"

PLAN_NOTICE = "If you need specific details from before"
"""Prefix of what Claude Code appends to an approved plan, inside the user's message, and to a
summary.
"""

INTERRUPTED = "[Request interrupted by user"
"""Prefix of the note that clients of both families leave in the conversation."""

ASK_LENGTH = 400
"""Characters of a user message that are kept on one line beside its sentences."""

_BARE_COMMAND = re.compile(r"/[\w:-]+")
"""A slash command without arguments (`/clear`) requests nothing lasting."""

_FEW = 3
_ASK_SENTENCES = 80
_ANSWER_LENGTH = 320
_REPEATS_WITHIN = 8
_TAIL_LIMIT = 80
_REQUEST_LENGTH = 120
_USER_NAME_WEIGHT = 3.0


class Ask(Struct):
    """A message of the user, in sentences; `how` says how it came if not typed at the prompt."""

    turn: int
    how: str
    text: str
    """Its beginning, on one line."""
    sentences: list[Sentence]
    times: int = 1
    """How often this text occurred among the last messages."""
    price: int = -1
    """Tokens of the part that must be included; negative until computed."""
    told: list[Line] = field(default_factory=list)
    """Its rendered lines in the notes, cached for `lines_key`."""
    told_for: tuple[int, bool] | None = None
    correction: str | None = None
    """The words by which it corrects something; None until computed."""


class Talk:
    """The dialogue of a session."""

    __slots__ = ("_commands", "_interrupted", "_turns", "asks", "pool", "tail")

    def __init__(self, turns: TurnBook, commands: CommandBook) -> None:
        self._turns = turns
        self._commands = commands
        self._interrupted = False
        self.pool = Pool()
        self.asks: list[Ask] = []
        self.tail: list[Candidate] = []
        """The assistant's statements since its last tool call: its final words once the turn has
        ended.
        """

    def take(self, source: str, text: str) -> None:
        """Add a text that is neither the user's nor addressed to the user: reasoning, a plan, a
        commit message, a summary.
        """
        self.pool.add(source, self._turns.now.number, text)

    def interrupted(self) -> None:
        """The user interrupted the assistant."""
        self._interrupted = True
        self._turns.now.interrupted = True

    def typed(self, text: str) -> None:
        """The user typed a text: a new turn begins."""
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
        """Keep a text of the user; a repetition is only counted."""
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
        """The assistant addressed the user."""
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
        """The assistant called a tool: what it said before did not end the turn."""
        self.tail = []

    def _end_turn(self) -> None:
        for candidate in self.tail:
            if candidate.source == SAID:
                candidate.weight *= BASE_WEIGHT[FINAL] / BASE_WEIGHT[SAID]
            if candidate.source in (SAID, INTENT):
                candidate.source = FINAL
        self.tail = []


def _brief(text: str) -> str:
    """A text too short to be kept as a sentence of its own; empty where it is an announcement or a
    word or two.
    """
    words = shorten(text, _ANSWER_LENGTH)
    return words if words.count(" ") >= _FEW and kind_of_sentence(SAID, words) == SAID else ""
