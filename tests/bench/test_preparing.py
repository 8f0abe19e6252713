"""What a turn costs beside other libraries: what is timed, and what is said where there is nothing
to time.
"""

from __future__ import annotations

import importlib.metadata
import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.preparing import (
    COMPARED,
    MESSAGE,
    OTHERS,
    TURNS,
    FollowedTurn,
    Follower,
    MemoristFollower,
    PreparingMethod,
    compare_preparing,
)

pytestmark = [pytest.mark.covers("EN-1"), pytest.mark.timeout(60)]
SMALL, LARGER = 10_000, 30_000
HERE = "msgspec"
"""A distribution that is there wherever memorist is."""


class Known:
    """A library whose turns take 3 milliseconds, but every fifth of them 50."""

    def __init__(self) -> None:
        self.history: list[FollowedTurn] = []
        self.timed: list[FollowedTurn] = []
        self.closed = False

    async def grow(self, turns: Sequence[FollowedTurn]) -> None:
        self.history += turns

    async def turn(self, turn: FollowedTurn) -> float:
        self.timed.append(turn)
        return 0.05 if len(self.timed) % 5 == 0 else 0.003

    async def settle(self) -> None:
        pass

    async def close(self) -> None:
        self.closed = True


def known(made: list[Known]) -> PreparingMethod:
    async def begin(_: Path) -> Follower:
        made.append(Known())
        return made[-1]

    return PreparingMethod("Known", HERE, begin)


async def test_memorists_own_turns_are_measured_at_each_size_and_set_side_by_side() -> None:
    """Without any other library there are its rows, and the goal that long sessions cost no more
    than short ones.
    """
    rows = (await compare_preparing((SMALL, LARGER), ())).rows
    medians = {row.what: row.figure for row in rows if row.what.endswith("median")}
    goals = [row for row in rows if row.goal]

    assert list(medians) == [
        "memorist at 10,000 tokens, median",
        "memorist at 30,000 tokens, median",
    ]
    assert all(row.figure > 0 for row in rows)
    first, last = medians.values()
    assert [(row.figure, row.met) for row in goals] == [(last / first, last / first <= 1.2)]


async def test_a_library_that_is_not_installed_is_said_to_be_absent() -> None:
    """One row without a figure or a goal, and no error."""

    async def begin(_: Path) -> Follower:
        raise AssertionError("nobody is there to begin")

    last = (
        await compare_preparing(
            (SMALL,), [PreparingMethod("Other", "no-such-distribution-anywhere", begin)]
        )
    ).rows[-1]

    assert last.what == "Other: not measured, no-such-distribution-anywhere is not installed"
    assert math.isnan(last.figure)
    assert (last.goal, last.met) == ("", None)


async def test_a_library_without_what_is_measured_is_said_to_be_absent() -> None:
    """An older version may not offer the class."""

    async def begin(_: Path) -> Follower:
        raise ImportError("other has no Session")

    last = (await compare_preparing((SMALL,), [PreparingMethod("Other", HERE, begin)])).rows[-1]

    assert "not measured" in last.what
    assert "other has no Session" in last.what
    assert math.isnan(last.figure)


async def test_the_median_of_the_timed_turns_is_what_is_shown_and_compared() -> None:
    """Every fifth turn takes 50 milliseconds here; the row says 3, and the ratio is to memorist's
    median.
    """
    made: list[Known] = []
    rows = {row.what: row for row in (await compare_preparing((SMALL,), [known(made)])).rows}
    version = importlib.metadata.version(HERE)

    assert rows[f"Known ({version}) at 10,000 tokens, median"].figure == pytest.approx(3_000)
    ratio = rows[f"Known ({version}) to memorist at 10,000 tokens"]
    assert ratio.figure == pytest.approx(3_000 / rows["memorist at 10,000 tokens, median"].figure)
    assert ratio.met is None, "the goal is for one size"


@pytest.mark.slow
async def test_the_goal_against_others_is_held_at_the_size_that_it_names() -> None:
    """Twenty times less at 200,000 tokens, said to be met when it is."""
    rows = (await compare_preparing((COMPARED,), [known([])])).rows
    ratio = rows[-1]

    assert ratio.goal == "at least 20"
    assert ratio.met is (ratio.figure >= 20)


async def test_the_timed_turns_stand_around_the_size_and_follow_the_history() -> None:
    """As many before it as after it, no two messages alike, and all of the same length."""
    made: list[Known] = []
    await compare_preparing((LARGER,), [known(made)])
    (one,) = made
    all_turns = [*one.history, *one.timed]

    assert one.timed[0].before == LARGER - TURNS // 2 * 2 * MESSAGE
    assert [turn.before for turn in all_turns] == [
        number * 2 * MESSAGE for number in range(len(all_turns))
    ]
    assert len({text for turn in all_turns for text in (turn.user, turn.reply)}) == 2 * len(
        all_turns
    )
    assert {len(text) for turn in all_turns for text in (turn.user, turn.reply)} == {4 * MESSAGE}
    assert one.closed


async def test_memorist_sends_the_whole_history_while_it_is_measured(tmp_path: Path) -> None:
    """What is measured is following: nothing is taken out of what the model is shown."""
    ours = await MemoristFollower.begin(tmp_path)
    turns = [
        FollowedTurn(f"user {number}", f"reply {number}", 500 * number, 500) for number in range(60)
    ]
    await ours.grow(turns[:-1])
    await ours.turn(turns[-1])
    await ours.close()
    sent = "\n".join(str(message["content"]) for message in ours.sent["messages"])

    assert len(ours.sent["messages"]) == 2 * len(turns) - 1
    assert all(
        text in sent
        for turn in turns
        for text in (turn.user, turn.reply)
        if text != turns[-1].reply
    )


@pytest.mark.slow
@pytest.mark.parametrize("way", OTHERS, ids=lambda way: way.name)
async def test_the_others_take_their_turns_where_they_are_installed(way: PreparingMethod) -> None:
    """Their rows have figures, made without a network."""
    try:
        importlib.metadata.version(way.distribution)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{way.distribution} is not installed")
    rows = (await compare_preparing((SMALL,), [way])).rows

    assert [row.figure > 0 for row in rows[-2:]] == [True, True]
