"""How fast a model on this machine is, and the settings that follow from it."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from memorist.budget.budget_governor import BudgetGovernor
from memorist.budget.model_speed import (
    ModelSpeed,
    compute_speed_of_requests,
    derive_settings_from_speed,
)
from memorist.cli.main import memorist_group
from memorist.core.messages import Usage
from memorist.forks.fork_spec import (
    ForkOutcome,
    ForkRequestMeasurements,
    Receipt,
    read_llama_timing_seconds,
)
from memorist.settings import SpendSettings
from memorist.store.sqlite_database import open_database
from memorist.system import SystemClock

MODEL = "openai-chat:tiny@http://127.0.0.1:9/v1"


def request(read: int, written: int, seconds: float, cached: int = 0) -> ForkRequestMeasurements:
    """A request that was answered."""
    usage = Usage(input=read, output=written, cache_read=cached)
    return ForkRequestMeasurements(started=0.0, seconds=seconds, usage=usage)


def test_the_servers_own_times_count_before_the_clock() -> None:
    """What waited in a queue was not read slowly; what the server had cached was not read."""
    read, written = read_llama_timing_seconds(
        {"timings": {"prompt_ms": 40_000.0, "predicted_ms": 50_000}}
    )
    told = ForkRequestMeasurements(
        started=0.0,
        seconds=500.0,
        usage=Usage(input=1_000, output=400, cache_read=9_000),
        read_seconds=read,
        write_seconds=written,
    )

    assert compute_speed_of_requests([told]) == ModelSpeed(25.0, 8.0)
    assert read_llama_timing_seconds({"timings": {"prompt_ms": "40"}}) == (None, None)
    assert read_llama_timing_seconds({}) == (None, None)


def test_by_the_clock_reading_is_four_times_as_fast_as_writing() -> None:
    """Two requests that took as long as that says, of different shape, give one speed."""
    measured = compute_speed_of_requests(
        [request(1_600, 100, 50.0), request(400, 400, 50.0, cached=4_000)]
    )

    assert measured == ModelSpeed(40.0, 10.0)


@pytest.mark.parametrize(
    "sent",
    [
        [],
        [request(100, 60, 9.0)],
        [request(1_000, 10, 9.0)],
        [ForkRequestMeasurements(started=0.0, seconds=600.0, error="ModelTimeout")],
    ],
)
def test_too_few_tokens_say_nothing(sent: list[ForkRequestMeasurements]) -> None:
    """One short answer, and one that never came, are no measure."""
    assert compute_speed_of_requests(sent) is None


@pytest.mark.parametrize(
    ("speed", "limit", "growth", "turns"),
    [
        (ModelSpeed(1_500.0, 60.0), 120.0, 5_000, 1),
        (ModelSpeed(27.0, 8.0), 843.0, 9_000, 2),
        (ModelSpeed(5.0, 1.6), 1_200.0, 20_000, 5),
    ],
)
def test_a_slow_model_is_waited_for_longer_and_asked_more_seldom(
    speed: ModelSpeed, limit: float, growth: int, turns: int
) -> None:
    """A graphics card has the defaults of a provider; nothing grows without bound."""
    derived = derive_settings_from_speed(speed)

    assert derived["forks"]["seconds"] == derived["models"]["timeout_seconds"] == limit
    assert derived["session_memory"]["growth_tokens"] == growth
    assert derived["auto_memory"]["every_turns"] == derived["magic_docs"]["every_turns"] == turns


@pytest.mark.covers("SG-1")
def test_the_settings_name_the_measured_speed_and_the_users_come_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`memorist config show --source` says which value was derived and from what; a setting of
    one's own stays, and another model has its own speed.
    """
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text(f'model = "{MODEL}"\n[auto_memory]\nevery_turns = 3\n')
    monkeypatch.setenv("MEMORIST_HOME", str(home))
    monkeypatch.chdir(tmp_path)
    before = _show()
    with closing(open_database(home / "state.sqlite")) as database:
        governor = BudgetGovernor(database, "", clock=SystemClock(), settings=SpendSettings())
        for model, seconds in ((MODEL, 100.0), ("openai-chat:other@http://127.0.0.1:9/v1", 1.0)):
            governor.record_receipt(
                Receipt(
                    label="session_memory", why="", model=model, started=0.0, requests=1,
                    outcome=ForkOutcome.CHANGED, sent=(request(1_600, 400, seconds),),
                )
            )  # fmt: skip

    after = _show()

    assert before["forks.seconds"] == (600.0, "default of a model on this machine")
    told = "measured: the model reads 32 and writes 8.0 tokens a second"
    assert after["forks.seconds"] == (750.0, told)
    assert after["session_memory.growth_tokens"] == (8_000, told)
    assert after["magic_docs.every_turns"] == (2, told)
    assert after["auto_memory.every_turns"][0] == 3


def _show() -> dict[str, tuple[object, str]]:
    """Every setting with its source."""
    done = CliRunner().invoke(memorist_group, ["config", "show", "--json"], catch_exceptions=False)
    shown = json.loads(done.stdout)
    return {key: (value, shown["sources"][key]) for key, value in shown["settings"].items()}
