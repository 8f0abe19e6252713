"""The update prompt."""

from __future__ import annotations

import pytest

from memorist.core.prompt_templates import find_placeholders, load_prompt
from memorist.session_memory.conversation_brief import render_conversation_brief
from memorist.session_memory.notes_prompt import (
    NotesPrompts,
    render_length_reminders,
    render_update_prompt,
)
from memorist.session_memory.notes_template import compose_notes
from memorist.settings import SessionMemorySettings

TEXTS = NotesPrompts(
    template=load_prompt("session_memory/template"),
    prompt=load_prompt("session_memory/update"),
    section_reminder=load_prompt("session_memory/reminder_section"),
    total_reminder=load_prompt("session_memory/reminder_total"),
    form=load_prompt("session_memory/form"),
)
SETTINGS = SessionMemorySettings()


@pytest.mark.covers("SM-6")
def test_our_prompts_ask_for_exactly_what_their_builder_gives() -> None:
    """A name without a value, or a value without a name, cannot slip in."""
    assert find_placeholders(TEXTS.prompt) == {
        "currentNotes",
        "notesPath",
        "sectionTokens",
        "reminders",
    }
    assert find_placeholders(TEXTS.section_reminder) == {"title", "tokens", "limit"}
    assert find_placeholders(TEXTS.total_reminder) == {"tokens", "limit"}


@pytest.mark.covers("SM-6")
def test_the_prompt_holds_the_notes_and_the_path_as_they_are() -> None:
    """Braces inside the notes are text."""
    prompt = render_update_prompt(
        "# A\nuses {{braces}} and $1", "/notes/summary.md", TEXTS, SETTINGS
    )

    assert (
        "<current_notes_content>\n# A\nuses {{braces}} and $1\n</current_notes_content>" in prompt
    )
    assert "`/notes/summary.md`" in prompt


@pytest.mark.covers("SM-6")
def test_an_own_prompt_keeps_unknown_names() -> None:
    """The user's file is the user's."""
    own = NotesPrompts(
        template=TEXTS.template,
        prompt="Mine: {{currentNotes}} {{whatever}}",
        section_reminder=TEXTS.section_reminder,
        total_reminder=TEXTS.total_reminder,
        form=TEXTS.form,
        is_user_prompt=True,
    )

    assert render_update_prompt("notes", "p", own, SETTINGS) == "Mine: notes {{whatever}}\n"


@pytest.mark.covers("SM-7")
def test_sections_over_their_limit_are_named_largest_first_and_the_two_that_matter_last() -> None:
    """Current State and Errors & Corrections are to be shortened after all others."""
    notes = compose_notes(
        TEXTS.template,
        {
            "Current State": "x" * 20_000,
            "Worklog": "x" * 9_000,
            "Learnings": "x" * 12_000,
            "Key results": "small",
        },
    )
    said = render_length_reminders(notes, TEXTS, SETTINGS)

    assert [
        said.find(f"`{title}`") > 0
        for title in ("Learnings", "Worklog", "Current State", "Key results")
    ] == [True, True, True, False]
    assert said.index("`Learnings`") < said.index("`Worklog`") < said.index("`Current State` has")
    assert "whole" not in said


@pytest.mark.covers("SM-7")
def test_notes_over_the_total_get_the_stronger_order_first() -> None:
    """12,000 tokens in all is the limit."""
    notes = compose_notes(TEXTS.template, {"Worklog": "x" * 60_000})

    assert render_length_reminders(notes, TEXTS, SETTINGS).startswith("The notes as a whole")


@pytest.mark.covers("SM-7")
def test_small_notes_get_no_reminder() -> None:
    """Nothing is said where nothing is due."""
    assert (
        render_length_reminders(
            compose_notes(TEXTS.template, {"Worklog": "short"}), TEXTS, SETTINGS
        )
        == ""
    )


@pytest.mark.covers("FK-7")
@pytest.mark.parametrize("word", ["long words of a message. ", "这是一个很长的说明文字内容。"])
def test_the_newest_message_is_in_the_brief_in_any_script(word: str) -> None:
    """A character of Chinese is three bytes: measured by characters the brief had too many
    messages, and was then cut at its end, where the newest are.
    """
    newest = [("user", f"Message {number}: {word * 200} End {number}.") for number in range(24)]

    brief = render_conversation_brief({"Current State": word * 400}, newest)

    assert "Message 23:" in brief
    assert "End 23." in brief
