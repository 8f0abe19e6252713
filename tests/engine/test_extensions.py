"""Extensions of a session: who is called when, and what one that raises may not break."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist import Memorist, SessionContext, SessionExtension
from memorist.core.messages import Message, Origin, TextBlock, ToolUse
from memorist.engine.session import Session
from memorist.events import Event, ExtensionFailed
from memorist.extensions import ExtensionList, HistoryChange, SessionReply, SessionView
from memorist.forks.fork_spec import ParentCall

EVENTS = (
    "on_message",
    "before_request",
    "on_reply",
    "before_tool",
    "on_turn_end",
    "on_file_read",
    "on_history_replaced",
    "on_resume",
    "wait_for_background",
    "aclose",
)


class Recorder(SessionExtension):
    """Writes down what it is told, and raises at the events in `fails`."""

    def __init__(self, calls: list[str], name: str = "", fails: Sequence[str] = ()) -> None:
        self.calls = calls
        self.name = name
        self.fails = fails

    def heard(self, event: str, detail: str = "") -> None:
        self.calls.append(f"{self.name}{event}{detail}")
        if event in self.fails:
            raise RuntimeError(f"no {event}")

    def on_message(self, message: Message, *, replayed: bool = False) -> None:
        self.heard("on_message", f" {message.text}{' again' if replayed else ''}")

    async def before_request(self, view: SessionView, new_messages: Sequence[Message]) -> None:
        assert view.accepts_messages
        self.heard("before_request", f" {len(new_messages)}")

    def on_reply(self, reply: SessionReply) -> None:
        self.heard("on_reply", f" {reply.usage.output}")

    def before_tool(self, call: ToolUse) -> str:
        self.heard("before_tool", f" {call.name}")
        return ""

    def on_turn_end(self, parent: ParentCall | None = None) -> None:
        del parent
        self.heard("on_turn_end")

    def on_file_read(self, path: str) -> None:
        self.heard("on_file_read", f" {path}")

    def on_history_replaced(self, reason: HistoryChange) -> None:
        self.heard("on_history_replaced", f" {reason}")

    def on_resume(self, view: SessionView) -> None:
        self.heard("on_resume", f" {len(view.messages())}")

    async def wait_for_background(self) -> None:
        self.heard("wait_for_background")

    async def aclose(self) -> None:
        self.heard("aclose")


def question(*texts: str) -> dict[str, Any]:
    """A request whose history alternates between user and model."""
    roles = ("user", "assistant")
    return {
        "model": "claude-sonnet-5",
        "max_tokens": 64,
        "messages": [{"role": roles[at % 2], "content": text} for at, text in enumerate(texts)],
    }


def answer(text: str) -> dict[str, Any]:
    """A reply with nine tokens of output."""
    return {
        "role": "assistant",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 20, "output_tokens": 9},
    }


async def talk(session: Session) -> dict[str, Any]:
    """One turn."""
    sent = await session.prepare(question("Hello."))
    await session.observe(answer("Hi."))
    await session.end_turn()
    return sent


@pytest.mark.covers("SG-1")
async def test_events_come_in_the_order_that_is_written_down(tmp_path: Path) -> None:
    """Of a session, its next process with a history that the host rewrote, and its end."""
    calls: list[str] = []

    def open_own(context: SessionContext) -> Recorder:
        return Recorder(calls)

    for process in range(2):
        async with Memorist(home=tmp_path, model="structural") as engine:
            engine.extensions.append(open_own)
            session = await engine.open("s")
            if process == 0:
                await talk(session)
                session.on_file_read("notes.md")
                assert calls == [
                    "on_message Hello.",
                    "on_resume 1",
                    "before_request 1",
                    "on_message Hi.",
                    "on_reply 9",
                    "on_turn_end",
                    "on_file_read notes.md",
                ]
            else:
                await session.prepare(question("Hello.", "Hi.", "More."))
        assert calls[-2:] == ["wait_for_background", "aclose"]
        del calls[-2:]
        first, calls[:] = list(calls), []

    assert first == [
        "on_message Hello. again",
        "on_message Hi. again",
        "on_message More.",
        "on_resume 3",
        "before_request 1",
    ]


@pytest.mark.covers("SG-1")
@pytest.mark.parametrize("event", [each for each in EVENTS if each != "wait_for_background"])
async def test_one_that_raises_is_switched_off_and_the_request_is_sent(
    tmp_path: Path, event: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Whichever event it raises at: the host gets the same request and the same notes, the event
    and the log name the class once, and the other extensions hear everything.
    """
    calls: list[str] = []
    told: list[Event] = []
    async with Memorist(home=tmp_path, model="structural") as engine:
        engine.extensions += [lambda _: Recorder([], fails=(event,)), lambda _: Recorder(calls)]
        session = await engine.open("s", listener=told.append)
        sent = await talk(session)
        session.recall_for_tool_call("Bash", {})
        session.on_file_read("a.md")
        await session.prepare(question("Something else."))
        await session.close()

    async with Memorist(home=tmp_path / "plain", model="structural") as engine:
        assert sent == await talk(await engine.open("s"))
    failed = [each for each in told if isinstance(each, ExtensionFailed)]
    assert [each.extension for each in failed] == ["Recorder"]
    assert [each.getMessage() for each in caplog.records] == [
        f"the extension Recorder failed and takes no more part in its session: no {event}"
    ]
    assert [call.split()[0] for call in calls] == [
        "on_message",
        "on_resume",
        "before_request",
        "on_message",
        "on_reply",
        "on_turn_end",
        "before_tool",
        "on_file_read",
        "on_history_replaced",
        "on_message",
        "before_request",
        "wait_for_background",
        "aclose",
    ]


async def test_a_listener_that_raises_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It raises at every event, the first and the last too: the host's calls go on, the engine
    closes, and the log names each kind of event once.
    """

    def listener(event: Event) -> None:
        raise LookupError(type(event).__name__)

    async with Memorist(home=tmp_path, model="structural") as engine:
        for _ in range(2):
            session = await engine.open("s", listener=listener)
            sent = await talk(session)
            assert sent["messages"][0]["content"]
            await session.close()
            assert engine.open_sessions == 0

    said = [each.getMessage() for each in caplog.records if "a listener failed" in each.message]
    assert "a listener failed at SessionOpened, and the session goes on: SessionOpened" in said
    assert len(said) == 2 * len(set(said))


async def test_a_cancellation_goes_on() -> None:
    """Whoever cancels the host's request is not kept from it, and nothing is switched off."""

    class Waits(SessionExtension):
        async def wait_for_background(self) -> None:
            await asyncio.Event().wait()

    told: list[Event] = []
    extensions = ExtensionList([Waits()], told.append)
    task = asyncio.ensure_future(extensions.wait_for_background())
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert told == []
    assert extensions.find(Waits) is not None


async def notify(extensions: ExtensionList, event: str) -> None:
    """Send one event."""
    message = Message(
        id="m", role="user", blocks=(TextBlock("x"),), origin=Origin.USER, is_typed=True
    )
    match event:
        case "on_message":
            extensions.on_message(message)
        case "on_reply":
            extensions.on_reply(SessionReply(messages=(message,), at=0.0))
        case "on_file_read":
            extensions.on_file_read("a.md")
        case "on_history_replaced":
            extensions.on_history_replaced("rewritten")
        case "on_turn_end":
            extensions.on_turn_end()
        case "aclose":
            await extensions.aclose()
        case "before_tool":
            extensions.before_tool(ToolUse("", "Bash", {}))
        case _:
            await extensions.wait_for_background()


SENT = tuple(each for each in EVENTS if each not in {"before_request", "on_resume"})


@given(
    events=st.lists(st.sampled_from(SENT), max_size=12),
    fails=st.lists(st.lists(st.sampled_from(SENT), max_size=2), min_size=1, max_size=4),
)
def test_every_event_goes_to_all_that_are_left_in_order(
    events: list[str], fails: list[list[str]]
) -> None:
    """For any events and any extensions that raise at any of them: the calls are, event by event,
    those of the extensions that have not raised yet, in the order of the list.
    """
    calls: list[str] = []
    told: list[Event] = []
    extensions = ExtensionList(
        [Recorder(calls, f"{at} ", each) for at, each in enumerate(fails)], told.append
    )

    async def send() -> None:
        for event in events:
            await notify(extensions, event)

    asyncio.run(send())

    left, expected = list(range(len(fails))), []
    # Before they are closed, all are waited for.
    steps = [
        step
        for event in events
        for step in (("wait_for_background", event) if event == "aclose" else (event,))
    ]
    for event in steps:
        expected += [f"{at} {event}" for at in left]
        left = [at for at in left if event not in fails[at]]
    assert [" ".join(call.split()[:2]) for call in calls] == expected
    assert len(told) == len(fails) - len(left)


async def test_the_example_shows_its_rules(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It inserts them after the first question, and counts the answer's tokens."""
    path = Path(__file__).parents[2] / "examples" / "extension.py"
    spec = importlib.util.spec_from_file_location("extension_example", path)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)

    assert await example.main(tmp_path) == example.RULES
    assert capsys.readouterr().out == "my-session: 1 questions, 9 tokens of answers\n"
