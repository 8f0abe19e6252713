"""A dict of bounded size."""

from __future__ import annotations

import copy

from memorist.core.bounded_collections import BoundedDict


def test_the_oldest_entry_goes_when_one_too_many_is_set() -> None:
    """What is set again stays where it was, and what was popped before becomes the newest."""
    found: BoundedDict[str, int] = BoundedDict(2)
    found["a"], found["b"], found["a"] = 1, 2, 3
    assert found == {"a": 3, "b": 2}
    found["c"] = 4
    assert list(found) == ["b", "c"]
    found["b"] = found.pop("b")
    found["d"] = 5
    assert list(found) == ["b", "d"]


def test_a_copy_has_the_same_bound() -> None:
    """A deep copy is bounded as the dict that it was made of."""
    found: BoundedDict[str, int] = BoundedDict(1)
    found["a"] = 1
    other = copy.deepcopy(found)
    other["b"] = 2
    assert (found, other) == ({"a": 1}, {"b": 2})
