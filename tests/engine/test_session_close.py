"""A session that closes, and one that cannot open: its files are written and let go, whatever
happens meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from memorist import Memorist, SessionContext, SessionExtension
from memorist.core.messages import Message
from memorist.engine.session import Session
from memorist.errors import StoreError, UsageError, WireFormatError
from memorist.events import ConversationCompacted, Event, FileRead
from memorist.extensions import SessionView
from memorist.testing import Say, ScriptedModel


def request(*texts: str) -> dict[str, Any]:
    messages = [{"role": "user", "content": text} for text in texts]
    return {"model": "m", "max_tokens": 9, "messages": messages}


class Slow(SessionExtension):
    """Is not ready to close for a while."""

    def __init__(self, context: SessionContext) -> None:
        del context

    async def aclose(self) -> None:
        await asyncio.sleep(0.3)


async def test_a_caller_that_waits_no_longer_loses_no_word(tmp_path: Path) -> None:
    """A server that is stopped waits a moment for its sessions; each is written all the same, lets
    go of its files, and whoever closes it again waits for that.
    """
    async with Memorist(home=tmp_path, model="structural") as engine:
        engine.extensions.append(Slow)
        session = await engine.open("s")
        await session.prepare(request("Mend the till."))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(session.close(), 0.01)
        await session.close()

        assert "Mend the till." in session.layout.transcript.read_text("utf-8")
        again = await engine.open("s")
        assert again.tracker.messages == 1


def test_a_loop_that_ends_meanwhile_loses_no_word(tmp_path: Path) -> None:
    """As at Ctrl-C: everything that runs is cancelled, and what was said is on the disk."""

    async def run() -> Session:
        engine = Memorist(home=tmp_path, model="structural")
        engine.extensions.append(Slow)
        session = await engine.open("s")
        await session.prepare(request("Mend the till."))
        closing = asyncio.ensure_future(session.close())
        await asyncio.sleep(0.01)
        closing.cancel()
        return session

    session = asyncio.run(run())

    assert "Mend the till." in session.layout.transcript.read_text("utf-8")


AFTERWARDS: dict[str, Callable[[Session], Any]] = {
    "end_turn": lambda each: each.end_turn(),
    "update_notes": lambda each: each.update_notes(),
    "compact": lambda each: each.compact(),
    "shrink_refused_request": lambda each: each.shrink_refused_request(),
}


async def test_a_closed_session_writes_into_no_file_of_others(tmp_path: Path) -> None:
    """Its files' numbers belong to what was opened since: every call is refused, and an event that
    comes late is in no file.
    """
    async with Memorist(home=tmp_path, model="structural") as engine:
        session = await engine.open("s")
        await session.prepare(request("Mend the till."))
        await session.close()
        others = [(tmp_path / f"other-{number}").open("wb") for number in range(9)]
        for call in AFTERWARDS.values():
            with pytest.raises(UsageError, match="is closed"):
                await call(session)
        with pytest.raises(UsageError, match="is closed"):
            session.on_file_read("a.py")
        session._log.emit(FileRead("a.py"))
        for each in others:
            each.close()

    assert [Path(each.name).stat().st_size for each in others] == [0] * len(others)


@pytest.mark.parametrize("name", ["events", "shown_messages", "injected_messages"])
async def test_a_session_that_cannot_open_lets_go_of_its_files(tmp_path: Path, name: str) -> None:
    """Something stands where one of its files belongs: once that is gone the session opens, in the
    same process.
    """
    async with Memorist(home=tmp_path, model="structural") as engine:
        session = await engine.open("s")
        await session.close()
        path: Path = getattr(session.layout, name)
        path.unlink(missing_ok=True)
        path.mkdir()
        with pytest.raises(StoreError, match="folder"):
            await engine.open("s")
        path.rmdir()

        again = await engine.open("s")
        assert not again.is_closed


async def test_a_request_that_is_refused_takes_no_message_along(tmp_path: Path) -> None:
    """What stood before the entry that cannot be read is recorded with the next request."""
    async with Memorist(home=tmp_path, model="structural") as engine:
        session = await engine.open("s")
        broken = request("Mend the till.", "And the bell.")
        broken["messages"][1]["content"] = [
            {"type": "text", "text": "And the bell.", "x": object()}
        ]
        with pytest.raises(WireFormatError):
            await session.prepare(broken)
        await session.prepare(request("Mend the till.", "And the bell."))
        await session.end_turn()

        text = session.layout.transcript.read_text("utf-8")
        assert ("Mend the till." in text, "And the bell." in text) == (True, True)


@pytest.mark.parametrize("depth", [250, 5_000])
async def test_a_request_that_is_nested_without_end_is_refused(tmp_path: Path, depth: int) -> None:
    """In what is sent and in what is answered, before anything of it counts as read."""
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    call = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "t", "name": "f", "input": value}],
    }
    async with Memorist(home=tmp_path, model="structural") as engine:
        session = await engine.open("s")
        sent = request("Mend the till.")
        with pytest.raises(WireFormatError, match="levels deep"):
            await session.prepare({**sent, "messages": [*sent["messages"], call]})
        await session.prepare(sent)
        with pytest.raises(WireFormatError, match="levels deep"):
            await session.observe(call)

        assert session.tracker.messages == 1


class Reader(SessionExtension):
    """Keeps what it was given of each request; waits for the first."""

    def __init__(self, context: SessionContext) -> None:
        del context
        self.given: list[str] = []
        readers.append(self)

    async def before_request(self, view: SessionView, new_messages: Sequence[Message]) -> None:
        del view
        self.given += [each.text for each in new_messages]


class Waiter(SessionExtension):
    """Takes its time before the first request."""

    def __init__(self, context: SessionContext) -> None:
        del context
        self.seconds = 5.0

    async def before_request(self, view: SessionView, new_messages: Sequence[Message]) -> None:
        del view, new_messages
        seconds, self.seconds = self.seconds, 0.0
        await asyncio.sleep(seconds)


readers: list[Reader] = []


async def test_a_request_that_is_cancelled_hides_no_message(tmp_path: Path) -> None:
    """A host that waits no longer and asks again: what is shown for the user's newest words is
    looked for then.
    """
    async with Memorist(home=tmp_path, model="structural") as engine:
        engine.extensions += [Waiter, Reader]
        session = await engine.open("s")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(session.prepare(request("Mend the till.")), 0.1)
        await session.prepare(request("Mend the till."))
        await session.prepare(request("Mend the till."))

    assert readers.pop().given == ["Mend the till."]


async def test_a_compaction_that_was_made_is_shown_though_its_request_is_cancelled(
    tmp_path: Path,
) -> None:
    """It may have been paid for: the next request shows it, and asks no model again."""
    said = "<summary>" + "The user wants the importer to keep its last row. " * 40 + "</summary>"
    model = ScriptedModel([Say(text=said)])
    pages = [f"Page {number}. " + "The importer drops its row. " * 300 for number in range(9)]
    history = [
        {"role": role, "content": page}
        for page, role in zip(pages, ["user", "assistant"] * 5, strict=False)
    ]
    sent = {"model": "m", "max_tokens": 900, "messages": history}
    tasks: list[asyncio.Task[Any]] = []

    def cancel(event: Event) -> None:
        if isinstance(event, ConversationCompacted):
            tasks[0].cancel()

    async with Memorist(home=tmp_path, model=model) as engine:
        session = await engine.open("s", listener=cancel)
        await session.prepare(sent)
        tasks.append(asyncio.create_task(session.compact(strategy="full")))
        await asyncio.wait(tasks)
        shown = await session.prepare(sent)

    assert tasks[0].cancelled()
    assert len(model.requests) == 1
    assert len(shown["messages"]) < len(history)
    assert '"boundary"' in session.layout.transcript.read_text("utf-8")
