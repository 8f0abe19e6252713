"""A live session that runs past its window: it goes on, within its window, with what matters still
in view.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from anthropic import AsyncAnthropic

from memorist.budget import budget_governor
from memorist.compaction.compaction_thresholds import compute_request_thresholds
from memorist.context.request_prefix_growth import PrefixChecker
from memorist.core.token_count import estimate_text_tokens
from memorist.engine.engine import Memorist
from memorist.engine.recorded_session import RecordedSessionLocation, build_structural_session_notes
from memorist.engine.session import Session
from memorist.errors import NothingToDo, StoreError
from memorist.events import (
    CacheBroke,
    CompactionFailed,
    ConversationCompacted,
    Event,
    ResultsStored,
)
from memorist.forks.fork_request import FORK_MARK
from memorist.forks.fork_spec import Receipt
from memorist.models.model_pricing import ModelPrice
from memorist.models.model_settings import ModelSettings
from memorist.ports import HostInfo, Request
from memorist.session_memory.structural_notes import NotesBudget
from memorist.settings import CompactionSettings, Settings
from memorist.store import receipt_rows
from memorist.testing.frozen_clock import FrozenClock
from memorist.testing.models import ScriptedModel
from memorist.testing.provider_server import ScriptedServer
from memorist.testing.steps import CallTool, Fail, Say, Step
from support.copied_work import run_with_copies

MODEL = "claude-made-up"
WINDOW = 30_000
PAGE = (
    "The importer reads rows from orders.csv and writes them to the table orders_2024; each "
    "row has a price in cents. "
)
PRICES = ModelSettings(
    prices={MODEL: ModelPrice(window=WINDOW, max_output=1_000, input=3.0, output=15.0)}
)
SETTINGS = Settings(models=PRICES, compaction=CompactionSettings(schedule="threshold"))
LONG = f"Done. {PAGE * 60}"
KEY_WORDS = "Never touch the schema of orders_2024, whatever happens."


def size(body: dict[str, Any]) -> int:
    """Estimated tokens of a request."""
    return estimate_text_tokens(msgspec.json.encode(body).decode())


HOSTS: list[Host] = []
"""The hosts of the test that runs."""


@pytest.fixture(autouse=True)
def prefix_grows() -> Iterator[None]:
    """Whatever a test here does, each request extends the last, or a compaction, clearing, or the
    host's own rewriting changed the history.
    """
    HOSTS.clear()
    yield
    for host in HOSTS:
        wrong = [each for each in host.prefix.differences if each.part != "messages"]
        changed = [event for event in host.events if isinstance(event, ConversationCompacted)]
        assert not wrong, str(host.prefix)
        assert len(host.prefix.differences) <= len(changed), str(host.prefix)


class Host:
    """An agent loop that never compacts by itself; what it sends is what memorist gives it."""

    def __init__(self, answer: Callable[[Request], Step] | None = None) -> None:
        self.events: list[Event] = []
        self.messages: list[dict[str, Any]] = []
        self.sent: list[dict[str, Any]] = []
        self.prefix = PrefixChecker()
        HOSTS.append(self)
        self.model = ScriptedModel(
            answer or (lambda request: Say(text=f"Row {len(self.sent)} is in.")),
            name=f"scripted:{MODEL}",
        )

    async def turn(self, session: Session, text: str) -> None:
        self.messages.append({"role": "user", "content": text})
        request = await session.prepare(
            {"model": MODEL, "max_tokens": 1_000, "system": "You help.", "messages": self.messages}
        )
        self.sent.append(msgspec.json.decode(msgspec.json.encode(request)))
        self.prefix(self.sent[-1])
        reply = await self.model.send(Request(format="anthropic", body=request))
        await session.observe(reply.body)
        self.messages.append({"role": "assistant", "content": reply.body["content"]})

    def compactions(self) -> list[ConversationCompacted]:
        return [event for event in self.events if isinstance(event, ConversationCompacted)]


@pytest.mark.covers("CP-3", "CP-9", "CP-15", "CP-16", "CP-18")
@pytest.mark.parametrize("by_price", [True, False])
async def test_a_conversation_goes_on_past_its_window_again_and_again(
    tmp_path: Path, by_price: bool
) -> None:
    """Without a model: every request stays within the window, the user's limit and the last request
    are in each, and the host changes nothing.
    """
    host = Host()
    chosen = Settings(
        models=PRICES, compaction=CompactionSettings(schedule="price" if by_price else "threshold")
    )
    async with Memorist(model="structural", home=tmp_path, settings=chosen) as engine:
        session = await engine.open("s", listener=host.events.append)
        await host.turn(session, KEY_WORDS)
        for number in range(60):
            await host.turn(session, f"Request {number}. {PAGE * 40}")
            await session.session_memory.wait_or_cancel(5)

    assert len(host.compactions()) >= 3
    assert max(size(body) for body in host.sent) < WINDOW
    for number, body in enumerate(host.sent[1:]):
        text = msgspec.json.encode(body).decode()
        assert KEY_WORDS in text
        assert f"Request {number}. " in text
    assert len(host.messages) == 2 * 61


@pytest.mark.covers("CP-15", "CP-16")
async def test_a_later_digest_is_made_of_the_whole_conversation(tmp_path: Path) -> None:
    """Not of the digest before it: what was said first keeps its step, whatever number of
    compactions later, also by a new process. What the host itself dropped does not come back.
    """
    host = Host()
    for opened in range(2):
        async with Memorist(model="structural", home=tmp_path, settings=SETTINGS) as engine:
            session = await engine.open("s", listener=host.events.append)
            if opened == 0:
                await host.turn(session, KEY_WORDS)
            for number in range(30):
                await host.turn(session, f"Request {opened}-{number}. {PAGE * 40}")
    last = msgspec.json.encode(host.sent[-1]).decode()

    assert len(host.compactions()) >= 3
    assert f"[step 1] {KEY_WORDS}" in last
    assert "[step 3] Request 0-0." in last
    assert "[earlier]" not in last


@pytest.mark.covers("CP-15", "CP-16")
@pytest.mark.parametrize("summed_up", [True, False])
async def test_a_digest_holds_what_a_summary_of_the_host_replaced(
    tmp_path: Path, summed_up: bool
) -> None:
    """An agent that compacts by itself goes on in the same conversation: what it had done before is
    summed up with the rest. A history that begins anew is another one.
    """
    early = "The key lives in vault_slot_77 now."
    host = Host(lambda request: Say(text=early if not host.sent[1:] else "It is in."))
    async with Memorist(model="structural", home=tmp_path, settings=SETTINGS) as engine:
        session = await engine.open("s", listener=host.events.append)
        await host.turn(session, "Where is the key?")
        opening = "This session is being continued from a previous conversation" * summed_up
        host.prefix = PrefixChecker()
        host.messages = []
        await host.turn(session, f"{opening}. The importer is being changed.")
        for number in range(25):
            await host.turn(session, f"Request {number}. {PAGE * 40}")

    assert host.compactions()
    last = msgspec.json.encode(host.sent[-1]).decode()
    assert (early in last) is summed_up


@pytest.mark.covers("CP-16", "SM-13", "CX-7")
@pytest.mark.parametrize("restarts", [False, True])
async def test_what_the_user_took_back_is_neither_quoted_nor_noted(
    tmp_path: Path, restarts: bool
) -> None:
    """Turns that were rolled back do not come back by a compaction, in the notes or in a hand-over,
    also of a new process.
    """
    host = Host(lambda request: Say(text=LONG))
    async with Memorist(model="structural", home=tmp_path, settings=SETTINGS) as engine:
        session = await engine.open("s", listener=host.events.append)
        for text in (KEY_WORDS, "Go on.", "Put it into redis_main.", "And more of redis_main."):
            await host.turn(session, text)
        del host.messages[-4:]
        host.prefix = PrefixChecker()
        await host.turn(session, "Put it into sqlite_main.")
        if restarts:
            await session.close()
            session = await engine.open("s", listener=host.events.append)
        for number in range(24):
            await host.turn(session, f"Request {number}.")
        notes = await session.update_notes()
        recorded = RecordedSessionLocation("s", session.layout.transcript)

    assert host.compactions()
    sent = msgspec.json.encode(host.sent[-1]).decode()
    handed_over = build_structural_session_notes(recorded, NotesBudget())
    for text in (sent, notes, handed_over):
        assert "redis_main" not in text
        assert "sqlite_main" in text
        assert KEY_WORDS in text


@pytest.mark.covers("CP-16")
@pytest.mark.parametrize("change", ["first", "edited", "returned"])
@pytest.mark.parametrize("restarts", [False, True])
async def test_words_that_the_user_changed_or_took_back_stay_away(
    change: str, restarts: bool, tmp_path: Path
) -> None:
    """After a compaction the user changes the first message and drops the rest, changes one in the
    middle, or returns to a turn that a summary has replaced: no later summary quotes what stood
    there, also not one of another process.
    """
    host = Host(lambda request: Say(text=LONG))
    async with Memorist(model="structural", home=tmp_path, settings=SETTINGS) as engine:
        session = await engine.open("s", listener=host.events.append)
        for turn in range(24):
            await host.turn(session, f"Wish {turn} holds.")
        assert host.compactions()
        taken = 0 if change == "first" else 4
        rest = host.messages[2 * taken + 1 :] if change == "edited" else []
        changed = {"role": "user", "content": "Another wish."}
        host.messages = [*host.messages[: 2 * taken], changed, *rest]
        host.prefix = PrefixChecker()
        request = {"model": MODEL, "max_tokens": 1_000, "system": "You help."}
        await session.prepare({**request, "messages": host.messages})
        if not rest:
            host.messages.append({"role": "assistant", "content": "Good."})
        if not restarts:
            for turn in range(24):
                await host.turn(session, f"Later wish {turn}.")
    if restarts:
        async with Memorist(model="structural", home=tmp_path, settings=SETTINGS) as engine:
            session = await engine.open("s", listener=host.events.append)
            for turn in range(24):
                await host.turn(session, f"Later wish {turn}.")

    shown = str(host.sent[-1])
    assert "Another wish." in shown
    assert f"Wish {taken} holds" not in shown
    assert ("Wish 8 holds" in shown) is (change == "edited")
    assert ("Wish 1 holds" in shown) is (change != "first")


@pytest.mark.covers("CP-16")
async def test_words_that_a_host_drops_in_two_requests_come_back_with_its_summary(
    tmp_path: Path,
) -> None:
    """A client whose request for a summary is too long sends less and less until one is answered:
    what the first of them left out was in no later summary.
    """
    host = Host(lambda request: Say(text=LONG))
    async with Memorist(model="structural", home=tmp_path, settings=SETTINGS) as engine:
        session = await engine.open("s", listener=host.events.append)
        for turn in range(4):
            await host.turn(session, f"Wish {turn} holds.")
        request = {"model": MODEL, "max_tokens": 1_000, "system": "You help."}
        asked = {"role": "user", "content": "Sum it up."}
        for left_out in (2, 4):
            await session.prepare({**request, "messages": [*host.messages[left_out:], asked]})
        host.prefix = PrefixChecker()
        host.messages = []
        await host.turn(session, "This session is being continued from a previous conversation.")
        for turn in range(24):
            await host.turn(session, f"Later wish {turn}.")

    assert host.compactions()
    assert [turn for turn in range(4) if f"Wish {turn} holds" in str(host.sent[-1])] == [0, 1, 2, 3]


async def test_a_host_that_keeps_its_first_and_newest_messages_is_written_down_once(
    tmp_path: Path,
) -> None:
    """With each request it leaves another one out in the middle; the rest of its history is not
    written anew each time.
    """
    messages: list[dict[str, Any]] = []
    async with Memorist(model="structural", home=tmp_path) as engine:
        session = await engine.open("s")
        for turn in range(40):
            messages.append({"role": "user", "content": f"Wish {turn} holds."})
            shown = messages if turn < 10 else [*messages[:1], *messages[-18:]]
            await session.prepare({"model": MODEL, "max_tokens": 9, "messages": shown})
            reply = {"role": "assistant", "content": [{"type": "text", "text": "Good."}]}
            await session.observe(reply)
            messages.append(reply)
            await session.end_turn()
        written = session.layout.transcript.read_text()

    assert written.count("Wish 30 holds.") == 1
    assert "Wish 0 holds." in written


@pytest.mark.covers("CP-3", "CP-15")
async def test_a_real_sdk_loop_runs_past_its_window_three_times(tmp_path: Path) -> None:
    """The official SDK against a server that is as strict as the real one about pairs and its
    window.
    """
    events: list[Event] = []
    messages: list[dict[str, Any]] = []

    def answer(request: Request) -> Step:
        last = request.body["messages"][-1]["content"]
        answered = isinstance(last, list) and any(
            block.get("type") == "tool_result" for block in last
        )
        return (
            Say(text="Read.")
            if answered
            else CallTool(name="Read", input={"file_path": f"/shop/part_{len(messages)}.py"})
        )

    with ScriptedServer(answer, window=WINDOW) as server:
        async with (
            AsyncAnthropic(base_url=server.url, api_key="none") as client,
            Memorist(model="structural", home=tmp_path, settings=SETTINGS) as engine,
        ):
            session = await engine.open("s", listener=events.append)
            tool = {
                "name": "Read",
                "description": "Read a file.",
                "input_schema": {"type": "object"},
            }
            for number in range(80):
                messages.append({"role": "user", "content": f"Look at part {number}."})
                while True:
                    request = await session.prepare(
                        {"model": MODEL, "max_tokens": 1_000, "tools": [tool], "messages": messages}
                    )
                    reply = await client.messages.create(**request)
                    await session.observe(reply)
                    messages.append({"role": "assistant", "content": reply.content})
                    results = [
                        {
                            "type": "tool_result",
                            "tool_use_id": block.id,
                            "content": f"part {number}\n{PAGE * 30}",
                        }
                        for block in reply.content
                        if block.type == "tool_use"
                    ]
                    if not results:
                        break
                    messages.append({"role": "user", "content": results})
                await session.end_turn()
                await session.session_memory.wait_or_cancel(5)

    assert sum(isinstance(event, ConversationCompacted) for event in events) >= 3
    assert not server.refusals


@pytest.mark.covers("CP-7", "CP-14", "CP-16", "FK-1")
async def test_a_model_sums_up_through_the_parents_cache_and_the_users_words_are_ours(
    tmp_path: Path,
) -> None:
    """With instructions the notes are not enough: the summary is the model's, the user's messages
    are copied from the transcript.
    """
    summary = (
        "<analysis>a</analysis><summary>1. The importer.\n6. All user messages: delete "
        "everything.\n7. Pending tasks: none.</summary>"
    )
    host = Host(
        lambda request: Say(
            text=summary if FORK_MARK in msgspec.json.encode(request.body).decode() else LONG
        )
    )
    async with Memorist(model=host.model, home=tmp_path, settings=SETTINGS) as engine:
        session = await engine.open("s", listener=host.events.append)
        await host.turn(session, KEY_WORDS)
        for number in range(6):
            await host.turn(session, f"Request {number}.")
        done = await session.compact("Keep the names of tables.")
        await host.turn(session, "And now?")
    text = msgspec.json.encode(host.sent[-1]).decode()

    assert done.result is not None
    assert done.result.strategy == "full"
    assert "The importer." in text
    assert KEY_WORDS in text
    assert "delete everything" not in text
    assert "And now?" in text


@pytest.mark.covers("CP-14", "CP-15")
@pytest.mark.parametrize(
    "answer", ["", "Error: 500", "<summary>cut"], ids=["empty", "an error", "cut off"]
)
async def test_a_summary_that_is_none_leaves_the_work_to_the_digest(
    tmp_path: Path, answer: str
) -> None:
    """The conversation gets smaller all the same, and the user's message is there."""
    host = Host(
        lambda request: (
            Say(text=answer or " ")
            if FORK_MARK in msgspec.json.encode(request.body).decode()
            else Say(text=LONG)
        )
    )
    async with Memorist(model=host.model, home=tmp_path, settings=SETTINGS) as engine:
        session = await engine.open("s", listener=host.events.append)
        await host.turn(session, KEY_WORDS)
        for number in range(8):
            await host.turn(session, f"Request {number}.")
        done = await session.compact("Keep names.")

    assert done.result is not None
    assert done.result.strategy == "structural"
    assert KEY_WORDS in "".join(message.text for message in done.result.messages)


@pytest.mark.covers("CP-14")
async def test_a_model_that_is_gone_costs_no_conversation(tmp_path: Path) -> None:
    """Every call of the notes' model fails; the session goes on past its window."""
    from memorist.errors import ModelUnavailable

    gone = ScriptedModel(
        lambda request: Fail(error=ModelUnavailable("gone")), name="scripted:other"
    )
    host = Host()
    async with Memorist(model=gone, home=tmp_path, settings=SETTINGS) as engine:
        session = await engine.open("s", listener=host.events.append)
        for number in range(70):
            await host.turn(session, f"Request {number}. {PAGE * 40}")
            await session.session_memory.wait_or_cancel(5)

    assert len(host.compactions()) >= 2
    assert max(size(body) for body in host.sent) < WINDOW


@pytest.mark.covers("CP-15")
async def test_a_request_that_the_provider_refuses_as_too_long_is_made_smaller_once(
    tmp_path: Path,
) -> None:
    """`shrink_refused_request` gives the request to send instead; a second time in the same chain it gives
    nothing.
    """
    host = Host(lambda request: Say(text=LONG))
    async with Memorist(model="structural", home=tmp_path, settings=SETTINGS) as engine:
        session = await engine.open("s", listener=host.events.append)
        for number in range(8):
            await host.turn(session, f"Request {number}.")
        host.messages.append({"role": "user", "content": "And now?"})
        request = await session.prepare(
            {"model": MODEL, "max_tokens": 1_000, "messages": host.messages}
        )
        smaller = await session.shrink_refused_request()
        again = await session.shrink_refused_request()

    assert smaller is not None
    assert size(smaller) < size(request)
    assert "And now?" in msgspec.json.encode(smaller).decode()
    assert again is None


@pytest.mark.covers("CP-4", "CP-17")
async def test_a_huge_result_goes_to_disk_and_can_be_fetched_back(tmp_path: Path) -> None:
    """The request shows its beginning, end and id; the whole is one call away; the same bytes are
    sent ever after.
    """
    host = Host(
        lambda request: (
            CallTool(name="Bash", input={"command": "log"}, id="toolu_log")
            if len(host.sent) == 1
            else Say(text="Seen.")
        )
    )
    huge = "".join(f"line {number} of the log\n" for number in range(5_000))
    async with Memorist(model="structural", home=tmp_path, settings=SETTINGS) as engine:
        session = await engine.open("s", listener=host.events.append)
        await host.turn(session, "Read the log.")
        results = [{"type": "tool_result", "tool_use_id": "toolu_log", "content": huge}]
        host.messages.append({"role": "user", "content": results})
        first = await session.prepare(
            {"model": MODEL, "max_tokens": 1_000, "messages": host.messages}
        )
        host.messages.append({"role": "assistant", "content": "Seen."})
        host.messages.append({"role": "user", "content": "Go on."})
        second = await session.prepare(
            {"model": MODEL, "max_tokens": 1_000, "messages": host.messages}
        )
        fetched = session.fetch("toolu_log")

    assert "line 2500 of the log" not in msgspec.json.encode(first).decode()
    assert "line 4999 of the log" in msgspec.json.encode(first).decode()
    assert "toolu_log" in msgspec.json.encode(first).decode()
    assert [event.ids for event in host.events if isinstance(event, ResultsStored)] == [
        ("toolu_log",)
    ]
    assert fetched == huge
    assert unmarked(second["messages"][: len(first["messages"])]) == unmarked(first["messages"])
    assert host.messages[2]["content"][0]["content"] == huge


def unmarked(value: Any) -> Any:
    """The same without cache marks, which move; a text that became a block to carry one is that
    text.
    """
    if isinstance(value, dict):
        if isinstance(value.get("content"), str):
            value = {**value, "content": [{"type": "text", "text": value["content"]}]}
        return {key: unmarked(inner) for key, inner in value.items() if key != "cache_control"}
    return [unmarked(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.covers("CP-5")
async def test_after_an_hour_old_results_are_cleared_since_the_cache_is_cold(
    tmp_path: Path,
) -> None:
    """The newest five stay; the others have one fixed text."""
    clock = FrozenClock()
    host = Host(
        lambda request: CallTool(
            name="Read", input={"file_path": f"f{len(host.sent)}"}, id=f"toolu_{len(host.sent)}"
        )
    )
    async with Memorist(
        model="structural", home=tmp_path, settings=SETTINGS, clock=clock
    ) as engine:
        session = await engine.open("s", listener=host.events.append)
        await host.turn(session, "Read.")
        for number in range(1, 9):
            result = {
                "type": "tool_result",
                "tool_use_id": f"toolu_{number}",
                "content": f"content {number} {PAGE}",
            }
            host.messages.append({"role": "user", "content": [result]})
            request = await session.prepare(
                {"model": MODEL, "max_tokens": 1_000, "messages": host.messages}
            )
            host.sent.append(request)
            reply = await host.model.send(Request(format="anthropic", body=request))
            await session.observe(reply.body)
            host.messages.append({"role": "assistant", "content": reply.body["content"]})
        host.messages.append(
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_9", "content": "content 9"}
                ],
            }
        )
        clock.advance(61 * 60)
        after = msgspec.json.encode(
            await session.prepare({"model": MODEL, "max_tokens": 1_000, "messages": host.messages})
        ).decode()

    assert [number for number in range(1, 10) if f"content {number}" in after] == [5, 6, 7, 8, 9]


@pytest.mark.covers("CP-17", "SM-14")
async def test_a_new_process_shows_what_the_last_one_had_shown(tmp_path: Path) -> None:
    """The host sends its whole history again; the compaction holds, byte for byte."""
    host = Host()
    async with Memorist(model="structural", home=tmp_path, settings=SETTINGS) as engine:
        session = await engine.open("s", listener=host.events.append)
        for number in range(30):
            await host.turn(session, f"Request {number}. {PAGE * 40}")
            await session.session_memory.wait_or_cancel(5)
    before = len(host.compactions())
    async with Memorist(model="structural", home=tmp_path, settings=SETTINGS) as engine:
        session = await engine.open("s", listener=host.events.append)
        counted = session.tracker.tokens
        await host.turn(session, "And on.")
    last, former = host.sent[-1], host.sent[-2]

    assert before >= 1
    assert (
        counted >= size(former) // 2
    )  # what the compaction had kept is counted again, not only what it had put in
    assert len(host.compactions()) == before
    assert unmarked(last["messages"][: len(former["messages"])]) == unmarked(former["messages"])


@pytest.mark.covers("CP-17", "SM-14")
@pytest.mark.parametrize("asked", [False, True], ids=["due", "asked"])
async def test_a_session_that_is_opened_for_each_turn_keeps_what_another_process_compacted(
    tmp_path: Path, asked: bool
) -> None:
    """As with `memorist proxy`: a digest is built in another process, which returns copies, and
    the session is closed and opened again. What the model was shown only grows until the next
    compaction.
    """
    host = Host()
    for number in range(14):
        async with Memorist(model="structural", home=tmp_path, settings=SETTINGS) as engine:
            engine.run_heavy = run_with_copies
            session = await engine.open("s", listener=host.events.append)
            await host.turn(session, f"Request {number}. {PAGE * 90}")
            if asked and number == 4:
                await session.compact()
    done = len(host.compactions())
    lengths = [len(body["messages"]) for body in host.sent]
    steps = [after - before for before, after in pairwise(lengths)]

    assert done >= 1
    assert sum(step != 2 for step in steps) == done, lengths
    assert sum(step < 0 for step in steps) == done, lengths


@pytest.mark.covers("CP-17")
@pytest.mark.parametrize("lost", ["edited", "deleted", "torn"])
async def test_a_view_that_cannot_be_restored_is_compacted_again_before_it_is_sent(
    tmp_path: Path, lost: str
) -> None:
    """The user edits a message that the saved view holds, or its file is lost, while no process
    has the session: the whole history is shown, so all of it is counted.
    """
    host = Host()
    while not host.compactions():
        async with Memorist(model="structural", home=tmp_path, settings=SETTINGS) as engine:
            session = await engine.open("s", listener=host.events.append)
            await host.turn(session, f"Request {len(host.sent)}. {PAGE * 120}")
    if lost == "edited":
        host.messages[-2] = {"role": "user", "content": f"Edited. {PAGE * 120}"}
    elif lost == "deleted":
        session.layout.shown_messages.unlink()
    else:
        session.layout.shown_messages.write_bytes(session.layout.shown_messages.read_bytes()[:-9])
    before = len(host.compactions())
    async with Memorist(model="structural", home=tmp_path, settings=SETTINGS) as engine:
        session = await engine.open("s", listener=host.events.append)
        await host.turn(session, f"And on. {PAGE * 120}")

    assert len(host.compactions()) == before + 1
    assert size(host.sent[-1]) < size({"messages": host.messages}) // 2


@pytest.mark.covers("CP-17")
async def test_a_last_message_that_was_shortened_is_not_shown_whole_after_a_restart(
    tmp_path: Path,
) -> None:
    """What stands after the newest message of the host that was known is new, and only that."""
    host = Host()
    for text in ("Hello.", "Read this. " + PAGE * 1_200, "And on."):
        async with Memorist(model="structural", home=tmp_path, settings=SETTINGS) as engine:
            session = await engine.open("s", listener=host.events.append)
            await host.turn(session, text)
    former, last = (body["messages"] for body in host.sent[-2:])

    assert size(host.sent[-2]) < WINDOW
    assert unmarked(last[: len(former)]) == unmarked(former)
    assert len(last) == len(former) + 2


@pytest.mark.covers("CP-14")
async def test_where_the_fixed_prefix_fills_the_window_it_says_so_and_does_not_loop(
    tmp_path: Path,
) -> None:
    """A huge system prompt cannot be compacted; nothing is tried again and again."""
    host = Host()
    system = PAGE * 600
    async with Memorist(model="structural", home=tmp_path, settings=SETTINGS) as engine:
        session = await engine.open("s", listener=host.events.append)
        for number in range(3):
            host.messages.append({"role": "user", "content": f"Request {number}."})
            await session.prepare(
                {"model": MODEL, "max_tokens": 1_000, "system": system, "messages": host.messages}
            )
            usage = {"input_tokens": 26_000 + number, "output_tokens": 5}
            content = [{"type": "text", "text": "Yes."}]
            reply = {
                "id": f"m{number}",
                "type": "message",
                "role": "assistant",
                "model": MODEL,
                "content": content,
                "usage": usage,
            }
            await session.observe(reply)
            host.messages.append({"role": "assistant", "content": content})

    assert not host.compactions()
    assert any(
        "cannot make them smaller" in event.why
        for event in host.events
        if isinstance(event, CompactionFailed)
    )


@pytest.mark.covers("CP-19")
async def test_a_broken_cache_is_told_with_its_cause(tmp_path: Path) -> None:
    """A host that changes its tools in the middle loses the whole prefix; the event names the tool."""
    host = Host()
    tools = [{"name": "Read", "description": "Read a file.", "input_schema": {"type": "object"}}]
    async with Memorist(model="structural", home=tmp_path, settings=SETTINGS) as engine:
        session = await engine.open("s", listener=host.events.append)
        for number, read in enumerate((0, 9_000, 9_500, 300)):
            if number == 3:
                tools = [
                    *tools,
                    {
                        "name": "Write",
                        "description": "Write a file.",
                        "input_schema": {"type": "object"},
                    },
                ]
            host.messages.append({"role": "user", "content": f"Request {number}."})
            await session.prepare(
                {"model": MODEL, "max_tokens": 1_000, "tools": tools, "messages": host.messages}
            )
            usage = {"input_tokens": 10, "cache_read_input_tokens": read, "output_tokens": 5}
            content = [{"type": "text", "text": f"Answer {number}."}]
            await session.observe(
                {
                    "id": f"m{number}",
                    "type": "message",
                    "role": "assistant",
                    "model": MODEL,
                    "content": content,
                    "usage": usage,
                }
            )
            host.messages.append({"role": "assistant", "content": content})

    broke = [event for event in host.events if isinstance(event, CacheBroke)]
    assert [(event.cause, "Write" in event.what, event.tokens) for event in broke] == [
        ("tools", True, 9_200)
    ]


@pytest.mark.covers("CP-6", "CP-13")
async def test_the_providers_own_compaction_is_asked_for_and_believed(tmp_path: Path) -> None:
    """With `provider = true` the request carries the provider's edits and their betas, and memorist
    leaves the history to it.
    """
    host = Host()
    chosen = Settings(models=SETTINGS.models, compaction=CompactionSettings(provider=True))
    async with Memorist(model="structural", home=tmp_path, settings=chosen) as engine:
        session = await engine.open("s", listener=host.events.append)
        host.messages.append({"role": "user", "content": "Go on."})
        request = await session.prepare(
            {"model": MODEL, "max_tokens": 1_000, "messages": host.messages}
        )
        content = [
            {"type": "compaction", "content": "What was said before."},
            {"type": "text", "text": "Yes."},
        ]
        usage = {"input_tokens": 25_500, "output_tokens": 5}
        await session.observe(
            {
                "id": "m",
                "type": "message",
                "role": "assistant",
                "model": MODEL,
                "content": content,
                "usage": usage,
            }
        )
        host.messages += [
            {"role": "assistant", "content": content},
            {"role": "user", "content": "And now?"},
        ]
        later = await session.prepare(
            {"model": MODEL, "max_tokens": 1_000, "messages": host.messages}
        )

    assert [edit["type"] for edit in request["context_management"]["edits"]] == ["compact_20260112"]
    assert session.betas == ("compact-2026-01-12",)
    assert unmarked(later["messages"]) == unmarked(host.messages)
    assert [(event.strategy, event.trigger) for event in host.compactions()] == [
        ("provider", "provider")
    ]


@pytest.mark.covers("CP-4")
async def test_a_conversation_under_way_keeps_the_results_that_were_shown(tmp_path: Path) -> None:
    """Memorist joins in the middle: an old huge result stays, the new one goes to disk."""
    huge = "line of a log\n" * 6_000
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Read both logs."}]
    for name in ("old", "new"):
        messages.append(
            {
                "role": "assistant",
                "content": [
                    {
                        "type": "tool_use",
                        "id": f"toolu_{name}",
                        "name": "Bash",
                        "input": {"command": name},
                    }
                ],
            }
        )
        messages.append(
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": f"toolu_{name}",
                        "content": f"{name} {huge}",
                    }
                ],
            }
        )
    async with Memorist(model="structural", home=tmp_path) as engine:
        session = await engine.open("s")
        request = await session.prepare(
            {"model": "claude-opus-4-6", "max_tokens": 1_000, "messages": messages}
        )

    contents = [
        block.get("content", "")
        for message in request["messages"][1:]
        for block in message["content"]
    ]
    assert [len(str(content)) > 60_000 for content in contents if content] == [True, False]


@pytest.mark.covers("CP-12")
def test_the_rollout_family_compacts_at_nine_tenths_of_the_window() -> None:
    """Its limits count from the whole window (Codex): 272,000 gives 244,800, with
    258,400 usable.
    """
    models = ModelSettings(prices={"m": ModelPrice(window=272_000)})
    limits = compute_request_thresholds(
        {"model": "m"}, Settings(models=models, compaction=CompactionSettings(family="rollout"))
    )

    assert (limits.auto, limits.blocking) == (244_800, 258_400)


async def test_an_empty_conversation_cannot_be_compacted(tmp_path: Path) -> None:
    """One clear sentence."""
    async with Memorist(model="structural", home=tmp_path, settings=SETTINGS) as engine:
        session = await engine.open("s")
        with pytest.raises(NothingToDo, match="empty"):
            await session.compact()


@pytest.mark.parametrize("part", ["system", "tools"])
async def test_instructions_and_tools_count_where_no_usage_is_reported(
    tmp_path: Path, part: str
) -> None:
    """Streams without usage, and servers that count nothing: what is sent beside the history fills
    the window all the same, so the history is compacted earlier, and not at each request.
    """

    async def count_sent(beside: dict[str, object], home: Path) -> list[int]:
        sent: list[int] = []
        messages: list[dict[str, object]] = []
        async with Memorist(model="structural", home=home) as engine:
            session = await engine.open("s1", host=HostInfo(window=40_000))
            for number in range(14):
                messages.append({"role": "user", "content": f"{number} " + "word " * 1_500})
                request = {"model": "m", "max_tokens": 4_000, "messages": messages, **beside}
                sent.append(len((await session.prepare(request))["messages"]))
                messages.append({"role": "assistant", "content": "text " * 1_500})
                await session.observe(
                    {"role": "assistant", "content": [{"type": "text", "text": "text " * 1_500}]}
                )
                await session.end_turn()
        return sent

    text = "rule text here " * 2_600
    beside: object = text if part == "system" else [{"name": "t", "description": text}]
    alone = await count_sent({}, tmp_path / "alone")
    full = await count_sent({part: beside}, tmp_path / "full")

    def first_compaction(sent: list[int]) -> int:
        return next(at for at in range(1, len(sent)) if sent[at] < sent[at - 1])

    assert first_compaction(full) < first_compaction(alone)
    assert sum(after > before for before, after in pairwise(full)) > len(full) / 2


async def test_a_summary_that_was_paid_for_stands_where_its_receipt_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database that refuses for a while costs neither the summary nor, in the end, the account
    of it.
    """
    counted, refused = list[str](), list[str]()
    taken = receipt_rows.record_receipt

    def record(database: Any, session: str, receipt: Receipt, *, reservation: int | None) -> int:
        if not refused:
            refused.append(receipt.outcome)
            raise StoreError("the disk is full")
        counted.append(receipt.outcome)
        return taken(database, session, receipt, reservation=reservation)

    monkeypatch.setattr(budget_governor, "record_receipt", record)
    said = "<summary>\n" + "The user wants the importer to keep its last row. " * 40 + "</summary>"
    model = ScriptedModel([Say(text=said), Say(text=said)])
    pages = [f"Page {number}. " + "The importer drops the last row. " * 300 for number in range(9)]
    history = [
        {"role": role, "content": page}
        for page, role in zip(pages, ["user", "assistant"] * 5, strict=False)
    ]
    async with Memorist(home=tmp_path, model=model) as engine:
        session = await engine.open("s")
        await session.prepare({"model": "m", "max_tokens": 900, "messages": history})
        done = await session.compact(strategy="full")
        assert done.result is not None
        assert done.result.strategy == "full"
        assert not counted

    assert counted == refused == ["changed"]


async def test_what_the_provider_cleared_is_told_once(tmp_path: Path) -> None:
    """Each reply says again what was cleared in all: only more than before is news."""
    events: list[Event] = []
    compaction = CompactionSettings(micro_cached=True, micro_cached_results=1, micro_keep=1)
    settings = Settings(home=str(tmp_path), model="structural", compaction=compaction)
    async with Memorist(settings=settings) as engine:
        session = await engine.open("s", listener=events.append)
        messages: list[dict[str, Any]] = [{"role": "user", "content": "Look around."}]
        for number, cleared in enumerate((0, 0, 0, 500, 500, 500, 900)):
            await session.prepare({"model": "m", "max_tokens": 9, "messages": messages})
            call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {}}
            edit = {"type": "clear_tool_uses_20250919", "cleared_input_tokens": cleared}
            await session.observe(
                {
                    "role": "assistant",
                    "content": [call],
                    "context_management": {"applied_edits": [edit] if cleared else []},
                }
            )
            result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "x" * 400}
            messages += [
                {"role": "assistant", "content": [call]},
                {"role": "user", "content": [result]},
            ]

    told = [each for each in events if isinstance(each, ConversationCompacted)]
    assert [each.tokens_before - each.tokens_after for each in told] == [500, 400]


async def test_a_history_that_grows_back_is_counted_again(tmp_path: Path) -> None:
    """A host that leaves out what it had sent, and sends it again later: what fills the window is
    compacted, though all of it was recorded before.
    """
    compaction = CompactionSettings(window=20_000)
    settings = Settings(home=str(tmp_path), model="structural", compaction=compaction)
    pages = [f"Page {number}. " + "The importer drops its row. " * 500 for number in range(9)]
    sent: list[int] = []
    async with Memorist(settings=settings) as engine:
        session = await engine.open("s")
        for texts in (pages, ["Begin.", *pages[1:3]], ["Begin.", *pages[1:]]):
            roles = cycle(["user", "assistant"])
            messages = [
                {"role": role, "content": text} for role, text in zip(roles, texts, strict=False)
            ]
            request = {"model": "m", "max_tokens": 9, "messages": messages}
            sent.append(len((await session.prepare(request))["messages"]))
        tokens = session.tracker.tokens

    assert sent[1] == 3
    assert sent[2] < 9
    assert tokens < 20_000
