"""Threads and extracts in the state database."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from memorist.errors import StoreError
from memorist.store.extract_rows import (
    StoredExtract,
    delete_all_extraction_state,
    insert_missing_extracts,
    list_enabled_extracts,
    prune_unused_unconsolidated_extracts,
)
from memorist.store.job_claim_rules import JobClaim
from memorist.store.job_claims import claim_consolidation as claim_whole
from memorist.store.job_claims import finish_consolidation, finish_extraction, list_jobs
from memorist.store.rollout_rows import (
    list_extraction_progress,
    list_rollouts,
    record_rollout_citations,
    save_rollouts,
)
from memorist.store.session_memory_mode import set_memory_mode
from memorist.store.sqlite_database import open_database
from memorist.store.state_database import (
    SqliteStateDatabase,
    list_recorded_damage,
    open_sqlite_state,
)
from store.claiming import DAY, NOW, TERMS, claim, extract, opened, thread


def consolidated(state: SqliteStateDatabase, *ids: str) -> None:
    """Extract these sessions and consolidate them."""
    for id in ids:
        finish_extraction(state, claim(state, id), extract(id), TERMS)
    whole = claim_whole(state, worker="one", terms=TERMS)
    assert isinstance(whole, JobClaim)
    finish_consolidation(state, whole, [extract(id) for id in ids])


def test_threads_are_kept_as_they_were_found(tmp_path: Path) -> None:
    """New ones, changed ones and those as before come back whole, newest first."""
    state, _ = opened(tmp_path)
    save_rollouts(state, [thread("a"), thread("b", updated=NOW)])
    changed = thread("a", size=11, updated=NOW + 1, cwd="/srv/shop", branch="main")
    save_rollouts(state, [changed, thread("b", updated=NOW), thread("c", updated=0)])

    assert list_rollouts(state) == [changed, thread("b", updated=NOW), thread("c", updated=0)]


def test_ten_thousand_sessions_as_before_cost_next_to_nothing(tmp_path: Path) -> None:
    """One query, and nothing is written for them."""
    database = open_database(tmp_path / "state.sqlite")
    state, statements = SqliteStateDatabase(database), list[str]()
    found = [thread(f"t{number}", updated=NOW - number) for number in range(10_000)]
    save_rollouts(state, found)
    database.set_trace_callback(statements.append)
    save_rollouts(state, found)

    assert [each.split()[0] for each in statements] == ["begin", "select", "commit"]


@pytest.mark.covers("RO-1")
def test_how_far_stage_one_got_is_known_for_each_thread(tmp_path: Path) -> None:
    """By its extract, or by its job where it was a no-op; what is up to date does not fill the
    limit.
    """
    state, _ = opened(tmp_path)
    save_rollouts(state, [thread(id, updated=NOW - age) for age, id in enumerate("abcd")])
    finish_extraction(state, claim(state, "a", updated=NOW), extract("a", updated=NOW), TERMS)
    finish_extraction(
        state,
        claim(state, "b", updated=NOW - 1),
        extract("b", updated=NOW - 1, raw_memory="", rollout_summary=""),
        TERMS,
    )

    assert [
        (each.rollout.id, each.done_watermark, each.is_up_to_date)
        for each in list_extraction_progress(state)
    ] == [("a", NOW, True), ("b", NOW - 1, True), ("c", None, False), ("d", None, False)]
    assert [
        each.rollout.id for each in list_extraction_progress(state, limit=1, only_behind=True)
    ] == ["c"]


@pytest.mark.covers("RO-9")
def test_a_mode_other_than_enabled_is_never_lifted_by_a_new_look(tmp_path: Path) -> None:
    """Neither the user's word nor pollution; pollution found later counts at once."""
    state, _ = opened(tmp_path)
    save_rollouts(state, [thread("a"), thread("b", mode="polluted"), thread("c")])
    set_memory_mode(state, "a", "disabled", TERMS)
    save_rollouts(
        state, [thread("a", size=99), thread("b", size=99), thread("c", size=99, mode="polluted")]
    )

    assert {each.id: each.mode for each in list_rollouts(state)} == {
        "a": "disabled",
        "b": "polluted",
        "c": "polluted",
    }


@pytest.mark.covers("RO-9")
@pytest.mark.parametrize("way", ["polluted", "disabled"])
def test_a_session_that_may_not_be_memory_is_forgotten(tmp_path: Path, way: str) -> None:
    """Its extract goes, and stage two is asked when it had been consolidated, and only then."""
    state, _ = opened(tmp_path)
    save_rollouts(state, [thread("a"), thread("b")])
    consolidated(state, "a")
    finish_extraction(state, claim(state, "b"), extract("b"), TERMS)

    def forget(id: str) -> bool:
        return set_memory_mode(state, id, "polluted" if way == "polluted" else "disabled", TERMS)

    asked_before = {job.key: job.watermark for job in list_jobs(state)}["global"]
    outcomes = [forget("b"), forget("a"), forget("unknown")]
    whole = next(job for job in list_jobs(state) if job.key == "global")

    assert (outcomes, list_enabled_extracts(state)) == ([False, True, False], [])
    assert (whole.status, whole.watermark > asked_before) == ("pending", True)


@pytest.mark.covers("RO-9")
def test_a_session_that_is_allowed_again_is_extracted_anew(tmp_path: Path) -> None:
    """Its extract was thrown away; nothing says any more that it is done."""
    state, _ = opened(tmp_path)
    save_rollouts(state, [thread()])
    consolidated(state, "t")
    set_memory_mode(state, "t", "disabled", TERMS)
    set_memory_mode(state, "t", "enabled", TERMS)

    assert [each.is_up_to_date for each in list_extraction_progress(state)] == [False]
    assert claim(state).key == "t"


def test_an_answer_that_cites_a_session_counts_once(tmp_path: Path) -> None:
    """However often it names it; nothing is kept of an unknown one."""
    state, clock = opened(tmp_path)
    for id in ("a", "b"):
        finish_extraction(state, claim(state, id), extract(id), TERMS)
    record_rollout_citations(state, ["a", "a", "nobody"])
    clock.advance(5)
    record_rollout_citations(state, ["a"])

    assert [(each.uses, each.last_use) for each in list_enabled_extracts(state)] == [
        (2, NOW + 5),
        (0, None),
    ]


@pytest.mark.covers("RO-9")
def test_what_is_stale_goes_two_hundred_at_a_time(tmp_path: Path) -> None:
    """Neither consolidated, nor used, nor changed for thirty days; the stalest first; a pruned
    session is not extracted again.
    """
    state, clock = opened(tmp_path)
    many = [f"t{number:03}" for number in range(203)]
    save_rollouts(state, [thread(id) for id in many])
    insert_missing_extracts(
        state,
        [
            StoredExtract(extracted=extract(id, updated=NOW - DAY + at))
            for at, id in enumerate(many)
        ],
    )
    consolidated(state, "kept")
    finish_extraction(state, claim(state, "used"), extract("used"), TERMS)
    clock.advance(31 * DAY)
    record_rollout_citations(state, ["used"])
    prune_unused_unconsolidated_extracts(state, 30)
    first = {each.extracted.thread for each in list_enabled_extracts(state)}
    prune_unused_unconsolidated_extracts(state, 30)

    assert first == {"kept", "used", *many[200:]}
    assert [each.extracted.thread for each in list_enabled_extracts(state)] == ["kept", "used"]


def test_a_pruned_session_is_not_extracted_again(tmp_path: Path) -> None:
    """Its job remembers how far stage one got."""
    state, clock = opened(tmp_path)
    save_rollouts(state, [thread()])
    finish_extraction(state, claim(state), extract(), TERMS)
    clock.advance(31 * DAY)

    prune_unused_unconsolidated_extracts(state, 30)

    assert not list_enabled_extracts(state)
    assert [each.is_up_to_date for each in list_extraction_progress(state)] == [True]


def test_a_reset_leaves_the_sessions_and_what_was_decided_of_them(tmp_path: Path) -> None:
    """Extracts, jobs and failures go in one step."""
    state, _ = opened(tmp_path)
    save_rollouts(state, [thread("a"), thread("b", mode="disabled")])
    consolidated(state, "a")

    assert (delete_all_extraction_state(state), list_enabled_extracts(state), list_jobs(state)) == (
        1,
        [],
        [],
    )
    assert [each.mode for each in list_rollouts(state)] == ["enabled", "disabled"]


def test_what_files_hold_is_put_back_where_the_database_has_none(tmp_path: Path) -> None:
    """What stands is left alone; the rest comes back with its mark, and is up to date."""
    state, _ = opened(tmp_path)
    save_rollouts(state, [thread("a"), thread("b")])
    finish_extraction(state, claim(state, "a"), extract("a", slug="new"), TERMS)
    count = insert_missing_extracts(
        state,
        [StoredExtract(extracted=extract(id, slug="old"), selected=True) for id in ("a", "b")],
    )

    assert count == 1
    assert [(each.extracted.slug, each.selected) for each in list_enabled_extracts(state)] == [
        ("new", False),
        ("old", True),
    ]
    assert all(each.is_up_to_date for each in list_extraction_progress(state))


@pytest.mark.parametrize("harm", ["head", "middle"])
def test_a_damaged_database_is_started_anew_and_says_so(tmp_path: Path, harm: str) -> None:
    """Whether it cannot be opened at all or has a bad page inside; the remark stays until somebody
    has seen to it.
    """
    path = tmp_path / "state.sqlite"
    state = open_sqlite_state(path)
    save_rollouts(state, [thread(f"t{number}", cwd="/srv/" + "x" * 500) for number in range(400)])
    state.execute("pragma wal_checkpoint(truncate)")
    state.close()
    content = bytearray(path.read_bytes())
    start = 0 if harm == "head" else len(content) // 2
    content[start : start + 20_000] = b"\xff" * 20_000
    path.write_bytes(content)
    again = open_sqlite_state(path)
    told = list_recorded_damage(again)
    again.close()

    assert ["state.sqlite.damaged" in text for text in told] == [True]
    assert list_recorded_damage(open_sqlite_state(path)) == told
    assert (tmp_path / "state.sqlite.damaged").stat().st_size == len(content)


def test_a_database_that_refuses_is_a_clear_error(tmp_path: Path) -> None:
    """Every way to use it says what happened, and nothing of a transaction that failed stays."""
    state, _ = opened(tmp_path)
    wrong = msgspec.structs.replace(thread("b"), cwd=None)
    with pytest.raises(StoreError, match="cannot write"):
        save_rollouts(state, [thread("a"), wrong])
    left = list_rollouts(state)
    state.close()
    with pytest.raises(StoreError, match="cannot read"):
        list_rollouts(state)

    assert left == []
