"""What `memorist memory why` says of a sentence is what a session does with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest

from memorist import Memorist
from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.home_memories import ProjectMemoryOpener
from memorist.auto_memory.statement_preview import preview_message
from memorist.auto_memory.statements.sentence_verdicts import (
    ABOUT_ORDERED_TEXT,
    NOT_READ,
    NOTHING_LASTING,
    TASK_BOUND,
)
from memorist.auto_memory.write_gate import POLICY_IS_OFF
from memorist.core.messages import Message, Origin, TextBlock
from memorist.settings import AutoMemorySettings, Settings

KNOWN = ("Use pnpm, never npm", "Functions stay under 40 lines", "The demo is on Friday")
SAID = [
    "Always run the linter before you commit.",
    "From now on use pnpm, never npm.",
    "use tabs",
    "We use Redis for the queue. Why is the consumer lagging?",
    "Our CI runs on GitHub Actions.",
    "never push to main in this branch",
    "Should we always use tabs?",
    "The docs say we always use tabs.",
    "Make that 60 lines per function, 40 was too strict.",
    "Make that 9 volts, 5 was too low.",
    "forget the rule about pnpm",
    "forget what you know about yarn",
    "translate this: always answer in German",
    "remember that the api key is 93kd-22ls-qq1",
    "Fix the importer. Also, from now on, log in UTC.",
    "Don't change anything yet.",
    "/review never use npm",
    "!npm install",
    "/remember the staging server is Heron",
    "```\nalways use tabs\n```\nWhat does this do?",
    "ab jetzt immer auf Deutsch antworten",
    "以后都用中文回答",
    "no emojis please",
    "thanks",
]


def _user(text: str, *, typed: bool = True) -> Message:
    return Message(
        id="m1", role="user", blocks=(TextBlock(text),), origin=Origin.USER, is_typed=typed
    )


@contextmanager
def _memory(home: Path, policy: Literal["auto", "review", "off"] = "auto") -> Iterator[AutoMemory]:
    settings = AutoMemorySettings(policy=policy)
    opened = ProjectMemoryOpener(Settings(home=str(home), auto_memory=settings))
    try:
        yield opened.memory("/home/dev/shop")
    finally:
        opened.close()


def _names(memory: AutoMemory) -> dict[str, str]:
    """Every memory that a session may change, with its text."""
    owners = [each for each in (memory, memory.everywhere) if each is not None]
    return {
        f"{at}{head.path}": owner.folder.read_memory_file(head.path).body
        for at, owner in enumerate(owners)
        for head in owner.headers()
    }


@pytest.mark.covers("AM-8")
@pytest.mark.parametrize("said", SAID)
def test_the_fate_of_a_message_is_what_a_session_makes_of_it(tmp_path: Path, said: str) -> None:
    """Whether something is kept or changed, waits, or neither; and looking changes nothing."""
    with _memory(tmp_path) as memory:
        for text in KNOWN:
            memory.add(text)
        before = _names(memory)
        fates = preview_message(memory, _user(said))
        assert preview_message(memory, _user(said)) == fates
        assert _names(memory) == before
        assert not memory.list_proposals()
    with Memorist(model="structural", home=tmp_path) as engine:
        memory = engine.memory("/home/dev/shop")
        with engine.open("s1", project="/home/dev/shop") as session:
            first: dict[str, object] = {"role": "user", "content": said}
            session.prepare({"model": "m", "max_tokens": 100, "messages": [first]})
            session.observe({"role": "assistant", "content": [{"type": "text", "text": "Ok."}]})
            session.end_turn()
        after = _names(memory)
        waits = memory.list_proposals()

    foretold = {each.fate for each in fates}
    assert (after != before) == bool(foretold & {"kept", "forgets"})
    assert bool(waits) == ("waits" in foretold)
    assert all(each.reasons for each in fates)


def test_each_fate_names_its_reason(tmp_path: Path) -> None:
    """The reason is the check that decided: a filter of the words, the memory, or the policy."""
    with _memory(tmp_path) as memory:
        memory.add("Use pnpm, never npm")
        expected = {
            "always use pnpm, never npm": ("known", "a memory says it already"),
            "Why does it fail?": ("not kept", "it is a question or a supposition"),
            "The api key is 93kd-22ls-qq1.": ("not kept", "a secret is never kept"),
            "The build is broken.": ("not kept", "a passing state is never kept"),
            "never push to main in this branch": ("not kept", TASK_BOUND),
            "We should use Redis for the queue.": ("not kept", NOTHING_LASTING),
            "| a | b |": ("not kept", NOT_READ),
        }
        for text, fate in expected.items():
            (found,) = preview_message(memory, _user(text))
            assert (found.fate, found.reasons[0]) == fate
        (_, fact, ban) = preview_message(
            memory, _user("Write a poem. I live in Kiel. Never rhyme.")
        )
    assert fact.reasons == ban.reasons == (ABOUT_ORDERED_TEXT,)
    with _memory(tmp_path, "off") as memory:
        (off,) = preview_message(memory, _user("always use tabs"))
    with _memory(tmp_path, "review") as memory:
        (review,) = preview_message(memory, _user("always use tabs"))
    assert (off.fate, off.reasons[0]) == ("not kept", POLICY_IS_OFF)
    assert (review.fate, review.reasons[0]) == ("waits", "the policy is review")


def test_what_may_be_others_words_waits(tmp_path: Path) -> None:
    """What a program may have passed on, and a text that the message before announced."""
    with _memory(tmp_path) as memory:
        (passed_on,) = preview_message(memory, _user("From now on use tabs.", typed=False))
        (pasted,) = preview_message(memory, _user("From now on use tabs."), is_text_announced=True)
    assert (passed_on.fate, pasted.fate) == ("waits", "waits")
    assert "nobody is known to have typed" in passed_on.reasons[0]
    assert "announced" in pasted.reasons[0]
