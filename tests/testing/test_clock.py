"""Time that moves only when told to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.testing import FrozenClock
from support.sweeps import examples


@pytest.mark.covers("SG-1")
@given(st.lists(st.floats(0, 1e6), max_size=8))
@examples(15, whole=40)
async def test_sleep_and_advance_move_both_times_and_nothing_waits(waits: list[float]) -> None:
    """What was slept is noted in order."""
    clock = FrozenClock(100.0)
    for seconds in waits:
        await clock.sleep(seconds)
    clock.advance(5.0)

    assert clock.slept == waits
    assert clock.monotonic() == pytest.approx(sum(waits) + 5)
    assert clock.now() == pytest.approx(100 + sum(waits) + 5)


@pytest.mark.covers("SG-1")
def test_only_the_wall_clock_can_be_put_back() -> None:
    """The monotonic time never goes back."""
    clock = FrozenClock(100.0)
    clock.set_wall(50.0)

    assert (clock.now(), clock.monotonic()) == (50.0, 0.0)
    with pytest.raises(ValueError, match="positive"):
        clock.advance(-1)
