"""What was used last is kept, and no more than so much."""

from __future__ import annotations

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from memorist.core.bounded_collections import LruCache


@given(st.lists(st.sampled_from("abcdef"), max_size=30), st.integers(1, 4))
def test_the_values_asked_for_last_are_kept_and_the_others_told(
    asked: list[str], most: int
) -> None:
    """Each is made once as long as it is kept; what goes is the one asked for longest ago."""
    gone: list[str] = []
    made: list[str] = []
    recent = LruCache(gone.append, max_size=most)

    def make(name: str) -> str:
        made.append(name)
        return name

    for name in asked:
        assert recent.get_or_create(name, partial(make, name)) == name

    last = list(dict.fromkeys(reversed(asked)))[:most]
    assert list(recent) == last[::-1]
    assert sorted(made) == sorted([*gone, *recent])
