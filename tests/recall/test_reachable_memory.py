"""Memories that hold in every project of the user are found in each of them, by every search."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.memory_file import MemoryKind
from memorist.auto_memory.memory_name_lookup import has_memory
from memorist.cli.main import memorist_group
from memorist.engine.engine import Memorist
from memorist.mcp_server.call_dispatch import ToolDispatcher
from memorist.mcp_server.tool_arguments import (
    MemoryReadArguments,
    MemorySearchArguments,
    MemoryWriteArguments,
)
from memorist.settings import RecallSettings, Settings
from memorist.store.memory_uses import list_uses_in_session, list_uses_of_memory
from memorist.testing.models import ScriptedModel
from memorist.testing.steps import Say

pytestmark = pytest.mark.covers("WD-6")
ALLERGY = "The user is allergic to peanuts and plans every team lunch around that.\n\nSatay is out."
PATH = "everywhere/lunch.md"
ASKED = "where do we order a lunch without peanuts"


@pytest.fixture
def blog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project without a memory of its own; one memory holds everywhere."""
    monkeypatch.setenv("MEMORIST_HOME", str(tmp_path / "home"))
    (tmp_path / "blog" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "blog")
    keep_everywhere(open_engine(tmp_path).memory(str(tmp_path / "blog")), ALLERGY)
    return tmp_path / "blog"


def open_engine(folder: Path, model: Any = "structural", **recall: Any) -> Memorist:
    chosen = RecallSettings(**{"embeddings": False, **recall})
    settings = Settings(home=str(folder / "home"), recall=chosen)
    engine = Memorist(model=model, settings=settings)
    engine.starts_workers = False
    return engine


def keep_everywhere(memory: AutoMemory, text: str) -> None:
    assert memory.everywhere is not None
    memory.everywhere.add(text, kind=MemoryKind.USER, name="lunch", description="What lunch needs")


def run(*words: str) -> str:
    done = CliRunner().invoke(memorist_group, words)
    assert done.exit_code == 0, done.output
    return done.output


def request_of(asked: str) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": asked}]}


def test_the_search_of_a_session_finds_what_holds_in_every_project(blog: Path) -> None:
    """In a project that has no memory of its own too."""
    with open_engine(blog.parent) as engine, engine.open("s1", project=str(blog)) as session:
        found = session.search_project(ASKED).memories

    assert [each.path for each in found] == [PATH]


def test_both_folders_are_searched_and_the_better_match_comes_first(blog: Path) -> None:
    """Neither folder goes before the other, and the limit counts both."""
    engine = open_engine(blog.parent)
    engine.memory(str(blog)).add(
        "We order lunch at noon.", kind=MemoryKind.PROJECT, name="noon", description="When we order"
    )
    with engine as blocking, blocking.open("s1", project=str(blog)) as session:
        peanuts = session.search_project("lunch without peanuts").memories
        noon = session.search_project("lunch at noon, when do we order").memories
        one = session.search_project("lunch without peanuts", 1).memories

    assert [each.path for each in peanuts] == [PATH, "noon.md"]
    assert [each.path for each in noon] == ["noon.md", PATH]
    assert [each.path for each in one] == [PATH]


def test_a_prompt_is_shown_it_whole_once_and_the_use_is_recorded_where_it_is_kept(
    blog: Path,
) -> None:
    """The list at the start has only its line; the ledger of its own folder counts it."""
    engine = open_engine(blog.parent)
    memory = engine.memory(str(blog))
    with engine as blocking, blocking.open("s1", project=str(blog)) as session:
        asked = request_of(ASKED)["messages"]
        first = session.prepare(request_of(ASKED))["messages"]
        session.observe({"role": "assistant", "content": [{"type": "text", "text": "Here."}]})
        told = [*asked, {"role": "assistant", "content": "Here."}, *asked]
        again = session.prepare({**request_of(ASKED), "messages": told})["messages"]
    assert memory.everywhere is not None
    uses = list_uses_of_memory(engine.database(), str(memory.everywhere.layout.folder), "lunch.md")

    assert f"--- {PATH} (user" in json.dumps(first)
    assert json.dumps(first).count("Satay is out") == 1
    assert json.dumps(again).count("Satay is out") == 1
    assert {each.what for each in uses} == {"listed", "shown"}


def test_what_the_index_lists_is_recorded_with_the_answer(blog: Path) -> None:
    """No prompt waits for the two hundred lines."""
    engine = open_engine(blog.parent)
    engine.memory(str(blog)).add(
        "We order lunch at noon.", kind=MemoryKind.PROJECT, name="noon", description="When we order"
    )
    with engine as blocking, blocking.open("s1", project=str(blog)) as session:
        session.prepare(request_of("hello there"))
        before = list_uses_in_session(engine.database(), "s1")
        session.observe({"role": "assistant", "content": [{"type": "text", "text": "Hi."}]})
        after = list_uses_in_session(engine.database(), "s1")

    assert [each.what for each in before] == []
    assert {(each.path, each.what) for each in after} == {
        ("noon.md", "listed"),
        ("lunch.md", "listed"),
    }


def test_the_command_line_finds_it(blog: Path) -> None:
    """`search`, `recall` and `memory search`."""
    assert PATH in run("search", ASKED)
    assert PATH in run("recall", ASKED)
    assert f"{PATH}  What lunch needs" in run("memory", "search", ASKED)


def test_the_tool_of_mcp_ranks_it_and_lists_it_once(blog: Path) -> None:
    """What is found stands whole, what is not in one line."""
    tools = ToolDispatcher({"MEMORIST_HOME": str(blog.parent / "home")})
    found = tools.call_tool(blog, MemorySearchArguments(query=ASKED), "any")
    other = tools.call_tool(blog, MemorySearchArguments(query="zebra"), "any")

    assert "Satay is out" in found
    assert found.count(PATH) == 1
    assert f"- {PATH}: What lunch needs" in other


def test_a_change_by_mcp_goes_to_the_memory_that_was_read(blog: Path) -> None:
    """It is of the folder of all projects, and waits there, as the user stated it; the project gets
    no second memory of that name.
    """
    memory = open_engine(blog.parent).memory(str(blog))
    assert memory.everywhere is not None
    tools = ToolDispatcher({"MEMORIST_HOME": str(blog.parent / "home")})
    read = tools.call_tool(blog, MemoryReadArguments(path=PATH), "any")
    version = read.partition("version: ")[2].split()[0].rstrip(",")
    change = MemoryWriteArguments(text="Satay is fine.", kind="user", path=PATH, version=version)
    written = tools.call_tool(blog, change, "any")

    assert "waits" in written
    assert [each.path for each in memory.everywhere.inbox.list_proposals()] == ["lunch.md"]
    assert "Satay is out" in memory.everywhere.folder.read_memory_file("lunch.md").body
    assert not has_memory(memory, "lunch.md")


async def test_a_call_that_changes_a_file_is_shown_what_names_it(blog: Path) -> None:
    """Before the call, as a memory of the project is."""
    engine = open_engine(blog.parent)
    keep_everywhere(engine.memory(str(blog)), "Never sort the entries of words.dic by hand.")
    async with engine:
        session = await engine.open("s1", project=str(blog))
        await session.prepare(request_of("look at the parser"))
        file = {"file_path": str(blog / "words.dic"), "content": "a"}
        text = session.recall_for_tool_call("Write", file)
        await session.close()

    assert "Never sort the entries" in text


async def test_a_model_that_selects_is_offered_it(blog: Path) -> None:
    """What the model chooses is shown with the next request."""
    model = ScriptedModel([Say(text=json.dumps({"selected_memories": [PATH]}))])
    engine = open_engine(blog.parent, model, selector="model")
    async with engine:
        session = await engine.open("s1", project=str(blog))
        asked = request_of("what may the caterer bring us on Friday")["messages"]
        await session.prepare({**request_of(""), "messages": asked})
        await session.observe({"role": "assistant", "content": [{"type": "text", "text": "Hm."}]})
        await asyncio.sleep(0.2)
        told = [*asked, {"role": "assistant", "content": "Hm."}, *request_of("go on")["messages"]]
        shown = await session.prepare({**request_of(""), "messages": told})
        await session.close()

    assert "Satay is out" in json.dumps(shown)
