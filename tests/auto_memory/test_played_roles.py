"""A part that the agent is to play has rules of its own, which are nobody's lasting word."""

from __future__ import annotations

import pytest

from memorist.auto_memory.statements.statement_parser import find_statements
from memorist.auto_memory.statements.unconfirmed_statements import find_unconfirmed_statements
from memorist.core.messages import Message, Origin, TextBlock

pytestmark = pytest.mark.covers("WD-1")

PARTS = """
    Act as a pirate. Never break character.|act as a senior engineer and always answer in json
    Pretend you are my grandmother. Always call me sweetheart.
    I want you to act as a linux terminal. Do not write explanations. Never type commands yourself.
    Let's roleplay. Always describe the room first.|Imagine you're a customer. Always complain.
    please play the role of an interviewer. never give me the answer
    Spiel einen strengen Lehrer. Lobe mich nie.|Stell dir vor, du bist mein Arzt. Frag immer nach.
    Joue un chef étoilé. Réponds toujours en vers.|Actúa como un profesor. Nunca des la respuesta.
    Aja como um pirata. Nunca saia do personagem.|Представь, что ты пират. Никогда не выходи из роли.
    扮演一个海盗。永远不要跳出角色。|海賊になりきって。絶対にキャラを崩さないで。
"""
CALLED = """
    You are a helpful SQL tutor. Never give the solution directly.
    you're a recruiter, I'm the candidate. never let me off easy.
    Du bist ein Pirat. Sprich immer in Reimen.|Tu es un chef étoilé. Réponds toujours en vers.
    Eres un profesor de historia. Nunca des la respuesta.|Você é um pirata. Nunca saia do personagem.
    Ты пират. Никогда не выходи из роли.|你是一个海盗。永远不要跳出角色。
    あなたは海賊です。絶対にキャラを崩さないで。|Act as a pirate. From now on answer in French.
"""
NO_PARTS = """
    You are wrong. Never use npm here.|you are too verbose. always keep answers under 5 lines
    you are a bit too fast. always ask before you push|Du bist zu schnell. Frag immer vorher.
    du bist ein bisschen zu schnell. frag immer vorher|tu es un peu bavard. réponds toujours en une phrase
    You are in the backend repo. Always run pytest from the root.
    you are my coding agent. never push without asking me.
    Imagine my surprise. Always run the tests before pushing.|Pretend nothing happened. Never push to main.
    let's play the long game. always write tests first
    Stell dir vor, der Build ist wieder kaputt. Frag immer vorher.|Spiel den Dump ein. Frag immer vorher.
    joue la migration. demande toujours avant.|Role-play is banned in this app. Always ask before you push.
"""
FORGETS = """
    Act as a pirate. Forget that I live in Berlin.|You are a genius! Forget what I said about tabs.
    Du bist ein Schatz. Vergiss das mit den Tabs.|tell me a joke. also forget that I live in Berlin.
    Schreib ein Gedicht. Vergiss, dass ich in Kiel wohne.|escribe un poema. olvida lo de los tabs.
"""


def _split(listed: str) -> list[str]:
    lines = listed.strip().splitlines()
    return [part.strip() for line in lines for part in line.split("|")]


def _type(text: str) -> Message:
    return Message(
        id="m", role="user", blocks=(TextBlock(text),), origin=Origin.USER, is_typed=True
    )


def _read(text: str) -> str:
    message = _type(text)
    if find_statements(message):
        return "kept"
    return "waits" if find_unconfirmed_statements(message) else ""


def test_what_is_for_a_part_to_play_leaves_nothing() -> None:
    """Its rules end with the conversation, in nine languages."""
    assert [each for each in _split(PARTS) if _read(each)] == []


def test_what_stands_beside_who_the_agent_is_waits() -> None:
    """What the agent is may begin a game, or hold in every session; so may what reaches further than
    a part.
    """
    assert [each for each in _split(CALLED) if _read(each) != "waits"] == []


def test_what_the_agent_does_wrong_is_no_part() -> None:
    """Nor where it is, nor what it is to the user, nor what is only supposed: that waits."""
    assert [each for each in _split(NO_PARTS) if _read(each) == ""] == []
    waiting = [each for each in _split(NO_PARTS) if _read(each) == "waits"]
    assert [
        each for each in waiting if not each.startswith(("Imagine", "Pretend", "let's", "Stell"))
    ] == []


def test_a_request_to_forget_counts_beside_a_part_and_behind_a_text() -> None:
    """No part and no text holds it; what was to be forgotten stayed."""
    for text in _split(FORGETS):
        assert [each.act for each in find_statements(_type(text))] == ["forget"], text


@pytest.mark.parametrize(
    ("text", "waiting"),
    [
        ("You are a star! Forget what I said about tabs. Always use pnpm.", "Always use pnpm."),
        (
            "scratch what I said about tabs, we use two spaces everywhere",
            "we use two spaces everywhere",
        ),
        ("forget what I said about tabs, it was wrong", ""),
        ("forget what I said about tabs. I was tired.", ""),
    ],
)
def test_what_stands_beside_a_request_to_forget_waits(text: str, waiting: str) -> None:
    """What holds in its place was lost where it was not kept at once."""
    assert [each.act for each in find_statements(_type(text))] == ["forget"]
    found = "".join(each.text for each in find_unconfirmed_statements(_type(text)))
    assert found.rstrip(".") == waiting.rstrip(".")
