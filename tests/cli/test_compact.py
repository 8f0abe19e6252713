"""`memorist compact`: what a compaction would keep, cut and say."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from memorist.cli.main import memorist_group
from memorist.formats import transcript_format
from memorist.formats.transcript_format import SkippedLine
from memorist.store.transcript_reader import UnpackedUtf8Lines
from memorist.testing import HttpError, Say, ScriptedServer
from support.program import run_program

STRATEGIES = ["auto", "micro", "session-memory", "full", "inline", "structural", "tail"]


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return run_program("compact", *arguments, cwd=cwd)


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A Claude Code session with a limit, twenty reads, and a last question."""
    records: list[dict[str, Any]] = []

    def add(kind: str, message: dict[str, Any]) -> None:
        number = len(records) + 1
        parent = f"00000000-0000-4000-8000-{number - 1:012d}" if number > 1 else None
        uuid = f"00000000-0000-4000-8000-{number:012d}"
        about = {
            "sessionId": "s",
            "cwd": "/home/dev/shop",
            "version": "2.1.0",
            "isSidechain": False,
            "timestamp": "2026-01-02T03:04:05.000Z",
        }
        records.append(
            {"type": kind, "uuid": uuid, "parentUuid": parent, **about, "message": message}
        )

    add("user", {"role": "user", "content": "Find the rounding mistake. Never change the schema."})
    for turn in range(20):
        use = {
            "type": "tool_use",
            "id": f"toolu_{turn}",
            "name": "Read",
            "input": {"file_path": f"/home/dev/shop/part_{turn}.py"},
        }
        add(
            "assistant",
            {
                "id": f"msg_{turn}",
                "role": "assistant",
                "model": "claude-opus-4-6",
                "content": [use],
                "usage": {"input_tokens": 900},
            },
        )
        text = "".join(f"total_{turn} = round(price_{turn}, {line})\n" for line in range(120))
        add(
            "user",
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": f"toolu_{turn}", "content": text}
                ],
            },
        )
    answer = [{"type": "text", "text": "part_7.py rounds twice."}]
    add(
        "assistant",
        {
            "id": "msg_x",
            "role": "assistant",
            "model": "claude-opus-4-6",
            "content": answer,
            "usage": {"input_tokens": 900},
        },
    )
    add("user", {"role": "user", "content": "And what is left to do?"})
    path = tmp_path / "session.jsonl"
    path.write_text("\n".join(json.dumps(record) for record in records) + "\n", "utf-8")
    return path


@pytest.mark.covers("CP-10", "CP-16", "CP-17")
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_json_holds_what_is_promised_for_every_strategy(session: Path, strategy: str) -> None:
    """The object's keys; the messages are such as the API takes: calls with their results, and the
    last question.
    """
    said = run(
        session.name, "--strategy", strategy, "--budget", "9000", "--json", cwd=session.parent
    )
    found = json.loads(said.stdout)
    uses = [
        block["id"]
        for message in found["messages"]
        for block in message["content"]
        if isinstance(block, dict) and block["type"] == "tool_use"
    ]
    results = [
        block["tool_use_id"]
        for message in found["messages"]
        for block in message["content"]
        if isinstance(block, dict) and block["type"] == "tool_result"
    ]

    assert said.returncode == 0
    assert set(found) == {
        "strategy",
        "at",
        "tokens_before",
        "tokens_after",
        "messages",
        "cut",
        "restored",
    }
    assert uses == results
    assert found["tokens_after"] <= found["tokens_before"]
    assert "And what is left to do?" in json.dumps(found["messages"])
    assert all(set(cut) == {"id", "tokens", "why"} for cut in found["cut"])
    assert (
        strategy in {"micro", "tail"}
        or found["strategy"] == "unchanged"
        or "Never change the schema." in json.dumps(found["messages"])
    )


@pytest.mark.covers("CP-17")
def test_what_was_cut_can_be_shown_by_its_id(session: Path) -> None:
    """Every id under "cut" leads to its whole text."""
    cut = json.loads(
        run(
            session.name,
            "--strategy",
            "structural",
            "--budget",
            "4000",
            "--json",
            cwd=session.parent,
        ).stdout
    )["cut"]
    shown = run(session.name, "--show", "toolu_3", cwd=session.parent)
    by_message = run(session.name, "--show", cut[0]["id"], cwd=session.parent)

    assert "total_3 = round(price_3, 119)" in shown.stdout
    assert by_message.returncode == 0


@pytest.mark.covers("CP-17")
def test_a_call_that_was_cut_is_shown_whole_by_the_id_that_it_names(session: Path) -> None:
    """A file of 60,000 characters that was just written: the text in its place says where the whole
    is, and there it is.
    """
    rows = "".join(f"row {number}\n" for number in range(6_000))
    (line, *_) = session.read_text("utf-8").splitlines()[-2:-1]
    call = json.loads(line)
    number = len(session.read_text("utf-8").splitlines()) + 1
    uuids = [f"00000000-0000-4000-8000-{number + step:012d}" for step in range(-1, 3)]
    use = {"type": "tool_use", "id": "w", "name": "Write", "input": {"path": "t", "content": rows}}
    result = {"type": "tool_result", "tool_use_id": "w", "content": "written"}
    with session.open("a", encoding="utf-8") as file:
        for step, (kind, block) in enumerate((("assistant", use), ("user", result))):
            message = {"role": kind, "content": [block]}
            message |= {"id": "m", "model": "claude-opus-4-6"} if kind == "assistant" else {}
            about = {"type": kind, "uuid": uuids[step + 1], "parentUuid": uuids[step]}
            file.write(json.dumps(call | about | {"message": message}) + "\n")

    shown = run(str(session), "--budget", "3000", "--json", cwd=session.parent).stdout
    (id,) = re.findall(r"\[whole text: ([\w-]+)\]", shown)

    assert "row 3000" not in shown
    assert rows in run(str(session), "--show", id, cwd=session.parent).stdout


def test_apply_writes_a_new_session_and_dry_run_writes_nothing(session: Path) -> None:
    """The source stays as it is; the new file can be read again; an existing file is not
    overwritten.
    """
    before = session.read_bytes()
    dry = run(
        session.name,
        "--strategy",
        "structural",
        "--budget",
        "4000",
        "--apply",
        "dry.jsonl",
        "--dry-run",
        cwd=session.parent,
    )
    made = run(
        session.name,
        "--strategy",
        "structural",
        "--budget",
        "4000",
        "--apply",
        "small.jsonl",
        cwd=session.parent,
    )
    again = run(
        session.name,
        "--strategy",
        "structural",
        "--budget",
        "4000",
        "--apply",
        "small.jsonl",
        cwd=session.parent,
    )
    entries = list(
        transcript_format.read_session(UnpackedUtf8Lines(session.parent / "small.jsonl"))
    )

    assert (dry.returncode, made.returncode, again.returncode) == (0, 0, 1)
    assert not (session.parent / "dry.jsonl").exists()
    assert session.read_bytes() == before
    assert not [entry for entry in entries if isinstance(entry, SkippedLine)]


@pytest.mark.parametrize(
    ("at", "messages"), [("1", 1), ("00000000-0000-4000-8000-000000000003", 3)]
)
def test_a_message_is_named_by_its_number_or_its_id(session: Path, at: str, messages: int) -> None:
    """The conversation is the one that the model was shown then."""
    found = json.loads(run(session.name, "--at", at, "--json", cwd=session.parent).stdout)

    assert found["strategy"] == "unchanged"
    assert found["at"].endswith(f"{messages:012d}")


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--at", "999"], 1),
        (["--show", "nobody"], 1),
        (["--instructions", "x"], 2),
        (["--strategy", "other"], 2),
        (["--budget", "3"], 2),
    ],
)
def test_a_wrong_call_is_one_clear_sentence(
    session: Path, arguments: list[str], status: int
) -> None:
    """No traceback, and the right status."""
    said = run(session.name, *arguments, cwd=session.parent)

    assert said.returncode == status
    assert "Traceback" not in said.stderr


@pytest.mark.covers("CP-7", "SG-1")
@pytest.mark.parametrize("strategy", ["full", "inline"])
def test_a_summary_that_cannot_be_used_gives_way_to_structure(
    session: Path, strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that refuses is named with its reason; what is printed is the digest, and the run
    stands in the receipts of the home.
    """
    refusal = HttpError(code=401, message="no such key", kind="authentication_error")
    monkeypatch.chdir(session.parent)
    with ScriptedServer([refusal]) as server:
        done = CliRunner().invoke(
            memorist_group,
            [
                "compact",
                str(session),
                *("--strategy", strategy, "--budget", "2000"),
                *("--model", f"openai-chat:tiny@{server.openai_url}"),
            ],
            catch_exceptions=False,
        )
    status = CliRunner().invoke(memorist_group, ["status", "--json"], catch_exceptions=False)

    assert done.exit_code == 0
    assert "no such key" in done.stderr
    assert "structural at message" in done.stdout
    kinds = {kind["label"]: kind["runs"] for kind in json.loads(status.stdout)["kinds"]}
    assert kinds == {"compact": 1}


@pytest.mark.covers("CP-7")
def test_a_summary_is_asked_within_the_window_that_the_server_tells(
    session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A conversation that is larger than a small model's window is cut before it goes out, and not
    by one refusal after the other.
    """
    answer = "Rounding is looked at. " + " ".join(f"part_{turn}.py" for turn in range(20))
    monkeypatch.chdir(session.parent)
    with ScriptedServer(lambda request: Say(text=answer), window=8_000) as server:
        done = CliRunner().invoke(
            memorist_group,
            [
                "compact",
                str(session),
                *("--strategy", "full", "--budget", "2000"),
                *("--model", f"openai-chat:tiny@{server.openai_url}"),
            ],
            catch_exceptions=False,
        )

    asked = [each for each in server.requests if each.path.endswith("/chat/completions")]
    assert done.exit_code == 0
    assert server.refusals == []
    assert len(asked) == 1


@pytest.mark.covers("CP-6")
def test_cached_microcompact_shows_the_edit_and_changes_no_message(session: Path) -> None:
    """What the provider is asked to clear are the results that microcompact would clear itself."""
    cached = json.loads(
        run(session.name, "--strategy", "micro-cached", "--json", cwd=session.parent).stdout
    )
    plain = json.loads(
        run(session.name, "--strategy", "micro", "--json", cwd=session.parent).stdout
    )

    assert cached["edit"]["type"] == "clear_tool_uses_20250919"
    assert sorted(cached["ids"]) == sorted(each["id"] for each in plain["cut"])


@pytest.mark.covers("CP-6")
def test_a_way_that_changes_no_message_writes_no_file(session: Path) -> None:
    """Who asks for a file is told that there is none, and where the edit is shown."""
    refused = run(
        session.name, "--strategy", "micro-cached", "--apply", "out.json", cwd=session.parent
    )

    assert refused.returncode == 2
    assert "leave --apply out" in refused.stderr
    assert not (session.parent / "out.json").exists()


@pytest.mark.covers("CP-9")
def test_the_sizes_of_the_settings_hold_for_notes_that_stand_in(session: Path) -> None:
    """`session_memory.section_tokens` and `structural_tokens` cut the notes that are made here, as
    they cut those of a live session.
    """

    def size(**settings: str) -> int:
        given = {f"MEMORIST_SESSION_MEMORY__{name}": value for name, value in settings.items()}
        arguments = ["compact", str(session), "--strategy", "full", "--json"]
        found = CliRunner().invoke(memorist_group, arguments, env=given)
        tokens: int = json.loads(found.output)["tokens_after"]
        return tokens

    assert size(SECTION_TOKENS="20") < size()
    assert size(STRUCTURAL_TOKENS="100") < size()


@pytest.mark.covers("CP-5", "CP-9")
@pytest.mark.parametrize(
    ("strategy", "said"),
    [
        ("micro", "28 of 43 messages stay as they are, 15 are shortened"),
        ("full", "2 of 43 messages stay as they are, 41 are cut"),
    ],
)
def test_each_message_counts_once_in_what_is_said_of_them(
    session: Path, strategy: str, said: str
) -> None:
    """A message whose result was cleared does not stay as it is, and is not gone either."""
    shown = run(session.name, "--strategy", strategy, "--dry-run", cwd=session.parent)

    assert said in shown.stdout


@pytest.mark.covers("CP-9")
def test_a_conversation_of_newest_messages_alone_is_called_so(tmp_path: Path) -> None:
    """The agent has answered everything, so nothing waits for an answer."""
    records = [
        {"type": kind, "uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None,
         "sessionId": "s", "cwd": "/home/dev/shop", "version": "2.1.0", "isSidechain": False,
         "timestamp": "2026-01-02T03:04:05.000Z",
         "message": {"role": kind, "content": [{"type": "text", "text": text}]}}
        for number, (kind, text) in enumerate(
            [("user", "Is this branch clean?"), ("assistant", "It is clean. " * 900)]
        )
    ]  # fmt: skip
    path = tmp_path / "session.jsonl"
    path.write_text("\n".join(json.dumps(record) for record in records) + "\n", "utf-8")

    shown = run(path.name, "--strategy", "session-memory", "--dry-run", cwd=tmp_path)

    assert "waits for an answer" not in shown.stdout + shown.stderr
    assert "The newest messages" in shown.stdout + shown.stderr


@pytest.mark.covers("CP-5", "CP-17")
def test_auto_clears_no_more_results_than_it_takes_to_fit(session: Path) -> None:
    """Twenty results of some 1,900 tokens: within 20,000 stay all that fit, not the newest five."""
    said = run(session.name, "--budget", "20000", "--json", cwd=session.parent)
    found = json.loads(said.stdout)

    assert found["strategy"] == "micro"
    assert 18_000 < found["tokens_after"] <= 20_000 < found["tokens_before"]
