"""What stage one gave, as files: names, headers, and reading all of it back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from memorist.auto_memory.dialects.codex import read
from memorist.rollouts.artefacts import RAW, artefacts, paths, read_back, read_raw, read_summary, stem
from memorist.store.thread import Extracted

UUID7 = "01930000-0000-7abc-8def-0123456789ab"


def row(thread: str = UUID7, **other: object) -> Extracted:
    plain = Extracted(thread=thread, updated=1_763_000_000, generated=1_763_000_100, raw_memory="raw", rollout_summary="summary")
    return replace(plain, **other)


@pytest.mark.covers("RO-6")
def test_a_name_tells_when_the_session_began_and_which_it_is() -> None:
    """The time of a version 7 id, its low bits in base 62, the slug in plain letters."""
    assert stem(row(slug="Mend the totals!")) == f"{stem(row())}-mend_the_totals"
    assert stem(row()).startswith("2024-11-06T05-43-40-")
    assert len(stem(row())) == len("2024-11-06T05-43-40-") + 4


@pytest.mark.covers("RO-6")
def test_the_four_signs_are_the_low_bits_in_base_62() -> None:
    """Digits, then small letters, then capitals, padded on the left: 61 is `000Z`, 62 is `0010`."""
    low = {0: "0000", 61: "000Z", 62: "0010", 62**4: "0000"}

    assert {number: stem(row(f"01930000-0000-7abc-8def-0000{number:08x}"))[-4:] for number in low} == low


@pytest.mark.covers("RO-6")
def test_a_session_without_a_uuid_takes_the_time_of_its_newest_message() -> None:
    """The rolling hash of any other id: `a` is 97, which is 1 times 62 and 35."""
    assert stem(row("a")) == "2025-11-13T02-13-20-001z"


@pytest.mark.covers("RO-6")
def test_a_slug_is_cut_and_dropped_when_nothing_is_left() -> None:
    """Sixty characters; no underscore at the end; no slug of signs alone."""
    assert stem(row(slug="x" * 200)).endswith("-" + "x" * 60)
    assert stem(row(slug="!!! ???")) == stem(row())
    assert "/" not in stem(row(slug="../../etc"))


@pytest.mark.covers("RO-6")
def test_sessions_whose_names_are_alike_keep_files_of_their_own() -> None:
    """Names that differ in case only, or not at all, do not overwrite each other."""
    same = [row(f"01930000-0000-7abc-8def-{high}00000001", slug="s") for high in ("0000", "0001", "0002")]

    assert len(paths(same)) == len({path.casefold() for path in paths(same).values()}) == 3


@pytest.mark.covers("RO-6")
def test_the_order_of_the_file_is_that_of_the_ids_and_not_of_the_rank() -> None:
    """The same sessions in another order give the same bytes."""
    rows = [row(name) for name in ("c", "a", "b")]

    assert artefacts(rows) == artefacts(rows[::-1])
    assert list(read_raw(artefacts(rows)[RAW])) == ["a", "b", "c"]


@pytest.mark.covers("RO-6")
def test_the_lean_form_has_summaries_only() -> None:
    """No `raw_memories.md`; without sessions the full form says that there are none."""
    assert RAW not in artefacts([row()], raw=False)
    assert b"None yet." in artefacts([])[RAW]
    assert artefacts([row(raw_memory=" ", rollout_summary="")]) == artefacts([])


@pytest.mark.covers("RO-6")
def test_codex_reads_the_file_of_raw_memories() -> None:
    """The layout is the one that the dialect of Codex knows."""
    found = read({RAW: artefacts([row(cwd="/home/dev/shop", raw_memory="use pnpm")])[RAW]})

    assert [topic.body.strip() for topic in found.topics] == ["use pnpm"]
    assert list(found.folders.values()) == [("/home/dev/shop",)]


TEXT = st.text(max_size=60) | st.sampled_from(["## Thread `x`\nupdated_at: 1", "\\## Thread `x`", "a\n\nb", '"', "\u2028x", "thread_id: z"])


@pytest.mark.covers("RO-6")
@settings(deadline=None)
@given(
    st.lists(
        st.builds(
            Extracted,
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
def test_whatever_a_session_held_is_read_back(rows: list[Extracted]) -> None:
    """Any text in any field: headers inside a memory, line ends in a path, quotes. Only white space around texts is not kept."""
    plain = [
        replace(each, raw_memory=_normal(each.raw_memory), rollout_summary=_normal(each.rollout_summary)) for each in rows if not each.empty
    ]

    assert list(read_back(artefacts(plain))) == sorted(plain, key=lambda each: each.thread)


def _normal(text: str) -> str:
    return text.replace("\r\n", "\n").strip()


@pytest.mark.covers("RO-6")
@settings(deadline=None)
@given(st.binary(max_size=300))
def test_any_file_can_be_read(data: bytes) -> None:
    """Bytes that are no summary give none, and no error."""
    found = read_summary("rollout_summaries/x.md", data)

    assert found is None or found.thread
    assert all(read_raw(data))
