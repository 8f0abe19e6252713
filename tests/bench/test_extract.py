"""The measure of what was said outright: how it counts, and that its labels hold."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from benchmarks.extract import (
    LABELS,
    PARTS,
    PRECISION,
    MadeUp,
    RecordedLabel,
    Tally,
    judge_extraction,
    measure,
)
from memorist.auto_memory.statements.statement_parser import Statement

pytestmark = pytest.mark.covers("AM-7", "AM-8")


def kept(act: str) -> Statement:
    return msgspec.convert(
        {"act": act, "kind": "feedback", "text": "t", "quote": "q", "message_id": "m"}, Statement
    )


def test_a_saying_is_right_only_where_the_label_keeps_the_message_on_the_same_side() -> None:
    """Remembering what should be forgotten counts as wrong, and as a miss of what was asked."""
    tally = Tally()
    wrong = [
        *judge_extraction(
            tally, "a", MadeUp("x", "first", "rule", "feedback"), [kept("correction")]
        ),
        *judge_extraction(tally, "b", MadeUp("x", "first", "forget", "feedback"), [kept("rule")]),
        *judge_extraction(tally, "c", MadeUp("x", "first"), [kept("rule")]),
        *judge_extraction(tally, "d", MadeUp("x", "first", "rule", "feedback"), []),
        *judge_extraction(tally, "e", MadeUp("x", "first"), []),
    ]

    assert (tally.messages, tally.labelled, tally.kept, tally.right, tally.found) == (5, 3, 3, 1, 1)
    assert [(each.where, each.label, each.kept) for each in wrong] == [
        ("b", "forget", "rule"), ("b", "forget", None), ("c", None, "rule"), ("d", "rule", None),
    ]  # fmt: skip
    assert (tally.precision, tally.recall) == (1 / 3, 1 / 3)


def test_the_made_up_messages_keep_the_goal(tmp_path: Path) -> None:
    """Nine of ten things kept are ones to keep, in every part; without recorded sessions only these
    are measured.
    """
    result = measure(tmp_path)
    precision = [row for row in result.rows if row.what.endswith("precision")]

    assert len(precision) == len(PARTS)
    assert all(row.figure >= PRECISION and row.met for row in precision)
    assert not any("recorded" in row.what for row in result.rows)


def test_the_labels_of_recorded_sessions_hold_no_text() -> None:
    """A session, a message id and a verdict: what a person wrote stays where it is."""
    lines = (LABELS / "recorded.jsonl").read_bytes().splitlines()
    decode = msgspec.json.Decoder(
        msgspec.defstruct("Strict", RecordedLabel.__annotations__, forbid_unknown_fields=True)
    ).decode

    assert len(
        {
            (each.session, each.message)
            for each in map(msgspec.json.Decoder(RecordedLabel).decode, lines)
        }
    ) == len(lines)
    for line in lines:
        with pytest.raises(msgspec.ValidationError):
            decode(line.replace(b'"act"', b'"text": "", "act"'))
        assert set(msgspec.json.decode(line)) == {"session", "message", "act", "kind"}
