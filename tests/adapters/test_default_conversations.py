"""Chats of one client that name nothing: each is followed as if it were alone."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.adapters.wire_adapter import DefaultConversations

Item = dict[str, Any]
FORMAT = "openai_chat"
EXAMPLES = [{"role": "user", "content": "An apple?"}, {"role": "assistant", "content": "A fruit."}]


def said(role: str, text: str) -> Item:
    return {"role": role, "content": text}


class Chat:
    """A chat whose host may add to its newest message, trim its history, or change a reply."""

    def __init__(self, name: int, habit: str, opening: str) -> None:
        self.habit = habit
        self.system = f"You are the clerk number {name}."
        self.history: list[Item] = [*EXAMPLES] if habit == "examples" else []
        self.name, self.turns, self.opening = name, 0, opening

    def say(self, choice: int) -> None:
        """The user speaks, has the reply made again, or words the last message anew."""
        can_repeat = self.turns > 1 and self.history[-1]["role"] == "assistant"
        if can_repeat and choice:
            self.history.pop()
            if choice == 2:
                self.history[-1] = said("user", f"Rather {self.name}, {self.turns}, please.")
            self.turns += 1
            return
        self.turns += 1
        text = self.opening if self.turns == 1 else f"Ship {self.name} of day {self.turns}."
        self.history.append(said("user", text))

    def request(self) -> Item:
        shown = list(self.history)
        if self.habit == "clock":
            self.system = f"It is {self.turns} o'clock for {self.name}."
        if self.habit in TRIMMED_TO:
            shown = shown[-TRIMMED_TO[self.habit] :]
        if self.habit == "context" and shown[-1]["role"] == "user":
            found = f"Found for {self.name}, {self.turns}. "
            shown[-1] = {**shown[-1], "content": found + shown[-1]["content"]}
        return {"messages": [said("system", self.system), *shown]}

    def hear(self, text: str) -> None:
        self.history.append(said("assistant", text.strip() if self.habit == "strips" else text))


TRIMMED_TO = {"trims": 7, "four": 4, "three": 3, "two": 2}
HABITS = ["plain", "clock", "examples", "context", "strips", *TRIMMED_TO]


@given(
    st.lists(st.sampled_from(HABITS), min_size=2, max_size=5), st.booleans(), st.integers(0, 2**32)
)
def test_each_of_several_chats_keeps_its_conversation(
    habits: list[str], same_opening: bool, seed: int
) -> None:
    """However they interleave, and though replies are alike and openings too."""
    chance, known = random.Random(seed), DefaultConversations()
    chats = [
        Chat(number, habit, "Hello!" if same_opening else f"Hello from {number}.")
        for number, habit in enumerate(habits)
    ]
    ids: list[set[str]] = [set() for _ in chats]
    for _ in range(25):
        chat = chance.choice(chats)
        chat.say(chance.choice([0, 0, 0, 1, 2]))
        found = known.find_or_start(FORMAT, chat.request(), "")
        ids[chat.name].add(found.id)
        text = f"Noted by {chat.name} on {chat.turns}.\n"
        # Else its stream was cut, and by its opening alone nobody can tell a chat.
        is_told_by_replies = chat.habit in ("context", "two", "three", "four")
        if same_opening or is_told_by_replies or chance.random() > 0.1:
            reply = {"choices": [{"message": said("assistant", text), "finish_reason": "stop"}]}
            known.add_reply(found, FORMAT, reply)
        chat.hear(text)

    assert [len(each) <= 1 for each in ids] == [True] * len(chats)
    assert len(set().union(*ids)) == sum(map(len, ids))


def ask(known: DefaultConversations, *history: Item, scope: str = "", answer: str = "") -> str:
    found = known.find_or_start(FORMAT, {"messages": list(history)}, scope)
    if answer:
        known.add_reply(found, FORMAT, {"choices": [{"message": said("assistant", answer)}]})
    return found.id


def test_an_opening_is_the_same_chat_until_it_is_answered() -> None:
    """A request that failed is tried again; the same question later is another chat, as is one
    under other instructions or of another user.
    """
    known, question = DefaultConversations(), said("user", "Review this change.")
    first = ask(known, question)

    assert ask(known, question, answer="Fine.") == first
    others = [
        ask(known, question),
        ask(known, said("system", "Be strict."), question),
        ask(known, question, scope="ana"),
    ]
    assert len({first, *others}) == 4
    assert ask(known, question, said("assistant", "Fine."), said("user", "Why?")) == first


def test_one_opening_said_twice_at_once_begins_two_chats() -> None:
    """While the first waits for its reply the second is somebody else's; once it was given up, it
    is tried again.
    """
    known, body = DefaultConversations(), {"messages": [said("user", "Hello!")]}
    first, second = (known.find_or_start(FORMAT, body, "") for _ in "ab")
    reply = {"choices": [{"message": said("assistant", "Hello.")}]}
    ids = [first.id, second.id]
    for call in (first, second):
        known.add_reply(call, FORMAT, reply)
    more = [
        ask(known, *body["messages"], said("assistant", "Hello."), said("user", f"I am {name}."))
        for name in "ab"
    ]

    assert len({*ids}) == 2
    assert {*more} == {*ids}
    given_up = known.find_or_start(FORMAT, {"messages": [said("user", "Later?")]}, "")
    known.add_reply(given_up, FORMAT, None)
    assert ask(known, said("user", "Later?")) == given_up.id


def test_two_ways_on_from_one_history_are_two_chats() -> None:
    """The one that was begun first keeps the conversation, whichever goes on."""
    known = DefaultConversations()
    start = [said("user", "Plan it."), said("assistant", "A or B?")]
    ask(known, start[0], answer="A or B?")
    ask(known, *start, said("user", "Go."), answer="Which?")
    more = [*start, said("user", "Go."), said("assistant", "Which?")]
    ways = {name: [*more, said("user", f"Try {name}.")] for name in "AB"}
    for name, way in ways.items():
        ask(known, *way, answer=f"{name} it is.")
    ids: dict[str, set[str]] = {"A": set(), "B": set()}
    for _ in range(3):
        for name, way in ways.items():
            way += [said("assistant", f"{name} it is."), said("user", f"More of {name}.")]
            ids[name].add(ask(known, *way, answer=f"{name} it is."))

    assert [len(each) for each in ids.values()] == [1, 1]
    assert ids["A"] != ids["B"]


def test_a_reply_that_two_chats_had_tells_none_of_them() -> None:
    """A host that sends its newest messages alone begins another conversation where two known ones
    end in the same way: starting over is better than mixing two.
    """
    known, go = DefaultConversations(), said("user", "Go on.")
    first = ask(known, said("user", "Plan A."), answer="Done.")
    assert ask(known, said("assistant", "Done."), go, answer="Done again.") == first
    others = {ask(known, said("user", f"Plan {name}."), answer="Done.") for name in "BC"}

    known_ids = {first, *others}
    assert len(known_ids) == 3
    assert ask(known, said("assistant", "Done."), said("user", "And then?")) not in known_ids
    assert ask(known, go) not in known_ids


@pytest.mark.parametrize("body", [{}, {"messages": 5}, {"messages": [None, 7, object(), {}]}])
def test_an_odd_body_stops_nothing(body: Item) -> None:
    """The engine says what is wrong with it."""
    assert DefaultConversations().find_or_start(FORMAT, body, "").id
