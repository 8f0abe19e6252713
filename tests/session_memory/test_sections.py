"""The frame of the notes survives whatever a model does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.core.prompt_templates import load_prompt
from memorist.session_memory.notes_review import repair_or_roll_back_notes
from memorist.session_memory.notes_template import (
    STRUCTURAL_MARK,
    TITLE_SECTION,
    are_notes_empty,
    checksum_each_derived_notes_line,
    compose_notes,
    move_written_lines_up,
    parse_authored_sections,
    parse_section_bodies,
    parse_template_sections,
    replace_structural_notes,
)

TEMPLATE = load_prompt("session_memory/template")
TITLES = [frame.title for frame in parse_template_sections(TEMPLATE)]
FILLED = compose_notes(TEMPLATE, {title: f"text of {title}\nsecond line" for title in TITLES})


def frame_lines(text: str) -> list[str]:
    wanted = {
        line for frame in parse_template_sections(TEMPLATE) for line in (frame.header, frame.hint)
    }
    return [line for line in text.splitlines() if line in wanted]


@pytest.mark.covers("SM-4")
def test_the_template_has_the_ten_sections_in_order() -> None:
    """Each is a header and one italic line."""
    assert TITLES == [
        "Session Title",
        "Current State",
        "Task specification",
        "Files and Functions",
        "Workflow",
        "Errors & Corrections",
        "Codebase and System Documentation",
        "Learnings",
        "Key results",
        "Worklog",
    ]
    assert all(
        frame.hint.startswith("_") and frame.hint.endswith("_")
        for frame in parse_template_sections(TEMPLATE)
    )


@pytest.mark.covers("SM-12")
def test_the_template_alone_counts_as_no_notes() -> None:
    """Space at the ends and missing text make no notes."""
    assert are_notes_empty("\n" + TEMPLATE + "\n\n", TEMPLATE)
    assert are_notes_empty(compose_notes(TEMPLATE, {}), TEMPLATE)
    assert not are_notes_empty(FILLED, TEMPLATE)


@pytest.mark.covers("SM-5")
def test_a_clean_edit_is_kept_as_it_is() -> None:
    """No repair where none is needed."""
    edited = FILLED.replace("text of Worklog", "new words")

    assert repair_or_roll_back_notes(FILLED, edited, TEMPLATE) == type(
        repair_or_roll_back_notes(FILLED, edited, TEMPLATE)
    )(edited, ())


@pytest.mark.covers("SM-5")
def test_changed_headers_and_hints_are_the_templates_again_and_no_word_is_lost() -> None:
    """A model that renames case, rewrites a hint and adds a section loses nothing."""
    hint = parse_template_sections(TEMPLATE)[1].hint
    edited = (
        FILLED.replace("# Current State", "#  current state").replace(hint, "_my own hint_")
        + "\n# Extra\nadded words\n"
    )
    mended = repair_or_roll_back_notes(FILLED, edited, TEMPLATE)

    assert frame_lines(mended.text) == frame_lines(FILLED)
    assert "text of Current State" in mended.text
    assert "## Extra\nadded words" in mended.text
    assert mended.repairs
    assert not mended.rolled_back


@pytest.mark.covers("SM-5")
def test_a_deleted_section_gets_its_former_text_back() -> None:
    """Deleting is not the model's to do."""
    start, end = FILLED.index("# Learnings"), FILLED.index("# Key results")
    mended = repair_or_roll_back_notes(FILLED, FILLED[:start] + FILLED[end:], TEMPLATE)

    assert (
        parse_section_bodies(mended.text, TEMPLATE)["Learnings"] == "text of Learnings\nsecond line"
    )
    assert any("Learnings" in repair for repair in mended.repairs)


@pytest.mark.covers("SM-5")
def test_an_edit_that_leaves_little_of_the_frame_is_rolled_back() -> None:
    """Overwriting the file with something else changes nothing."""
    mended = repair_or_roll_back_notes(FILLED, "I have updated the notes.", TEMPLATE)

    assert mended.text == FILLED
    assert mended.rolled_back


@pytest.mark.covers("SM-5")
@given(
    st.lists(
        st.sampled_from([*FILLED.splitlines(), "# Foo", "```", "plain", "_x_", ""]), max_size=60
    )
)
def test_whatever_comes_back_the_frame_is_whole(lines: list[str]) -> None:
    """For any mixture of lines the result has every header and hint once, in order."""
    mended = repair_or_roll_back_notes(FILLED, "\n".join(lines), TEMPLATE)

    assert [frame for frame in frame_lines(mended.text) if frame.startswith("# ")] == [
        frame.header for frame in parse_template_sections(TEMPLATE)
    ]
    assert set(frame_lines(FILLED)) <= set(frame_lines(mended.text))


@pytest.mark.covers("SM-13")
def test_what_structure_proved_stands_apart_and_is_replaced_next_time() -> None:
    """The mark tells the two apart; a model's text is never touched by a structural update."""
    written = compose_notes(TEMPLATE, {"Learnings": "a model's words"})
    once = replace_structural_notes(written, TEMPLATE, {"Learnings": "first", "Worklog": "step 1"})
    twice = replace_structural_notes(once, TEMPLATE, {"Learnings": "second"})

    assert (
        parse_section_bodies(twice, TEMPLATE)["Learnings"]
        == f"a model's words\n\n{STRUCTURAL_MARK}\nsecond"
    )
    assert "first" not in twice
    assert "step 1" not in twice


LINES = st.lists(st.text(max_size=12), max_size=3)


@pytest.mark.covers("SM-13")
@given(st.dictionaries(st.sampled_from(TITLES), LINES), LINES, st.sampled_from(TITLES), st.data())
def test_what_somebody_writes_into_the_derived_part_stays(
    derived: dict[str, list[str]], own: list[str], title: str, data: st.DataObject
) -> None:
    """Whatever stands there, and at the top of the file; what was derived goes all the same, and a
    title of one's own takes the place of a new one.
    """
    once = replace_structural_notes(
        TEMPLATE,
        TEMPLATE,
        {each: "\n".join(f"- {line}" for line in lines) for each, lines in derived.items()},
    )
    known = checksum_each_derived_notes_line(once, TEMPLATE)
    lines = once.split("\n")
    at = data.draw(
        st.sampled_from([0, *(n for n, line in enumerate(lines, 1) if line[:2] == "- ")])
    )
    mine = [f"mine {number}:{'-'.join(line.split())}" for number, line in enumerate(own)]
    edited = "\n".join([*lines[:at], *mine, *lines[at:]])

    kept = move_written_lines_up(edited, TEMPLATE, known)
    again = replace_structural_notes(kept, TEMPLATE, {title: "- new"})

    assert move_written_lines_up(kept, TEMPLATE, known) == kept
    assert kept == once or mine
    assert [line for line in again.split("\n") if line.startswith("mine ")] == mine
    has_own_title = title == TITLE_SECTION and parse_authored_sections(kept, TEMPLATE)[title]
    derived_now = [] if has_own_title else ["- new"]
    assert [line for line in again.split("\n") if line[:2] == "- "] == derived_now


@pytest.mark.covers("SM-6")
def test_an_own_template_rules_the_frame() -> None:
    """Other sections, with or without hints, are kept as the user wrote them."""
    own = "# Status\n_where it stands_\n\n# Open\n"
    text = replace_structural_notes(
        own, own, {"Status": "here", "Current State": "not in this template"}
    )

    assert text == f"# Status\n_where it stands_\n{STRUCTURAL_MARK}\nhere\n\n# Open\n"
