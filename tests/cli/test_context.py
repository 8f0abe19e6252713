"""`memorist context`: a folder's first context, a recorded session's pieces."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from support.program import run_program


def run(*arguments: str, cwd: Path, code: int = 0) -> str:
    made = run_program(*arguments, cwd=cwd)
    assert made.returncode == code, made.stderr
    return made.stdout if code == 0 else made.stderr


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with instruction files of both families, and one that is too far away."""
    (tmp_path / "app" / ".git").mkdir(parents=True)
    (tmp_path / "app" / "CLAUDE.md").write_text("Be kind. @notes.md @gone.md", "utf-8")
    (tmp_path / "app" / "notes.md").write_text("Notes.", "utf-8")
    (tmp_path / "app" / "AGENTS.md").write_text("Be quick.", "utf-8")
    (tmp_path / "app" / "CLAUDE.local.md").symlink_to(tmp_path / "outside.md")
    (tmp_path / "outside.md").write_text("not yours", "utf-8")
    return tmp_path / "app"


def record(**values: Any) -> str:
    return json.dumps(values)


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A rollout of two turns."""
    path = tmp_path / "rollout.jsonl"

    def item(role: str, text: str) -> str:
        kind = "output_text" if role == "assistant" else "input_text"
        return record(
            timestamp="2026-11-22T06:00:00Z", type="response_item",
            payload={"type": "message", "role": role, "content": [{"type": kind, "text": text}]},
        )  # fmt: skip

    head = record(
        timestamp="2026-11-22T06:00:00Z", type="session_meta",
        payload={"id": "s", "timestamp": "2026-11-22T06:00:00Z", "cwd": "/w", "cli_version": "0.1", "originator": "codex_cli"},
    )  # fmt: skip
    lines = [
        head,
        item("developer", "<permissions instructions>\nask\n</permissions instructions>"),
        item("user", "<environment_context>\n  <cwd>/w</cwd>\n</environment_context>"),
        item("user", "first"),
        item("assistant", "done"),
        item("user", "second"),
    ]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


@pytest.mark.covers("CX-9", "CX-4")
def test_a_folder_shows_what_would_be_said_first(project: Path) -> None:
    """Every piece with tokens, source and reason; what is left out with its reason; in both
    families.
    """
    native = json.loads(run("context", ".", "--json", cwd=project))
    rollout = json.loads(run("context", ".", "--json", "--family", "rollout", cwd=project))

    assert (native["family"], native["turn"]) == ("file-native", 1)
    assert [item["source"] for item in native["items"] if item["tag"] == "system-reminder"] == [
        str(project / "CLAUDE.md"), str(project / "notes.md"), "the clock",
    ]  # fmt: skip
    assert native["tokens"] == sum(item["tokens"] for item in native["items"])
    assert set(native["items"][0]) == {"role", "tag", "tokens", "source", "why", "text"}
    assert {Path(left["source"]).name for left in native["left_out"]} == {
        "gone.md",
        "CLAUDE.local.md",
    }
    assert "not yours" not in json.dumps(native)
    assert [item["tag"] for item in rollout["items"]] == [
        "permissions instructions",
        "AGENTS.md",
        "environment_context",
    ]
    assert "no host has said otherwise" in rollout["items"][0]["why"]


@pytest.mark.covers("CX-9")
def test_a_person_can_read_it(project: Path) -> None:
    """Paths as people write them, a sum first, what is missing last."""
    text = run("context", ".", cwd=project)

    assert text.startswith(
        "What memorist would say first in this folder, file-native family: about "
    )
    assert "system-reminder  notes.md" in text
    assert "imported" in text
    assert "outside the project" in text
    assert str(project) not in text.partition("outside the project")[0]


@pytest.mark.covers("CX-9")
def test_the_index_of_memory_is_part_of_it(project: Path) -> None:
    """What `memory add` wrote stands in the first context of both families, framed once."""
    run("memory", "add", "The user likes short answers.", "--kind", "user", cwd=project)

    for family in ("file-native", "rollout"):
        items = json.loads(run("context", ".", "--json", "--family", family, cwd=project))["items"]
        (index,) = [item for item in items if item["source"].endswith("MEMORY.md")]
        assert "short answers" in index["text"]
        assert index["text"].count("<system-reminder>") == (1 if family == "file-native" else 0)


@pytest.mark.covers("CX-9")
def test_a_recorded_session_shows_its_pieces_at_a_turn(session: Path, tmp_path: Path) -> None:
    """Its own family; the pieces of the table, and the conversation in one line."""
    first = json.loads(run("context", str(session), "--turn", "1", "--json", cwd=tmp_path))
    text = run("context", str(session), cwd=tmp_path)

    assert (first["family"], first["turn"]) == ("rollout", 1)
    assert [item["tag"] for item in first["items"]] == [
        "permissions instructions",
        "environment_context",
        "prompt",
    ]
    assert "conversation: 2 prompts, 1 reply" in text


@pytest.mark.covers("CX-9")
def test_tokens_are_counted_for_a_model(session: Path, project: Path) -> None:
    """The one that is named, else the one of the recording, else none; the output says which and by
    what factor.
    """

    def counts(place: Path, *options: str) -> tuple[object, float, int]:
        found = json.loads(run("context", str(place), "--json", *options, cwd=project))
        return found["model"], found["factor"], found["tokens"]

    model, factor, plain = counts(session)
    assert (model, factor) == (None, 1.0)
    turn = record(
        timestamp="2026-11-22T06:00:01Z",
        type="turn_context",
        payload={"cwd": "/w", "model": "gpt-5"},
    )
    head, *rest = session.read_text("utf-8").splitlines()
    session.write_text("\n".join([head, turn, *rest]) + "\n", "utf-8")

    assert counts(session)[:2] == ("gpt-5", 1.05)
    assert counts(session, "--model", "claude-opus-4-7")[:2] == ("claude-opus-4-7", 1.72)
    assert counts(session, "--model", "claude-opus-4-7")[2] > counts(session)[2] > plain
    assert counts(project, "--model", "claude-opus-4-7")[2] > counts(project)[2]
    assert "(counted for gpt-5: bytes / 4 × 1.05)" in run("context", str(session), cwd=project)
    assert "(bytes / 4; --model counts for a model)" in run("context", ".", cwd=project)


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        (["rollout.jsonl", "--turn", "9"], "no turn 9; it has 2", 1),
        ([".", "--turn", "2"], "--turn is of a recorded session", 2),
        ([".", "--diff"], "--diff compares two turns of a recorded session", 2),
        ([".", "--sandbox", "read-only"], "add --family rollout", 2),
        (["rollout.jsonl", "--approval", "never"], "a recorded session has its own", 2),
        (["gone"], "gone", 1),
    ],
)
def test_what_cannot_be_shown_is_one_sentence(
    session: Path, arguments: list[str], said: str, code: int
) -> None:
    """No traceback."""
    error = run("context", *arguments, cwd=session.parent, code=code)

    assert said in error
    assert "Traceback" not in error


@pytest.mark.covers("CX-1", "CX-9")
def test_what_needs_approval_can_be_chosen(project: Path) -> None:
    """The section and the environment say the same."""
    items = json.loads(
        run(
            "context",
            ".",
            "--family",
            "rollout",
            "--approval",
            "never",
            "--sandbox",
            "read-only",
            "--json",
            cwd=project,
        )
    )["items"]

    assert "never" in items[0]["text"]
    assert "read-only" in items[0]["text"]
    assert "as --approval and --sandbox say" in items[0]["why"]
    assert "<approval_policy>never</approval_policy>" in items[-1]["text"]


@pytest.mark.covers("CX-9", "SK-2")
def test_the_catalogue_of_skills_is_part_of_it(project: Path) -> None:
    """In both families, in its tag; a broken file is named among what is left out."""
    for name, text in (("good", "---\ndescription: ships it\n---\n"), ("bad", "no header")):
        (project / ".agents" / "skills" / name).mkdir(parents=True)
        (project / ".agents" / "skills" / name / "SKILL.md").write_text(text, "utf-8")

    for family, tag in (("file-native", "system-reminder"), ("rollout", "skills_instructions")):
        found = json.loads(run("context", ".", "--json", "--family", family, cwd=project))
        (listed,) = [item for item in found["items"] if item["source"] == "the skills' folders"]
        assert (listed["tag"], "good: ships it" in listed["text"]) == (tag, True)
        assert (
            listed["why"]
            == "1 skill that a message may call for, within 2% of a window of 200,000 tokens"
        )
        (missed,) = [each for each in found["left_out"] if each["source"].endswith("bad/SKILL.md")]
        assert "header" in missed["why"]


@pytest.mark.covers("CX-9")
def test_a_turn_is_compared_with_the_one_before(session: Path, tmp_path: Path) -> None:
    """What the turn added is marked, what stood is the same; the sums are of each kind; the first
    turn is all new.
    """
    second = json.loads(
        run("context", str(session), "--turn", "2", "--diff", "--json", cwd=tmp_path)
    )
    first = json.loads(
        run("context", str(session), "--turn", "1", "--diff", "--json", cwd=tmp_path)
    )
    text = run("context", str(session), "--turn", "2", "--diff", cwd=tmp_path)

    assert [item["change"] for item in second["items"]] == [
        "same",
        "same",
        "same",
        "added",
        "added",
    ]
    assert second["added"] == sum(item["tokens"] for item in second["items"][3:])
    assert {item["change"] for item in first["items"]} == {"added"}
    assert "+        " in text
    assert "since the turn before: " in text


@pytest.mark.covers("CX-9", "CP-17")
def test_what_a_compaction_took_away_is_shown_as_gone(session: Path, tmp_path: Path) -> None:
    """Where it stood, and not in the sum; without a turn the end is compared with the beginning of
    the last one.
    """
    kept = {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": "second"}],
    }
    compacted = record(
        timestamp="2026-11-22T06:01:00Z",
        type="compacted",
        payload={"message": "", "replacement_history": [kept]},
    )
    session.write_text(session.read_text("utf-8") + compacted + "\n", "utf-8")

    found = json.loads(run("context", str(session), "--diff", "--json", cwd=tmp_path))

    assert [item["change"] for item in found["items"]] == ["gone", "gone", "gone", "gone", "same"]
    assert found["tokens"] == found["items"][-1]["tokens"]
    assert found["gone"] == sum(item["tokens"] for item in found["items"][:-1])


@pytest.mark.covers("RO-7")
def test_a_folder_shows_the_memory_of_its_past_sessions(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a session left behind stands in the listing of its folder as the next session is shown
    it, with its file, in both families; `long_term = "auto_memory"` leaves it out.
    """
    folder = Path(os.environ["HOME"]) / ".codex" / "sessions"
    folder.mkdir(parents=True)

    def item(role: str, text: str) -> str:
        kind = "output_text" if role == "assistant" else "input_text"
        payload = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
        return record(timestamp="2026-11-20T06:00:00Z", type="response_item", payload=payload)

    head = {
        "id": "0199a213-0000-7000-8000-000000000001",
        "timestamp": "2026-11-20T06:00:00Z",
        "cwd": str(project),
        "cli_version": "0.1",
        "originator": "codex_cli",
    }
    lines = [
        record(timestamp="2026-11-20T06:00:00Z", type="session_meta", payload=head),
        item("user", "From now on always run the linter before you commit. Fix the totals."),
        item("assistant", "The totals are fixed and the linter is clean."),
    ]
    path = folder / "rollout-2026-11-20T06-00-00-0199a213-0000-7000-8000-000000000001.jsonl"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    run("import", "--yes", cwd=project)

    for family in ("rollout", "file-native"):
        listed = json.loads(run("context", ".", "--family", family, "--json", cwd=project))
        (shown,) = (
            each for each in listed["items"] if each["source"].endswith("memory_summary.md")
        )
        assert "linter" in shown["text"]
        assert shown["why"] == "memory of past sessions"
    monkeypatch.setenv("MEMORIST_LONG_TERM", "auto_memory")
    assert "memory_summary.md" not in run("context", ".", "--json", cwd=project)
