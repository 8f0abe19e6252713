"""Replays as a whole: the real loop over made-up and recorded sessions, kills, full disks, and two
of them at once.
"""

from __future__ import annotations

import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from memorist.errors import InputError, UsageError
from memorist.formats import transcript_format
from memorist.formats.transcript_format import SkippedLine
from memorist.ports import Embedder
from memorist.recall import memory_search
from memorist.replay.replay import ReplayOptions, replay_files_to_report
from memorist.settings import Settings
from memorist.store.transcript_reader import UnpackedUtf8Lines
from support.sweeps import sampled


def claude_session(path: Path, turns: int, page: int = 60) -> Path:
    """A Claude Code session of so many turns, each with a call, its result and an answer."""
    records: list[dict[str, Any]] = []

    def add(kind: str, message: dict[str, Any]) -> None:
        number = len(records) + 1
        records.append(
            {
                "type": kind,
                "uuid": f"00000000-0000-4000-8000-{number:012d}",
                "parentUuid": f"00000000-0000-4000-8000-{number - 1:012d}" if number > 1 else None,
                "sessionId": "made-up",
                "cwd": "/home/dev/shop",
                "version": "2.1.0",
                "isSidechain": False,
                "timestamp": f"2026-01-02T03:{number // 60 % 60:02d}:{number % 60:02d}.000Z",
                "message": message,
            }
        )

    def reply(turn: int, step: str, block: dict[str, Any]) -> None:
        usage = {"input_tokens": 12_000 + 2_000 * turn, "output_tokens": 50}
        add(
            "assistant",
            {
                "id": f"msg_{turn}{step}",
                "role": "assistant",
                "model": "claude-opus-4-6",
                "content": [block],
                "stop_reason": "end_turn",
                "usage": usage,
            },
        )

    for turn in range(turns):
        add(
            "user", {"role": "user", "content": f"Request {turn}: look at part {turn} of the shop."}
        )
        reply(
            turn,
            "a",
            {
                "type": "tool_use",
                "id": f"toolu_{turn}",
                "name": "Read",
                "input": {"file_path": f"/home/dev/shop/part_{turn}.py"},
            },
        )
        add(
            "user",
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": f"toolu_{turn}",
                        "content": "line of code\n" * page,
                    }
                ],
            },
        )
        reply(
            turn,
            "b",
            {"type": "text", "text": f"Part {turn} is right because its total is rounded once."},
        )
    path.write_text("\n".join(json.dumps(record) for record in records) + "\n", "utf-8")
    return path


def start(arguments: list[str], cwd: Path, **more: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "memorist", "replay", *arguments],
        cwd=cwd,
        env=dict(os.environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **more,
    )


async def test_every_recorded_session_is_replayed(
    sampled_sessions: list[Path], tmp_path: Path
) -> None:
    """No crash over all of them; what is skipped is explained; the notes name the user's request."""
    replayed = await replay_files_to_report(
        sampled_sessions, ReplayOptions(out=tmp_path, settings=Settings())
    )

    assert not replayed.unread
    assert len(replayed.record.sessions) == len(sampled_sessions)
    assert all(skip.why for record in replayed.record.sessions for skip in record.skipped)
    assert all(record.notes for record in replayed.record.sessions if record.turns)


async def test_a_replay_gives_the_same_notes_every_time(tmp_path: Path) -> None:
    """Nothing depends on the clock or on chance."""
    source = claude_session(tmp_path / "s.jsonl", 20)
    first = await replay_files_to_report(
        [source], ReplayOptions(out=tmp_path / "one", settings=Settings())
    )
    second = await replay_files_to_report(
        [source], ReplayOptions(out=tmp_path / "two", settings=Settings())
    )

    assert first.record.sessions[0].notes == second.record.sessions[0].notes
    assert first.record.sessions[0].updates == second.record.sessions[0].updates


async def test_a_replay_ranks_memories_by_words_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No vector is made, whose time would be chance; a rule of one session is still shown to the
    next where its words stand in a prompt.
    """
    asked = threading.Event()

    def embed() -> Embedder:
        asked.set()
        raise InputError("a replay needs no vectors")

    monkeypatch.setattr(memory_search, "is_embedder_installed", lambda: True)
    monkeypatch.setattr(memory_search, "get_shared_embedder", embed)
    sources = [claude_session(tmp_path / f"{name}.jsonl", 4) for name in "ab"]
    rule = "Never use npm in this repository, we always use pnpm to install packages."
    _say(sources[0], "Request 1: look at part 1 of the shop.", rule)
    _say(sources[1], "Request 2: look at part 2 of the shop.", "Install the packages with npm.")
    replayed = await replay_files_to_report(
        sources, ReplayOptions(out=tmp_path / "out", settings=Settings())
    )

    given = [each.text for each in replayed.record.sessions[1].memory_given]
    assert any("pnpm" in text for text in given)
    assert not asked.is_set()


def _say(session: Path, before: str, after: str) -> None:
    """Put other words into the user's mouth."""
    text = session.read_text()
    assert before in text
    session.write_text(text.replace(before, after))


@pytest.mark.covers("FM-5")
async def test_a_replays_transcript_can_be_replayed(tmp_path: Path) -> None:
    """Memorist's own format is one of those it reads, with the same result."""
    source = claude_session(tmp_path / "s.jsonl", 20)
    first = await replay_files_to_report(
        [source], ReplayOptions(out=tmp_path / "one", settings=Settings())
    )
    again = await replay_files_to_report(
        [tmp_path / "one/s/transcript.jsonl"],
        ReplayOptions(out=tmp_path / "two", settings=Settings()),
    )
    one, two = first.record.sessions[0], again.record.sessions[0]

    assert (two.head.format, two.messages, two.turns, two.tokens_peak) == (
        "memorist",
        one.messages,
        one.turns,
        one.tokens_peak,
    )
    assert [update.tokens for update in two.updates] == [update.tokens for update in one.updates]


async def test_two_files_of_one_name_do_not_overwrite_each_other(tmp_path: Path) -> None:
    """Each gets a folder of its own."""
    paths = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        paths.append(claude_session(tmp_path / name / "s.jsonl", 3))
    await replay_files_to_report(paths, ReplayOptions(out=tmp_path / "out", settings=Settings()))

    assert sorted(path.name for path in (tmp_path / "out").iterdir() if path.is_dir()) == [
        "engine",
        "s",
        "s-2",
    ]


@pytest.mark.parametrize("name", ["engine/main.go", "s/notes.txt", "report.html", "s"])
async def test_a_replay_replaces_nothing_that_is_not_its_own(tmp_path: Path, name: str) -> None:
    """In the working folder of a project its folders may have any name."""
    source = claude_session(tmp_path / "s.jsonl", 3)
    mine = tmp_path / "project" / name
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    options = ReplayOptions(out=tmp_path / "project", settings=Settings())

    with pytest.raises(UsageError, match="no replay made it"):
        await replay_files_to_report([source], options)
    assert mine.read_text() == "mine"


@pytest.mark.parametrize("out", ["/", "~", "."])
async def test_a_replay_fills_neither_a_disk_nor_a_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str
) -> None:
    """A slip, as with a variable that is not set: its folders were made there."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("memorist.replay.replay.make_folders", pytest.fail)
    source = claude_session(tmp_path / "s.jsonl", 3)
    monkeypatch.chdir("/")
    options = ReplayOptions(out=Path(out).expanduser(), settings=Settings())
    with pytest.raises(UsageError, match="a folder of its own"):
        await replay_files_to_report([source], options)
    assert {path.name for path in tmp_path.iterdir()} == {"s.jsonl"}


async def test_hidden_folders_of_others_stay(tmp_path: Path) -> None:
    """Whatever begins as what a killed replay leaves; a second replay replaces the first."""
    source = claude_session(tmp_path / "s.jsonl", 3)
    options = ReplayOptions(out=tmp_path / "out", settings=Settings())
    others = [tmp_path / "out" / name / "file" for name in (".old-s", ".partial-work")]
    for each in others:
        each.parent.mkdir(parents=True)
        each.write_text("mine")
    await replay_files_to_report([source], options)
    others[0].unlink()
    others[0].parent.rmdir()
    await replay_files_to_report([source], options)

    assert others[1].read_text() == "mine"
    assert (tmp_path / "out" / "s" / "transcript.jsonl").exists()


@pytest.mark.covers("SF-5")
@pytest.mark.parametrize("turns", sampled([100, 400], {100}))
def test_a_killed_replay_leaves_nothing_half_written_and_the_next_one_is_whole(
    tmp_path: Path, turns: int
) -> None:
    """Kill -9 at random points: whatever stands under its own name is complete; the next run cleans
    up.
    """
    source = claude_session(tmp_path / "s.jsonl", turns)
    chance = random.Random(7)
    for _ in range(3):
        process = start([str(source), "--out", "out"], tmp_path)
        time.sleep(chance.uniform(0.3, 1.2))
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=30)
        finished = tmp_path / "out" / "s"
        if finished.exists():
            entries = list(
                transcript_format.read_session(UnpackedUtf8Lines(finished / "transcript.jsonl"))
            )
            assert not [entry for entry in entries if isinstance(entry, SkippedLine)]
            assert (finished / "session-memory" / "summary.md").read_text("utf-8").endswith("\n")
    last = start([str(source), "--out", "out"], tmp_path)
    _, errors = last.communicate(timeout=60)

    assert (last.returncode, errors) == (0, "")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "engine",
        "report.html",
        "s",
    ]


@pytest.mark.covers("SF-5")
def test_a_full_disk_is_said_clearly_and_leaves_the_former_result(tmp_path: Path) -> None:
    """No file may grow past 20 kB: the transcript cannot be written, and what was there before
    stays. Each kind of loss has one line in the log, and the last line says why it failed.
    """
    source = claude_session(tmp_path / "s.jsonl", 3)
    start([str(source), "--out", "out"], tmp_path).communicate(timeout=60)
    before = (tmp_path / "out/s/session-memory/summary.md").read_text("utf-8")
    claude_session(source, 60)

    def small_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    process = start([str(source), "--out", "out"], tmp_path, preexec_fn=small_files)
    _, errors = process.communicate(timeout=60)

    assert process.returncode == 1
    assert "Traceback" not in errors
    lines = errors.strip().splitlines()
    assert lines[-1].startswith("memorist: Cannot write ")
    assert len({re.sub(r"\S*/\S*", "", line) for line in lines}) == len(lines) <= 5
    assert (tmp_path / "out/s/session-memory/summary.md").read_text("utf-8") == before


async def test_a_rule_that_stands_in_the_queue_alone_is_kept(tmp_path: Path) -> None:
    """As Claude Code before 2.1.97 recorded what is typed while the agent works."""
    session = claude_session(tmp_path / "session.jsonl", 2)
    lines = session.read_text("utf-8").splitlines()
    done = {"type": "queue-operation", "timestamp": "2026-01-02T03:00:02.500Z"}
    queued = [
        {**done, "operation": "enqueue", "content": "From now on never amend commits."},
        {**done, "operation": "remove"},
    ]
    session.write_text("\n".join([*lines[:2], *map(json.dumps, queued), *lines[2:]]), "utf-8")
    await replay_files_to_report(
        [session], ReplayOptions(settings=Settings(), out=tmp_path / "out")
    )
    kept = [path.read_text("utf-8") for path in (tmp_path / "out").rglob("memory/*.md")]
    assert any("never amend commits" in text for text in kept)


@pytest.mark.covers("CP-12")
async def test_a_replay_compacts_when_all_parallel_results_are_in(tmp_path: Path) -> None:
    """A live session sends no request between them: 200 results larger than the window together are
    one compaction, not one for each.
    """
    path = claude_session(tmp_path / "s.jsonl", 1)
    head = json.loads(path.read_text("utf-8").splitlines()[-1])
    records: list[str] = []

    def add(kind: str, content: list[dict[str, Any]]) -> None:
        uuid = f"10000000-0000-4000-8000-{len(records):012d}"
        message: dict[str, Any] = {"role": kind, "content": content}
        if kind == "assistant":
            message |= {"id": "msg_all", "model": "claude-opus-4-6"}
        parent = json.loads(records[-1])["uuid"] if records else head["uuid"]
        records.append(
            json.dumps(
                {**head, "type": kind, "uuid": uuid, "parentUuid": parent, "message": message}
            )
        )

    add("user", [{"type": "text", "text": "Read all of them."}])
    for number in range(200):
        use = {"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {"n": number}}
        add("assistant", [use])
    for number in range(200):
        text = f"part {number} " + "abc " * 400
        add("user", [{"type": "tool_result", "tool_use_id": f"t{number}", "content": text}])
    with path.open("a", encoding="utf-8") as file:
        file.write("\n".join(records) + "\n")
    made = await replay_files_to_report(
        [path], ReplayOptions(out=tmp_path / "out", settings=Settings(), window=60_000)
    )

    assert len(made.record.sessions[0].compactions) == 1
