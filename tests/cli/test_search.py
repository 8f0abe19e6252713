"""`memorist search` and `Session.search_project`: one search over everything that is kept."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from hooks.recordings import ClaudeFile
from memorist.auto_memory.memory_changes import ChangeReason, MemoryChange
from memorist.auto_memory.memory_file import MemoryKind, Provenance, Trust, create_memory_file
from memorist.cli import search_command
from memorist.cli.main import memorist_group as main
from memorist.engine.engine import Memorist
from memorist.models.embedder import is_embedder_installed
from memorist.models.multilingual_embedder import is_multilingual_embedder_installed
from memorist.recall import memory_search
from memorist.settings import Settings
from support.past_sessions import ROUNDING, write_session


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a memory, a team's memory, a recorded session, notes, and a handbook."""
    project = tmp_path / "shop"
    (project / ".git").mkdir(parents=True)
    home = tmp_path / "home"
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MEMORIST_HOME", str(home))
    recorded = tmp_path / ".claude" / "projects" / "shop"
    recorded.mkdir(parents=True)
    write_session(recorded, "aaaa", ROUNDING, 5)
    path = recorded / "aaaa.jsonl"
    path.write_text(path.read_text().replace('"/p"', json.dumps(str(project))))
    (home / "memories").mkdir(parents=True)
    (home / "memories" / "MEMORY.md").write_text(
        "# Task Group: shop\n\nSome words.\n\n## Task 1\n\n- VAT rounding went wrong in March\n"
    )
    return project


@pytest.mark.covers("RC-3")
def test_a_question_in_another_language_is_answered(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a memory in English, already the first time: it waits for the model of other languages."""
    if not is_multilingual_embedder_installed():
        pytest.skip("the extra `embed` is not installed")
    monkeypatch.chdir(shop)
    monkeypatch.setenv("MEMORIST_RECALL__EMBEDDINGS", "true")
    run = CliRunner().invoke
    run(main, ["memory", "add", "Never push to main; open a pull request"])

    for command in ("recall", "search"):
        assert "never-push-to-main" in run(main, [command, "可以直接推送到主分支吗？"]).output


async def fill(project: Path, home: Path) -> None:
    """Two memories, and the notes of a session."""
    engine = Memorist(settings=Settings(home=str(home)), model="structural")
    engine.starts_workers = False
    for name in ("totals", "team/cash"):
        engine.memory(str(project)).add(
            f"VAT rounding is per line ({name}).",
            kind=MemoryKind.PROJECT,
            name=name,
            description="rounding",
        )
    session = await engine.open("old", project=str(project))
    session.layout.notes.parent.mkdir(parents=True, exist_ok=True)
    session.layout.notes.write_text("# Current state\n\nVAT rounding is half done.\n\n# Worklog\n")
    await session.close()
    await engine.close()


@pytest.mark.parametrize("query", ["how do we round the VAT", "🎉"])
def test_where_there_is_nothing_no_model_is_loaded(
    shop: Path, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    """A search before anything was said or remembered answers at once."""
    if not is_embedder_installed():
        pytest.skip("the extra `embed` is not installed")
    monkeypatch.setenv("MEMORIST_RECALL__EMBEDDINGS", "true")
    shutil.rmtree(shop.parent / ".claude")
    shutil.rmtree(shop.parent / "home")
    loaded: list[object] = []
    for module in (memory_search, search_command):
        for name in {"get_shared_embedder", "get_embedder_if_wanted"} & set(vars(module)):
            real = getattr(module, name)

            def load(real: Callable[..., object] = real, **wanted: bool) -> object:
                embedder = real(**wanted)
                loaded.append(embedder)
                return embedder

            monkeypatch.setattr(module, name, load)
    run = CliRunner().invoke
    answer = run(main, ["search", query])

    assert answer.stdout == "nothing found in this project; --all searches every one\n"
    assert not any(loaded)


def test_signs_without_a_word_are_found_as_they_stand(shop: Path) -> None:
    """An emoji, an operator: in memories and past sessions, and nothing where they are not."""
    run = CliRunner().invoke
    recorded = next((shop.parent / ".claude").rglob("aaaa.jsonl"))
    write_session(recorded.parent, "bbbb", [("ship it 🚀 now", "Shipped with a => b.")], 4)
    path = recorded.with_name("bbbb.jsonl")
    path.write_text(path.read_text().replace('"/p"', json.dumps(str(shop))))
    run(main, ["memory", "add", "Release notes end with 🎉"])

    found = {
        signs: json.loads(run(main, ["search", "--json", "--", signs]).stdout)
        for signs in ("🎉", "🚀", "=>", "🐙")
    }

    assert [each["path"] for each in found["🎉"]["memories"]] == ["release-notes-end-with.md"]
    assert [each["session"] for each in found["🚀"]["passages"]] == ["bbbb"]
    assert [each["session"] for each in found["=>"]["passages"]] == ["bbbb"]
    assert not found["🐙"]["memories"]
    assert not found["🐙"]["passages"]


@pytest.mark.covers("PS-1")
def test_one_search_finds_every_kind(shop: Path, tmp_path: Path) -> None:
    """A memory, a turn, notes and the memory of past sessions, each with its kind and place; as
    text, as JSON, by the SDK; one turn is opened whole.
    """
    run = CliRunner().invoke
    asyncio.run(fill(shop, tmp_path / "home"))

    text = run(main, ["search", "VAT rounding"])
    assert text.exit_code == 0, text.output
    for part in (
        "memory      totals.md",
        "session 1",
        "aaaa.jsonl:1",
        "summary.md:1",
        "MEMORY.md:5",
    ):
        assert part in text.output, text.output
    assert "you   Invoice totals are off by a cent" in text.output
    assert "~/.claude/projects/" in text.output, "a place is named from the home folder on"

    found = json.loads(run(main, ["search", "VAT rounding", "--json"]).output)
    assert {each["kind"] for each in found["sections"]} == {"notes", "rollout memory"}
    assert {each["kind"] for each in found["passages"]} == {"session"}
    assert "memory" in {each["kind"] for each in found["memories"]}

    whole = run(main, ["search", "bankers rounding", "--open", "1"])
    assert "you:\nNo: bankers rounding, per line, never on the invoice total." in whole.output
    assert "agent:\nDone, per line." in whole.output
    opened = json.loads(run(main, ["search", "bankers rounding", "--open", "1", "--json"]).output)
    assert opened["turns"][0]["answered"] == "Done, per line."
    assert run(main, ["search", "bankers rounding", "--open", "9"]).exit_code == 1
    assert (
        run(main, ["search", "kubernetes ingress"]).output
        == "nothing found in this project; --all searches every one\n"
    )


def test_a_turn_that_has_none_of_the_words_is_marked(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is found by its meaning alone is told from what was said so: a word that nobody ever
    said "found" the nearest turns.
    """
    if not is_embedder_installed():
        pytest.skip("the extra `embed` is not installed")
    monkeypatch.setenv("MEMORIST_RECALL__EMBEDDINGS", "true")
    run = CliRunner().invoke

    nobodys = run(main, ["search", "zzqqxx"]).stdout
    said = run(main, ["search", "bankers rounding"]).stdout

    assert [line for line in nobodys.splitlines() if line.startswith("session ")]
    assert all("near in meaning" in line for line in nobodys.splitlines() if line[:8] == "session ")
    assert "near in meaning" not in said.splitlines()[0]
    assert run(main, ["search", "--all", "🎉"]).stdout == "nothing found\n"


@pytest.mark.covers("PS-1")
async def test_a_host_searches_the_same(shop: Path, tmp_path: Path) -> None:
    """`Session.search_project` finds memories and notes of its project, and nothing for no words."""
    await fill(shop, tmp_path / "home")
    engine = Memorist(settings=Settings(home=str(tmp_path / "home")), model="structural")
    engine.starts_workers = False
    session = await engine.open("now", project=str(shop))
    results = session.search_project("VAT rounding")

    assert "totals.md" in [each.path for each in results.memories]
    assert {each.document.kind for each in results.sections} == {"notes", "rollout memory"}
    assert not session.search_project("  ")
    await session.close()
    await engine.close()


@pytest.mark.parametrize("taken_out", ["forget", "rm"])
def test_what_you_forgot_is_not_brought_back_from_the_session(
    shop: Path, tmp_path: Path, taken_out: str
) -> None:
    """A memory that you forgot, or whose file you deleted, came back as your own quoted words at
    the next prompt about it. Undone it is shown again; a search shows all there is.
    """
    run = CliRunner().invoke
    rule = ROUNDING[1][0]
    asked = ["recall", "bankers rounding per line, never on the invoice total"]
    run(main, ["search", "bankers rounding"])
    assert f"“{rule}”" in run(main, asked).output
    added = run(main, ["memory", "add", "--name", "rounding", rule])
    assert "remembered: rounding.md" in added.output, added.output
    assert f"“{rule}”" in run(main, asked).output

    if taken_out == "forget":
        run(main, ["memory", "forget", "--yes", "rounding.md"])
    else:
        next((tmp_path / "home").glob("projects/*/memory/rounding.md")).unlink()

    assert rule not in run(main, asked).output
    assert rule in run(main, ["search", "bankers rounding"]).output
    run(main, ["memory", "undo", "--yes"])
    assert f"“{rule}”" in run(main, asked).output


def test_what_you_forgot_is_not_brought_back_by_the_question_that_you_answered(shop: Path) -> None:
    """The agent had asked about that very sentence."""
    run = CliRunner().invoke
    rule = ROUNDING[1][0]
    asked = f"Which holds for credit notes, “{rule}” or half up?"
    file = ClaudeFile("bbbb", str(shop))
    file.user("Go on with the credit notes.")
    questions = {"questions": [{"question": asked, "header": "Rounding", "options": []}]}
    answers = f'User has answered your questions: "{asked}"="The former". You can now continue.'
    file.replies("AskUserQuestion", questions, answers, refused=False)
    file.says("I wrote it down.")
    recorded = next((shop.parent / ".claude").rglob("aaaa.jsonl"))
    recorded.write_bytes(b"".join(file.lines))
    prompt = ["recall", "which rounding holds for credit notes, bankers rounding or half up?"]
    run(main, ["search", "credit notes"])
    assert "“The former”" in run(main, prompt).output
    run(main, ["memory", "add", "--name", "rounding", rule])

    run(main, ["memory", "forget", "--yes", "rounding.md"])

    assert rule not in run(main, prompt).output


def test_what_you_accepted_and_forgot_is_not_brought_back_either(
    shop: Path, tmp_path: Path
) -> None:
    """A memory that waited for your yes does not quote you, the change that made it does."""
    run = CliRunner().invoke
    rule = ROUNDING[1][0]
    run(main, ["search", "bankers rounding"])
    topic = create_memory_file(
        "rounding.md",
        kind=MemoryKind.FEEDBACK,
        name="rounding",
        description="bankers rounding per line",
        body="bankers rounding per line",
        provenance=Provenance(trust=Trust.REVIEWED),
    )
    engine = Memorist(settings=Settings(home=str(tmp_path / "home")), model="structural")
    engine.memory(str(shop)).write(
        [MemoryChange(path=topic.path, before=None, after=topic.text().encode())],
        ChangeReason(actor="inbox", what="accepted: bankers rounding", quote=rule),
    )
    asyncio.run(engine.close())
    assert rule in run(main, ["recall", rule]).output

    run(main, ["memory", "forget", "--yes", "rounding.md"])

    assert rule not in run(main, ["recall", rule]).output


def test_every_turn_of_a_session_that_a_program_had_is_found(shop: Path) -> None:
    """With its own line of the transcript, and its day: a host says of no message when it was and
    where it stands. Of such sessions one turn alone was found, of an unknown day.
    """
    turns = (("marigold", "Beside the shed."), ("primrose", "In the shade."), ("oxlip", "Deep."))
    history: list[dict[str, str]] = []
    with (
        Memorist(model="structural") as engine,
        engine.open("garden", project=str(shop)) as session,
    ):
        for flower, said in turns:
            history.append({"role": "user", "content": f"Where shall the {flower} stand?"})
            session.prepare({"model": "m", "max_tokens": 9, "messages": list(history)})
            history.append({"role": "assistant", "content": said})
            session.observe({**history[-1], "content": [{"type": "text", "text": said}]})
            session.end_turn()
    began, run = time.time() - 60, CliRunner().invoke

    for number, (flower, said) in enumerate(turns):
        found = json.loads(run(main, ["search", flower, "--json"]).stdout)
        best = found["passages"][0]
        assert (flower in best["said"], best["answered"]) == (True, said)
        assert (best["line"], best["at"] > began) == (2 * number + 2, True)
