"""What is to be done to make two sides alike, from checksums alone (TM-2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.team.delta import MASS, MOST_IN_ONE, Known, Sides, batches, plan, too_many, without_lost
from memorist.team.remote import Put

keys = st.sampled_from(["a", "b", "c"])
sums = st.sampled_from(["", "1", "2", "3"])
sides = st.builds(
    Sides,
    here=st.dictionaries(keys, sums.filter(bool)),
    there=st.dictionaries(keys, sums.filter(bool)),
    known=st.dictionaries(keys, st.builds(Known, there=sums, here=sums, held=st.booleans())),
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
        ("1", "1", Known("1", "1"), ""),
        ("2", "1", Known("1", "1"), "send"),
        ("1", "2", Known("1", "1"), "take"),
        ("2", "3", Known("1", "1"), "meet"),
        ("2", "2", Known("1", "1"), "alike"),
        ("", "1", Known("1", "1"), "remove"),
        ("1", "", Known("1", "1"), "drop"),
        ("", "2", Known("1", "1"), "take"),
        ("2", "", Known("1", "1"), "send"),
        ("", "", Known("1", "1"), "alike"),
        ("1", "2", Known("2", "1", held=True), ""),
        ("3", "2", Known("2", "1", held=True), "aside"),
        ("", "2", Known("2", "", held=True), ""),
        ("2", "2", Known("2", "1", held=True), "alike"),
    ],
)
def test_one_name_has_one_step(here: str, there: str, known: Known | None, step: str) -> None:
    """An edit goes before a deletion, the same change on both sides is no conflict, and what was not taken is never overwritten by what is here."""
    found = plan(Sides(here={"k": here} if here else {}, there={"k": there} if there else {}, known={"k": known} if known else {}))

    assert {name: getattr(found, name) for name in found.__struct_fields__ if getattr(found, name)} == ({step: ("k",)} if step else {})


@pytest.mark.covers("TM-2")
@given(sides)
def test_no_step_loses_an_edit(given_sides: Sides) -> None:
    """What changed there is never deleted or overwritten from here, nor the other way round; what stays is never sent."""
    steps = plan(given_sides)
    for key in ("a", "b", "c"):
        known = given_sides.known.get(key, Known("", ""))
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
    known = without_lost({"k": Known("1", "1")}, ())

    assert plan(Sides(here={"k": "1"}, there={}, known=known)).send == ("k",)
    assert without_lost({"k": Known("1", "1")}, {"k"}) == {"k": Known("1", "1")}


@pytest.mark.covers("TM-2")
@given(st.dictionaries(st.text(min_size=1, max_size=5), st.builds(Put, st.none() | st.text(max_size=400), st.sampled_from(["", "1"]))))
def test_bodies_keep_their_size_and_hold_every_change_once(changes: dict[str, Put]) -> None:
    """At most the limit each, but for one that is too large alone; deletions and changes go before what is new."""
    found = list(batches(changes, 500))

    assert [key for batch in found for key in batch] == sorted(changes, key=lambda key: (changes[key].was == "", key))
    for batch in found:
        size = sum(
            len((put.text or "").encode("utf-8", "surrogatepass")) + len(key.encode("utf-8", "surrogatepass")) for key, put in batch.items()
        )
        assert size <= 500 or len(batch) == 1
        assert len(batch) <= MOST_IN_ONE


@pytest.mark.covers("TM-2")
def test_many_deletions_at_once_wait() -> None:
    """Half of what is shared, and not just a few."""
    known = {f"k{number}": Known("1", "1") for number in range(2 * MASS)}

    assert too_many(list(known)[:MASS], known)
    assert not too_many(list(known)[: MASS - 1], known)
    assert not too_many(list(known)[:MASS], known | {f"m{number}": Known("1", "1") for number in range(5)})
