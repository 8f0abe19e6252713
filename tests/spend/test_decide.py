"""Whether a fork may run: the caps, the ladder, and the words of a refusal."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.budget.budget_caps import (
    CAP_SHARES,
    MEASURES,
    MINIMUM_GRANT,
    UNKNOWN_WORK_SHARE,
    BudgetGranted,
    BudgetMeasure,
    BudgetRefused,
    BudgetRequest,
    BudgetScope,
    BudgetUsage,
    convert_fork_limits_to_amount,
    decide_budget_request,
    get_budget_cap_share,
)
from memorist.forks.fork_spec import ForkLimits
from memorist.settings import SpendSettings
from memorist.store.spend_rows import ModelHold, ResourceAmounts

NOW = 1_700_000_000.0
"""22:13:20 UTC."""
PLAIN = SpendSettings()
HOLD = ModelHold(
    model="m",
    cause="refused",
    noted=NOW,
    until=NOW + 90,
    said="the provider of m refused a request (status 429)",
)

amounts = st.builds(
    ResourceAmounts,
    requests=st.integers(0, 1_000),
    tokens=st.integers(0, 10_000_000),
    cost_usd=st.floats(0, 20),
    seconds=st.floats(0, 30_000),
)
limits = st.builds(
    ForkLimits,
    requests=st.integers(1, 50),
    tokens=st.integers(1, 1_000_000),
    cost_usd=st.floats(0.01, 5),
    seconds=st.floats(0.1, 600),
)
standings = st.builds(
    BudgetUsage,
    now=st.just(NOW),
    day=amounts,
    session=amounts,
    day_reserved=amounts,
    session_reserved=amounts,
    holds=st.just(()),
)


def refused(
    work: BudgetRequest, standing: BudgetUsage, settings: SpendSettings = PLAIN
) -> BudgetRefused:
    found = decide_budget_request(work, standing, settings)
    assert isinstance(found, BudgetRefused)
    return found


def notes(**more: bool) -> BudgetRequest:
    return BudgetRequest(label="session_memory", limits=ForkLimits(), **more)


@pytest.mark.covers("SG-1")
@given(st.sampled_from([*CAP_SHARES, "anything"]), limits, standings)
def test_a_fork_that_uses_all_it_was_granted_stays_below_every_cap(
    label: str, own: ForkLimits, standing: BudgetUsage
) -> None:
    """Used, reserved and granted together never exceed the cap's share; and a fork is never granted
    more than its own limits.
    """
    found = decide_budget_request(BudgetRequest(label=label, limits=own), standing, PLAIN)
    if isinstance(found, BudgetRefused):
        return
    granted = convert_fork_limits_to_amount(found.limits)
    for scope, used in (
        ("day", standing.day + standing.day_reserved),
        ("session", standing.session + standing.session_reserved),
    ):
        for measure in MEASURES:
            total = getattr(used + granted, measure)
            assert (
                total <= getattr(PLAIN, f"{scope}_{measure}") * get_budget_cap_share(label) + 1e-6
            )
            assert getattr(granted, measure) <= getattr(convert_fork_limits_to_amount(own), measure)
    assert found.limits.requests >= 1


@pytest.mark.covers("SG-1")
@pytest.mark.parametrize("scope", ["day", "session"])
@pytest.mark.parametrize("measure", MEASURES)
def test_each_cap_stops_what_would_exceed_it(scope: BudgetScope, measure: BudgetMeasure) -> None:
    """Each of the eight caps, alone, refuses, and the reason names it."""
    cap = getattr(PLAIN, f"{scope}_{measure}")
    used = ResourceAmounts(**{measure: type(getattr(MINIMUM_GRANT, measure))(cap)})
    standing = (
        BudgetUsage(now=NOW, day=used) if scope == "day" else BudgetUsage(now=NOW, session=used)
    )
    found = refused(notes(), standing)

    assert found.cause == f"spend.{scope}_{measure}"
    assert ("the day's" if scope == "day" else "this session's") in found.why


@pytest.mark.covers("SG-1")
def test_dream_gives_way_first_and_compaction_last() -> None:
    """As the day's requests are used up, kinds of work stop in the order of the ladder, and what
    has stopped does not begin again.
    """
    allowed = [
        {
            label
            for label in CAP_SHARES
            if isinstance(
                decide_budget_request(
                    BudgetRequest(label=label, limits=ForkLimits()), _used(used), PLAIN
                ),
                BudgetGranted,
            )
        }
        for used in range(PLAIN.day_requests + 1)
    ]
    order = [
        label
        for before, after in pairwise(allowed)
        for label in CAP_SHARES
        if label in before - after
    ]

    assert allowed[0] == set(CAP_SHARES)
    assert all(after <= before for before, after in pairwise(allowed))
    assert order == [
        "dream",
        "consolidation",
        "rollouts",
        "extraction",
        "magic_docs",
        "recall",
        "session_memory",
        "compact",
    ]


def _used(requests: int) -> BudgetUsage:
    return BudgetUsage(now=NOW, day=ResourceAmounts(requests=requests))


@pytest.mark.covers("SG-1")
def test_work_that_the_ladder_does_not_name_gives_way_with_the_first() -> None:
    """A new kind of work cannot slip past the caps by its name."""
    assert get_budget_cap_share("brand_new") == UNKNOWN_WORK_SHARE == min(CAP_SHARES.values())


@pytest.mark.covers("SG-1")
def test_a_refusal_says_what_is_used_and_when_work_goes_on() -> None:
    """The figures, the share, and the next midnight of UTC."""
    found = refused(notes(), _used(460))

    assert (
        found.why
        == "460 of the day's 500 requests are used; session_memory may run up to 90 % of them; "
        "next at midnight UTC."
    )
    assert found.until == 1_700_006_400.0


@pytest.mark.covers("SG-1")
def test_the_reason_is_the_same_though_its_figures_change() -> None:
    """One receipt for each reason needs a name for the reason that does not change with the
    figures.
    """
    first, second = refused(notes(), _used(460)), refused(notes(), _used(461))

    assert first.cause == second.cause
    assert first.why != second.why


@pytest.mark.covers("SG-1")
def test_what_running_work_has_reserved_is_told_apart_from_what_is_used() -> None:
    """The cap is not reached yet: nobody has to wait for midnight."""
    found = refused(
        notes(),
        BudgetUsage(
            now=NOW, day=ResourceAmounts(requests=440), day_reserved=ResourceAmounts(requests=10)
        ),
    )

    assert "reserved" in found.why
    assert found.until is None
    assert found.cause != refused(notes(), _used(460)).cause


@pytest.mark.covers("SG-1")
def test_a_cap_of_nothing_allows_nothing_and_says_which_setting_it_is() -> None:
    """No promise that midnight would change it."""
    found = refused(notes(), BudgetUsage(now=NOW), SpendSettings(day_cost_usd=0.0))

    assert found.why.startswith("spend.day_cost_usd is 0")
    assert found.until is None


@pytest.mark.covers("SG-1")
def test_what_a_person_asked_for_and_waits_for_is_not_capped() -> None:
    """Nor held back by a rate limit: the model itself waits and tries again."""
    full = ResourceAmounts(requests=9_999, tokens=10**9, cost_usd=1e6, seconds=1e6)
    standing = BudgetUsage(now=NOW, day=full, session=full, holds=(HOLD,))

    assert decide_budget_request(notes(is_asked_by_user=True), standing, PLAIN) == BudgetGranted(
        ForkLimits()
    )


@pytest.mark.covers("SG-1")
def test_work_for_no_session_knows_only_the_days_caps() -> None:
    """Dream and rollouts belong to no session."""
    used = BudgetUsage(now=NOW, session=ResourceAmounts(requests=9_999))

    assert isinstance(
        decide_budget_request(
            BudgetRequest(label="dream", limits=ForkLimits(), belongs_to_session=False), used, PLAIN
        ),
        BudgetGranted,
    )
    assert isinstance(
        decide_budget_request(BudgetRequest(label="dream", limits=ForkLimits()), used, PLAIN),
        BudgetRefused,
    )


@pytest.mark.covers("SG-1")
def test_a_hold_goes_before_the_caps_and_without_them() -> None:
    """A provider's limit is respected with the caps switched off as well."""
    found = refused(notes(), BudgetUsage(now=NOW, holds=(HOLD,)), SpendSettings(enabled=False))

    assert (
        found.why
        == "the provider of m refused a request (status 429); background work waits until "
        "22:14 UTC."
    )
    assert found.until == HOLD.until
    assert isinstance(
        decide_budget_request(notes(), _used(9_999), SpendSettings(enabled=False)), BudgetGranted
    )


@pytest.mark.covers("SG-1")
def test_little_that_is_left_narrows_the_fork() -> None:
    """Three requests left: three are granted, of eight."""
    found = decide_budget_request(notes(), _used(447), PLAIN)

    assert isinstance(found, BudgetGranted)
    assert found.limits.requests == 3
    assert found.limits.turns == ForkLimits().turns
