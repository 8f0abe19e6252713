"""What the user had taken out of memory is no part of the memory of past sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.engine.engine import Memorist
from memorist.engine.rollout_pipeline import open_rollout_pipeline
from memorist.rollouts.rollout_memory import load_rollout_memory_view
from memorist.runtime import Runtime
from memorist.settings import Settings
from rollouts.conftest import codex

RULE = "use pnpm, never npm"
OTHER = "always round half to even"


async def _sync(tmp_path: Path) -> None:
    async with open_rollout_pipeline(Settings(home=str(tmp_path / "home"))) as past:
        await past.sync(past.plan_sync([tmp_path / "sessions"]))


def _record(tmp_path: Path, session: str, project: str, *words: str) -> None:
    codex(
        tmp_path / "sessions" / session,
        [*words, "Thanks."],
        session=session,
        cwd=str(tmp_path / project),
    )
    (tmp_path / project / ".git").mkdir(parents=True, exist_ok=True)


def _shown(tmp_path: Path, project: str) -> str:
    runtime = Runtime(settings=Settings(home=str(tmp_path / "home")))
    return load_rollout_memory_view(runtime, str(tmp_path / project))


def _found(tmp_path: Path, query: str) -> str:
    with Memorist(home=tmp_path / "home") as engine:
        found = engine.search(query, project=str(tmp_path / "shop"))
        return "\n".join(
            each.text for each in found.sections if each.document.kind == "rollout memory"
        )


def _files(tmp_path: Path) -> str:
    folder = tmp_path / "home" / "memories"
    return "\n".join((folder / name).read_text() for name in ("MEMORY.md", "memory_summary.md"))


def _forget(memory: AutoMemory) -> None:
    memory.forget([path for path in memory.folder.listing.headers if "pnpm" in path])


def _undo_addition(memory: AutoMemory) -> None:
    memory.undo(
        next(each.id for each in memory.folder.history.list_changes() if each.why.quote == RULE)
    )


@pytest.mark.parametrize("take_out", [_forget, _undo_addition], ids=["forget", "undo"])
async def test_a_rule_that_was_taken_out_is_not_shown_from_past_sessions(
    tmp_path: Path, take_out: object
) -> None:
    """Neither at the start nor by the search, in this project alone, and no other rule goes. With
    the forgetting undone it is shown again.
    """
    assert callable(take_out)
    words = ("Mend totals.", f"From now on {RULE}.", f"Remember: {OTHER}.")
    _record(tmp_path, "a", "shop", *words)
    _record(tmp_path, "b", "till", *words)
    await _sync(tmp_path)
    with Memorist(home=tmp_path / "home") as engine:
        memory = engine.memory(str(tmp_path / "shop"))
        for text in (RULE, OTHER):
            memory.add(text)
        assert RULE in _shown(tmp_path, "shop")
        assert RULE in _found(tmp_path, "use pnpm never npm")

        take_out(memory)
        assert RULE not in _shown(tmp_path, "shop")
        assert OTHER in _shown(tmp_path, "shop")
        assert RULE in _shown(tmp_path, "till")

        memory.undo(memory.folder.history.find_newest_change_id())
        assert RULE in _shown(tmp_path, "shop")


async def test_search_leaves_out_what_was_forgotten_of_this_project(tmp_path: Path) -> None:
    """The search over the memory of past sessions presents no forgotten rule of the project, and
    still the others.
    """
    _record(tmp_path, "a", "shop", "Mend totals.", f"From now on {RULE}.", f"Remember: {OTHER}.")
    await _sync(tmp_path)
    with Memorist(home=tmp_path / "home") as engine:
        memory = engine.memory(str(tmp_path / "shop"))
        memory.add(RULE)
        _forget(memory)
    assert RULE not in _found(tmp_path, "use pnpm never npm round half even")
    assert OTHER in _found(tmp_path, "use pnpm never npm round half even")


async def test_a_later_consolidation_does_not_write_a_forgotten_rule_anew(tmp_path: Path) -> None:
    """What stage one extracted before the forgetting, and what is extracted after it, comes into no
    file that a session is shown or searches; other rules do.
    """
    _record(tmp_path, "a", "shop", "Mend totals.", f"From now on {RULE}.")
    await _sync(tmp_path)
    assert RULE in _files(tmp_path)
    with Memorist(home=tmp_path / "home") as engine:
        memory = engine.memory(str(tmp_path / "shop"))
        memory.add(RULE)
        _forget(memory)
    _record(tmp_path, "c", "shop", "Count coins.", f"Please {RULE}!", f"Remember: {OTHER}.")
    await _sync(tmp_path)
    assert RULE not in _files(tmp_path)
    assert OTHER in _files(tmp_path)
    await _sync(tmp_path)
    assert RULE not in _files(tmp_path)


@pytest.mark.parametrize(
    ("forgotten", "said"),
    [
        (RULE, "Never use npm, always use pnpm"),
        (RULE, "please always use pnpm instead of npm"),
        (RULE, "you must never use npm"),
        ("always run the tests before pushing", "Before pushing, always run the tests"),
        ("never commit or push", "no commits and no pushes"),
        ("Antworte immer auf Deutsch", "always answer in German"),
    ],
)
async def test_a_forgotten_rule_in_other_words_is_not_shown(
    tmp_path: Path, forgotten: str, said: str
) -> None:
    """Nor is a part of it; what only speaks of the same thing is."""
    other = "npm publish runs in CI on Thursdays"
    _record(tmp_path, "a", "shop", "Mend totals.", f"Remember: {said}.", f"Remember: {other}.")
    await _sync(tmp_path)
    with Memorist(home=tmp_path / "home") as engine:
        memory = engine.memory(str(tmp_path / "shop"))
        memory.add(forgotten)
        assert said in _shown(tmp_path, "shop")

        there = memory.everywhere
        for each in (memory, there):
            if each is not None and each.folder.listing.headers.keys():
                each.forget(list(each.folder.listing.headers.keys() - {"MEMORY.md"}))

        assert said not in _shown(tmp_path, "shop")
        assert other in _shown(tmp_path, "shop")
