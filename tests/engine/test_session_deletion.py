"""A session that its program deletes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memorist import Memorist
from memorist.errors import SessionInUse, UsageError


def request(text: str) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": text}]}


def holds(home: Path, word: str) -> bool:
    return any(word.encode() in path.read_bytes() for path in home.rglob("*") if path.is_file())


async def test_a_session_that_is_deleted_is_gone_and_no_other(tmp_path: Path) -> None:
    """Also while it is open, whatever its id holds; afterwards the id begins afresh."""
    async with Memorist(home=tmp_path) as engine:
        for id, word in (("a/b c", "marigold"), ("other", "primrose")):
            session = await engine.open(id, project="/srv/shop")
            await session.prepare(request(f"Where is the {word}?"))
            await session.observe(
                {"role": "assistant", "content": [{"type": "text", "text": word}]}
            )
            await session.end_turn()

        await engine.delete_session("a/b c")
        await engine.delete_session("a/b c")
        await engine.delete_session("nobody")

        assert engine.open_sessions == 1
        assert holds(tmp_path, "primrose")
        assert not holds(tmp_path, "marigold")
        again = await engine.open("a/b c", project="/srv/shop")
        await again.prepare(request("Hello."))
        assert again.tracker.messages == 1
        with pytest.raises(UsageError):
            await engine.delete_session("")


def test_a_session_that_another_process_has_open_stays(tmp_path: Path) -> None:
    """It would write its files anew."""
    with Memorist(home=tmp_path) as one, Memorist(home=tmp_path) as other:
        session = one.open("s")
        session.prepare(request("Hello."))
        with pytest.raises(SessionInUse):
            other.delete_session("s")
        session.prepare(request("Hello again."))
        session.close()
        other.delete_session("s")
        assert not list(tmp_path.glob("projects/*/*/transcript.jsonl"))


async def test_of_single_questions_that_nobody_named_the_newest_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that asks thousands filled the home with a session each. What goes on, and what has
    a name, stays however old it is, and so does what was learned; also a name that begins as the
    ids do that are made. The search finds what is kept and nothing else.
    """
    monkeypatch.setattr("memorist.store.session_removal.MAX_SINGLE_QUESTIONS", 3)
    talk, rule = f"sdk-{'a' * 32}", f"proxy-{'b' * 16}"
    single = [f"sdk-{number * 16:032x}" for number in (1, 2, 3, 4, 16)]
    names = ["named", "sdk-migration-00", "proxy-review"]
    asked = [
        *((name, ["Where is the marigold?"]) for name in names),
        (talk, ["Where is the primrose?", "And the oxlip?"]),
        (rule, ["From now on always use pnpm, never npm."]),
        *((id, ["Which number is it?"]) for id in single),
    ]
    async with Memorist(home=tmp_path) as engine:
        for id, texts in asked:
            session = await engine.open(id, project="/srv/shop")
            history: list[Any] = []
            for text in texts:
                history.append({"role": "user", "content": text})
                await session.prepare({**request(text), "messages": [*history]})
                reply = {"role": "assistant", "content": [{"type": "text", "text": "Here."}]}
                await session.observe(reply)
                history.append(reply)
                await session.end_turn()
            await session.close()
        kept = {path.parent.name for path in tmp_path.glob("projects/*/*/transcript.jsonl")}
        known = str([head.description for head in engine.memory("/srv/shop").headers()])

        found = engine.search("Which number is it?", project="/srv/shop", limit=20).passages

    assert kept == {*names, talk, *single[2:]}
    assert {each.session for each in found} >= {*single[2:]}
    assert not {each.session for each in found} & {*single[:2], rule}
    assert "pnpm" in known
