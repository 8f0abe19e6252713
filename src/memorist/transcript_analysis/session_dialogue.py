"""What the user and the assistant said in a session: requests, statements, and the final words of
each turn. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from msgspec import Struct, field

from memorist.core.lazy import lazy_pattern
from memorist.core.sentences import (
    AnalyzedSentence,
    analyze_raw_sentence,
    analyze_sentence,
    extract_prose_sentences,
    keep_start_and_end,
    shorten_to_one_line,
)
from memorist.formats.host_markup import put_typed_text_before_pastes, strip_host_markup
from memorist.transcript_analysis.command_log import CommandAndFailureLog
from memorist.transcript_analysis.note_line_selection import NoteLine
from memorist.transcript_analysis.note_sentence_pool import (
    BASE_WEIGHT,
    FINAL,
    INTENT,
    SAID,
    NoteSentenceCandidate,
    NoteSentencePool,
    refine_or_drop_sentence_category,
)
from memorist.transcript_analysis.turn_log import TurnLog

MAX_USER_MESSAGES = 60
"""User messages kept with their sentences; at twice the number the middle ones are dropped."""

ALWAYS_KEPT_FIRST_MESSAGES = 5
"""Messages at the start of the session that are always kept."""

ANSWERING = "answering"
INTERRUPTING = "after interrupting"

PLAN_NOTICE = "If you need specific details from before"
"""Prefix of what Claude Code appends to an approved plan, inside the user's message, and to a
summary.
"""

MAX_MESSAGE_START_CHARACTERS = 400
"""Characters of a user message that are kept on one line beside its sentences."""

_COMMAND = re.compile(r"/[a-z][\w:-]*(?: \S+){0,2}")
_BARE_COMMAND = re.compile(
    r"/[\w:-]+|(?:/(?:memorist:)?|\$memorist-)(?:compact|dream|export|forget|notes|off|pin|rename|"
    r"resume|sessions|summary)\b.*",
    re.DOTALL,
)
"""A command without arguments (`/clear`), or whose arguments are for it alone, requests nothing
lasting.
"""

_CLIENT_PARTS = lazy_pattern(
    r"(?s)<oai-mem-citation>.*?(?:</oai-mem-citation>|\Z)|(?m:^::[a-z][\w-]*\{[^\n]*\}[ \t]*$)"
)
"""Parts of a reply that its client reads and does not show: what memory it used, and directives."""
_MADE_LINK = lazy_pattern(r"\burl=\"(https?://[^\"\s]+)\"")

_FEW_SPACES = 3
_REQUEST_SENTENCES = 80
_ANSWER_LENGTH = 320
_REPEATS_WITHIN = 8
_TAIL_LIMIT = 80
_TURN_LABEL_LENGTH = 120
_USER_NAME_FACTOR = 3.0


class DialogueUserMessage(Struct):
    """A message of the user, in sentences; `input_method` says how it came if not typed at the
    prompt.
    """

    turn: int
    input_method: str
    text: str
    """Its beginning, on one line."""
    sentences: list[AnalyzedSentence]
    times: int = 1
    """How often this text occurred among the last messages."""
    last_turn: int = 0
    """The turn of its last repetition; 0 for none."""
    interrupted: bool = False
    """The user stopped the last turn that it began."""
    required_tokens: int = -1
    """Tokens of the part that must be included; negative until computed."""
    lines: list[NoteLine] = field(default_factory=list)
    """Its rendered lines in the notes, cached for `lines_key`: its index among the messages, and
    whether it must be included.
    """
    lines_key: tuple[int, bool] | None = None
    correction: str | None = None
    """The words by which it corrects something; None until computed."""


def _keep_link(part: re.Match[str]) -> str:
    """The link to what a directive made, such as a pull request; empty where it names none."""
    link = _MADE_LINK.search(part[0]) if part[0].startswith("::") else None
    return f"Link: {link[1]}" if link else ""


class SessionDialogue:
    """The dialogue of a session."""

    __slots__ = ("_commands", "_interrupted", "_is_answered", "_turns", "asks", "pool", "tail")

    def __init__(self, turns: TurnLog, commands: CommandAndFailureLog) -> None:
        self._turns = turns
        self._commands = commands
        self._interrupted = False
        self._is_answered = True
        """Whether the assistant did anything since the user's newest message."""
        self.pool = NoteSentencePool()
        self.asks: list[DialogueUserMessage] = []
        self.tail: list[NoteSentenceCandidate] = []
        """The assistant's statements since its last tool call: its final words once the turn has
        ended.
        """

    def add_text(self, source: str, text: str) -> None:
        """Add a text that is neither the user's nor addressed to the user: reasoning, a plan, a
        commit message, a summary.
        """
        self.pool.add_text(source, self._turns.current_turn.number, text)

    def on_interrupt(self) -> None:
        """The user interrupted the assistant."""
        self._interrupted = True
        turn = self._turns.current_turn
        turn.interrupted = True
        for ask in self.asks[-_REPEATS_WITHIN:]:
            ask.interrupted = ask.interrupted or turn.number in {ask.turn, ask.last_turn}

    def drop_turns(self, count: int) -> None:
        """Drop what was said in the newest turns."""
        dropped = self._turns.drop_newest_turns(count)
        self._drop_asks([ask for ask in self.asks if ask.turn in dropped])
        self.pool.drop_turns(dropped)
        self.tail = []
        self._interrupted = False
        self._is_answered = True

    def _drop_asks(self, dropped: Sequence[DialogueUserMessage]) -> None:
        for ask in dropped:
            self.asks.remove(ask)
            for each in ask.sentences:
                self.pool.subtract_name_weight(each.names, _USER_NAME_FACTOR)

    def on_user_text(self, text: str) -> None:
        """The user typed a text: a new turn begins."""
        typed = put_typed_text_before_pastes(strip_host_markup(text)).strip()
        if not typed:
            return
        self._end_turn()
        if not (self._is_answered or self._interrupted):  # the client did it: `/model opus`
            turn = self._turns.current_turn.number
            asked = [ask for ask in self.asks[-1:] if ask.turn == turn]
            self._drop_asks([ask for ask in asked if _COMMAND.fullmatch(ask.text)])
        self._is_answered = False
        how = INTERRUPTING if self._interrupted else ""
        self._interrupted = False
        self._turns.begin_turn(shorten_to_one_line(typed, _TURN_LABEL_LENGTH))
        if not _BARE_COMMAND.fullmatch(typed):
            self.record_user_text(typed, how)

    def record_user_text(self, typed: str, how: str) -> None:
        """Keep a text of the user; a repetition is only counted."""
        start = shorten_to_one_line(typed, MAX_MESSAGE_START_CHARACTERS)
        same = next((ask for ask in self.asks[-_REPEATS_WITHIN:] if ask.text == start), None)
        if same is not None:
            same.times += 1
            same.last_turn, same.interrupted = self._turns.current_turn.number, False
            return
        if how == ANSWERING:
            found = [
                analyze_sentence(shorten_to_one_line(line, _ANSWER_LENGTH), bullet=True)
                for line in keep_start_and_end(typed).split("\n")
            ]
        else:
            found = [
                analyze_raw_sentence(each)
                for each in islice(extract_prose_sentences(typed, short=True), _REQUEST_SENTENCES)
                if not each.text.startswith(PLAN_NOTICE)
            ]
        self.asks.append(DialogueUserMessage(self._turns.current_turn.number, how, start, found))
        for each in found:
            self.pool.add_name_weight(each.names, _USER_NAME_FACTOR)
        if len(self.asks) > 2 * MAX_USER_MESSAGES:
            self.asks = (
                self.asks[:ALWAYS_KEPT_FIRST_MESSAGES]
                + self.asks[ALWAYS_KEPT_FIRST_MESSAGES - MAX_USER_MESSAGES :]
            )

    def on_assistant_text(self, text: str) -> None:
        """The assistant addressed the user."""
        self._is_answered = True
        text = _CLIENT_PARTS.sub(_keep_link, text)
        statement = self.pool.add_text(SAID, self._turns.current_turn.number, text)
        if not statement:
            self._commands.record_explanation(_brief_statement(text))
            return
        self.tail.extend(statement)
        del self.tail[:-_TAIL_LIMIT]
        spoken = [each for each in statement if not each.sentence.is_table]
        self._commands.record_explanation(
            next((each.sentence.text for each in spoken if each.source == SAID), "")
        )
        intents = [each for each in spoken if each.source == INTENT]
        self._turns.begin_step(next(iter([*reversed(intents), *spoken]), None))

    def on_tool_call(self) -> None:
        """The assistant called a tool: what it said before did not end the turn."""
        self._is_answered = True
        self.tail = []

    def _end_turn(self) -> None:
        for candidate in self.tail:
            if candidate.source == SAID:
                candidate.weight *= BASE_WEIGHT[FINAL] / BASE_WEIGHT[SAID]
            if candidate.source in (SAID, INTENT):
                candidate.source = FINAL
        self.tail = []


def _brief_statement(text: str) -> str:
    """A text too short to be kept as a sentence of its own; empty where it is an announcement or a
    word or two.
    """
    words = shorten_to_one_line(text, _ANSWER_LENGTH)
    if words.count(" ") >= _FEW_SPACES and refine_or_drop_sentence_category(SAID, words) == SAID:
        return words
    return ""
