"""Whether memory helps is measured by sessions that go without it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from memorist import Memorist, Settings
from memorist.cli.main import memorist_group
from memorist.core.messages import Message, Origin, TextBlock
from memorist.engine.memory_effect import (
    MIN_SESSIONS,
    SessionMeasures,
    estimate_memory_effects,
    measure_session,
)
from memorist.engine.memory_holdout import is_drawn_for_holdout
from memorist.settings import RecallSettings

KNOWN = "Never use npm, use pnpm here."
ASKED = "How do I install the dependencies?"
CORRECTED = "No, that is wrong, use pnpm as I said."


def memorist(*arguments: str) -> Result:
    ran = CliRunner().invoke(memorist_group, arguments)
    assert "Traceback" not in ran.output
    return ran


def effect() -> dict[str, Any]:
    found = json.loads(memorist("status", "--effect", "--json").stdout)
    assert isinstance(found, dict)
    return found


def reply(tokens: int) -> dict[str, Any]:
    return {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "Done."}],
        "usage": {"input_tokens": tokens, "output_tokens": 4},
        "stop_reason": "end_turn",
    }


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one memory, in a home of its own."""
    shop = tmp_path / "shop"
    shop.mkdir()
    monkeypatch.chdir(shop)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MEMORIST_HOME", str(tmp_path / "home"))
    memorist("memory", "add", KNOWN, "--name", "pnpm")
    return shop


def run_session(engine: Any, name: str, shop: Path, *prompts: str) -> str:
    """One session of these prompts; what the model was sent last."""
    messages: list[dict[str, Any]] = []
    sent: Any = ""
    with engine.open(name, project=str(shop)) as session:
        for prompt in prompts:
            messages.append({"role": "user", "content": prompt})
            sent = session.prepare({"model": "m", "max_tokens": 9, "messages": messages})
            session.observe(reply(100))
            messages.append({"role": "assistant", "content": "Done."})
            session.end_turn()
    return str(sent)


def test_a_held_out_session_is_shown_no_memory_and_stays_held_out(
    project: Path, tmp_path: Path
) -> None:
    """Neither index nor memory; the lot is by the id, and does not change when the share does. With
    the default nobody is held out and nothing is recorded.
    """

    def engine(share: float) -> Any:
        recall = RecallSettings(holdout=share)
        return Memorist(settings=Settings(home=str(tmp_path / "home"), recall=recall))

    held = next(name for name in map(str, range(50)) if is_drawn_for_holdout(name, 0.5))
    given = next(name for name in map(str, range(50)) if not is_drawn_for_holdout(name, 0.5))
    with engine(0.0) as off:
        usual = run_session(off, "x" + held, project, ASKED)
    with engine(0.5) as on:
        without, with_memory = (run_session(on, name, project, ASKED) for name in (held, given))
    with engine(0.000001) as less:
        again = run_session(less, held, project, ASKED, ASKED)

    assert "pnpm" in usual
    assert "pnpm" in with_memory
    assert "pnpm" not in without
    assert "pnpm" not in again
    found = effect()
    assert (found["with_memory"], found["without"]) == (1, 1)
    assert {each["verdict"] for each in found["effects"]} == {"too few"}


def test_a_planted_effect_is_found_through_the_product(project: Path, tmp_path: Path) -> None:
    """Sessions whose user has to put the agent right where it goes without memory: fewer
    corrections and turns with memory, each with its interval.
    """
    settings = Settings(home=str(tmp_path / "home"), recall=RecallSettings(holdout=0.5))
    with Memorist(settings=settings) as engine:
        for number in range(2 * MIN_SESSIONS + 16):
            prompts = [ASKED, *["Add a test for it."] * (number % 2)]
            if is_drawn_for_holdout(str(number), 0.5):
                prompts.append(CORRECTED)
            run_session(engine, str(number), project, *prompts)
    verdicts = {each["measure"]: each for each in effect()["effects"]}

    assert verdicts["corrections"]["verdict"] == "lower"
    assert verdicts["corrections"]["high"] < 1
    assert verdicts["repeated_failures"]["verdict"] == "too rare"
    shown = memorist("status", "--effect").stdout  # where the setting is off by now
    assert "corrections" in shown
    assert "nothing to compare with" not in shown


def test_without_an_effect_none_is_claimed() -> None:
    """Of 300 comparisons of sessions of one kind, few of them held out and some many times as long
    as others, one in twenty claims a difference in any measure, within three standard errors.
    """
    lot = random.Random(7)

    def draw() -> SessionMeasures:
        return SessionMeasures(
            turns=lot.randint(1, 12),
            corrections=int(lot.random() < 0.3),
            repeated_failures=int(lot.expovariate(1.0)),
            tokens=int(lot.lognormvariate(10, 1.2)),
        )

    claims = 0
    for _ in range(300):
        found = estimate_memory_effects([draw() for _ in range(90)], [draw() for _ in range(30)])
        claims += any(each.verdict in ("lower", "higher") for each in found)

    assert claims <= 26


def test_what_is_rare_is_claimed_no_more_often_than_anything_else() -> None:
    """Of thirty held-out sessions mostly none holds a correction that one in thirty does: by the
    variance of those alone, one comparison in four claimed a difference.
    """
    lot = random.Random(11)

    def draw(rate: float) -> SessionMeasures:
        return SessionMeasures(
            turns=lot.randint(1, 12),
            corrections=int(lot.random() < rate),
            repeated_failures=0,
            tokens=int(lot.lognormvariate(10, 1.2)),
        )

    claims, rare = 0, set()
    for rate in (0.03, 0.12):
        for _ in range(100):
            found = estimate_memory_effects(
                [draw(rate) for _ in range(270)], [draw(rate) for _ in range(30)]
            )
            claims += found[1].verdict in ("lower", "higher")
            rare.add((rate, found[1].verdict))

    assert claims <= 6
    assert {verdict for rate, verdict in rare if rate < 0.1} == {"too rare"}
    assert (0.12, "no difference shown") in rare


@pytest.mark.parametrize(
    ("text", "corrects"),
    [
        ("Nein, das ist falsch, nimm pnpm.", True),
        ("Je t'ai dit d'utiliser pnpm.", True),
        ("Te dije que usaras pnpm.", True),
        ("Não, está errado, use pnpm.", True),
        ("Нет, неправильно, используй pnpm.", True),
        ("我说过要用 pnpm", True),
        ("違う、pnpmを使って", True),
        ("아니, pnpm을 써", True),
        ("Nein, danke.", False),
        ("No hay problema, sigue.", False),
        ("No problem, go on.", False),
        ("いいえ、大丈夫です", False),
    ],
)
def test_corrections_count_in_each_language(text: str, corrects: bool) -> None:
    """A refusal of an offer is none."""
    typed = [
        Message(
            id=str(at), role="user", blocks=(TextBlock(each),), origin=Origin.USER, is_typed=True
        )
        for at, each in enumerate((ASKED, text))
    ]

    assert measure_session(typed).corrections == corrects


def test_a_memory_that_is_never_used_is_named_and_muted_when_asked(
    project: Path, tmp_path: Path
) -> None:
    """Muted it is shown to no model; `--undo` brings it back; no model can mute or unmute it."""
    home = Settings(home=str(tmp_path / "home"))
    memorist("memory", "mute", "pnpm", "--yes")
    with Memorist(settings=home) as engine:
        muted = run_session(engine, "m1", project, ASKED)
    memorist("memory", "mute", "pnpm", "--undo")
    with Memorist(settings=home) as engine:
        shown = run_session(engine, "m2", project, ASKED)

    assert "pnpm" not in muted
    assert "pnpm" in shown
    assert memorist("memory", "mute", "pnpm").exit_code != 0
