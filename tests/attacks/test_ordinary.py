"""No false alarm: ordinary memories pass every check, however they come, and are shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from attacks.host import Attacked, squeezed
from attacks.ordinary import ORDINARY
from memorist.auto_memory.memory_changes import MemoryChange
from memorist.auto_memory.memory_file import Trust, parse_memory_file
from memorist.auto_memory.write_evidence import WriteEvidence, collect_write_evidence
from memorist.auto_memory.write_gate import (
    AcceptedChange,
    WriteGateContext,
    find_unreviewed_memory_suspicions,
    judge_memory_change,
)
from memorist.core.messages import Message, Origin, TextBlock

ELSEWHERE = (
    "Installed 312 packages in 4 s. 1 passed, 2 skipped. See "
    "https://docs.example.org/errors for what the codes mean."
)


def file_of(text: str, kind: str, quote: str = "") -> bytes:
    own = f"memorist:\n  quote: |-\n    {quote}\n" if quote else ""
    return (
        f"---\nname: a note\ndescription: |-\n  {text}\ntype: "
        f"{kind}\n{own}---\n\n{text}\n\nWhy: it was agreed on 2026-03-04.\n"
    ).encode()


@pytest.mark.covers("SF-2")
@pytest.mark.parametrize("text", ORDINARY)
def test_what_the_person_says_is_kept_as_the_persons(text: str) -> None:
    """Quoted from a message of the person, it is stated, and nothing of it is taken out."""
    words = f"By the way. {text} It was agreed on 2026-03-04. Thanks!"
    typed = Message(
        id="m1", role="user", blocks=(TextBlock(words),), origin=Origin.USER, is_typed=True
    )
    said = collect_write_evidence("s1", [typed])
    given = WriteEvidence(
        session="s1",
        user_messages=said.user_messages,
        outside_texts=(*said.outside_texts, ELSEWHERE),
    )

    verdict = judge_memory_change(
        MemoryChange(path="n.md", before=None, after=file_of(text, "feedback", text)),
        WriteGateContext(actor="extraction", evidence=given),
    )

    assert isinstance(verdict, AcceptedChange)
    assert verdict.trust is Trust.STATED
    assert verdict.remarks == ()
    assert not find_unreviewed_memory_suspicions(
        parse_memory_file("n.md", verdict.change.after or b""), ()
    )


@pytest.mark.covers("SF-2")
@pytest.mark.parametrize("text", ORDINARY)
def test_what_a_model_concludes_is_kept_as_derived(text: str) -> None:
    """As a note on the project, without the person's words, beside tool output of another matter."""
    given = WriteEvidence(
        session="s1", user_messages=(("m1", "What did we agree on?"),), outside_texts=(ELSEWHERE,)
    )

    verdict = judge_memory_change(
        MemoryChange(path="n.md", before=None, after=file_of(text, "project")),
        WriteGateContext(actor="extraction", evidence=given),
    )

    assert isinstance(verdict, AcceptedChange)
    assert verdict.trust is Trust.DERIVED


@pytest.mark.covers("SF-2", "RC-1")
async def test_files_written_by_hand_are_all_shown(tmp_path: Path) -> None:
    """Each has its line in the index that a session is shown, and so have the index's own lines."""
    async with Attacked(tmp_path) as host:
        own = (
            "# Notes of the shop\n\nRead these before you work on billing. Ask before you "
            "delete anything.\n"
        )
        host.drop(
            {
                f"note-{at:02}.md": file_of(text, "feedback").decode()
                for at, text in enumerate(ORDINARY)
            }
            | {"MEMORY.md": own}
        )
        shown = squeezed(await host.shown_later("Hello, what is there?"))

        assert [at for at in range(len(ORDINARY)) if f"(note-{at:02}.md)" not in shown] == []
        assert squeezed("Ask before you delete anything.") in shown
