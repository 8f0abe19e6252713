"""When notes are due."""

from __future__ import annotations

import pytest

from memorist.ports import HostInfo
from memorist.session_memory.conversation_tracker import ActivitySinceNotesUpdate, check_notes_due
from memorist.session_memory.session_notes import are_notes_allowed
from memorist.settings import SessionMemorySettings

SETTINGS = SessionMemorySettings()
SIZES = [0, 3_000, 8_000, 11_000, 14_000, 16_000, 22_000]


def fired(sizes: list[int], calls_between: int, last_called: list[bool]) -> list[int]:
    """The sizes at which updates fire when the context takes these sizes, with so many tool calls
    between two of them.
    """
    at_update, calls, found = 0, 0, []
    for step, size in enumerate(sizes):
        calls += calls_between if step else 0
        if check_notes_due(
            ActivitySinceNotesUpdate(
                tokens=size,
                tokens_at_update=at_update,
                calls=calls,
                last_turn_called=last_called[step],
            ),
            SETTINGS,
        ):
            at_update, calls = size, 0
            found.append(size)
    return found


@pytest.mark.covers("SM-3")
def test_the_vector_of_the_specification_fires_at_11000_and_16000() -> None:
    """With two tool calls between steps, 22,000 comes with two calls only."""
    assert fired(SIZES, 2, [True] * 7) == [11_000, 16_000]


@pytest.mark.covers("SM-3")
def test_the_last_step_fires_only_when_its_turn_had_no_tool_call() -> None:
    """A natural break stands in for the missing third call."""
    assert fired(SIZES, 2, [True] * 6 + [False]) == [11_000, 16_000, 22_000]


@pytest.mark.covers("SM-2")
@pytest.mark.parametrize(
    ("tokens", "before", "calls", "called", "is_due"),
    [
        (9_999, 0, 9, False, False),
        (10_000, 0, 3, True, True),
        (10_000, 0, 2, True, False),
        (10_000, 0, 0, False, True),
        (14_999, 10_000, 9, False, False),
        (15_000, 10_000, 3, True, True),
        (15_000, 10_000, 2, True, False),
        (15_000, 10_000, 0, False, True),
        (9_000, 4_000, 3, True, True),
    ],
)
def test_growth_is_always_needed_and_then_calls_or_a_break(
    tokens: int, before: int, calls: int, called: bool, is_due: bool
) -> None:
    """Each side of each threshold; once begun, a context that became smaller needs growth only."""
    progress = ActivitySinceNotesUpdate(
        tokens=tokens, tokens_at_update=before, calls=calls, last_turn_called=called
    )

    assert (check_notes_due(progress, SETTINGS) is not None) is is_due


@pytest.mark.covers("SM-1")
@pytest.mark.parametrize(
    ("host", "enabled", "expected"),
    [
        (HostInfo(), True, True),
        (HostInfo(remote=True), True, False),
        (HostInfo(auto_compact=False), True, False),
        (HostInfo(), False, False),
    ],
)
def test_notes_are_off_for_remote_hosts_and_without_auto_compaction(
    host: HostInfo, enabled: bool, expected: bool
) -> None:
    """The gate is a plain value: nothing is asked and nothing is waited for."""
    assert are_notes_allowed(host, SessionMemorySettings(enabled=enabled)) is expected
