"""`make bench NAME=request-size`: predictions of the next request's size."""

from __future__ import annotations

from benchmarks.request_sizes import PredictedSize, predict_sizes
from memorist.core.messages import Message, Origin, TextBlock, Usage
from memorist.formats.transcript_format import CompactionBoundary, TranscriptEntry


def said(text: str) -> Message:
    """A message of the user."""
    return Message(
        id=text[:8], role="user", blocks=(TextBlock(text),), origin=Origin.USER, is_typed=True
    )


def answered(given: int, id: str) -> Message:
    """A reply of the model to a request of `given` tokens."""
    return Message(
        id=id,
        role="assistant",
        blocks=(TextBlock("Yes."),),
        origin=Origin.MODEL,
        reply_id=id,
        usage=Usage(input=given, output=10),
    )


def test_each_request_is_predicted_before_its_count_is_known() -> None:
    """Neither the first request nor the first after a compaction is predicted: nothing was counted
    yet.
    """
    entries: list[TranscriptEntry] = [
        said("a" * 400),
        answered(5_000, "r1"),
        said("b" * 400),
        answered(5_110, "r2"),
        answered(5_120, "r3"),
        CompactionBoundary(id="c", line=6, trigger="auto"),
        said("c" * 400),
        answered(2_000, "r4"),
    ]

    assert list(predict_sizes(iter(entries))) == [
        PredictedSize(5_110, 5_110, begins_turn=True),
        PredictedSize(5_120, 5_120, begins_turn=False),
    ]
