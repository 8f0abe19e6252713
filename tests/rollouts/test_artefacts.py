"""What stage one gave, as files: names, headers, and reading all of it back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from memorist.auto_memory.interop.codex_memory import import_codex_memory
from memorist.rollouts.rollout_summaries import (
    RAW_MEMORIES_FILE,
    build_extract_files,
    make_summary_file_stem,
    map_summary_paths,
    parse_extract_files,
    parse_raw_memories_file,
    parse_summary_file,
)
from memorist.store.extract_rows import RolloutExtract

UUID7 = "01930000-0000-7abc-8def-0123456789ab"


def row(thread: str = UUID7, **other: object) -> RolloutExtract:
    plain = RolloutExtract(
        thread=thread,
        updated=1_763_000_000,
        generated=1_763_000_100,
        raw_memory="raw",
        rollout_summary="summary",
    )
    return replace(plain, **other)


@pytest.mark.covers("RO-6")
def test_a_name_tells_when_the_session_began_and_which_it_is() -> None:
    """The time of a version 7 id, its low bits in base 62, the slug in plain letters."""
    assert (
        make_summary_file_stem(row(slug="Mend the totals!"))
        == f"{make_summary_file_stem(row())}-mend_the_totals"
    )
    assert make_summary_file_stem(row()).startswith("2024-11-06T05-43-40-")
    assert len(make_summary_file_stem(row())) == len("2024-11-06T05-43-40-") + 4


@pytest.mark.covers("RO-6")
def test_the_four_signs_are_the_low_bits_in_base_62() -> None:
    """Digits, then small letters, then capitals, padded on the left: 61 is `000Z`, 62 is `0010`."""
    low = {0: "0000", 61: "000Z", 62: "0010", 62**4: "0000"}

    assert {
        number: make_summary_file_stem(row(f"01930000-0000-7abc-8def-0000{number:08x}"))[-4:]
        for number in low
    } == low


@pytest.mark.covers("RO-6")
def test_a_session_without_a_uuid_takes_the_time_of_its_newest_message() -> None:
    """The rolling hash of any other id: `a` is 97, which is 1 times 62 and 35."""
    assert make_summary_file_stem(row("a")) == "2025-11-13T02-13-20-001z"


@pytest.mark.covers("RO-6")
def test_a_slug_is_cut_and_dropped_when_nothing_is_left() -> None:
    """Sixty characters; no underscore at the end; no slug of signs alone."""
    assert make_summary_file_stem(row(slug="x" * 200)).endswith("-" + "x" * 60)
    assert make_summary_file_stem(row(slug="!!! ???")) == make_summary_file_stem(row())
    assert "/" not in make_summary_file_stem(row(slug="../../etc"))


@pytest.mark.covers("RO-6")
def test_sessions_whose_names_are_alike_keep_files_of_their_own() -> None:
    """Names that differ in case only, or not at all, do not overwrite each other."""
    same = [
        row(f"01930000-0000-7abc-8def-{high}00000001", slug="s")
        for high in ("0000", "0001", "0002")
    ]

    assert (
        len(map_summary_paths(same))
        == len({path.casefold() for path in map_summary_paths(same).values()})
        == 3
    )


@pytest.mark.covers("RO-6")
def test_the_order_of_the_file_is_that_of_the_ids_and_not_of_the_rank() -> None:
    """The same sessions in another order give the same bytes."""
    rows = [row(name) for name in ("c", "a", "b")]

    assert build_extract_files(rows) == build_extract_files(rows[::-1])
    assert list(parse_raw_memories_file(build_extract_files(rows)[RAW_MEMORIES_FILE])) == [
        "a",
        "b",
        "c",
    ]


@pytest.mark.covers("RO-6")
def test_the_lean_form_has_summaries_only() -> None:
    """No `raw_memories.md`; without sessions the full form says that there are none."""
    assert RAW_MEMORIES_FILE not in build_extract_files([row()], raw=False)
    assert b"None yet." in build_extract_files([])[RAW_MEMORIES_FILE]
    assert build_extract_files([row(raw_memory=" ", rollout_summary="")]) == build_extract_files([])


@pytest.mark.covers("RO-6")
def test_codex_reads_the_file_of_raw_memories() -> None:
    """The layout is the one that the dialect of Codex knows."""
    found = import_codex_memory(
        {
            RAW_MEMORIES_FILE: build_extract_files(
                [row(cwd="/home/dev/shop", raw_memory="use pnpm")]
            )[RAW_MEMORIES_FILE]
        }
    )

    assert [topic.body.strip() for topic in found.topics] == ["use pnpm"]
    assert list(found.folders.values()) == [("/home/dev/shop",)]


TEXT = st.text(max_size=60) | st.sampled_from(
    ["## Thread `x`\nupdated_at: 1", "\\## Thread `x`", "a\n\nb", '"', "\u2028x", "thread_id: z"]
)


@pytest.mark.covers("RO-6")
@settings(deadline=None)
@given(
    st.lists(
        st.builds(
            RolloutExtract,
            thread=st.text(min_size=1, max_size=20).map(str.strip).filter(bool),
            updated=st.integers(0, 4_000_000_000),
            raw_memory=TEXT,
            rollout_summary=TEXT,
            slug=st.just(""),
            way=st.sampled_from(["model", "structural"]),
            generated=st.integers(1, 4_000_000_000),
            path=TEXT.map(str.strip),
            cwd=TEXT.map(str.strip),
            repository=TEXT.map(str.strip),
            branch=TEXT.map(str.strip),
            outside=st.booleans(),
        ),
        max_size=4,
        unique_by=lambda each: each.thread,
    )
)
def test_whatever_a_session_held_is_read_back(rows: list[RolloutExtract]) -> None:
    """Any text in any field: headers inside a memory, line ends in a path, quotes. Only white space
    around texts is not kept.
    """
    plain = [
        replace(
            each, raw_memory=_normal(each.raw_memory), rollout_summary=_normal(each.rollout_summary)
        )
        for each in rows
        if not each.is_empty
    ]

    assert list(parse_extract_files(build_extract_files(plain))) == sorted(
        plain, key=lambda each: each.thread
    )


def _normal(text: str) -> str:
    return text.replace("\r\n", "\n").strip()


@pytest.mark.covers("RO-6")
@settings(deadline=None)
@given(st.binary(max_size=300))
def test_any_file_can_be_read(data: bytes) -> None:
    """Bytes that are no summary give none, and no error."""
    found = parse_summary_file("rollout_summaries/x.md", data)

    assert found is None or found.thread
    assert all(parse_raw_memories_file(data))
