"""The words that tell which patterns are tried change nothing of what is found."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from memorist.auto_memory.statements import (
    chinese_patterns,
    english_patterns,
    european_patterns,
    plain_english_patterns,
    unconfirmed_patterns,
)
from memorist.auto_memory.statements.required_words import (
    PrefilteredPattern,
    StatementPatternIndex,
    find_beginnings,
    find_required_words,
    fold_case,
)
from memorist.auto_memory.statements.session_requests import message_asks_for_no_memory
from memorist.auto_memory.statements.statement_parser import find_statements
from memorist.auto_memory.statements.statement_patterns import (
    StatementPattern,
    define_statement_pattern,
)
from memorist.core.messages import Message, Origin, TextBlock
from support.sweeps import examples

pytestmark = pytest.mark.covers("AM-7")

PATTERNS: tuple[StatementPattern, ...] = (
    *english_patterns.ENGLISH_FORGET_PATTERNS,
    *english_patterns.ENGLISH_REMEMBER_PATTERNS,
    *english_patterns.ENGLISH_CORRECTION_PATTERNS,
    *english_patterns.ENGLISH_RULE_PATTERNS,
    *chinese_patterns.CHINESE_FORGET_PATTERNS,
    *chinese_patterns.CHINESE_REMEMBER_PATTERNS,
    *chinese_patterns.CHINESE_CORRECTION_PATTERNS,
    *chinese_patterns.CHINESE_RULE_PATTERNS,
    *european_patterns.OTHER_FORGET_PATTERNS,
    *european_patterns.OTHER_REMEMBER_PATTERNS,
    *european_patterns.OTHER_RULE_PATTERNS,
    *plain_english_patterns.PLAIN_PATTERNS,
    *unconfirmed_patterns.UNCONFIRMED_PATTERNS,
)
INDEX = StatementPatternIndex(*PATTERNS)


@st.composite
def matched_sentences(draw: st.DrawFn) -> tuple[StatementPattern, str]:
    """A pattern and a sentence that it matches, its letters in any case."""
    pattern = draw(st.sampled_from(PATTERNS))
    text = draw(st.from_regex(re.compile(pattern.pattern, re.IGNORECASE)))
    flips = draw(st.integers(0, 2**24))
    return pattern, "".join(
        letter.swapcase() if flips >> at % 24 & 1 and len(letter.swapcase()) == 1 else letter
        for at, letter in enumerate(text)
    )


@examples(15, whole=100, suppress_health_check=list(HealthCheck))
@given(matched_sentences())
def test_a_pattern_that_matches_is_tried(example: tuple[StatementPattern, str]) -> None:
    """No pattern is left out that matches, whatever the sentence and the case of its letters."""
    pattern, text = example
    if pattern.match(text):
        assert pattern in INDEX.select_patterns(text)


def test_letters_that_match_without_case_fold_to_the_same() -> None:
    """Wherever a regular expression takes two letters for one, so does the search for words."""
    for code in [*range(0xD800), *range(0xE000, 0x20000)]:
        letter = chr(code)
        for other in {letter.lower(), letter.upper(), letter.casefold(), *"sikßåµ"} - {letter}:
            if len(other) == 1 and (other.isascii() or other != letter):
                same = re.fullmatch(re.escape(other), letter, re.IGNORECASE) is not None
                assert not same or fold_case(other) == fold_case(letter), (letter, other)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r"(?:please )?(?:always|never) \w+", {"always", "never"}),
        (r"(?P<text>(?:we|i) (?:don['’]?t|do not) use .+)", {" use "}),
        (r"(?:we use|i am)?.*", set()),
        (r"abc?d{0,2}(?!never)e+", {"ab"}),
        (r"(?:a|b?)x", {"x"}),
        (r"Straße|ſo", {"strasse", "so"}),
        (r"no\ufe0f?|\xa0yes", {"no", "yes"}),
    ],
)
def test_the_words_are_those_that_every_match_holds(pattern: str, words: set[str]) -> None:
    """What may be missing from a match is required of none."""
    assert find_required_words(pattern) == words


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r"(?:please )?(?:always|never) \w+", {"please ", "always ", "never "}),
        (
            r"(?P<text>(?:we|i) (?:don['’]?t|do not) use .+)",
            {"we don", "we do no", "i don", "i do not"},
        ),
        (r"\b(?!never)(?:we|it's)+.*", {"we", "it's"}),
        (r"(?:we use|i am)?.*", set()),
        (r"(?:we|)\s+use", set()),
        (r"(?:we|$)(?:(?<=we) use)?", set()),
        (r"[wv]e use", set()),
        (r"abc?d{0,2}e+", {"abc", "abd", "abe"}),
        (r"Straße(?: |$)", {"strasse ", "strasse"}),
    ],
)
def test_a_match_begins_with_one_of_the_words(pattern: str, words: set[str]) -> None:
    """What may be missing is passed over, and where anything may begin a match none is known."""
    assert find_beginnings(pattern) == words


def test_a_sentence_that_begins_otherwise_is_not_tried() -> None:
    """That a pattern's words stand anywhere is not enough where they have to come first."""
    pattern = define_statement_pattern("rule", r"(?P<text>(?:use|prefer) .+)")
    index = StatementPatternIndex(pattern)
    assert index.select_patterns("USE tabs") == [pattern]
    assert index.select_patterns("why do you use tabs") == []


def test_most_patterns_are_left_out() -> None:
    """An ordinary request is tried on a small part of the patterns: that is what it is for."""
    asked = "The importer reads a row, so fix the date in the second column and run it again."
    assert len(INDEX.select_patterns(asked)) < len(PATTERNS) / 4


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("My boss SAYS that tabs are fine", True),
        ("laut Handbuch gilt das", True),
        ("I say that tabs are fine", False),
        ("nothing of the kind", False),
        ("", False),
    ],
)
def test_an_expression_is_looked_for_where_its_words_stand(text: str, *, found: bool) -> None:
    """It may be laid out in lines, and finds what it finds alone."""
    search = PrefilteredPattern(
        r"""\b(?!i\b)\w+\ says?\ that
        |\blaut\ \w+"""
    )
    assert search.is_in(text) is found


@pytest.mark.covers("AM-7")
def test_half_a_character_in_a_message_costs_no_statement() -> None:
    """A host that cuts a text within a character hands over one that cannot be encoded."""
    typed = TextBlock("Fix it \ud83d now.\nNever use npm in this repo, use pnpm.")
    message = Message(id="m", role="user", blocks=(typed,), origin=Origin.USER)

    assert [each.text for each in find_statements(message)] == [
        "Never use npm in this repo, use pnpm."
    ]
    assert not message_asks_for_no_memory(message)
