"""The garbage collector's pause while a hook's answer is prepared."""

from __future__ import annotations

import gc

import pytest

from memorist.hooks.hook_daemon import GarbageCollectionPause


def test_nothing_is_collected_until_the_last_answer_went_out() -> None:
    """While one of several answers is prepared the collector stands still; then it runs again, also
    after an error.
    """
    pause = GarbageCollectionPause()
    states = []

    def fail() -> None:
        with pause:
            with pause:
                states.append(gc.isenabled())
            states.append(gc.isenabled())
            raise TimeoutError

    with pytest.raises(TimeoutError):
        fail()

    assert [*states, gc.isenabled()] == [False, False, True]
