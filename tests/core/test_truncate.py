"""Cutting texts by tokens."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memorist.core.token_count import estimate_text_tokens
from memorist.core.truncation import truncate_end, truncate_middle


def test_a_text_within_the_limit_is_not_touched() -> None:
    """No mark where nothing was cut."""
    assert truncate_end("short", 10) == "short"
    assert truncate_middle("short", 10) == "short"


def test_a_cut_says_how_much_is_gone() -> None:
    """The reader learns that something is missing, and how much."""
    text = "".join(f"line {number}\n" for number in range(1_000))

    assert "tokens cut" in truncate_end(text, 100)
    assert truncate_middle(text, 100).startswith("line 0\n")
    assert truncate_middle(text, 100).endswith("line 999\n")


@given(st.text(min_size=1), st.integers(min_value=1, max_value=50))
def test_a_cut_text_keeps_to_its_limit_and_is_made_of_the_original(text: str, tokens: int) -> None:
    """Whatever the signs, the kept part is within the limit, and is the original's start (and end)."""
    for cut in (truncate_end(text, tokens), truncate_middle(text, tokens)):
        head, _, rest = cut.partition("\n… ")
        tail = rest.partition(" …\n")[2]
        if cut == text:
            continue
        assert text.startswith(head)
        assert text.endswith(tail)
        assert estimate_text_tokens(head + tail) <= tokens + 1
