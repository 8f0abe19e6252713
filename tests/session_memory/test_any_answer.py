"""Whatever a model answers when the notes are due, they hold what structure alone would hold."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from memorist.cli.main import memorist_group
from memorist.core.prompt_templates import load_prompt
from memorist.session_memory.notes_template import parse_section_bodies, parse_template_sections
from memorist.testing import Say, ScriptedServer
from memorist.transcript_analysis.names_in_text import NameOccurrenceLookup, find_recognizable_names

SESSION = Path("examples/sessions/agent-loop-log-rotation.jsonl").absolute()
TEMPLATE = load_prompt("session_memory/template")
TITLES = [frame.title for frame in parse_template_sections(TEMPLATE)]


def replay(folder: Path, model: str) -> str:
    """The notes after a replay of the session."""
    done = CliRunner().invoke(
        memorist_group,
        ["replay", str(SESSION), "--out", str(folder), "--model", model],
        catch_exceptions=False,
    )
    assert done.exit_code == 0, done.output
    return (folder / SESSION.stem / "session-memory" / "summary.md").read_text()


@pytest.fixture(scope="module")
def structural(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The notes that structure alone makes."""
    return replay(tmp_path_factory.mktemp("structural"), "structural")


def _write_answer(kind: str, notes: str) -> str:
    """What models of some size wrote, in kind."""
    chance, words = random.Random(kind), notes.split()
    if kind == "no form":
        return " ".join(chance.sample(words, 60))
    lines = [line.strip("- ") for line in notes.split("\n") if line.startswith("- ")]
    bodies = parse_section_bodies(notes, TEMPLATE)
    write: dict[str, Callable[[str], list[str]]] = {
        "half right": lambda title: bodies[title].split("\n")[::2],
        "in the wrong sections": lambda title: chance.sample(lines, 4),
        "mixed words": lambda title: [" ".join(chance.sample(words, 12)) for _ in range(5)],
        "looped": lambda title: ["The tests were run again."] * 60,
        "another language": lambda title: ["Die Rotation verliert nachts Protokolle."],
        "empty": lambda title: [],
    }
    return json.dumps({title: write[kind](title) for title in TITLES})


@pytest.mark.covers("SM-5", "SM-13")
@pytest.mark.parametrize(
    "kind",
    [
        "no form",
        "half right",
        "in the wrong sections",
        "mixed words",
        "looped",
        "another language",
        "empty",
    ],
)
def test_no_answer_takes_anything_from_the_notes(
    tmp_path: Path, structural: str, kind: str
) -> None:
    """Every identifier, and every longer word, of the structural notes stands beside it."""
    answer = _write_answer(kind, structural)
    with ScriptedServer(lambda request: Say(text=answer), window=8_000) as server:
        notes = replay(tmp_path, f"openai-chat:tiny@{server.openai_url}")

    present = NameOccurrenceLookup(notes)
    assert [name for name in find_recognizable_names(structural) if not present[name]] == []
    assert _find_words(structural) - _find_words(notes) == set()


def _find_words(text: str) -> set[str]:
    return {word[:6] for word in re.findall(r"\w{7,}", text.lower())}
