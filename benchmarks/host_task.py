"""One long task for an agent of any host, and what is counted of the requests that its model
receives. Pure but for the server that is given.

The model is a script. It goes by what it sees: a page that the order of this turn needs and that
does not stand whole in the request is asked for, again if need be. A request without tools asks for
a summary, and gets one in the asker's favour: every note, every early fact and the order that is
being worked on, as far as they stand in what it was given, word for word, newest first, up to
`SUMMARY_CHARACTERS`, which is enough for all of them together.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple, Protocol

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from memorist.context.request_prefix_growth import PrefixChecker
from memorist.core.messages import JsonObject
from memorist.ports import Request
from memorist.testing.prompt_cache import InputTokenCounts, PromptCacheState, compute_request_usage
from memorist.testing.provider_server import (
    OutgoingReply,
    ReceivedRequest,
    ScriptedServer,
    build_json_reply,
)
from memorist.testing.steps import CallTool, ReplyParts, Say, Step

WINDOW = 24_000
"""Tokens. The server refuses a longer request."""
TURNS = 48
TOOL = "read_page"
PAGE, LARGE_PAGE = 6_000, 25_000
"""Characters of a tool's result."""
SUMMARY_CHARACTERS = 4_800
"""Longest summary of the script: 1,200 tokens."""
MAX_CALLS = 2_000
"""Requests that the server answers."""
ASKED_AT_MOST = 4
"""Times that the model asks for the same pages in one turn before it leaves them."""

_CHAINS = frozenset({12, 30})
"""Turns in which eight pages are read one after another."""
_REMARKS = frozenset({8, 20, 40, TURNS})
"""Turns in which nothing is read."""
_LARGE = frozenset({5, 15, 25, 35, 45})
"""Turns that read a large page."""
_TWO_LARGE = 27
"""The turn that reads two large pages at once."""

SAID_FACTS = {
    1: "Our berth in the old basin has the number QX-4471.",
    2: "The lock keeper's name is Odalys Brenner.",
    3: "The budget line for dredging is HB-2093-K.",
}
"""What the user says early and the last question needs, by turn."""
READ_FACTS = {
    1: "The pilot boat's call sign is KESTREL-52.",
    2: "The tide gauge stands at 53.5413 north.",
    4: "The crane of pier nine lifts 86 tonnes.",
}
"""The same in pages, by page."""


class HostTurn(NamedTuple):
    """One turn: the note that the user's message carries, the order, and the pages that the order
    needs, in groups that are asked for at once.
    """

    number: int
    mark: str
    note: str
    order: str
    groups: tuple[tuple[int, ...], ...]

    @property
    def said(self) -> str:
        """The user's message."""
        fact = SAID_FACTS.get(self.number, "")
        return " ".join(part for part in (self.note, fact, self.order) if part)


def list_turns() -> list[HostTurn]:
    """The whole task. Pages count from 1 in the order in which they are read."""
    turns: list[HostTurn] = []
    page = 1
    for number in range(1, TURNS + 1):
        sizes = _group_sizes(number)
        groups: list[tuple[int, ...]] = []
        for size in sizes:
            groups.append(tuple(range(page, page + size)))
            page += size
        mark = f"N{number:02}-{_random(number).randrange(16**4):04X}"
        note = f"Note {mark}: the ships of line {number} are listed by tonnage."
        order = f"Order {number}: {_describe(groups)}"
        if number == TURNS:
            order = (
                f"Order {number}: give me berth, lock keeper, budget line, call sign, tide gauge "
                f"and crane."
            )
        turns.append(HostTurn(number, mark, note, order, tuple(groups)))
    return turns


def _group_sizes(number: int) -> Sequence[int]:
    if number in _REMARKS:
        return ()
    if number in _CHAINS:
        return (1,) * 8
    if number == _TWO_LARGE:
        return (2,)
    return (3,) if number % 6 == 0 else (1,)


def _describe(groups: Sequence[tuple[int, ...]]) -> str:
    if not groups:
        return "just go on as before."
    first, last = groups[0][0], groups[-1][-1]
    if first == last:
        return f"read page {first} and tell me which ship came in."
    how = "at once" if len(groups) == 1 else "one after another"
    return f"read the pages {first} to {last}, {how}, and tell me which ships came in."


def _large_pages() -> frozenset[int]:
    return frozenset(
        page
        for turn in list_turns()
        if turn.number in _LARGE | {_TWO_LARGE}
        for group in turn.groups
        for page in group
    )


_WORDS = (
    "timber", "tar", "barley", "anchor", "rope", "sail", "cargo",
    "harbour", "ledger", "customs", "pilot", "quay", "crane", "copper",
    "wool", "master", "tide", "signal", "lantern", "barrel", "weather",
    "north", "channel", "repair", "crew", "papers", "office", "morning",
)  # fmt: skip


def _random(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - made-up text, the same each time


@cache
def read_page(number: int) -> str:
    """The text of a page, one line without quotes: what the tool gives."""
    size = LARGE_PAGE if number in _large_pages() else PAGE
    drawn = _random(1_000 + number)
    sentences = [f"Page {number} begins."]
    length = 0
    while length < size - 40:
        sentence = f"{' '.join(drawn.choices(_WORDS, k=9)).capitalize()}."
        sentences.append(sentence)
        length += len(sentence) + 1
        if len(sentences) == 20 and number in READ_FACTS:
            sentences.append(READ_FACTS[number])
    return f"{' '.join(sentences)} Page {number} ends."


def request_text(body: JsonObject) -> str:
    """A request as text."""
    return msgspec.json.encode(body).decode()


def is_agent_request(body: JsonObject) -> bool:
    """Whether a request is the agent's own: it has tools. A summariser's has none."""
    return bool(body.get("tools"))


class TaskModel:
    """The model of the task, for one run. `turn` is set by who runs it."""

    def __init__(self) -> None:
        self.turn = list_turns()[0]
        self.answered = 0
        """Turns that ended with words of the model."""
        self.asked: list[int] = []
        """Pages that were asked for, in order, with those asked for again."""
        self.orders_lost: list[int] = []
        """Turns whose order stood in no request, so that the model did not know what to do."""
        self.given_up: list[int] = []
        """Turns whose results never stood whole in a request."""
        self._in_turn: list[tuple[int, ...]] = []

    def begin(self, turn: HostTurn) -> None:
        """The next turn."""
        self.turn = turn
        self._in_turn = []

    def __call__(self, request: Request) -> Step:
        """Answer one request."""
        text = request_text(request.body)
        if not is_agent_request(request.body):
            return Say(text=self.summarise(text))
        if self.turn.order not in text:
            self.orders_lost.append(self.turn.number)
            return self._answer("What was I to do?")
        group = self._next_group(text)
        if group is None:
            return self._answer(f"That is done, as asked in message {self.turn.number}.")
        if self._in_turn.count(group) >= ASKED_AT_MOST:
            self.given_up.append(self.turn.number)
            return self._answer("I keep reading the same pages.")
        self._in_turn.append(group)
        self.asked += group
        calls = tuple(CallTool(name=TOOL, input={"number": page}) for page in group)
        return calls[0] if len(calls) == 1 else ReplyParts(parts=calls)

    def _answer(self, text: str) -> Say:
        self.answered += 1
        return Say(text=text)

    def _next_group(self, text: str) -> tuple[int, ...] | None:
        """The group after the last one that is seen whole; None when that was the last."""
        seen = [
            index
            for index, group in enumerate(self.turn.groups)
            if all(read_page(page) in text for page in group)
        ]
        following = max(seen, default=-1) + 1
        return self.turn.groups[following] if following < len(self.turn.groups) else None

    def summarise(self, text: str) -> str:
        """A summary of a text in the asker's favour."""
        sentences = [turn.note for turn in list_turns()]
        sentences = [*SAID_FACTS.values(), *READ_FACTS.values(), *sentences, self.turn.order]
        found = [sentence for sentence in sentences if sentence in text]
        kept: list[str] = []
        room = SUMMARY_CHARACTERS
        for sentence in reversed(found):
            room -= len(sentence) + 1
            if room >= 0:
                kept.append(sentence)
        return "\n".join(reversed(kept)) or "Nothing was noted."


class HostTalk(Protocol):
    """A conversation with a host's agent."""

    def say(self, text: str) -> object:
        """Say something and let the agent work until it answers."""

    def close(self) -> None:
        """The conversation is over."""


class HostFigures(Struct, frozen=True, kw_only=True):
    """What was counted of one run."""

    way: str
    answered: int
    """Turns that ended with an answer, of `TURNS`."""
    ended_by: str = ""
    """Why the run ended before its last turn; empty when it did not."""
    too_long: int = 0
    """Requests that were refused because they were longer than the window."""
    invalid: int = 0
    """Requests that were refused for another reason, such as a result without its call."""
    marks: int = 0
    """Notes of the user in the last request, of those said until then (`answered` and one)."""
    said_facts: int = 0
    read_facts: int = 0
    """Early facts in the last request, of three each: said by the user, and read in a page."""
    repeated: int = 0
    """Pages that were asked for again because they did not stand in the request."""
    orders_lost: int = 0
    """Turns in which the model did not see what it was to do."""
    given_up: int = 0
    """Turns whose results it never saw together."""
    requests: int = 0
    summaries: int = 0
    """Requests to the model: the agent's, and those for a summary."""
    tokens: int = 0
    """Input tokens of all requests."""
    uncached: int = 0
    """Those of them that no earlier request began with (OpenAI's rule)."""
    extending: float = 1.0
    """Share of the agent's requests that extend the one before."""
    details: list[str] = field(default_factory=list)
    """The first refusals, as the server said them."""


def run_task(way: str, server: ScriptedServer, model: TaskModel, talk: HostTalk) -> HostFigures:
    """Say every turn until the host fails, and count."""
    ended_by = ""
    for turn in list_turns():
        model.begin(turn)
        before = model.answered
        try:
            talk.say(turn.said)
        except Exception as error:  # noqa: BLE001 - each host raises its own
            ended_by = f"turn {turn.number}: {type(error).__name__}: {str(error)[:200]}"
            break
        if model.answered == before:
            ended_by = f"turn {turn.number}: the host gave no answer of the model"
            break
    talk.close()
    return count(way, server.received, server.refusals, model, ended_by)


def count(
    way: str,
    received: Sequence[ReceivedRequest],
    refusals: Sequence[str],
    model: TaskModel,
    ended_by: str = "",
) -> HostFigures:
    """What the server saw, as figures."""
    own = [request for request in received if is_agent_request(request.body)]
    last = request_text(own[-1].body) if own else ""
    too_long = sum("maximum context length" in each or "too long" in each for each in refusals)
    prefix = PrefixChecker()
    for request in own:
        prefix(request.body)
    counted = count_tokens(received)
    return HostFigures(
        way=way,
        answered=model.answered,
        ended_by=ended_by,
        too_long=too_long,
        invalid=len(refusals) - too_long,
        marks=sum(turn.mark in last for turn in list_turns()),
        said_facts=sum(fact in last for fact in SAID_FACTS.values()),
        read_facts=sum(fact in last for fact in READ_FACTS.values()),
        repeated=len(model.asked) - len(set(model.asked)),
        orders_lost=len(set(model.orders_lost)),
        given_up=len(set(model.given_up)),
        requests=len(own),
        summaries=len(received) - len(own),
        tokens=sum(each.total for each in counted),
        uncached=sum(each.total - each.cache_read for each in counted),
        extending=1 - len(prefix.differences) / max(1, len(own) - 1),
        details=list(dict.fromkeys(refusals))[:3],
    )


def count_tokens(received: Sequence[ReceivedRequest]) -> list[InputTokenCounts]:
    """Input tokens of each request, with what a cache that never expires would have served."""
    state = PromptCacheState()
    counted = []
    for request in received:
        state, counts = compute_request_usage(state, str(request.format), request.body)
        counted.append(counts)
    return counted


class TaskServer(ScriptedServer):
    """The server of the task. It also answers OpenAI's `/responses/compact` as OpenAI describes it:
    all messages of the user, and one item in place of the rest. That item holds the summary of
    `TaskModel`, readable, where OpenAI's is encrypted.
    """

    def __init__(self, model: TaskModel, *, window: int = WINDOW) -> None:
        super().__init__(model, window=window, max_calls=MAX_CALLS)
        self._model = model

    def record_and_choose_reply(self, request: ReceivedRequest) -> tuple[int, OutgoingReply]:
        """Record a request and say what to send for it."""
        if not request.path.endswith("/responses/compact"):
            return super().record_and_choose_reply(request)
        number = len(self.requests) + 1
        self.requests.append(replace(request, number=number, format="openai_responses"))
        items = request.body["input"]
        said = [item for item in items if isinstance(item, dict) and item.get("role") == "user"]
        summary = self._model.summarise(request_text(request.body))
        reply: JsonObject = {
            "id": f"cmp_{number}",
            "object": "response.compaction",
            "created_at": 0,
            "output": [*said, {"type": "compaction", "id": "c", "encrypted_content": summary}],
            "usage": {
                "input_tokens": 0,
                "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                "output_tokens": 0,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": 0,
            },
        }
        return number, build_json_reply(200, reply)
