"""What holds for every session: nothing is invented, sizes are kept, growth is bounded."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memorist.core.messages import Message, Origin, TextBlock, ThinkingBlock, ToolResult, ToolUse
from memorist.core.text_analysis import estimate_o200k_tokens
from memorist.core.token_count import estimate_text_tokens
from memorist.formats.format_detection import read_session
from memorist.formats.transcript_format import CompactionBoundary, SessionHead
from memorist.session_memory.structural_notes import NotesBudget, render_structural_sections
from memorist.store.transcript_reader import UnpackedUtf8Lines
from memorist.transcript_analysis.transcript_ledger import TranscriptLedger
from support.sweeps import examples, sampled

pytestmark = pytest.mark.covers("SM-13")

LABELS = frozenset(
    re.findall(
        r"\w+",
        """
        a after agent and an answer answering answers assistant branch build but by call came changed changing code commit
        committed compacted context created deleted done earlier edit exit failed failing files for format from git given here
        in install interrupted interrupting is it last lint list looked merge mended more moved names not now of ok only or
        passed pending plan progress push question read reading reasoning its refused refusing request rewritten run running same says search
        searched shown status step steps still success summary task test that the this to tools tree turn typecheck unrelated up
        updated used user was what with without words working yet command then taken back though no them edited written here by restore
        """,
    )
)
"""Every word of ours that may stand in notes."""

PIECES = [
    "parser",
    "cache",
    "because",
    "the",
    "Tenant",
    "fails",
    "`read_all`",
    "src/a.py",
    "error:",
    "passed.",
    "12",
    "must",
    "ünïcode",
]
MARKS = ["|", "**", "```", "\n", "- ", "# "]
TEXTS = st.lists(st.sampled_from([*PIECES, *MARKS]), max_size=25).map(" ".join) | st.text(
    max_size=80
)
STEPS = st.sampled_from(
    ["user", "says", "thinks", "runs", "fails", "edits", "todo", "open", "boundary"]
)


@given(st.lists(st.tuples(STEPS, TEXTS, TEXTS), max_size=25))
def test_every_word_of_the_notes_is_a_label_or_stands_in_the_transcript(
    steps: list[tuple[str, str, str]],
) -> None:
    """Nothing is invented, whatever is said and done."""
    ledger = TranscriptLedger("/home/dev")
    heard: list[str] = []
    for number, (kind, one, two) in enumerate(steps):
        heard += [one, two]
        for message in _messages(kind, one, two, number):
            ledger.add(message)
        if kind == "boundary":
            ledger.on_compaction()

    _check(
        render_structural_sections(ledger),
        " ".join([*heard, "bash edit todowrite read", "/home/dev"]),
    )


def _messages(kind: str, one: str, two: str, number: int) -> Iterator[Message]:
    def message(block: Any, origin: Origin) -> Message:
        return Message(
            id=f"m{number}",
            role="assistant" if origin is Origin.MODEL else "user",
            blocks=(block,),
            origin=origin,
            is_typed=origin is Origin.USER,
        )

    tools: dict[str, tuple[str, dict[str, Any], bool]] = {
        "runs": ("Bash", {"command": one}, False),
        "fails": ("Bash", {"command": one}, True),
        "edits": (
            "Edit",
            {"file_path": f"/home/dev/{one}", "old_string": two, "new_string": one},
            False,
        ),
        "todo": ("TodoWrite", {"todos": [{"content": one, "status": "pending"}]}, False),
        "open": ("Read", {"file_path": one}, False),
    }
    if kind == "user":
        yield message(TextBlock(one), Origin.USER)
    elif kind == "says":
        yield message(TextBlock(f"{one}\n\n{two}"), Origin.MODEL)
    elif kind == "thinks":
        yield message(ThinkingBlock(one), Origin.MODEL)
    elif kind in tools:
        name, given_, failed = tools[kind]
        yield message(ToolUse(f"c{number}", name, given_), Origin.MODEL)
        if kind != "open":
            yield message(ToolResult(f"c{number}", (TextBlock(two),), is_error=failed), Origin.TOOL)


def _check(notes: dict[str, str], transcript: str) -> None:
    known = transcript.lower()
    for section, body in notes.items():
        for word in re.findall(r"[^\W\d_]+", body):
            assert word.lower() in LABELS or word.lower() in known, (
                f"{word!r} in {section} is invented"
            )


@examples(15, whole=40)
@given(st.lists(TEXTS, min_size=1, max_size=30), st.integers(150, 4_000), st.integers(100, 2_000))
@example(["\u0800\U00010000\U00010000"], 150, 100)
def test_notes_keep_to_the_sizes_they_are_given(texts: list[str], total: int, section: int) -> None:
    """Each section and the whole stay within the budget, by the notes' own count."""
    ledger = TranscriptLedger()
    for number, text in enumerate(texts):
        origin = Origin.USER if number % 3 == 0 else Origin.MODEL
        ledger.add(
            Message(
                id=str(number),
                role="user",
                blocks=(TextBlock(f"{text} {number} " * 20),),
                origin=origin,
                is_typed=origin is Origin.USER,
            )
        )

    notes = render_structural_sections(
        ledger, NotesBudget(total_tokens=total, section_tokens=section)
    )

    assert sum(estimate_o200k_tokens(body) for body in notes.values()) <= total
    assert all(estimate_o200k_tokens(body) <= section for body in notes.values())


@pytest.mark.parametrize(("early", "late"), sampled([(500, 1_000), (1_000, 3_124)], {(500, 1_000)}))
def test_growth_is_bounded_however_long_the_session(told: Any, early: int, late: int) -> None:
    """After thousands of messages the ledger holds what it held after fewer."""
    session = told()
    sizes = []
    for number in range(late + 1):
        session.words.clear()
        session.user(f"please change module_{number} because of case {number}")
        session.says(
            f"Let me look at module_{number}. The reason is that value_{number} must stay "
            f"below limit_{number} always."
        )
        session.runs(
            f"pytest tests/test_{number}.py",
            f"E   ValueError: bad_{number}\n{number % 7} failed",
            error=number % 2 == 0,
        )
        session.edits(f"/home/dev/project/m{number}.py", f"a_{number} = 1", f"b_{number} = 2")
        if number in (early, late):
            sizes.append(_held(session.ledger))

    assert session.ledger.messages > 4 * late
    assert sizes[1] < sizes[0] * 1.5
    assert sum(estimate_o200k_tokens(body) for body in session.notes().values()) <= 3_000


def _held(root: Any) -> int:
    """Values that can be reached from the ledger."""
    seen: set[int] = set()
    todo = [root]
    while todo:
        value = todo.pop()
        if id(value) in seen or isinstance(value, type) or sys.getsizeof(value) == 0:
            continue
        seen.add(id(value))
        if isinstance(value, dict):
            todo += [*value.keys(), *value.values()]
        elif isinstance(value, list | tuple | set | frozenset):
            todo += list(value)
        else:
            names = getattr(value, "__struct_fields__", ()) or getattr(value, "__slots__", ())
            todo += [getattr(value, name) for name in names if hasattr(value, name)]
    return len(seen)


@pytest.mark.covers("SM-4")
def test_notes_of_recorded_sessions_invent_nothing_and_keep_their_size(
    sampled_sessions: list[Path],
) -> None:
    """The same over real sessions of both families."""
    for path in (each for each in sampled_sessions if each.stat().st_size < 1_000_000):
        ledger, heard = TranscriptLedger(), []
        for entry in read_session(UnpackedUtf8Lines(path)):
            match entry:
                case Message():
                    ledger.add(entry)
                case CompactionBoundary():
                    ledger.on_compaction()
                case SessionHead():
                    ledger.cwd, ledger.title, ledger.branch = entry.cwd, entry.title, entry.branch
                    heard.append(f"{entry.cwd} {entry.title} {entry.branch}")
                case _:
                    pass
        notes = render_structural_sections(ledger)
        _check(
            notes,
            path.read_text("utf-8").encode().decode("unicode_escape", "ignore")
            + path.read_text("utf-8")
            + " ".join(heard),
        )
        assert sum(map(estimate_text_tokens, notes.values())) <= 3_300
        assert sum(estimate_o200k_tokens(body) for body in notes.values()) <= 3_000
