"""`memorist install` and `uninstall`: what changes is shown first, and everything of the user's own
stays.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from memorist.cli import install_command
from memorist.cli.install_command import find_launch_command
from memorist.cli.main import memorist_group
from memorist.hooks.hook_entries import INSTALLED_EVENTS, map_own_hooks_by_event
from memorist.hooks.hook_install import HookInstaller, SettingsChange
from memorist.store.disk_files import DiskFiles

OWN = (
    '{\n    "model": "m",\n    "hooks": {\n        "Stop": [{"hooks": [{"type": "command", '
    '"command": "say done"}]}]\n    }, "x": 1.00\n}'
)
CODEX = '# mine\nmodel = "m"  # why\n'


def run(*arguments: str) -> Result:
    return CliRunner().invoke(memorist_group, list(arguments))


def said(*arguments: str) -> str:
    done = run(*arguments)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def user(monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with settings of both agents, and the extra for the MCP server."""
    monkeypatch.setattr(install_command, "find_spec", lambda name: object())
    home = Path(os.environ["HOME"])
    for name, text in (
        (".claude/settings.json", OWN),
        (".claude.json", '{"projects": {}}'),
        (".codex/config.toml", CODEX),
    ):
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_text(text)
    return home


def settings(home: Path) -> dict[str, bytes]:
    """Every file of the user that is not memorist's."""
    return {
        str(path.relative_to(home)): path.read_bytes()
        for path in sorted(home.rglob("*"))
        if path.is_file() and ".memorist" not in path.parts
    }


@pytest.mark.parametrize("client", ["claude-code", "codex"])
@pytest.mark.parametrize("scope", ["--user", "--project"])
@pytest.mark.covers("IN-2")
def test_what_was_there_comes_back(
    client: str, scope: str, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Install writes what `--dry-run` shows line by line, and names each file; a second time changes
    nothing; uninstall gives every byte back, and takes away what it made.
    """
    project = user / "shop"
    project.mkdir()
    monkeypatch.chdir(project)
    before = settings(user)

    shown = said("install", client, scope, "--dry-run")
    assert settings(user) == before
    done = said("install", client, scope)
    during = settings(user)
    assert all(path in done for path in re.findall(r"^\+\+\+ (\S+)", shown, re.MULTILINE))
    assert done.count("\n+") <= shown.count("\n+")
    again = said("install", client, scope)

    assert settings(user) == during != before
    assert "nothing to change" in again
    assert shown.count("\n+") > 10
    taken = [
        line for line in shown.splitlines() if line.startswith("-") and not line.startswith("---")
    ]
    assert all(
        "say done" in line or line == '-{"projects": {}}' for line in taken
    )  # lines that an entry is added to
    said("uninstall", client, scope, "--dry-run")
    assert settings(user) == during
    said("uninstall", client, scope)
    assert settings(user) == before
    assert not list(project.iterdir())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "  \n\n",
        "{}",
        "{ }\n",
        '{"a": 1}',
        '{"hooks": {}}',
        '{"hooks": {"Stop": []}}',
        "{\r\n}\r\n",
        '{"a": "b", "hooks": {}}',
    ],
)
@pytest.mark.covers("IN-2")
def test_every_kind_of_file_comes_back(text: str, user: Path) -> None:
    """Blank and empty ones too, and after two installations that differ."""
    path = user / ".codex" / "hooks.json"
    path.write_bytes(text.encode())
    said("install", "codex", "--each-tool", "--no-mcp")
    said("install", "codex", "--no-mcp")

    said("uninstall", "codex", "--no-mcp")

    assert path.read_bytes() == text.encode()


@pytest.mark.parametrize(
    "text",
    ["", 'model = "m"', 'model = "m"\n', 'model = "m"\n\n', "# end", "[features]\nplugins = false"],
)
@pytest.mark.covers("IN-2")
def test_every_kind_of_toml_comes_back(text: str, user: Path) -> None:
    """With and without a line end at its end."""
    path = user / ".codex" / "config.toml"
    path.write_bytes(text.encode())
    said("install", "codex", "--mcp")

    said("uninstall", "codex")

    assert path.read_bytes() == text.encode()


@pytest.mark.covers("IN-2", "SF-1")
def test_nothing_of_the_settings_is_copied(user: Path) -> None:
    """Settings hold keys; memorist's own folder knows checksums of them alone."""
    key = "made-up" + "-key-of-the-user"
    (user / ".claude.json").write_text(json.dumps({"primaryApiKey": key}))
    said("install", "claude-code")

    kept = b"".join(path.read_bytes() for path in (user / ".memorist").rglob("*") if path.is_file())

    assert b"made-up" not in kept
    assert base64.b64encode(key.encode())[:12] not in kept


@pytest.mark.covers("IN-2")
def test_what_the_user_changed_since_stays(user: Path) -> None:
    """Where a file was edited after the installation, only what memorist put there goes."""
    said("install", "claude-code")
    path = user / ".claude" / "settings.json"
    edited = path.read_text("utf-8").replace('"model": "m"', '"model": "another"')
    path.write_text(edited)

    said("uninstall", "claude-code")

    assert path.read_text("utf-8") == OWN.replace('"model": "m"', '"model": "another"')


@pytest.mark.covers("IN-2")
def test_an_old_state_never_comes_back_over_a_newer_one(user: Path) -> None:
    """Installed, edited, installed again: uninstalling keeps the edit."""
    said("install", "claude-code")
    path = user / ".claude" / "settings.json"
    path.write_text(path.read_text("utf-8").replace('"x": 1.00', '"x": 2.00'))
    said("install", "claude-code", "--each-tool")

    said("uninstall", "claude-code")

    assert path.read_text("utf-8") == OWN.replace('"x": 1.00', '"x": 2.00')


@pytest.mark.covers("IN-2")
def test_a_file_that_cannot_be_understood_is_left_alone_with_all_the_others(user: Path) -> None:
    """One broken file, and nothing is written anywhere; the sentence names it."""
    (user / ".claude.json").write_text("{broken")
    before = settings(user)

    done = run("install", "claude-code")

    assert done.exit_code != 0
    assert ".claude.json is left as it is" in str(done.exception)
    assert settings(user) == before


@pytest.mark.covers("IN-2")
def test_one_file_that_cannot_be_understood_keeps_no_hook_installed(user: Path) -> None:
    """Who wants memorist out gets it out of every file that can be read, and is told of the one
    that cannot.
    """
    said("install", "claude-code")
    (user / ".claude.json").write_text("{broken")

    done = run("uninstall", "claude-code")

    assert done.exit_code != 0
    assert ".claude.json is left as it is" in str(done.exception)
    assert (user / ".claude" / "settings.json").read_text("utf-8") == OWN
    assert (user / ".claude.json").read_text("utf-8") == "{broken"


@pytest.mark.covers("IN-2")
def test_broken_settings_of_memorist_keep_nobody_from_taking_it_out(user: Path) -> None:
    """Installing names what is wrong with them; uninstalling goes on without them, and every byte
    comes back.
    """
    before = settings(user)
    said("install", "claude-code")
    home = Path(os.environ["MEMORIST_HOME"])
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text("bad = [")

    assert "not valid TOML" in str(run("install", "claude-code").exception)
    said("uninstall", "claude-code")

    (home / "config.toml").unlink()
    assert {
        name: data for name, data in settings(user).items() if home not in (user / name).parents
    } == before


@pytest.mark.covers("IN-2")
def test_what_codex_did_to_its_settings_keeps_nothing_of_memorist_there(user: Path) -> None:
    """After `codex mcp add` and consent to a tool: hooks and server go, and what Codex and the user
    wrote stays.
    """
    said("install", "codex", "--home", str(user / "elsewhere"))
    path = user / ".codex" / "config.toml"
    start, _, env = path.read_text("utf-8").partition("env = { MEMORIST_HOME = ")
    consent = '[mcp_servers.memorist.tools.memory_search]\napproval_mode = "approve"\n'
    other = '\n[mcp_servers.other]\ncommand = "foo"\n'
    path.write_text(
        f"{start}\n[mcp_servers.memorist.env]\nMEMORIST_HOME = "
        f"{env.partition(' }')[0]}\n\n{consent}{other}"
    )

    said("uninstall", "codex", "--home", str(user / "elsewhere"))

    assert path.read_text("utf-8") == CODEX + other
    assert not (user / ".codex" / "hooks.json").exists()


@pytest.mark.covers("IN-2")
def test_a_file_that_the_user_made_read_only_is_left_alone(user: Path) -> None:
    """Neither installing nor uninstalling writes over it, and no other file is changed by an
    installation that cannot be whole.
    """
    before = settings(user)
    (user / ".claude.json").chmod(0o400)
    assert "is read-only" in str(run("install", "claude-code").exception)
    assert settings(user) == before

    said("install", "claude-code", "--no-mcp")
    (user / ".claude" / "settings.json").chmod(0o400)
    during = settings(user)

    assert "is read-only" in str(run("uninstall", "claude-code").exception)
    assert settings(user) == during
    assert "nothing to change" in said("install", "claude-code", "--no-mcp")


def test_text_that_is_no_utf8_is_left_alone(user: Path) -> None:
    """Bytes that are no text are not guessed at."""
    (user / ".claude" / "settings.json").write_bytes(b'{"a": "\xff"}')

    assert "is not UTF-8 text" in str(run("install", "claude-code", "--no-mcp").exception)


@pytest.mark.covers("IN-2")
def test_a_link_stays_a_link(user: Path) -> None:
    """Settings that are linked from elsewhere are changed there."""
    path, real = user / ".claude" / "settings.json", user / "dotfiles.json"
    path.rename(real)
    path.symlink_to(real)

    said("install", "claude-code", "--no-mcp")

    assert path.is_symlink()
    assert set(map_own_hooks_by_event(real.read_text("utf-8"))) == set(INSTALLED_EVENTS)


def test_the_agents_own_folders_are_found_by_their_variables(
    user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`CLAUDE_CONFIG_DIR` and `CODEX_HOME` name other places."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(user / "cc"))
    monkeypatch.setenv("CODEX_HOME", str(user / "cx"))
    before = settings(user)
    for client in ("claude-code", "codex"):
        said("install", client)

    made = settings(user).keys() - before.keys()
    made = {name for name in made if not name.endswith((".md", "openai.yaml"))}

    assert made == {"cc/settings.json", "cc/.claude.json", "cx/hooks.json", "cx/config.toml"}
    assert {name: settings(user)[name] for name in before} == before


def test_another_home_is_named_in_the_command(user: Path) -> None:
    """The usual home is not named, so that the settings stay short; another one is, for hooks and
    server.
    """
    usual = said("install", "claude-code", "--home", str(user / ".memorist"), "--dry-run")
    other = said("install", "claude-code", "--home", str(user / "other place"), "--dry-run")

    assert "--home" not in usual
    assert "--home '" in other
    assert json.dumps({"MEMORIST_HOME": str(user / "other place")})[1:-1] in other


@pytest.mark.covers("IN-2")
def test_without_the_extra_there_are_hooks_alone(
    user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that could not start is not put into the settings; whoever asks for it is told what
    is missing.
    """
    monkeypatch.setattr(install_command, "find_spec", lambda name: None)

    assert "memorist[mcp]" in said("install", "codex")
    assert (user / ".codex" / "config.toml").read_text("utf-8") == CODEX
    assert "memorist[mcp]" in str(run("install", "codex", "--mcp").exception)


@pytest.mark.parametrize(
    ("client", "names"), [("claude-code", ".mcp.json"), ("codex", "hooks.json and config.toml")]
)
@pytest.mark.covers("IN-2")
def test_what_a_repository_should_not_hold_is_told(
    client: str, names: str, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path of this machine in a project's file that others may get is named; nothing is said of
    the user's own files.
    """
    (user / "shop").mkdir()
    monkeypatch.chdir(user / "shop")

    assert f"Keep {names} out of" in said("install", client, "--project")
    assert "out of what others get" not in said("install", client)


def test_each_tool_is_asked_for(user: Path) -> None:
    """A hook after each tool call is installed only where it is wanted."""
    assert "PostToolUse" not in said("install", "codex", "--dry-run")
    assert "PostToolUse" in said("install", "codex", "--each-tool", "--dry-run")


@pytest.mark.covers("IN-2")
def test_commands_for_the_user_come_and_go(user: Path) -> None:
    """Install brings `/memorist:remember` and its like to Claude Code, the same that the plugin has,
    and `$memorist-remember` to Codex; a command of the user's own stays, also one of
    memorist's that they wrote anew, and uninstall takes memorist's away with their folder.
    """
    own = user / ".claude" / "commands" / "mine.md"
    own.parent.mkdir()
    own.write_text("Say hello.")
    before = settings(user)
    said("install", "claude-code")
    said("install", "codex")
    claude = {path.name for path in (own.parent / "memorist").iterdir()}
    skills = {path.name: path for path in (user / ".codex" / "skills").iterdir()}
    shipped = Path(__file__).parents[2] / "plugin" / "claude-commands"

    assert {f"{name}.md" for name in ("remember", "forget", "summary", "dream")} <= claude
    assert {f"memorist-{name.removesuffix('.md')}" for name in claude - {"notes.md"}} == set(skills)
    text = (skills["memorist-remember"] / "SKILL.md").read_text()
    assert text.startswith("---\nname: memorist-remember\ndescription: Keep a sentence of yours")
    assert "what stands behind `$memorist-remember` in the message above" in text
    program = shlex.join(find_launch_command(user / ".memorist").arguments)
    assert {path.name: path.read_text() for path in shipped.iterdir()} == {
        path.name: path.read_text().replace(program, "memorist")
        for path in (own.parent / "memorist").iterdir()
    }
    assert f"!`{program} notes`" in (own.parent / "memorist" / "notes.md").read_text()
    changed = own.parent / "memorist" / "pin.md"
    shipped_text, theirs = changed.read_text(), "My own words about pins."
    changed.write_text(theirs)
    said("install", "claude-code")
    assert changed.read_text() == theirs
    changed.write_text(shipped_text)
    said("uninstall", "claude-code")
    said("uninstall", "codex")
    assert settings(user) == before
    assert not (own.parent / "memorist").exists()
    assert not (user / ".codex" / "skills").exists()


@pytest.mark.covers("IN-2")
def test_the_plugin_brings_codex_what_an_installation_brings(user: Path) -> None:
    """The same commands as skills, which only the user calls; and no folder `commands`, of which
    Codex makes skills of its own that the model may call.
    """
    said("install", "codex")
    plugin = Path(__file__).parents[2] / "plugin"
    shipped = plugin / "codex-skills"
    manifest = json.loads((plugin / ".codex-plugin" / "plugin.json").read_text("utf-8"))
    program = shlex.join(find_launch_command(user / ".memorist").arguments)
    installed = user / ".codex" / "skills"
    skills = {
        path.relative_to(installed).as_posix().removeprefix("memorist-"): path.read_text("utf-8")
        .replace(program, "memorist")
        .replace("name: memorist-off", "name: 'off'")  # bare, it is the boolean of YAML
        .replace("name: memorist-", "name: ")
        .replace("$memorist-", "$memorist:")
        for path in installed.rglob("*.*")
    }

    assert {
        path.relative_to(shipped).as_posix(): path.read_text("utf-8")
        for path in shipped.rglob("*.*")
    } == skills
    assert "behind `$memorist:remember` in" in skills["remember/SKILL.md"]
    assert "allow_implicit_invocation: false" in skills["off/agents/openai.yaml"]
    assert "./codex-skills/" in manifest["skills"]
    assert not (plugin / "commands").exists()


@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_custom_prompts_that_codex_no_longer_reads_are_taken_away(command: str, user: Path) -> None:
    """Those that a former version wrote; a prompt of the user's own stays."""
    prompts = user / ".codex" / "prompts"
    prompts.mkdir(parents=True)
    (prompts / "mine.md").write_text("Say hello.")
    said("install", "codex")
    retired = prompts / "memorist-remember.md"
    written = SettingsChange(retired, None, b"Remember: $ARGUMENTS")
    HookInstaller(user / ".memorist", DiskFiles()).install(written)
    out = said(command, "codex")

    assert f"{retired}: removed (command)" in out
    assert [path.name for path in prompts.iterdir()] == ["mine.md"]


@pytest.mark.parametrize("command", ["install", "uninstall"])
@pytest.mark.parametrize("written", [True, False])
def test_a_command_in_the_users_own_words_is_neither_emptied_nor_removed(
    command: str, written: bool, user: Path
) -> None:
    """One that was edited since it was installed, and one that memorist never wrote."""
    said("install", "codex")
    own = user / ".codex" / "prompts" / "memorist-remember.md"
    own.parent.mkdir(parents=True)
    if written:
        change = SettingsChange(own, None, b"Remember: $ARGUMENTS")
        HookInstaller(user / ".memorist", DiskFiles()).install(change)
    own.write_text("In my own words.")
    said(command, "codex")

    assert own.read_text() == "In my own words."


def test_leaving_without_a_name_takes_memorist_out_of_every_agent(user: Path) -> None:
    """Each file as it was; where no agent is joined, that is said."""
    before = settings(user)
    said("install", "claude-code")
    said("install", "codex")
    assert settings(user) != before

    said("uninstall")

    assert settings(user) == before
    assert "no coding agent is joined here" in str(run("uninstall").exception)


@pytest.mark.parametrize("had", [(), (".claude",), (".claude", ".claude/commands")])
def test_an_empty_folder_of_the_user_stays(user: Path, had: tuple[str, ...]) -> None:
    """Only what memorist made goes with its last file."""
    (user / ".claude" / "settings.json").unlink()
    (user / ".claude").rmdir()
    for name in had:
        (user / name).mkdir()
    said("install", "claude-code")
    assert (user / ".claude" / "settings.json").exists()
    said("uninstall", "claude-code")

    found = [str(path.relative_to(user)) for path in sorted(user.rglob("*")) if path.is_dir()]
    assert [name for name in found if name.startswith(".claude")] == [*had]
