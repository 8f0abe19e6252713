"""The header of a Markdown file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from types import FrameType

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from memorist.auto_memory.memory_file import parse_memory_file
from memorist.auto_memory.visible_memory import find_planted_orders
from memorist.core.front_matter import join_front_matter, split_front_matter, update_front_matter
from memorist.core.yaml_text import (
    MAX_YAML_DEPTH,
    MAX_YAML_VALUES,
    dump_yaml,
    parse_yaml_scalars_as_text,
)

LINE = st.text(
    st.characters(codec="utf-8", exclude_characters="\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"),
    max_size=40,
)


def count_calls(act: Callable[[], object]) -> int:
    """How many functions are called meanwhile, those of Python and of C."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        act()
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.covers("AM-2")
@given(st.lists(LINE, max_size=8), st.text(max_size=60))
def test_any_header_comes_back_as_it_stood(lines: list[str], body: str) -> None:
    """Whatever stands in a header, known or not, valid or not, is written back letter by letter."""
    text = "---\n" + "".join(line + "\n" for line in lines) + "---\n" + body

    assert join_front_matter(split_front_matter(text)) == text


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    """No text makes the reader fail, and one without a header is all body."""
    document = split_front_matter(text)

    assert document.front is not None or document.body == text


@pytest.mark.covers("AM-2")
def test_setting_a_key_leaves_the_others_alone() -> None:
    """Comments, quoting, order and unknown keys stay; only the key that is set is written anew."""
    text = "---\n# mine\nname: 'a'   # why\ncustom: {deep: [1, 2]}\ntype: user\n---\nbody\n"
    front = split_front_matter(text).front

    changed = update_front_matter(front, {"type": "feedback", "memorist": {"trust": "stated"}})

    raw = "".join(entry.raw for entry in changed.entries)
    assert (
        raw == "# mine\nname: 'a'   # why\ncustom: {deep: [1, 2]}\ntype: feedback\nmemorist:\n  "
        "trust: stated\n"
    )


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("description: mends #12 and #13", "mends #12 and #13"),
        (
            "description: see http://x.y # not a comment for people",
            "see http://x.y # not a comment for people",
        ),
        ('description: "quoted # sign"', "quoted # sign"),
        ("description: yes", "yes"),
        ("description: 2026-01-02", "2026-01-02"),
        ("description: a: b: c", "a: b: c"),
    ],
)
def test_a_value_is_what_a_person_meant(line: str, value: str) -> None:
    """No part is cut off at a `#`, nothing turns into a date or a truth value, and a colon does not
    make the line vanish.
    """
    front = split_front_matter(f"---\nname: x\n{line}\n---\n").front

    assert front is not None
    assert front.text_value("description") == value


@pytest.mark.parametrize(
    "header",
    [
        "name: x\n  bad: [1, 2\n",
        "a: &a [x]\nb: [*a, *a, *a]\n",
        "x: " + "[" * 5_000 + "\n",
        "x: " + "[" * 40_000 + "\n",
        "x: " + "{" * 40_000 + "\n",
        "- " * 30_000 + "\n",
        "a: &a [x,x,x,x,x,x,x,x,x]\n"
        + "".join(f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n" for a, b in pairwise("abcdefgh")),
        "x: [" + "y," * 20_000 + "]\n",
        "a: &a\n  - *a\n",
        "!!python/object/apply:os.system ['true']\n",
        "\tname: x\n",
    ],
    ids=[
        "unclosed",
        "aliases",
        "deep",
        "deep lists",
        "deep mappings",
        "deep blocks",
        "alias bomb",
        "many values",
        "cyclic",
        "object",
        "tab",
    ],
)
def test_a_hostile_header_harms_nobody(header: str) -> None:
    """Broken YAML, alias bombs, endless nesting and object tags are at most reported, the body is
    there, and a topic of it is judged in no more steps than it has characters.
    """
    steps = count_calls(
        lambda: find_planted_orders(parse_memory_file("x.md", f"---\n{header}---\nbody\n".encode()))
    )
    assert steps < 10_000 + len(header)  # some thousand compile the patterns
    document = split_front_matter(f"---\n{header}---\nbody\n")

    assert document.front is not None
    assert document.body == "body\n"


def test_a_header_without_an_end_is_no_header() -> None:
    """A rule of dashes at the start of an ordinary text does not swallow it."""
    assert split_front_matter("---\nJust a line above this text.\n").front is None


@pytest.mark.covers("SK-1")
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b-c", "y", "n", "_x", "a.b"]),
            st.text(st.characters(min_codepoint=32, max_codepoint=126)),
        )
    )
)
@example([("a", "'"), ("b-c", "0"), ("a", "'")])
def test_a_plain_header_reads_as_yaml_reads_it(pairs: list[tuple[str, str]]) -> None:
    """A header of one-line values has the values that a YAML reader gives, save where a person
    plainly meant the whole line.
    """
    lines = [f"{key}: {value}\n" for key, value in pairs]
    front = split_front_matter(f"---\n{''.join(lines)}---\n").front

    assert front is not None
    if not front.problem and " #" not in "".join(lines):
        found = yaml.BaseLoader("".join(lines)).get_single_data() or {}
        assert {key: value for key, value in front.values.items() if value} == {
            key: value for key, value in found.items() if value
        }


@given(
    st.sampled_from(["name", "on", "a1", "Null", "x_"]),
    st.sampled_from(["y", "No", "null", "NaN", "e5", "x: y", "a #b", "use pnpm, never npm"])
    | st.text(st.sampled_from("abyYnNoO .,-_/:#1'é"), min_size=1, max_size=9),
)
def test_a_plain_value_is_written_as_yaml_writes_it(key: str, value: str) -> None:
    """A value that needs no quotes does not pass through YAML's emitter, and nobody sees that."""
    header = update_front_matter(None, {key: value})

    assert "".join(entry.raw for entry in header.entries) == dump_yaml({key: value})


@pytest.mark.covers("SK-1")
@pytest.mark.parametrize("end", ["---", "---\n", "...\r\n", "---  \nbody"])
def test_a_header_ends_where_it_ends_however_long_it_is(end: str) -> None:
    """Also where the end falls on any place about the first two thousand characters."""
    for length in range(2_030, 2_052):
        text = f"---\n{'k: ' + 'v' * (length - 8)}\n{end}"
        document = split_front_matter(text)

        assert document.front is not None
        assert document.front.text_value("k") == "v" * (length - 8)
        assert document.closing == end.partition("body")[0]
        assert join_front_matter(document) == text


@pytest.mark.covers("AM-2")
def test_yaml_is_read_up_to_its_bounds() -> None:
    """At a bound the value is there; one level or value beyond, an anchor and a second document are
    refused with a reason.
    """
    depth = MAX_YAML_DEPTH
    assert isinstance(parse_yaml_scalars_as_text("[" * depth + "]" * depth), list)
    assert parse_yaml_scalars_as_text("[" + "x," * (MAX_YAML_VALUES - 1) + "]") == ["x"] * (
        MAX_YAML_VALUES - 1
    )
    assert parse_yaml_scalars_as_text("") is None
    for text, reason in (
        ("[" * (depth + 1) + "]" * (depth + 1), "deeper"),
        ("[" + "x," * MAX_YAML_VALUES + "]", "more than"),
        ("a: &x y", "anchors"),
        ("a: 1\n---\nb: 2\n", "more than one document"),
        ("x" * 65_537, "longer"),
        ("[a]: b", "not text"),
    ):
        with pytest.raises(ValueError, match=reason):
            parse_yaml_scalars_as_text(text)
