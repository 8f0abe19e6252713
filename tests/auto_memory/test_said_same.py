"""When two sayings are the same rule, and which is nearest."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memorist.auto_memory.statements.statement_similarity import (
    find_most_similar_text,
    is_same_rule,
)

pytestmark = pytest.mark.covers("AM-12")

NOUNS = ["tab", "space", "comment", "fixture", "branch", "report"]
NAMES = [
    "pnpm",
    "npm",
    "src/a.py",
    "src/b.py",
    "v1.2",
    "v1.3",
    "--force",
    "README.md",
    "Ines",
    "Bob",
    "7",
    "8",
]
RULES = st.builds(
    lambda how, verb, names: f"{how} {verb} {' '.join(names)}",
    st.sampled_from(["always", "never", "do not", "please"]),
    st.sampled_from(["use", "edit", "run"]),
    st.lists(st.sampled_from(NAMES + NOUNS), min_size=1, max_size=4),
)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Use pnpm, not npm.", "please use pnpm not npm"),
        ("Never push to main", "never push to main!"),
        ("don't mock the database", "Do not mock databases"),
        ("use red, green and blue", "Use blue, red, and green."),
        ("answer in English or German", "Answer in German or English"),
        ("update the changelog", "Update a changelog"),
        ("We won't use it.", "we won't use it"),
        ("don't do it", "Don't do it!"),
        ("run `ruff` first", "run ruff first"),
        ("提交信息一律用英文写。", "请提交信息一律用英文写"),
    ],
)
def test_case_punctuation_politeness_plural_and_list_order_make_no_difference(
    left: str, right: str
) -> None:
    """These are the rules by which two texts are the same; there are no others."""
    assert is_same_rule(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("No, use tabs", "no use tabs"),
        ("use tabs not spaces", "use spaces not tabs"),
        ("always run tests", "never run tests"),
        ("lint and test", "test and lint"),
        ("map a to b and c to d", "map a to c and b to d"),
        ("use -n 2", "use n 2"),
        ("use --force", "use force"),
        ("a != b", "a = b"),
        ("README.md", "readme.md"),
        ("use plan A", "use plan"),
        ("use option a", "use option"),
        ("ship to us", "ship to US"),
        ("a limit of 5€", "a limit of 5£"),
        ("use C++", "use C"),
        ("不要用 npm", "要用 npm"),
        ("first red and blue", "first blue and red"),
        ("...", "!!!"),
    ],
)
def test_what_could_change_the_meaning_makes_two_rules(left: str, right: str) -> None:
    """Where in doubt they are not the same."""
    assert not is_same_rule(left, right)


@given(st.text(max_size=60), st.text(max_size=60))
def test_sameness_is_its_own_mirror(left: str, right: str) -> None:
    """Every text is the same as itself, and the order of the two does not matter."""
    assert is_same_rule(left, left)
    assert is_same_rule(left, right) == is_same_rule(right, left)


@given(RULES)
def test_manners_and_punctuation_change_nothing(rule: str) -> None:
    """A rule said politely, loudly or with a full stop is the same rule."""
    assert is_same_rule(rule, f"Please {rule}.")
    assert is_same_rule(rule, f"{rule}!")
    assert is_same_rule(rule, rule[0].upper() + rule[1:])


@given(RULES, st.sampled_from(["not", "never", "no", "without"]), st.data())
def test_a_negation_more_is_another_rule(rule: str, negation: str, data: st.DataObject) -> None:
    """Wherever it stands."""
    words = rule.split()
    at = data.draw(st.integers(0, len(words)))

    assert not is_same_rule(rule, " ".join([*words[:at], negation, *words[at:]]))


@given(RULES, st.data())
def test_another_name_number_or_path_is_another_rule(rule: str, data: st.DataObject) -> None:
    """One word put in the place of another."""
    words = rule.split()
    at = data.draw(st.integers(0, len(words) - 1))
    other = data.draw(st.sampled_from(NAMES + NOUNS))
    assume(other != words[at] and words[at] != "please")

    assert not is_same_rule(rule, " ".join([*words[:at], other, *words[at + 1 :]]))


def test_the_nearest_text_is_found_for_a_look_before_writing() -> None:
    """The one with most words in common; opposites are near too, for they contradict; none is found
    where nothing is alike.
    """
    known = ["use tabs in Go", "commit messages in English", "never use npm, use pnpm"]

    near = find_most_similar_text("use pnpm, not npm", known)
    same = find_most_similar_text("Use tabs in Go.", known)

    assert near is not None
    assert near.index == 2
    assert same is not None
    assert (same.index, same.share) == (0, 1.0)
    assert find_most_similar_text("deploys happen on Thursdays", known) is None
    assert find_most_similar_text("anything", []) is None


@given(st.text(max_size=60), st.lists(st.text(max_size=40), max_size=6))
def test_the_nearest_is_one_of_the_known_and_near_enough(text: str, others: list[str]) -> None:
    """Whatever the texts; a text that is there already is always found."""
    found = find_most_similar_text(text, others)

    assert found is None or (0 <= found.index < len(others) and 0.5 <= found.share <= 1)
    assert find_most_similar_text(text, [*others, text]) is not None


ENDINGS = st.sampled_from(
    [
        "branch",
        "branches",
        "entry",
        "entries",
        "databases",
        "database",
        "Straße",
        "class",
        "classes",
        "don't",
        "won't",
        "the",
        "please",
    ]
)


@pytest.mark.parametrize("row", [".", "=", "-", "_", "*", "-=", "a.", ".a"])
def test_a_long_row_of_signs_is_read_at_once(row: str) -> None:
    """In time that grows with its length: it grew with the cube, and would take days here."""
    assert not is_same_rule(f"use {row * 50_000}", "use tabs")
