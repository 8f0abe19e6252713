"""The notes as a form: what a model filled in, put where it belongs."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from memorist.core.messages import JsonObject
from memorist.core.prompt_templates import load_prompt
from memorist.engine.engine import Memorist
from memorist.forks.answer_form import FormTask, read_edits_from_form_answer
from memorist.forks.file_tool_calls import EditFileCall
from memorist.session_memory.notes_prompt import build_notes_form
from memorist.session_memory.notes_template import compose_notes, parse_section_bodies
from memorist.settings import AutoMemorySettings, SessionMemorySettings, Settings
from memorist.testing import Say, ScriptedServer

TEMPLATE = load_prompt("session_memory/template")
BEFORE = compose_notes(
    TEMPLATE,
    {
        "Session Title": "Rounding of invoices",
        "Current State": "- The cause is being looked for.",
        "Workflow": "- `pytest -q` runs the tests.\n\n<!-- structural -->\n- `git diff`",
    },
)


def build(rewritten: tuple[str, ...] = ()) -> FormTask:
    """The form for the notes above."""
    prompt = load_prompt("session_memory/form")
    return build_notes_form(
        BEFORE, "/n/notes.md", TEMPLATE, prompt, rewritten=rewritten, reminders=""
    )


def fill(answer: str, rewritten: tuple[str, ...] = ()) -> dict[str, str]:
    """The sections after an answer; empty where nothing is edited."""
    edits = read_edits_from_form_answer(build(rewritten), answer)
    assert not edits.problems
    for call in edits.calls:
        assert isinstance(call, EditFileCall)
        (replacement,) = call.replacements
        assert replacement.old == BEFORE
        return parse_section_bodies(replacement.new, TEMPLATE)
    return {}


@pytest.mark.covers("SM-5")
def test_new_lines_are_added_before_what_is_derived_and_none_twice() -> None:
    """What stood there stays, in its words, with the mark of structure behind it."""
    found = fill('{"Workflow": ["`ruff check` lints.", "* `pytest -q` runs the tests."]}')

    assert found["Workflow"] == (
        "- `pytest -q` runs the tests.\n- `ruff check` lints.\n\n<!-- structural -->\n- `git diff`"
    )
    assert found["Current State"] == "- The cause is being looked for."


@pytest.mark.covers("SM-5", "SM-7")
def test_only_the_newest_state_and_title_stand_and_long_sections_are_written_anew() -> None:
    """Of the state and the title one text is true; a section over its limit is to become shorter."""
    answer = '{"Session Title": ["Half a cent"], "Current State": ["Mended."], "Workflow": ["a"]}'

    found = fill(answer, rewritten=("Workflow",))

    assert found["Session Title"] == "Half a cent"
    assert found["Current State"] == "- Mended."
    assert found["Workflow"] == "- a\n\n<!-- structural -->\n- `git diff`"


@pytest.mark.covers("SM-5")
@pytest.mark.parametrize("answer", ["{}", '{"Workflow": []}', '{"Workflow": 7, "Else": ["x"]}'])
def test_an_empty_form_edits_nothing(answer: str) -> None:
    """Nothing new, keys of no section and values of another kind change no byte."""
    assert fill(answer) == {}


@pytest.mark.covers("SM-4", "FK-6")
async def test_a_model_on_this_machine_is_asked_by_form_and_its_lines_stand(tmp_path: Path) -> None:
    """From the host's request to the notes: the form with its schema goes out, the line that the
    session supports stands in the notes, the one that it does not is dropped, and structure's
    lines are there beside it.
    """
    answer = (
        '{"Errors & Corrections": ["The user rules out floats in money.py.",'
        ' "The fault was in ledger/posting.rs."], "Key results": []}'
    )
    settings = Settings(
        session_memory=SessionMemorySettings(start_tokens=10, growth_tokens=1),
        auto_memory=AutoMemorySettings(enabled=False),
    )
    request: JsonObject = {
        "model": "claude-opus-4-6",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": "No floats in money.py, please. Why is it off?"}],
    }
    reply: JsonObject = {
        "role": "assistant",
        "content": [{"type": "text", "text": "money.py rounds twice."}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 900, "output_tokens": 20},
    }
    with ScriptedServer([Say(text=answer)]) as server:
        model = f"openai-chat:small@{server.openai_url}"
        async with Memorist(model=model, home=tmp_path / "h", settings=settings) as engine:
            session = await engine.open("s1", project=str(tmp_path))
            await session.prepare(request)
            await session.observe(reply)
            await session.end_turn()
            await session.close()
            notes = session.notes or ""
        (sent,) = [each.body for each in server.received]

    assert set(sent["response_format"]["json_schema"]["schema"]["properties"]) >= {"Key results"}
    assert sent["messages"][0]["role"] == "system"
    assert "one JSON object" in sent["messages"][0]["content"]
    assert "- The user rules out floats in money.py." in notes
    assert "posting.rs" not in notes


ASKED = "Is main up to date with origin/main? Look, and leave .cache/tiles alone."
FOUND = (
    "`git fetch origin main` was refused at .git/FETCH_HEAD, then passed. HEAD and origin/main are "
    "4be21c7 now, src/map/tiles.py and src/map/zoom.py are unchanged, .cache/tiles is untracked."
)
MADE_UP = {
    "Session Title": ["A sprint of the platform group"],
    "Current State": ["Most features are finished and the launch is planned for next month."],
    "Task specification": ["The group wants every feature tested before customers see it."],
    "Files and Functions": ["There are the backend, the frontend and the schema of the database."],
    "Workflow": ["Developers open pull requests, and a pipeline deploys what was approved."],
    "Errors & Corrections": ["Several bugs of the login form were found and mended in time."],
    "Learnings": ["Working together and setting priorities made everybody faster."],
    "Key results": ["Customers are content, and the launch stays on schedule."],
    "Worklog": ["Planned the sprint, wrote the features, mended bugs, prepared the launch."],
}


async def keep_notes(
    home: Path, answer: dict[str, list[str]], asked: str = ASKED
) -> tuple[str, str]:
    """The notes of a session of one turn after a model's answer, and what its receipt says."""
    settings = Settings(
        session_memory=SessionMemorySettings(start_tokens=10, growth_tokens=1),
        auto_memory=AutoMemorySettings(enabled=False),
    )
    request: JsonObject = {
        "model": "claude-opus-4-6",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": asked}],
    }
    reply: JsonObject = {
        "role": "assistant",
        "content": [{"type": "text", "text": FOUND}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 900, "output_tokens": 20},
    }
    with ScriptedServer([Say(text=msgspec.json.encode(answer).decode())]) as server:
        model = f"openai-chat:small@{server.openai_url}"
        async with Memorist(model=model, home=home / "h", settings=settings) as engine:
            session = await engine.open("s1", project=str(home))
            await session.prepare(request)
            await session.observe(reply)
            await session.end_turn()
            await session.close()
            (receipt,) = session.receipts()
            return session.notes or "", receipt.said


@pytest.mark.covers("SM-5", "SM-13")
async def test_notes_that_are_made_up_from_first_to_last_are_not_kept(tmp_path: Path) -> None:
    """A real small model wrote such: each line in its form, none with an invented name, and nothing
    of it of this session. What structure derives stands alone, and the receipt says why.
    """
    notes, receipt = await keep_notes(tmp_path, MADE_UP)

    assert not any(line in notes for lines in MADE_UP.values() for line in lines)
    assert ASKED in notes
    assert "9 lines of the model were dropped" in receipt


@pytest.mark.covers("SM-5", "SM-13")
async def test_the_name_of_a_product_makes_no_notes_of_a_session(tmp_path: Path) -> None:
    """A real small model made a plan of its own of a question, in words of the session and with the
    one product that the question names, and called it done. One file among its lines, and each is
    judged by itself.
    """
    plan = ["Looking at main in GitHub", "GitHub is up to date", "The tiles of origin on GitHub"]
    state = ["The update of main on GitHub", "main was refused", "Looked at tiles", "main is left"]
    answer = {"Workflow": plan, "Current State": state, "Worklog": ["Looked at main in GitHub"]}
    asked = f"{ASKED} It stands on GitHub."

    notes, receipt = await keep_notes(tmp_path / "a", answer, asked)
    one, _ = await keep_notes(tmp_path / "b", answer | {"Learnings": ["`zoom.py` stays"]}, asked)

    assert "8 lines of the model were dropped" in receipt
    assert "Looked at main in GitHub" not in notes
    assert "Looked at main in GitHub" in one


@pytest.mark.covers("SM-5", "SM-13")
async def test_a_line_about_something_else_is_dropped_and_one_said_twice_stands_once(
    tmp_path: Path,
) -> None:
    """Each line is judged by itself where others are of this session: those that name something of
    it, and those in its words.
    """
    state = "The branch main is up to date, and the untracked tiles were left alone."
    answer = {
        "Current State": [state],
        "Workflow": ["The branch is looked at with `git fetch origin main`."],
        "Learnings": [*MADE_UP["Learnings"], "FETCH_HEAD could not be written at first."],
        "Worklog": [state],
    }

    notes, receipt = await keep_notes(tmp_path, answer)

    assert notes.count(state) == 1
    assert all(line in notes for line in (answer["Workflow"][0], answer["Learnings"][1]))
    assert MADE_UP["Learnings"][0] not in notes
    assert "2 lines of the model were dropped" in receipt


@pytest.mark.covers("SM-5", "SM-13")
async def test_what_the_user_wants_or_will_do_is_told_in_words_of_theirs(tmp_path: Path) -> None:
    """A real small model made a feature request of a question, and foretold the user's work: in
    words of the session, with its names, and false.
    """
    told = "The user wants main looked at, up to date with origin/main, and .cache/tiles left."
    invented = (
        "The user wants to build a fetch of refused branches in src/map/tiles.py.",
        "The user will write src/map/zoom.py anew and commit it as 4be21c7.",
    )

    notes, _ = await keep_notes(tmp_path, {"Task specification": [told, *invented]})

    assert told in notes
    assert not any(line in notes for line in invented)


@pytest.mark.covers("SM-5", "SM-13")
async def test_what_the_user_asked_for_is_not_told_as_their_own_work(tmp_path: Path) -> None:
    """A real small model wrote that the user has made what they had only asked for. What they say
    they did is theirs.
    """
    asked = "Create a map of the tiles. I updated zoom.py for it."
    invented = (
        "The user has created a map of the tiles.",
        "The user learned to create a map.",
        "The user has created a TODO app using Next.js",
    )
    told = "The user updated zoom.py for it to show a map."

    notes, _ = await keep_notes(tmp_path, {"Key results": [*invented, told]}, asked)

    assert told in notes
    assert not any(line in notes for line in invented)


@pytest.mark.covers("SM-5", "SM-13")
async def test_a_hint_of_the_form_and_what_says_that_there_is_nothing_are_no_notes(
    tmp_path: Path,
) -> None:
    """A real small model filled sections with their own hints, with headings and with "none"."""
    filled = {
        "Codebase and System Documentation": [
            "The parts of the system and how they work together",
            "## Commands",
            "Nothing is known yet.",
        ],
        "Worklog": ["No worklog entries", "None"],
        "Learnings": ["No write to .git/FETCH_HEAD is allowed in the sandbox."],
    }

    notes, receipt = await keep_notes(tmp_path, filled)

    assert "- No write to .git/FETCH_HEAD" in notes
    assert "## Commands" not in notes
    assert "No worklog entries" not in notes
    assert "5 lines of the model were dropped" in receipt


@pytest.mark.covers("SM-5", "SM-13")
async def test_short_lines_and_the_words_of_a_title_are_judged_too(tmp_path: Path) -> None:
    """A real small model took the heading of another document for the session's subject, in lines
    of a word or two beside those of the section's title, and said of each section that it is empty.
    """
    answer = {
        "Session Title": ["Rotation"],
        "Errors & Corrections": ["No errors or corrections have been made so far."],
        "Key results": ["The key result is a well-rotated team.", "The branch main is untouched."],
        "Worklog": ["The work.", "No worklog was written by the agent.", "Looked at origin/main."],
    }

    notes, receipt = await keep_notes(tmp_path, answer)

    assert "- The branch main is untouched." in notes
    assert "- Looked at origin/main." in notes
    assert "5 lines of the model were dropped" in receipt


@pytest.mark.covers("SM-5")
@pytest.mark.parametrize(
    "line",
    ["Die Entwickler haben alles nach ihrem Plan erledigt.", "团队已经完成全部功能，下月发布。"],
)
async def test_a_line_in_another_language_is_not_judged_by_its_words(
    tmp_path: Path, line: str
) -> None:
    """Notes in the user's language about what an agent said in English hold few of its words."""
    notes, _ = await keep_notes(tmp_path, {"Learnings": [line]})

    assert line in notes


@pytest.mark.covers("SM-5", "SM-13")
async def test_what_structure_proves_stays_current_beside_a_model_that_adds_nothing(
    tmp_path: Path,
) -> None:
    """A copy of a derived line is not taken as the model's, since it would not change any more; and
    where the model finds nothing to add, what the user asked since stands in the notes all the
    same.
    """
    first, later = "No floats in money.py, please. Why is it off?", "Then mend tax.py too."
    answer = msgspec.json.encode(
        {"Task specification": [first], "Learnings": ["It rounds twice, in money.py."]}
    ).decode()
    settings = Settings(
        session_memory=SessionMemorySettings(start_tokens=10, growth_tokens=1),
        auto_memory=AutoMemorySettings(enabled=False),
    )
    messages: list[JsonObject] = []
    with ScriptedServer([Say(text=answer), Say(text=answer)]) as server:
        model = f"openai-chat:small@{server.openai_url}"
        async with Memorist(model=model, home=tmp_path / "h", settings=settings) as engine:
            for turn, said in enumerate((first, later), 1):
                content = [{"type": "text", "text": "money.py rounds twice."}]
                session = await engine.open("s1", project=str(tmp_path))
                messages.append({"role": "user", "content": said})
                await session.prepare(
                    {"model": "claude-opus-4-6", "max_tokens": 100, "messages": messages}
                )
                reply: JsonObject = {"role": "assistant", "content": content}
                messages.append(reply)
                usage = {"input_tokens": 900 * turn, "output_tokens": 20}
                await session.observe({**reply, "stop_reason": "end_turn", "usage": usage})
                await session.end_turn()
                await session.close()
            notes = session.notes or ""
        asked = len(server.received)

    sections = parse_section_bodies(notes, TEMPLATE)
    assert asked == 2
    assert "It rounds twice" in sections["Learnings"]
    assert sections["Task specification"].startswith("<!-- structural -->")
    assert first in sections["Task specification"]
    assert later in sections["Task specification"]


@pytest.mark.covers("SM-6", "FK-1")
def test_the_hints_of_a_template_of_ones_own_are_in_the_form_and_ours_are_not() -> None:
    """A real small model filled in each hint of ours as a line of its notes."""
    prompt = load_prompt("session_memory/form")
    own = "# Risks\n_What may break, and for whom._\n"
    form = build_notes_form(own, "/n/notes.md", own, prompt, rewritten=(), reminders="")

    assert "- Risks: What may break" in form.instruction
    assert "Errors & Corrections; " in build().instruction
    assert "What went wrong" not in build().instruction
