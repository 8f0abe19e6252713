"""`memorist setup`: from nothing to joined, proved agents and something true on the screen."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest
from click.testing import CliRunner, Result

from clients.plugged import end
from memorist.cli.main import memorist_group
from memorist.errors import InputError, MemoristError
from memorist.hooks.agent_programs import (
    AGENTS,
    AgentName,
    find_agents_on_machine,
    find_connected_agents,
    find_settings_targets,
)
from memorist.hooks.hook_entries import INSTALLED_EVENTS, build_hook_entries
from memorist.hooks.install_scope import LaunchCommand, SettingsScope
from memorist.rollouts.project_facts import ProjectFact, select_project_facts
from memorist.rollouts.raw_memory import ClaimProof, MemoryBullet, RawMemory, RawMemoryTask

EXAMPLE = Path(__file__).parents[2] / "examples" / "sessions" / "codex-invoice-rounding.jsonl"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(memorist_group, list(arguments))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of which Codex has recorded a session, on a machine with Claude Code and Codex."""
    home = Path(os.environ["HOME"])
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    folder = tmp_path / "invoices"
    folder.mkdir()
    sessions = home / ".codex" / "sessions" / "2026" / "11" / "22"
    sessions.mkdir(parents=True)
    (home / ".claude").mkdir(exist_ok=True)
    text = EXAMPLE.read_text("utf-8").replace("/home/dev/invoices", str(folder))
    text = text.replace('"source":"exec"', '"source":"cli"')
    (sessions / "rollout-2026-11-22T09-00-00-0f0e0d0c.jsonl").write_text(text, "utf-8")
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.covers("GO-1")
def test_one_command_joins_proves_and_shows_something_true(project: Path) -> None:
    """Each agent answered before it counts as joined, and three things of the project's own past
    are shown, each with where it stands.
    """
    home = Path(os.environ["HOME"])
    done = run("setup", "--yes")
    try:
        assert done.exit_code == 0, done.output
        assert "✓ Claude Code: joined" in done.output
        assert "✓ Codex: joined" in done.output
        facts = [line for line in done.output.splitlines() if line.startswith("  •")]
        assert len(facts) == 3
        assert "You said: “run the whole suite with `python -m unittest -v`" in facts[0]
        assert all("session" in fact for fact in facts)
        assert "past session" in done.output

        alone = run().output
        assert "Claude Code, Codex" in alone
        assert "1 past session known" in alone
    finally:
        end(home / ".memorist")
        run("uninstall", "claude-code")
        run("uninstall", "codex")


@pytest.mark.parametrize("answer", ["n", "1-2", "²", "0", "claude-code"])
def test_an_answer_that_is_no_number_of_the_list_joins_nothing(project: Path, answer: str) -> None:
    """Whoever means to leave one out is not joined with all: each word is one of the numbers."""
    terminal, there = os.openpty()
    try:
        os.write(terminal, f"{answer}\n".encode())
        done = subprocess.run(
            [sys.executable, "-m", "memorist", "setup", "--no-past"],
            stdin=there, capture_output=True, text=True, check=False, timeout=60, cwd=project,
        )  # fmt: skip
    finally:
        os.close(terminal)
        os.close(there)
    assert done.returncode == 2
    assert f"{answer!r} is none of the numbers 1 to 2; nothing was joined" in done.stderr
    assert not (Path(os.environ["HOME"]) / ".claude" / "settings.json").exists()


def test_a_project_of_which_nothing_is_known_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a past session or a telling file nothing is made up to fill the list."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)

    done = run("setup", "--yes")

    assert "Nothing is known about empty yet (0 past sessions)" in done.output
    assert not [line for line in done.output.splitlines() if line.startswith("  •")]

    (folder / "pnpm-lock.yaml").touch()
    assert "  • It is built with pnpm  (pnpm-lock.yaml)" in run("setup", "--yes").output


def test_a_dry_run_writes_nothing(project: Path) -> None:
    """Nor does it start anything."""
    home = Path(os.environ["HOME"])
    before = sorted(home.rglob("*"))

    done = run("setup", "--dry-run")

    assert done.exit_code == 0, done.output
    assert "Nothing was written." in done.output
    assert sorted(home.rglob("*")) == before


def test_without_a_terminal_it_says_how_to_go_on(project: Path) -> None:
    """A script is never asked."""
    done = run("setup")

    assert isinstance(done.exception, Exception)
    assert "--yes" in str(done.exception)


@pytest.mark.covers("GO-1")
def test_a_hook_that_does_not_answer_is_no_joined_agent(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is shown as done was seen to work: with invalid settings no answer comes."""
    monkeypatch.setattr("memorist.hooks.hook_probe.PROBE_ATTEMPTS", 1)
    monkeypatch.setattr("memorist.cli.setup_command.probe_hook", lambda command, cwd: False)

    done = run("setup", "--only", "claude-code", "--no-past")

    assert done.exit_code == 1
    assert "✗ Claude Code: no answer from: hooks" in done.output
    run("uninstall", "claude-code")


def test_without_a_joined_agent_nothing_is_promised(project: Path) -> None:
    """A settings file with a comma too many is left as it is; it was said that all is kept from now
    on.
    """
    settings = Path(os.environ["HOME"]) / ".claude" / "settings.json"
    settings.write_text('{\n  "model": "opus",\n}\n', encoding="utf-8")

    done = run("setup", "--only", "claude-code", "--no-past")

    assert done.exit_code == 1
    assert "settings.json is left as it is: it is not valid JSON: nothing follows a comma" in (
        done.output
    )
    assert "is kept once an agent is joined" in done.output


@pytest.mark.parametrize("name", ["cursor", "gemini-cli", "opencode", "qwen-code"])
@pytest.mark.parametrize("scope", ["--user", "--project"])
def test_agents_without_hooks_are_joined_by_the_server(
    name: str, scope: str, project: Path
) -> None:
    """Install writes an entry that counts as joined, and uninstall leaves no file behind."""
    home = Path(os.environ["HOME"])
    scope_of = SettingsScope(home=home, environment={"PATH": ""})
    files = {path for path in home.rglob("*") if path.is_file()}

    done = run("install", name, scope, "--mcp")
    assert done.exit_code == 0, done.output
    joined = [agent.name for agent in find_connected_agents(scope_of)]
    assert joined == ([name] if scope == "--user" else [])

    assert run("uninstall", name, scope).exit_code == 0
    left = {path for path in home.rglob("*") if path.is_file() and ".memorist" not in path.parts}
    assert left == files
    assert not [path for path in project.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("gemini-cli", ".gemini/settings.json"),
        ("qwen-code", ".qwen/settings.json"),
        ("opencode", ".config/opencode/opencode.json"),
        ("claude-code", ".claude.json"),
    ],
)
def test_comments_stay_in_the_settings_of_agents_that_read_them(
    name: str, file: str, project: Path
) -> None:
    """And are back in their place, byte for byte; Claude Code reads none, and its file is left
    alone.
    """
    path = Path(os.environ["HOME"]) / file
    path.parent.mkdir(parents=True, exist_ok=True)
    text = b'{\n  // dark, for the eyes\n  "theme": "dark" /* or light */\n}\n'
    path.write_bytes(text)

    done = run("install", name, "--mcp")

    if name == "claude-code":
        assert isinstance(done.exception, InputError)
        assert "no comments there" in str(done.exception)
    else:
        assert done.exit_code == 0, done.output
        assert path.read_bytes() != text
        assert b"for the eyes" in path.read_bytes()
        assert run("uninstall", name).exit_code == 0
    assert path.read_bytes() == text


def test_uninstalling_takes_back_the_trust_that_codex_noted(project: Path) -> None:
    """What Codex keeps about memorist's hooks goes with them, and what it keeps about the user's
    own stays: a later installation is asked about again.
    """
    home = Path(os.environ["HOME"])
    hooks, config = home / ".codex" / "hooks.json", home / ".codex" / "config.toml"
    own = '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}'
    hooks.write_text(own, "utf-8")
    before = 'model = "gpt-5"\n'
    config.write_text(before, "utf-8")
    assert run("install", "codex", "--no-mcp").exit_code == 0
    kept = f'\n[hooks.state."{hooks}:stop:0:0"]\ntrusted_hash = "sha256:1"\n'
    gone = "".join(
        f'\n[hooks.state."{hooks}:{event}"]\ntrusted_hash = "sha256:2"\n'
        for event in ("session_start:0:0", "stop:1:0", "user_prompt_submit:0:0")
    )
    config.write_text(before + kept + gone, "utf-8")

    assert run("uninstall", "codex").exit_code == 0

    assert config.read_text("utf-8") == before + kept
    assert hooks.read_text("utf-8") == own


def test_agents_are_found_by_program_or_folder(tmp_path: Path) -> None:
    """Either is enough."""
    (tmp_path / ".qwen").mkdir()
    program = tmp_path / "bin" / "opencode"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    scope = SettingsScope(home=tmp_path, environment={})

    found = find_agents_on_machine(scope, lambda name: which(name, path=str(program.parent)))
    assert [agent.name for agent in found] == ["qwen-code", "opencode"]
    assert set(AGENTS) >= {"claude-code", "codex"}


def test_codex_is_given_no_limit_that_it_complains_of() -> None:
    """Codex allows SessionEnd three seconds and warns in each run about more."""
    entries = build_hook_entries(
        LaunchCommand(arguments=("memorist",)), "codex", dict.fromkeys(INSTALLED_EVENTS, 9.0)
    )

    assert "'timeout': 3" in str(entries["SessionEnd"])
    assert "'timeout': 12" in str(entries["Stop"])


def test_facts_are_what_was_said_or_proved() -> None:
    """What an agent reported is no fact; one of each kind comes before a second of one."""

    def bullet(text: str, proof: ClaimProof) -> MemoryBullet:
        return MemoryBullet(text=text, proof=proof)

    task = RawMemoryTask(
        name="t",
        preferences=(bullet("use tabs", "said"), bullet("use pnpm", "said")),
        knowledge=(
            bullet("Tests ran with: `make test` → ok", "proved"),
            bullet("The agent reported: all is well", "inferred"),
        ),
        failures=(
            bullet("`npm i` failed: E404 → mended after changing `.npmrc`: it passed", "proved"),
        ),
    )
    found = select_project_facts([("0123456789", RawMemory(tasks=(task,)))], 4)

    assert [fact.text for fact in found] == [
        "You said: “use tabs”",
        "`npm i` failed once; mended after changing `.npmrc`: it passed",
        "Tests ran with `make test`",
        "You said: “use pnpm”",
    ]
    assert found[0].proof == "session 01234567"


@pytest.mark.usefixtures("project")
def test_what_is_a_memory_too_is_shown_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's sentence in a past session does not stand beside the memory of it."""
    sentence = "run the whole suite with `python -m unittest -v` before you say done"
    before = run("import", "--yes").output
    stated = [ProjectFact(f"{sentence.capitalize()}.", "you said it; run-the-suite.md")]
    monkeypatch.setattr("memorist.cli.project_overview._find_stated", lambda: stated)
    after = run("import", "--yes").output

    assert f"You said: “{sentence}" in before
    assert "you said it; run-the-suite.md" in after
    assert after.casefold().count(sentence) == 1
    assert after.count("  • ") == before.count("  • ") == 3


def test_without_meaning_setup_says_what_to_install(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where recall goes by words alone, setup names the line that adds meaning."""
    monkeypatch.setattr("memorist.cli.setup_command.is_embedder_installed", lambda: False)
    assert "pip install 'memorist[embed]'" in run("setup", "--yes", "--no-past").output

    monkeypatch.setattr("memorist.cli.setup_command.is_embedder_installed", lambda: True)
    assert "embed" not in run("setup", "--yes", "--no-past").output


def break_folder(folder: Path, kind: str) -> None:
    """Put something unusable at the place of an agent's folder of settings."""
    match kind:
        case "a dangling link":
            folder.symlink_to(folder.parent / "unmounted" / "dotfiles")
        case "a loop":
            folder.symlink_to(folder.name)
        case "a file":
            folder.write_text("", "utf-8")


@pytest.mark.parametrize("kind", ["a dangling link", "a loop", "a file"])
@pytest.mark.parametrize(("agent", "name"), [("claude-code", ".claude"), ("codex", ".codex")])
def test_a_broken_folder_of_an_agent_is_named(
    agent: str, name: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a link of dotfiles leads to a disk that is not mounted, each command says so in one
    line, and makes no folder at its end.
    """
    home = Path(os.environ["HOME"])
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    folder = tmp_path / "shop"
    folder.mkdir()
    monkeypatch.chdir(folder)
    break_folder(home / name, kind)

    for words in (
        ("setup", "--yes", "--no-past"),
        ("setup", "--only", agent, "--no-past"),
        ("install", agent),
        ("doctor",),
    ):
        done = run(*words)
        assert isinstance(done.exception, (SystemExit, MemoristError)), words
        assert done.exit_code == 1, words
        assert str(home / name) in f"{done.output} {done.exception}", words
    assert not (home / "unmounted").exists()


def test_an_import_names_the_link_that_leads_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sessions behind a broken link are not silently none."""
    home = Path(os.environ["HOME"])
    monkeypatch.chdir(tmp_path)
    break_folder(home / ".codex", "a dangling link")

    done = run("import", "--yes")

    assert f"{home / '.codex'} is a link to {home / 'unmounted' / 'dotfiles'}" in done.output


def test_the_agents_own_variables_move_its_settings(tmp_path: Path) -> None:
    """What opencode and Gemini CLI would never read is not written: their folders follow
    `XDG_CONFIG_HOME` and `GEMINI_CLI_HOME`; a relative one of the first counts as none.
    """
    home, program = tmp_path / "home", LaunchCommand(arguments=("memorist",))

    def place(name: AgentName, **variables: str) -> Path:
        scope = SettingsScope(home=home, environment=variables)
        return find_settings_targets(name, scope, program, {}, mcp=True)[0].path

    usual = home / ".config" / "opencode" / "opencode.json"
    moved = tmp_path / "config" / "opencode" / "opencode.json"
    assert place("opencode", XDG_CONFIG_HOME=str(tmp_path / "config")) == moved
    assert place("opencode", XDG_CONFIG_HOME="config") == usual
    assert place("opencode", XDG_CONFIG_HOME="") == usual
    gemini = tmp_path / "g" / ".gemini" / "settings.json"
    assert place("gemini-cli", GEMINI_CLI_HOME=str(tmp_path / "g")) == gemini


def test_an_empty_name_of_the_home_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`MEMORIST_HOME=` in a file of a container is not the working folder."""
    monkeypatch.setenv("MEMORIST_HOME", "")
    folder = tmp_path / "shop"
    folder.mkdir()
    monkeypatch.chdir(folder)

    assert run("memory", "add", "use pnpm").exit_code == 0

    assert not [*folder.iterdir()]
    assert (Path(os.environ["HOME"]) / ".memorist" / "projects").is_dir()
