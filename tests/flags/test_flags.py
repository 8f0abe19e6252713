"""Flags change settings while memorist runs, and never make it wait."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openfeature import api
from openfeature.provider.in_memory_provider import InMemoryFlag, InMemoryProvider

from memorist.errors import SettingsError
from memorist.flags.flag_file import FileFlagSource, create_flag_source_from_settings
from memorist.flags.flag_lookup import Flags, InMemoryFlagSource
from memorist.flags.flag_overrides import (
    SECTIONS,
    apply_flags_to_section,
    find_flag_problems,
    list_flag_defaults,
    list_names_of_overriding_flags,
)
from memorist.flags.open_feature import OpenFeatureFlagSource
from memorist.ports import HostInfo
from memorist.session_memory.conversation_tracker import ActivitySinceNotesUpdate, check_notes_due
from memorist.session_memory.session_notes import are_notes_allowed
from memorist.settings import (
    MAX_NUMBER,
    DreamSettings,
    FlagsSettings,
    SessionMemorySettings,
    Settings,
    flatten_settings,
    read_environment_layer,
    resolve_settings,
)

OWN = SessionMemorySettings()
WAIT = 60.0
"""Seconds after which a thread that was never run is taken for one that hangs; no test waits so
long.
"""


class Hanging:
    """A provider that does not answer until it is let go."""

    def __init__(self) -> None:
        self.asked, self.let_go = threading.Event(), threading.Event()

    def read(self) -> Mapping[str, object]:
        self.asked.set()
        self.let_go.wait(WAIT)
        return {"session_memory.start_tokens": 7}


@pytest.mark.covers("FG-2")
def test_a_source_that_hangs_blocks_nothing() -> None:
    """While the provider hangs every call returns with what is known; what it says in the end is
    used from then on.
    """
    source = Hanging()
    flags = Flags(source)
    assert source.asked.wait(WAIT)

    assert flags.apply_to_section(OWN) == OWN
    flags.refresh()
    assert not flags.wait_for_lookup(0)
    assert not source.let_go.is_set()

    source.let_go.set()
    assert flags.wait_for_lookup(WAIT)
    assert flags.apply_to_section(OWN).start_tokens == 7
    flags.close()


@pytest.mark.covers("FG-2")
def test_a_source_that_hangs_does_not_hold_up_the_end() -> None:
    """Closing does not wait for it, and its thread does not keep the program."""
    source = Hanging()
    flags = Flags(source)
    assert source.asked.wait(WAIT)

    flags.close()

    assert flags._thread is not None
    assert flags._thread.daemon
    assert not source.let_go.is_set()
    source.let_go.set()


@pytest.mark.covers("FG-2")
def test_old_values_stay_while_the_source_fails() -> None:
    """A failure is said and changes nothing; the next look that succeeds clears it."""
    source: Any = InMemoryFlagSource({"session_memory.enabled": False})
    flags = Flags(source)
    good = source.read

    def bad() -> Mapping[str, object]:
        raise OSError("no route")

    source.read = bad
    flags.refresh()
    assert flags.wait_for_lookup(WAIT)
    assert "no route" in flags.last_error
    assert not flags.apply_to_section(OWN).enabled

    source.read = good
    flags.refresh()
    assert flags.wait_for_lookup(WAIT)
    assert flags.last_error == ""
    flags.close()


@pytest.mark.covers("FG-2")
def test_a_file_is_read_anew_in_the_background(tmp_path: Path) -> None:
    """No file sets nothing; what is written to it later is in force after a look; a broken file
    leaves what was; a removed one clears.
    """
    path = tmp_path / "flags.toml"
    flags = Flags(FileFlagSource(path))

    def look() -> SessionMemorySettings:
        flags.refresh()
        assert flags.wait_for_lookup(WAIT)
        return flags.apply_to_section(OWN)

    assert look() == OWN
    path.write_text("[session_memory]\nstart_tokens = 5\n")
    assert look().start_tokens == 5
    path.write_text('"session_memory.start_tokens" = 1234\n')
    assert look().start_tokens == 1234
    path.write_text("not toml at all")
    assert look().start_tokens == 1234
    assert "flags.toml" in flags.last_error
    path.unlink()
    assert look() == OWN
    flags.close()


@pytest.mark.covers("FG-2")
def test_a_file_is_looked_at_without_being_asked(tmp_path: Path) -> None:
    """The thread looks again by itself."""
    path = tmp_path / "flags.json"
    seen = threading.Event()

    class Watched(FileFlagSource):
        def read(self) -> Mapping[str, object]:
            found = super().read()
            if found:
                seen.set()
            return found

    flags = Flags(Watched(path), refresh_seconds=0.01)
    path.with_suffix(".new").write_text('{"session_memory": {"tool_calls": 9}}')
    path.with_suffix(".new").replace(path)

    assert seen.wait(WAIT)
    flags.close()


@pytest.mark.covers("FG-2")
def test_any_openfeature_provider_can_set_the_flags() -> None:
    """Session memory's gate and thresholds come from the provider; what it does not know, or knows
    as another kind, stays as configured.
    """
    provider = InMemoryProvider({
        "session_memory.enabled": InMemoryFlag("off", {"off": False}),
        "session_memory.start_tokens": InMemoryFlag("small", {"small": 50}),
        "session_memory.tool_calls": InMemoryFlag("odd", {"odd": "many"}),
        "session_memory.wait_seconds": InMemoryFlag("zero", {"zero": 0.0}),
        "dream.hours": InMemoryFlag("half", {"half": 12.5}),
    })  # fmt: skip
    api.set_provider_and_wait(provider, "memorist-test")
    flags = Flags(OpenFeatureFlagSource(api.get_client("memorist-test")))
    assert flags.wait_for_lookup(WAIT)

    now = flags.apply_to_section(OWN)

    assert (now.enabled, now.start_tokens, now.tool_calls, now.wait_seconds) == (
        False,
        50,
        OWN.tool_calls,
        OWN.wait_seconds,
    )
    assert not are_notes_allowed(HostInfo(), now)
    assert flags.apply_to_section(DreamSettings()) == DreamSettings(hours=12.5)
    flags.close()


@pytest.mark.covers("FG-2")
def test_without_a_provider_everything_stays_as_configured() -> None:
    """The SDK's own default provider answers with defaults, which are no flags."""
    assert OpenFeatureFlagSource(api.get_client("nobody")).read() == {}
    assert Flags().apply_to_section(OWN) is OWN


@pytest.mark.covers("FG-2", "SM-2")
def test_a_threshold_from_a_flag_decides_when_notes_are_due() -> None:
    """A small start size makes notes due that were not."""
    progress = ActivitySinceNotesUpdate(
        tokens=6_000, tokens_at_update=0, calls=0, last_turn_called=False
    )

    assert check_notes_due(progress, OWN) is None
    assert (
        check_notes_due(
            progress,
            Flags(InMemoryFlagSource({"session_memory.start_tokens": 5_000})).apply_to_section(OWN),
        )
        is not None
    )


@pytest.mark.covers("FG-2")
@given(
    st.dictionaries(
        st.sampled_from([*list_flag_defaults(), "session_memory.unknown", "dream", "other"]),
        st.none()
        | st.booleans()
        | st.integers()
        | st.just(10**400)
        | st.floats()
        | st.text(max_size=3)
        | st.lists(st.integers(), max_size=1),
    )
)
def test_only_positive_numbers_override(flags: dict[str, object]) -> None:
    """Whatever a source says, every number in force is positive, of its kind and one that can be
    counted with, and every switch true or false.
    """
    now = {
        section: apply_flags_to_section(settings, flags) for section, settings in SECTIONS.items()
    }

    for name, own in list_flag_defaults().items():
        section, _, field = name.partition(".")
        value = getattr(now[section], field)
        assert type(value) is type(own) or (type(own) is float and type(value) is int)
        assert isinstance(value, bool) or 0 < value <= MAX_NUMBER
        assert (
            value is flags[name] if name in list_names_of_overriding_flags(flags) else value == own
        )


@pytest.mark.covers("FG-2")
@given(
    st.dictionaries(
        st.sampled_from(list(list_flag_defaults())) | st.text(),
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text()
        | st.recursive(st.none(), st.lists),
    )
)
def test_every_flag_is_in_force_or_is_reported_in_one_short_line(flags: dict[str, object]) -> None:
    """None is lost silently, and none is reported that works."""
    said = find_flag_problems(flags)

    assert len(said) + len(list_names_of_overriding_flags(flags)) == len(flags)
    assert all(len(remark) < 250 for remark in said)
    assert all(remark.isprintable() for remark in said)


@pytest.mark.covers("FG-2")
def test_a_mistyped_flag_is_told_with_the_one_that_was_meant() -> None:
    """A wrong name and a wrong value each say what would be right."""
    assert find_flag_problems({"session_memory.start_token": 5}) == (
        "'session_memory.start_token' is no flag; did you mean session_memory.start_tokens?",
    )
    assert find_flag_problems({"dream.sessions": 2.5}) == (
        "dream.sessions is 2.5, which is not a positive whole number; the setting stays",
    )
    assert find_flag_problems({"dream.enabled": 1}) == (
        "dream.enabled is 1, which is not true or false; the setting stays",
    )
    assert find_flag_problems({"colour": True}) == ("'colour' is no flag",)
    assert find_flag_problems({"dream.hours": 0.5, "dream.enabled": False}) == ()


def test_flags_are_settings_of_the_same_name() -> None:
    """Each section that flags may change stands in the tree under its name, with these defaults."""
    for section, settings in SECTIONS.items():
        assert getattr(Settings(), section) == settings
    assert list_flag_defaults().items() <= flatten_settings(Settings()).items()


@pytest.mark.parametrize("file", ["flags.toml", "./flags.toml", "~nobody-of-that-name/flags.toml"])
def test_a_flags_file_that_would_be_another_in_each_folder_is_refused(file: str) -> None:
    """The path is absolute, or begins with the home folder of somebody who is known."""
    with pytest.raises(SettingsError, match=r"flags\.file"):
        create_flag_source_from_settings(FlagsSettings(file=file))


@pytest.mark.covers("FG-1")
@pytest.mark.parametrize("seconds", ["0", "-1", "inf", "nan", "1e9"])
def test_the_time_between_two_looks_is_one_that_can_be_waited(seconds: str) -> None:
    """Neither a loop without rest nor a wait without end."""
    with pytest.raises(SettingsError, match="refresh_seconds"):
        resolve_settings([read_environment_layer({"MEMORIST_FLAGS__REFRESH_SECONDS": seconds})])


@pytest.mark.covers("FG-2")
def test_without_a_source_nothing_runs() -> None:
    """Most programs have no flags, and pay no thread for them."""
    flags = Flags()

    assert flags.wait_for_lookup(0)
    assert flags._thread is None
    assert flags.values() == {}


def test_a_flags_file_that_is_a_folder_is_said_in_words(tmp_path: Path) -> None:
    """As `memorist doctor` and `config show` repeat it, without the system's numbers."""
    with pytest.raises(SettingsError, match="cannot be read: it is a folder, not a file"):
        FileFlagSource(tmp_path).read()
