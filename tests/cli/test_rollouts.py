"""`memorist rollouts`: what each command finds, prints and changes."""

from __future__ import annotations

import asyncio
import json
import os
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.progress import Progress

from memorist.cli.main import memorist_group
from memorist.core.messages import Message, Origin, TextBlock
from memorist.engine.engine import Memorist
from memorist.errors import MemoristError, NothingToDo, SettingsError
from memorist.forks.fork_spec import FileSizeChange, ForkOutcome, Receipt
from memorist.settings import RolloutsSettings
from memorist.store.home_layout import Layout
from memorist.store.job_claim_rules import JobClaim, build_lease_policy
from memorist.store.job_claims import claim_extraction, fail_job, postpone_job
from memorist.store.memory_uses import MemoryUse, record_memory_uses
from memorist.store.receipt_rows import record_receipt
from memorist.store.rollout_rows import list_rollouts
from memorist.store.session_removal import remove_session_copies
from memorist.store.sqlite_database import open_database, transaction
from memorist.store.state_database import open_sqlite_state
from rollouts.conftest import claude, codex

RULE = "Mend the till. Always run the linter before you commit."
OTHER = "Count the coins. Never round an amount down."


def memorist(*arguments: str, **more: Any) -> Result:
    return CliRunner().invoke(memorist_group, arguments, **more)


def found(*arguments: str) -> dict[str, Any]:
    """What a command prints with `--json`."""
    ran = memorist(*arguments, "--json")
    assert ran.exit_code == 0, ran.output
    value: dict[str, Any] = json.loads(ran.stdout)
    return value


def ago(hours: float) -> str:
    return datetime.fromtimestamp(time.time() - hours * 3_600, UTC).strftime(
        "%Y-%m-%dT%H:%M:%S.000Z"
    )


@pytest.fixture
def home() -> Path:
    return Path(os.environ["MEMORIST_HOME"])


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    """A folder that is named: a session of each agent, months old, under names that tell nothing."""
    claude(tmp_path / "kept" / "one", [RULE, "Thanks."])
    codex(tmp_path / "kept" / "below" / "two.txt", [OTHER, "Thanks."])
    return tmp_path / "kept"


def memory(home: Path) -> str:
    """All text that is remembered of past sessions, in every file."""
    folders = (home / "memories", home / "memories-state")
    return "\n".join(
        path.read_text("utf-8", "replace")
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file()
    )


@pytest.mark.covers("RO-1", "RO-2", "RO-4", "RO-5")
def test_sync_prints_the_object_that_is_promised(sessions: Path, home: Path) -> None:
    """Sessions of both agents in a named folder, told by content, of any age; a second sync finds
    nothing new.
    """
    first = found("rollouts", "sync", "--sessions", str(sessions))
    again = found("rollouts", "sync", "--sessions", str(sessions))

    promised = ("found", "eligible", "claimed", "extracted", "no_op", "failed", "consolidated")
    assert [first[key] for key in promised] == [2, 2, 2, 2, 0, [], 2]
    assert first["seconds"] >= 0
    assert [again[key] for key in promised] == [2, 0, 0, 0, 0, [], 0]
    assert "Always run the linter before you commit" in memory(home)
    assert "Never round an amount down" in memory(home)


@pytest.mark.covers("RO-1")
def test_an_age_may_be_named_for_named_folders_too(sessions: Path) -> None:
    """With `--max-age-days` the old ones stay out; a new one below the same folder is taken."""
    claude(sessions / "new", [RULE], session="c2", at=ago(20))
    done = found("rollouts", "sync", "--sessions", str(sessions), "--max-age-days", "2")

    assert (done["found"], done["eligible"], done["extracted"]) == (3, 1, 1)


@pytest.mark.covers("RO-1")
def test_without_names_the_agents_own_folders_are_searched_with_the_limits(home: Path) -> None:
    """Below the home folder: a session of yesterday is taken, an old one and one that was at work
    an hour ago are not, and status says why.
    """
    user = Path(os.environ["HOME"])
    projects = user / ".claude" / "projects" / "shop"
    claude(projects / "a.jsonl", [RULE], session="a", at=ago(24))
    claude(projects / "b.jsonl", [OTHER], session="b", at=ago(24 * 40))
    codex(
        user / ".codex" / "sessions" / "rollout-c.jsonl",
        ["Sweep the shop."],
        session="c",
        timestamp=ago(1),
    )
    running = user / ".codex" / "sessions" / "rollout-c.jsonl"
    running.write_text(running.read_text().replace("2026-05-28T11:00:00.000Z", ago(1)))
    done = found("rollouts", "sync")
    state = found("rollouts", "status")

    assert (done["found"], done["extracted"], done["too_old"]) == (3, 1, 1)
    said = memorist("rollouts", "sync").output
    assert "1 of them too old for `rollouts.max_age_days`; `memorist import` takes them" in said
    assert state["sessions"] == 3
    assert state["waiting"]["up to date"] == 1
    assert sum(state["waiting"].values()) == 3
    assert (state["extracts"], state["consolidated"], state["not_tried_again"]) == (1, 1, [])
    assert "Never round" not in memory(home)


def test_nothing_there_is_one_sentence(tmp_path: Path) -> None:
    """No session in the usual places, none in an empty folder: what to do is said."""
    (tmp_path / "empty").mkdir()

    for named in ([], ["--sessions", str(tmp_path / "empty")]):
        ran = memorist("rollouts", "sync", *named)
        assert isinstance(ran.exception, NothingToDo)
        assert "memorist import FOLDER" in str(ran.exception)
    assert isinstance(memorist("rollouts", "show").exception, NothingToDo)
    assert memorist("rollouts", "sync", "--sessions", str(tmp_path / "gone")).exit_code == 2


@pytest.mark.covers("RO-2", "RO-4")
def test_a_session_that_grew_is_extracted_again(sessions: Path, home: Path) -> None:
    """What it says newly is remembered, and its first extract is gone."""
    found("rollouts", "sync", "--sessions", str(sessions))
    claude(
        sessions / "one",
        [RULE, "Thanks.", "Always write the changelog."],
        at="2026-05-29T10:00:00.000Z",
    )
    done = found("rollouts", "sync", "--sessions", str(sessions))

    assert (done["eligible"], done["extracted"], done["consolidated"]) == (1, 1, 2)
    assert "Always write the changelog" in memory(home)
    assert found("rollouts", "status")["extracts"] == 2


@pytest.mark.covers("RO-2")
def test_a_session_that_fails_is_told_and_may_be_retried(sessions: Path) -> None:
    """Its file is gone when it is read: the sync fails for it alone, says why, waits, and `retry`
    lifts the wait.
    """
    found("rollouts", "sync", "--sessions", str(sessions))
    claude(sessions / "one", [RULE, "Go on."], at="2026-05-30T10:00:00.000Z")
    (sessions / "one").chmod(0o600)
    state = open_sqlite_state(Path(os.environ["MEMORIST_HOME"]) / "state.sqlite")
    found("rollouts", "sync", "--sessions", str(sessions / "below"))
    thread = next(each for each in list_rollouts(state) if each.id == "c1")
    claim = claim_extraction(
        state,
        "c1",
        thread.updated + 172_800,
        worker="w",
        terms=build_lease_policy(RolloutsSettings()),
    )
    assert isinstance(claim, JobClaim)
    assert fail_job(state, claim, "the model is overloaded", build_lease_policy(RolloutsSettings()))
    state.close()

    waits = found("rollouts", "sync", "--sessions", str(sessions))
    told = found("rollouts", "status")
    nobody = memorist("rollouts", "retry", "zzz")
    tried = memorist("rollouts", "retry", "c")
    after = found("rollouts", "sync", "--sessions", str(sessions))

    assert [each["thread"] for each in waits["waits"]] == ["c1"]
    assert waits["waits"][0]["why"].startswith("waits until ")
    assert waits["waits"][0]["why"].endswith(
        "or for `memorist rollouts retry`, since it could not be done before: the model is "
        "overloaded"
    )
    assert (nobody.exit_code, "0 sessions begin with" in str(nobody.exception)) == (1, True)
    assert [each["why"] for each in told["failures"]] == ["the model is overloaded"]
    assert "overloaded" in memorist("rollouts", "status").stdout
    assert tried.stdout.startswith("1 job may run again")
    assert (after["waits"], after["extracted"]) == ([], 1)


@pytest.mark.covers("RO-2")
def test_a_sync_in_which_everything_failed_ends_with_a_status(
    sessions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that vanishes between the search and stage one: named in the report; exit status 1 as
    nothing else was done.
    """
    from memorist.engine.rollout_pipeline import RolloutPipeline, RolloutSyncPlan

    planned = RolloutPipeline.plan_sync

    def vanish(past: RolloutPipeline, *arguments: Any, **named: Any) -> RolloutSyncPlan:
        plan = planned(past, *arguments, **named)
        for thread in plan.eligible:
            Path(thread.path).unlink()
        return plan

    monkeypatch.setattr(RolloutPipeline, "plan_sync", vanish)
    ran = memorist("rollouts", "sync", "--sessions", str(sessions))
    failed = found("rollouts", "status")["failures"]

    assert ran.exit_code == 1
    assert ran.stdout.count("failed: ") == 2
    assert {each["thread"] for each in failed} == {"c1", "x1"}


def test_a_sync_whose_consolidation_fails_ends_with_a_status(sessions: Path, home: Path) -> None:
    """What the sessions gave is not memory yet, whatever was extracted."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "memories-state").write_text("in the way")
    ran = memorist("rollouts", "sync", "--sessions", str(sessions))

    assert ran.exit_code == 1
    assert "2 extracted" in ran.stdout
    assert "failed: global" in ran.stdout


@pytest.mark.covers("RO-2")
@pytest.mark.parametrize("command", [["rollouts", "sync", "--sessions"], ["import", "--yes"]])
def test_a_model_that_cannot_be_had_costs_no_session_an_attempt(
    sessions: Path, command: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One sentence for all of them; no failure is on record, and the next sync takes them all."""
    monkeypatch.setenv("MEMORIST_LOCAL_MODEL", str(tmp_path / "none.gguf"))
    ran = memorist(*command, str(sessions), "--model", "local")
    state = found("rollouts", "status")

    assert isinstance(ran.exception, MemoristError)
    assert "GGUF" in str(ran.exception)
    assert (state["failures"], state["extracts"]) == ([], 0)
    assert found("rollouts", "sync", "--sessions", str(sessions))["extracted"] == 2


@pytest.mark.covers("RO-9")
def test_what_is_left_out_is_forgotten_from_every_file_and_may_be_taken_in_again(
    sessions: Path, home: Path
) -> None:
    """By the begin of its id; at the next sync no file of memory holds a word of it, the other
    session stays; `--take-in` brings it back.
    """
    found("rollouts", "sync", "--sessions", str(sessions))
    said = memorist("rollouts", "leave-out", "c")
    found("rollouts", "sync", "--sessions", str(sessions))
    without = memory(home)
    memorist("rollouts", "leave-out", "c1", "--take-in")
    found("rollouts", "sync", "--sessions", str(sessions))

    assert "forgets it" in said.stdout
    assert "linter" not in without
    assert "Mend the till" not in without
    assert "Never round an amount down" in without
    assert "Always run the linter" in memory(home)
    assert isinstance(memorist("rollouts", "leave-out", "nobody").exception, NothingToDo)


def test_a_session_is_left_out_for_good(home: Path, tmp_path: Path) -> None:
    """No file of the home holds a word of it, of the words of past sessions neither, nor does one
    where its record goes on or the database is lost; the session beside it stays, and so does the
    client's own record, which is named and can be taken in again.
    """
    shop = tmp_path / "shop"
    kept = claude(shop / "kept.jsonl", ["Count the coins of quagga."], session="kept", at=ago(48))
    gone = claude(shop / "gone.jsonl", ["Mend the till of okapi."], session="gone", at=ago(48))
    asyncio.run(_observe(home, {"kept": "quagga coins", "gone": "okapi till"}))
    memorist("search", "okapi", "--all")
    memorist("rollouts", "sync", "--sessions", str(shop))
    with closing(open_database(Layout(home).database)) as database:
        for id, word in (("kept", "quagga"), ("gone", "okapi")):
            change = FileSizeChange(f"{word}.md", None, 9)
            receipt = Receipt(
                label="extraction",
                why=f"{word} was said",
                model="m",
                started=1.0,
                files=(change,),
                denied=(f"no {word} there",),
                outcome=ForkOutcome.CHANGED,
                said=f"noted the {word}",
            )
            record_receipt(database, id, receipt)
            use = MemoryUse(path="till.md", what="shown", session=id, at=1.0, why=f"words: {word}")
            record_memory_uses(database, "/memory", [use])
    assert any("words" in str(path) for path in _holders(home, b"okapi"))
    assert _holders(home, b"quagga")

    refused = memorist("rollouts", "leave-out", "gone", "--hard")
    done = memorist("rollouts", "leave-out", "gone", "--hard", "--yes")
    memorist("rollouts", "sync", "--sessions", str(shop))
    assert _holders(home, b"okapi") == []
    claude(gone, ["Mend the till of okapi.", "And its drawer."], session="gone", at=ago(48))
    memorist("rollouts", "sync", "--sessions", str(shop))
    assert _holders(home, b"okapi") == []
    for file in home.glob("state.sqlite*"):
        file.unlink()
    memorist("rollouts", "sync", "--sessions", str(shop))
    memorist("search", "okapi", "--all")

    assert (refused.exit_code, done.exit_code) == (2, 0), done.output
    assert str(gone) in done.stdout
    assert _holders(home, b"okapi") == []
    assert _holders(home, b"quagga")
    assert gone.exists()
    assert kept.exists()

    memorist("rollouts", "leave-out", "gone", "--take-in")
    memorist("rollouts", "sync", "--sessions", str(shop))
    assert "silent" not in found("rollouts", "status")["waiting"]


@pytest.mark.parametrize("names", ["home", "projects", "memory", "outside"])
def test_a_damaged_row_lets_no_other_folder_be_deleted(
    home: Path, tmp_path: Path, names: str
) -> None:
    """The folder stands in a database that may be damaged: the home itself, one within it that
    holds more than a session, or one outside it.
    """
    shop = tmp_path / "shop"
    other = claude(shop / "gone.jsonl", ["Mend the till of okapi."], session="gone", at=ago(48))
    asyncio.run(_observe(home, {"gone": "okapi till"}))
    (home / "projects" / "shop" / "memory").mkdir(parents=True)
    folder = {
        "home": str(home),
        "projects": f"{home}/projects",
        "memory": f"{home}/projects/shop/memory",
        "outside": f"{home}/{os.path.relpath(shop, home)}",
    }[names]
    with closing(open_database(Layout(home).database)) as database, transaction(database):
        database.execute("update sessions set folder = ?", (folder,))

    deleted = remove_session_copies(Layout(home), "gone")

    own = {path for path in deleted if path.parent != home}
    assert all(path.name == "gone" for path in own)
    assert (home / "projects" / "shop" / "memory").exists()
    assert Layout(home).database.exists()
    assert other.exists()


def test_a_session_goes_for_good_where_the_database_is_lost(home: Path) -> None:
    """It may be deleted, and a damaged one is begun anew: the folders are found all the same."""
    asyncio.run(_observe(home, {"kept": "quagga coins", "gone": "okapi till"}))
    for file in home.glob("state.sqlite*"):
        file.unlink()

    deleted = remove_session_copies(Layout(home), "gone")

    assert [path.name for path in deleted] == ["gone"]
    assert _holders(home, b"okapi") == []
    assert _holders(home, b"quagga")


async def _observe(home: Path, said: dict[str, str]) -> None:
    """Keep notes of sessions, as the hooks do."""
    async with Memorist(home=home) as engine:
        for id, text in said.items():
            session = engine.observe_session(
                id, project=str(home.parent), format="anthropic", loads="file-native"
            )
            message = Message(
                id=f"m-{id}",
                role="user",
                blocks=(TextBlock(text),),
                origin=Origin.USER,
                is_typed=True,
            )
            await session.add_records(None, [message])
            await session.update_notes("the session ended")
            await session.close()


def _holders(home: Path, word: bytes) -> list[Path]:
    return [each for each in home.rglob("*") if each.is_file() and word in each.read_bytes()]


@pytest.mark.covers("RO-2")
def test_a_reset_asks_and_has_all_extracted_anew(sessions: Path) -> None:
    """Without consent nothing changes; after it every session is new to memory."""
    found("rollouts", "sync", "--sessions", str(sessions))
    asked = memorist("rollouts", "reset", input="n\n")
    kept = found("rollouts", "status")["extracts"]
    done = memorist("rollouts", "reset", "--yes")
    again = found("rollouts", "sync", "--sessions", str(sessions))

    assert (asked.exit_code, kept) == (1, 2)
    assert done.stdout == "2 extracts forgotten\n"
    assert (again["eligible"], again["extracted"]) == (2, 2)


@pytest.mark.covers("RO-9")
def test_leaving_everything_out_brings_nothing_back(sessions: Path, home: Path) -> None:
    """No session may be memory any more: the files are no reason to put one back."""
    found("rollouts", "sync", "--sessions", str(sessions))
    for name in ("c1", "x1"):
        memorist("rollouts", "leave-out", name)
    done = found("rollouts", "sync", "--sessions", str(sessions))

    assert (done["eligible"], done["extracted"]) == (0, 0)
    assert "linter" not in memory(home)
    assert "Never round" not in memory(home)


@pytest.mark.covers("RO-4", "RO-6")
def test_show_prints_the_summary_or_what_one_session_gave(sessions: Path) -> None:
    """The whole summary; one session by the begin of its id, with the way it was made; an id that
    names none or two is told.
    """
    found("rollouts", "sync", "--sessions", str(sessions))
    summary = memorist("rollouts", "show").stdout
    one = found("rollouts", "show", "x")

    assert summary.startswith("v1\n")
    assert "Always run the linter" in summary
    assert (one["thread"], one["way"], one["uses"], one["why_not"]) == (
        "x1",
        "structural",
        0,
        "nothing in it is new",
    )
    assert "Never round an amount down" in one["text"]
    assert "Never round an amount down" in memorist("rollouts", "show", "x1").stdout
    for name in ("nobody", ""):
        assert memorist("rollouts", "show", name).exit_code == (1 if name else 0)


@pytest.mark.covers("RO-7", "RO-8")
def test_a_note_is_kept_at_once_and_merged_at_the_next_sync(
    sessions: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everywhere, or with `--here` for this project only."""
    (sessions.parent / "shop").mkdir()
    monkeypatch.chdir(sessions.parent / "shop")
    memorist("rollouts", "note", "Answer in Dutch.")
    here = memorist("rollouts", "note", "--here", "Use pnpm.")
    notes = list((home / "memories" / "extensions" / "ad_hoc" / "notes").glob("*.md"))
    found("rollouts", "sync", "--sessions", str(sessions))
    summary = memorist("rollouts", "show").stdout
    place = summary.split(f"### {sessions.parent / 'shop'}")[1]

    assert len(notes) == 2
    assert str(notes[0].parent) in here.stdout or notes[0].parent.name in here.stdout
    assert "Answer in Dutch" in summary.split("### ")[1]
    assert "Use pnpm" in place


@pytest.mark.covers("RO-8")
@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_empty_note_is_a_wrong_call(home: Path, text: str) -> None:
    """Nothing is written, and the exit status is 2."""
    assert memorist("rollouts", "note", text).exit_code == 2
    assert not (home / "memories").exists()


@pytest.mark.covers("FG-1", "RO-2")
@pytest.mark.parametrize(
    "line", ["running = 0", "running = -3", "retries = 0", "lease_seconds = 0", "consolidated = 0"]
)
def test_a_setting_that_would_let_nothing_be_done_is_an_error_and_no_silence(
    sessions: Path, home: Path, line: str
) -> None:
    """It names the setting, and no session is touched."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text(f"[rollouts]\n{line}\n")
    ran = memorist("rollouts", "sync", "--sessions", str(sessions))

    assert isinstance(ran.exception, SettingsError)
    assert f"rollouts.{line.split(maxsplit=1)[0]}" in str(ran.exception)


@pytest.mark.covers("SG-1", "RO-3")
def test_what_the_budget_puts_off_is_told_with_its_reason(sessions: Path) -> None:
    """By the sync that met it, which failed at nothing, and by `status` until it is tried again."""
    state = open_sqlite_state(Path(os.environ["MEMORIST_HOME"]) / "state.sqlite")
    terms = build_lease_policy(RolloutsSettings())
    claim = claim_extraction(state, "c1", 1, worker="w", terms=terms)
    assert isinstance(claim, JobClaim)
    postpone_job(state, claim, "the day's requests are used", terms)
    state.close()
    told = found("rollouts", "status")

    assert [(each["thread"], each["why"]) for each in told["put_off"]] == [
        ("c1", "the day's requests are used")
    ]
    assert "put off: 1, the first until " in memorist("rollouts", "status").stdout
    assert told["failures"] == []
    assert memorist("rollouts", "retry").stdout.startswith("1 job may run again")
    assert found("rollouts", "status")["put_off"] == []


def test_a_bar_is_shown_on_a_terminal_only(sessions: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a pipe no progress is made at all; on a terminal one step for each session."""
    steps: list[object] = []
    monkeypatch.setattr(Progress, "advance", lambda _, task: steps.append(task))
    memorist("rollouts", "sync", "--sessions", str(sessions))
    in_a_pipe = list(steps)
    memorist("rollouts", "reset", "--yes")
    monkeypatch.setattr(
        "memorist.cli.rollouts.rollouts_sync_command.is_stderr_terminal", lambda: True
    )
    memorist("rollouts", "sync", "--sessions", str(sessions))

    assert in_a_pipe == []
    assert len(steps) == 2


@pytest.mark.covers("RO-9", "SF-5")
def test_a_damaged_database_is_put_aside_and_made_anew_from_the_files(
    sessions: Path, home: Path
) -> None:
    """What was consolidated is taken back from the folder: no session is extracted again, and
    nothing is forgotten.
    """
    found("rollouts", "sync", "--sessions", str(sessions))
    before = (home / "memories" / "MEMORY.md").read_text()
    for name in ("state.sqlite", "state.sqlite-wal", "state.sqlite-shm"):
        if (home / name).exists():
            (home / name).write_bytes(b"no database at all " * 400)
    status = memorist("rollouts", "status").stdout
    done = found("rollouts", "sync", "--sessions", str(sessions))

    assert (done["found"], done["extracted"], done["eligible"]) == (2, 0, 0)
    assert (home / "memories" / "MEMORY.md").read_text() == before
    assert list(home.glob("state.sqlite.damaged*"))
    assert any("damaged" in each for each in done["remarks"])
    assert "remark: the database was damaged" in status


@pytest.mark.covers("OP-1", "RO-2")
def test_the_doctor_fills_a_lost_database_from_the_files(sessions: Path, home: Path) -> None:
    """What was remembered is known again, as it was; a database that somebody reset is left as it
    is; a folder in the lock's place goes aside.
    """
    found("rollouts", "sync", "--sessions", str(sessions))
    before = found("rollouts", "status")
    for path in home.glob("state.sqlite*"):
        path.unlink()
    sick = memorist("doctor", "--json")
    mended = json.loads(memorist("doctor", "--json", "--fix").stdout)["findings"]
    again = memorist("doctor", "--json")

    assert sick.exit_code == 1
    assert "knows nothing of 2 past sessions" in sick.stdout
    assert any(
        each["area"] == "rollouts" and "2 sessions put back" in each["what"] for each in mended
    )
    assert again.exit_code == 0
    assert found("rollouts", "status")["extracts"] == before["extracts"]
    lock = home / "memories-state" / "lock"
    lock.unlink()
    lock.mkdir()
    assert memorist("doctor").exit_code == 1
    assert memorist("doctor", "--fix").exit_code == 0
