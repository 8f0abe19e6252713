"""Memories that a model extracts at the end of a turn: when it is asked, what is written of its
answer, and what is left of one that fails.
"""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from engine.test_memory import Loop, engine_of, is_fork, project, text_of
from memorist.auto_memory.memory_file import Trust
from memorist.auto_memory.model_extraction import ModelExtraction
from memorist.errors import ModelUnavailable
from memorist.events import ExtractionFailed, MemoryChanged
from memorist.forks.fork_spec import ForkOutcome
from memorist.store.disk_files import DiskFiles
from memorist.team.remote_location import RemoteLocation, save_remote_location
from memorist.testing.steps import (
    CallTool,
    DelayReply,
    Fail,
    Garbage,
    Hang,
    InterruptedReply,
    Say,
    Step,
)
from support.waiting import wait_until

__all__ = ["project"]


def writes(folder: Path, name: str, body: str, *, kind: str = "feedback", quote: str = "") -> str:
    own = f'memorist:\n  quote: "{quote}"\n' if quote else ""
    return (
        f'<write path="{folder / name}">\n---\nname: {name[:-3]}\ndescription: about '
        f"{name}\ntype: {kind}\n{own}---\n\n{body}\n</write>"
    )


@pytest.mark.covers("AM-5", "AM-11")
@pytest.mark.parametrize(
    ("body", "quote"),
    [
        ("Never use npm; always use pnpm.", "never use npm, always use pnpm"),
        ("The user prefers pnpm over npm in this project.", "never use npm, always use pnpm"),
        ("never use npm", "From now on never use npm"),
        ("From now on always use pnpm.", ""),
    ],
)
async def test_a_memory_kept_by_a_rule_and_by_a_model_is_one(
    tmp_path: Path, project: Path, body: str, quote: str
) -> None:
    """What a fork writes of a sentence that a rule has kept already becomes neither a second memory
    nor a proposal; what it writes of another sentence does.
    """
    host = Loop(project)
    async with engine_of(tmp_path, host.model) as engine:
        host.engine = engine
        folder = engine.memory(str(project)).layout.folder
        host.fork = lambda request: Say(
            text=writes(folder, "manager.md", body, quote=quote)
            + writes(folder, "build.md", "The build takes an hour.", kind="project")
        )
        session = await host.open("one")
        await host.turn(
            session, "From now on never use npm, always use pnpm. The build takes an hour, sadly."
        )
        await session.close()
        memory = engine.memory(str(project))

    assert len(memory.headers()) == 2
    assert "build.md" in {head.path for head in memory.headers()}
    assert memory.inbox.list_proposals() == []


@pytest.mark.covers("AM-5", "AM-7", "FK-8")
@pytest.mark.parametrize(
    ("said", "body", "kept"),
    [
        ("Please fix the rounding in total.py", "Fix the rounding in total.py.", False),
        ("Fix the rounding in total.py", "The user wants the rounding in total.py fixed.", False),
        ("Can you rename the blue button?", "Rename the blue button.", False),
        ("Behebe den Fehler in total.py", "Behebe den Fehler in total.py", False),
        ("Peux-tu corriger l'erreur dans total.py ?", "Corrige l'erreur dans total.py.", False),
        ("帮我修复 total.py 的报错", "帮我修复 total.py 的报错", False),
        ("total.pyのバグを修正してください", "total.pyのバグを修正してください", False),
        ("Fix the rounding, and never use npm", "Fix the rounding, and never use npm", True),
        ("Fix the rounding, and never use npm", "Never use npm.", True),
        ("Fix the rounding. Amounts are in cents.", "Amounts are in cents.", True),
        ("Fix the rounding; our API returns cents", "The API returns cents.", True),
        ("Behebe den Fehler, Beträge sind in Cent", "Beträge sind in Cent.", True),
        ("Исправь это и никогда не используй npm", "Никогда не используй npm.", True),
        ("修复 total.py，以后不要用 npm", "以后不要用 npm", True),
        ("Show amounts in cents", "Show amounts in cents.", True),
    ],
)
async def test_the_request_in_hand_is_no_memory(
    tmp_path: Path, project: Path, said: str, body: str, kept: bool
) -> None:
    """What a model notes of a turn's request alone is not kept, and the receipt says why; a rule or
    fact that the same message holds is kept, by the model or by the rule that read it first.
    """
    host = Loop(project)
    async with engine_of(tmp_path, host.model) as engine:
        host.engine = engine
        folder = engine.memory(str(project)).layout.folder
        host.fork = lambda request: Say(text=writes(folder, "n.md", body, quote=said))
        session = await host.open("one")
        await host.turn(session, said)
        await session.close()
        memory = engine.memory(str(project))

    (receipt,) = [receipt for receipt in session.receipts() if receipt.label == "extraction"]
    assert bool(memory.headers() or memory.inbox.list_proposals()) == kept
    assert ("only repeats a request of this turn" in receipt.said) == (not kept)


@pytest.mark.covers("AM-5", "AM-6", "FK-1", "FK-8", "SF-2")
async def test_a_fork_extracts_at_the_end_of_a_turn(tmp_path: Path, project: Path) -> None:
    """It sees the parent's bytes and the manifest, writes what it can quote, and what it cannot
    waits; the receipt names the files really written.
    """
    host = Loop(project)
    async with engine_of(tmp_path, host.model) as engine:
        host.engine = engine
        folder = engine.memory(str(project)).layout.folder
        host.fork = lambda request: Say(
            text=writes(
                folder,
                "tests.md",
                "Run the slow tests as well when you touch the parser.",
                quote="run the slow tests as well when you touch the parser",
            )
            + writes(
                folder,
                "invented.md",
                "The person likes tabs.",
                quote="I like tabs very much indeed",
            )
            + writes(
                folder, "parser.md", "The parser is being rewritten until March.", kind="project"
            )
        )
        session = await host.open("one")
        await host.turn(
            session,
            "Could you run the slow tests as well when you touch the parser? It broke twice.",
        )
        await session.close()
        memory = engine.memory(str(project))

    heads = {head.path: head for head in memory.headers()}
    assert heads.keys() == {"tests.md", "parser.md"}
    assert (heads["tests.md"].trust, heads["parser.md"].trust) == (Trust.STATED, Trust.DERIVED)
    assert [each.path for each in memory.inbox.list_proposals()] == ["invented.md"]
    (receipt,) = [receipt for receipt in session.receipts() if receipt.label == "extraction"]
    assert {Path(file.path).name for file in receipt.files} == {"tests.md", "parser.md"}
    assert "wait in the inbox" in receipt.said
    (fork,) = [request for request in host.model.requests if is_fork(request)]
    assert fork.body["messages"][: len(host.sent[0]["messages"])] == host.sent[0]["messages"]
    assert len(memory.folder.history.list_changes()) == 1


@pytest.mark.covers("AM-5")
async def test_extraction_stands_back_where_the_agent_wrote_memory_itself(
    tmp_path: Path, project: Path
) -> None:
    """No fork runs for messages in which the host's own agent changed a memory file."""
    host = Loop(project)
    async with engine_of(tmp_path, host.model) as engine:
        host.engine = engine
        folder = engine.memory(str(project)).layout.folder
        session = await host.open("one")
        call = CallTool(
            name="Write", input={"file_path": str(folder / "mine.md"), "content": "x"}, id="t1"
        )
        await host.turn(session, "Write down that the parser is slow, in your memory folder", call)
        await host.turn(session, [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}])
        await session.close()

    assert not any(is_fork(request) for request in host.model.requests)


@pytest.mark.covers("AM-5")
async def test_extraction_runs_every_so_many_turns_and_only_over_what_is_new(
    tmp_path: Path, project: Path
) -> None:
    """The throttle counts turns; the prompt says how many messages are new; a new process goes on
    from the cursor.
    """
    host = Loop(project)

    async def wait_for_extractions(count: int) -> None:
        await wait_until(
            lambda: [each.label for each in session.receipts()].count("extraction") == count
        )

    async with engine_of(tmp_path, host.model, every_turns=2) as engine:
        host.engine = engine
        session = await host.open("one")
        for number in range(4):
            await host.turn(session, f"Please look at part {number} of the parser")
            await wait_for_extractions((number + 1) // 2)
        await session.close()
        history = list(host.messages)
    forks = [text_of(request.body) for request in host.model.requests if is_fork(request)]
    assert len(forks) == 2
    assert all("newest 4 messages" in text for text in forks)

    async with engine_of(tmp_path, host.model, every_turns=1) as engine:
        host.engine = engine
        session = await host.open("one")
        host.messages = history
        await host.turn(session, "And part five of the parser, please")
        await session.close()
    assert "newest 2 messages" in text_of(
        [request for request in host.model.requests if is_fork(request)][-1].body
    )


@pytest.mark.covers("AM-5", "SF-5")
@pytest.mark.parametrize(
    "step",
    [
        Fail(error=ModelUnavailable("gone")),
        Garbage(),
        InterruptedReply(step=Say(text="x" * 500)),
        Say(text="<write path="),
        Hang(),
        CallTool(name="Bash", input={"command": "rm -rf /"}, id="b1"),
    ],
    ids=["gone", "garbage", "cut", "torn", "hang", "loop"],
)
async def test_a_failing_extraction_loses_nothing(
    tmp_path: Path, project: Path, step: Step
) -> None:
    """Whatever the model does, the conversation goes on, nothing is written, the receipt says so,
    and the next run sees the same messages again.
    """
    host = Loop(project)
    async with engine_of(tmp_path, host.model, drain_seconds=0.3) as engine:
        host.engine, host.fork = engine, lambda request: step
        session = await host.open("one")
        await host.turn(session, "The parser belongs to the platform team, by the way")
        await session.close()
        assert engine.memory(str(project)).headers() == []
        assert not (session.layout.memory_cursor).exists() or step == Say(text="<write path=")


@pytest.mark.covers("TM-1", "AM-5")
async def test_one_pass_writes_what_is_the_users_and_what_is_the_teams(
    tmp_path: Path, project: Path
) -> None:
    """With a team the one request of an extraction tells who reads what. The user's own memory is
    written; the team's waits as one proposal that names its readers, and is written at once where
    the user asked to share it; what is about a person or holds a secret never gets there.
    """
    secret = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0hL2kP5"
    shared = "Please tell the whole team that the shop is frozen on Fridays."
    host = Loop(project)
    async with engine_of(tmp_path, host.model) as engine:
        host.engine = engine
        where = engine.memory(str(project)).layout
        save_remote_location(DiskFiles(), where.team_layout, RemoteLocation(remote="git:origin"))
        text = "".join(
            writes(where.folder, name, body, kind=kind, quote=quote)
            for name, body, kind, quote in (
                ("parser.md", "The parser is rewritten by June.", "project", ""),
                ("team/orders.md", "The orders page is rewritten by June.", "project", ""),
                ("team/freeze.md", shared, "project", shared),
                ("team/me.md", "The user has written Go for ten years.", "user", "for ten years"),
                ("team/key.md", f"The key of the board is {secret}.", "reference", ""),
            )
        )
        host.fork = lambda request: Say(text=text)
        session = await host.open("one")
        await host.turn(session, f"I have written Go for ten years. {shared}")
        await session.close()
        waiting = engine.memory(str(project)).inbox.list_proposals()
        asked = [text_of(each.body) for each in host.model.requests if is_fork(each)]

    written = {path.relative_to(where.folder).as_posix() for path in where.folder.rglob("*.md")}
    assert sum("git:origin" in each for each in asked) == 1
    assert {"parser.md", "team/freeze.md"} <= written
    assert not {"team/me.md", "team/key.md", "team/orders.md"} & written
    assert [each.path for each in waiting if each.path.startswith("team/")] == ["team/orders.md"]
    assert "everybody who can read git:origin would read it" in " ".join(
        reason for each in waiting for reason in each.reasons
    )


@pytest.mark.covers("AM-5", "FK-3")
async def test_a_fork_cannot_write_outside_the_folder(tmp_path: Path, project: Path) -> None:
    """Paths that lead elsewhere are denied, whatever they look like, and nothing of them reaches
    the disk.
    """
    host = Loop(project)
    async with engine_of(tmp_path, host.model) as engine:
        host.engine = engine
        folder = engine.memory(str(project)).layout.folder
        outside = [
            folder.parent / "evil.md",
            project / "evil.md",
            folder / ".." / "evil.md",
            folder / ".git" / "evil.md",
            folder / "MEMORY.md",
        ]
        host.fork = lambda request: Say(
            text="".join(
                writes(path.parent, path.name, "Evil.", kind="project") for path in outside
            )
        )
        session = await host.open("one")
        await host.turn(session, "The parser belongs to the platform team, by the way")
        await session.close()

    assert not list(tmp_path.rglob("evil.md"))
    assert not (folder / "MEMORY.md").exists()


@pytest.mark.covers("AM-9")
async def test_one_extraction_runs_and_one_waits(tmp_path: Path, project: Path) -> None:
    """Of the calls that come while one runs only the newest is kept; it sees everything that is
    new; closing waits for both.
    """
    host = Loop(project)
    async with engine_of(tmp_path, host.model) as engine:
        host.engine, host.fork = (
            engine,
            lambda request: DelayReply(seconds=0.2, step=Say(text="Nothing.")),
        )
        session = await host.open("one")
        for number in range(5):
            await host.turn(session, f"Please look at part {number} of the parser")
        await session.close()

    forks = [text_of(request.body) for request in host.model.requests if is_fork(request)]
    assert len(forks) == 2
    assert "newest 8 messages" in forks[1]
    assert [
        receipt.outcome for receipt in session.receipts() if receipt.label == "extraction"
    ].count(ForkOutcome.REPLACED) == 3


@pytest.mark.covers("AM-5", "SG-1")
@pytest.mark.parametrize("during", ["answer", "review"])
async def test_an_extraction_under_way_writes_nothing_once_memory_is_turned_off(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch, during: str
) -> None:
    """What was judged in a thread at that moment was written all the same; and what the model used
    until then was counted nowhere.
    """
    host, judging, go_on = Loop(project), threading.Event(), threading.Event()
    find_faults = ModelExtraction._find_faults

    def wait_and_find_faults(*given: Any) -> Any:
        judging.set()
        go_on.wait(10)
        return find_faults(*given)

    if during == "review":
        monkeypatch.setattr(ModelExtraction, "_find_faults", wait_and_find_faults)
    async with engine_of(tmp_path, host.model) as engine:
        host.engine, memory = engine, engine.memory(str(project))
        said = "The parser is being rewritten until March"
        answer = Say(text=writes(memory.layout.folder, "n.md", f"{said}.", kind="project"))
        seconds = 0.3 if during == "answer" else 0.0
        host.fork = lambda request: DelayReply(seconds=seconds, step=answer)
        session = await host.open("one")
        await host.turn(session, f"{said}, so could you look at it?")
        if during == "review":
            await wait_until(judging.is_set)
        await host.turn(session, "Don't remember anything from this session.")
        go_on.set()
        await wait_until(lambda: any(each.label == "extraction" for each in session.receipts()))
        await session.close()

        assert (memory.headers(), memory.list_proposals()) == ([], [])
    (receipt,) = [each for each in session.receipts() if each.label == "extraction"]
    assert receipt.outcome is ForkOutcome.UNCHANGED
    assert receipt.requests == 1


@pytest.mark.covers("AM-9")
async def test_closing_waits_for_a_bounded_time(tmp_path: Path, project: Path) -> None:
    """A model that hangs does not keep the host from ending."""
    host = Loop(project)
    async with engine_of(tmp_path, host.model, drain_seconds=0.2) as engine:
        host.engine, host.fork = engine, lambda request: Hang()
        session = await host.open("one")
        await host.turn(session, "Please look at the parser for me")
        await asyncio.wait_for(session.close(), 10)


@pytest.mark.covers("AM-9")
async def test_closing_ends_an_extraction_that_ran_when_memory_was_turned_off(
    tmp_path: Path, project: Path
) -> None:
    """It went on after the session, and what it had used was counted nowhere."""
    host = Loop(project)
    async with engine_of(tmp_path, host.model, drain_seconds=0.2) as engine:
        host.engine, host.fork = engine, lambda request: Hang()
        session = await host.open("one")
        await host.turn(session, "Please look at the parser for me")
        await wait_until(lambda: any(map(is_fork, host.model.requests)))
        session.turn_memory_off()
        await asyncio.wait_for(session.close(), 10)

        assert [each.label for each in session.receipts()] == ["extraction"]


@pytest.mark.covers("AM-5")
async def test_extraction_that_fails_is_told(tmp_path: Path, project: Path) -> None:
    """Nothing fails silently: the event names the reason, and the fork's receipt its outcome."""
    host = Loop(project)
    async with engine_of(tmp_path, host.model) as engine:
        host.engine, host.fork = (
            engine,
            lambda request: Fail(error=ModelUnavailable("the provider is down")),
        )
        session = await host.open("one")
        await host.turn(session, "The parser belongs to the platform team, by the way")
        await session.close()

    (failed,) = host.of(ExtractionFailed)
    assert "the provider is down" in failed.why
    assert not host.of(MemoryChanged)
