"""`memorist worker`."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from memorist.cli.main import memorist_group
from memorist.engine.rollout_pipeline import RolloutPipeline
from memorist.errors import MemoristError, ModelUnavailable, SettingsError
from memorist.rollouts.job_worker import WorkerStages
from memorist.settings import RolloutsSettings
from memorist.store.extract_rows import list_enabled_extracts
from memorist.store.rollout_rows import Rollout, save_rollouts
from memorist.store.state_database import open_sqlite_state
from rollouts.stages import Scripted


@pytest.mark.parametrize(
    ("setting", "without"),
    [
        ("sqlite", "sqlite"),
        ("postgresql://me@db/shop", "postgresql://me@db/shop"),
        ("postgresql://me:" + "hush" + "@db:5432/shop", "postgresql://me:…@db:5432/shop"),
        (
            "postgresql://db/shop?user=me&password=" + "hush" + "&sslmode=require",
            "postgresql://db/shop?user=me&password=…&sslmode=require",
        ),
    ],
)
def test_a_password_in_the_setting_is_not_shown(
    setting: str, without: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`config show` prints the address without it."""
    monkeypatch.setenv("MEMORIST_STATE", setting)
    ran = CliRunner().invoke(memorist_group, ["config", "show", "--json"])

    assert json.loads(ran.stdout)["settings"]["state"] == without


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with two finished sessions, and stages that follow a script; `broken` fails."""

    def stages(past: RolloutPipeline, rollouts: RolloutsSettings) -> WorkerStages:
        scripted = Scripted(past.state)
        scripted.broken = {"broken": ModelUnavailable("overloaded")}
        return WorkerStages(scripted.extract, scripted.consolidate)

    monkeypatch.setattr(RolloutPipeline, "build_worker_stages", stages)
    monkeypatch.setenv("MEMORIST_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    state = open_sqlite_state(tmp_path / "state.sqlite")
    yesterday = int(time.time()) - 86_400
    save_rollouts(
        state,
        [
            Rollout(
                id=id,
                path=id,
                format="codex",
                size=1,
                modified_ns=yesterday * 10**9,
                updated=yesterday,
                first_words="Hello.",
            )
            for id in ("fine", "broken")
        ],
    )
    state.close()
    return tmp_path


@pytest.mark.covers("RO-2")
def test_once_does_what_is_due_and_says_what_became_of_it(home: Path) -> None:
    """One object a line; the exit status says that something failed, and why it did is there to
    read.
    """
    ran = CliRunner().invoke(memorist_group, ["worker", "--once", "--json"])
    said = [json.loads(line) for line in ran.stdout.splitlines()]

    assert ran.exit_code == 1
    assert {
        (each["key"], each["outcome"], each["reason"]) for each in said if each["type"] == "done"
    } == {("fine", "kept", ""), ("broken", "failed", "overloaded"), ("global", "consolidated", "")}
    assert [
        each.extracted.thread
        for each in list_enabled_extracts(open_sqlite_state(home / "state.sqlite"))
    ] == ["fine"]


@pytest.mark.covers("RO-2")
def test_a_person_reads_why_a_job_waits(home: Path) -> None:
    """The second run finds nothing that it may begin, says so for each job, and that is no failure."""
    CliRunner().invoke(memorist_group, ["worker", "--once"])
    ran = CliRunner().invoke(memorist_group, ["worker", "--once", "--at-once", "1"])

    assert ran.exit_code == 0
    assert [line.split()[:3] for line in ran.stdout.splitlines()] == [
        ["backoff", "extract", "broken,"],
        ["cooldown", "consolidate", "global,"],
    ]
    assert ran.stdout.count(" UTC") == 2
    assert "(overloaded)" in ran.stdout


def test_a_state_that_is_no_database_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """It names the setting, and its two forms."""
    monkeypatch.setenv("MEMORIST_STATE", "mysql://x")
    ran = CliRunner().invoke(memorist_group, ["worker", "--once"])

    assert isinstance(ran.exception, SettingsError)
    assert isinstance(ran.exception, MemoristError)
    assert "postgresql://" in str(ran.exception)
