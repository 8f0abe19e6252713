"""What the rest of memorist knows of the server: extraction stands back where an agent wrote
through it, and a missing extra is told.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType

import pytest
from click import Context
from click.testing import CliRunner

from mcp_server.conftest import Connect, recorded
from memorist.auto_memory.extraction_prompt import is_memory_write_call
from memorist.cli.main import memorist_group
from memorist.core.messages import ToolUse
from memorist.engine.engine import Memorist
from memorist.errors import UsageError


@pytest.mark.covers("AM-5")
@pytest.mark.parametrize(
    ("name", "namespace", "writes"),
    [
        ("mcp__memorist__memory_write", None, True),
        ("mcp__plugin_memorist__memory_forget", None, True),
        ("memory_write", "mcp__memorist", True),
        ("memorist_memory_write", None, True),
        ("mcp__memorist__memory_search", None, False),
        ("memory_search", "mcp__memorist", False),
        ("memory_write", None, False),
        ("mcp__other__memory_write", None, False),
    ],
)
def test_extraction_knows_the_tools_that_write(
    name: str, namespace: str | None, writes: bool
) -> None:
    """As Claude Code, Codex and others name them; not those that read, nor another server's."""
    assert (
        is_memory_write_call(ToolUse("t1", name, {}, namespace=namespace), Path("/home/dev/memory"))
        is writes
    )


@pytest.mark.parametrize("options", [[], ["--http", "--port", "0"]])
def test_a_missing_extra_is_told(options: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the SDK the command says what to install, and no traceback."""

    def missing(name: str) -> ModuleType:
        raise ModuleNotFoundError("No module named 'mcp'", name="mcp")

    command = memorist_group.get_command(Context(memorist_group), "mcp")  # loads its module
    assert command is not None
    monkeypatch.setattr("memorist.cli.mcp_command.importlib.util.find_spec", lambda _: None)
    monkeypatch.setattr("memorist.cli.mcp_command.importlib.import_module", missing)
    said = CliRunner().invoke(memorist_group, ["mcp", *options])
    monkeypatch.undo()

    assert isinstance(said.exception, UsageError)
    assert "pip install 'memorist[mcp]'" in str(said.exception)


@pytest.mark.parametrize(
    ("text", "quote", "waits"),
    [
        ("Use pnpm, never npm", "", False),
        ("The user wants pnpm to be used and npm never.", "always use pnpm, never npm", False),
        ("Always use pnpm here, for all packages.", "always use pnpm, never npm", False),
        ("Use pnpm 9, never npm", "always use pnpm, never npm", True),
        ("Use pnpm in web/, npm in docs/", "always use pnpm, never npm", True),
        ("Use pnpm, never npm or yarn", "always use pnpm, never npm", True),
        ("Use pnpm, never npm, as its lockfile breaks", "always use pnpm, never npm", True),
        ("Deploy with pnpm on Fridays", "From now on always use pnpm, never npm.", True),
        ("Use npm, never pnpm", "", True),
        ("Use npm, never pnpm", "always use pnpm, never npm", True),
        ("pnpm", "", True),
    ],
)
async def test_what_the_agent_writes_down_of_a_rule_that_is_kept_does_not_wait_beside_it(
    connect: Connect, shop: Path, text: str, quote: str, waits: bool
) -> None:
    """Where hooks and MCP work together both saw the rule. What says more or something else than
    the user waits as before.
    """
    asked = {"role": "user", "content": "From now on always use pnpm, never npm."}
    async with Memorist(home=os.environ["MEMORIST_HOME"]) as engine:
        session = await engine.open("s1", project=shop)
        await session.prepare({"model": "m", "max_tokens": 9, "messages": [asked]})
        await session.close()
        async with connect() as asker:
            answer = await asker.ask("memory_write", text=text, kind="feedback", quote=quote)
        memory = engine.memory(shop)

        assert [header.path for header in memory.headers()] == ["pnpm-never-npm.md"]
        assert bool(memory.list_proposals()) is waits
        assert answer.startswith("nothing changed") is not waits


@pytest.mark.parametrize(
    ("rule", "quote", "text"),
    [
        ("From now on always use pnpm, never npm.", "always use npm, never pnpm", "always use npm"),
        (
            "Never push to main.",
            "you may push to main, never to release",
            "Pushing to main is fine",
        ),
        ("Never deploy on a Friday evening.", "", "Deploy on a Friday evening"),
        ("Always use npm.", "we no longer always use npm, use pnpm", "Use pnpm"),
    ],
)
async def test_what_the_user_says_otherwise_since_is_not_taken_for_the_rule_that_is_kept(
    connect: Connect, shop: Path, rule: str, quote: str, text: str
) -> None:
    """The rule's words are all in the quotation, or the text's in the rule: "nothing changed", said
    the server, and the user's new word was lost.
    """
    async with Memorist(home=os.environ["MEMORIST_HOME"]) as engine:
        session = await engine.open("s1", project=shop)
        asked = {"role": "user", "content": rule}
        await session.prepare({"model": "m", "max_tokens": 9, "messages": [asked]})
        await session.close()
        (kept,) = engine.memory(shop).headers()
        if quote:
            await recorded(shop, "s2", [quote])
        async with connect() as asker:
            answer = await asker.ask("memory_write", text=text, kind="feedback", quote=quote)
        memory = engine.memory(shop)

        assert not answer.startswith("nothing changed")
        assert memory.list_proposals() or [each.path for each in memory.headers()] != [kept.path]
