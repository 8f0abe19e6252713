"""A memory that is moved between a project and every project, and a move that is taken back: of two
folders, none of which may be left behind.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from memorist.system import SystemClock
from support.home_states import HomeCommands
from support.killed_process import kill_points
from support.sweeps import sampled

pytestmark = pytest.mark.covers("AM-10", "WD-6")
WORDS = "Texts are written in British spelling"
NAME = "texts-are-written-in-british-spelling"


@pytest.fixture
def home() -> Iterator[HomeCommands]:
    states = HomeCommands()
    yield states
    states.teardown()


def places(home: HomeCommands) -> list[str]:
    """Where the memory stands: in the project's folder, or in that of every project."""
    return sorted(
        "here" if "projects" in path.relative_to(home.home).parts else "everywhere"
        for path, data in home.memory_files().items()
        if WORDS.encode() in data
    )


@pytest.mark.parametrize(
    ("there", "back"), [("--everywhere", "--here"), ("--here", "--everywhere")]
)
def test_a_move_is_taken_back_in_both_folders(home: HomeCommands, there: str, back: str) -> None:
    """`undo` gives the folder that the memory left what it had, and takes it from the other: it
    stood in both, and the next `undo` did nothing.
    """
    home.must("memory", "add", WORDS)
    if there == "--here":
        home.must("memory", "move", NAME, back)
    before = places(home)
    home.must("memory", "move", NAME, there)
    assert len(places(home)) == 1
    assert places(home) != before
    home.must("memory", "undo", "--yes")
    assert places(home) == before
    home.must("memory", "undo", "--yes")
    assert places(home) == ([] if there == "--everywhere" else ["here"])


def test_undo_takes_the_newest_change_within_one_second(
    home: HomeCommands, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was remembered after a move is taken back first, also within one second of it: the
    histories of the two folders kept whole seconds, and `undo` took the move.
    """
    times = (1_750_000_000 + step / 10_000 for step in range(9_000))
    monkeypatch.setattr(SystemClock, "now", lambda _: next(times))
    home.must("memory", "add", WORDS)
    home.must("memory", "move", NAME, "--everywhere")
    home.must("memory", "add", "Never touch the folder legacy")
    assert "Never touch" in home.must("memory", "undo", "--yes")
    assert places(home) == ["everywhere"]
    home.must("memory", "undo", "--yes")
    assert places(home) == ["here"]


def test_another_project_takes_no_half_of_a_move_back(home: HomeCommands) -> None:
    """Where a memory came from another project, `undo` would leave it nowhere; it says where the
    move can be taken back.
    """
    home.must("memory", "add", WORDS)
    home.must("memory", "move", NAME, "--everywhere")
    other = home.make_project("blog")
    refused = home.run("memory", "undo", "--yes", root=other)
    assert refused.exit_code == 1
    assert "another project" in str(refused.exception)
    assert places(home) == ["everywhere"]


@pytest.mark.parametrize("stride", sampled([1, 7], {7}))
@pytest.mark.parametrize("command", ["move", "move back", "undo"])
def test_a_killed_move_or_undo_leaves_the_memory_and_is_finished_by_the_same_command(
    home: HomeCommands, command: str, stride: int
) -> None:
    """Killed before any change of the disk: the memory is in one of the two folders or in both, and
    the command, given again, leaves it in one.
    """
    home.must("memory", "add", WORDS)
    wish, end = ["memory", "move", NAME, "--everywhere"], ["everywhere"]
    if command != "move":
        home.must(*wish)
        back = ["move", NAME, "--here"] if command == "move back" else ["undo", "--yes"]
        wish, end = ["memory", *back], ["here"]
    start = home.top / "start"
    shutil.copytree(home.home, start)

    def prepare() -> None:
        shutil.rmtree(home.home)
        shutil.copytree(start, home.home)

    for at in kill_points(lambda: home.must(*wish), prepare, stride):
        assert places(home), at
        if places(home) != end:
            home.must(*wish)
        assert places(home) == end, at


def test_a_move_that_was_killed_between_its_folders_is_taken_back(home: HomeCommands) -> None:
    """The memory is in both: `undo` takes it from the one that it came to."""
    home.must("memory", "add", WORDS)
    start = home.top / "start"
    shutil.copytree(home.home, start)

    def prepare() -> None:
        shutil.rmtree(home.home)
        shutil.copytree(start, home.home)

    seen = 0
    for _ in kill_points(
        lambda: home.must("memory", "move", NAME, "--everywhere"), prepare, stride=3
    ):
        if places(home) == ["everywhere", "here"]:
            seen += 1
            home.must("memory", "undo", "--yes")
            assert places(home) == ["here"]
    assert seen
