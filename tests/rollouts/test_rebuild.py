"""The database is lost; the files are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.rollouts.rollout_summaries import select_recoverable_extracts
from memorist.store.extract_rows import (
    RolloutExtract,
    insert_missing_extracts,
    list_enabled_extracts,
)
from memorist.store.job_claims import finish_extraction
from memorist.store.rollout_rows import list_extraction_progress, save_rollouts
from store.claiming import NOW, TERMS, claim, extract, opened, refused, thread

FOUND = st.builds(
    RolloutExtract,
    thread=st.sampled_from(["", "a", "b"]),
    updated=st.integers(0, 9),
    raw_memory=st.sampled_from(["", " ", "text"]),
    generated=st.just(0),
)


@pytest.mark.covers("RO-2")
def test_what_the_files_hold_is_not_extracted_again(tmp_path: Path) -> None:
    """It counts as consolidated and up to date; a session that grew since, or that the files do not
    hold, is due.
    """
    (tmp_path / "before").mkdir()
    state, _ = opened(tmp_path / "before")
    for id in ("a", "b"):
        finish_extraction(state, claim(state, id), extract(id), TERMS)
    files = [each.extracted for each in list_enabled_extracts(state)]

    anew, _ = opened(tmp_path)
    rebuilt = select_recoverable_extracts(files)
    insert_missing_extracts(anew, rebuilt)
    save_rollouts(anew, [thread("a"), thread("b", updated=NOW), thread("c")])

    assert [(each.extracted, each.selected) for each in list_enabled_extracts(anew)] == [
        (each, True) for each in files
    ]
    assert {each.rollout.id: each.is_up_to_date for each in list_extraction_progress(anew)} == {
        "a": True,
        "b": False,
        "c": False,
    }
    assert refused(anew, "a").why == "up to date"


@pytest.mark.covers("RO-2")
@given(st.lists(FOUND, max_size=8))
def test_of_each_session_the_newest_text_comes_back(found: list[RolloutExtract]) -> None:
    """Whatever the files hold twice, empty or without a name."""
    rebuilt = select_recoverable_extracts(found)
    usable = [each for each in found if each.thread and not each.is_empty]

    assert [each.extracted.thread for each in rebuilt] == sorted({each.thread for each in usable})
    for each in rebuilt:
        assert each.extracted.updated == max(
            other.updated for other in usable if other.thread == each.extracted.thread
        )
