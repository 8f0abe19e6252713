"""What the gate calls a secret stands nowhere else: reasons, headlines, names, receipts."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from memorist.auto_memory.memory_changes import (
    ChangeReason,
    MemoryChange,
    render_change_headline,
    render_commit_message,
)
from memorist.auto_memory.memory_file import parse_memory_file
from memorist.auto_memory.write_gate import (
    AcceptedChange,
    RefusedChange,
    WriteGateContext,
    judge_memory_change,
)
from memorist.core.messages import Usage
from memorist.forks.fork_spec import ForkOutcome, Receipt
from memorist.store.receipt_rows import list_session_receipts, record_receipt
from memorist.store.sqlite_database import open_database

pytestmark = pytest.mark.covers("SF-1")

SECRET = "ghp_" + "0aK9xmP2qLr7vBn4wZs8tYc3dF6gH1jQ5eXu"


def test_a_reason_holds_no_secret_however_it_is_made() -> None:
    """Headline and quote are redacted, so that history, inbox and events are."""
    reason = ChangeReason(actor="said", what=f"remember: {SECRET}", quote=f"the key is {SECRET}")

    assert SECRET not in render_commit_message(reason)
    assert "[redacted: github-token]" in reason.quote


def test_a_headline_is_redacted_before_it_is_cut() -> None:
    """Half a secret would no longer be known for one."""
    line = render_change_headline("remember", "x" * 90 + " " + SECRET)

    assert SECRET[:8] not in line


def test_a_file_name_with_a_secret_is_refused() -> None:
    """The refusal does not repeat it."""
    change = MemoryChange(path=f"k-{SECRET}.md", before=None, after=b"Use pnpm.\n")

    verdict = judge_memory_change(change, WriteGateContext(actor="extraction"))

    assert isinstance(verdict, RefusedChange)
    assert SECRET not in f"{verdict.path} {verdict.reasons}"


def test_a_header_stays_sound_when_a_secret_is_taken_out() -> None:
    """The mark has a colon: the value that holds it is quoted, so that the header can be read."""
    text = (
        f"---\nname: keys\ntype: reference\ndescription: pulls with {SECRET}\n---\n\nSee there.\n"
    )
    change = MemoryChange(path="keys.md", before=None, after=text.encode())

    verdict = judge_memory_change(change, WriteGateContext(actor="user"))

    assert isinstance(verdict, AcceptedChange)
    topic = parse_memory_file("keys.md", verdict.change.after or b"")
    assert (topic.header_problem, topic.description) == ("", "pulls with [redacted: github-token]")


def test_a_receipt_holds_no_secret(tmp_path: Path) -> None:
    """What a fork answered and which calls were denied are stored without them."""
    database: sqlite3.Connection = open_database(tmp_path / "state.sqlite")
    receipt = Receipt(
        label="extraction", why="turns", model="m", started=1.0, seconds=1.0, requests=1, turns=1,
        usage=Usage(), cost_usd=0.0, files=(), denied=(f"bash: echo {SECRET}",),
        outcome=ForkOutcome.CHANGED, said=f"I kept {SECRET}", sent=(),
    )  # fmt: skip

    record_receipt(database, "s", receipt)

    (kept,) = list_session_receipts(database, "s")
    assert SECRET not in f"{kept.said} {kept.denied}"
    assert SECRET.encode() not in b"".join(p.read_bytes() for p in tmp_path.iterdir())
