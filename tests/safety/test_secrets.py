"""Secrets: every rule finds its own in every context, what only looks like one is left alone, and
no text makes the search slow or wrong.
"""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.secrets import ADDRESSED, SHAPES, Chance, Sample, fill, innocent, secrets
from memorist.safety.secret_patterns import TOKEN_FORMATS
from memorist.safety.secrets import (
    _SECRET_KEYS,
    RedactedText,
    SafetyFinding,
    find_secrets,
    redact,
    redaction_mark,
)

pytestmark = pytest.mark.covers("SF-1")

CORPUS = list(secrets(rounds=1))
RULES = sorted({sample.rule for sample in CORPUS})
PIECES = st.sampled_from(
    [
        *(sample.text for sample in CORPUS[:: len(CORPUS) // 150]), *_SECRET_KEYS, "[redacted: a]", "[redacted: github-token]", "[redacted: ", "=", ": ", '"', "'", "\\n",
        "\n", " ", "://", "@", "eyJ", ".eyJ", "Bearer ", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "ghp_", "aK9xmP2qLr7vBn4w", "curl -u ", "x", "é", "İ", "密",
    ]
)  # fmt: skip
TEXTS = st.lists(PIECES | st.text(max_size=8), max_size=12).map("".join)


def test_every_format_has_examples_in_the_corpus() -> None:
    """No rule goes untested."""
    assert {kind.name for kind in TOKEN_FORMATS} <= SHAPES.keys() | ADDRESSED.keys()


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_takes_its_secrets_out_in_every_context(rule: str) -> None:
    """In .env files, JSON, shells, prose, code, YAML, escaped text and Chinese; the mark names the
    rule.
    """
    for sample in CORPUS:
        if sample.rule == rule:
            clean = redact(sample.text)

            assert sample.secret not in clean.text
            assert rule in clean.rules
            assert redaction_mark(rule) in clean.text


@pytest.mark.parametrize(
    "sample", list(innocent()), ids=lambda sample: f"{sample.rule}-{sample.text[:20]!r}"
)
def test_what_only_looks_like_a_secret_is_left_alone(sample: Sample) -> None:
    """Digests, identifiers, pictures, public keys, placeholders, code, paths and prose come back as
    the same object.
    """
    clean = redact(sample.text)

    assert clean.text is sample.text
    assert clean.rules == ()


@given(TEXTS)
def test_nothing_is_found_in_what_was_redacted(text: str) -> None:
    """Redaction is idempotent, whatever marks and pieces of secrets stand beside each other."""
    clean = redact(text)

    assert find_secrets(clean.text) == ()
    assert redact(clean.text) == RedactedText(clean.text)
    assert redact(clean.text).text is clean.text


@given(TEXTS)
def test_findings_lie_in_the_text_in_order_and_apart(text: str) -> None:
    """They can be cut out one after another; without one the text is the same object."""
    found = find_secrets(text)

    assert all(0 <= one.start < one.end <= len(text) for one in found)
    assert all(left.end <= right.start for left, right in pairwise(found))
    assert found or redact(text).text is text


@pytest.mark.parametrize(
    "unit",
    [
        "eyJ-",
        "eyJ-" * 30 + ".eyJ",
        "token=",
        "AccountKey=",
        "-----BEGIN PRIVATE KEY-----",
        "://a:",
        "密码是",
        "CFPAT-",
        "curl -u ",
        "A",
    ],
)
def test_long_runs_of_what_a_rule_looks_for_are_read_in_linear_time(unit: str) -> None:
    """A million characters: a pattern that went back over them would take an hour, and the test's
    time limit would end it.
    """
    text = unit * (1_000_000 // len(unit))

    assert all(
        left.end <= right.start
        for left, right in pairwise(
            (*find_secrets(text), SafetyFinding(len(text), len(text), "end"))
        )
    )


def test_secrets_in_a_chain_are_all_taken_out() -> None:
    """A secret that becomes one only when its neighbour is gone is found as well, without reading
    the text once for each.
    """
    chance = Chance(7)
    chain = "".join(fill("dop_v1_{H64}", chance)[0] for _ in range(200))

    clean = redact(chain)

    assert find_secrets(clean.text) == ()
    assert "dop_v1_" not in clean.text
    assert clean.text.endswith(redaction_mark("unreadable"))


def test_a_secret_does_not_hide_behind_a_mark() -> None:
    """A mark is never marked again, and what stands around it in a value still goes."""
    secret = fill("{A14}9x", Chance(3))[0]

    clean = redact(f'password="{redaction_mark("password")}{secret}"')

    assert secret not in clean.text
    assert clean.text.startswith(f'password="{redaction_mark("password")}')


def test_a_long_secret_goes_to_its_end() -> None:
    """What is judged by its first characters is not cut there."""
    secret = fill("{A255}", Chance(5))[0] * 8

    assert secret[-20:] not in redact(f"api_key = '{secret}'").text
    assert secret[-20:] not in redact(f"api_key={secret}").text


def test_places_hold_where_small_letters_are_longer() -> None:
    """A capital whose small form is two characters does not shift what is cut out."""
    secret = fill("{A14}9x", Chance(4))[0]

    assert redact(f"İİİ password={secret} İ").text == f"İİİ password={redaction_mark('password')} İ"


@pytest.mark.parametrize("count", [0, 19_990, (1 << 20) - 15, (1 << 20) - 3, 1 << 20])
def test_a_secret_is_found_wherever_it_stands_in_a_long_text(count: int) -> None:
    """Long texts are looked through in chunks; none is lost on a border."""
    token = fill("ghp_{A36}", Chance(6))[0]
    text = "a " * (count // 2) + "b" * (count % 2) + " " + token + " c" * 20_000

    assert [finding.rule for finding in find_secrets(text)] == ["github-token"]
