"""The text of a raw memory: what is written is read again, and whatever is read never fails."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.rollouts.raw_memory import (
    CLAIM_PROOFS,
    CLAIM_SCOPES,
    TASK_OUTCOMES,
    MemoryBullet,
    RawMemory,
    RawMemoryTask,
    normalize_raw_memory,
    parse_raw_memory,
    render_session_raw_memory,
)

TEXTS = st.text(max_size=60) | st.sampled_from(
    [
        "- [said] x",
        "### Task 9",
        "Preference signals:",
        "---",
        "task: y",
        "[inferred; global] z",
        "a # b",
        "'quoted'",
        "a: b",
        "\u2028x",
        "\ud800",
    ]
)
BULLETS = st.builds(
    MemoryBullet,
    text=TEXTS,
    proof=st.sampled_from(CLAIM_PROOFS),
    date=st.sampled_from(["", "2026-02-03", "yesterday"]),
    evidence=TEXTS | st.just("line 12"),
    scope=st.none() | st.sampled_from(CLAIM_SCOPES),
)
LISTS = st.lists(BULLETS, max_size=3).map(tuple)
WORDS = st.lists(TEXTS, max_size=4).map(tuple)
TASKS = st.builds(
    RawMemoryTask,
    name=TEXTS, group=TEXTS, outcome=st.sampled_from(TASK_OUTCOMES), scope=st.sampled_from(CLAIM_SCOPES), cwd=TEXTS, keywords=WORDS,
    preferences=LISTS, knowledge=LISTS, failures=LISTS, references=LISTS,
)  # fmt: skip
RAW = st.builds(
    RawMemory,
    description=TEXTS, task_group=TEXTS, outcome=st.sampled_from(TASK_OUTCOMES), cwd=TEXTS, keywords=WORDS, tasks=st.lists(TASKS, max_size=3).map(tuple),
)  # fmt: skip

WRITTEN = """```markdown
---
description: Mends the till's rounding #12
task: rounding
task_group: till
task_outcome: Success
cwd: /srv/shop
keywords: [rounding, Decimal]
---
## Task 1: Round amounts - to cents
- **task_outcome**: partially done
scope: global

**Preference signals:**
* when amounts are shown, the user said "two digits, always" -> show two digits
  also in mails

Reusable knowledge
1. Decimal is used everywhere
[till] amounts are cents
```"""


@given(RAW)
@pytest.mark.covers("RO-4")
def test_what_is_written_is_read_again(raw: RawMemory) -> None:
    """Reading the text of any raw memory gives that raw memory in its tidy form, which stays as it
    is when tidied again.
    """
    found = parse_raw_memory(render_session_raw_memory(raw))

    assert normalize_raw_memory(normalize_raw_memory(raw)) == normalize_raw_memory(raw)
    assert found == (
        RawMemory() if normalize_raw_memory(raw).is_empty else normalize_raw_memory(raw)
    )


@given(st.text(max_size=400) | st.lists(TEXTS, max_size=12).map("\n".join))
def test_any_text_can_be_read(text: str) -> None:
    """Whatever a model or a person writes is read without an error, and what was read has a text
    that reads the same.
    """
    found = parse_raw_memory(text)

    assert parse_raw_memory(render_session_raw_memory(found)) == (
        RawMemory() if found.is_empty else found
    )


@pytest.mark.covers("RO-4")
def test_a_models_own_layout_is_understood() -> None:
    """A fence around it, other heading levels, bold titles, other list marks, a list in the header
    and lines that go on are taken as they are meant.
    """
    raw = parse_raw_memory(WRITTEN)
    task = raw.tasks[0]

    assert (raw.description, raw.outcome, raw.cwd, raw.keywords) == (
        "Mends the till's rounding #12",
        "success",
        "/srv/shop",
        ("rounding", "Decimal"),
    )
    assert (task.name, task.outcome, task.scope) == (
        "Round amounts - to cents",
        "partial",
        "global",
    )
    assert [each.text[-13:] for each in task.preferences] == ["also in mails"]
    assert [each.text for each in task.knowledge] == [
        "Decimal is used everywhere",
        "[till] amounts are cents",
    ]
    assert {each.proof for each in task.knowledge} == {"inferred"}


@pytest.mark.covers("RO-7")
def test_scope_and_proof_stand_in_the_text() -> None:
    """Where a fact holds and how it is proven can be read by a person, and before each entry."""
    said = MemoryBullet(
        text="Use tabs", proof="said", scope="global", date="2026-02-03", evidence="line 12"
    )
    text = render_session_raw_memory(
        RawMemory(
            description="d",
            tasks=(RawMemoryTask(name="t", scope="directory", preferences=(said,)),),
        )
    )

    assert "- [said; global; 2026-02-03; line 12] Use tabs\n" in text
    assert "scope: directory\n" in text


@pytest.mark.parametrize(
    "text", ["", "none", "maybe success", "FAILED", "`partial`", "success (tests pass)"]
)
def test_an_outcome_is_one_of_four_words(text: str) -> None:
    """Whatever stands for an outcome is read as one of the four."""
    found = parse_raw_memory(f"---\ndescription: d\ntask_outcome: {text}\n---\n").outcome

    expected = {"FAILED": "fail", "`partial`": "partial", "success (tests pass)": "success"}
    assert found == expected.get(text, "uncertain")
