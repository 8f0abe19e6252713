"""What of a context is new, gone or as it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.context.context_pieces import ContextPiece, build_context_piece, diff_context_pieces

pytestmark = pytest.mark.covers("CX-9")


def pieces(words: str) -> list[ContextPiece]:
    return [
        build_context_piece("user", "prompt", word, source=f"line {number}", why="said")
        for number, word in enumerate(words.split())
    ]


def told(before: str, after: str) -> str:
    marks = {"added": "+", "gone": "-", "same": ""}
    return " ".join(
        f"{marks[each.change]}{each.piece.text}"
        for each in diff_context_pieces(pieces(before), pieces(after))
    )


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("", "a b", "+a +b"),
        ("a b", "a b c", "a b +c"),
        ("a b c d", "sum c d e", "-a -b +sum c d +e"),
        ("a b", "", "-a -b"),
        ("a a", "a", "a -a"),
        ("a", "a a", "a +a"),
        ("a b c", "a c b", "a c b"),
        ("a b", "sum", "-a -b +sum"),
    ],
)
def test_each_piece_is_named_by_what_became_of_it(before: str, after: str, expected: str) -> None:
    """What is gone stands where it stood; a repeat is counted; the number of its line does not
    matter.
    """
    assert told(before, after) == expected


@given(st.lists(st.sampled_from("abcd")), st.lists(st.sampled_from("abcd")))
def test_nothing_is_lost_or_told_twice(before: list[str], after: list[str]) -> None:
    """Without what is gone it is the context after, in its order; what is gone and the same are all
    of the context before.
    """
    found = diff_context_pieces(pieces(" ".join(before)), pieces(" ".join(after)))

    assert [each.piece.text for each in found if each.change != "gone"] == after
    assert sorted(each.piece.text for each in found if each.change != "added") == sorted(before)
