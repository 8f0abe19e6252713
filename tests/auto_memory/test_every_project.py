"""What a user says about themselves is kept once and shown in all of their projects."""

from __future__ import annotations

import asyncio
from pathlib import Path
from uuid import uuid4

import pytest
from click.testing import CliRunner

from hooks.recordings import ClaudeFile
from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.extraction import MOVED
from memorist.auto_memory.statements.statement_scope import (
    applies_to_every_project,
    is_lasting_statement,
)
from memorist.cli.main import memorist_group
from memorist.engine.engine import Memorist
from memorist.errors import WriteConflict
from memorist.events import Event, MemoryChanged
from memorist.hooks.hook_event import HookEvent
from memorist.hooks.hook_notices import render_memory_notice
from memorist.hooks.hook_session import HookOutput, HookSessionPool
from memorist.mcp_server.call_dispatch import ToolDispatcher
from memorist.settings import AutoMemorySettings, Settings
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout
from memorist.testing.frozen_clock import FrozenClock
from memorist.testing.models import ScriptedModel

pytestmark = pytest.mark.covers("WD-6")
MODEL = "claude-sonnet-5"


class Projects:
    """Two repositories of one user, with the command line in either."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = root / "home"
        self._patch = monkeypatch
        monkeypatch.setenv("MEMORIST_HOME", str(self.home))
        self.shop, self.blog = root / "shop", root / "blog"
        for folder in (self.shop, self.blog):
            (folder / ".git").mkdir(parents=True)

    def run(self, folder: Path, *words: str) -> str:
        self._patch.chdir(folder)
        done = CliRunner().invoke(memorist_group, words)
        assert done.exit_code == 0, done.output
        return done.output

    def engine(self, *, everywhere: bool = True) -> Memorist:
        chosen = AutoMemorySettings(everywhere=everywhere)
        return Memorist(
            model=ScriptedModel([]), settings=Settings(home=str(self.home), auto_memory=chosen)
        )

    def say(self, folder: Path, *sentences: str, everywhere: bool = True) -> list[Event]:
        """A session of the SDK in which the user types these sentences."""
        return asyncio.run(self._say(folder, *sentences, everywhere=everywhere))

    async def _say(self, folder: Path, *sentences: str, everywhere: bool = True) -> list[Event]:
        heard: list[Event] = []
        async with self.engine(everywhere=everywhere) as engine:
            session = await engine.open(
                f"s{folder.name}", project=str(folder), listener=heard.append
            )
            for number in range(len(sentences)):
                messages = [
                    {"role": role, "content": text}
                    for said in sentences[: number + 1]
                    for role, text in (("user", said), ("assistant", "Done."))
                ][:-1]
                await session.prepare({"model": MODEL, "max_tokens": 9, "messages": messages})
            await session.close()
        return heard

    def shown(self, folder: Path, *, everywhere: bool = True) -> str:
        """What a new session of this project sends to its model."""
        return asyncio.run(self._shown(folder, everywhere=everywhere))

    async def _shown(self, folder: Path, *, everywhere: bool = True) -> str:
        async with self.engine(everywhere=everywhere) as engine:
            session = await engine.open(f"new-{folder.name}-{uuid4()}", project=str(folder))
            asked = [{"role": "user", "content": "Look at the parser."}]
            body = await session.prepare({"model": MODEL, "max_tokens": 9, "messages": asked})
            await session.close()
        return str(body["messages"])


@pytest.fixture
def projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Projects:
    return Projects(tmp_path, monkeypatch)


def test_what_the_user_says_of_themselves_is_shown_in_their_other_projects(
    projects: Projects,
) -> None:
    """Said once in one project, it stands in the first request of another, in a section of its own;
    what concerns the project stays there.
    """
    heard = projects.say(
        projects.shop, "I'm the backend lead", "answer in German", "never use npm, use pnpm here"
    )
    paths = [path for each in heard if isinstance(each, MemoryChanged) for path in each.paths]
    here, there = projects.shown(projects.shop), projects.shown(projects.blog)

    assert [path.startswith("everywhere/") for path in paths] == [True, True, False]
    for shown in (here, there):
        assert "for all of their projects" in shown
        assert "backend lead" in shown
        assert "German" in shown
    assert "pnpm" in here
    assert "pnpm" not in there


def test_it_is_listed_explained_and_forgotten_from_any_project(projects: Projects) -> None:
    """`memory list`, `show`, `why`, `undo` and `forget` know it in a project that never heard it."""
    projects.say(projects.shop, "always call me Ana")
    projects.shown(projects.blog)
    listed = projects.run(projects.blog, "memory", "list")
    path = next(line.split()[0] for line in listed.splitlines() if "Ana" in line)

    assert path.startswith("everywhere/")
    assert "call me Ana" in projects.run(projects.blog, "memory", "show", path)
    assert "listed" in projects.run(
        projects.blog, "memory", "why", path.removeprefix("everywhere/")
    )
    assert "taken back" in projects.run(projects.blog, "memory", "undo", "--yes")
    assert "Ana" not in projects.run(projects.shop, "memory", "list")

    projects.say(projects.shop, "my name is Ana")
    projects.say(projects.blog, "forget that my name is Ana")
    assert "Ana" not in projects.shown(projects.shop)


def test_a_memory_is_moved_by_hand_and_the_setting_turns_it_off(projects: Projects) -> None:
    """`memory move --everywhere` and back; with `everywhere = false` nothing of it is shown, and
    what is said stays in its project.
    """
    projects.run(projects.shop, "memory", "add", "--kind", "feedback", "Use British spelling")
    projects.run(projects.shop, "memory", "move", "use-british-spelling", "--everywhere")
    assert "British" in projects.shown(projects.blog)
    assert "British" not in projects.shown(projects.blog, everywhere=False)
    projects.run(projects.blog, "memory", "move", "use-british-spelling", "--here")
    assert "British" not in projects.shown(projects.shop)

    projects.say(projects.shop, "answer in French", everywhere=False)
    assert "French" not in projects.shown(projects.blog)
    assert "French" in projects.shown(projects.shop)


def test_a_client_with_hooks_and_one_with_mcp_are_told(projects: Projects) -> None:
    """The start of a session of Claude Code in another project, the index that MCP serves, and its
    search.
    """
    projects.say(projects.shop, "answer in Spanish")
    given = asyncio.run(start_claude_code(projects))
    tools = ToolDispatcher({"MEMORIST_HOME": str(projects.home)})
    index = tools.read_index(projects.blog)

    assert "Spanish" in given.text
    assert "everywhere/" in index
    assert "Spanish" in index


def test_in_doubt_it_stays_in_the_project() -> None:
    """Choices of tools, rules of a team, and what names the project or its texts never leave it."""
    stays = """
        use pnpm|we use tabs|I prefer pnpm|I'm the maintainer of this repo|answer tickets in German
        write commit messages in English|I'm working on the parser|always run the tests|comments in English
        the API answers in German|I'm on Windows today|call me when the build is done|代码注释用中文
        コメントは日本語で書いて|our answers to customers are in German|ich bin fertig|je suis d'accord
        my editor is not opening|keep the answers in the cache|explain it to me
    """
    reaches = """
        answer in German|call me Ana|I use fish shell|I'm colour-blind|my timezone is UTC+2|I work on macOS
        Antworte immer auf Deutsch|réponds toujours en français|responde siempre en español
        responda em português|отвечай по-русски|меня зовут Аня|请用中文回答|日本語で答えてください
        in all my projects, use conventional commits|dans tous mes projets, utilise des tabulations
    """
    words = [
        each.strip() for line in stays.splitlines() for each in line.split("|") if each.strip()
    ]
    assert [each for each in words if applies_to_every_project(each)] == []
    words = [
        each.strip() for line in reaches.splitlines() for each in line.split("|") if each.strip()
    ]
    assert [each for each in words if not is_lasting_statement(each)] == []


async def start_claude_code(projects: Projects) -> HookOutput:
    """What the start of a session in the blog prints."""
    async with projects.engine() as engine:
        engine.starts_workers = False
        pool = HookSessionPool(engine, lambda event, client, error: pytest.fail(str(error)))
        file = projects.home.parent / "s.jsonl"
        file.write_bytes(b"".join(ClaudeFile().lines))
        event = HookEvent(
            session_id="s9",
            transcript_path=str(file),
            cwd=str(projects.blog),
            hook_event_name="SessionStart",
            source="startup",
        )
        given = await pool.render_output_for_event("claude-code", event, "", 20.0)
        await pool.close()
    return given


@pytest.mark.parametrize(
    "sentence", ["I moved to Lisbon", "Ich bin nach Kassel gezogen", "Me mudé a Gijón"]
)
def test_a_new_home_is_asked_about_in_every_project(projects: Projects, sentence: str) -> None:
    """It was kept in one project beside the former one, which all were shown; and to accept that
    one goes is said to be forgetting it.
    """
    projects.say(projects.shop, "I live in Berlin")
    projects.say(projects.blog, f"Remember: {sentence}")
    assert projects.run(projects.shop, "memory", "list").count("everywhere/") == 2
    assert "delete" in projects.run(projects.blog, "memory", "inbox")
    projects.run(projects.blog, "memory", "inbox", "accept", "1")
    assert "Berlin" not in projects.run(projects.shop, "memory", "list")


@pytest.mark.parametrize(
    "sentence",
    [
        "remember for all projects: I use fish",
        "remember for every repo that I use fish",
        "for all my projects: I use fish",
        "remember everywhere: I use fish",
    ],
)
def test_a_wish_for_all_projects_is_kept_there(projects: Projects, sentence: str) -> None:
    """However the projects and the wish are put together."""
    projects.say(projects.shop, sentence)
    assert "everywhere/" in projects.run(projects.blog, "memory", "list")


@pytest.mark.parametrize(
    "sentences",
    [
        ("From now on use pnpm, never npm.", "Remember this for all projects."),
        ("From now on use pnpm, never npm. Please keep that for all my projects.",),
        ("Ab jetzt immer pnpm nutzen, nie npm.", "Das gilt für alle Projekte."),
        ("From now on use pnpm, never npm.", "For all my projects, please."),
        ("From now on use pnpm, never npm.", "That goes for every repo, please."),
        ("Ab jetzt immer pnpm nutzen, nie npm.", "Für alle meine Projekte, bitte."),
        ("À partir de maintenant, toujours pnpm, jamais npm.", "Pour tous mes projets."),
        ("A partir de ahora usa siempre pnpm.", "Para todos mis proyectos, por favor."),
    ],
)
def test_what_was_just_said_can_be_moved_to_every_project(
    projects: Projects, sentences: tuple[str, ...]
) -> None:
    """By the next sentence or message; no memory says "this", and one line tells of it."""
    heard = projects.say(projects.shop, *sentences)
    listed = projects.run(projects.blog, "memory", "list")
    moved = [each for each in heard if isinstance(each, MemoryChanged) and MOVED in each.what]

    assert listed.count("everywhere/") == 1
    assert "pnpm" in listed
    assert "this" not in listed.lower()
    assert len(moved) == 1
    assert "holds in every project now" in render_memory_notice(moved)


def test_for_all_projects_moves_nothing_older(projects: Projects) -> None:
    """With a message between, or where nothing was said, nothing moves."""
    projects.say(
        projects.shop,
        "From now on use pnpm, never npm.",
        "Fix the importer.",
        "And the parser.",
        "Remember this for all projects.",
    )
    assert "everywhere/" not in projects.run(projects.blog, "memory", "list")


@pytest.fixture
def memories(tmp_path: Path) -> tuple[AutoMemory, AutoMemory]:
    """A project's memory and that of every project, on one clock that goes on a minute a call."""
    clock, files = AdvancingClock(), DiskFiles(durable=False)
    here, there = (
        AutoMemory(
            Layout(tmp_path).memory_layout(name),
            files=files,
            clock=clock,
            settings=AutoMemorySettings(),
        )
        for name in ("/shop", "/everywhere")
    )
    here.everywhere = there
    return here, there


class AdvancingClock(FrozenClock):
    def now(self) -> float:
        self.advance(60)
        return super().now()


def test_a_number_names_the_same_one_whatever_comes_to_wait(
    memories: tuple[AutoMemory, AutoMemory],
) -> None:
    """What came to wait for this project stood before what waits for all: `accept 1` was another
    one than the list had shown. What waits for all is listed as `everywhere/`, as memories are.
    """
    here, there = memories
    there.add("The first.", agent="an agent")
    shown = here.list_proposals()[0]
    here.add("The second.", agent="an agent")

    owner, found = here.find_proposal("1")
    assert (owner, found.id) == (there, shown.id)
    assert shown.path == f"everywhere/{found.path}"
    assert here.accept("2").paths == ("the-second.md",)


def test_the_event_of_an_accepted_memory_names_it_as_the_result_does(
    memories: tuple[AutoMemory, AutoMemory],
) -> None:
    """What holds in every project is `everywhere/`, wherever the user of a project reads of it."""
    here, there = memories
    there.add("The first.", agent="an agent")
    events: list[Event] = []

    written = here.accept("1", tell=events.append)

    assert written.paths == ("everywhere/the-first.md",)
    assert [each.paths for each in events if isinstance(each, MemoryChanged)] == [written.paths]


def test_a_conflict_names_the_memory_that_is_to_be_edited(
    memories: tuple[AutoMemory, AutoMemory],
) -> None:
    """A memory of the project that is called the same is another one."""
    here, there = memories
    for each in memories:
        each.add("The first.")
    path = there.headers()[0].path
    there.edit(path, there.folder.read_memory_file(path).text() + "More.\n", version="older")
    there.edit(path, there.folder.read_memory_file(path).text() + "Other.\n")

    with pytest.raises(WriteConflict, match=f"memorist memory edit everywhere/{path}"):
        here.accept("1")


def test_forget_that_takes_back_all_sentences_of_a_message(projects: Projects) -> None:
    """Also where one replaced what another had just said: nothing was taken back then."""
    projects.say(projects.shop, "From now on use pnpm. From now on use yarn.", "Forget that.")

    listed = projects.run(projects.shop, "memory", "list")
    assert "yarn" not in listed
    assert "pnpm" not in listed


def test_all_that_is_known_of_the_user_can_be_asked_to_go(projects: Projects) -> None:
    """It waits, one by one; what is about the project is not touched."""
    projects.say(projects.shop, "I'm the backend lead.", "We use Postgres 15 for everything.")
    projects.say(projects.shop, "Remember for all projects: I use fish", "Answer in German.")
    projects.say(projects.shop, "Forget everything you know about me.")
    waiting = projects.run(projects.shop, "memory", "inbox")

    assert all(each in waiting for each in ("backend lead", "fish", "German"))
    assert "Postgres" not in waiting
