"""The measure of the structural notes: what counts as found."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from benchmarks.notes import (
    identifiers,
    lacking,
    measure_notes,
    measure_notes_recall,
    references,
    word_set,
)

pytestmark = pytest.mark.covers("SM-13")


def test_identifiers_are_paths_members_mixed_case_and_ticked_words() -> None:
    """Plain words are none; a file by its path, a function by its shape, an option by its ticks."""
    found = identifiers("Changed src/app.py and readAll in the parser, see `--dry run` and v2.")

    assert found == {"src/app.py", "readAll", "--dry run", "v2"}


def test_a_path_counts_as_found_by_its_last_part() -> None:
    """Notes may show a path from another folder."""
    assert lacking("we edited app.py", "src/app.py and lib/io.py") == {"lib/io.py"}


def test_words_are_compared_by_their_first_six_letters() -> None:
    """Inflections are one word; stop words and short words do not count."""
    assert word_set("The caching caches because it must") == {"cachin", "caches"}
    assert measure_notes_recall("nothing alike", "alike words", 2).words == 0.5


def test_recall_is_whole_for_the_reference_itself() -> None:
    """The measure finds everything in the text it measures against."""
    text = "Fixed src/app.py because readAll lost the last line."
    found = measure_notes_recall(text, text, 10)

    assert (found.identifiers, found.words) == (1.0, 1.0)


def test_notes_reach_their_goals_on_the_recorded_sessions() -> None:
    """0.92 of the identifiers and 0.68 of the words of model-written summaries, in at most 3,000
    tokens, on the references that the notes were built beside.
    """
    data = Path(__file__).parents[3] / "shared" / "data"
    if not references(data):
        pytest.skip("no reference summaries beside the project")
    if importlib.util.find_spec("quicktok") is None:
        pytest.skip("quicktok is not installed")

    result = measure_notes(data, "summaries.jsonl")

    assert result.met, result.means
    assert result.means["notes"].words > result.means["last 3,000 tokens of what was said"].words
