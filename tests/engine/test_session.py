"""A session as a host lives it: notes in the background, by structure or by a fork, whatever the
model does.
"""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memorist.context.request_prefix_growth import PrefixChecker
from memorist.core.messages import Usage
from memorist.core.prompt_templates import load_prompt
from memorist.engine.engine import Memorist
from memorist.engine.session import Session
from memorist.errors import NothingToDo, SettingsError, StoreError, UsageError, WireFormatError
from memorist.events import Event, NotesFailed, NotesUpdated
from memorist.forks.fork_request import FORK_MARK
from memorist.ports import HostInfo, Reply, Request
from memorist.session_memory import session_notes
from memorist.session_memory.notes_review import ReviewedNotes, review_notes_and_add_derived
from memorist.session_memory.notes_template import STRUCTURAL_MARK, parse_section_bodies
from memorist.session_memory.session_notes import NotesCursor
from memorist.settings import Settings
from memorist.testing.frozen_clock import FrozenClock
from memorist.testing.models import ScriptedModel
from memorist.testing.steps import CallTool, Hang, ReplyParts, Say, Step
from memorist.transcript_analysis.transcript_ledger import MAX_UNREAD_MESSAGES, TranscriptLedger

TEMPLATE = load_prompt("session_memory/template")
PAGE = (
    "The importer drops the last row because range() stops one short; src/importer.py line 40 "
    "holds the loop. " * 40
)
HINT = TEMPLATE.splitlines()[4]


def is_fork(request: Request) -> bool:
    return FORK_MARK in msgspec.json.encode(request.body).decode()


def edits(path: Path, words: str = "The importer is fixed.") -> Step:
    return Say(
        text=f'<edit path="{path}">\n<old>\n{HINT}\n</old>\n<new>\n{HINT}\n{words}\n</new>\n</edit>'
    )


class Play:
    """A host with a scripted model that is also the model of the notes; `fork` is what it answers
    to a fork.
    """

    def __init__(self, folder: Path, fork: Callable[[Path], Step] = edits) -> None:
        self.folder = folder / "session"
        self.notes = self.folder / "session-memory" / "summary.md"
        self.events: list[Event] = []
        self.model = ScriptedModel(
            lambda request: fork(self.notes) if is_fork(request) else self.next_answer,
            name="scripted:m",
        )
        self.next_answer: Step = Say(text="Done.")
        self.messages: list[dict[str, Any]] = []
        self.prefix = PrefixChecker()

    async def open(self, engine: Memorist, **more: Any) -> Session:
        return await engine.open("s", folder=self.folder, listener=self.events.append, **more)

    async def turn(
        self, session: Session, text: str, tokens: int | None = None, answer: Step | None = None
    ) -> Reply:
        """One call of the host's model, with a usage of so many tokens."""
        usage = None if tokens is None else Usage(input=tokens - 10, output=10)
        self.next_answer = answer or Say(text=f"Answer to {text[:20]}", usage=usage)
        self.messages.append({"role": "user", "content": text})
        request = await session.prepare(
            {"model": "m", "max_tokens": 1000, "system": "You help.", "messages": self.messages}
        )
        assert self.prefix(request) is None, str(self.prefix)
        reply = await self.model.send(Request(format="anthropic", body=request))
        await session.observe(reply.body)
        self.messages.append({"role": "assistant", "content": reply.body["content"]})
        return reply

    def updates(self) -> list[NotesUpdated]:
        return [event for event in self.events if isinstance(event, NotesUpdated)]


@pytest.mark.covers("SM-2", "SM-8", "SM-13")
async def test_notes_are_kept_without_a_model_once_the_context_is_large_enough(
    tmp_path: Path,
) -> None:
    """Nothing below 10,000 tokens; then notes that hold the user's words, marked as structural."""
    play = Play(tmp_path)
    async with Memorist(model="structural", home=tmp_path) as engine:
        session = await play.open(engine)
        await play.turn(session, "Fix the importer, please. Never touch the schema.", 9_000)
        await session.session_memory.wait_or_cancel(5)
        early = session.notes
        await play.turn(session, "And tell me why it happened.", 12_000)
        await session.session_memory.wait_or_cancel(5)

        notes = session.notes or ""
        assert early is None
        assert [(update.tokens, update.way) for update in play.updates()] == [
            (12_000, "structural")
        ]
        assert "Never touch the schema." in notes
        assert STRUCTURAL_MARK in notes


@pytest.mark.covers("SM-8", "FK-1", "FK-8")
async def test_a_model_updates_the_notes_in_the_background_from_the_parents_prefix(
    tmp_path: Path,
) -> None:
    """The fork repeats the parent's request, the host does not wait, and the receipt tells what it
    cost.
    """
    play = Play(tmp_path)
    async with Memorist(model=play.model, home=tmp_path) as engine:
        session = await play.open(engine)
        await play.turn(session, PAGE, 12_000)
        assert not any(is_fork(request) for request in play.model.requests)
        await session.session_memory.wait_or_cancel(5)
        parent, fork = play.model.requests

        assert session.notes is not None
        assert "The importer is fixed." in session.notes
        assert fork.body["messages"][: len(parent.body["messages"])] == parent.body["messages"]
        own = ("messages", "max_tokens")
        assert {key: fork.body[key] for key in parent.body if key not in own} == {
            key: parent.body[key] for key in parent.body if key not in own
        }
        assert [receipt.outcome.value for receipt in session.receipts()] == ["changed"]


@pytest.mark.covers("SM-5", "SM-13", "FK-8")
@pytest.mark.parametrize(
    "answer",
    [
        lambda notes: Say(text="Done, I updated the notes."),
        lambda notes: Say(text='<write path="/etc/passwd">x</write>'),
        lambda notes: Say(text='<edit path="../../other.md"><old>a</old><new>b</new></edit>'),
        lambda notes: CallTool(name="Bash", input={"command": "rm -rf /"}),
        lambda notes: Say(text="{ not json"),
    ],
    ids=["claims", "writes elsewhere", "leaves its folder", "calls a shell", "talks nonsense"],
)
async def test_whatever_a_model_does_instead_the_notes_are_made_from_structure(
    tmp_path: Path, answer: Callable[[Path], Step]
) -> None:
    """A model that only says it is done, or does something else, costs no notes; the failure is
    told.
    """
    play = Play(tmp_path, fork=answer)
    async with Memorist(model=play.model, home=tmp_path) as engine:
        session = await play.open(engine)
        await play.turn(session, "Fix the importer, please.", 12_000)
        await session.session_memory.wait_or_cancel(5)

        assert session.notes is not None
        assert "Fix the importer, please." in session.notes
        assert [
            type(event) for event in play.events if isinstance(event, NotesFailed | NotesUpdated)
        ] == [NotesFailed, NotesUpdated]
        assert session.receipts()[0].outcome.value != "changed"


NOTE_LIES = {
    "the prompt's own words": "Only what this conversation shows. Dense and exact: paths, names.",
    "an invented path": "- The loop is in strategy/phase_wiring.go.",
    "an invented identifier": "- `wire_phase_two` drops the row.",
    "a megabyte": "It goes round. " * 60_000,
    "another language": "Die Schleife endet zu früh.",
}
MAY_STAND = {"another language"}
"""What no program can tell from the truth stands beside what is proved."""


@pytest.mark.covers("SM-5", "SM-13", "SF-5")
@pytest.mark.parametrize("lie", NOTE_LIES)
async def test_what_structure_proves_stands_beside_whatever_a_model_notes(
    tmp_path: Path, lie: str
) -> None:
    """The user's words stand in the notes after every edit; a line of the prompt or with an
    invented name does not, while the sound line beside it does; the receipt says what was dropped.
    """
    sound = "The importer stops one short."
    play = Play(tmp_path, fork=lambda notes: edits(notes, f"{sound}\n{NOTE_LIES[lie]}"))
    async with Memorist(model=play.model, home=tmp_path) as engine:
        session = await play.open(engine)
        await play.turn(session, f"Never touch the schema. {PAGE}", 12_000)
        await session.session_memory.wait_or_cancel(5)

        notes = session.notes or ""
        assert "Never touch the schema." in notes
        assert sound in notes
        assert (NOTE_LIES[lie].strip() in notes) == (lie in MAY_STAND)
        (receipt,) = session.receipts()
        assert receipt.outcome.value == "changed"
        assert ("1 lines of the model were dropped" in receipt.said) == (lie not in MAY_STAND)
        assert "lines that structure proves stand beside it" in receipt.said


@pytest.mark.covers("SM-5")
async def test_a_model_that_deletes_the_frame_is_rolled_back(tmp_path: Path) -> None:
    """The headers and italic lines are there afterwards, and the structural notes below them."""
    play = Play(tmp_path, fork=lambda notes: Say(text=_delete_all(notes)))
    async with Memorist(model=play.model, home=tmp_path) as engine:
        session = await play.open(engine)
        await play.turn(session, "Fix the importer, please.", 12_000)
        await session.session_memory.wait_or_cancel(5)

    assert list(parse_section_bodies(play.notes.read_text("utf-8"), TEMPLATE)) == list(
        parse_section_bodies(TEMPLATE, TEMPLATE)
    )


@pytest.mark.covers("SM-5", "SM-13")
async def test_what_the_user_writes_into_the_notes_meanwhile_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An edit that was made while a model's edit is reviewed is kept, beside what structure proves;
    the model's is not, and the events and its receipt say so.
    """
    play = Play(tmp_path)

    def edit_and_review(*given: Any) -> ReviewedNotes:
        found = review_notes_and_add_derived(*given)
        play.notes.write_text(play.notes.read_text("utf-8").replace(HINT, f"{HINT}\nI typed this."))
        return found

    monkeypatch.setattr(session_notes, "review_notes_and_add_derived", edit_and_review)
    async with Memorist(model=play.model, home=tmp_path) as engine:
        session = await play.open(engine)
        await play.turn(session, "Fix the importer, please.", 12_000)
        await session.session_memory.wait_or_cancel(5)

        notes = session.notes or ""
        assert "I typed this." in notes
        assert "Fix the importer, please." in notes
        assert "The importer is fixed." not in notes
        assert [
            type(event) for event in play.events if isinstance(event, NotesFailed | NotesUpdated)
        ] == [NotesFailed, NotesUpdated]
        assert [receipt.outcome.value for receipt in session.receipts()] == ["unchanged"]


def _delete_all(notes: Path) -> str:
    pairs = "".join(
        f"<old>\n{line}\n</old>\n<new>\n</new>\n"
        for line in notes.read_text("utf-8").splitlines()
        if line.startswith("# ")
    )
    return f'<edit path="{notes}">\n{pairs}</edit>'


@pytest.mark.covers("SM-10", "SM-14")
async def test_the_cursor_stops_before_open_tool_calls(tmp_path: Path) -> None:
    """A reply with calls is not summarised past: its results are not there yet."""
    play = Play(tmp_path)
    async with Memorist(model="structural", home=tmp_path) as engine:
        session = await play.open(engine)
        await play.turn(session, "Fix it.", 3_000)
        safe = session.tracker.last_complete_message
        calls = ReplyParts(
            parts=tuple(
                CallTool(name="Read", input={"file_path": f"f{number}"}) for number in range(3)
            ),
            usage=Usage(input=14_000, output=50),
        )
        await play.turn(session, "And the tests.", answer=calls)
        await session.session_memory.wait_or_cancel(5)
        cursor = msgspec.json.decode(
            (play.folder / "session-memory/cursor.json").read_bytes(), type=NotesCursor
        )

        assert session.tracker.open_calls
        assert cursor.message != session.tracker.newest_messages[-1].id
        assert cursor.message in {safe, session.tracker.newest_messages[-2].id}


@pytest.mark.covers("SM-9")
async def test_a_compaction_waits_for_an_update_but_not_for_long(tmp_path: Path) -> None:
    """At most 15 seconds; not at all for a run that began over a minute ago."""
    clock = FrozenClock()
    play = Play(tmp_path, fork=lambda notes: Hang())
    async with Memorist(model=play.model, home=tmp_path, clock=clock) as engine:
        session = await play.open(engine)
        await play.turn(session, PAGE, 12_000)
        began = clock.monotonic()
        await asyncio.wait_for(session.session_memory.wait_for_running_update(), 5)
        waited = clock.monotonic() - began
        clock.advance(61)
        again = clock.monotonic()
        await asyncio.wait_for(session.session_memory.wait_for_running_update(), 5)

        assert 14 <= waited <= 16
        assert clock.monotonic() == again


@pytest.mark.covers("SM-11")
async def test_a_manual_update_ignores_the_thresholds_and_refuses_an_empty_conversation(
    tmp_path: Path,
) -> None:
    """`update_notes` is the user's own word."""
    play = Play(tmp_path)
    async with Memorist(model="structural", home=tmp_path) as engine:
        session = await play.open(engine)
        with pytest.raises(NothingToDo):
            await session.update_notes()
        await play.turn(session, "A very short session.", 500)

        assert "A very short session." in await session.update_notes()


@pytest.mark.covers("SM-13")
async def test_an_update_keeps_what_somebody_wrote_at_the_end_of_a_section(tmp_path: Path) -> None:
    """Also in another process, and of a line that was derived and put right."""
    play = Play(tmp_path)
    for again in range(2):
        async with Memorist(model="structural", home=tmp_path) as engine:
            session = await play.open(engine)
            await play.turn(session, f"Round it, {again}.", 500)
            notes = await session.update_notes()
            if not again:
                path = session.layout.notes
                notes = notes.replace("Last request:", "Last request, a hasty one:")
                path.write_text(f"{notes}- ask Ann first\n")

    assert notes.count("- ask Ann first") == notes.count("a hasty one: “Round it, 0.”") == 1
    assert notes.count("Last request: “Round it, 1.”") == 1
    assert notes.count("Last request: “Round it, 0.”") == 0


@pytest.mark.covers("SM-1")
@pytest.mark.parametrize("host", [HostInfo(remote=True), HostInfo(auto_compact=False)])
async def test_a_remote_host_or_one_without_compaction_gets_no_notes(
    tmp_path: Path, host: HostInfo
) -> None:
    """The gate is known when the session opens."""
    play = Play(tmp_path)
    async with Memorist(model="structural", home=tmp_path) as engine:
        session = await play.open(engine, host=host)
        await play.turn(session, PAGE, 50_000)
        await session.session_memory.wait_or_cancel(5)

        assert session.notes is None


@pytest.mark.covers("SM-12")
async def test_the_notes_are_private(tmp_path: Path) -> None:
    """File 0600, folder 0700."""
    play = Play(tmp_path)
    async with Memorist(model="structural", home=tmp_path) as engine:
        session = await play.open(engine)
        await play.turn(session, PAGE, 12_000)
        await session.session_memory.wait_or_cancel(5)

    assert stat.S_IMODE(play.notes.stat().st_mode) == 0o600
    assert stat.S_IMODE(play.notes.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE((play.folder / "transcript.jsonl").stat().st_mode) == 0o600


@pytest.mark.covers("EN-1", "CP-18")
async def test_a_request_that_was_given_stays_as_it_was(tmp_path: Path) -> None:
    """Also in a long conversation, whose list of entries is copied ahead of the request: a host may
    keep what it has sent, or go on at once.
    """
    messages: list[dict[str, Any]] = []
    given: list[tuple[dict[str, Any], bytes]] = []
    async with Memorist(model="structural", home=tmp_path) as engine:
        session = await engine.open("s")
        for number in range(200):
            messages.append({"role": "user", "content": f"Question {number}: {PAGE[:500]}"})
            request = await session.prepare(
                {"model": "claude-opus-4-6", "max_tokens": 10, "messages": messages}
            )
            given.append((request, msgspec.json.encode(request)))
            if number % 3:
                await asyncio.sleep(0)
            reply = {
                "id": f"r{number}",
                "type": "message",
                "role": "assistant",
                "content": [{"type": "text", "text": f"Answer {number}"}],
            }
            await session.observe(
                {**reply, "model": "m", "usage": {"input_tokens": 10, "output_tokens": 1}}
            )
            messages.append({"role": "assistant", "content": reply["content"]})

    assert all(msgspec.json.encode(request) == sent for request, sent in given)
    for number, (request, _) in enumerate(given):
        plain = [{"role": each["role"], "content": _said(each)} for each in request["messages"]]
        assert plain == [
            {"role": each["role"], "content": _said(each)} for each in messages[: 2 * number + 1]
        ]
    assert given[-1][0]["messages"][-1]["content"][-1]["cache_control"] == {"type": "ephemeral"}
    assert (
        sum(b"cache_control" in msgspec.json.encode(each) for each in given[-1][0]["messages"]) == 1
    )


def _said(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


@pytest.mark.covers("SF-1")
@pytest.mark.parametrize("model", ["structural", "scripted"])
async def test_no_secret_stands_in_the_notes(tmp_path: Path, model: str) -> None:
    """What the user typed or a model copied is kept with a mark in the place of the key."""
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    play = Play(tmp_path, lambda path: edits(path, f"The token is {key}."))
    async with Memorist(
        model=play.model if model == "scripted" else model, home=tmp_path
    ) as engine:
        session = await play.open(engine)
        await play.turn(session, f"Use the token {key} for the release bot.", 12_000)
        await session.session_memory.wait_or_cancel(5)

    notes = play.notes.read_text()
    assert key not in notes
    assert "[redacted" in notes


@pytest.mark.covers("SM-14", "FM-5")
async def test_a_new_process_goes_on_from_the_file_and_the_cursor(tmp_path: Path) -> None:
    """The transcript is followed again, nothing is taken twice, and growth counts from the last
    update.
    """
    play = Play(tmp_path)
    async with Memorist(model="structural", home=tmp_path) as engine:
        session = await play.open(engine)
        await play.turn(session, "First request.", 12_000)
    async with Memorist(model="structural", home=tmp_path) as engine:
        session = await play.open(engine)
        before = session.tracker.messages
        await play.turn(session, "Second request.", 14_000)
        await session.session_memory.wait_or_cancel(5)
        small = len(play.updates())
        await play.turn(session, "Third request.", 18_000)
        await session.session_memory.wait_or_cancel(5)

        assert before == 2
        assert session.tracker.messages == 6
        assert (small, len(play.updates())) == (1, 2)
        assert session.notes is not None
        assert "First request." in session.notes


@pytest.mark.covers("SM-12", "SF-4")
async def test_notes_that_somebody_emptied_are_written_anew(tmp_path: Path) -> None:
    """A file of no bytes, as a full disk or `> summary.md` leaves it, counts as one without notes."""
    play = Play(tmp_path)
    async with Memorist(model="structural", home=tmp_path) as engine:
        session = await play.open(engine)
        await play.turn(session, "First request.", 12_000)
        await session.session_memory.wait_or_cancel(5)
        play.notes.write_bytes(b"")
        await play.turn(session, "Second request.", 18_000)
        await session.session_memory.wait_or_cancel(5)

    assert "Second request." in play.notes.read_text("utf-8")


@pytest.mark.covers("FM-5", "SF-4")
async def test_a_session_has_one_writer(tmp_path: Path) -> None:
    """A second process that opens the same session is told so, and nothing is written twice."""
    play = Play(tmp_path)
    async with (
        Memorist(model="structural", home=tmp_path) as first,
        Memorist(model="structural", home=tmp_path) as second,
    ):
        await play.open(first)
        with pytest.raises(StoreError):
            await play.open(second)


@pytest.mark.covers("FK-7")
async def test_another_model_than_the_hosts_gets_a_digest(tmp_path: Path) -> None:
    """The notes' model speaks another format, so the history would be sent at full price; it is not
    sent.
    """
    play = Play(tmp_path)
    other = ScriptedModel(
        lambda request: edits(play.notes), format="openai_chat", name="openai-chat:small"
    )
    async with Memorist(model=other, home=tmp_path) as engine:
        session = await play.open(engine)
        for number in range(6):
            await play.turn(session, f"Request {number}. {PAGE * 3}", 12_000 + 1_000 * number)
        await session.session_memory.wait_or_cancel(5)
        sent = msgspec.json.encode(other.requests[0].body)

        assert session.notes is not None
        assert "The importer is fixed." in session.notes
        assert len(sent) < 60_000 < len(msgspec.json.encode(play.messages))


@pytest.mark.parametrize("request_body", [{}, {"messages": 3}, {"messages": None}])
async def test_a_request_of_another_shape_is_a_clear_error(
    tmp_path: Path, request_body: dict[str, Any]
) -> None:
    """The host is told what was expected."""
    async with Memorist(model="structural", home=tmp_path) as engine:
        session = await engine.open("s")
        with pytest.raises(WireFormatError, match="messages"):
            await session.prepare(request_body)


async def test_a_session_needs_an_id(tmp_path: Path) -> None:
    """An empty id would mix sessions."""
    async with Memorist(model="structural", home=tmp_path) as engine:
        with pytest.raises(UsageError):
            await engine.open("")


@pytest.mark.covers("SM-6")
async def test_the_users_own_template_and_prompt_are_used(tmp_path: Path) -> None:
    """Files in the configuration folder take the place of ours."""
    own = tmp_path / "session-memory" / "config"
    own.mkdir(parents=True)
    (own / "template.md").write_text("# Mine\n_my words_\n", "utf-8")
    (own / "prompt.md").write_text(
        "Please update {{notesPath}} with {{unknown}}.\n{{currentNotes}}\n", "utf-8"
    )
    play = Play(
        tmp_path,
        fork=lambda notes: Say(
            text=f'<edit path="{notes}"><old>_my words_</old><new>_my words_\nimporter mended</new></edit>'
        ),
    )
    async with Memorist(model=play.model, home=tmp_path) as engine:
        session = await play.open(engine)
        await play.turn(session, PAGE, 12_000)
        await session.session_memory.wait_or_cancel(5)
        sent = msgspec.json.encode(play.model.requests[1].body).decode()

        assert session.notes == "# Mine\n_my words_\nimporter mended\n"
        assert "Please update" in sent
        assert "{{unknown}}" in sent


@pytest.mark.covers("SM-6")
@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("No heading.\n", "has no section"),
        ("# Next\n_one_\n\n# Other\n\n#  next\n_two_\n", "two sections named 'next'"),
    ],
)
async def test_a_template_whose_sections_cannot_be_told_apart_is_an_error(
    tmp_path: Path, template: str, message: str
) -> None:
    """What stands in the first of two sections of one title would stand in both, and twice as much
    with each update.
    """
    own = tmp_path / "session-memory" / "config"
    own.mkdir(parents=True)
    (own / "template.md").write_text(template, "utf-8")
    async with Memorist(model="structural", home=tmp_path) as engine:
        with pytest.raises(SettingsError, match=message):
            await engine.open("s")


@pytest.mark.covers("SF-5")
async def test_half_an_emoji_costs_no_conversation(tmp_path: Path) -> None:
    """Lone surrogates in texts, calls and results are taken in as question marks; nothing raises."""
    async with Memorist(model="structural", home=tmp_path) as engine:
        session = await engine.open("s")
        use = {"type": "tool_use", "id": "t", "name": "Read", "input": {"path": "\udfff"}}
        messages = [
            {"role": "user", "content": "Half \ud83d an emoji."},
            {"role": "assistant", "content": [use]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x\ud83d"}],
            },
        ]
        await session.prepare({"model": "m", "max_tokens": 10, "messages": messages})

        assert "Half ? an emoji." in await session.update_notes()


@pytest.mark.covers("SM-13")
async def test_what_a_session_proves_is_gathered_while_the_host_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No request looks into the messages of those before it, however many have come; after each,
    nothing is left to look into.
    """
    looks: list[str] = []
    monkeypatch.setattr(
        TranscriptLedger, "_process_message", lambda self, message: looks.append(message.id)
    )
    messages: list[dict[str, Any]] = []
    async with Memorist(model="structural", home=tmp_path, settings=Settings()) as engine:
        session = await engine.open("s")
        for number in range(MAX_UNREAD_MESSAGES):
            messages += [
                {"role": "user", "content": f"{number}?"},
                {"role": "assistant", "content": f"{number}."},
            ]
            before = len(looks)
            await session.prepare({"model": "m", "max_tokens": 10, "messages": messages})
            assert len(looks) == before
            for _ in range(20_000):
                if len(looks) == len(messages):
                    break
                await asyncio.sleep(0.001)
            assert len(looks) == len(messages)
