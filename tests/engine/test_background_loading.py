"""What is prepared in the background stands still while a prompt is answered."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from memorist import Memorist, SessionExtension
from memorist.auto_memory import known_memories, memory_history, related_statement_search
from memorist.auto_memory.git_objects import map_tree_paths_to_blob_ids
from memorist.auto_memory.memory_manifest import MemoryHeader
from memorist.auto_memory.related_statement_search import RelatedStatementSearch
from memorist.core.messages import JsonObject, Message
from memorist.engine import background_loading
from memorist.engine.background_loading import BackgroundSteps
from memorist.extensions import SessionView
from memorist.platforms import background_thread
from memorist.platforms.background_thread import (
    PROMPT_IN_PROGRESS,
    PromptInProgress,
    start_thread_awaited_at_exit,
)


def test_prompts_have_priority_until_the_last_is_answered() -> None:
    """Several may be answered at once, and an error in one of them ends it as an answer does."""
    priority = PromptInProgress()
    states = []

    def fail() -> None:
        with priority:
            with priority:
                states.append(priority.wait_until_idle(0))
            states.append(priority.wait_until_idle(0))
            raise TimeoutError

    with pytest.raises(TimeoutError):
        fail()
    assert [*states, priority.wait_until_idle(0)] == [False, False, True]


def test_the_interpreter_is_left_as_the_host_had_it_but_where_a_prompt_meets_our_work() -> None:
    """Whichever of both begins first or ends last, and a host that wants an even quicker change
    keeps it.
    """
    before, quick, own = sys.getswitchinterval(), 0.00005, background_thread.PROMPT_SWITCH_SECONDS
    prompt = PromptInProgress()
    seen: list[float] = []

    def look() -> None:
        seen.append(sys.getswitchinterval())

    try:
        with prompt:
            look()
            with prompt.background_work(), prompt:
                look()
            look()
        with prompt.background_work():
            look()
            with prompt:
                look()
            look()
        sys.setswitchinterval(quick)
        with prompt, prompt.background_work():
            look()
        look()
    finally:
        sys.setswitchinterval(before)

    expected = [before, own, before, before, own, before, quick, quick]
    assert seen == pytest.approx(expected, abs=2e-6)


def test_a_thread_of_ours_is_background_work() -> None:
    """A prompt beside it has the short interval, one without it the host's own."""
    before, seen = sys.getswitchinterval(), list[float]()

    def look() -> None:
        with PROMPT_IN_PROGRESS:
            seen.append(sys.getswitchinterval())

    start_thread_awaited_at_exit(look, name="look").join()
    own = background_thread.PROMPT_SWITCH_SECONDS
    assert seen == pytest.approx([own], abs=2e-6)
    assert sys.getswitchinterval() == before


def test_many_short_steps_pause_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pause after each of a thousand patterns takes longer than to compile them."""
    monkeypatch.setattr(background_loading, "STEP_PAUSE_SECONDS", 600.0)
    monkeypatch.setattr(background_loading, "MIN_WORK_SECONDS", 600.0)
    owner, taken = Owner(), []

    def take_steps() -> Iterator[None]:
        for step in range(1_000):
            taken.append(step)
            yield

    BackgroundSteps(take_steps, "steps").start(owner)
    for thread in running("steps"):
        thread.join()
    assert len(taken) == 1_000


def test_steps_wait_for_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most the step that was begun is done while a prompt is answered, and all of them after
    it.
    """
    monkeypatch.setattr(background_loading, "MAX_PROMPT_WAIT_SECONDS", 600.0)
    taken = []

    def take_steps() -> Iterator[None]:
        for step in range(5):
            taken.append(step)
            yield

    with PROMPT_IN_PROGRESS:
        owner = Owner()
        BackgroundSteps(take_steps, "steps").start(owner)
        (thread,) = running("steps")
        thread.join(0.05)
        assert len(taken) <= 1
    thread.join()
    assert len(taken) == 5


def test_a_long_loop_stands_still_while_a_prompt_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It would take half of the interpreter's time from it, at whatever interval."""
    monkeypatch.setattr(background_thread, "MAX_PROMPT_WAIT_SECONDS", 600.0)
    taken: list[int] = []

    def take() -> None:
        taken.extend(PROMPT_IN_PROGRESS.iterate_between_prompts(range(5)))

    with PROMPT_IN_PROGRESS:
        thread = start_thread_awaited_at_exit(take, name="loop")
        thread.join(0.05)
        assert not taken
    thread.join()
    assert taken == [*range(5)]


def test_a_long_loop_goes_on_where_prompts_never_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a server of many users: it waits a moment, works a moment, and does not starve."""
    monkeypatch.setattr(background_thread, "MAX_PROMPT_WAIT_SECONDS", 0.001)
    with PROMPT_IN_PROGRESS:
        assert [*PROMPT_IN_PROGRESS.iterate_between_prompts(range(5))] == [*range(5)]


def test_steps_stop_with_the_last_who_needs_them_and_go_on_from_there() -> None:
    """No thread outlives the last engine, and no step is done twice."""
    taken = []

    def take_steps() -> Iterator[None]:
        for step in range(100):
            taken.append(step)
            yield

    steps, one, other = BackgroundSteps(take_steps, "steps"), Owner(), Owner()
    with PROMPT_IN_PROGRESS:
        steps.start(one)
        steps.start(other)
        steps.stop(one)
        assert running("steps")
        steps.stop(other)
        assert not running("steps")
        assert len(taken) < 100
    steps.start(one)
    for thread in running("steps"):
        thread.join()
    assert taken == list(range(100))
    steps.start(other)
    steps.stop(one)
    steps.stop(other)
    assert taken == list(range(100))


def test_no_thread_outlives_the_engine(tmp_path: Path) -> None:
    """A test or a function that opens one for a moment leaves nothing behind."""
    with Memorist(home=tmp_path / "home") as engine:
        engine.open("one", project=tmp_path).prepare({"model": "m", "messages": []})
    assert not running("memorist")


class Owner:
    """Somebody who needs steps done."""


def running(name: str) -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name.startswith(name)]


async def test_a_request_is_prepared_with_priority(tmp_path: Path) -> None:
    """From the host's call to the request that it sends."""
    seen = []

    class Watcher(SessionExtension):
        async def before_request(self, view: SessionView, new_messages: Sequence[Message]) -> None:
            del view, new_messages
            seen.append(PROMPT_IN_PROGRESS.wait_until_idle(0))

    async with Memorist(model="structural", home=tmp_path / "home") as engine:
        engine.extensions.append(lambda _: Watcher())
        session = await engine.open("one", project=str(tmp_path))
        await session.prepare({"model": "m", "messages": [{"role": "user", "content": "Hello"}]})
        await session.close()
    assert seen == [False]
    assert PROMPT_IN_PROGRESS.wait_until_idle(0)


async def test_what_rules_are_compared_in_is_built_after_a_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first rule that is stated finds it built, in another thread than the host's."""
    builders = []

    class Search(RelatedStatementSearch):
        def set_memories_in_steps(self, memories: Iterable[MemoryHeader]) -> Iterator[None]:
            if given := [*memories]:
                builders.append(threading.current_thread().name)
            yield from super().set_memories_in_steps(given)

    async with Memorist(model="structural", home=tmp_path / "home") as engine:
        engine.memory(str(tmp_path)).add("Never push to main.")
        monkeypatch.setattr(known_memories, "RelatedStatementSearch", Search)
        async with Memorist(model="structural", home=tmp_path / "home") as other:
            session = await other.open("one", project=str(tmp_path))
            messages = [{"role": "user", "content": "Hello"}]
            await session.prepare({"model": "m", "messages": messages})
            await session.observe(
                {"role": "assistant", "content": [{"type": "text", "text": "Hi."}]}
            )
            await session.end_turn()
            for thread in threading.enumerate():
                if thread.name == "memorist-statements":
                    thread.join()
            assert set(builders) == {"memorist-statements"}
            found = other.memory(str(tmp_path)).known_memories.get_search()
            assert found.find_related_memories("Push to main.") == ("never-push-to-main.md",)
            assert set(builders) == {"memorist-statements"}
            await session.close()


async def test_what_a_rule_is_recorded_in_is_read_after_a_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list of all memories in the history, by another thread than the host's: the first rule
    that is stated waited for it.
    """
    readers = []
    read = map_tree_paths_to_blob_ids

    def note_reader(*given: Any) -> dict[str, str]:
        readers.append(threading.current_thread().name)
        return read(*given)

    with Memorist(home=tmp_path / "home") as engine:
        engine.memory(str(tmp_path)).add("Never push to main.")
    monkeypatch.setattr(memory_history, "map_tree_paths_to_blob_ids", note_reader)
    async with Memorist(model="structural", home=tmp_path / "home") as other:
        session = await other.open("one", project=str(tmp_path))
        messages: list[JsonObject] = [{"role": "user", "content": "Hello"}]
        await session.prepare({"model": "m", "messages": messages})
        messages.append({"role": "assistant", "content": [{"type": "text", "text": "Hi."}]})
        await session.observe(messages[-1])
        await session.end_turn()
        for thread in running("memorist-statements"):
            thread.join()
        messages.append({"role": "user", "content": "Always run the linter before a commit."})
        await session.prepare({"model": "m", "messages": messages})
        assert len(other.memory(str(tmp_path)).headers()) == 2
        await session.close()

    assert readers == ["memorist-statements"]


def test_what_is_asked_for_before_it_is_built_is_built_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits for the thread: whoever asks does the rest of what it began."""
    with Memorist(home=tmp_path / "home") as engine:
        memory = engine.memory(str(tmp_path))
        for text in ("Never push to main.", "Use tabs.", "We deploy on Mondays."):
            memory.add(text)
    with Memorist(home=tmp_path / "home") as engine:
        memory = engine.memory(str(tmp_path))
        monkeypatch.setattr(related_statement_search, "MEMORIES_PER_STEP", 1)
        steps = memory.prepare_first_write()
        next(steps)
        search = memory.known_memories.get_search()
        assert search.find_related_memories("Push to main.") == ("never-push-to-main.md",)
        assert [*steps] == [None]  # what the history knows
        assert memory.known_memories.get_search() is search


def test_the_first_memory_that_is_shown_waits_for_no_module() -> None:
    """The parser of its header is loaded with the patterns, not while a prompt is answered."""
    code = (
        "import sys\n"
        "from itertools import islice\n"
        "from memorist.engine.background_loading import _load_patterns\n"
        "print('yaml' in sys.modules)\n"
        "list(islice(_load_patterns(), 10))\n"
        "print('yaml' in sys.modules)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=True
    )
    assert ended.stdout.split() == ["False", "True"]
