"""What is made at its first use behaves as if it had been made at once."""

from __future__ import annotations

import operator
import re
import subprocess
import sys
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.core.lazy import lazy_module, lazy_pattern, precompile_patterns_stepwise
from memorist.core.xml_escaping import escape_attribute, escape_text, quote_attribute
from memorist.core.yaml_text import dump_yaml, parse_yaml_scalars_as_text

TEXTS = st.text(alphabet="aAbB \n1-", max_size=30)


@given(TEXTS)
def test_a_late_pattern_finds_what_a_compiled_one_finds(text: str) -> None:
    """By each of its methods, from the first use on."""
    late, plain = (
        lazy_pattern(r"(a+)(?P<rest>b?)", re.IGNORECASE),
        re.compile(r"(a+)(?P<rest>b?)", re.IGNORECASE),
    )

    for _ in range(2):
        assert late.findall(text) == plain.findall(text)
        assert [found.span() for found in late.finditer(text)] == [
            found.span() for found in plain.finditer(text)
        ]
        assert late.sub("x", text) == plain.sub("x", text)
        assert late.split(text) == plain.split(text)
        for name in ("match", "search", "fullmatch"):
            one, other = getattr(late, name)(text), getattr(plain, name)(text)
            assert (one and one.groupdict()) == (other and other.groupdict())
    assert (late.pattern, late.flags, late.groups) == (plain.pattern, plain.flags, plain.groups)


def test_a_late_pattern_is_compiled_when_it_is_first_used() -> None:
    """A wrong one is made without a word and tells so at its use; what no pattern has, it has not
    either.
    """
    wrong = lazy_pattern("(")

    with pytest.raises(re.error):
        wrong.match("x")
    with pytest.raises(AttributeError, match="nothing"):
        operator.attrgetter("nothing")(lazy_pattern("x"))


def test_late_patterns_are_compiled_ahead_where_asked() -> None:
    """One at each step, so that whoever asks decides when to go on."""
    late = lazy_pattern("(?P<word>ahead)")
    steps = sum(1 for _ in precompile_patterns_stepwise())

    assert steps >= 1
    assert object.__getattribute__(late, "search")("look ahead")["word"] == "ahead"


def test_a_late_module_is_loaded_by_the_first_who_asks() -> None:
    """Not before, and never another than the one that an import gives."""
    code = (
        "import sys; from memorist.core.lazy import lazy_module; m = lazy_module('wave'); a = "
        "'wave' in sys.modules;"
        "f = m.open; import wave; print(a, f is wave.open)"
    )

    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30
    )

    assert said.stdout.split() == ["False", "True"]
    with pytest.raises(ModuleNotFoundError):
        operator.attrgetter("name")(lazy_module("no_such_module_at_all"))


@given(st.text(alphabet="a&<>\"' \n\r\té\ud800", max_size=20))
def test_text_in_tags_is_written_as_the_standard_library_writes_it(text: str) -> None:
    """Byte for byte: context that was sent before stays as it was."""
    assert escape_text(text) == escape(text)
    assert quote_attribute(text) == quoteattr(text)
    assert escape_attribute(text) == quoteattr(text, {'"': "&quot;"})[1:-1]


@pytest.mark.parametrize("text", ["a: [", "a: b: c", "[" * 5_000, "\x00"])
def test_what_is_no_yaml_is_a_value_error(text: str) -> None:
    """One error for all that can be wrong, so that nobody needs the library to catch it."""
    with pytest.raises(ValueError, match=r"\S"):
        parse_yaml_scalars_as_text(text)


def test_yaml_is_read_as_the_text_that_stands_there() -> None:
    """Nothing is guessed, and what is written comes back."""
    assert parse_yaml_scalars_as_text("a: yes\nb: 2026-01-02\nc: 1.0") == {
        "a": "yes",
        "b": "2026-01-02",
        "c": "1.0",
    }
    assert parse_yaml_scalars_as_text(dump_yaml({"b": "x: y", "a": ["1", "é"]})) == {
        "b": "x: y",
        "a": ["1", "é"],
    }


def test_a_pattern_that_is_a_part_of_another_is_not_compiled() -> None:
    """Its text alone is asked for, when the module of both is loaded."""
    part = lazy_pattern("(part")

    whole = lazy_pattern(rf"{part.pattern}|whole)")

    assert whole.fullmatch("whole")
