"""A session of an agent behind its hooks: what it is shown, what is kept of it, and what is not
learnt again.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import pytest
from msgspec.structs import replace

from hooks.recordings import FOLDER, ClaudeFile, CodexFile, Recording, a_session
from memorist.auto_memory.memory_file import MemoryKind
from memorist.engine import observed_session
from memorist.engine.engine import Memorist
from memorist.errors import StoreError, UnreadableSession
from memorist.forks.fork_spec import ForkLimits
from memorist.hooks import session_file_tail
from memorist.hooks.hook_event import Client, HookEvent
from memorist.hooks.hook_response import OUTPUT_LIMITS, measure_output_size
from memorist.hooks.hook_session import MAX_OPEN_SESSIONS, HookSession, HookSessionPool
from memorist.hooks.hook_texts import render_restored_notes
from memorist.recall.lexical_score import EntryColumns, build_entry_columns
from memorist.recall.session_recall import SessionMemoryRecall
from memorist.recall.word_index import StoredIndexRow
from memorist.session_memory.structural_notes import TASK_SECTION
from memorist.session_memory.work_notes import ERRORS_SECTION
from memorist.settings import Settings
from memorist.store.rollout_rows import list_rollouts
from memorist.testing import Hang, Say, ScriptedModel, Step
from support.sweeps import sampled

AGENTS: list[tuple[Client, type[Recording]]] = [("claude-code", ClaudeFile), ("codex", CodexFile)]
both = pytest.mark.parametrize(("client", "kind"), AGENTS)
SECONDS = 20.0


class Agent:
    """An agent that calls its hooks and writes its file."""

    def __init__(
        self, engine: Memorist, client: Client, file: Recording, path: Path, session: str = "s1"
    ) -> None:
        self.client = client
        self.file = file
        self._path = path
        self._event = HookEvent(session_id=session, transcript_path=str(path), cwd=FOLDER)
        self.session = HookSession(engine, client, self._event, "")

    def write(self) -> None:
        """Have the lines so far on the disk."""
        self._path.write_bytes(b"".join(self.file.lines))

    async def call(self, event: str, **fields: str) -> str:
        """One event, its answer, and then its work."""
        self.write()
        given = replace(self._event, hook_event_name=event, **fields)
        said = await self.session.render_text_for_event(given, SECONDS)
        await self.session.run_follow_up(given)
        return said

    async def turn(self, prompt: str, reply: str = "Done.") -> str:
        """A whole turn; gives what was shown beside the prompt, which the agent writes down."""
        shown = await self.call("UserPromptSubmit", prompt=prompt)
        self.file.user(prompt)
        if shown:
            self.file.injected("UserPromptSubmit", shown)
        self.file.says(reply)
        await self.call("Stop")
        return shown

    async def start(self, source: str = "startup") -> str:
        """The start; what is shown is written down by the agent."""
        shown = await self.call("SessionStart", source=source)
        if shown:
            self.file.injected("SessionStart", shown)
        return shown


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Memorist]:
    """An engine without a model."""
    async with Memorist(model="structural", home=tmp_path / "home") as opened:
        yield opened


def memories(engine: Memorist) -> dict[str, str]:
    """The memory files of the project, by name."""
    folder = engine.memory(FOLDER).layout.folder
    return {
        path.name: path.read_text("utf-8")
        for path in sorted(folder.glob("*.md"))
        if path.name != "MEMORY.md"
    }


@both
@pytest.mark.covers("IN-2", "AM-5")
async def test_a_second_session_remembers_what_the_first_was_told(
    client: Client, kind: type[Recording], engine: Memorist, tmp_path: Path
) -> None:
    """What the person asked to remember is shown at the start of the next session, once, and what
    bears on a prompt right before it.
    """
    first = Agent(engine, client, kind(), tmp_path / "rollout-1.jsonl")
    assert await first.start() == ""
    await first.turn(
        "Remember that the tests run with pytest -n 2, since the machine has two cores and "
        "each test uses one of them."
    )
    await first.call("SessionEnd")
    await first.session.close()

    second = Agent(engine, client, kind("s2"), tmp_path / "rollout-2.jsonl", "s2")
    opening, again = await second.start(), await second.call("SessionStart", source="resume")

    assert opening.count("pytest -n 2") == 1
    assert again == ""
    assert "<system-reminder>" not in opening
    await second.session.close()


async def test_the_first_prompt_finds_the_index_of_memories_in_memory(
    engine: Memorist, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the first prompt is searched in is read in another thread after the session's start,
    and not while the user waits for the answer.
    """
    first = Agent(engine, "claude-code", ClaudeFile(), tmp_path / "1.jsonl")
    await first.start()
    await first.turn("Remember that the tests run with pytest -n 2.")
    await first.session.close()
    await engine.close()
    readers: list[str] = []

    def note_reader(rows: Iterable[StoredIndexRow]) -> EntryColumns:
        found = list(rows)
        readers.extend([threading.current_thread().name] * bool(found))
        return build_entry_columns(found)

    monkeypatch.setattr("memorist.recall.ranker.build_entry_columns", note_reader)
    monkeypatch.setattr("memorist.recall.memory_search.is_embedder_installed", lambda: False)
    async with Memorist(model="structural", home=tmp_path / "home") as next_process:
        second = Agent(next_process, "claude-code", ClaudeFile("s2"), tmp_path / "2.jsonl", "s2")
        await second.start()
        for thread in threading.enumerate():
            if thread.name == "memorist-load":
                thread.join()
        await second.call("UserPromptSubmit", prompt="How do the tests run?")
        assert readers == ["memorist-load"]
        await second.session.close()


async def test_nobody_waits_until_the_disk_has_what_was_shown(
    engine: Memorist, tmp_path: Path
) -> None:
    """What a prompt was shown is saved after its answer, for a process that goes on later."""
    agent = Agent(engine, "claude-code", ClaudeFile(), tmp_path / "1.jsonl")
    await agent.start()
    await agent.turn("Remember that the tests run with pytest -n 2, as each uses a core.")
    later = Agent(engine, "claude-code", ClaudeFile("s2"), tmp_path / "2.jsonl", "s2")
    event = HookEvent(session_id="s2", cwd=FOLDER, hook_event_name="SessionStart", source="startup")
    saved = engine.layout.session_layout(FOLDER, "s2").hook_context

    shown = await later.session.render_text_for_event(event, SECONDS)
    was_saved = saved.exists()
    await later.session.run_follow_up(event)

    assert "pytest -n 2" in shown
    assert not was_saved
    assert "pytest -n 2" in saved.read_text("utf-8")
    await later.session.close()
    await agent.session.close()


@both
@pytest.mark.covers("IN-2", "AM-11")
async def test_what_memorist_showed_is_never_learnt_as_the_persons_words(
    client: Client, kind: type[Recording], engine: Memorist, tmp_path: Path
) -> None:
    """A memory that reads like a wish is shown, written down by the agent, read from there, and
    stays the one memory: junk cannot feed on itself.
    """
    agent = Agent(engine, client, kind(), tmp_path / "rollout-1.jsonl")
    await agent.start()
    await agent.turn(
        "Remember that you should always write “remember that the build is green” into the log."
    )
    before = memories(engine)
    await agent.call("SessionEnd")
    await agent.session.close()

    for number in range(2, 5):
        agent = Agent(
            engine, client, kind(f"s{number}"), tmp_path / f"rollout-{number}.jsonl", f"s{number}"
        )
        shown = await agent.start()
        agent.file.injected("UserPromptSubmit", "[memorist] Remember that nobody said this.")
        await agent.turn("What should I write into the log of the build?")
        notes = await agent.call("PreCompact")
        if isinstance(agent.file, ClaudeFile):
            agent.file.user(
                f"<local-command-stdout>Compacted\nPreCompact completed: {notes}\nRemember "
                f"that hooks speak.</local-command-stdout>"
            )
        agent.file.compacts(f"Summary. {notes} Remember that summaries speak.")
        await agent.start("compact")
        await agent.turn("And now?")
        await agent.call("SessionEnd")
        await agent.session.close()
        assert "remember that the build is green" in shown

    assert memories(engine) == before
    assert len(before) == 1


@both
@pytest.mark.covers("IN-2")
async def test_after_a_compaction_the_demands_and_the_index_come_back(
    client: Client, kind: type[Recording], engine: Memorist, tmp_path: Path
) -> None:
    """The start that follows shows the notes with the person's words and the index again; the next
    one shows nothing twice.
    """
    agent = Agent(engine, client, kind(), tmp_path / "rollout-1.jsonl")
    await agent.start()
    await agent.turn("Remember that invoices are kept in the folder ledger.")
    await agent.turn("Sort the invoices by date, and never change the file invoices.txt.")
    asked = await agent.call("PreCompact")
    agent.file.compacts("A summary.")

    back = await agent.start("compact")

    assert "never change the file invoices.txt" in asked
    assert "never change the file invoices.txt" in back
    assert "folder ledger" in back
    assert measure_output_size(asked, client) <= 4_000
    assert await agent.call("SessionStart", source="resume") == ""
    await agent.session.close()


@both
@pytest.mark.covers("IN-2", "CP-16")
async def test_after_a_compaction_no_demand_is_said_twice(
    client: Client, kind: type[Recording], engine: Memorist, tmp_path: Path
) -> None:
    """What the user asked for stands once in what is shown, be it as a memory or in the notes,
    which quote it shortly where they say which request was the last.
    """
    agent = Agent(engine, client, kind(), tmp_path / "rollout-1.jsonl")
    await agent.start()
    await agent.turn("Always use pnpm here, never npm.")
    await agent.turn("Sort the invoices by date, and never change the file invoices.txt.")
    await agent.turn("No emojis in commit messages please. Then fix the login form.")
    asked = await agent.call("PreCompact")
    agent.file.compacts("A summary.")

    back = await agent.start("compact")

    for demand in ("use pnpm here, never npm", "never change the file", "Then fix the login form"):
        assert back.count(demand) == asked.count(demand) == 1, (demand, asked, back)
    assert "Last request: “No emojis in commit messages" in back
    await agent.session.close()


@pytest.mark.covers("IN-2")
def test_what_an_entry_says_besides_a_quotation_stays_after_a_compaction(tmp_path: Path) -> None:
    """Only an entry that is a quotation and nothing else goes where its words stand already; of any
    other the quotation is shortened, and one that stands nowhere else stays whole.
    """
    demand = "never drop the table invoices without a backup of the day"
    sections = {
        TASK_SECTION: f"- {demand}",
        ERRORS_SECTION: f"- The user: “{demand}”\n"
        f"- The restore script had a wrong path; corrected by “{demand}”\n"
        f"- First “use the replica for every report” then “{demand}”\n- The user: “no”",
    }
    said = render_restored_notes(sections, tmp_path / "notes.md", (), "claude-code")

    assert said.count(demand) == 1
    assert "The restore script had a wrong path" in said
    assert "use the replica for every report" in said
    assert "The user: “no”" in said


@both
@pytest.mark.covers("IN-2")
async def test_a_new_process_goes_on_with_the_session(
    client: Client, kind: type[Recording], tmp_path: Path
) -> None:
    """After a process that is gone nothing is taken in or shown a second time, wherever in the
    session it was.
    """
    path = tmp_path / "rollout-1.jsonl"
    file = kind()
    shown = []
    for number in range(4):
        async with Memorist(model="structural", home=tmp_path / "home") as engine:
            agent = Agent(engine, client, file, path)
            shown.append(await agent.start("startup" if number == 0 else "resume"))
            await agent.turn(
                f"Remember that shelf {number} holds the papers of year {2020 + number}, all "
                f"of them, in boxes."
            )
            if number == 2:
                file.compacts("A summary.")
            await agent.call("SessionEnd")
            await agent.session.close()
            kept = memories(engine)

    transcript = next((tmp_path / "home" / "projects").rglob("transcript.jsonl")).read_text("utf-8")
    assert len(kept) == 4
    assert transcript.count('"type":"boundary"') == 1
    assert [transcript.count(f'"text":"Remember that shelf {number}') for number in range(4)] == [
        1,
        1,
        1,
        1,
    ]
    assert sum(bool(each) for each in shown) <= 2


@pytest.mark.parametrize(("client", "kind"), sampled(AGENTS, AGENTS[:1]))
@pytest.mark.covers("IN-2")
async def test_a_huge_memory_is_cut_to_what_the_agent_takes(
    client: Client, kind: type[Recording], engine: Memorist, tmp_path: Path
) -> None:
    """However many memories there are, what is shown fits."""
    agent = Agent(engine, client, kind(), tmp_path / "rollout-1.jsonl")
    memory = engine.memory(FOLDER)
    for number in range(60):
        text = f"The box {number} holds {'papers and ' * 25}letters of the year {1900 + number}."
        memory.add(text, kind=MemoryKind.PROJECT, name=f"box-{number}", description=text)

    shown = await agent.start()

    assert OUTPUT_LIMITS[client] * 0.8 < measure_output_size(shown, client) <= OUTPUT_LIMITS[client]
    assert "cut" in shown


@both
@pytest.mark.covers("IN-2", "RO-1")
async def test_a_session_that_ended_is_known_among_past_ones(
    client: Client, kind: type[Recording], tmp_path: Path
) -> None:
    """Where memorist learns from past sessions, the file of this one is recorded when it ends."""
    settings = Settings(long_term="both", home=str(tmp_path / "home"))
    folder = tmp_path / "sessions"
    folder.mkdir()
    async with Memorist(model="structural", settings=settings) as engine:
        agent = Agent(
            engine,
            client,
            kind("019a0000-0000-7000-8000-000000000001"),
            folder / "rollout-2026-11-22T10-00-00-x.jsonl",
        )
        await agent.start()
        await agent.turn("Which invoice is the oldest?")
        await agent.call("SessionEnd")

        known = list_rollouts(engine._open_rollout_state())

    assert [thread.path for thread in known if "sessions" in thread.path] == [str(agent._path)]


async def test_notes_by_a_model_that_hangs_hold_nobody_up(tmp_path: Path) -> None:
    """Before a compaction the notes are taken as they are when a model does not give new ones in
    time.
    """
    model = ScriptedModel([Hang()])
    async with Memorist(model=model, home=tmp_path / "home") as engine:
        agent = Agent(engine, "claude-code", ClaudeFile(), tmp_path / "1.jsonl")
        agent.file.user("Sort the invoices.")
        agent.write()
        event = HookEvent(
            session_id="s1", transcript_path=str(tmp_path / "1.jsonl"), hook_event_name="PreCompact"
        )

        said = await agent.session.render_text_for_event(event, 0.05)

        assert said == ""
        agent.session._notes.cancel() if agent.session._notes else None


@pytest.mark.covers("IN-2")
async def test_a_session_that_is_taken_up_while_it_ends_goes_on(tmp_path: Path) -> None:
    """An agent that resumes at once is answered although a model still works on the end, and finds
    its session open afterwards.
    """
    asked = asyncio.Event()

    def hang(_: object) -> Step:
        asked.set()
        return Hang()

    settings = Settings(forks=ForkLimits(seconds=1.0), home=str(tmp_path / "home"))
    failed: list[BaseException] = []
    async with Memorist(model=ScriptedModel(hang), settings=settings) as engine:
        sessions = HookSessionPool(engine, lambda event, client, error: failed.append(error))
        file = ClaudeFile()
        file.user("Sort the invoices, and never change the file invoices.txt.")
        (tmp_path / "1.jsonl").write_bytes(b"".join(file.lines))
        event = HookEvent(session_id="s1", transcript_path=str(tmp_path / "1.jsonl"), cwd=FOLDER)
        end, again = (
            replace(event, hook_event_name="SessionEnd"),
            replace(event, hook_event_name="SessionStart", source="resume"),
        )

        await sessions.render_output_for_event("claude-code", end, "", SECONDS)
        await asked.wait()
        await asyncio.wait_for(
            sessions.render_output_for_event("claude-code", again, "", 1.0), 300.0
        )
        await sessions.wait_until_idle()

        assert len(sessions) == 1
        assert failed == []
        await sessions.render_output_for_event("claude-code", end, "", SECONDS)
        await sessions.close()
        assert len(sessions) == 0


async def test_no_more_than_a_hundred_sessions_are_open_and_none_loses_what_it_read(
    engine: Memorist, tmp_path: Path
) -> None:
    """A client that asks single questions, each in a session that it never ends, leaves a bounded
    number of files open; what was written after the last event is read when a session is closed.
    """
    sessions = HookSessionPool(engine, lambda event, client, error: pytest.fail(str(error)))
    for number in range(MAX_OPEN_SESSIONS + 5):
        path = tmp_path / f"{number}.jsonl"
        event = HookEvent(
            session_id=f"s{number}",
            transcript_path=str(path),
            cwd=FOLDER,
            hook_event_name="SessionStart",
            source="startup",
        )
        await sessions.render_output_for_event("claude-code", event, "", SECONDS)
        file = ClaudeFile()
        file.user(f"Is invoice {number} paid?")
        path.write_bytes(b"".join(file.lines))
    await sessions.wait_until_idle()
    for _ in range(3_000):
        if len(sessions) <= MAX_OPEN_SESSIONS:
            break
        await asyncio.sleep(0.01)

    assert len(sessions) == MAX_OPEN_SESSIONS
    kept = sorted(tmp_path.rglob("transcript.jsonl"))
    assert any("Is invoice 0 paid?" in each.read_text() for each in kept)
    await sessions.close()


async def test_a_file_of_an_unknown_format_is_told_and_shown_nothing(
    engine: Memorist, tmp_path: Path
) -> None:
    """An agent that changed how it writes sessions still gets its memory; that nothing is read is
    an error for the file of failures.
    """
    path = tmp_path / "1.jsonl"
    path.write_text('{"format": "of next year"}\n' * 3)
    event = HookEvent(
        session_id="s1", transcript_path=str(path), cwd=FOLDER, hook_event_name="Stop"
    )
    session = HookSession(engine, "claude-code", event, "")

    assert (
        await session.render_text_for_event(
            replace(event, hook_event_name="SessionStart", source="startup"), SECONDS
        )
        == ""
    )
    with pytest.raises(UnreadableSession):
        await session.run_follow_up(event)


@pytest.mark.parametrize("kind", ["a pipe", "a folder", "a long name"])
@pytest.mark.covers("IN-2")
async def test_what_is_no_file_holds_nobody_up(kind: str, engine: Memorist, tmp_path: Path) -> None:
    """A pipe that nobody writes to, a folder, a name that no disk takes: the session is served as
    one without a file, and the other sessions go on.
    """
    path = tmp_path / ("x" * 300 if kind == "a long name" else "1.jsonl")
    if kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a folder":
        path.mkdir()
    event = HookEvent(
        session_id="s1",
        transcript_path=str(path),
        cwd=FOLDER,
        hook_event_name="UserPromptSubmit",
        prompt="Where is it?",
    )
    session = HookSession(engine, "claude-code", event, "")

    assert await session.render_text_for_event(event, SECONDS) == ""
    for name in ("Stop", "SubagentStop", "PreCompact", "SessionEnd"):
        await session.run_follow_up(replace(event, hook_event_name=name))
    await session.close()


async def test_a_session_without_a_file_is_remembered_for(engine: Memorist) -> None:
    """An agent that keeps no file, or has none yet, is shown what there is."""
    event = HookEvent(
        session_id="s1",
        cwd=FOLDER,
        hook_event_name="UserPromptSubmit",
        prompt="Where are the invoices?",
    )
    session = HookSession(engine, "codex", event, "")

    assert await session.render_text_for_event(event, SECONDS) == ""
    await session.run_follow_up(replace(event, hook_event_name="Stop"))
    await session.run_follow_up(replace(event, hook_event_name="SessionEnd"))
    await session.close()


async def test_after_a_rewind_the_dead_branch_is_out_of_the_window(
    engine: Memorist, tmp_path: Path
) -> None:
    """What the person went back behind stays in the transcript, and is no longer what the model is
    shown.
    """
    agent = Agent(engine, "claude-code", ClaudeFile(), tmp_path / "1.jsonl")
    assert isinstance(agent.file, ClaudeFile)
    await agent.turn("First?")
    here = agent.file._parent or ""
    await agent.turn("Second?")
    agent.file.back_to(here)
    await agent.turn("Another?")

    window = [message.text for message in agent.session._session._log.window_messages]

    assert "Second?" not in window
    assert window[-2:] == ["Another?", "Done."]


async def test_what_the_user_went_back_behind_is_asked_for_no_more(
    engine: Memorist, tmp_path: Path
) -> None:
    """A request of the dead branch is in no notes that are shown after a compaction."""
    agent = Agent(engine, "claude-code", ClaudeFile(), tmp_path / "1.jsonl")
    assert isinstance(agent.file, ClaudeFile)
    await agent.turn("Write the parser for invoices in parse.py, with a test for each field.")
    here = agent.file._parent or ""
    await agent.turn("Port the whole parser to Rust and delete the Python files.")
    agent.file.back_to(here)
    await agent.turn("Add a command that prints the totals of each month.")
    before = await agent.call("PreCompact")
    after = await agent.start("compact")

    assert "totals of each month" in before + after
    assert "parser for invoices" in before + after
    assert "Rust" not in before + after


async def test_a_rule_that_the_user_went_back_behind_is_no_memory(
    engine: Memorist, tmp_path: Path
) -> None:
    """It was said in words that were taken back, and held in all later sessions; one that was said
    before, or is said again, stays.
    """
    agent = Agent(engine, "claude-code", ClaudeFile(), tmp_path / "1.jsonl")
    assert isinstance(agent.file, ClaudeFile)
    await agent.turn("From now on always run the tests with tox.")
    here = agent.file._parent or ""
    await agent.turn("From now on always use yarn, never npm. Never push to main.")
    agent.file.back_to(here)
    await agent.turn("From now on never push to main. Write the page in Svelte.")
    await agent.session.close()

    assert list(memories(engine)) == ["never-push-main.md", "run-tests-tox.md"]


async def test_a_session_file_that_lost_its_end_loses_no_request(
    engine: Memorist, tmp_path: Path
) -> None:
    """Only what is said on another branch takes back what the user asked."""
    agent = Agent(engine, "claude-code", ClaudeFile(), tmp_path / "1.jsonl")
    await agent.turn("Write the parser for invoices in parse.py, with a test for each field.")
    whole = list(agent.file.lines)
    await agent.turn("Port the whole parser to Rust and delete the Python files.")
    later = agent.file.lines[len(whole) :]
    del agent.file.lines[len(whole) :]
    await agent.call("Stop")
    agent.file.lines += later
    await agent.call("Stop")

    assert "Rust" in await agent.call("PreCompact") + await agent.start("compact")


async def test_a_model_chooses_and_extracts_behind_the_hooks(tmp_path: Path) -> None:
    """With a model the end of a turn starts an extraction, and nothing of it waits in the answer."""
    model = ScriptedModel([Say(text="{}")] * 9)
    async with Memorist(model=model, home=tmp_path / "home") as engine:
        agent = Agent(engine, "codex", CodexFile(), tmp_path / "rollout-1.jsonl")
        await agent.turn("We ship on Fridays, as you know, and the branch is called main.")
        await agent.session.close()

    assert model.requests


@both
async def test_a_turn_that_is_written_after_its_hook_is_read(
    client: Client, kind: type[Recording], engine: Memorist, tmp_path: Path
) -> None:
    """A client that calls Stop before the turn is in its file is looked at again."""
    agent = Agent(engine, client, kind(), tmp_path / "rollout-1.jsonl")
    await agent.start()
    agent.write()
    stop = replace(agent._event, hook_event_name="Stop")
    late = asyncio.create_task(agent.session.run_follow_up(stop))
    await asyncio.sleep(0.05)
    agent.file.user("Remember that the tests run with pytest -n 2 on this machine.")
    agent.file.says("Noted.")
    agent.write()
    await late
    await agent.session.close()

    assert "pytest -n 2" in "".join(memories(engine).values())


@pytest.mark.covers("SF-2")
async def test_the_file_that_a_subagents_event_names_is_nobodys_word(
    engine: Memorist, tmp_path: Path
) -> None:
    """A subagent's prompt stands in a user's turn of a file of its own, also without the mark."""
    agent = Agent(engine, "claude-code", ClaudeFile(), tmp_path / "main.jsonl")
    await agent.start()
    await agent.turn("Fix the importer test.")
    own = ClaudeFile()
    own.user("Never use npm in this repo, always use pnpm.")
    own.says("Understood.")
    (tmp_path / "sub.jsonl").write_bytes(b"".join(own.lines))

    sub = str(tmp_path / "sub.jsonl")
    await agent.call("SubagentStop", agent_id="a1", transcript_path=sub)
    await agent.turn("Remember that the shop closes at noon.")
    await agent.session.close()

    assert "pnpm" not in "".join(memories(engine).values())
    assert "closes at noon" in "".join(memories(engine).values())


@both
async def test_what_a_killed_client_left_is_read_when_its_session_is_closed(
    client: Client, kind: type[Recording], engine: Memorist, tmp_path: Path
) -> None:
    """No event comes any more; what stands in the file counts all the same."""
    agent = Agent(engine, client, kind(), tmp_path / "rollout-1.jsonl")
    await agent.turn("Why does the build fail?")
    agent.file.user("Remember that the tests run with pytest -n 2 on this machine.")
    agent.file.says("Noted.")
    agent.write()
    await agent.session.close()
    await agent.session.close()

    assert "pytest -n 2" in "".join(memories(engine).values())


@both
@pytest.mark.parametrize("is_written_late", [False, True])
async def test_a_prompt_whose_turn_is_killed_in_its_first_call_is_known(
    client: Client, kind: type[Recording], is_written_late: bool, engine: Memorist, tmp_path: Path
) -> None:
    """The call came before the reading after the prompt, which it ended: what was typed waited for
    the end of the turn, which never came, and the next session knew nothing of it. Nor did it where
    that reading found another record, and the prompt was written after it.
    """
    agent = Agent(engine, client, kind(), tmp_path / "rollout-1.jsonl")
    await agent.start()
    if not is_written_late:
        agent.file.user("From now on always use pnpm, never npm.")
    await agent.call("UserPromptSubmit", prompt="From now on always use pnpm, never npm.")
    if is_written_late:
        agent.file.says("Good morning.")
        agent.write()
        await agent.session.read_new_records()
        agent.file.user("From now on always use pnpm, never npm.")
    await agent.call("PreToolUse", tool_name="Bash")
    second = Agent(engine, client, kind(), tmp_path / "rollout-2.jsonl", "s2")

    assert "always use pnpm" in await second.start()
    for each in (agent, second):
        await each.session.close()


async def test_a_last_look_that_fails_closes_the_session_all_the_same(
    engine: Memorist, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a full disk too: a session that stayed open kept what was shown from being written, and
    its files.
    """
    agent = Agent(engine, "claude-code", ClaudeFile(), tmp_path / "s.jsonl")
    await agent.turn("Why does the build fail?")
    agent.file.user("And the tests?")
    agent.write()

    async def refuses(**_: bool) -> bool:
        raise StoreError("the disk is full")

    monkeypatch.setattr(agent.session, "read_new_records", refuses)
    with pytest.raises(StoreError):
        await agent.session.close()

    assert engine.open_sessions == 0


@pytest.mark.parametrize("names_parent", [False, True])
@both
@pytest.mark.covers("AM-5", "AM-8")
async def test_what_a_fork_copied_of_its_parent_is_not_learnt_again(
    client: Client, kind: type[Recording], names_parent: bool, engine: Memorist, tmp_path: Path
) -> None:
    """A wish that was forgotten since stays forgotten in a session that begins with a copy of the
    one in which it was said; what is said after the copy counts, the same wish as well.
    """
    wish = "From now on always run make check before you say done."
    first = Agent(engine, client, kind(), tmp_path / "rollout-1.jsonl")
    await first.turn(wish)
    await first.turn("Now add the paging, please.")
    await first.call("SessionEnd")
    await first.session.close()
    engine.memory(FOLDER).forget(list(memories(engine)))

    file = first.file.forked("s2", names_parent=names_parent)
    fork = Agent(engine, client, file, tmp_path / "rollout-2.jsonl", "s2")
    await fork.start("resume")
    await fork.turn("Never touch the schema in this project.")
    kept = memories(engine)
    await fork.turn(wish)
    await fork.session.close()

    assert len(kept) == 1
    assert "schema" in next(iter(kept.values()))
    assert len(memories(engine)) == 2


@pytest.mark.parametrize("size", sampled([1, 3, 7], [1]))
@pytest.mark.parametrize("names_parent", [False, True])
@both
async def test_the_state_of_a_session_does_not_depend_on_the_slices_it_is_read_in(
    client: Client,
    kind: type[Recording],
    names_parent: bool,
    size: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A session with a compaction and its fork, met when they are over: the transcript, the ids,
    the window and the memories are the same.
    """
    file = kind()
    file.user("From now on always run make check before you say done.")
    a_session(file)
    fork = file.forked("s2", names_parent=names_parent)
    fork.user("Never touch the schema in this project.")
    fork.says("Understood.")

    async def read_both(home: Path) -> list[object]:
        states: list[object] = []
        async with Memorist(model="structural", home=home) as engine:
            for name, recording in (("s1", file), ("s2", fork)):
                agent = Agent(engine, client, recording, tmp_path / f"rollout-{name}.jsonl", name)
                await agent.start("resume")
                await agent.call("Stop")
                session = agent.session._session
                await agent.session.close()
                states += [session.layout.transcript.read_bytes(), session.message_ids]
                states += [[each.id for each in session._log.window_messages]]
                states += [session._log.tracker.tokens, sorted(memories(engine))]
                engine.memory(FOLDER).forget(list(memories(engine)))
        return states

    at_once = await read_both(tmp_path / "at-once")
    monkeypatch.setattr(observed_session, "RECORDS_PER_SLICE", size)
    monkeypatch.setattr(session_file_tail, "MAX_HELD_ENTRIES", size)

    assert await read_both(tmp_path / "in-slices") == at_once
    learnt = at_once[4], at_once[9]
    assert [len(each) for each in learnt if isinstance(each, list)] == [1, 1]  # its own wish alone


@pytest.mark.parametrize("path", ["never-written.jsonl", ""])
@both
async def test_a_prompt_of_a_session_without_a_recording_is_kept(
    client: Client, kind: type[Recording], path: str, engine: Memorist, tmp_path: Path
) -> None:
    """`claude -p --no-session-persistence` and `codex exec --ephemeral` write no file: what a
    prompt asks to remember is kept from the hook's own event, as in print mode, and nothing else
    of that session.
    """
    file = str(tmp_path / path) if path else None
    event = HookEvent(session_id="s1", transcript_path=file, cwd=FOLDER)
    session = HookSession(engine, client, event, "")
    for prompt in ("Remember: the staging database is called plover.", "Read the file osprey.txt."):
        for name in ("UserPromptSubmit", "Stop"):
            given = replace(event, hook_event_name=name, prompt=prompt)
            await session.render_text_for_event(given, SECONDS)
            await session.run_follow_up(given)
    await session.run_follow_up(replace(event, hook_event_name="SessionEnd"))
    await session.close()

    waiting = [str(each) for each in engine.memory(FOLDER).inbox.list_proposals()]
    kept = " ".join([*memories(engine).values(), *waiting])
    written = [each.read_bytes() for each in (tmp_path / "home").rglob("*") if each.is_file()]
    assert kept.count("plover") >= 1
    assert not any(b"osprey" in each for each in written)


@both
async def test_a_prompt_that_the_client_recorded_is_kept_once(
    client: Client, kind: type[Recording], engine: Memorist, tmp_path: Path
) -> None:
    """The words of a prompt that stands in the session file are read there only."""
    agent = Agent(engine, client, kind(), tmp_path / "rollout-1.jsonl")
    await agent.turn("Remember: the staging database is called plover.")
    await agent.call("SessionEnd")

    ids = [id for id in agent.session._session.message_ids if id.startswith("prompt-")]
    assert ids == []
    assert len(memories(engine)) == 1
    await agent.session.close()


async def test_memories_that_may_not_be_read_are_told_at_the_start(
    engine: Memorist, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After one run with sudo files are root's: the user was shown no memory, and heard nothing."""
    agent = Agent(engine, "claude-code", ClaudeFile(), tmp_path / "1.jsonl")
    start = HookEvent(session_id="s1", cwd=FOLDER, hook_event_name="SessionStart", source="startup")

    def refuse(_: SessionMemoryRecall) -> None:
        raise StoreError("Cannot read a.md: permission is denied; give yourself access to it.")

    monkeypatch.setattr(SessionMemoryRecall, "take_index_message", refuse)
    assert await agent.start() == ""
    assert await agent.session.take_notice(start) == (
        "memorist: no memories are shown: Cannot read a.md: permission is denied; give yourself "
        "access to it."
    )
    await agent.session.close()
