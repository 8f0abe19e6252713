"""The block that names the memories a reply used: hidden wherever the stream is parted, and read."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memorist.rollouts.citations import (
    CITATION_CLOSING,
    CITATION_OPENING,
    MAX_BLOCK_CHARACTERS,
    MAX_CITED_IDS,
    Citation,
    CitationStrippingStream,
    split_off_citations,
)

BLOCK = f"""{CITATION_OPENING}
<citation_entries>
MEMORY.md:12-14|note=[how to deploy]
rollout_summaries/a:b.md:1-2|note=[a [b] c]
no entry
/etc/passwd:1-2|note=[outside]
../x.md:1-2|note=[outside]
MEMORY.md:3|note=[no range]
</citation_entries>
<rollout_ids>
one
two
one
</rollout_ids>
{CITATION_CLOSING}"""
PIECES = st.lists(
    st.sampled_from(
        [
            CITATION_OPENING,
            CITATION_CLOSING,
            "<oai-mem",
            "-citation>",
            "</",
            "<",
            "text ",
            "\n",
            "<rollout_ids>x</rollout_ids>",
            "<rollout_ids>",
        ]
    ),
    max_size=12,
)


def parted(text: str, cuts: list[int]) -> tuple[str, CitationStrippingStream]:
    stream = CitationStrippingStream()
    edges = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    shown = "".join(stream.feed(text[start:end]) for start, end in itertools.pairwise(edges))
    return shown + stream.finish(), stream


@pytest.mark.covers("RO-8")
@settings(deadline=None)
@given(
    PIECES.map("".join) | st.just(f"Done.\n\n{BLOCK}\n"),
    st.lists(st.integers(0, 2_000), max_size=20),
)
@example(BLOCK, list(range(len(BLOCK))))
def test_wherever_the_stream_is_parted_the_same_is_shown_and_read(
    text: str, cuts: list[int]
) -> None:
    """One piece or one sign at a time: the text shown and the citation are equal, and no sign
    outside a block is lost.
    """
    whole, one = parted(text, [])
    shown, other = parted(text, cuts)

    assert (shown, other.citations) == (whole, one.citations)
    assert CITATION_OPENING not in shown
    assert len(shown) <= len(text)


@pytest.mark.covers("RO-8")
def test_entries_and_sessions_are_read() -> None:
    """The note is parted at the last mark, the path at the last colon; lines that do not fit, and
    paths that lead out, are passed over.
    """
    shown, cited = split_off_citations(f"Done.{BLOCK} More.")

    assert shown == "Done. More."
    assert cited.entries == (
        Citation("MEMORY.md", 12, 14, "how to deploy"),
        Citation("rollout_summaries/a:b.md", 1, 2, "a [b] c"),
    )
    assert cited.threads == ("one", "two")


@pytest.mark.covers("RO-8")
def test_what_is_cited_counts_once_for_each_session() -> None:
    """A session counts by its id or by its summary, once."""
    _, cited = split_off_citations(
        f"{CITATION_OPENING}<citation_entries>\nrollout_summaries/x.md:1-2|note=[n]\n</"
        f"citation_entries><rollout_ids>b</rollout_ids>{CITATION_CLOSING}"
    )

    assert cited.list_used_session_ids({"rollout_summaries/x.md": "a"}) == ("b", "a")
    assert cited.list_used_session_ids({"rollout_summaries/x.md": "b"}) == ("b",)


@pytest.mark.covers("RO-8")
def test_a_block_that_is_not_closed_ends_with_the_text() -> None:
    """It is hidden and read; the older name of the list of ids is known too."""
    assert split_off_citations(f"x{CITATION_OPENING}<thread_ids>a b") == (
        "x",
        split_off_citations(f"{CITATION_OPENING}<rollout_ids>a b</rollout_ids>{CITATION_CLOSING}")[
            1
        ],
    )
    assert split_off_citations("a < b <oai-mem") == ("a < b <oai-mem", split_off_citations("")[1])


@pytest.mark.covers("RO-8", "SF-5")
def test_a_block_without_end_takes_no_memory() -> None:
    """A megabyte behind the opening is hidden, and only a bounded part of it is held."""
    ids = [f"id{number:06}" for number in range(MAX_BLOCK_CHARACTERS // 4)]
    stream = CitationStrippingStream()
    stream.feed(f"{CITATION_OPENING}<rollout_ids>")
    shown = "".join(stream.feed(f"{id} ") for id in ids)

    assert shown == ""
    assert stream.citations.threads == tuple(ids[:MAX_CITED_IDS])
