"""Which project's memory a client gets: never another one's (AM-4)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import MCPError

from mcp_server.conftest import Connect, folder
from memorist.errors import InputError
from memorist.mcp_server.call_dispatch import MAX_OPEN_PROJECTS, ToolDispatcher
from memorist.mcp_server.opened_project import (
    find_project_from_roots,
    find_project_from_working_folder,
    parse_folder_uri,
)
from memorist.mcp_server.tool_arguments import parse_mcp_tool_arguments


@pytest.mark.covers("AM-4")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_clients_roots_come_before_the_working_folder(
    connect: Connect, tmp_path: Path, shop: Path, mode: str
) -> None:
    """In both eras of the protocol, for tools, resources and prompts."""
    bank = folder(tmp_path / "bank")
    async with connect(mode=mode) as asker:
        await asker.ask(
            "memory_write", text="The door is green.", kind="project", description="The door"
        )
    async with connect(mode=mode, roots=[bank.as_uri()]) as asker:
        status = await asker.ask("status")
        index = await asker.resource("memorist://memory")
        prompt = await asker.prompt("compact")

    assert f"project: {bank}" in status
    assert "memories: 0" in status
    assert "door" not in index
    assert "Next step" in prompt


@pytest.mark.covers("AM-4")
async def test_what_the_user_named_comes_before_all(
    connect: Connect, tmp_path: Path, shop: Path
) -> None:
    """`--project` counts whatever the client says, from any subfolder of it."""
    bank = folder(tmp_path / "bank")
    (bank / "src").mkdir()
    async with connect(named=bank / "src", roots=[shop.as_uri()]) as asker:
        assert f"project: {bank}" in await asker.ask("status")


@pytest.mark.covers("AM-4")
async def test_where_it_is_not_certain_nothing_is_served(connect: Connect, tmp_path: Path) -> None:
    """Two projects that are not the working folder's, roots of no folder here, the home folder: an
    error that says what to do.
    """
    roots = [folder(tmp_path / name).as_uri() for name in ("bank", "farm")]
    home = Path(os.environ["HOME"])
    cases: list[dict[str, Any]] = [
        {"roots": roots},
        {"roots": [(tmp_path / "gone").as_uri()]},
        {"working": home},
        {"working": Path("/")},
        {"working": home, "roots": []},
    ]
    for case in cases:
        async with connect(**case) as asker:
            said, wrong = await asker.tried(
                "memory_write", text="The door is green.", kind="project"
            )
            assert wrong, case
            assert "--project" in said
    assert not list((home / ".memorist").glob("projects/*/memory"))


async def test_of_several_roots_the_working_folders_counts(
    connect: Connect, tmp_path: Path, shop: Path
) -> None:
    """An editor with several folders open starts the server in the one that the user works in."""
    async with connect(roots=[folder(tmp_path / "bank").as_uri(), shop.as_uri()]) as asker:
        assert f"project: {shop}" in await asker.ask("status")


def test_subfolders_and_worktrees_are_one_project(tmp_path: Path) -> None:
    """Several roots inside one repository name one project."""
    bank = folder(tmp_path / "bank")
    for name in ("a b", "ü"):
        (bank / name).mkdir()

    assert (
        find_project_from_roots([(bank / "a b").as_uri(), (bank / "ü").as_uri()], tmp_path) == bank
    )
    assert find_project_from_working_folder(bank / "ü") == bank


@given(
    root=st.one_of(
        st.text(max_size=60),
        st.text(max_size=60).map("file://{}".format),
        st.text(max_size=60).map("file:///{}".format),
    )
)
def test_no_root_breaks_anything(root: str) -> None:
    """Any text as a root is a folder that is there, or none."""
    found = parse_folder_uri(root)

    assert found is None or (found.is_absolute() and found.is_dir())
    if found is None:
        with pytest.raises(InputError, match="--project"):
            find_project_from_roots([root], Path("/"))


def test_a_desk_keeps_few_projects_open(tmp_path: Path) -> None:
    """However many projects clients name, and each is answered again after it was closed."""
    roots = [folder(tmp_path / f"shop{number}") for number in range(MAX_OPEN_PROJECTS + 3)]
    desk = ToolDispatcher()
    for root in roots:
        text = f"The door of {root.name} is green."
        desk.call_tool(
            root,
            parse_mcp_tool_arguments(
                "memory_write", {"text": text, "kind": "project", "description": "The door"}
            ),
            "test",
        )

    assert len(desk._open_projects) == MAX_OPEN_PROJECTS
    assert "The door of shop0 is green." in desk.call_tool(
        roots[0], parse_mcp_tool_arguments("memory_read", {"path": "the-door.md"}), "test"
    )
    assert len(desk._open_projects) == MAX_OPEN_PROJECTS
    desk.close()


async def test_in_a_folder_without_memory_each_tool_says_so(
    connect: Connect, tmp_path: Path, shop: Path
) -> None:
    """By the setting that keeps sessions in it out; the folder beside it is as always."""
    client, beside = folder(tmp_path / "client"), folder(tmp_path / "client-site")
    (client / "api").mkdir()
    home = Path(os.environ["MEMORIST_HOME"])
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(f"[hooks]\noff_folders = [{str(client)!r}]\n")
    memory = {"text": "The door is green.", "kind": "project", "description": "The door"}
    for named, roots in ((client / "api", None), (None, [client.as_uri()])):
        async with connect(named=named, roots=roots) as asker:
            for tool, given in (("status", {}), ("memory_write", memory)):
                said, wrong = await asker.tried(tool, **given)
                assert wrong
                assert "memory off in this folder" in said
            with pytest.raises(MCPError, match="memory off in this folder"):
                await asker.resource("memorist://memory")
    async with connect(client / "api") as asker:
        assert (await asker.tried("status"))[1]
    async with connect(beside) as asker:
        assert "memories: 0" in await asker.ask("status")
    assert not list(home.rglob("*door*"))


async def test_a_running_server_sees_changed_settings(connect: Connect) -> None:
    """With the next call, as the hooks do; only `hooks.off_folders` was looked up again."""
    file = Path(os.environ["MEMORIST_HOME"]) / "config.toml"
    file.parent.mkdir(exist_ok=True)
    async with connect() as asker:
        assert "writing: auto" in await asker.ask("status")
        file.write_text('[auto_memory]\npolicy = "review"\n')
        assert "writing: review" in await asker.ask("status")
        file.write_text("[auto_memory")
        said, wrong = await asker.tried("status")
        assert wrong
        assert str(file) in said
        file.unlink()
        assert "writing: auto" in await asker.ask("status")


async def test_where_the_environment_turns_memory_off_the_tools_say_so(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client passes its environment on to its servers."""
    monkeypatch.setenv("MEMORIST_OFF", "1")
    async with connect() as asker:
        said, wrong = await asker.tried("memory_search", query="door")
    assert wrong
    assert "MEMORIST_OFF" in said
