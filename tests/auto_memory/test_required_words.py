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
    pattern_alternatives,
    plain_english_patterns,
    unconfirmed_patterns,
)
from memorist.auto_memory.statements.no_memory_and_pin_requests import message_asks_for_no_memory
from memorist.auto_memory.statements.pattern_alternatives import (
    OpeningPattern,
    compile_opening_patterns_stepwise,
    match_alternatives,
    split_alternatives,
)
from memorist.auto_memory.statements.pattern_required_words import (
    PrefilteredPattern,
    find_required_beginnings,
    find_required_words,
    fold_case,
    parse_pattern_tokens,
)
from memorist.auto_memory.statements.statement_parser import find_statements
from memorist.auto_memory.statements.statement_pattern_index import StatementPatternIndex
from memorist.auto_memory.statements.statement_patterns import StatementPattern
from memorist.core.messages import Message, Origin, TextBlock
from support.sweeps import examples

pytestmark = pytest.mark.covers("AM-7")

PATTERNS: tuple[StatementPattern, ...] = (
    *english_patterns.ENGLISH_REMEMBER_PATTERNS,
    *english_patterns.ENGLISH_CORRECTION_PATTERNS,
    *english_patterns.ENGLISH_RULE_PATTERNS,
    *chinese_patterns.CHINESE_REMEMBER_PATTERNS,
    *chinese_patterns.CHINESE_CORRECTION_PATTERNS,
    *chinese_patterns.CHINESE_RULE_PATTERNS,
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


@examples(15, whole=200, suppress_health_check=list(HealthCheck))
@given(matched_sentences())
def test_alternatives_match_as_the_whole_expression(example: tuple[StatementPattern, str]) -> None:
    """Tried one after another, they find the same words at the same place."""
    pattern, text = example
    whole, found = re.match(pattern.pattern, text, re.IGNORECASE), pattern.match(text)

    assert (whole is None) == (found is None)
    if whole is not None and found is not None:
        assert found.span() == whole.span()
        assert found.groupdict() == whole.groupdict()


@pytest.mark.parametrize(
    ("pattern", "parts"),
    [
        (r"use \w+|prefer .+", [r"use \w+", r"prefer .+"]),
        (
            r"(?P<text>use .|(?:no|not) .) now",
            [r"(?P<text>use .) now", r"(?P<text>(?:no|not) .) now"],
        ),
        (r"(?:(?:ab.|cd.)e|f.)g", [r"(?:(?:ab.)e)g", r"(?:(?:cd.)e)g", r"(?:f.)g"]),
        (r"(?:a.|b.)+c", [r"(?:a.|b.)+c"]),
        (r"x?(?:a.|b.)c", [r"x?(?:a.|b.)c"]),
        (r"(?P<text>a.)|(?P<other>b.)", [r"(?P<text>a.)|(?P<other>b.)"]),
        (r"(a.|b.)\1", [r"(a.|b.)\1"]),
        (r"(?:a.|b.|c.)" + r"\w\s" * 10, [r"(?:a.|b.|c.)" + r"\w\s" * 10]),
    ],
)
def test_an_expression_is_split_where_nothing_else_changes(pattern: str, parts: list[str]) -> None:
    """It stays whole where a part is repeated, comes second, has a name or is referred to, and
    where the parts would be much longer.
    """
    assert ["".join(t[0] for t in each) for each in split_alternatives(pattern)] == parts


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
        (r"[✅❌]\s?.+", {"✅", "❌"}),
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
            {
                *("we don'", "we don’", "we dont", "we do no"),
                *("i don'", "i don’", "i dont", "i do not"),
            },
        ),
        (r"\b(?!never)(?:we|it's)+.*", {"we", "it's"}),
        (r"(?:we use|i am)?.*", set()),
        (r"(?:we|)\s+use", set()),
        (r"(?:we|$)(?:(?<=we) use)?", set()),
        (r"[wv]e use", {"we use", "ve use"}),
        (r"[u-w]e use", set()),
        (r"abc?d{0,2}e+", {"abc", "abd", "abe"}),
        (r"Straße(?: |$)", {"strasse ", "strasse"}),
    ],
)
def test_a_match_begins_with_one_of_the_words(pattern: str, words: set[str]) -> None:
    """What may be missing is passed over, and where anything may begin a match none is known."""
    assert find_required_beginnings(parse_pattern_tokens(pattern)) == words


def test_an_alternative_is_compiled_only_where_it_may_match(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """That its words stand anywhere is not enough where they have to come first."""
    compiled: list[str] = []
    compile_one = pattern_alternatives._compile

    def note_and_compile(text: str) -> re.Pattern[str]:
        compiled.append(text)
        return compile_one(text)

    monkeypatch.setattr(pattern_alternatives, "_compile", note_and_compile)
    pattern = r"(?P<text>(?:use|take) .+ only|prefer .+)"

    assert match_alternatives(pattern, "why do you use tabs only") is None
    assert match_alternatives(pattern, "use tabs") is None
    assert compiled == []
    assert match_alternatives(pattern, "USE tabs only")
    assert compiled == [r"(?P<text>(?:use|take) .+ only)"]


def test_what_is_compiled_ahead_is_all_that_messages_need(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part at each step, so that a prompt that comes meanwhile waits for one."""
    compiled: list[str] = []
    monkeypatch.setattr(pattern_alternatives, "_OPENINGS", [])
    monkeypatch.setattr(pattern_alternatives, "_compile", compiled.append)
    OpeningPattern(r"use \w+|take \d+")
    pattern = StatementPattern("rule", r"(?P<text>no \w+|not \d+)", exception_pattern=r"no \d")

    assert sum(1 for _ in compile_opening_patterns_stepwise()) == 2
    assert sum(1 for _ in StatementPatternIndex(pattern).compile_stepwise()) == 3
    assert compiled == [
        *(r"use \w+", r"take \d+", r"(?P<text>no \w+)", r"(?P<text>not \d+)", r"no \d")
    ]


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
    message = Message(id="m", role="user", blocks=(typed,), origin=Origin.USER, is_typed=True)

    assert [each.text for each in find_statements(message)] == [
        "Never use npm in this repo, use pnpm."
    ]
    assert not message_asks_for_no_memory(message)
