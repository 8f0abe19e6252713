"""`memorist config set` and `unset`: one line of the settings file, and nothing else in it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from memorist.cli.main import memorist_group
from memorist.errors import InputError, MemoristError
from memorist.settings_file import parse_setting, remove_setting_from_text, set_setting_in_text
from memorist.store.disk_files import DiskFiles

WRITTEN = """\
# my settings
model = "structural"  # no key yet

[session_memory]
# fewer updates
growth_tokens = 8000

[models.prices."my # model"]
input = 0.5
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home; the working folder is a project."""
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    monkeypatch.chdir(project)
    monkeypatch.setenv("MEMORIST_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(memorist_group, ["config", *arguments])


def test_a_first_setting_makes_the_file_and_is_in_force(home: Path) -> None:
    """Plain words need no quotes, whatever the kind of the setting."""
    for name, value in (
        ("model", "anthropic:claude"),
        ("recall.limit", "3"),
        ("compaction.enabled", "off"),
        ("models.headers", '{ "anthropic-beta" = "x" }'),
    ):
        assert run("set", name, value).exit_code == 0

    said = {line.split("  ")[0]: line for line in run("show", "--source").stdout.splitlines()}
    assert tomllib.loads((home / "config.toml").read_text("utf-8")) == {
        "model": "anthropic:claude",
        "recall": {"limit": 3},
        "compaction": {"enabled": False},
        "models": {"headers": {"anthropic-beta": "x"}},
    }
    assert all(str(home / "config.toml") in said[name] for name in ("model", "models.headers")), (
        said
    )


def test_values_are_shown_as_a_settings_file_has_them(home: Path) -> None:
    """Switches, texts, lists, tables and what is not set: nothing as Python writes it."""
    for name, value, shown in (
        ("recall.enabled", "off", "false"),
        ("model", "local", '"local"'),
        ("rollouts.sources", '["cli"]', '["cli"]'),
        ("models.headers", '{ "a" = "b" }', '{ "a" = "b" }'),
    ):
        path = home / "config.toml"
        assert run("set", name, value).stdout == f"{name} = {shown} in {path}\n"

    said = run("show").stdout
    assert not re.search(r"\b(?:True|False|None)\b|'", said), said
    assert re.search(r"(?m)^models\.window +not set$", said)


def test_every_other_line_and_comment_stays(home: Path) -> None:
    """A value is replaced where it stands, with the comment behind it; taken out, it leaves the
    rest.
    """
    home.mkdir()
    (home / "config.toml").write_text(WRITTEN, "utf-8")

    assert run("set", "model", "local").exit_code == 0
    assert run("set", "session_memory.growth_tokens", "9000").exit_code == 0
    assert run("set", "long_term", "none").exit_code == 0
    text = (home / "config.toml").read_text("utf-8")

    assert 'model = "local"  # no key yet\n' in text
    assert "# fewer updates\ngrowth_tokens = 9000\n" in text
    assert run("unset", "long_term").exit_code == 0
    assert run("set", "model", "structural").exit_code == 0
    assert run("set", "session_memory.growth_tokens", "8000").exit_code == 0
    assert (home / "config.toml").read_text("utf-8") == WRITTEN


def test_a_mark_of_an_editor_stays_at_the_beginning(home: Path) -> None:
    """The byte order mark that editors of Windows write, before a new first line too."""
    home.mkdir()
    (home / "config.toml").write_text("\ufeff[recall]\nlimit = 5\n", "utf-8")

    assert run("set", "model", "local").exit_code == 0
    assert run("set", "recall.limit", "7").exit_code == 0
    text = (home / "config.toml").read_text("utf-8")
    assert text == '\ufeffmodel = "local"\n[recall]\nlimit = 7\n'


def test_two_commands_at_once_set_both(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another one wrote since the file was read is edited in turn."""
    assert run("set", "model", "local").exit_code == 0
    written = DiskFiles.write

    def write_late(files: DiskFiles, path: Path, data: bytes, **more: Any) -> None:
        monkeypatch.setattr(DiskFiles, "write", written)
        assert run("set", "recall.limit", "3").exit_code == 0
        written(files, path, data, **more)

    monkeypatch.setattr(DiskFiles, "write", write_late)
    assert run("set", "recall.seconds", "2").exit_code == 0
    said = tomllib.loads((home / "config.toml").read_text("utf-8"))
    assert said["recall"] == {"limit": 3, "seconds": 2.0}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("set", "modle", "x"), "there is no setting 'modle'; near it: model"),
        (("show", "recall.limt"), "near it: recall.limit"),
        (("set", "session_memory", "x"), "there is no setting"),
        (("set", "recall.limit", "many"), "recall.limit: Expected a whole number, got a text"),
        (("set", "long_term", "yes"), 'must be "auto_memory", "rollouts", "both" or "none"'),
        (("set", "recall.enabled", "perhaps"), "recall.enabled must be true or false"),
        (("set", "hooks.off_folders", "3"), "Expected a list, got a whole number"),
        (("set", "recall.limit", "-1"), "is -1; every number is from 0"),
        (("set", "spend.day_cost_usd", "inf"), "is inf; every number is from 0 to 2"),
        (("set", "models.window", "null"), "memorist config unset"),
        (("set", "model", "x", "--project"), "a project's file may not set model"),
        (("unset", "modle"), "there is no setting 'modle'"),
    ],
)
def test_what_cannot_be_set_is_refused_and_nothing_is_written(
    home: Path, arguments: tuple[str, ...], reason: str
) -> None:
    """The reason is said in one sentence."""
    made = run(*arguments)

    assert isinstance(made.exception, MemoristError)
    assert reason in str(made.exception)
    assert not (home / "config.toml").exists()


@pytest.mark.parametrize(
    "text",
    [
        "session_memory = { growth_tokens = 1 }\n",
        "session_memory.growth_tokens = 1\n",
        "model = \n",
    ],
)
def test_a_form_that_cannot_be_changed_by_line_is_left_alone(home: Path, text: str) -> None:
    """So is a file that is not TOML; the error names it."""
    home.mkdir()
    (home / "config.toml").write_text(text, "utf-8")

    made = run("set", "session_memory.growth_tokens", "2")

    assert isinstance(made.exception, InputError)
    assert str(home / "config.toml") in str(made.exception)
    assert (home / "config.toml").read_text("utf-8") == text


def test_a_projects_setting_goes_into_its_own_file(home: Path) -> None:
    """And where something goes before the file that was written, that is said."""
    assert run("set", "compaction.enabled", "false", "--project").exit_code == 0
    of_project = Path(".memorist/config.toml")
    assert tomllib.loads(of_project.read_text("utf-8")) == {"compaction": {"enabled": False}}

    made = run("set", "compaction.enabled", "true")

    assert "here it is false, from" in made.stderr
    assert str(of_project.absolute()) in made.stderr


def test_a_value_that_nothing_starts_with_is_taken_out_by_the_command(home: Path) -> None:
    """The file need not be readable as settings for that; what is still wrong is said."""
    home.mkdir()
    wrong = '[recall]\nlimit = "many"\n[dream]\nhours = "long"\n'
    (home / "config.toml").write_text(wrong, "utf-8")

    made = run("unset", "recall.limit")

    assert (home / "config.toml").read_text("utf-8") == '[recall]\n[dream]\nhours = "long"\n'
    assert made.exit_code == 0
    assert "not in force yet" in made.stderr
    assert "dream.hours" in made.stderr


def test_a_link_to_the_settings_stays_a_link(home: Path, tmp_path: Path) -> None:
    """Many keep their settings in a folder of their own under version control."""
    home.mkdir()
    (tmp_path / "dotfiles.toml").write_text('model = "local"\n', "utf-8")
    (home / "config.toml").symlink_to(tmp_path / "dotfiles.toml")

    run("set", "model", "structural")

    assert (home / "config.toml").is_symlink()
    assert (tmp_path / "dotfiles.toml").read_text("utf-8") == 'model = "structural"\n'


_NAMES = st.sampled_from(["model", "long_term", "recall.limit", "session_memory.growth_tokens"])
_LINES = st.lists(
    st.sampled_from(
        [
            "# limit = 3",
            "",
            'model = "a # b" # c',
            "[recall]",
            "limit = 4",
            "[session_memory]",
            "growth_tokens = 1_000 # per turn",
            "[models.headers]",
            'x = """\n[recall]\nlimit = 9\n"""',
        ]
    ),
    max_size=8,
).map("\n".join)


@pytest.mark.hypothesis
@given(_LINES, _NAMES, st.integers(1, 99))
def test_a_change_is_exactly_the_one_that_was_wanted_or_none(
    text: str, name: str, number: int
) -> None:
    """Whatever stands in the file: the tree differs by the one value, or the edit is refused."""
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    value = parse_setting(name, "none" if name == "long_term" else str(number))
    try:
        after = tomllib.loads(set_setting_in_text(text, name, value))
        without = tomllib.loads(remove_setting_from_text(text, name))
    except InputError:
        return
    section, _, key = name.rpartition(".")
    inner, removed = (after[section], without.get(section, {})) if section else (after, without)
    assert inner.pop(key) == value
    assert key not in removed
    was = dict(before)
    (was.get(section, {}) if section else was).pop(key, None)
    assert {k: v for k, v in after.items() if v != {}} == {k: v for k, v in was.items() if v != {}}
