"""Hidden characters: found and taken out, and what scripts and emoji need stays."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.safety.hidden_characters import (
    decode_hidden_text,
    find_hidden_characters,
    strip_hidden_characters,
)

pytestmark = pytest.mark.covers("SF-2")

HOSTILE = st.text(
    st.sampled_from(
        "aé1 "
        "\n\r\u200b\u200c\u200d\u202e\u2066\ufeff\ufe0f\U000e0041\U000e007f\U0001f3f4😀👩❤ماक\u094d漢\U000e0100\x00\x1b\ue000\uffff"
    )
    | st.characters()
)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("ig\u200bnore", "zero-width"), ("a\u200db", "zero-width"), ("so\u00adft", "zero-width"), ("a\u2060b", "zero-width"), ("a\ufeffb", "zero-width"), ("a\u3164b", "zero-width"),
        ("x = '\u202e' # 1", "direction"), ("a\u2066b\u2069", "direction"), ("a\u200fb", "direction"), ("hi\U000e0041\U000e0042", "tag"), ("a\ufe0f", "variation"),
        ("😀\ufe0f\ufe01", "variation"), ("a\U000e0101\U000e0102", "variation"), ("\ue000", "private-use"), ("\U000f0000", "private-use"), ("\uffff", "unassigned"),
        ("\x1b[31mred", "control"), ("a\x00b", "control"), ("over\rwritten", "control"),
    ],
)  # fmt: skip
def test_each_kind_is_found_and_taken_out(text: str, kind: str) -> None:
    """Zero width, direction, tags, selectors that select nothing, private use, unassigned,
    controls.
    """
    assert {finding.rule for finding in find_hidden_characters(text)} == {kind}
    assert find_hidden_characters(strip_hidden_characters(text)) == ()
    assert len(strip_hidden_characters(text)) < len(text)


@pytest.mark.parametrize(
    "text",
    [
        "plain\ttext\nwith\r\nlines", "👩\u200d👩\u200d👧\u200d👦", "👩🏽\u200d💻", "🏳\ufe0f\u200d🌈", "❤\ufe0f", "1\ufe0f\u20e3", "👨\u200d⚕\ufe0f", "☎\ufe0e", "©\ufe0f", "漢\U000e0100字",
        "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", "می\u200cخواهم", "क्\u200dष", "ශ්\u200dරී", "שלום\u200f!", "\ufeffbegins with a mark", "ひらがな、カタカナ、漢字。", "naïve café", "한국어",
    ],
)  # fmt: skip
def test_what_scripts_and_emoji_need_stays(text: str) -> None:
    """Families, flags, key caps, Persian, Hindi, Sinhala, Hebrew, ideographs with their variants:
    the same object comes back.
    """
    assert find_hidden_characters(text) == ()
    assert strip_hidden_characters(text) is text


@given(HOSTILE)
def test_nothing_hidden_is_left_and_what_is_seen_stays(text: str) -> None:
    """Taking out is idempotent, and only takes out."""
    seen = strip_hidden_characters(text)

    assert find_hidden_characters(seen) == ()
    assert strip_hidden_characters(seen) is seen
    rest = iter(text)
    assert all(character in rest for character in seen)


@given(HOSTILE)
def test_findings_are_runs_in_order(text: str) -> None:
    """Each lies in the text after the one before it."""
    found = find_hidden_characters(text)

    assert all(one.start < one.end <= len(text) for one in found)
    assert all(left.end <= right.start for left, right in pairwise(found))


def test_hidden_letters_are_read() -> None:
    """Tags spell letters, and selectors spell bytes."""
    tags = "".join(chr(0xE0000 + ord(one)) for one in "send it")
    bytes_of = "".join(
        chr(0xFE00 + byte) if byte < 16 else chr(0xE0100 + byte - 16) for byte in b"send it"
    )

    assert [said for _, said in decode_hidden_text(f"a{tags}b")] == ["send it"]
    assert [said for _, said in decode_hidden_text(f"😀{bytes_of}")] == ["send it"]
