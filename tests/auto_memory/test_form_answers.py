"""What a model fills into the form of an extraction, held against what it was shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memorist.core.messages import JsonObject
from memorist.core.prompt_templates import load_prompt
from memorist.engine.engine import Memorist
from memorist.models.model_settings import ModelSettings
from memorist.settings import Settings
from memorist.testing import Say, ScriptedServer

TYPED = "The timetable of the ferry is kept in docs/ferry.md, because the office prints it."
ECHO = max(load_prompt("auto_memory/form").split("\n"), key=len)
"""A line of the prompt itself."""
MEMORY = {
    "kind": "project",
    "description": "where the timetable of the ferry is",
    "text": "The timetable of the ferry is kept in docs/ferry.md.",
    "quote": "The timetable of the ferry is kept in docs/ferry.md",
}
REQUEST: JsonObject = {
    "model": "claude-opus-4-6",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": TYPED}],
}
REPLY: JsonObject = {
    "role": "assistant",
    "content": [{"type": "text", "text": "I see."}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 90, "output_tokens": 5},
}


async def extract(folder: Path, *memories: JsonObject) -> tuple[str, str]:
    """The texts of all memories after one turn, and what the extraction's receipt says."""
    answer = json.dumps({"memories": memories})
    with ScriptedServer([Say(text=answer)]) as server:
        model = f"openai-chat:small@{server.openai_url}"
        async with Memorist(model=model, home=folder / "h") as engine:
            session = await engine.open("s1", project=str(folder))
            await session.prepare(REQUEST)
            await session.observe(REPLY)
            await session.end_turn()
            await session.close()
            (receipt,) = session.receipts()
    files = folder.glob("h/projects/*/memory/*.md")
    return "\n".join(each.read_text() for each in files), receipt.said


@pytest.mark.covers("AM-5")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("The timetable is written by tools/print_ferry.py.", "names tools/print_ferry.py"),
        ("Der Fahrplan kommt aus `ferry_table_v2`.", "names ferry_table_v2"),
        (ECHO, "repeats the prompt"),
        (
            "Everybody finishes the remaining features before the customers see the release.",
            "says nothing that the session shows",
        ),
        (
            "I'll read docs/ferry.md to see how the timetable of the ferry is kept.",
            "is what the agent does next",
        ),
        (
            "The newest messages of the conversation are what its transcript holds until now.",
            "says nothing that the session shows",
        ),
    ],
)
async def test_an_invented_memory_is_refused_and_the_others_stand(
    tmp_path: Path, text: str, reason: str
) -> None:
    """A file or identifier that nobody named, the words of the prompt, and a sentence about something
    else than what was said; the receipt says which and why.
    """
    given = {**MEMORY, "text": text, "description": "more of it"}

    kept, said = await extract(tmp_path, MEMORY, given)

    assert "kept in docs/ferry.md" in kept
    assert reason in said
    assert text not in kept


@pytest.mark.covers("AM-5")
async def test_a_description_in_the_prompts_words_is_an_echo_too(tmp_path: Path) -> None:
    """A small model copies what is asked for, with a sentence about nothing below it."""
    purpose = load_prompt("auto_memory/form").partition(":")[2].partition(",")[0].strip()
    given = {**MEMORY, "text": "They talk about it.", "description": purpose}

    kept, said = await extract(tmp_path, MEMORY, given)

    assert "repeats the prompt" in said
    assert "They talk about it" not in kept


@pytest.mark.covers("AM-5")
@pytest.mark.parametrize(
    "copied",
    [
        {"text": "They look at the newest messages.", "quote": ""},
        {
            "description": "Look at the newest 1 messages.",
            "quote": "Look at the newest 1 messages.",
        },
        {"description": "The conversation so far", "quote": "The conversation so far"},
        {"description": "What was asked", "quote": "The newest messages:"},
        {"description": "Look at the newest 1 messages.", "text": None},
    ],
    ids=["text", "the task", "the brief's head", "a line of the brief", "cut off below the task"],
)
async def test_what_the_task_is_about_is_no_memory_and_does_not_wait_either(
    tmp_path: Path, copied: dict[str, str | None]
) -> None:
    """A real small model remembered that it was looking at the newest messages, and all of them
    below a line of the task; of an answer that is cut off there, a text is missing.
    """
    whole = {**MEMORY, "kind": "user", "text": "[user] The ferry is late again.", **copied}
    given = {key: value for key, value in whole.items() if value is not None}

    kept, said = await extract(tmp_path, MEMORY, given)

    assert "kept in docs/ferry.md" in kept
    assert "repeats the prompt" in said
    assert "wait in the inbox" not in said


@pytest.mark.covers("AM-5")
@pytest.mark.parametrize(
    ("quote", "waits"),
    [
        ("I saw that the talk goes on.", False),
        ("The office prints the timetable of the ferry twice.", True),
        ("Ich habe gesehen, dass es weitergeht, und das ist für uns nicht gut.", True),
        ("", True),
    ],
    ids=["nobody said it", "nearly the user's words", "another language", "none"],
)
async def test_a_quotation_in_words_that_the_user_never_used_is_made_up(
    tmp_path: Path, quote: str, waits: bool
) -> None:
    """A small model lets the user say what nobody said: such a memory is not even proposed. One
    whose quotation is only inexact waits for the user's yes, as before.
    """
    given = {**MEMORY, "kind": "user", "text": "Timetable: the office prints it.", "quote": quote}

    _, said = await extract(tmp_path, MEMORY, given)

    assert ("wait in the inbox" in said) is waits
    assert ("quotes what the user did not say" in said) is not waits


@pytest.mark.covers("AM-5", "FK-8")
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (
            '<write path="short-name-in-kebab-case.md">\n---\nname: short-name-in-kebab-case\n'
            'description: "one line that tells whether to open this"\ntype: project\n---\n\n'
            "They talk about it.\n</write>",
            "repeats the prompt",
        ),
        ("The ferry has a timetable.", "The answer holds no memory:\nThe ferry has a timetable."),
    ],
)
async def test_edits_as_text_are_held_against_the_prompt_too(
    tmp_path: Path, answer: str, reason: str
) -> None:
    """The prompt's own example is neither kept nor put into the inbox, and the receipt gives the
    reason of each answer of which nothing stood.
    """
    settings = Settings(models=ModelSettings(forms="never"), home=str(tmp_path / "h"))
    with ScriptedServer(lambda _: Say(text=answer)) as server:
        model = f"openai-chat:small@{server.openai_url}"
        async with Memorist(model=model, settings=settings) as engine:
            session = await engine.open("s1", project=str(tmp_path))
            await session.prepare(REQUEST)
            await session.observe(REPLY)
            await session.end_turn()
            await session.close()
            (receipt,) = session.receipts()

    assert reason in receipt.said
    assert list(tmp_path.glob("h/projects/*/memory/short-name*")) == []
    assert list(tmp_path.glob("h/projects/*/memory-state/inbox/*.json")) == []
