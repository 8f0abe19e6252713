"""The measure of secrets: what counts as found, and what the table says of a finder that is not
there.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import secrets as bench
from benchmarks.secrets import Sample, innocent, secrets

pytestmark = pytest.mark.covers("SF-1")


def test_a_secret_counts_as_found_when_half_of_it_or_more_is_covered() -> None:
    """All of it, a line that holds it, or a long part; a corner of it, or another word of the line,
    does not count.
    """
    corpus = [Sample("r", "key = abcdefgh", "abcdefgh")]

    assert bench.measure_secrets_recall(lambda text: ["abcdefgh"], corpus) == 1
    assert bench.measure_secrets_recall(lambda text: [text], corpus) == 1
    assert bench.measure_secrets_recall(lambda text: ["abcde"], corpus) == 1
    assert bench.measure_secrets_recall(lambda text: ["abc", "key"], corpus) == 0
    assert bench.measure_secrets_recall(lambda text: [], corpus) == 0


def test_the_corpus_is_the_same_each_time_and_holds_its_secrets() -> None:
    """Figures can be compared; each secret stands in its text."""
    corpus = list(secrets(rounds=1))

    assert corpus == list(secrets(rounds=1))
    assert all(sample.secret and sample.secret in sample.text for sample in corpus)
    assert not any(sample.secret for sample in innocent())


@pytest.mark.slow
def test_the_table_says_when_the_other_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Ours is measured all the same, without recorded sessions as well, and meets its goals."""
    monkeypatch.setattr(bench, "detect_secrets", lambda: None)
    monkeypatch.setattr(bench, "SPEED_SIZE", 10_000)

    result = bench.measure(tmp_path)

    assert "not installed" in result.rows[-1].what
    assert [row.met for row in result.rows[:2]] == [True, True]
    assert result.rows[2].unit == "MB/s"
