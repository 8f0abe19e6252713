"""What is to be done to make two sides alike, from checksums alone (TM-2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.team.team_remote import (
    MAX_CHANGES_PER_REQUEST,
    RemoteChange,
    split_changes_into_batches,
)
from memorist.team.team_sync_plan import (
    MASS_DELETION_COUNT,
    SyncedMemory,
    TeamSyncSides,
    drop_names_lost_by_remote,
    is_mass_deletion,
    plan_team_sync,
)

keys = st.sampled_from(["a", "b", "c"])
sums = st.sampled_from(["", "1", "2", "3"])
sides = st.builds(
    TeamSyncSides,
    here=st.dictionaries(keys, sums.filter(bool)),
    there=st.dictionaries(keys, sums.filter(bool)),
    last_synced=st.dictionaries(
        keys, st.builds(SyncedMemory, there=sums, here=sums, waits=st.booleans())
    ),
    staying=st.sets(keys),
)


@pytest.mark.covers("TM-2")
@pytest.mark.parametrize(
    ("here", "there", "known", "step"),
    [
        ("1", "", None, "send"),
        ("", "1", None, "take"),
        ("1", "1", None, "alike"),
        ("1", "2", None, "meet"),
        ("1", "1", SyncedMemory("1", "1"), ""),
        ("2", "1", SyncedMemory("1", "1"), "send"),
        ("1", "2", SyncedMemory("1", "1"), "take"),
        ("2", "3", SyncedMemory("1", "1"), "meet"),
        ("2", "2", SyncedMemory("1", "1"), "alike"),
        ("", "1", SyncedMemory("1", "1"), "remove"),
        ("1", "", SyncedMemory("1", "1"), "drop"),
        ("", "2", SyncedMemory("1", "1"), "take"),
        ("2", "", SyncedMemory("1", "1"), "send"),
        ("", "", SyncedMemory("1", "1"), "alike"),
        ("1", "2", SyncedMemory("2", "1", waits=True), ""),
        ("3", "2", SyncedMemory("2", "1", waits=True), "aside"),
        ("", "2", SyncedMemory("2", "", waits=True), ""),
        ("2", "2", SyncedMemory("2", "1", waits=True), "alike"),
    ],
)
def test_one_name_has_one_step(
    here: str, there: str, known: SyncedMemory | None, step: str
) -> None:
    """An edit goes before a deletion, the same change on both sides is no conflict, and what was
    not taken is never overwritten by what is here.
    """
    found = plan_team_sync(
        TeamSyncSides(
            here={"k": here} if here else {},
            there={"k": there} if there else {},
            last_synced={"k": known} if known else {},
        )
    )

    assert {
        name: getattr(found, name) for name in found.__struct_fields__ if getattr(found, name)
    } == ({step: ("k",)} if step else {})


@pytest.mark.covers("TM-2")
@given(sides)
def test_no_step_loses_an_edit(given_sides: TeamSyncSides) -> None:
    """What changed there is never deleted or overwritten from here, nor the other way round; what
    stays is never sent.
    """
    steps = plan_team_sync(given_sides)
    for key in ("a", "b", "c"):
        known = given_sides.last_synced.get(key, SyncedMemory("", ""))
        here, there = given_sides.here.get(key, ""), given_sides.there.get(key, "")
        if there and there not in (known.there, here):
            assert key not in (*steps.send, *steps.remove, *steps.drop)
        if here and here not in (known.here, there):
            assert key not in (*steps.take, *steps.drop)
        if key in given_sides.staying and here != known.here:
            assert key not in (*steps.send, *steps.remove, *steps.meet)
    named = [key for name in steps.__struct_fields__ for key in getattr(steps, name)]
    assert len(named) == len(set(named))


@pytest.mark.covers("TM-2")
def test_what_a_remote_lost_is_sent_again_and_not_deleted_here() -> None:
    """Neither there nor deleted there: an empty store is no order to empty the folder."""
    known = drop_names_lost_by_remote({"k": SyncedMemory("1", "1")}, ())

    assert plan_team_sync(TeamSyncSides(here={"k": "1"}, there={}, last_synced=known)).send == (
        "k",
    )
    assert drop_names_lost_by_remote({"k": SyncedMemory("1", "1")}, {"k"}) == {
        "k": SyncedMemory("1", "1")
    }


@pytest.mark.covers("TM-2")
@given(
    st.dictionaries(
        st.text(min_size=1, max_size=5),
        st.builds(RemoteChange, st.none() | st.text(max_size=400), st.sampled_from(["", "1"])),
    )
)
def test_bodies_keep_their_size_and_hold_every_change_once(
    changes: dict[str, RemoteChange],
) -> None:
    """At most the limit each, but for one that is too large alone; deletions and changes go before
    what is new.
    """
    found = list(split_changes_into_batches(changes, 500))

    assert [key for batch in found for key in batch] == sorted(
        changes, key=lambda key: (changes[key].was == "", key)
    )
    for batch in found:
        size = sum(
            len((put.text or "").encode("utf-8", "surrogatepass"))
            + len(key.encode("utf-8", "surrogatepass"))
            for key, put in batch.items()
        )
        assert size <= 500 or len(batch) == 1
        assert len(batch) <= MAX_CHANGES_PER_REQUEST


@pytest.mark.covers("TM-2")
def test_many_deletions_at_once_wait() -> None:
    """Half of what is shared, and not just a few."""
    known = {f"k{number}": SyncedMemory("1", "1") for number in range(2 * MASS_DELETION_COUNT)}

    assert is_mass_deletion(list(known)[:MASS_DELETION_COUNT], known)
    assert not is_mass_deletion(list(known)[: MASS_DELETION_COUNT - 1], known)
    assert not is_mass_deletion(
        list(known)[:MASS_DELETION_COUNT],
        known | {f"m{number}": SyncedMemory("1", "1") for number in range(5)},
    )
