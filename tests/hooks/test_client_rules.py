"""What stands in the files that Claude Code and Codex load by themselves: shown once, and named
where it contradicts the user.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from memorist.auto_memory.memory_file import MemoryKind
from memorist.cli.main import memorist_group
from memorist.engine.engine import Memorist
from memorist.hooks.hook_event import Client, HookEvent
from memorist.hooks.hook_session import HookSession

FILES: list[tuple[Client, str, str]] = [
    ("claude-code", "CLAUDE.md", ".claude/CLAUDE.md"),
    ("codex", "AGENTS.md", ".codex/AGENTS.md"),
]
both = pytest.mark.parametrize(("client", "project_file", "user_file"), FILES)


async def run(*words: str) -> str:
    """What a command prints, which runs an event loop of its own."""
    done = await asyncio.to_thread(CliRunner().invoke, memorist_group, words)
    assert done.exit_code == 0, done.output
    return done.stdout


class Folder:
    """One project, its memory, and what a client is shown there."""

    def __init__(self, engine: Memorist, home: Path, project: Path) -> None:
        self.engine = engine
        self.home = home
        self.project = project

    def remember(self, text: str) -> str:
        """Have the user's memory of a text; gives its path."""
        written = self.engine.memory(str(self.project)).add(
            text,
            kind=MemoryKind.FEEDBACK,
            name=text.split("\n", maxsplit=1)[0],
            description=text.split("\n", maxsplit=1)[0],
        )
        return written.paths[0]

    def write(self, file: str, text: str, *, user: bool = False) -> None:
        """Write an instruction file of the project, or of the user."""
        path = (self.home if user else self.project) / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    async def start(self, client: Client, session: str = "s1") -> str:
        """What the client shows at the start of a session."""
        event = HookEvent(
            session_id=session,
            cwd=str(self.project),
            hook_event_name="SessionStart",
            source="startup",
        )
        opened = HookSession(self.engine, client, event, "")
        try:
            return await opened.render_text_for_event(event, 20.0)
        finally:
            await opened.close()

    async def prompt(self, client: Client, prompt: str) -> str:
        """What is shown beside a prompt, after the start."""
        event = HookEvent(session_id="p1", cwd=str(self.project), hook_event_name="SessionStart")
        opened = HookSession(self.engine, client, event, "")
        try:
            await opened.render_text_for_event(event, 20.0)
            asked = HookEvent(
                session_id="p1",
                cwd=str(self.project),
                hook_event_name="UserPromptSubmit",
                prompt=prompt,
            )
            return await opened.render_text_for_event(asked, 20.0)
        finally:
            await opened.close()


@pytest.fixture
async def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Folder]:
    """A project without files, of a user without files."""
    home, project = tmp_path / "user", tmp_path / "shop"
    (project / ".git").mkdir(parents=True)
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.delenv("CODEX_HOME", raising=False)
    monkeypatch.setenv("MEMORIST_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(project)
    async with Memorist(model="structural", home=tmp_path / "home") as engine:
        yield Folder(engine, home, project)


@both
@pytest.mark.covers("IN-2")
async def test_a_rule_of_the_clients_own_file_is_shown_once(
    client: Client, project_file: str, user_file: str, folder: Folder
) -> None:
    """A memory that stands word for word in a file which the client loads is left out of the index
    and of what is shown beside a prompt; others stay, and the other client is shown both.
    """
    folder.remember("Use pnpm, never npm")
    folder.remember("Answer in short sentences")
    folder.remember("Run the linter before each commit")
    folder.write(project_file, "# Shop\n\n## Rules\n\n- **Use pnpm**, never npm.\n")
    folder.write(user_file, "Please answer in short sentences\n", user=True)

    shown = await folder.start(client)
    other: Client = "codex" if client == "claude-code" else "claude-code"

    assert "pnpm" not in shown
    assert "short sentences" not in shown
    assert "linter" in shown
    assert "pnpm" not in await folder.prompt(client, "should I install with pnpm or npm?")
    assert "pnpm" in await folder.start(other, "s2")


@both
@pytest.mark.covers("IN-2")
async def test_a_file_that_contradicts_the_user_is_named(
    client: Client, project_file: str, user_file: str, folder: Folder
) -> None:
    """The user's memory stays, and says which line of which file says otherwise, for the model and
    in the list.
    """
    del user_file
    path = folder.remember("Never use npm")
    folder.write(project_file, "- Always use npm.\n")

    shown = await folder.start(client)
    listed = await run("memory", "list")

    assert f"{path})" in shown
    assert f"{project_file} says otherwise: “Always use npm.”" in shown
    assert f"  {project_file} says otherwise: “Always use npm.”" in listed.splitlines()


@both
@pytest.mark.parametrize(
    "text",
    [
        "## Legacy app\n\n- Use tabs\n",
        "## Never\n\n- Use tabs\n",
        "Don't:\n- Use tabs\n",
        "In the old module:\n\n- Use tabs\n",
        "- In the old module\n  - Use tabs\n",
        "```\nUse tabs\n```\n",
        "> Use tabs\n",
        "- ~~Use tabs~~\n",
        "Use tabs?\n",
        "<!-- Use tabs -->\nRead this.\n",
        "Use tabs in Makefiles\n",
        f"# {'a ' * 60_000}b\n\n- Use tabs\n",
    ],
    ids=lambda text: text[:20],
)
async def test_a_line_that_says_less_hides_nothing(
    client: Client, project_file: str, user_file: str, text: str, folder: Folder
) -> None:
    """What a heading or a lead-in limits, an example, a quotation, a question and what is struck
    out is no rule: the memory is shown, and nothing is named.
    """
    del user_file
    folder.remember("Use tabs")
    folder.write(project_file, text)

    shown = await folder.start(client)

    assert "Use tabs" in shown
    assert f"{project_file} says" not in shown


async def test_what_the_client_may_leave_out_hides_nothing(folder: Folder) -> None:
    """Rules for some paths, excluded files and what the client itself remembered may not be in the
    context: memories that stand there too are shown, and the list names the client's memory.
    """
    for text in ("Use tabs", "Use trunk as the main branch", "Keep functions small"):
        folder.remember(text)
    folder.write(".claude/rules/go.md", '---\npaths: "**/*.go"\n---\n\nUse tabs\n')
    folder.write("CLAUDE.local.md", "Use trunk as the main branch\n")
    folder.write(".claude/settings.json", '{"claudeMdExcludes": ["**/CLAUDE.local.md"]}')
    slug = "".join(each if each.isalnum() else "-" for each in str(folder.project))
    folder.write(f".claude/projects/{slug}/memory/small.md", "Keep functions small\n", user=True)

    shown = await folder.start("claude-code")
    listed = await run("memory", "list")

    assert all(text in shown for text in ("Use tabs", "trunk", "functions small"))
    assert "  also in Claude Code's memory, small.md" in listed.splitlines()
    assert listed.count("also in") == 1


def claude_index(folder: Folder) -> str:
    """Where Claude Code keeps the index of its own memory of the project."""
    slug = "".join(each if each.isalnum() else "-" for each in str(folder.project))
    return f".claude/projects/{slug}/memory/MEMORY.md"


CODEX_ON = "[features]\nmemories = true\n"
CODEX_SUMMARY = "v1\n\n## User preferences\n\n- Use pnpm, never npm\n"


async def test_a_rule_of_claude_codes_own_index_is_shown_once(folder: Folder) -> None:
    """What the loaded part of its index says, as a name or as a text, is not shown again; what only
    stands beyond the first 200 lines is.
    """
    for text in ("Use pnpm, never npm", "Keep functions small", "Squash before merging"):
        folder.remember(text)
    lines = [
        "- [Use pnpm, never npm](pnpm.md) — packages",
        "- [Size](small.md) — Keep functions small",
    ]
    filler = [f"- [Note {number}](n{number}.md) — about part {number}" for number in range(200)]
    text = "\n".join([*lines, *filler, "- [Merging](m.md) — Squash before merging"])
    folder.write(claude_index(folder), text, user=True)

    shown = await folder.start("claude-code")
    other = await folder.start("codex", "s2")

    assert "pnpm" not in shown
    assert "functions small" not in shown
    assert "Squash before merging" in shown
    assert all(each in other for each in ("pnpm", "functions small", "Squash"))


@pytest.mark.parametrize(
    "settings",
    [
        '{"autoMemoryEnabled": false}',
        '{"autoMemoryDirectory": "~/elsewhere"}',
        '{"env": {"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"}}',
    ],
)
async def test_an_index_that_claude_code_does_not_load_hides_nothing(
    settings: str, folder: Folder
) -> None:
    """With its own memory turned off, or kept elsewhere, the user's rule is shown."""
    folder.remember("Use pnpm, never npm")
    folder.write(claude_index(folder), "- [Use pnpm, never npm](pnpm.md)", user=True)
    folder.write(".claude/settings.json", settings)

    assert "pnpm" in await folder.start("claude-code")


@pytest.mark.parametrize(
    ("config", "summary", "shown"),
    [
        (CODEX_ON, CODEX_SUMMARY, False),
        ("", CODEX_SUMMARY, True),
        (f"{CODEX_ON}[memories]\nuse_memories = false\n", CODEX_SUMMARY, True),
        (CODEX_ON, CODEX_SUMMARY.replace("- Use", "- More\n" * 2_000 + "- Use"), True),
        ("[features\n", CODEX_SUMMARY, True),
    ],
    ids=["on", "off", "not used", "beyond what is loaded", "damaged settings"],
)
async def test_a_rule_of_codexs_own_memory_is_shown_once(
    config: str, summary: str, shown: bool, folder: Folder
) -> None:
    """Where its settings load the summary, and as far as they do."""
    folder.remember("Use pnpm, never npm")
    folder.write(".codex/config.toml", config, user=True)
    folder.write(".codex/memories/memory_summary.md", summary, user=True)

    assert ("pnpm" in await folder.start("codex")) is shown


async def test_the_list_and_why_name_imported_files(folder: Folder) -> None:
    """A rule in a file that CLAUDE.md imports counts, and `why` says so as well as `list`; a memory
    that says more than the line is shown.
    """
    path = folder.remember("Use pnpm, never npm")
    folder.remember("Squash before merging.\n\nWhy: the history is read by auditors.")
    folder.write("CLAUDE.md", "See @docs/rules.md\n")
    folder.write("docs/rules.md", "1. Use pnpm, never npm\n2. Squash before merging.\n")

    shown = await folder.start("claude-code")
    listed = await run("memory", "list")
    why = await run("memory", "why", path)

    assert "pnpm" not in shown
    assert "Squash" in shown
    assert "  also in docs/rules.md" in listed.splitlines()
    assert why.splitlines()[1] == "also in docs/rules.md"


async def test_a_host_that_loads_no_files_is_shown_everything(folder: Folder) -> None:
    """Without a client that loads them, instruction files change nothing."""
    folder.remember("Use pnpm, never npm")
    folder.write("CLAUDE.md", "Use pnpm, never npm\n")
    session = folder.engine.observe_session("sdk", project=str(folder.project))

    shown = await session.take_opening_texts()
    await session.close()

    assert "pnpm" in "\n".join(shown)
