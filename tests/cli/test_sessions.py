"""What a newcomer types: a list of sessions, the newest notes, names as they are printed."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from memorist import Memorist
from memorist.cli.main import memorist_group
from memorist.store.rollout_rows import Rollout
from rollouts.conftest import claude
from support.page_home import LONG, write_long_session


def run(*arguments: str) -> Result:
    return CliRunner().invoke(memorist_group, list(arguments))


async def hold(name: str, project: Path, *words: str, notes: bool = True) -> None:
    """A session in which the user said this and got an answer."""
    async with Memorist() as engine:
        session = await engine.open(name, project=str(project))
        messages: list[dict[str, str]] = []
        for each in words:
            messages.append({"role": "user", "content": each})
            await session.prepare({"model": "m", "max_tokens": 9, "messages": messages})
            messages.append({"role": "assistant", "content": "Done."})
            done = [{"type": "text", "text": "Done."}]
            await session.observe({"role": "assistant", "content": done})
            await session.end_turn()
        if notes:
            await session.update_notes()


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with two sessions, beside one of another project."""
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    for name, project, words in (
        ("first-one", folder, "Why is the total of the cart wrong?"),
        ("second-one", folder, "Add a coupon field to the checkout form."),
        ("elsewhere", tmp_path, "Draw a map of the harbour."),
    ):
        asyncio.run(hold(name, project, words))
    monkeypatch.chdir(folder)
    return folder


def test_sessions_of_another_machine_are_named_by_the_projects_name(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was made in a folder that is not here may belong to the project of its name."""
    asyncio.run(hold("s1", tmp_path / "laptop" / "till", "Mend the till."))
    (tmp_path / "till").mkdir()
    monkeypatch.chdir(tmp_path / "till")

    said = run("sessions").output
    assert f"take over with: memorist memory rebind {tmp_path / 'laptop' / 'till'}" in said
    monkeypatch.chdir(shop)
    assert "rebind" not in run("sessions").output


def test_a_session_that_no_hook_told_of_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent recorded it without memorist: it is listed, and known by its id afterwards."""
    write_long_session(tmp_path / "claude" / "projects" / "-p", str(tmp_path))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.chdir(tmp_path)

    assert "`memorist sessions` finds those" in str(run("notes", LONG[:8]).exception)
    assert "Please look at module 0" in run("sessions").output
    assert "# Session Title" in run("notes", LONG[:8]).output


def test_a_session_without_notes_is_named_by_what_was_asked_first(shop: Path) -> None:
    """One that runs has none yet: it was said that nothing was asked in it."""
    asyncio.run(hold("third-one", shop, "Rename the coupon to voucher.", "Go on.", notes=False))
    asyncio.run(hold("fourth-one", shop, notes=False))

    listed = run("sessions").output.splitlines()

    assert "Rename the coupon to voucher." in next(line for line in listed if "third-one" in line)
    assert "(nothing was asked)" in next(line for line in listed if "fourth-one" in line)


def test_sessions_are_listed_newest_first(shop: Path) -> None:
    """Of this folder, each with what it was about; of all projects on request."""
    lines = run("sessions").output.splitlines()

    assert ["second-one" in lines[0], "first-one" in lines[1]] == [True, True]
    assert "coupon" in lines[0]
    assert len(lines) == 2
    assert "harbour" in run("sessions", "--all").output
    listed = json.loads(run("sessions", "--all", "--limit", "1", "--json").output)["sessions"]
    assert [each["id"] for each in listed] == ["elsewhere"]


def test_notes_alone_are_the_newest_of_this_folder(shop: Path) -> None:
    """No id needs to be known."""
    shown = run("notes")

    assert shown.exit_code == 0, shown.output
    assert "coupon" in shown.output
    assert "harbour" not in shown.output


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The id of a session of Claude Code in this folder in which memorist took no part."""
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(folder)
    file = tmp_path / ".claude" / "projects" / "shop" / "0c5f-1a.jsonl"
    words = ["Why is the total of the cart wrong? Do not touch the schema."]
    words += [f"Add a test of the coupon number {number}." for number in range(120)]
    claude(file, words, session="c1-0c5f")
    file.write_text(file.read_text().replace("/home/dev/shop", str(folder)))
    assert run("import", "--yes").exit_code == 0
    [listed] = json.loads(run("sessions", "--json").output)["sessions"]
    return str(listed["id"])


@pytest.mark.parametrize(
    "arguments",
    [["notes"], ["compact", "--budget", "600"], ["handoff"], ["replay"], ["context"]],
    ids=" ".join,
)
def test_every_command_takes_the_ids_that_are_listed(arguments: list[str], recorded: str) -> None:
    """Whole or its start; an id that nobody has is one sentence that says where ids stand."""
    command, *options = arguments
    for name in (recorded, recorded[:5]):
        done = run(command, name, *options)
        assert done.exit_code == 0, done.output
    nobody = run(command, "ffff", *options)

    assert nobody.exit_code == 1
    assert "'ffff'" in str(nobody.exception)
    assert "memorist sessions" in str(nobody.exception)


def test_notes_of_a_session_without_memorist_are_made_from_its_recording(recorded: str) -> None:
    """Also the newest one's, where none is named; and it is said that they are not kept."""
    shown, newest = run("notes", recorded), run("notes")

    assert "Do not touch the schema." in shown.stdout
    assert "no notes are kept" in shown.stderr
    assert newest.stdout == shown.stdout
    assert json.loads(run("notes", recorded, "--json").stdout)["path"] == ""


def test_a_memory_goes_by_every_name_that_is_printed(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path, the path without its ending, and the name in the index."""
    run("memory", "add", "--kind", "feedback", "--name", "Package manager", "Use pnpm, never npm")

    for name in ("package-manager.md", "package-manager", "Package manager"):
        assert "Use pnpm, never npm" in run("memory", "show", name).output
        assert "never shown to a model" in run("memory", "why", name).output
        assert run("memory", "blame", name).exit_code == 0
    assert run("memory", "forget", "Package manager").output.startswith("forgotten")
    assert "no memory is called 'nothing'; `memorist memory list`" in str(
        run("memory", "show", "nothing").exception
    )
    run("memory", "add", "--kind", "feedback", "--name", "Test command", "Run the tests with tox")
    for words in (
        *(("memory", each) for each in ("show", "forget", "mute", "edit", "blame", "why", "log")),
        ("memory", "move", "--here"),
        ("memory", "check", "--accept"),
        ("team", "share"),
    ):
        said = str(run(*words, "tset-comand").exception)
        assert "called 'tset-comand'; near it: test-command.md;" in said
    assert str(run("memory", "inbox", "accept", "1").exception) == "nothing waits"


@pytest.mark.parametrize(("typed", "meant"), [("stauts", "status"), ("note", "notes")])
def test_a_mistyped_command_is_answered_with_what_comes_close(typed: str, meant: str) -> None:
    """Also in a group."""
    assert f"Did you mean '{meant}'" in run(typed).output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_completion(shell: str) -> None:
    """The script asks memorist itself, so that it knows every command."""
    assert "_MEMORIST_COMPLETE" in run("completion", shell).output


def test_doctor_says_first_what_matters() -> None:
    """What is wrong, then what is worth knowing, then what is in order; and how a model is set."""
    said = run("doctor").output
    marks = [line.split()[0] for line in said.splitlines() if not line.startswith(" ")]

    assert marks == sorted(marks, key=["WRONG", "FIXED", "note", "ok"].index)
    assert "memorist config set model anthropic:NAME" in said
    assert said.count("not installed") <= 1


def test_a_folder_of_another_system_is_in_no_project(shop: Path, tmp_path: Path) -> None:
    """A session that was recorded on Windows is listed among all, and not in each project that one
    asks in: its folder is no path below the working folder.
    """
    claude(
        tmp_path / "win.jsonl",
        ["Review the prompt."],
        session="far-away",
        cwd="C:\\\\Users\\\\me\\\\shop",
    )
    assert run("import", str(tmp_path / "win.jsonl"), "--yes").exit_code == 0

    assert "far-away" in run("sessions", "--all").output
    assert "far-away" not in run("sessions").output
    assert len(run("sessions").output.splitlines()) == 2


def test_one_session_says_how_it_is_opened_again(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The id as the list prints it is enough; the client needs the whole one, and Claude Code the
    folder as well.
    """
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.delenv("CODEX_HOME", raising=False)
    own = tmp_path / ".claude" / "projects" / "x" / "first-one.jsonl"
    own.parent.mkdir(parents=True)
    claude(own, ["Why is the total of the cart wrong?"], session="first-one", cwd=str(shop))

    shown = run("sessions", "first")
    described = json.loads(run("sessions", "first", "--json").output)
    without = run("sessions", "second")

    assert f"cd {shop} && claude --resume first-one" in shown.output
    assert str(own) in shown.output
    assert described["resume"]["command"] == "claude --resume first-one"
    assert "open again" not in without.output
    assert "memorist handoff second-one" in without.output
    assert run("sessions", "nothing").exception is not None
    shutil.rmtree(shop)
    monkeypatch.chdir(tmp_path)
    assert "its folder is gone" in run("sessions", "first").output


def test_a_session_of_a_removed_worktree_stays_its_repositorys(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The overview counted it, and the list did not have it: once the folder is gone, only what was
    noted of the recording says where it belonged.
    """
    worktree = tmp_path / "shop-fix"
    named = shop / ".git" / "worktrees" / "shop-fix"
    named.mkdir(parents=True)
    (named / "commondir").write_text("../..", encoding="utf-8")
    worktree.mkdir()
    (worktree / ".git").write_text(f"gitdir: {named}\n", encoding="utf-8")
    asyncio.run(hold("in-worktree", worktree, "Why is the parser slow?"))
    session_list = sys.modules["memorist.engine.session_list"]
    known = Rollout(
        id="in-worktree",
        path="/there.jsonl",
        format="claude_code",
        size=1,
        modified_ns=1,
        updated=1,
        cwd=str(worktree),
        repository=str(shop),
    )
    monkeypatch.setattr(session_list, "list_rollouts", lambda _: [known])
    shutil.rmtree(worktree)

    assert "in-worktree" in run("sessions").output
