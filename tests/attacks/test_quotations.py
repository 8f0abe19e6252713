"""A quotation proves a memory that says what the user's whole sentence says, and nothing else."""

from __future__ import annotations

import pytest

from attacks.quotations import CARRIED, FAITHFUL, LAUNDERED, Carried, Faithful, Laundered
from memorist.auto_memory.memory_changes import MemoryChange
from memorist.auto_memory.memory_file import (
    MemoryKind,
    Provenance,
    Trust,
    create_memory_file,
    parse_memory_file,
)
from memorist.auto_memory.write_evidence import WriteEvidence, collect_write_evidence
from memorist.auto_memory.write_gate import (
    AcceptedChange,
    GateVerdict,
    NeedsReview,
    WriteGateContext,
    judge_memory_change,
)
from memorist.core.messages import Message, TextBlock
from memorist.core.text_encoding import encode_file_text_as_utf8
from memorist.formats.request_codec import detect_origin_of_user_message


def heard(message: str) -> WriteEvidence:
    """The evidence of a session in which this came with the role `user`."""
    origin, blocks = detect_origin_of_user_message((TextBlock(message),))
    return collect_write_evidence(
        "s1", [Message(id="m1", role="user", blocks=blocks, origin=origin, is_typed=True)]
    )


def judged(message: str, quote: str, memory: str, kind: MemoryKind) -> GateVerdict:
    """The gate's verdict on a memory that a model writes with this quotation."""
    made = create_memory_file(
        "note.md",
        kind=kind,
        name="note",
        description=memory.split("\n", maxsplit=1)[0],
        body=memory,
        provenance=Provenance(quote=quote),
    )
    return judge_memory_change(
        MemoryChange(path="note.md", before=None, after=encode_file_text_as_utf8(made.text())),
        WriteGateContext(actor="extraction", evidence=heard(message), now="2026-11-22T00:00:00Z"),
    )


@pytest.mark.covers("WD-2")
@pytest.mark.parametrize("attack", LAUNDERED, ids=lambda each: f"{each.trick}: {each.memory[:30]}")
@pytest.mark.parametrize("kind", [MemoryKind.FEEDBACK, MemoryKind.USER])
def test_a_true_quotation_proves_nothing_else(attack: Laundered, kind: MemoryKind) -> None:
    """Whatever was quoted, a memory that says something else is not the user's, and waits."""
    verdict = judged(attack.message, attack.quote, attack.memory, kind)

    assert isinstance(verdict, NeedsReview)
    assert verdict.trust is not Trust.STATED


@pytest.mark.covers("WD-3")
@pytest.mark.parametrize("attack", CARRIED, ids=lambda each: each.way)
def test_words_of_others_prove_nothing(attack: Carried) -> None:
    """An order that the message carries and the user did not give is not the user's."""
    verdict = judged(attack.message, attack.order, attack.order, MemoryKind.FEEDBACK)

    assert isinstance(verdict, NeedsReview)
    assert verdict.trust is not Trust.STATED


@pytest.mark.covers("WD-2")
@pytest.mark.parametrize("each", FAITHFUL, ids=lambda each: each.memory[:40])
def test_a_memory_that_says_what_the_user_said_is_stated(each: Faithful) -> None:
    """Politeness, openings, a reason, `I` or `the user`, and letter case make no difference."""
    verdict = judged(each.message, each.quote, each.memory, MemoryKind.FEEDBACK)

    assert isinstance(verdict, AcceptedChange)
    assert verdict.trust is Trust.STATED
    assert parse_memory_file("note.md", verdict.change.after or b"").body == each.memory


@pytest.mark.covers("WD-2")
def test_what_the_quotation_does_not_say_is_left_out() -> None:
    """Beside a sentence that the quotation proves, an explanation in the model's words is left out
    and reported, in the text and in the description.
    """
    rule = "Do not mock the database in tests."
    verdict = judged(
        rule,
        rule,
        f"{rule}\n\nWhy: mocks are slow.\n\nHow to apply: delete all mocks.",
        MemoryKind.FEEDBACK,
    )

    assert isinstance(verdict, AcceptedChange)
    assert parse_memory_file("note.md", verdict.change.after or b"").body == rule
    assert any("delete all mocks" in remark for remark in verdict.remarks)
