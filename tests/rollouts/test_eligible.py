"""Which sessions may be extracted, and why the others may not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.rollouts.session_eligibility import (
    judge_rollout_eligibility,
    judge_rollouts_eligibility,
)
from memorist.settings import RolloutsSettings
from memorist.store.rollout_rows import ExtractionProgress, Rollout

NOW = 1_800_000_000
HOUR, DAY = 3_600, 86_400
SETTINGS = RolloutsSettings()


def standing(
    id: str = "t", *, age: int = DAY, done: int | None = None, begun: bool = False, **values: Any
) -> ExtractionProgress:
    updated = values.pop("updated", NOW - age)
    values = {
        "modified_ns": updated * 10**9,
        "first_words": "Add a login page.",
        "source": "cli",
        **values,
    }
    thread = Rollout(
        id=id, path=f"/srv/{id}.jsonl", format="codex", size=1, updated=updated, **values
    )
    return ExtractionProgress(rollout=thread, done_watermark=done, is_started=begun)


@pytest.mark.covers("RO-1")
@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (standing(age=6 * HOUR), None),
        (standing(age=10 * DAY), None),
        (standing(age=6 * HOUR - 1), "too young"),
        (standing(age=10 * DAY + 1), "too old"),
        (standing(age=90 * DAY, begun=True), None),
        (standing(source="subagent", begun=True), None),
        (standing(mode="disabled", begun=True), "mode"),
        (standing("running"), "current"),
        (standing(mode="disabled"), "mode"),
        (standing(mode="polluted"), "mode"),
        (standing(source="subagent"), "source"),
        (standing(source=""), None),
        (standing(source="claude-vscode"), None),
        (standing(source="claude-desktop-3p"), None),
        (standing(source="remote_mobile"), None),
        (standing(source="sdk-py"), "source"),
        (standing(source="claude-code-github-action"), "source"),
        (standing(first_words=" "), "silent"),
        (standing(done=NOW - DAY), "up to date"),
        (standing(done=NOW - DAY - 1), None),
    ],
)
def test_a_session_is_eligible_or_there_is_a_reason(
    found: ExtractionProgress, reason: str | None
) -> None:
    """Age at most ten days, idle for six hours, not the running one, allowed, from a person, and
    new; both ends count. What was begun is ended at any age.
    """
    verdict = judge_rollout_eligibility(found, SETTINGS, now=NOW, current="running")

    assert (verdict.reason, verdict.is_eligible, bool(verdict.text)) == (
        reason,
        reason is None,
        reason is not None,
    )


@pytest.mark.covers("RO-1")
def test_a_session_that_is_too_young_says_when_it_will_not_be() -> None:
    """At that second it is eligible, and not one before."""
    young = standing(age=HOUR)
    at = judge_rollout_eligibility(young, SETTINGS, now=NOW).at or 0

    assert (
        judge_rollout_eligibility(young, SETTINGS, now=at - 1).is_eligible,
        judge_rollout_eligibility(young, SETTINGS, now=at).is_eligible,
    ) == (False, True)


@pytest.mark.covers("RO-1")
@pytest.mark.parametrize(
    ("updated", "modified", "eligible"),
    [
        (NOW + 400 * DAY, NOW - DAY, True),
        (NOW + 400 * DAY, NOW - HOUR, False),
        (NOW + 400 * DAY, NOW + 400 * DAY, True),
        (NOW + HOUR, NOW + HOUR, False),
    ],
)
def test_a_clock_that_ran_ahead_keeps_no_session_out(
    updated: int, modified: int, eligible: bool
) -> None:
    """A newest message in the future gives way to the file's time; where both lie, the session
    counts as finished, unless it may be a matter of hours.
    """
    found = standing(updated=updated, modified_ns=modified * 10**9)

    assert judge_rollout_eligibility(found, SETTINGS, now=NOW).is_eligible is eligible


@pytest.mark.covers("RO-1")
def test_the_scan_is_bounded_and_says_what_it_left_out() -> None:
    """Of 5,002 sessions the newest 5,000 are judged; those that are up to date do not use the scan
    up.
    """
    done = [standing(f"done-{number}", age=7 * HOUR, done=NOW) for number in range(10)]
    found = [standing(f"t{number:04}", age=DAY + number) for number in range(5_002)]

    verdicts = judge_rollouts_eligibility([*found, *done], SETTINGS, now=NOW)

    assert [v.thread.id for v in verdicts if v.reason == "beyond the scan"] == ["t5000", "t5001"]
    assert sum(v.is_eligible for v in verdicts) == 5_000


@pytest.mark.covers("RO-1")
@given(
    st.integers(-(2**62), 2**62),
    st.integers(-(2**62), 2**62),
    st.integers(0, 2**40),
    st.text(max_size=5),
)
def test_whatever_times_a_file_claims_there_is_a_verdict(
    updated: int, modified: int, now: int, source: str
) -> None:
    """No time that a file can hold makes the judgement fail, and what is not eligible has a reason."""
    verdict = judge_rollout_eligibility(
        standing(updated=updated, modified_ns=modified, source=source), SETTINGS, now=now
    )

    assert verdict.is_eligible is not bool(verdict.text)
