"""`memorist import`: what it shows, what it would cost, and that it asks."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from memorist.cli.main import memorist_group
from memorist.core.token_count import BYTES_PER_TOKEN
from memorist.errors import ModelNameError
from memorist.models.model_pricing import MILLION, load_shipped_prices, match_model_price
from memorist.rollouts.extraction_cost import ESTIMATED_ANSWER_TOKENS
from rollouts.conftest import claude, codex
from support.killed_process import kill_points

KNOWN = "anthropic:claude-sonnet-5"


def memorist(*arguments: str, **more: Any) -> Result:
    return CliRunner().invoke(memorist_group, arguments, **more)


def extracts() -> int:
    ran = memorist("rollouts", "status", "--json")
    return int(json.loads(ran.stdout)["extracts"])


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with an old session of each agent, where the agents keep them."""
    monkeypatch.setenv("HOME", str(tmp_path))
    claude(
        tmp_path / ".claude" / "projects" / "shop" / "a.jsonl",
        ["Always run the linter before you commit."],
    )
    codex(
        tmp_path / ".codex" / "sessions" / "2026" / "rollout-b.jsonl",
        ["Never round an amount down."],
    )
    return tmp_path


@pytest.mark.covers("RO-1")
def test_it_shows_what_was_found_and_asks(user: Path) -> None:
    """Sessions of any age, by agent; no is an answer: nothing is extracted, and no session was
    changed.
    """
    before = {path: path.read_bytes() for path in user.rglob("*.jsonl")}
    ran = memorist("import", input="n\n")

    assert ran.exit_code == 1
    assert "2 sessions known" in ran.stdout
    assert "to remember: 1 of Claude Code, 1 of Codex" in ran.stdout
    assert "their structure alone is taken, which costs nothing" in ran.stdout
    assert "Remember them? [y/N]" in ran.stdout
    assert extracts() == 0
    assert {path: path.read_bytes() for path in user.rglob("*.jsonl")} == before


@pytest.mark.covers("RO-4", "RO-5")
def test_consent_remembers_them(user: Path) -> None:
    """A person's yes, or `--yes` for a script; the second time there is nothing left to ask about."""
    del user
    ran = memorist("import", input="y\n")
    again = memorist("import", "--yes")

    assert ran.exit_code == 0
    assert "2 extracted" in ran.stdout
    assert extracts() == 2
    assert again.exit_code == 0
    assert "nothing new to remember" in again.stdout
    assert "Remember them?" not in again.stdout


def test_a_script_gets_one_object(user: Path) -> None:
    """With `--yes --json` nothing but the object is printed, and `--json` alone is a wrong call;
    `--max-age-days` leaves the old ones out.
    """
    del user
    asked = memorist("import", "--json")
    none = json.loads(memorist("import", "--yes", "--json", "--max-age-days", "1").stdout)
    done = json.loads(memorist("import", "--yes", "--json").stdout)

    assert (asked.exit_code, asked.stdout) == (2, "")
    assert (none["found"], none["eligible"]) == (2, 0)
    assert (done["eligible"], done["extracted"], done["failed"]) == (2, 2, [])


@pytest.mark.covers("SG-1")
def test_the_cost_is_told_where_the_price_is_known(user: Path) -> None:
    """Every session's bytes as tokens of input at the table's price, and an answer for each; the
    caps that hold are named.
    """
    size = sum(path.stat().st_size // BYTES_PER_TOKEN for path in user.rglob("*.jsonl"))
    price = match_model_price(KNOWN.partition(":")[2], load_shipped_prices())
    assert price is not None
    assert price.input is not None
    assert price.output is not None
    dollars = (size * price.input + 2 * ESTIMATED_ANSWER_TOKENS * price.output) / MILLION
    ran = memorist("import", "--model", KNOWN, input="n\n", env={"ANTHROPIC_API_KEY": "none"})

    assert (
        f"with {KNOWN}: 2 requests or a few more, at most about {size:,} tokens of input, "
        f"about ${dollars:,.2f}" in ran.stdout
    )
    assert "500 requests a day" in ran.stdout


def test_an_unknown_price_is_said_to_be_unknown(user: Path) -> None:
    """No sum is invented for a model that the table does not name."""
    del user
    ran = memorist("import", "--model", "openai-chat:own-model@http://127.0.0.1:9/v1", input="n\n")

    assert "tokens of input; the price of this model is not known" in ran.stdout
    assert "$" not in ran.stdout


def test_a_named_folder_is_imported_alone(user: Path, tmp_path: Path) -> None:
    """That folder is searched and no other."""
    codex(tmp_path / "elsewhere" / "any.name", ["Always sweep the shop at closing."], session="z")
    ran = memorist("import", str(tmp_path / "elsewhere"), "--yes")

    assert "to remember: 1 of Codex" in ran.stdout
    assert extracts() == 1
    assert user.exists()


@pytest.mark.parametrize(
    ("made_in", "word", "is_said"),
    [
        ("/Users/colleague/shop", "", False),
        ("/Users/colleague/shop", "--mine", True),
        ("/home/{name}/shop", "", True),
        ("/home/{name}/shop", "--not-mine", False),
        ("/gone/shop", "", False),
    ],
)
def test_a_recording_that_is_not_shown_to_be_the_users_states_nothing_for_them(
    user: Path, tmp_path: Path, made_in: str, word: str, is_said: bool
) -> None:
    """By the home that it was made in, or as the user says; what another person typed was the
    user's own word. What the agents keep for the user stays theirs.
    """
    folder = made_in.format(name=user.name)
    codex(tmp_path / "got" / "c.jsonl", ["Always sweep the shop."], session="c", cwd=folder)
    words = [str(tmp_path / "got"), *filter(None, [word])]
    shown = memorist("import", *words, input="n\n")
    memorist("import", *words, "--yes")
    memorist("import", "--yes")

    assert ("not shown to be yours" in shown.stdout) is not is_said
    assert ("taken for yours" in shown.stdout) is (is_said and not word)
    book = Path(os.environ["MEMORIST_HOME"]) / "memories" / "MEMORY.md"
    assert bool(re.search(r"Always sweep the shop.*\[said", book.read_text("utf-8"))) is is_said
    assert "Never round an amount down" in book.read_text("utf-8")


@pytest.mark.parametrize("first", [(), ("--yes",)])
def test_who_a_recording_is_of_may_be_said_when_it_was_asked(
    user: Path, tmp_path: Path, first: tuple[str, ...]
) -> None:
    """A first look, or a whole import, changes nothing about a second one that says whose it is;
    that holds for a later one which does not say it, though the session went on.
    """
    other = {"session": "c", "cwd": "/Users/colleague/shop"}
    said = ["Always sweep the shop."]
    codex(tmp_path / "got" / "c.jsonl", said, **other)
    asked = memorist("import", str(tmp_path / "got"), *first, input=None if first else "n\n")
    assert "--mine" in asked.stdout
    memorist("import", str(tmp_path / "got"), "--mine", "--yes")
    codex(tmp_path / "got" / "c.jsonl", [*said, "Never leave the door open."], **other)
    memorist("import", str(tmp_path / "got"), "--yes")

    book = Path(os.environ["MEMORIST_HOME"]) / "memories" / "MEMORY.md"
    assert re.search(r"Always sweep the shop.*\[said", book.read_text("utf-8"))
    assert user.exists()


@pytest.mark.parametrize("word", ["--mine", "--not-mine"])
def test_who_a_recording_is_of_may_be_said_after_the_database_was_lost(
    user: Path, tmp_path: Path, word: str
) -> None:
    """What was restored from the files does not tell whose words they are: the recording is read
    again as the user says.
    """
    assert user.exists()
    other = {"session": "c", "cwd": "/Users/colleague/shop"}
    codex(tmp_path / "got" / "c.jsonl", ["Always sweep the shop."], **other)
    before = "--not-mine" if word == "--mine" else "--mine"
    memorist("import", str(tmp_path / "got"), before, "--yes")
    home = Path(os.environ["MEMORIST_HOME"])
    for path in home.glob("state.sqlite*"):
        path.unlink()
    memorist("import", str(tmp_path / "got"), word, "--yes")

    book = home / "memories" / "MEMORY.md"
    text = book.read_text("utf-8") if book.exists() else ""
    assert bool(re.search(r"Always sweep the shop.*\[said", text)) is (word == "--mine")


@pytest.mark.usefixtures("user")
def test_what_nobody_said_any_more_is_taken_out_where_nothing_else_is_remembered(
    tmp_path: Path,
) -> None:
    """The only session is said to be somebody else's, and gives nothing then."""
    other = {"session": "c", "cwd": "/Users/colleague/shop"}
    codex(tmp_path / "got" / "c.jsonl", ["Never build the shop without gulp."], **other)
    memorist("import", str(tmp_path / "got"), "--mine", "--yes")
    book = Path(os.environ["MEMORIST_HOME"]) / "memories" / "MEMORY.md"
    assert "without gulp. [said" in book.read_text("utf-8")

    memorist("import", str(tmp_path / "got"), "--not-mine", "--yes")

    assert not book.exists() or "[said" not in book.read_text("utf-8")


@pytest.mark.usefixtures("user")
def test_an_import_in_a_folder_of_no_session_names_the_projects_that_have_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who imports in their home folder is not left with "nothing is known"."""
    monkeypatch.chdir(tmp_path)
    ran = memorist("import", "--yes")

    assert f"Nothing is known about {tmp_path.name} yet (0 past sessions)" in ran.stdout
    assert "Past sessions are known of " in ran.stdout
    known = ran.stdout.partition("Past sessions are known of ")[2]
    assert "(1)" in known or "(2)" in known


@pytest.mark.covers("RO-1")
@pytest.mark.usefixtures("user")
def test_the_cost_of_a_model_is_shown_before_its_key_is_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who only wants to know what it would cost needs no key; who says yes is told that it is
    missing, and no session is claimed.
    """
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    asked = memorist("import", "--model", KNOWN, input="n\n")
    wanted = memorist("import", "--model", KNOWN, input="y\n")

    assert "about $" in asked.stdout
    assert isinstance(wanted.exception, ModelNameError)
    assert json.loads(memorist("rollouts", "status", "--json").stdout)["failures"] == []


def test_a_folder_whose_name_is_no_utf_8_stops_no_other_session(user: Path) -> None:
    """Its session is named among what is left out, in text and in JSON; the others are imported,
    listed and searched.
    """
    odd = Path(os.fsdecode(os.fsencode(user) + b"/.claude/projects/caf\xe9/b.jsonl"))
    claude(odd, ["Never deploy on a Friday."], session="c2")
    done = memorist("import", "--yes", "--json")
    (left,) = json.loads(done.stdout)["left_out"]

    assert json.loads(done.stdout)["extracted"] == 2
    assert left["path"].endswith("/caf?/b.jsonl")
    assert "not in UTF-8" in left["why"]
    for words in (("sessions", "--all"), ("search", "--all", "linter"), ("rollouts", "sync")):
        assert memorist(*words).exit_code == 0
    assert json.loads(memorist("doctor", "--json").stdout)


def handbook(user: Path) -> dict[str, str]:
    """The files that sessions are shown, with no time of their making."""
    folder = user / ".memorist" / "memories"
    return {
        name: (folder / name).read_text("utf-8")
        for name in ("MEMORY.md", "memory_summary.md")
        if (folder / name).exists()
    }


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.covers("RO-1", "SF-4")
def test_an_import_that_is_killed_is_finished_by_the_next(
    user: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed (SIGKILL) before its n-th change of the disk: after the next import the memory is that
    of one which nothing disturbed. Where it was killed after the sessions were read, the next one
    found nothing new, and what was read never became memory.
    """
    monkeypatch.setenv("MEMORIST_HOME", str(user / ".memorist"))
    begun = tmp_path_factory.mktemp("begun") / "user"
    shutil.copytree(user, begun)

    def prepare() -> None:
        shutil.rmtree(user)
        shutil.copytree(begun, user)

    def work() -> None:
        assert memorist("import", "--yes").exit_code == 0

    work()
    wanted = handbook(user)
    assert "linter" in wanted["memory_summary.md"]
    interrupted = 0
    for at in kill_points(work, prepare, stride=6):
        again = memorist("import")
        if again.exit_code:  # it asks, as sessions are left
            again = memorist("import", "--yes")
        interrupted += "was interrupted" in again.stdout
        assert again.exit_code == 0, (at, again.output)
        assert handbook(user) == wanted, at
    assert interrupted
