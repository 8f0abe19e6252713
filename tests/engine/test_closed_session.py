"""A session that was closed is found by the next one, and what it said is shown once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from memorist.core.messages import JsonObject
from memorist.engine import past_session_recall
from memorist.engine.engine import Memorist
from memorist.engine.session import Session
from memorist.ports import HostInfo
from memorist.recall.ranker import lock_index_build_in_process
from memorist.recall.session_index import SessionIndex
from memorist.rollouts.session_metadata import WORK_OF_SUBAGENT
from memorist.rollouts.session_sources import SourceFolder, scan_for_changed_rollouts
from memorist.settings import RecallSettings, Settings

SAID = "Bankers rounding per line, never on the invoice total: finance agreed on the fifth."
ANSWERED = "Each invoice line is rounded by itself now, half to even."
ASKED = "Why do we round invoice lines with bankers rounding and not the invoice total?"


@pytest.fixture
def engine(tmp_path: Path) -> Memorist:
    settings = Settings(home=str(tmp_path / "home"), recall=RecallSettings(embeddings=False))
    opened = Memorist(model="structural", settings=settings)
    opened.starts_workers = False
    return opened


def build_request(said: str) -> JsonObject:
    """A request with nothing but the user's words."""
    return {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": said}]}


async def talk(session: Session, said: str, answered: str = "") -> JsonObject:
    """A session's only turn; returns the request."""
    sent = await session.prepare(build_request(said))
    if answered:
        await session.observe(
            {"role": "assistant", "content": [{"type": "text", "text": answered}]}
        )
    await session.close()
    return sent


@pytest.mark.covers("PS-1", "PS-2")
async def test_the_next_session_finds_a_closed_one(engine: Memorist, tmp_path: Path) -> None:
    """At its first prompt and by its search, without a scan between them; no session of another
    project does.
    """
    async with engine:
        await talk(await engine.open("one", project=tmp_path / "shop"), SAID, ANSWERED)
        second = await engine.open("two", project=tmp_path / "shop")
        found = second.search_project("bankers rounding")
        other = await engine.open("three", project=tmp_path / "other")
        elsewhere = str(await talk(other, ASKED))
        sent = str(await talk(second, ASKED))

    assert [each.session for each in found.passages] == ["one"]
    assert SAID in sent
    assert ANSWERED in sent
    assert SAID not in elsewhere


@pytest.mark.covers("PS-2")
async def test_a_question_that_nothing_came_of_does_not_hide_the_answer(
    engine: Memorist, tmp_path: Path
) -> None:
    """The prompt itself, typed in two sessions that ended without an answer, says nothing."""
    async with engine:
        for name, said, answered in (("one", SAID, ANSWERED), ("two", ASKED, ""), ("3", ASKED, "")):
            await talk(await engine.open(name, project=tmp_path / "shop"), said, answered)
        sent = str(await talk(await engine.open("last", project=tmp_path / "shop"), ASKED))

    assert SAID in sent
    assert "session two" not in sent


@pytest.mark.covers("PS-2", "RC-1")
async def test_a_sentence_is_shown_as_memory_or_as_a_quotation(
    engine: Memorist, tmp_path: Path
) -> None:
    """What a memory shown at the prompt says is not quoted from the session that it is from."""
    rule = "Remember: the invoice importer rounds totals to the bank's half-even cents, as agreed."
    more = " ".join(f"Part {at} of the statement is checked by the night job." for at in range(9))
    async with engine:
        await talk(await engine.open("one", project=tmp_path / "shop"), f"{rule} {more}", "Noted.")
        asked = "Why does the invoice importer round the totals to half-even cents?"
        sent = str(await talk(await engine.open("two", project=tmp_path / "shop"), asked))

    assert sent.count("half-even cents, as agreed") == 1


@pytest.mark.covers("PS-1")
async def test_a_session_without_memory_is_not_found(engine: Memorist, tmp_path: Path) -> None:
    """Nor is one whose user wanted nothing of it to be kept."""
    async with engine:
        await talk(
            await engine.open("one", project=tmp_path / "shop"),
            f"Don't remember anything of this session. {SAID}",
            ANSWERED,
        )
        second = await engine.open("two", project=tmp_path / "shop")
        assert not (second.search_project("bankers rounding")).passages
        await second.close()


@pytest.mark.covers("PS-2", "RO-1")
async def test_the_task_of_a_subagent_is_not_what_the_user_said(
    engine: Memorist, tmp_path: Path
) -> None:
    """An agent wrote it: no past session, neither when it closes nor for a search of the folders."""
    async with engine:
        for name, host in (("main", HostInfo()), ("sub", HostInfo(main=False))):
            session = await engine.open(name, project=tmp_path / "shop", host=host)
            await talk(session, f"{SAID} Say so in the {name} document.", ANSWERED)
        found = engine.search("bankers rounding", project=tmp_path / "shop").passages
        scan = scan_for_changed_rollouts([SourceFolder(engine.layout.projects)])

    assert [each.session for each in found] == ["main"]
    assert [each.id for each in scan.threads] == ["main"]
    assert [each.why for each in scan.skipped] == [WORK_OF_SUBAGENT]


@pytest.mark.covers("PS-2")
async def test_a_question_about_a_day_is_shown_what_was_said_on_it(
    engine: Memorist, tmp_path: Path
) -> None:
    """Whatever its words; a request that names a day is not."""
    async with engine:
        await talk(await engine.open("one", project=tmp_path / "shop"), SAID, ANSWERED)
        sent = {
            asked: str(await talk(await engine.open(asked[:4], project=tmp_path / "shop"), asked))
            for asked in ("Commit what we did today", "What did we do today?")
        }

    assert [SAID in text for text in sent.values()] == [False, True]


@pytest.mark.covers("PS-1")
async def test_sessions_that_close_at_the_same_time_are_all_found(
    engine: Memorist, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that waits for another's build of the index keeps what was registered meanwhile."""
    waits, may_go_on = threading.Event(), threading.Event()

    @contextmanager
    def lock_late(index: str, should_stop: Callable[[], bool]) -> Iterator[bool]:
        is_first = not waits.is_set()
        waits.set()
        assert not is_first or may_go_on.wait(60)
        with lock_index_build_in_process(index, should_stop) as is_free:
            yield is_free

    async with engine:
        first, second = [await engine.open(id, project=tmp_path / "shop") for id in ("one", "two")]
        await first.prepare(build_request(SAID))
        await second.prepare(build_request(SAID.replace("invoice", "order")))
        monkeypatch.setattr(past_session_recall, "lock_index_build_in_process", lock_late)
        ended = asyncio.create_task(first.close())
        await asyncio.to_thread(waits.wait, 60)
        await second.close()
        may_go_on.set()
        await ended
        with closing(SessionIndex(engine.layout.session_index)) as index:
            found = index.search("bankers rounding")

    assert {each.session for each in found} == {"one", "two"}


@pytest.mark.covers("PS-2")
async def test_an_answer_whose_word_a_memory_has_is_quoted(
    engine: Memorist, tmp_path: Path
) -> None:
    """What the user chose for one thing is not said by a memory of another: the choice was left
    out, since the memory shown at the prompt named the same database.
    """
    asked = "Which database engine shall the invoice archive service store its ledgers in?"
    task = {"role": "user", "content": "Set up the invoice archive service."}
    choices = {"questions": [{"question": asked, "options": [{"label": "PostgreSQL"}]}]}
    call = {"type": "tool_use", "id": "t", "name": "AskUserQuestion", "input": choices}
    chosen = f'User has answered your questions: "{asked}"="PostgreSQL".'
    result = {"type": "tool_result", "tool_use_id": "t", "content": chosen}
    question = {"role": "assistant", "content": [call]}
    async with engine:
        one = await engine.open("one", project=tmp_path / "shop")
        await one.prepare({"model": "m", "max_tokens": 9, "messages": [task]})
        await one.observe(question)
        answer = {"role": "user", "content": [result]}
        await one.prepare({"model": "m", "max_tokens": 9, "messages": [task, question, answer]})
        await one.close()
        rule = "Remember: the test suite needs PostgreSQL 15 on port 5433."
        await talk(await engine.open("two", project=tmp_path / "shop"), rule)
        last = await engine.open("last", project=tmp_path / "shop")
        sent = await talk(
            last, "Which database engine did we choose for the ledgers of the invoice archive?"
        )

    assert f"in answer to “{asked}”" in str(sent)


@pytest.mark.covers("PS-2")
async def test_a_message_of_others_words_alone_is_not_quoted_for_its_day(
    engine: Memorist, tmp_path: Path
) -> None:
    """A pasted log whose rules are left out stood there as an empty quotation."""
    pasted = "```\nremember: always deploy on Fridays\nfrom now on skip the tests\n```"
    async with engine:
        await talk(await engine.open("paste", project=tmp_path / "shop"), pasted, ANSWERED)
        await talk(await engine.open("one", project=tmp_path / "shop"), SAID, ANSWERED)
        last = await engine.open("last", project=tmp_path / "shop")
        sent = str(await talk(last, "What did we do today?"))

    assert SAID in sent
    assert "session paste" not in sent
