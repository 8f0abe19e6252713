"""What a user types has the same effect on memory by whichever way it comes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from mcp import Client

from attacks.typed_conversations import (
    NOT_THE_USERS,
    RECORDED_DIFFERENCES,
    TYPED_CONVERSATIONS,
    TypedConversation,
)
from attacks.typed_doors import LIVE_DOORS, RECORDERS, Door, Held, read_import
from mcp_server.conftest import Asker, recorded
from memorist.auto_memory.memory_file import parse_memory_file
from memorist.auto_memory.quotation_proof import contains_only_given_sentences
from memorist.auto_memory.visible_memory import USER_TRUST
from memorist.mcp_server.stdio_server import McpServer
from memorist.store.rollout_rows import SessionFormat

pytestmark = pytest.mark.covers("WD-3", "AM-8", "IN-2")


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """How long a hook waits for its client's file is none of the claims."""
    monkeypatch.setattr("memorist.hooks.hook_session.LOOK_AGAIN_SECONDS", (0.0, 0.01))
    monkeypatch.setattr("memorist.hooks.hook_session.PROMPT_LOOK_SECONDS", (0.01, 0.02))


EVERY = [pytest.param(4, id="some"), pytest.param(1, id="all", marks=pytest.mark.slow)]
"""Each way has another quarter of the conversations, so that each of these goes several ways; the
slow tests have all.
"""


@pytest.mark.parametrize("step", EVERY)
@pytest.mark.parametrize("name", LIVE_DOORS)
async def test_typed_words_give_the_same_memory_by_every_way(
    name: str, step: int, tmp_path: Path
) -> None:
    """Sessions in each wire format, a server's, an adapter's, both clients' hooks, the proxy."""
    door: Door = LIVE_DOORS[name]
    found, expected = {}, {}
    for number, each in enumerate(
        TYPED_CONVERSATIONS[sorted(LIVE_DOORS).index(name) % step :: step]
    ):
        (folder := tmp_path / str(number)).mkdir()
        found[each.name] = await door(folder, each.turns)
        expected[each.name] = Held(each.kept, each.waits, each.is_off, each.pins)

    assert found == expected


@pytest.mark.parametrize("step", EVERY)
@pytest.mark.parametrize("format", RECORDERS)
async def test_a_recorded_session_gives_the_same(
    format: SessionFormat, step: int, tmp_path: Path
) -> None:
    """Of each agent whose sessions are read; the table names where it may differ, and why."""
    found, expected = {}, {}
    for number, each in enumerate(
        TYPED_CONVERSATIONS[sorted(RECORDERS).index(format) % step :: step]
    ):
        (folder := tmp_path / str(number)).mkdir()
        found[each.name] = await read_import(folder, format, each.turns)
        _, kept, waits = RECORDED_DIFFERENCES.get(each.name, ("", each.kept, each.waits))
        expected[each.name] = Held(kept, waits)

    assert found == expected


async def write_as_agent(tmp_path: Path, case: TypedConversation, words: str) -> list[str]:
    """What counts as the user's after a model wrote these words by `memory_write`, and quoted
    them.
    """
    shop = tmp_path / "shop"
    (shop / ".git").mkdir(parents=True)
    await recorded(shop, "talk", [turn.text for turn in case.turns])
    server = McpServer(None, shop)
    async with Client(server.build_server()) as client:
        await Asker(client).tried("memory_write", text=words, kind="feedback", quote=words)
    server.close()
    folder = Path(os.environ["MEMORIST_HOME"])
    topics = [
        parse_memory_file(path.name, path.read_bytes())
        for path in folder.rglob("memory/*.md")
        if path.name != "MEMORY.md"
    ]
    return [each.body.strip() for each in topics if each.provenance.trust in USER_TRUST]


@pytest.mark.parametrize(("name", "words"), NOT_THE_USERS.items(), ids=NOT_THE_USERS)
async def test_a_model_that_quotes_what_states_nothing_writes_nothing_of_the_users(
    name: str, words: str, tmp_path: Path
) -> None:
    """A text of others, a question, or what the user took back or said otherwise since."""
    (case,) = [each for each in TYPED_CONVERSATIONS if each.name == name]

    assert await write_as_agent(tmp_path, case, words) == []


@pytest.mark.parametrize("name", ["rule", "rule in Chinese", "choice of a tool", "fact"])
async def test_a_model_that_quotes_a_statement_writes_the_users(name: str, tmp_path: Path) -> None:
    """The whole sentence that they typed is the proof."""
    (case,) = [each for each in TYPED_CONVERSATIONS if each.name == name]
    words = case.turns[0].text

    assert await write_as_agent(tmp_path, case, words) == [words]


@pytest.mark.parametrize(
    ("text", "is_theirs"),
    [
        ("Always run the linter.", True),
        ("CI is slow.", True),
        ("Always run the linter, because CI is slow.", True),
        ("Never run the linter because CI is slow.", False),
        ("Always push to main because CI is slow.", False),
        ("Always run the linter because the manual says so.", False),
    ],
)
def test_another_order_with_the_users_reason_is_not_theirs(text: str, is_theirs: bool) -> None:
    """The reason alone proved the whole sentence."""
    said = ("Always run the linter because CI is slow.",)

    assert contains_only_given_sentences(text, said) is is_theirs
