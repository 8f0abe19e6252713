"""Settings: one tree, known sources, clear errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorist.configuration import load_settings
from memorist.errors import SettingsError
from memorist.settings import Settings, flat, with_flags


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


@pytest.mark.covers("FG-1")
def test_later_sources_win_and_each_value_names_its_own(tmp_path: Path) -> None:
    """Defaults, user's file, project's file, environment, caller."""
    write(tmp_path / "home/config.toml", "model = 'openai:a'\n[session_memory]\nstart_tokens = 1\ngrowth_tokens = 2\ntool_calls = 3\n")
    write(tmp_path / "project/.memorist/config.toml", "[session_memory]\ngrowth_tokens = 20\ntool_calls = 30\n")
    environment = {"MEMORIST_SESSION_MEMORY__TOOL_CALLS": "300", "OTHER": "x"}
    resolved = load_settings(environment, home=tmp_path / "home", project=tmp_path / "project")
    memory = resolved.settings.session_memory

    assert (memory.start_tokens, memory.growth_tokens, memory.tool_calls, memory.section_tokens) == (1, 20, 300, 2_000)
    assert resolved.sources["session_memory.tool_calls"] == "environment"
    assert resolved.sources["session_memory.start_tokens"].endswith("home/config.toml")
    assert "session_memory.section_tokens" not in resolved.sources


@pytest.mark.covers("FG-1")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("colour = 1", "colour"),
        ("[session_memory]\nstart_token = 1", "start_token"),
        ("[session_memory]\nstart_tokens = 'many'", "start_tokens"),
        ("= broken", "not valid TOML"),
    ],
)
def test_an_unknown_key_a_bad_value_and_a_broken_file_are_errors_that_name_the_place(tmp_path: Path, text: str, said: str) -> None:
    """A typing error is never silently ignored."""
    write(tmp_path / "config.toml", text)

    with pytest.raises(SettingsError) as error:
        load_settings({}, home=tmp_path)

    assert said in str(error.value)
    assert "config.toml" in str(error.value)


@pytest.mark.covers("FG-1")
@pytest.mark.parametrize("name", ["MEMORIST_MODLE", "MEMORIST_SESSION_MEMORY", "MEMORIST_SESSION_MEMORY__X"])
def test_an_unknown_variable_with_our_prefix_is_an_error(name: str) -> None:
    """The prefix is ours, so a wrong name is a mistake."""
    with pytest.raises(SettingsError, match=name):
        load_settings({name: "1"})


def test_a_projects_file_cannot_choose_the_model_or_the_home(tmp_path: Path) -> None:
    """A cloned repository must not send the conversation elsewhere."""
    write(tmp_path / ".memorist/config.toml", "model = 'openai-chat:x@http://elsewhere.example'\nhome = '/elsewhere'\n")
    resolved = load_settings({}, home=tmp_path / "home", project=tmp_path)

    assert resolved.settings.model == "structural"
    assert resolved.settings.home == str(tmp_path / "home")
    assert [line.split(" ")[0] for line in resolved.ignored] == ["home", "model"]


def test_the_key_and_the_model_file_are_no_settings() -> None:
    """They are read where they are needed, and are never shown."""
    assert load_settings({"MEMORIST_API_KEY": "k", "MEMORIST_LOCAL_MODEL": "m.gguf"}).sources == {}


def test_every_setting_has_one_flat_name() -> None:
    """What `config show` lists can be set."""
    assert flat(Settings())["session_memory.start_tokens"] == 10_000
    assert flat(Settings())["model"] == "structural"


@pytest.mark.covers("FG-1", "FG-2")
def test_a_flag_goes_before_every_other_source_and_is_named_as_the_source(tmp_path: Path) -> None:
    """Also where the caller set the value; a flag that overrides nothing changes neither value nor source, and is told."""
    resolved = load_settings({"MEMORIST_DREAM__HOURS": "12"}, home=tmp_path, caller={"session_memory": {"tool_calls": 4}})
    flags = {"session_memory.tool_calls": 9, "dream.hours": -1, "dream.hour": 3, "dream.enabled": True}

    flagged = with_flags(resolved, flags)

    assert flagged.settings.session_memory.tool_calls == 9
    assert flagged.settings.dream.hours == 12
    assert {name: flagged.sources.get(name) for name in ("session_memory.tool_calls", "dream.hours", "dream.enabled", "dream.sessions")} == {
        "session_memory.tool_calls": "flag", "dream.hours": "environment", "dream.enabled": "flag", "dream.sessions": None,
    }  # fmt: skip
    assert [line.split()[0] for line in flagged.ignored] == ["dream.hours", "'dream.hour'"]
    assert with_flags(resolved, {}) == resolved


@pytest.mark.covers("FG-1", "SF-4")
def test_a_variable_whose_bytes_are_no_text_is_an_error_that_names_the_place() -> None:
    """What the environment holds beyond UTF-8 reaches Python as lone surrogates; where a number is asked for, that is a settings error."""
    with pytest.raises(SettingsError, match="environment"):
        load_settings({"MEMORIST_SESSION_MEMORY__TOOL_CALLS": "\udcff"})


@pytest.mark.covers("FG-1")
def test_a_projects_file_cannot_choose_the_flags_or_when_to_consolidate(tmp_path: Path) -> None:
    """A cloned repository must not bring a file that changes settings, nor have a model run."""
    write(tmp_path / ".memorist/config.toml", "[flags]\nfile = '/srv/flags.toml'\n[dream]\nhours = 0.1\n")
    resolved = load_settings({}, home=tmp_path / "home", project=tmp_path)

    assert (resolved.settings.flags.file, resolved.settings.dream.hours) == ("", 24)
    assert [line.split(" ")[0] for line in resolved.ignored] == ["dream", "flags"]


@pytest.mark.covers("FG-1")
def test_the_users_file_and_the_environment_may_choose_the_flags(tmp_path: Path) -> None:
    """Both are the user's own."""
    write(tmp_path / "config.toml", "[flags]\nfile = '~/flags.toml'\n")

    assert load_settings({}, home=tmp_path).settings.flags.file == "~/flags.toml"
    assert load_settings({"MEMORIST_FLAGS__FILE": "/srv/flags.json"}, home=tmp_path).settings.flags.file == "/srv/flags.json"
