"""Settings: one tree, known sources, clear errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorist.config import load_settings
from memorist.engine.engine import Memorist
from memorist.errors import SettingsError
from memorist.flags.flag_overrides import apply_all_flags
from memorist.settings import Settings, flatten_settings


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


@pytest.mark.covers("FG-1")
def test_later_sources_win_and_each_value_names_its_own(tmp_path: Path) -> None:
    """Defaults, user's file, project's file, environment, caller."""
    write(
        tmp_path / "home/config.toml",
        "model = 'openai:a'\n[session_memory]\nstart_tokens = 1\ngrowth_tokens = 2\ntool_calls "
        "= 3\n",
    )
    write(
        tmp_path / "project/.memorist/config.toml",
        "[session_memory]\ngrowth_tokens = 20\ntool_calls = 30\n",
    )
    environment = {"MEMORIST_SESSION_MEMORY__TOOL_CALLS": "300", "OTHER": "x"}
    resolved = load_settings(environment, home=tmp_path / "home", project=tmp_path / "project")
    memory = resolved.settings.session_memory

    assert (
        memory.start_tokens,
        memory.growth_tokens,
        memory.tool_calls,
        memory.section_tokens,
    ) == (1, 20, 300, 2_000)
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
        ("[context]\nimport_depth = -3", "context.import_depth is -3"),
        ("[recall]\nseconds = nan", "recall.seconds is nan"),
        ("[models.prices.x]\ninput = -1.0", "models.prices.x.input is -1.0"),
        ("[skills]\nshare = 7.0", "share"),
        ("= broken", "not valid TOML"),
    ],
)
def test_an_unknown_key_a_bad_value_and_a_broken_file_are_errors_that_name_the_place(
    tmp_path: Path, text: str, said: str
) -> None:
    """A typing error is never silently ignored."""
    write(tmp_path / "config.toml", text)

    with pytest.raises(SettingsError) as error:
        load_settings({}, home=tmp_path)

    assert said in str(error.value)
    assert "config.toml" in str(error.value)


@pytest.mark.covers("FG-1")
@pytest.mark.parametrize(
    "name", ["MEMORIST_MODLE", "MEMORIST_SESSION_MEMORY", "MEMORIST_SESSION_MEMORY__X"]
)
def test_an_unknown_variable_with_our_prefix_is_an_error(name: str) -> None:
    """The prefix is ours, so a wrong name is a mistake."""
    with pytest.raises(SettingsError, match=name):
        load_settings({name: "1"})


def test_a_projects_file_cannot_choose_the_model_or_the_home(tmp_path: Path) -> None:
    """A cloned repository must not send the conversation elsewhere."""
    write(
        tmp_path / ".memorist/config.toml",
        "model = 'openai-chat:x@http://elsewhere.example'\nhome = '/elsewhere'\n",
    )
    resolved = load_settings({}, home=tmp_path / "home", project=tmp_path)

    assert resolved.settings.model == "structural"
    assert resolved.settings.home == str(tmp_path / "home")
    assert [line.split(" ")[0] for line in resolved.ignored] == ["home", "model"]


def test_the_key_and_the_model_file_are_no_settings() -> None:
    """They are read where they are needed, and are never shown."""
    assert load_settings({"MEMORIST_API_KEY": "k", "MEMORIST_LOCAL_MODEL": "m.gguf"}).sources == {}


def test_every_setting_has_one_flat_name() -> None:
    """What `config show` lists can be set."""
    assert flatten_settings(Settings())["session_memory.start_tokens"] == 10_000
    assert flatten_settings(Settings())["model"] == "structural"


@pytest.mark.covers("FG-1", "FG-2")
def test_a_flag_goes_before_every_other_source_and_is_named_as_the_source(tmp_path: Path) -> None:
    """Also where the caller set the value; a flag that overrides nothing changes neither value nor
    source, and is told.
    """
    resolved = load_settings(
        {"MEMORIST_DREAM__HOURS": "12"}, home=tmp_path, caller={"session_memory": {"tool_calls": 4}}
    )
    flags = {
        "session_memory.tool_calls": 9,
        "dream.hours": -1,
        "dream.hour": 3,
        "dream.enabled": True,
    }

    flagged = apply_all_flags(resolved, flags)

    assert flagged.settings.session_memory.tool_calls == 9
    assert flagged.settings.dream.hours == 12
    assert {name: flagged.sources.get(name) for name in ("session_memory.tool_calls", "dream.hours", "dream.enabled", "dream.sessions")} == {
        "session_memory.tool_calls": "flag", "dream.hours": "environment", "dream.enabled": "flag", "dream.sessions": None,
    }  # fmt: skip
    assert [line.split()[0] for line in flagged.ignored] == ["dream.hours", "'dream.hour'"]
    assert apply_all_flags(resolved, {}) == resolved


@pytest.mark.covers("FG-1", "SF-4")
def test_a_variable_whose_bytes_are_no_text_is_an_error_that_names_the_place() -> None:
    """What the environment holds beyond UTF-8 reaches Python as lone surrogates; where a number is
    asked for, that is a settings error.
    """
    with pytest.raises(SettingsError, match="environment"):
        load_settings({"MEMORIST_SESSION_MEMORY__TOOL_CALLS": "\udcff"})


@pytest.mark.covers("FG-1")
def test_a_projects_file_cannot_choose_the_flags_or_when_to_consolidate(tmp_path: Path) -> None:
    """A cloned repository must not bring a file that changes settings, nor have a model run."""
    write(
        tmp_path / ".memorist/config.toml",
        "[flags]\nfile = '/srv/flags.toml'\n[dream]\nhours = 0.1\n",
    )
    resolved = load_settings({}, home=tmp_path / "home", project=tmp_path)

    assert (resolved.settings.flags.file, resolved.settings.dream.hours) == ("", 24)
    assert [line.split(" ")[0] for line in resolved.ignored] == ["dream", "flags"]


@pytest.mark.covers("FG-1")
def test_the_users_file_and_the_environment_may_choose_the_flags(tmp_path: Path) -> None:
    """Both are the user's own."""
    write(tmp_path / "config.toml", "[flags]\nfile = '~/flags.toml'\n")

    assert load_settings({}, home=tmp_path).settings.flags.file == "~/flags.toml"
    assert (
        load_settings(
            {"MEMORIST_FLAGS__FILE": "/srv/flags.json"}, home=tmp_path
        ).settings.flags.file
        == "/srv/flags.json"
    )


@pytest.mark.covers("FG-1")
@pytest.mark.parametrize(
    ("folder", "found"), [("", True), ("api/routes", True), ("../beside", False)]
)
def test_a_projects_file_is_its_checkouts_and_holds_in_every_folder_of_it(
    tmp_path: Path, folder: str, found: bool
) -> None:
    """From the folder up to the root of the checkout; nothing above that root counts."""
    shop = tmp_path / "shop"
    for place in (shop / ".git", shop / "api/routes", tmp_path / "beside/.git"):
        place.mkdir(parents=True)
    write(shop / ".memorist/config.toml", "[session_memory]\ntool_calls = 30\n")
    write(tmp_path / ".memorist/config.toml", "[session_memory]\ntool_calls = 99\n")

    resolved = load_settings({}, home=tmp_path / "home", project=(shop / folder).resolve())

    assert resolved.settings.session_memory.tool_calls == (30 if found else 3)


@pytest.mark.covers("FG-1")
def test_outside_of_a_checkout_only_the_folders_own_file_counts(tmp_path: Path) -> None:
    """A file further up may be anybody's."""
    write(tmp_path / ".memorist/config.toml", "[session_memory]\ntool_calls = 30\n")
    (tmp_path / "notes").mkdir()

    assert (
        load_settings(
            {}, home=tmp_path / "home", project=tmp_path
        ).settings.session_memory.tool_calls
        == 30
    )
    assert (
        load_settings(
            {}, home=tmp_path / "home", project=tmp_path / "notes"
        ).settings.session_memory.tool_calls
        == 3
    )


@pytest.mark.covers("FG-1")
def test_the_users_own_file_is_no_projects(tmp_path: Path) -> None:
    """Who works in the home folder is not told that the own settings are ignored there."""
    write(tmp_path / ".memorist/config.toml", "model = 'openai:a'\n")
    (tmp_path / ".git").mkdir()

    resolved = load_settings({}, home=tmp_path / ".memorist", project=tmp_path)

    assert (resolved.settings.model, resolved.ignored) == ("openai:a", ())


NOTES_AT_ONCE = "[session_memory]\nstart_tokens = 5000\n"


async def keeps_notes(engine: Memorist, project: Path) -> bool:
    """Whether a session of 6,000 tokens in the project has notes."""
    session = await engine.open("s", project=str(project))
    await session.prepare(
        {"model": "m", "max_tokens": 1000, "messages": [{"role": "user", "content": "Look."}]}
    )
    reply = [{"type": "text", "text": "It is looked at."}]
    await session.observe(
        {
            "role": "assistant",
            "content": reply,
            "usage": {"input_tokens": 6_000, "output_tokens": 5},
        }
    )
    await session.session_memory.wait_or_cancel(10)
    return session.notes is not None


@pytest.mark.covers("FG-1", "SM-2")
async def test_a_projects_file_holds_in_its_sessions(tmp_path: Path) -> None:
    """6,000 tokens are enough where the project says so; not in another project, nor for a program
    that brings all settings itself.
    """
    shop, other = tmp_path / "shop", tmp_path / "other"
    other.mkdir()
    write(shop / ".memorist/config.toml", NOTES_AT_ONCE)

    async with Memorist(model="structural", home=tmp_path / "home") as engine:
        assert await keeps_notes(engine, shop)
        assert not await keeps_notes(engine, other)
        assert engine.settings.session_memory.start_tokens == 10_000
    async with Memorist(
        model="structural", settings=Settings(home=str(tmp_path / "second"))
    ) as engine:
        assert not await keeps_notes(engine, shop)


@pytest.mark.covers("FG-1")
async def test_a_projects_file_that_cannot_be_used_is_named_when_a_session_is_opened(
    tmp_path: Path,
) -> None:
    """And other projects' sessions are not touched by it."""
    write(tmp_path / "shop/.memorist/config.toml", "[session_memory]\nstart_token = 1\n")
    async with Memorist(model="structural", home=tmp_path / "home") as engine:
        with pytest.raises(SettingsError, match="start_token"):
            await engine.open("s", project=str(tmp_path / "shop"))
        session = await engine.open("s", project=str(tmp_path))
        assert session.notes is None


@pytest.mark.covers("SF-5")
@pytest.mark.parametrize(
    ("model", "is_near"),
    [
        ("openai-chat:qwen3@http://127.0.0.1:11434/v1", True),
        ("openai-chat:qwen3@http://192.168.1.20:8000/v1", True),
        ("openai-chat:qwen3@http://ollama:11434/v1", True),
        ("local", True),
        ("openai-chat:qwen3@https://models.example.com/v1", False),
        ("anthropic:claude-opus-4-6", False),
        ("structural", False),
    ],
)
def test_a_model_on_this_machine_gets_more_time_and_one_session_at_once(
    tmp_path: Path, model: str, is_near: bool
) -> None:
    """Its server is slow and mostly answers one request at a time. What the user sets goes before,
    and the source of each value is named.
    """
    plain = load_settings({}, home=tmp_path).settings
    found = load_settings({"MEMORIST_MODEL": model}, home=tmp_path)
    own = load_settings({"MEMORIST_MODEL": model, "MEMORIST_FORKS__SECONDS": "7"}, home=tmp_path)

    assert (found.settings.forks.seconds > plain.forks.seconds) is is_near
    assert (found.settings.rollouts.running == 1) is is_near
    assert ("forks.seconds" in found.sources) is is_near
    assert own.settings.forks.seconds == 7


def test_a_settings_file_that_may_not_be_read_is_told_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a run with sudo: what to do, not the number of an error."""

    def refuse(path: Path, limit: int) -> str:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("memorist.config.read_regular_text_file", refuse)

    with pytest.raises(SettingsError, match="permission is denied; give yourself access to it"):
        load_settings({}, home=tmp_path)


@pytest.mark.parametrize("set_to", ["true", "1", "woodpecker"])
def test_in_a_ci_job_the_process_behind_the_hooks_ends_soon(tmp_path: Path, set_to: str) -> None:
    """Nobody comes back to a job; what the user or the environment says goes before."""
    usual = load_settings({"CI": "false"}, home=tmp_path).settings.hooks
    job = load_settings({"CI": set_to}, home=tmp_path)
    chosen = {"CI": set_to, "MEMORIST_HOOKS__IDLE_SECONDS": "900"}

    assert usual.idle_seconds > job.settings.hooks.idle_seconds
    assert usual.session_idle_seconds > job.settings.hooks.session_idle_seconds
    assert "CI" in job.sources["hooks.idle_seconds"]
    assert load_settings(chosen, home=tmp_path).settings.hooks.idle_seconds == 900


def test_an_empty_variable_sets_no_number_switch_or_choice() -> None:
    """Files of containers name every variable, and leave empty what is not set."""
    empty = dict.fromkeys(
        ("MEMORIST_LONG_TERM", "MEMORIST_RECALL__LIMIT", "MEMORIST_RECALL__ENABLED"), ""
    )

    assert load_settings(empty).settings == load_settings({}).settings


def test_a_number_that_nothing_could_hold_is_refused() -> None:
    """One that no JSON, clock or database has, be it whole or infinite."""
    for name, value in (("SPEND__DAY_COST_USD", "inf"), ("RECALL__LIMIT", str(2**53 + 1))):
        with pytest.raises(SettingsError, match="every number is from 0"):
            load_settings({f"MEMORIST_{name}": value})
